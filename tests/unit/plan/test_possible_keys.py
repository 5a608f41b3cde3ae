"""Groups that the conditions of a question rule out are left out, and no others."""

# ruff: noqa: S608 - the questions are made here, of fixed parts

import datetime as dt
import json
from itertools import product
from unittest import mock

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from clinic import CLINIC
from discreet.errors import InputError, QueryRefused
from discreet.plan import canonical, possible_keys
from discreet.plan.builder import From
from discreet.plan.expression_builder import col, count
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.public_facts import missing_rows
from discreet.plan.query import Query
from discreet.plan.relations import Scan
from discreet.plan.schema import Person, Schema, Table
from discreet.sql.reader.read import read

CODES = ("", "a", "b", "ab", "ba", "aab", "aba", "a.b", "abab", "a\nb", "\u00e4b")
KEYS = {
    "city": Type(Kind.TEXT, keys=("A", "B", "C")),
    "n": Type(Kind.INTEGER, range=Range(-2, 3)),
    "code": Type(Kind.TEXT, keys=CODES),
    "x": Type(Kind.REAL, keys=(0.5, 1.0, 2.0)),
    "ok": Type(Kind.BOOLEAN, keys=(False, True, None)),
    "day": Type(Kind.DATE, range=Range(20_000, 20_200)),
}
FREE = {"note": Type(Kind.TEXT), "big": Type(Kind.INTEGER)}
FREE["seen"] = Type(Kind.TIMESTAMP, range=Range(1_728_000_000_000_000, 1_745_000_000_000_000))
ROWS = Table("rows", {"who": Type(Kind.INTEGER), **KEYS, **FREE}, Person("who"))
SCHEMA = Schema({"rows": ROWS, "cities": CLINIC.tables["cities"]})


def keys(key, where, source="rows"):
    query = read(f"SELECT {key} AS k, COUNT(*) FROM {source} WHERE {where} GROUP BY 1", SCHEMA)
    return query.key_types[0].keys


@pytest.mark.parametrize(
    ("key", "where", "left"),
    [
        ("city", "city = 'A'", ("A",)),
        ("city", "'A' = city AND n > 0", ("A",)),
        ("city", "city <> 'A'", ("B", "C")),
        ("city", "city IN ('C', 'A')", ("A", "C")),
        ("city", "city NOT IN ('C', 'A')", ("B",)),
        ("city", "city = 'A' OR city = 'B' AND n > 0", ("A", "B")),
        ("city", "city = 'A' OR n > 0", ("A", "B", "C")),
        ("city", "NOT (city = 'A' OR n > 0)", ("B", "C")),
        ("city", "city IS NOT NULL", ("A", "B", "C")),
        ("city", "city = 'A' AND city = 'B'", ("A",)),
        ("city", "city > 'A'", ("A", "B", "C")),  # engines may sort texts in other ways
        ("n", "n BETWEEN 1 AND 2", (1, 2)),
        ("n", "n > 0.5 AND 3 > n", (1, 2)),
        ("n", "n = 1 OR n IS NULL", (1, None)),
        ("n", "n <> 1", (-2, -1, 0, 2, 3)),
        ("n", "n IS NULL OR n <> 1", (-2, -1, 0, 2, 3, None)),
        ("n", "n > 7", (-2, -1, 0, 1, 2, 3, None)),
        ("n * 10", "n >= 2", (20, 30)),
        ("n + 1", "n IN (0, 3)", (1, 4)),
        ("x", "x < 1.5", (0.5, 1.0)),
        ("ok", "ok", (True,)),
        ("ok", "NOT ok OR n > 0", (False, True, None)),
        ("ok", "ok = TRUE", (True,)),
        ("MONTH(day)", "day < '2024-12-01'", (10, 11)),
        ("QUARTER(day)", "day >= '2025-01-01'", (1, 2)),
        ("MONTH(day)", "day >= '2024-01-01'", (1, 2, 3, 4, 10, 11, 12)),
        ("YEAR(day)", "day > '2024-12-31'", (2025,)),
        ("STRFTIME(day, '%Y-%m')", "YEAR(day) = 2024", ("2024-10", "2024-11", "2024-12")),
        ("MONTH(day)", "YEAR(day) > 2024", (1, 2, 3, 4)),
        ("MONTH(seen)", "EXTRACT(YEAR FROM seen) < 2025", (10, 11, 12)),
        ("QUARTER(day)", "2025 <= YEAR(day)", (1, 2, 4, None)),
        ("QUARTER(day)", "YEAR(day) = 9999 OR YEAR(day) = 0", (1, 2, 4, None)),
        (
            "DATE_TRUNC('month', day)",
            "day > '2025-02-28'",
            (dt.date(2025, 3, 1), dt.date(2025, 4, 1)),
        ),
        ("STRFTIME(day, '%Y-%m')", "day < '2024-12-01'", ("2024-10", "2024-11")),
        ("city || '/' || n", "city = 'A' AND n > 1", ("A/2", "A/3")),
        ("day + 1", "day = '2024-12-31'", (dt.date(2025, 1, 1),)),
        ("MONTH(seen)", "n > 0", (1, 2, 3, 4, 10, 11, 12, None)),
        ("MONTH(seen)", "seen IS NOT NULL", (1, 2, 3, 4, 10, 11, 12)),
        ("MONTH(seen)", "seen > '2020-01-01' OR seen IS NULL", (1, 2, 3, 4, 10, 11, 12, None)),
        ("QUARTER(seen)", "seen < '2025-01-01'", (4,)),
        ("city || note", "city = 'A'", None),
        (f"city || '{'x' * 16_384}'", "n = 1", None),
        ("note", "note IN ('a', 'b') AND n > 0", ("a", "b")),
        ("LOWER(note)", "LOWER(note) = 'a'", ("a",)),
        ("note", "note = 'a' OR note = 'b'", None),
        ("big", "big BETWEEN 1 AND 3", None),
        ("big", "big IN (3, 9007199254740993)", (3, 9007199254740993)),
    ],
)
def test_keys_that_conditions_leave(key, where, left):
    assert keys(key, where) == left


@given(st.text("ab%_.\\", max_size=6), st.sampled_from([None, "b", "."]))
def test_patterns_leave_what_they_match(plain, pattern, escape):
    ending = "" if escape is None else f" ESCAPE '{escape}'"
    where = f"code LIKE '{pattern}'{ending}"
    try:
        listed = keys("code", where)
    except QueryRefused:  # an escape before a plain character
        return
    matched = plain.execute(f"SELECT code FROM codes WHERE {where}").fetchall()

    assert [*listed] == [one for (one,) in matched] or (not matched and listed == CODES)


def test_a_subquery_and_a_public_table_are_seen_through():
    inner = "(SELECT who, city AS c, n + 1 AS m FROM rows WHERE n >= 2 AND city <> 'B')"

    assert keys("c", "m < 9", inner) == ("A", "C")
    assert keys("m", "c = 'A'", inner) == (3, 4)
    joined = "rows JOIN cities ON city = name"
    assert keys("region", "region IN ('north', 'south')", joined) == ("north", "south")


ATOMS = [
    *(
        "city = 'A'",
        "city <> 'B'",
        "city IN ('A', 'C')",
        "city IS NULL",
        "note = 'a'",
        "city LIKE 'A%'",
    ),
    *("city LIKE '%_'", "city NOT LIKE 'B'", "code LIKE '%a_a%'", "code NOT LIKE 'a%b'"),
    *("n > 0", "n <= 1", "n = 3", "2 > n", "n IN (-2, 1)", "n IS NULL", "n <> 0.5", "n > -1.5"),
    *("x < 1", "x = 0.5", "x IN (1, 2)", "ok = TRUE", "ok", "day >= '2024-12-24'", "TRUE"),
    *("YEAR(day) = 2024", "YEAR(day) > 2024", "YEAR(day) <= 2024", "YEAR(day) < 2025"),
    *("day <> '2025-01-01'", "day = '2025-02-03'", "CAST(NULL AS BOOLEAN)", "day IS NOT NULL"),
]
CONDITIONS = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda p: f"({' '.join(p)})"),
        inner.map(lambda one: f"(NOT {one})"),
    ),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def plain():
    """Rows with every combination of values that there can be."""
    days = [
        None,
        *(dt.date(2024, 10, 4) + dt.timedelta(days) for days in (0, 60, 81, 89, 122, 200)),
    ]
    cells = product(("A", "B", "C", None), (*range(-2, 4), None), (0.5, 1.0, 2.0, None))
    rows = [
        (city, n, x, ok, day, note)
        for (city, n, x), ok, day, note in product(cells, (True, False, None), days, ("a", None))
    ]
    rows = [(*row, CODES[i % len(CODES)]) for i, row in enumerate(rows)]
    names = ("city", "n", "x", "ok", "day", "note", "code")
    columns = [pa.array(one) for one in zip(*rows, strict=True)]
    connection = duckdb.connect()
    connection.execute("CREATE TABLE codes AS SELECT UNNEST(?) AS code", [[*CODES]])
    connection.register("rows", pa.table(dict(zip(names, columns, strict=True))))
    return connection


ASKED = [
    *(
        "city",
        "code",
        "n",
        "x",
        "ok",
        "n // 2",
        "MONTH(day)",
        "QUARTER(day)",
        "YEAR(day)",
        "day + 3",
    ),
    *("STRFTIME(day, '%Y-%m')", "city || '-' || CAST(n AS TEXT)", "LEFT(city, 1) || 'x'"),
    *("CONCAT(city, CAST(YEAR(day) AS TEXT))", "day - INTERVAL 7 DAY", "STRFTIME(day, '%b %Y')"),
]


@given(CONDITIONS, st.sampled_from(ASKED))
def test_no_group_that_has_rows_is_left_out(plain, where, key):
    found = plain.execute(f"SELECT DISTINCT {key} FROM rows WHERE {where}").fetchall()
    values = {one.date() if isinstance(one, dt.datetime) else one for (one,) in found}
    listed = keys(key, where)

    assert values - {None} <= {*listed} <= {*keys(key, "TRUE")}
    assert None in listed or None not in values or None not in keys(key, "TRUE")


def test_an_answer_has_the_groups_that_are_left_and_less_noise():
    curator = dp.Curator.in_memory()
    rows = pa.table({"who": [i // 8 for i in range(800)], "city": [*"AABBCCDD"] * 100})
    curator.add(
        "rows",
        rows,
        unit="who",
        budget=dp.Budget(epsilon=10**6),
        columns={"city": dp.Keys([*"ABCD"])},
        limits=dp.Limits(max_groups=4, max_rows=2),
    )
    text = "SELECT city, COUNT(*) AS n FROM rows {} GROUP BY city"
    whole = curator.sql(text.format(""), epsilon=100)
    one = curator.sql(text.format("WHERE city = 'B'"), epsilon=100)

    assert one.table["city"].to_pylist() == ["B"]
    assert abs(one.table["n"][0].as_py() - 200) < 5
    assert len(whole.table) == 4
    assert "2 rows" in str(one)  # one person weighs 2 rows, and 2 in each of 4 groups
    assert "8 rows" in str(whole)


def test_the_builder_asks_for_the_same_groups():
    asked = From(Scan(ROWS)).where(col("city") == "A").group_by("city").agg(n=count()).query()
    written = read("SELECT city, COUNT(*) AS n FROM rows WHERE city = 'A' GROUP BY city", SCHEMA)

    assert asked.key_types == written.key_types
    assert asked.group_count == 1


def test_questions_of_earlier_versions_keep_all_their_groups():
    query = read("SELECT city, COUNT(*) AS n FROM rows WHERE city = 'A' GROUP BY city", SCHEMA)
    stored = json.loads(canonical.write(query))
    assert canonical.read(canonical.write(query), SCHEMA) == query

    older = canonical.read(
        canonical.write(Query(query.relation, query.keys, query.aggregates)), SCHEMA
    )
    assert "only_possible" in str(stored)
    assert older.group_count == 3
    plain = read("SELECT city, COUNT(*) AS n FROM rows WHERE n = 1 GROUP BY city", SCHEMA)
    assert "only_possible" not in canonical.write(plain)


@pytest.mark.parametrize("other", [1, "yes", None, False, 1.0])
def test_a_question_of_possible_groups_has_one_stored_form(other):
    query = read("SELECT city, COUNT(*) AS n FROM rows WHERE city = 'A' GROUP BY city", SCHEMA)
    stored = canonical.write(query)
    forged = stored.replace('"only_possible":true', f'"only_possible":{json.dumps(other)}')

    assert forged != stored
    with pytest.raises(InputError, match="only_possible is not true"):
        canonical.read(forged, SCHEMA)


def test_rows_outside_are_those_that_a_condition_leaves():
    def told(where):
        return missing_rows(
            read(f"SELECT city, COUNT(*) FROM rows WHERE {where} GROUP BY 1", SCHEMA)
        )

    assert told("city = 'A'") == []
    assert told("city <> 'A'") == ["Rows where city is none of its 3 keys are in no group"]
    assert told("n = 1") == ["Rows where city is NULL or none of its 3 keys are in no group"]


def test_patterns_are_read_where_no_value_but_null_is_left():
    of = Type(Kind.TEXT, keys=("a", "", None))
    table = Table("rows", {"who": Type(Kind.INTEGER), "k": of}, Person("who"))
    text = "SELECT k, COUNT(*) FROM rows WHERE k IS NULL AND (k LIKE 'a%' OR who = 1) GROUP BY k"

    assert read(text, Schema({"rows": table})).key_types[0].keys == (None,)


def test_days_outside_the_calendar_are_no_keys():
    last = Range(2_932_890, 2_932_896)  # the last of December 9999
    days = Table(
        "rows", {"who": Type(Kind.INTEGER), "d": Type(Kind.DATE, range=last)}, Person("who")
    )
    text = "SELECT d + 1 AS k, COUNT(*) FROM rows WHERE d > '9999-12-30' GROUP BY 1"

    assert read(text, Schema({"rows": days})).key_types[0].keys is None


def test_a_histogram_has_the_values_that_are_left():
    text = "SELECT HISTOGRAM(n) AS h FROM rows WHERE n > 0"
    shown = read(text, SCHEMA).then.columns

    assert [*shown] == ["h_1", "h_2", "h_3"]


def test_long_conditions_take_no_longer_than_short_ones():
    columns = {f"c{i}": Type(Kind.INTEGER, range=Range(0, 999)) for i in range(40)}
    table = Table("rows", {"who": Type(Kind.INTEGER), **columns}, Person("who"))
    some = " OR ".join(f"c{i % 40} = {i}" for i in range(1000))
    nested = "rows"
    for i in range(9):
        nested = (
            f"(SELECT * FROM {nested} WHERE {' OR '.join(f'c1 > {i + j}' for j in range(150))})"
        )
    many = " AND ".join(f"(c{i % 40} <> {i} OR c{(i + 1) % 40} = 1)" for i in range(600))
    steps = []

    def tried(_, of, condition):
        steps.append(len(of.keys) * condition.size)
        return of

    for source in (f"rows WHERE {some}", f"rows WHERE {many}", nested):
        with mock.patch.object(possible_keys, "_narrowed", tried):
            text = f"SELECT c1, COUNT(*) FROM {source} GROUP BY c1"
            assert read(text, Schema({"rows": table})).group_count >= 850
        assert sum(steps) < possible_keys.MOST_STEPS
        steps.clear()


def test_long_lists_stay_as_they_are():
    of = Type(Kind.TEXT, keys=tuple(str(i) for i in range(900_000)))
    table = Table("rows", {"who": Type(Kind.INTEGER), "zip": of}, Person("who"))
    text = "SELECT zip, COUNT(*) FROM rows WHERE zip <> '7' GROUP BY zip"

    assert read(text, Schema({"rows": table})).group_count == 900_000
