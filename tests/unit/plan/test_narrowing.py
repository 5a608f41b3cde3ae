# ruff: noqa: DTZ001, S608 - timestamps have no zone; the questions are made here
"""Conditions narrow the types of columns, and every row that they keep has a value of its type."""

import datetime as dt

import duckdb
import pytest

from discreet.plan.calendar import position
from discreet.plan.kinds import Kind, Range
from discreet.plan.narrowing import narrowed
from discreet.plan.relations import FilterRows, Scan, columns_of
from discreet.plan.schema import Bounds, Keys, Person, Schema, Table, column_type
from discreet.plan.typing import settled
from discreet.sql.reader.read import read

FIRST, LAST = dt.date(2023, 1, 1), dt.date(2025, 12, 31)
MOMENTS = Bounds(dt.datetime(2023, 1, 1), dt.datetime(2025, 12, 31, 23, 59, 59))
SLOTS = [dt.datetime(2024, 1, day) for day in (1, 2, 3)]
COLUMNS = {
    "who": column_type("who", Kind.INTEGER),
    "n": column_type("n", Kind.INTEGER, Bounds(0, 10)),
    "x": column_type("x", Kind.REAL, Bounds(-1, 1)),
    "free": column_type("free", Kind.REAL),
    "day": column_type("day", Kind.DATE, Bounds(FIRST, LAST)),
    "ts": column_type("ts", Kind.TIMESTAMP, MOMENTS),
    "city": column_type("city", Kind.TEXT, Keys(["a", "b", "c"])),
    "code": column_type("code", Kind.INTEGER, Keys([1, 5, 9])),
    "slot": column_type("slot", Kind.TIMESTAMP, Keys(SLOTS)),
}
TABLE = Table("t", COLUMNS, Person("who"))
SCHEMA = Schema({"t": TABLE})


def filtered(condition):
    """The filter that a condition is read as."""
    found = read(f"SELECT COUNT(*) FROM t WHERE {condition}", SCHEMA).relation
    assert isinstance(found, FilterRows)
    return found


def days(*dates):
    return Range(*(position(dt.date(*one)) for one in dates))


@pytest.mark.parametrize(
    ("condition", "name", "expected"),
    [
        ("n > 3", "n", Range(4, 10)),
        ("3 <= n AND n < 7.5", "n", Range(3, 7)),
        ("n BETWEEN 2.5 AND 6.5", "n", Range(3, 6)),
        ("n IN (2, 8)", "n", Range(2, 8)),
        ("n IN (2, 2.5)", "n", Range(0, 10)),
        ("n > -4 AND n <> 3", "n", Range(0, 10)),
        ("n = 4", "n", Range(0, 10)),  # a value alone has no width
        ("n > 10", "n", Range(0, 10)),  # nor has none at all
        ("n > 9007199254740992", "n", Range(0, 10)),
        ("x < 0.5", "x", Range(-1, 0.5)),
        ("x > x - 1", "x", Range(-1, 1)),
        ("free >= 2", "free", None),
        ("free >= 2 AND free < 5", "free", Range(2, 5)),
        ("free >= 2 OR free < 5", "free", None),
        ("day >= '2024-03-01'", "day", days((2024, 3, 1), (2025, 12, 31))),
        ("year(day) = 2024", "day", days((2024, 1, 1), (2024, 12, 31))),
        ("year(day) > 2023 AND 2025 > year(day)", "day", days((2024, 1, 1), (2024, 12, 31))),
        ("year(day) < 99999", "day", days((2023, 1, 1), (2025, 12, 31))),
        ("day < TIMESTAMP '2024-03-01 10:00:00'", "day", days((2023, 1, 1), (2025, 12, 31))),
        (
            "ts < DATE '2024-03-01' AND year(ts) >= 2024",
            "ts",
            Range(position(dt.datetime(2024, 1, 1)), position(dt.datetime(2024, 3, 1)) - 1),
        ),
    ],
)
def test_comparisons_narrow_the_range(condition, name, expected):
    of = columns_of(filtered(condition))[name]
    assert (of.range, of.nullable) == (expected, " OR " in condition)


@pytest.mark.parametrize(
    ("condition", "name", "keys"),
    [
        ("city IN ('a', 'c')", "city", ("a", "c")),
        ("'b' = city", "city", ("b",)),
        ("city <> 'b'", "city", ("a", "c")),
        ("city = 'a' AND city = 'b'", "city", ("a", "b", "c")),
        ("city IS NOT NULL", "city", ("a", "b", "c")),
        ("city > 'a'", "city", ("a", "b", "c")),
        ("code > 1", "code", (5, 9)),
        ("code IN (1, 9.0)", "code", (1, 9)),
        ("slot <> DATE '2024-01-02'", "slot", (SLOTS[0], SLOTS[2])),
        ("slot = DATE '2024-01-02'", "slot", (SLOTS[1],)),
    ],
)
def test_conditions_leave_the_keys_that_meet_them(condition, name, keys):
    of = columns_of(filtered(condition))[name]
    assert (of.keys, of.nullable) == (keys, False)


CONDITIONS = [
    "n > 3", "n >= 3.5", "n < 7", "n <= 6.5", "n IN (1, 4)", "x > -0.5", "x <= 0.25", "5 > n",
    "free BETWEEN -3 AND 3", "day > '2023-05-05'", "day <= '2024-02-29'", "year(day) <= 2024",
    "year(day) = 2025", "year(ts) > 2023", "ts < DATE '2025-01-01'", "ts >= '2023-06-01 12:30:00'",
    "city <> 'b'", "city IN ('a', 'b')", "code >= 5", "n IS NOT NULL", "day < ts", "n <> code",
    "(n IS NOT NULL) = FALSE", "(n > 3) = FALSE", "(n IN (1, 2)) = FALSE", "NOT (n < 4)",
    "slot = DATE '2024-01-02'", "slot <> DATE '2024-01-02'", "coalesce(n, 3) > 2", "-n > -4",
]  # fmt: skip


def test_every_row_that_conditions_keep_has_values_of_the_narrowed_types():
    plain = duckdb.connect()
    plain.execute("SELECT setseed(0.3)")
    plain.execute(
        """CREATE TABLE t AS SELECT i AS who, nullif(i % 12, 11) AS n, random() * 2 - 1 AS x,
        CASE i % 9 WHEN 0 THEN 1e300 WHEN 1 THEN NULL ELSE random() * 9 - 4 END AS free,
        nullif(DATE '2023-01-01' + CAST(i * 7 % 1096 AS INTEGER), DATE '2023-01-01') AS day,
        TIMESTAMP '2023-01-01' + INTERVAL (i * 7919 % 94694400) SECOND AS ts,
        ['a', 'b', 'c', NULL][1 + i % 4] AS city, [1, 5, 9, NULL][1 + i % 4] AS code,
        TIMESTAMP '2024-01-01' + INTERVAL (i % 3) DAY AS slot
        FROM range(3000) r(i)"""
    )
    for at, first in enumerate(CONDITIONS):
        for second in CONDITIONS[at % 9 :: 9]:
            both = f"{first} AND {second}"
            types = columns_of(filtered(both))
            kept = plain.sql(f"SELECT * FROM t WHERE {both}").to_arrow_table()
            for name, of in types.items():
                check(kept[name].to_pylist(), settled(of), both)


def check(values, of, condition):
    assert of.nullable or None not in values, condition
    known = [value for value in values if value is not None]
    places = [position(one) if isinstance(one, dt.date) else one for one in known]
    assert not of.range or all(of.range.low <= at <= of.range.high for at in places), condition
    assert of.keys is None or {*known} <= {*of.keys}, condition


def test_a_stored_question_without_narrowing_is_read_as_it_was_measured():
    wide = FilterRows(Scan(TABLE), filtered("n > 3").predicate)
    assert columns_of(wide) == COLUMNS
    assert narrowed(COLUMNS, wide.predicate)["n"].range == Range(4, 10)
