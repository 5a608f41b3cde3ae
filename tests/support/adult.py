"""A made-up table with the columns of the Adult data set, for questions as people ask them."""

import pyarrow as pa

import discreet as dp

PEOPLE = 4000
WORK = ["Private", "Self-employed", "Government", None]
EDUCATION = ["HS-grad", "Some-college", "Bachelors", "Masters", "Doctorate"]
MARITAL = ["Never-married", "Married", "Divorced", "Widowed"]
OCCUPATION = ["Sales", "Tech-support", "Craft-repair", "Exec-managerial", "Other-service"]
RACE = ["White", "Black", "Asian", "Other"]
COUNTRIES = ["United-States", "Mexico", "India", "Germany", "Cuba"]


def adult_rows():
    """Rows by arithmetic alone: the same on every machine."""
    people = range(PEOPLE)
    return {
        "id": list(people),
        "age": [17 + (i * 7 + i * i) % 60 for i in people],
        "workclass": [WORK[(i // 3) % 4 if i % 5 else 0] for i in people],
        "fnlwgt": [10_000 + (i * 37) % 90_000 for i in people],
        "education": [EDUCATION[(i * i) % 5] for i in people],
        "education_num": [9 + (i * i) % 5 for i in people],
        "marital_status": [MARITAL[(i // 7) % 4] for i in people],
        "occupation": [OCCUPATION[(i // 2) % 5 if i % 3 else 3] for i in people],
        "race": [RACE[0 if i % 4 else (i // 4) % 4] for i in people],
        "sex": ["Male" if i % 3 else "Female" for i in people],
        "capital_gain": [5000 + i % 900 if i % 11 == 0 else 0 for i in people],
        "capital_loss": [1500 if i % 19 == 0 else 0 for i in people],
        "hours_per_week": [20 + (i * 3) % 45 for i in people],
        "native_country": [COUNTRIES[0 if i % 8 else (i // 8) % 5] for i in people],
        "income": [">50K" if (i * i) % 5 >= 3 or i % 11 == 0 else "<=50K" for i in people],
    }


def adult_curator():
    """The table behind a curator, declared as an owner would."""
    curator = dp.Curator.in_memory()
    curator.add(
        "adult",
        pa.table(adult_rows()),
        unit="id",
        limits=dp.Limits(1, 1),
        budget=dp.Budget(epsilon=500, delta=1e-3),
        columns={
            "age": dp.Bounds(17, 90),
            "workclass": dp.Keys([*WORK]),
            "fnlwgt": dp.Bounds(10_000, 100_000),
            "education": dp.Keys(EDUCATION),
            "education_num": dp.Bounds(1, 16),
            "marital_status": dp.Keys(MARITAL),
            "occupation": dp.Keys(OCCUPATION),
            "race": dp.Keys(RACE),
            "sex": dp.Keys(["Female", "Male"]),
            "capital_gain": dp.Bounds(0, 100_000),
            "capital_loss": dp.Bounds(0, 5_000),
            "hours_per_week": dp.Bounds(1, 99),
            "income": dp.Keys(["<=50K", ">50K"]),
        },
    )
    return curator
