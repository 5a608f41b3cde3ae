"""Ages, lengths of time, and patterns by place mean what DuckDB says of the same text."""

# ruff: noqa: S608 - the questions are made here, of fixed parts

import datetime as dt
import itertools
import random

import duckdb
import pytest

from discreet.engines.duckdb_dialect import DuckDBDialect
from discreet.plan.kinds import Kind
from discreet.plan.query import questions_in
from discreet.plan.relations import columns_of
from discreet.plan.schema import Person, Schema, Table, column_type
from discreet.sql.reader.read import read

KINDS = {"p": Kind.INTEGER, "a": Kind.DATE, "b": Kind.DATE, "s": Kind.TIMESTAMP}
KINDS |= {"t": Kind.TIMESTAMP, "c": Kind.TEXT}
COLUMNS = {name: column_type(name, kind) for name, kind in KINDS.items()}
SCHEMA = Schema({"v": Table("v", COLUMNS, Person("p"))})
DAYS = [dt.date(2024, 2, 29), dt.date(2023, 2, 28), dt.date(2024, 1, 31), dt.date(2024, 3, 1)]
DAYS += [dt.date(1999, 12, 31), dt.date(1961, 7, 30), dt.date(2024, 4, 30), dt.date(2024, 3, 31)]
TEXTS = ["J12", "J1", "j12", "", "J", "A-1", "A_1", "9x", " B2", "B22x", "Äb", "J12\n", "C٣", None]
SIGNS = ("<", "<=", ">", ">=", "=", "<>")
LENGTHS = ("20 years", "0 days", "13 months", "-400 days", "30 days")

VALUES = ["EXTRACT(YEAR FROM AGE(a, b))", "DATE_PART('month', AGE(a, b))"]
VALUES += ["EXTRACT(DAY FROM AGE(a, b))", "EXTRACT(DAY FROM s - t)", "EXTRACT(DAY FROM a - t)"]
VALUES += [f"DATE_DIFF('{unit}', s, t)" for unit in ("second", "minute", "hour", "day", "year")]
VALUES += ["DATE_DIFF('hour', a, b)", "DATE_DIFF('quarter', a, b)", "DATE_DIFF('month', a, b)"]
TESTS = [f"{what} {sign} INTERVAL '{n}'" for what in ("AGE(a, b)", "s - t") for sign in SIGNS
         for n in LENGTHS]  # fmt: skip
TESTS += ["INTERVAL 3 DAY < s - t", "INTERVAL '2 years' >= (AGE(a, b))", "a - t > INTERVAL 5 HOUR"]
TESTS += ["s - t BETWEEN INTERVAL '1 hour' AND INTERVAL '900 days'"]
PATTERNS = [
    "^[A-C][0-9]+",
    r"^J\d",
    r"^J\d{2}$",
    "^[A-Z ][A-Z0-9_]",
    r"^A\-1",
    "^[A-Z]$",
    r"\-|J\|",
    "J|A",
]
TESTS += [f"REGEXP_MATCHES(c, '{one}')" for one in PATTERNS]
TESTS += [rf"REGEXP_FULL_MATCH(c, '{one}')" for one in (r"[A-Z]\d{2}", "J[0-9]")]


@pytest.fixture(scope="module")
def rows():
    rng = random.Random(3)  # noqa: S311 - a fixed choice of rows

    def moment():
        clock = dt.time(rng.choice([0, 23]), 59, rng.choice([0, 59]), rng.choice([0, 999_999]))
        return dt.datetime.combine(rng.choice(DAYS), clock)

    found = duckdb.connect()
    found.execute("CREATE TABLE v (p BIGINT, a DATE, b DATE, s TIMESTAMP, t TIMESTAMP, c VARCHAR)")
    one = [(None, DAYS[0], moment(), None)]
    one += [(rng.choice(DAYS), rng.choice(DAYS), moment(), moment()) for _ in range(400)]
    values = [(p, *row, rng.choice(TEXTS)) for p, row in enumerate(one)]
    found.executemany("INSERT INTO v VALUES (?, ?, ?, ?, ?, ?)", values)
    return found


def rendered(text):
    """A condition as our plan would have an engine compute it."""
    relation = questions_in(read(f"SELECT COUNT(*) FROM v WHERE {text}", SCHEMA))[0].relation
    return DuckDBDialect().render(relation.predicate, columns_of(relation.input))


@pytest.mark.parametrize("text", [*TESTS, *(f"{one} = {n}" for one in VALUES for n in (0, 1, -1))])
def test_a_condition_holds_for_the_rows_for_which_it_does_in_duckdb(rows, text):
    ours = rows.execute(f"SELECT {rendered(text)} FROM v ORDER BY p").fetchall()
    assert ours == rows.execute(f"SELECT {text} FROM v ORDER BY p").fetchall()


FAR = ["9999-12-31 23:59:59.999999", "0001-01-01 00:00:00", None, "2020-01-01 14:00:00"]
FAR += ["2020-01-01 12:00:00.5", "1969-12-31 23:59:59.999999", "5000-06-07 08:09:10.000011"]


@pytest.fixture(scope="module")
def far():
    found = duckdb.connect()
    found.execute("CREATE TABLE v (p BIGINT, s TIMESTAMP, t TIMESTAMP)")
    pairs = [(p, *pair) for p, pair in enumerate(itertools.product(FAR, FAR))]
    found.executemany("INSERT INTO v VALUES (?, ?, ?)", pairs)
    return found


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("n", ["1 month", "9000 years", "-9000 years", "12000 years", "-1 second"])
def test_a_length_that_leads_out_of_the_calendar_is_compared_as_in_duckdb(far, sign, n):
    text = f"s - t {sign} INTERVAL '{n}'"
    assert (
        far.execute(f"SELECT p FROM v WHERE {rendered(text)} IS DISTINCT FROM ({text})").fetchall()
        == []
    )


def test_seconds_between_two_moments_have_their_fraction(far):
    asked = read("SELECT COUNT(*) FROM v WHERE EXTRACT(EPOCH FROM s - t) > 0", SCHEMA)
    relation = questions_in(asked)[0].relation
    value = DuckDBDialect().render(relation.predicate.arguments[0], columns_of(relation.input))
    assert (
        far.execute(f"SELECT p FROM v WHERE {value} IS DISTINCT FROM EPOCH(s - t)").fetchall() == []
    )


@pytest.mark.parametrize("text", VALUES)
def test_a_value_is_the_one_of_duckdb(rows, text):
    (most,) = rows.execute(f"SELECT MAX({text}) FROM v").fetchone()
    (least,) = rows.execute(f"SELECT MIN({text}) FROM v").fetchone()
    within = rendered(f"{text} BETWEEN {least} AND {most}")
    above = rendered(f"{text} >= {(least + most) // 2}")
    counts = f"SELECT COUNT(*) FILTER (WHERE {within}), COUNT(*) FILTER (WHERE {above}) FROM v"
    half = f"SELECT COUNT({text}), COUNT(*) FILTER (WHERE {text} >= {(least + most) // 2}) FROM v"
    assert rows.execute(counts).fetchone() == rows.execute(half).fetchone()
