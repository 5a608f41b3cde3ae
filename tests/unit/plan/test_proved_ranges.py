"""Values that are aggregated are held to bounds that conditions and texts prove."""

import pytest

from discreet.errors import InputError, QueryRefused
from discreet.plan.builder import From
from discreet.plan.expression_builder import col, mean
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.relations import Scan, columns_of
from discreet.plan.row_counts import held_counts
from discreet.plan.schema import Person, Schema, Table
from discreet.plan.typing import infer
from discreet.sql.reader.read import read

COLUMNS = {"who": Type(Kind.INTEGER), "n": Type(Kind.INTEGER), "x": Type(Kind.REAL)}
BOUNDED = {"age": Type(Kind.INTEGER, range=Range(0, 120)), "y": Type(Kind.REAL, range=Range(-1, 1))}
ROWS = Table("rows", {**COLUMNS, **BOUNDED, "note": Type(Kind.TEXT)}, Person("who"))
BUILT = From(Scan(ROWS))


def held(value, where):
    query = read(f"SELECT AVG({value}) FROM {where}", Schema({"rows": ROWS}))  # noqa: S608 - a question
    assert not held_counts(query)  # nothing is cut off
    (aggregate,) = query.aggregates
    return infer(aggregate.arguments[0], columns_of(query.relation)).range


@pytest.mark.parametrize(
    ("value", "where", "range_"),
    [
        ("n", "rows WHERE n BETWEEN -3.5 AND 7.9", Range(-3, 7)),
        ("n", "rows WHERE n > 0 AND n < 10 AND n >= 2 AND n <= 20", Range(2, 10)),
        ("x", "rows WHERE x >= 0 AND x < 2.5 AND note <> 'a'", Range(0.0, 2.5)),
        ("v", "(SELECT n AS v FROM rows WHERE n >= 0 AND n <= 9) WHERE v < 7", Range(0, 9)),
        ("n", "rows WHERE n = 5", Range(5, 5)),
        ("n * (note = 'a')::INT", "rows WHERE n BETWEEN 2 AND 9", Range(0, 9)),
        ("CASE WHEN note = 'a' THEN x ELSE 0 END", "rows WHERE x >= 1 AND x <= 4", Range(0.0, 4.0)),
        ("LENGTH(note)", "rows", Range(0, 1024)),
        ("age", "rows WHERE age BETWEEN 30 AND 40", Range(30, 40)),
        ("age", "rows WHERE age >= 64.5", Range(65, 120)),
        ("age", "rows WHERE age > -5 AND age < 500", Range(0, 120)),
        ("age", "rows WHERE age > 500", Range(0, 120)),
        ("age", "rows WHERE age > 60 OR n = 1", Range(0, 120)),
        ("y", "rows WHERE y <= 0.25", Range(-1.0, 0.25)),
        ("LENGTH(b)", "(SELECT note AS b, n FROM rows) WHERE n > 3", Range(0, 1024)),
    ],
)
def test_a_value_has_the_bounds_that_are_proved(value, where, range_):
    assert held(value, where) == range_


@pytest.mark.parametrize(
    "asked",
    [
        "AVG(n) FROM rows WHERE n > 0",
        "AVG(n) FROM rows WHERE n > 0 OR n < 9",
        "AVG(n) FROM rows WHERE NOT (n > 0 AND n < 9)",
        "AVG(n) FROM rows WHERE n >= 0 AND n <= 9007199254740993",
        "AVG(n) FROM rows WHERE n > 9 AND n < 3",
        "AVG(x) FROM rows WHERE n BETWEEN 0 AND 9",
        "AVG(LENGTH(b)) FROM (SELECT note || note AS b FROM rows)",
        "AVG(n) FROM (SELECT n FROM rows WHERE n > 0 AND n < 5 UNION ALL SELECT n FROM rows)",
    ],
)
def test_a_value_whose_bounds_are_not_proved_is_refused(asked):
    with pytest.raises(QueryRefused, match="without bounds"):
        read(f"SELECT {asked}", Schema({"rows": ROWS}))


@pytest.mark.parametrize(("low", "high"), [(30, 40), (-20, -10), (30.5, 40.5)])
def test_a_zero_in_place_of_no_value_is_inside_its_bounds(low, high):
    value = "n" if isinstance(low, int) else "x"
    kept = f"(SELECT who, {value} AS v FROM rows WHERE {value} BETWEEN {low} AND {high}) b"  # noqa: S608 - a question
    found = held("COALESCE(b.v, 0)", f"rows a LEFT JOIN {kept} ON a.who = b.who")
    assert (found.low, found.high) == (min(0, low), max(0, high))


@pytest.mark.parametrize(
    "rows",
    [
        BUILT.where(col("n") >= 0, col("n") < 10),
        BUILT.where(col("n") >= 0).where(col("n") < 10),
        BUILT.where(col("n").between(0, 10)),
        BUILT[(col("n") >= 0) & (col("n") <= 10)],
    ],
)
def test_python_knows_the_same_bounds(rows):
    (aggregate,) = rows.agg(mean("n")).query().aggregates
    assert infer(aggregate.arguments[0], columns_of(rows.relation)).range == Range(0, 10)
    with pytest.raises(InputError, match="without bounds"):
        BUILT.where(col("n") >= 0).agg(mean("n"))
