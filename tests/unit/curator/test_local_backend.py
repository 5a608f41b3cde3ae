"""Public tables alone: asked in ordinary SQL, exactly, for nothing."""

import math
import random

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import InputError, QueryRefused
from discreet.sql.reader.read import read

PLACES = pa.table(
    {
        "city": ["Acre", "Bari", "Cork", "Delft", "Essen", "Fes"],
        "land": ["il", "it", "ie", "nl", None, "ma"],
        "pop": [50, 310, 210, None, 580, 1150],
        "rain": [5.5, 6.25, 12.0, 8.5, 9.25, None],
    }
)
LANDS = pa.table({"land": ["il", "it", "nl", "us"], "coast": [True, True, True, None]})
BIG = pa.table({"n": list(range(1100)), "half": [n // 2 for n in range(1100)]})


@pytest.fixture(scope="module")
def curator():
    made = dp.Curator.in_memory()
    visits = pa.table({"who": ["a", "b", "c"], "city": ["Acre", "Bari", "Acre"]})
    made.add("visits", visits, unit="who", budget=dp.Budget(epsilon=3))
    made.add_public("places", PLACES, key="city")
    made.add_public("lands", LANDS, key="land")
    made.add_public("big", BIG, key="n")
    with made:
        yield made


@pytest.fixture
def plain():
    with duckdb.connect() as connection:
        connection.register("places", PLACES)
        connection.register("lands", LANDS)
        yield lambda text: connection.sql(text).fetchall()


def same(found, wanted, *, ordered):
    key = lambda row: tuple((one is None, str(type(one)), one or 0) for one in row)  # noqa: E731
    if not ordered:
        found, wanted = sorted(found, key=key), sorted(wanted, key=key)
    return len(found) == len(wanted) and all(
        a == b or (isinstance(a, float) and math.isclose(a, b, rel_tol=1e-12))
        for one, other in zip(found, wanted, strict=True)
        for a, b in zip(one, other, strict=True)
    )


def rows(release):
    return [tuple(row.values()) for row in release.table.to_pylist()]


VALUES = ("pop", "rain", "pop + 1", "coalesce(pop, 0) * 2", "CASE WHEN rain > 8 THEN pop END")
WHERES = (
    *("TRUE", "pop > 200", "rain BETWEEN 6 AND 9", "p.land IS NULL", "city LIKE '%e%'"),
    *("NOT pop < 300", "p.city IN ('Acre', 'Fes')", "pop > (SELECT AVG(pop) FROM places)"),
    *("p.land IN (SELECT land FROM lands)", "p.land NOT IN (SELECT land FROM lands)"),
)
FROMS = (
    *("places p", "places p", "(SELECT * FROM places WHERE pop < 1000) p"),
    "places p JOIN lands l ON p.land = l.land",
    "places p LEFT JOIN lands l ON p.land = l.land",
)
FORMS = (
    "SELECT p.city, {one} AS x, {other} AS y {rows}",
    "SELECT p.city, {one} AS x {rows} ORDER BY x {way}, p.city LIMIT 3 OFFSET {skip}",
    "SELECT {aggregate}({one}) AS x, COUNT(*) AS n {rows}",
    "SELECT {key} AS k, {aggregate}({one}) AS x {rows} GROUP BY 1 HAVING COUNT(*) > {skip}",
    "SELECT p.city, {aggregate}({one}) OVER (PARTITION BY {key}) AS x {rows}",
    "SELECT p.city, RANK() OVER (ORDER BY {other}) AS r {rows}",
    "SELECT p.city {rows} UNION ALL SELECT land FROM lands",
    "SELECT DISTINCT {one} > 300 AS x {rows}",
    "WITH w AS (SELECT {key} AS k, {one} AS x {rows}) SELECT k, COUNT(x) AS n FROM w GROUP BY k",
)


def questions(count):
    """SELECTs with filters, groups, windows, joins and subqueries."""
    pick = random.Random(20).choice  # noqa: S311 - it makes no release
    for _ in range(count):
        yield pick(FORMS).format(
            one=pick(VALUES),
            other=pick(VALUES),
            way=pick(("ASC", "DESC")),
            skip=pick((0, 1)),
            aggregate=pick(("SUM", "MIN", "MAX", "AVG", "COUNT", "STDDEV")),
            key=pick(("rain > 8", "p.land")),
            rows=f"FROM {pick(FROMS)} WHERE {pick(WHERES)}",
        )


def test_generated_questions_are_answered_as_by_duckdb(curator, plain):
    for text in dict.fromkeys(questions(60)):
        found = rows(curator.sql(text))
        assert same(found, plain(text), ordered="LIMIT" in text), text


def test_nothing_is_charged_measured_or_stored(curator):
    before = curator.budget(), len(list(curator.ledger.entries()))
    analyst = curator.as_analyst("ann")
    told = [
        curator.sql("SELECT SUM(pop) AS s FROM places"),
        curator.sql("SELECT SUM(pop) AS s FROM places", epsilon=0.5),
        analyst.sql("SELECT SUM(pop) AS s FROM places"),
        curator.as_analyst("bob", []).sql("SELECT SUM(pop) AS s FROM places"),
    ]

    assert [rows(one) for one in told] == [[(2300,)]] * 4
    assert all(one.price.is_free and not one.half_widths for one in told)
    assert "public tables alone" in told[0].statement()
    assert "price: nothing" in repr(told[0])
    assert type(told[0]).from_bytes(told[0].to_bytes()) == told[0]
    assert (curator.budget(), len(list(curator.ledger.entries()))) == before


def test_names_of_with_are_not_taken_for_tables(curator):
    text = "WITH visits AS (SELECT city FROM places WHERE pop > 500) SELECT city FROM visits"
    assert rows(curator.sql(text)) == [("Essen",), ("Fes",)]
    with pytest.raises(QueryRefused, match="no table visits"):
        curator.sql("SELECT a.city FROM (" + text + ") a JOIN visits b ON a.city = b.city")  # noqa: S608 - of this test


@pytest.mark.parametrize(
    "text",
    [
        "SELECT city FROM places WHERE city IN (SELECT city FROM visits)",
        "SELECT p.city FROM places p JOIN visits v ON p.city = v.city",
        "SELECT city FROM places UNION ALL SELECT city FROM visits",
        "WITH places AS (SELECT * FROM visits) SELECT city FROM places",
    ],
)
def test_a_private_table_anywhere_makes_it_a_private_question(curator, text):
    with pytest.raises(InputError, match="epsilon"):
        curator.sql(text)
    with pytest.raises(QueryRefused):
        curator.sql(text, epsilon=1)


def test_what_may_take_too_many_rows_is_refused(curator):
    keyed = "SELECT COUNT(*) AS n FROM big a JOIN (SELECT n AS m FROM big) b ON a.half = b.m"
    assert rows(curator.sql(keyed)) == [(1100,)]
    for join in ("CROSS JOIN big b", "JOIN big b ON a.half = b.half", "JOIN big b ON a.n < b.n"):
        with pytest.raises(QueryRefused, match="1,000,000 rows"):
            curator.sql("SELECT COUNT(*) AS n FROM big a " + join)  # noqa: S608 - of this test


def test_what_has_a_price_is_no_question_about_public_tables(curator):
    with pytest.raises(QueryRefused, match="public tables alone"):
        read("SELECT SUM(pop) FROM places", curator.schema)
    with pytest.raises(QueryRefused, match="free"):
        curator.explain("SELECT SUM(pop) FROM places", epsilon=1)
