"""Questions in Python are the plans that SQL becomes; what cannot be meant is refused at once."""

import numpy as np
import pytest

from clinic import CLINIC
from discreet.errors import InputError
from discreet.plan import canonical
from discreet.plan.builder import From, descending, first, lag, row_number, running
from discreet.plan.expression_builder import (
    case,
    col,
    correlation,
    count,
    count_distinct,
    count_people,
    maximum,
    mean,
    median,
    quantile,
    stddev,
    total,
    variance,
)
from discreet.plan.relations import Scan
from discreet.sql.reader.read import read
from plan_text import plan_text

VISITS = From(Scan(CLINIC.tables["visits"]))
PATIENTS = From(Scan(CLINIC.tables["patients"]))

SAME = [
    ("SELECT COUNT(*) AS n FROM visits", VISITS.agg(n=count())),
    (
        "SELECT city, AVG(age) AS m FROM visits WHERE age >= 18 GROUP BY city",
        VISITS.where(col("age") >= 18).group_by("city").agg(m=mean("age")),
    ),
    (
        "SELECT age // 10 AS decade, SUM(cost) AS s FROM visits GROUP BY 1",
        VISITS.group_by(decade=col("age") // 10).agg(s=total("cost")),
    ),
    (
        "SELECT COUNT(DISTINCT patient_id) AS p, COUNT(DISTINCT city) AS c FROM visits",
        VISITS.agg(p=count_people(), c=count_distinct("city")),
    ),
    (
        "SELECT MEDIAN(cost) AS q, VAR_POP(age) AS v, CORR(age, cost) AS r FROM visits",
        VISITS.agg(q=median("cost"), v=variance("age", sample=False), r=correlation("age", "cost")),
    ),
    (
        "SELECT COUNT(*) FILTER (WHERE city IN ('Haifa')) AS n FROM visits",
        VISITS.agg(n=count().filter(col("city").is_in(["Haifa"]))),
    ),
    (
        "SELECT COUNT(*) FILTER (WHERE urgent AND city = 'Haifa' AND age > 18) AS n FROM visits",
        VISITS.agg(n=count().where(col("urgent"), city="Haifa").filter(col("age") > 18)),
    ),
    (
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city HAVING n > 3 ORDER BY n DESC LIMIT 2",
        VISITS.group_by("city")
        .agg(n=count())
        .having(col("n") > 3)
        .order_by("n", descending=True)
        .limit(2),
    ),
]


@pytest.mark.parametrize(("sql", "python"), SAME, ids=[sql for sql, _ in SAME])
def test_a_question_in_python_is_the_same_as_in_sql(sql, python):
    asked, built = read(sql, CLINIC), python.query()
    for part in ("relation", "keys", "aggregates", "having", "order", "limit", "sets"):
        assert getattr(asked, part) == getattr(built, part)


ODD = {
    "a negative limit": lambda: VISITS.agg(n=count()).limit(-1),
    "a limit of nothing": lambda: VISITS.agg(n=count()).limit(0),
    "a limit in words": lambda: VISITS.agg(n=count()).limit("1 -- and more"),
    "a limit of half a row": lambda: VISITS.agg(n=count()).limit(2.5),
    "a limit beyond 64 bits": lambda: VISITS.agg(n=count()).limit(1 << 70),
    "nothing": VISITS.agg,
    "a level of 2": lambda: VISITS.agg(q=quantile("age", 2)),
    "a condition in SQL": lambda: VISITS.where("age > 3"),
    "a condition that holds": lambda: VISITS.where(True),  # noqa: FBT003 - that is the mistake
    "a filter in SQL": lambda: VISITS.agg(n=count().filter("urgent")),
    "HAVING in SQL": lambda: VISITS.agg(n=count()).having("n > 3"),
    "a function that was not called": lambda: VISITS.agg(n=count),
    "a number for an aggregate": lambda: VISITS.agg(n=5),
    "a key without a name": lambda: VISITS.group_by(col("age") % 2),
    "a constant for a key": lambda: VISITS.group_by(decade=10),
    "a constant for a column": lambda: VISITS.with_columns(one=1),
    "a constant for a value": lambda: VISITS.agg(s=total(5)),
    "a position for an order": lambda: VISITS.agg(n=count()).order_by(1),
    "a number for a list": lambda: col("age").is_in(5),
    "letters for a list": lambda: col("city").is_in("Haifa"),
    "a number for a pattern": lambda: col("city").like(5),
    "a kind that is none": lambda: col("age").cast("number"),
    "a unit that is none": lambda: col("day").truncate("fortnight"),
    "ends the wrong way round": lambda: col("age").clamp(5, 0),
    "an end beyond any number": lambda: VISITS.agg(s=total(col("age").clamp(0, 10**400))),
    "an end in words": lambda: col("age").clamp("none", 5),
    "a constant that is no number": lambda: col("cost") > np.float32("nan"),
}


@pytest.mark.parametrize("mistake", ODD.values(), ids=ODD)
def test_what_cannot_be_meant_is_refused_when_it_is_said(mistake):
    """Later would be after it was charged."""
    with pytest.raises(InputError):
        mistake()


def test_a_text_where_a_column_belongs_is_its_name():
    for built in (VISITS.group_by(town="city"), VISITS.with_columns(town="city").group_by("town")):
        (key,) = built.agg(n=count()).query().keys
        assert key.name == "town"
    assert VISITS.group_by(town="city") == VISITS.group_by(town=col("city"))


def test_numbers_of_numpy_are_numbers():
    built = VISITS.where(col("age") > np.int64(18)).agg(n=count()).limit(np.int64(3)).query()
    assert built == VISITS.where(col("age") > 18).agg(n=count()).limit(3).query()
    assert canonical.read(canonical.write(built), CLINIC) == built
    assert (col("cost") > np.float32(0.1)).expression == (col("cost") > 0.1).expression


ABOUT_PEOPLE = [
    (
        PATIENTS.matching(VISITS.where(col("urgent"))).agg(n=count()),
        ["other. := same person in", "filter other."],
    ),
    (
        VISITS.matching(VISITS, "city", where=col("other.day") > col("day"), some=False).agg(
            n=count()
        ),
        ["same person and city = other.city and (other.day > day) in", "filter NOT(other.)"],
    ),
    (
        PATIENTS.join(VISITS, where=col("other.cost") > col("income"), keep="left").agg(n=count()),
        ["left join same person and (other.cost > income)"],
    ),
    (
        VISITS.per_person("city", n=count(), c=first("city", "day"), s=stddev("age"))
        .where(col("n") > 2)
        .agg(m=mean("s")),
        [
            "per person city, n := COUNT(*), c := FIRST(city) order day, s := VARIANCE(age)",
            "s := SQRT(s)",
        ],
    ),
    (
        VISITS.per_person(s=("age", "std")).agg(m=mean("s")),
        ["s := VARIANCE(age)", "s := SQRT(s)"],
    ),
    (
        VISITS.with_windows(
            turn=row_number(descending("day")),
            before=lag("age", "day"),
            spent=running(total("cost"), "day", rows=(-2, 0)),
        )
        .where(col("turn") == 1)
        .agg(n=count()),
        [
            "window turn := ROW_NUMBER() order day desc",
            "window before := LAG(age, 1) order day",
            "window spent := SUM(cost) order day rows (-2, 0)",
        ],
    ),
    (VISITS.union(VISITS).agg(n=count()), ["union all"]),
]


@pytest.mark.parametrize(("question", "lines"), ABOUT_PEOPLE, ids=range(len(ABOUT_PEOPLE)))
def test_python_asks_about_the_rows_of_one_person_too(question, lines):
    text = plan_text(question.query())

    assert [line for line in lines if line not in text] == []
    assert canonical.read(canonical.write(question.query()), CLINIC) == question.query()


def test_an_aggregate_that_no_person_has_is_refused():
    with pytest.raises(InputError, match="of each person's rows"):
        VISITS.per_person(q=correlation("age", "amount"))
    with pytest.raises(InputError, match="an aggregate"):
        VISITS.per_person(q=3)
    with pytest.raises(InputError, match="over a window"):
        VISITS.with_windows(q=running(median("age"), "day"))
    assert VISITS.per_person(m=maximum("age")).agg(n=count())


ADULTS = VISITS[VISITS["age"] >= 18]
RENAMED = VISITS.with_columns(age=col("age") * 2)


@pytest.mark.parametrize(
    "lost",
    [
        lambda: VISITS.where(ADULTS["cost"] > 0),
        lambda: VISITS.where((VISITS["cost"] > 0) & (ADULTS["cost"] < 9)),
        lambda: VISITS.where(case((ADULTS["cost"] > 0, True), otherwise=False)),
        lambda: VISITS.where(ADULTS["city"].is_in(["Haifa"])),
        lambda: VISITS.group_by(city=ADULTS["city"]),
        lambda: VISITS.agg(m=mean(ADULTS["cost"])),
        lambda: VISITS.agg(n=count().filter(ADULTS["cost"] > 0)),
        lambda: VISITS.per_person(m=mean(ADULTS["cost"])),
        lambda: VISITS.with_windows(before=lag(ADULTS["cost"], "day")),
        lambda: VISITS.group_by("city").agg(n=count()).agg(m=mean(ADULTS["cost"])),
        lambda: VISITS.union(ADULTS).where(ADULTS["cost"] > 0),
        lambda: RENAMED.where(VISITS["age"] > 30),
        lambda: PATIENTS.where(VISITS["patient_id"] == "p"),
        lambda: ADULTS["cost"] + VISITS[VISITS["age"] < 18]["cost"],
    ],
)
def test_an_expression_of_filtered_rows_is_refused_on_other_rows(lost):
    with pytest.raises(InputError):
        lost()


@pytest.mark.parametrize(
    ("taken", "named"),
    [
        (VISITS[VISITS["age"] >= 18][VISITS["cost"] > 1], ADULTS.where(col("cost") > 1)),
        (ADULTS.where(ADULTS["cost"] > VISITS["age"]), ADULTS.where(col("cost") > col("age"))),
        (RENAMED.where(VISITS["cost"] > 1), RENAMED.where(col("cost") > 1)),
        (
            ADULTS.matching(PATIENTS).where(ADULTS["cost"] > 1),
            ADULTS.matching(PATIENTS).where(col("cost") > 1),
        ),
    ],
)
def test_an_expression_of_rows_can_be_used_on_some_of_them(taken, named):
    answer = taken.group_by("city").agg(n=count())
    for one, two in ((taken["city"], "city"), (col("city"), "city")):
        told = answer.where(one == "Haifa").select(one, "n").order_by(one)
        assert told.plan == answer.where(col(two) == "Haifa").select(two, "n").order_by(two).plan
    assert taken.relation == named.relation
    mine, plain = (one.agg(m=mean(of)) for one, of in ((taken, taken["cost"]), (named, "cost")))
    assert mine.query() == plain.query()
