"""What is missing from an answer is said beside it, and can be counted; typing errors are free."""

import datetime as dt

import pyarrow as pa
import pytest

import discreet as dp
from discreet.plan.typing import near_keys

PEOPLE = 400
COUNTED = "SELECT COUNT(*) FROM people WHERE "


@pytest.fixture
def curator():
    """100 of each of two listed sexes, 100 unlisted, 100 without one; and rare cities."""
    sexes = ["Female", "Male", "X", None]
    made = dp.Curator.in_memory()
    made.add(
        "people",
        pa.table(
            {
                "id": list(range(PEOPLE)),
                "sex": [sexes[i % 4] for i in range(PEOPLE)],
                "age": [20 + i % 50 for i in range(PEOPLE)],
                "city": [f"rare {i}" if i % 40 == 0 else "Haifa" for i in range(PEOPLE)],
            }
        ),
        unit="id",
        limits=dp.Limits(1, 1),
        budget=dp.Budget(epsilon=10_000, delta=1e-3),
        columns={"sex": dp.Keys(["Female", "Male"]), "age": dp.Bounds(0, 120)},
    )
    return made


REFUSED = [
    "sex = 'male'",
    "'male' = sex",
    "sex <> 'male'",
    "sex IN ('Female', 'male')",
    "sex NOT IN ('male')",
    "sex IS DISTINCT FROM 'male'",
    "CASE WHEN sex = 'male' THEN TRUE ELSE FALSE END",
    "CASE sex WHEN 'male' THEN 1 ELSE 0 END = 1",
]


@pytest.mark.parametrize("condition", REFUSED)
def test_a_literal_that_is_no_key_is_refused_for_nothing_with_the_near_one(curator, condition):
    with pytest.raises(dp.QueryRefused, match="write 'Male', if that is meant") as refused:
        curator.sql(COUNTED + condition, epsilon=1)
    assert refused.value.code == "unlisted_key"
    assert curator.budget("people").total.amount == 0


ANSWERED = [
    "sex = 'Male'",
    "CAST(sex AS TEXT) = 'male'",
    "LOWER(sex) = 'male'",
    "sex LIKE 'male'",
    "COALESCE(sex, 'none') = 'none'",
    "sex IS NULL",
    "age = 200",
    "city = 'hifa'",
]


@pytest.mark.parametrize("condition", ANSWERED)
def test_what_may_be_right_is_answered(curator, condition):
    assert curator.explain(COUNTED + condition, epsilon=1)


def test_a_day_is_its_midnight_among_keys_that_are_times():
    noon = dt.datetime(2024, 1, 2, 12)  # noqa: DTZ001 - tables have no zones
    midnight = noon.replace(day=1, hour=0)
    days, times = dp.Keys([midnight.date()]), dp.Keys([midnight, noon])
    made = dp.Curator.in_memory()
    rows = pa.table({"id": [1], "day": [dt.date(2024, 1, 1)], "seen": [noon]})
    said = {"unit": "id", "budget": dp.Budget(epsilon=1)}
    made.add("people", rows, columns={"day": days, "seen": times}, **said)
    for condition in ("seen = DATE '2024-01-01'", "day = TIMESTAMP '2024-01-01 00:00:00'"):
        assert made.explain(COUNTED + condition, epsilon=0.1)
    for condition in ("seen = DATE '2024-01-02'", "day = TIMESTAMP '2024-01-01 12:00:00'"):
        with pytest.raises(dp.QueryRefused, match="declared keys"):
            made.explain(COUNTED + condition, epsilon=0.1)


def test_a_literal_is_looked_up_where_it_stands_also_in_subqueries_having_and_python(curator):
    text = "SELECT COUNT(*) FROM (SELECT sex AS s FROM people) AS p WHERE s = 'femal'"
    with pytest.raises(dp.QueryRefused, match="s is compared") as refused:
        curator.explain(text, epsilon=1)
    assert refused.value.start == text.index("s = ")
    with pytest.raises(dp.QueryRefused, match="declared keys"):
        curator.explain("SELECT sex, COUNT(*) FROM people GROUP BY 1 HAVING sex = 'm'", epsilon=1)
    with pytest.raises(dp.InputError, match="write 'Female'"):
        curator.table("people").where(dp.col("sex") == "female")
    with pytest.raises(dp.InputError, match="declared keys"):
        curator.table("people").agg(n=dp.count().filter(dp.col("sex").is_in(["female"])))


def test_near_keys_are_the_same_but_for_case_else_alike_in_letters():
    assert near_keys(" male", ["Female", "Male"]) == ["Male"]
    assert near_keys("Mael", ["Female", "Male"]) == ["Male", "Female"]
    assert near_keys("zzz", ["Female", "Male"]) == []
    assert near_keys(7, [1, 2]) == []


def test_answers_say_which_rows_are_in_no_group(curator):
    said = "Rows where sex is NULL or none of its 2 keys are in no group"
    by_sex = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
    assert said in curator.sql(by_sex, epsilon=1).notes
    assert said in repr(curator.explain(by_sex, epsilon=1))
    assert "outside(question) counts the people" in " ".join(
        repr(curator.explain(by_sex, epsilon=1)).split()
    )
    share = "SELECT sex, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS s FROM people GROUP BY sex"
    total = said.replace("no group", "no group, nor in shares and totals of groups")
    assert total in curator.sql(share, epsilon=1).notes
    told = curator.sql("SELECT age >= 40 AS old, COUNT(*) FROM people GROUP BY 1", epsilon=1)
    assert not any("no group" in note and "keys" in note for note in told.notes)
    made = (
        "SELECT CASE WHEN sex = 'Male' THEN 'm' ELSE 'o' END AS s, COUNT(*) FROM people GROUP BY 1"
    )
    told = curator.sql(made, epsilon=1)
    assert not any("no group" in note for note in told.notes)


def test_people_in_no_group_can_be_counted_for_a_price(curator):
    by_sex = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
    before = curator.budget("people").total.amount
    told = curator.outside(by_sex, epsilon=100)
    assert told.table.to_pylist() == [{"outside": 200}]
    assert curator.budget("people").total.amount > before
    question = curator.table("people").group_by("sex").count()
    assert curator.outside(question, epsilon=100).table.to_pylist() == [{"outside": 200}]


def test_people_in_groups_that_were_withheld_can_be_counted(curator):
    by_city = "SELECT city, COUNT(DISTINCT id) AS n FROM people GROUP BY city"
    answer = curator.sql(by_city, epsilon=20)
    assert answer.found_keys == [("Haifa",)]
    assert any(note.startswith("Small groups are withheld") for note in answer.notes)
    with pytest.raises(dp.InputError, match="shown=answer"):
        curator.outside(by_city, epsilon=100)
    assert curator.outside(by_city, epsilon=100, shown=answer).table.to_pylist() == [
        {"outside": 10}
    ]
    both = "SELECT city, sex, COUNT(DISTINCT id) AS n FROM people GROUP BY 1, 2"
    answer = curator.sql(both, epsilon=20)
    assert curator.outside(both, epsilon=100, shown=answer).table.to_pylist() == [{"outside": 210}]


def test_all_rows_are_in_the_one_group_of_a_question_without_keys(curator):
    with pytest.raises(dp.InputError, match="GROUP BY"):
        curator.outside("SELECT COUNT(*) FROM people", epsilon=1)


def test_the_builder_filters_counts_names_and_explains(curator):
    people = curator.table("people")
    question = people.filter(dp.col("age") >= 40).group_by("sex").agg(dp.count(), dp.mean("age"))
    assert question.release(epsilon=1).table.column_names == ["sex", "count", "mean_age"]
    assert question.explain(epsilon=1).price.epsilon == 1
    assert people.count().table().filter(dp.col("count") > 0).explain(epsilon=1).price.epsilon == 1
    with pytest.raises(dp.InputError, match="same name"):
        people.agg(dp.quantile("age", 0.1), dp.quantile("age", 0.1))
    with pytest.raises(dp.InputError, match="an aggregate"):
        people.agg("age")


def test_answers_tell_their_share_of_the_budget_in_every_form(curator):
    answer = curator.sql("SELECT COUNT(*) AS n FROM people", epsilon=1)
    account = curator.budget()
    assert answer.share == account.share(account.total) > 0
    assert "of the budget); protects" in repr(answer)
    assert "of the budget" in answer._repr_html_()
    assert answer.json_facts()["budget_share"] == answer.share
    assert dp.Curator.in_memory()._repr_html_().startswith("<div")
    assert max(len(word) for word in repr((account, account.left, account.total)).split()) < 30


def test_a_budget_is_named_where_there_are_several(curator):
    curator.add("more", pa.table({"id": [1]}), unit="id", budget=dp.Budget(epsilon=1))
    with pytest.raises(dp.InputError, match="several: people, more"):
        curator.budget()


def test_remeasuring_at_a_price_that_was_paid_says_that_nothing_was_charged(curator):
    text = "SELECT COUNT(*) AS n FROM people"
    curator.sql(text, epsilon=1)
    spent = curator.budget().total
    assert "paid for before" in repr(curator.remeasure(text, epsilon=1))
    assert curator.budget().total == spent
    assert "paid for before" not in repr(curator.remeasure(text, epsilon=2))


def test_an_accuracy_is_asked_of_several_answers_at_once(curator):
    both = (
        "SELECT a.n, b.m FROM (SELECT COUNT(*) AS n FROM people WHERE sex = 'Male') AS a,"
        " (SELECT COUNT(*) AS m FROM people WHERE age > 30) AS b"
    )
    told = curator.explain(both, accuracy=dp.Accuracy(20))
    widths = [one.half_width for part in told.parts for one in part.options[0].expected.values()]
    assert len(widths) == 2
    assert all(15 < width <= 20 for width in widths)
    cheaper = curator.explain(both, accuracy=dp.Accuracy(20, columns="m"))
    assert cheaper.price.epsilon <= told.price.epsilon
