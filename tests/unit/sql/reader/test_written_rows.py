"""Rows, lists and zones that a question writes out, and LATERAL, mean what DuckDB says they mean.

Where a spelling is that of another engine, the DuckDB question that it stands for is beside it.
"""

# ruff: noqa: S608 - the questions are made here, of fixed parts

import datetime as dt
import time
from dataclasses import replace

import pytest

from clinic import CLINIC
from discreet.answer.plan.price import Price
from discreet.engines.duckdb_dialect import DuckDBDialect
from discreet.errors import QueryRefused
from discreet.plan import canonical
from discreet.plan.schema import Limits
from discreet.sql.reader.read import read, read_public
from discreet.sql.reader.zones import offsets
from golden_pairs import GOLDEN
from plain_answers import answered, clinic_tables, tidy
from planned import explain

COUNTED = "SELECT COUNT(*), SUM(age) FROM visits"
BLOCKS = (GOLDEN / "written_rows.sql").read_text(encoding="utf-8").strip().split("\n\n")[1:]
QUESTIONS = [(ours, theirs or ours) for ours, _, theirs in (b.partition("\n=== ") for b in BLOCKS)]


@pytest.fixture(scope="module")
def engine():
    found = clinic_tables()
    found.execute("SET TimeZone = 'UTC'")
    return found


@pytest.mark.parametrize(("question", "plain"), QUESTIONS, ids=[one for one, _ in QUESTIONS])
def test_a_question_means_what_duckdb_says(engine, question, plain):
    engine.execute("SET schema = 'plain'")
    theirs = engine.execute(plain).fetchall()
    engine.execute("SET schema = 'data'")
    query = read(question, CLINIC)
    assert tidy(answered(engine, query)) == tidy(theirs)
    assert canonical.read(canonical.write(query), CLINIC) == query


def test_rows_that_do_not_overlap_cost_no_more_than_the_table_alone():
    """One CASE, and no UNION ALL, in which a person would have twice the rows."""
    for rows, on, united in (
        ("(1, 3), (3, 5)", "age >= a AND age < b", False),
        ("(1, 3), (2, 5)", "age >= a AND age < b", True),
        ("(1, 3), (3, 5)", "age > a AND age <= b", False),
        ("(1, 3), (3, 5)", "age BETWEEN a AND b", True),
        ("('x', 1), ('y', 2)", "city = a", False),
        ("('x', 1), ('x', 2)", "city = a", True),
        ("('a', 'i'), ('j', 'z')", "city > a AND city < b", True),  # engines order texts
    ):
        query = read(f"{COUNTED} JOIN (VALUES {rows}) v(a, b) ON {on}", CLINIC)
        assert ("Union" in repr(query.relation)) is united, (rows, on)


def test_rows_that_are_written_are_about_nobody_and_free():
    table = read_public("SELECT x * 2 AS y FROM (VALUES (1), (2)) v(x) WHERE x > 1", CLINIC)
    assert list(table.columns) == ["y"]
    assert read_public("SELECT 1", CLINIC) is None


@pytest.mark.parametrize(
    ("zone", "moment"),
    [
        ("Europe/Berlin", "2024-03-31T01:00:00"),
        ("America/New_York", "2024-11-03T06:00:00"),
        ("Australia/Lord_Howe", "2024-04-06T15:00:00"),
    ],
)
def test_clocks_change_at_the_second_of_the_zone(zone, moment):
    _, changes = offsets(zone, 2024, 2024)
    assert moment in [at.isoformat() for at, _ in changes]


@pytest.mark.parametrize(
    ("local", "offset"),
    [
        ("2024-03-31 01:59:59", -3600),
        ("2024-03-31 02:30:00", -3600),
        ("2024-03-31 03:00:00", -7200),
        ("2024-10-27 01:59:59", -7200),
        ("2024-10-27 02:30:00", -3600),
    ],
)
def test_a_skipped_time_is_before_the_change_and_a_doubled_one_the_later(engine, local, offset):
    instant = f"TIMESTAMP '{local}' AT TIME ZONE 'Europe/Berlin'"
    at = dt.datetime.fromisoformat(local) + dt.timedelta(seconds=offset)
    text = f"SELECT COUNT(*) AS n FROM visits WHERE {instant} = TIMESTAMPTZ '{at}+00'"
    engine.execute("SET schema = 'data'")
    found = answered(engine, read(text, CLINIC))
    assert found == engine.execute(text).fetchall() != [(0,)]


@pytest.mark.parametrize(
    "words", ["LATERAL VIEW explode(x) t AS y", "ASOF JOIN rates r ON r.year <= age"]
)
def test_other_forms_are_told_what_works(words):
    with pytest.raises(QueryRefused, match=r"VALUES"):
        read(f"SELECT COUNT(*) FROM visits v {words}", CLINIC)


@pytest.mark.parametrize("last", [10**12, 2**63 - 1])
def test_a_series_of_any_length_is_told_that_it_is_long(last):
    with pytest.raises(QueryRefused, match="more than 1,024 rows"):
        read(f"{COUNTED} JOIN GENERATE_SERIES(-{last}, {last}) g(n) ON n = age", CLINIC)


def test_what_would_be_copied_too_often_is_refused_before_it_is_copied():
    wide = f"CONCAT({', '.join(['city'] * 1000)}) LIKE ANY ({', '.join(['city'] * 1000)})"
    before = time.process_time()
    with pytest.raises(QueryRefused) as refused:
        read(f"SELECT COUNT(*) FROM visits WHERE {wide}", CLINIC)
    assert refused.value.code == "too_large"
    assert time.process_time() - before < 2


def test_no_count_of_rows_is_offered_where_each_counts_several_times():
    said = []
    for rows in ("(1)", "(1), (2)"):
        query = read(f"SELECT COUNT(*) FROM visits CROSS JOIN (VALUES {rows}) v(x)", CLINIC)
        plan = replace(query, limits=Limits(max_groups=1, max_rows=4))
        words = " ".join(str(explain(plan, DuckDBDialect(), Price(1, 1e-6))).split())
        said.append("rows in all, ask" in words)
    assert said == [True, False]
