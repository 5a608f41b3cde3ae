"""One person, however many and however odd their rows, moves no statistic further than declared.

The engine's exact integers are recorded on random data and again without one person; their
distance, in the norm of the noise, must be at most the sensitivity that the noise was made for.
"""

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.duckdb import DuckDBEngine
from discreet.plan.bounding import FULL, ContributionBounds, NoiseKind
from discreet.plan.kinds import Kind, Type
from discreet.plan.query import questions_in
from discreet.plan.schema import Bounds, Keys, Limits, Person, Schema, Table, column_type
from discreet.sql.reader.read import read
from discreet.sql.writer.compile import CompiledQuery
from recording import moved_too_far, plan_of, record

CITIES = ["Austin", "Haifa", "Zürich"]
COLUMNS = {
    "person": column_type("person", Kind.INTEGER),
    "city": column_type("city", Kind.TEXT, Keys(CITIES)),
    "street": column_type("street", Kind.TEXT),
    "amount": column_type("amount", Kind.REAL, Bounds(-10, 90)),
    "age": column_type("age", Kind.INTEGER, Bounds(0, 120)),
}
VISITS = Table("visits", COLUMNS, Person("person"), Limits(2, 3))
LOOSE = Table("loose", COLUMNS, Person("person"))
BARE = {name: Type(of.kind) for name, of in COLUMNS.items()}
FREE = Table("free", BARE | {"city": COLUMNS["city"]}, Person("person"), Limits(2, 3))
SCHEMA = Schema({"visits": VISITS, "loose": LOOSE, "free": FREE})

ROW = st.tuples(
    st.sampled_from([1, 2, 3, None]),
    st.sampled_from([*CITIES, "Elsewhere", "", None]),
    st.sampled_from(["a", "b", "c", None]),
    st.sampled_from([0.0, 90.0, -10.0, 12.5, 1e300, -1e300, 5e-324, math.inf, math.nan, None]),
    st.sampled_from([0, 18, 120, -(2**63), 2**63 - 1, None]),
)

QUESTIONS = [
    "SELECT city, COUNT(*), SUM(amount), AVG(age) FROM visits GROUP BY city",
    "SELECT COUNT(*), COUNT(DISTINCT person), VARIANCE(amount), CORR(age, amount) FROM visits",
    "SELECT city, COUNT(DISTINCT street), MEDIAN(amount) FROM visits GROUP BY city",
    "SELECT city, SUM(amount * age) FROM visits WHERE amount / age > 0.1 GROUP BY city",
    "SELECT age % 2 = 0, COUNT(amount) FILTER (WHERE city <> 'Haifa') FROM visits GROUP BY 1",
    "SELECT AVG(n) FROM (SELECT person, LEAST(COUNT(*), 5) AS n FROM visits GROUP BY person)",
    """SELECT a.city, COUNT(*) FROM visits a JOIN (SELECT person, MAX(age) AS oldest FROM visits
    GROUP BY person) b ON a.person = b.person WHERE oldest > 18 GROUP BY a.city""",
    """SELECT COUNT(*), SUM(age) FROM (SELECT person, age FROM visits UNION ALL
    SELECT person, age FROM visits)""",
    "SELECT street, COUNT(*), SUM(amount), COUNT(DISTINCT person) FROM visits GROUP BY street",
    "SELECT width_bucket(amount, 0, 80, 4), MEDIAN(age), COUNT(*) FROM visits GROUP BY 1",
    """SELECT x.v, COUNT(*), SUM(age) FROM visits JOIN (VALUES (0, 18), (10, 50), (18, 121))
    AS x(v, w) ON age >= x.v AND age < x.w GROUP BY 1""",
    """SELECT x.k, COUNT(DISTINCT person), AVG(amount) FROM visits JOIN (VALUES ('Haifa', 'h'),
    ('Austin', 'a')) x(city, k) USING (city) GROUP BY 1""",
    """SELECT l.k, SUM(l.v) FROM visits v CROSS JOIN LATERAL (VALUES ('age', v.age), ('two', 2))
    AS l(k, v) GROUP BY 1""",
    """SELECT city, COUNT(*), SUM(l.age) FROM visits v CROSS JOIN LATERAL (SELECT w.age FROM
    visits w WHERE w.person = v.person ORDER BY w.age DESC LIMIT 2) l GROUP BY city""",
    """SELECT COUNT(*), SUM(l.n) FROM visits v LEFT JOIN LATERAL (SELECT LEAST(COUNT(*), 9) AS n
    FROM visits w WHERE w.person = v.person AND w.age > 18) l ON TRUE""",
    """SELECT city, COUNT(*), SUM(age) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE
    w.person = v.person AND w.age > v.age) AND person NOT IN (SELECT person FROM visits WHERE
    street = 'b') GROUP BY city""",
    """SELECT COUNT(*), SUM(LEAST(n, 9)), AVG(gap) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY
    person ORDER BY age) AS n, age - LAG(age) OVER (PARTITION BY person ORDER BY amount) AS gap
    FROM visits)""",
    """SELECT COUNT(*), COUNT(a.city) FROM visits a FULL JOIN (SELECT * FROM visits WHERE age > 9) b
    ON a.person = b.person AND a.street = b.street""",
    """SELECT first, AVG(m), AVG(s) FROM (SELECT person, FIRST(city ORDER BY age) AS first,
    MEDIAN(amount) AS m, STDDEV(age) AS s FROM visits GROUP BY person) GROUP BY first""",
    "SELECT city, SKEWNESS(amount), KURTOSIS(age), REGR_SLOPE(amount, age) FROM visits GROUP BY 1",
    "SELECT AVG(amount > 9), COUNT(DISTINCT (city, age)), GEOMEAN(GREATEST(age, 1)) FROM visits",
    """SELECT a.city, n / m, RANK() OVER (ORDER BY n) FROM (SELECT city, COUNT(*) AS n FROM visits
    WHERE age > 18 GROUP BY city) a JOIN (SELECT city, SUM(amount) AS m FROM visits GROUP BY city) b
    ON a.city = b.city WHERE n > (SELECT COUNT(DISTINCT person) FROM visits)""",
    "SELECT SPLIT_PART(city, 'i', 2), TRUNC(amount, 1) > 3, COUNT(*) FROM visits GROUP BY ALL",
    "SELECT city, MODE(age), SUM(DISTINCT age), AVG(DISTINCT age - 60) FROM visits GROUP BY city",
    "SELECT MODE(city), MODE(street), ENTROPY(city), HISTOGRAM(city), COUNT(*) FROM visits",
    """SELECT city, AVG(n), AVG(t), SUM(n), COUNT(*) FROM (SELECT person, city, COUNT(age) AS n,
    SUM(amount) FILTER (WHERE age > 9) AS t FROM loose GROUP BY person, city) WHERE n > 0
    GROUP BY city""",
    """SELECT MEDIAN(n), QUANTILE_CONT(t, 0.9), COUNT(*) FROM (SELECT person, COUNT(*) AS n,
    SUM(age) AS t FROM loose GROUP BY person)""",
    """SELECT city, COUNT(*), AVG(age) FROM visits v WHERE age > (SELECT AVG(w.age) FROM visits w
    WHERE w.person = v.person AND w.city = v.city) OR (person, street) IN (SELECT person, city FROM
    visits) OR (city, street) IN (('Haifa', 'a'), ('Austin', 'b')) GROUP BY city""",
    """SELECT half, SUM(q), COUNT(*) FROM (SELECT NTILE(2) OVER (PARTITION BY person ORDER BY age)
    AS half, 100 * PERCENT_RANK() OVER (PARTITION BY person ORDER BY amount) AS q FROM visits)
    GROUP BY half""",
    "SELECT AVG(q) FROM (SELECT person, QUANTILE_CONT(amount, 0.3) AS q FROM visits GROUP BY 1)",
    """SELECT q, COUNT(*), SUM(v) FROM (SELECT person, age, CAST(amount AS BIGINT) AS a FROM loose)
    UNPIVOT (v FOR q IN (age, a)) GROUP BY q""",
    """SELECT city, AVG((SELECT COUNT(*) FROM loose w WHERE w.person = v.person AND w.age > 9)) AS n
    FROM visits v GROUP BY city""",
    """SELECT city, AVG(amount), SUM(age), VARIANCE(amount), CORR(age, amount) FROM free WHERE
    amount BETWEEN 3 AND 40.5 AND age >= 0 AND age < 99 GROUP BY city""",
    """SELECT REGEXP_EXTRACT(city, '([a-h]*)[^a-h]?$', 1), AVG(LENGTH(street)), MAX(x) FROM
    (SELECT *, age AS x FROM free) WHERE x <= 50 AND x > -8.5 AND street <> 'b' GROUP BY 1""",
    """SELECT city, AVG(n), MEDIAN(n), SUM(CASE WHEN n > 1 THEN t ELSE 0 END), AVG(t / n) FROM
    (SELECT person, city, COUNT(age) AS n, SUM(amount) AS t FROM loose GROUP BY person, city)
    GROUP BY city""",
    """SELECT v.city, AVG(COALESCE(d, 0)), COUNT(*) FROM visits v LEFT JOIN (SELECT person,
    COUNT(DISTINCT street) AS d FROM loose GROUP BY person) w ON w.person = v.person
    GROUP BY v.city""",
    """SELECT street, COUNT(*) FROM (SELECT person, street, ROW_NUMBER() OVER (PARTITION BY person
    ORDER BY COUNT(*) DESC) AS r FROM loose GROUP BY person, street) WHERE r = 1 GROUP BY street""",
]


def table(rows):
    columns = list(zip(*rows, strict=True)) if rows else [[]] * 5
    kinds = [pa.int64(), pa.string(), pa.string(), pa.float64(), pa.int64()]
    return pa.table(
        {
            name: pa.array(values, kind)
            for name, values, kind in zip(COLUMNS, columns, kinds, strict=True)
        }
    )


def engine_of(rows):
    engine = DuckDBEngine()
    for name in SCHEMA.tables:
        engine.store(name, table(rows))
    engine.open(SCHEMA)
    return engine


def recorded(query, contributions, rows):
    """Every exact integer that would meet noise."""
    engine = engine_of(rows)
    found = record(plan_of(query, contributions), engine)
    engine.close()
    return found


@cache
def asked(question):
    """What is measured for a question; reading it takes as long as an engine does."""
    first, *rest = questions_in(read(question, SCHEMA))
    return [replace(first, also=(), then=None), *rest]


@pytest.fixture(autouse=True)
def nothing_planted_is_remembered(request):
    """Statements are remembered with the question: those of a planted bug go with it."""
    yield
    if "monkeypatch" in request.fixturenames:
        asked.cache_clear()


def moved(question, contributions, *engines, far=False):
    """What moves further than declared between two engines."""
    asking = asked(question)
    return [one for q in asking for one in moved_too_far(q, contributions, *engines, far=far)]


def refute(questions, rows, gone, contributions, *, far=False):
    """{question: what moves further than declared when one person goes}."""
    engines = engine_of(rows), engine_of([row for row in rows if row[0] != gone])
    found = {question: moved(question, contributions, *engines, far=far) for question in questions}
    for engine in engines:
        engine.close()
    return {question: broken for question, broken in found.items() if broken}


NEIGHBOURS = (
    st.sampled_from([1, 2, 3]),
    st.builds(
        ContributionBounds,
        st.sampled_from(list(NoiseKind)),
        st.sampled_from([1, 2, 5]),
        st.sampled_from([1, 2, 3]),
        st.sampled_from([None, 1, 4, 20]),
        st.sampled_from([Fraction(1, 2), Fraction(3, 4)]),
    ),
)


@settings(max_examples=5)
@given(st.lists(ROW, min_size=16, max_size=24), *NEIGHBOURS)
def test_no_person_moves_a_statistic_further_than_declared(rows, gone, contributions):
    assert refute(QUESTIONS, rows, gone, contributions) == {}


@pytest.mark.audit
@pytest.mark.parametrize("_part", range(8))
@settings(max_examples=36)
@given(st.lists(ROW, max_size=24), *NEIGHBOURS)
def test_no_person_ever_moves_a_statistic_further(_part, rows, gone, contributions):
    assert refute(QUESTIONS, rows, gone, contributions) == {}


HEAVY = 10**5


@cache
def heavy_engines(streets):
    """Engines with and without a person of very many odd rows, who is in this many streets."""
    rng = np.random.default_rng(streets)
    odd = [12.5, 90.0, -10.0, 1e300, -1e300, 5e-324, math.inf, math.nan, None]
    ages, cities = [0, 18, 120, -(2**63), 2**63 - 1, None], [*CITIES, "Elsewhere", "", None]
    picks = rng.integers(0, 1 << 30, (HEAVY + 40, 4)).tolist()
    rows = [
        (
            1 if i < HEAVY else [2, 3, None][i % 3],
            cities[c % 6],
            f"s{s % streets}",
            odd[a % 9],
            ages[g % 6],
        )
        for i, (c, s, a, g) in enumerate(picks)
    ]
    return engine_of(rows), engine_of(rows[HEAVY:])


@pytest.mark.audit
@pytest.mark.parametrize("law", list(NoiseKind))
@pytest.mark.parametrize("rows", [1, 3, 200_000])
@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("streets", [40, HEAVY])
def test_a_person_with_very_many_rows_moves_no_statistic_further(law, rows, groups, streets):
    contributions = ContributionBounds(law, rows, groups)
    found = {q: moved(q, contributions, *heavy_engines(streets)) for q in QUESTIONS}
    assert {question: broken for question, broken in found.items() if broken} == {}


CROWD = [(1, "Haifa", "a", 90.0, 120)] * 9 + [
    (2, "Haifa", "b", 10.0, 30),
    (2, "Austin", "b", 1.0, 3),
]


@pytest.mark.parametrize("law", list(NoiseKind))
def test_a_person_without_weights_is_caught(monkeypatch, law):
    weights = CompiledQuery.weights

    def nobody(self, bounds):
        return weights(self, replace(bounds, rows=2**31, groups=2**62))

    monkeypatch.setattr(CompiledQuery, "weights", nobody)

    assert refute(QUESTIONS[:1], CROWD, 1, ContributionBounds(law, 2, 2)) != {}


@pytest.mark.parametrize("law", list(NoiseKind))
@pytest.mark.parametrize(("rows", "far"), [(2, 8), (8, 4), (8, 2)])  # the limit stays, or is raised
def test_a_person_who_is_far_out_moves_statistics_by_their_share(law, rows, far):
    bounds = ContributionBounds(law, rows, 2, far, Fraction(1, 2))
    questions = [QUESTIONS[0], QUESTIONS[2]]
    assert refute(questions, CROWD, 1, bounds, far=True) == {}
    assert refute(questions, CROWD, 2, bounds) == {}


@pytest.mark.parametrize("law", list(NoiseKind))
def test_a_person_who_is_far_out_and_weighs_as_much_as_others_is_caught(monkeypatch, law):
    weights = CompiledQuery.weights

    def equal(self, bounds):
        return weights(self, replace(bounds, far=None))

    monkeypatch.setattr(CompiledQuery, "weights", equal)

    bounds = ContributionBounds(law, 2, 2, 8, Fraction(1, 2))
    assert refute(QUESTIONS[:1], CROWD, 1, bounds, far=True) != {}


def test_a_clamp_that_lets_infinity_through_is_caught(monkeypatch):
    import discreet.sql.writer.compile as room

    rows = [(1, "Haifa", "a", math.inf, 120), (2, "Haifa", "b", 10.0, 30)]
    assert refute(QUESTIONS[:1], rows, 1, ContributionBounds(NoiseKind.LAPLACE, 2, 2)) == {}

    asked.cache_clear()  # statements are remembered with the question that they answer
    grid = room.on_grid
    monkeypatch.setattr(room, "on_grid", lambda text, *rest: f"100 * {grid(text, *rest)}")
    assert refute(QUESTIONS[:1], rows, 1, ContributionBounds(NoiseKind.LAPLACE, 2, 2)) != {}


def test_too_many_groups_of_one_person_are_caught(monkeypatch):
    streets = [(1, "Haifa", street, 1.0, 1) for street in "abcdef"]
    few, question = ContributionBounds(NoiseKind.LAPLACE, 50, 2), QUESTIONS[8]
    assert refute([question], streets, 1, few) == {}

    monkeypatch.setattr(CompiledQuery, "few_groups", lambda *_: [])
    assert "keys" in refute([question], streets, 1, few)[question]


def test_the_order_of_rows_changes_nothing():
    rng = np.random.default_rng(5)
    rows = [
        (int(rng.integers(1, 4)), CITIES[i % 3], "abc"[i % 3], float(rng.uniform(-10, 90)), i)
        for i in range(60)
    ]
    engines = engine_of(rows), engine_of([rows[i] for i in rng.permutation(len(rows))])
    for question in QUESTIONS:
        plan = plan_of(read(question, SCHEMA), ContributionBounds(NoiseKind.GAUSSIAN, 5, 2))
        first, second = (record(plan, engine) for engine in engines)
        assert first == second
    for engine in engines:
        engine.close()


def test_a_full_weight_is_the_plain_count():
    query = read("SELECT city, COUNT(*) FROM visits GROUP BY city", SCHEMA)
    found = recorded(query, ContributionBounds(NoiseKind.LAPLACE, 100, 5), CROWD).totals

    assert found[0, ("Haifa",), None] == 10 * FULL
    assert found[0, ("Austin",), None] == FULL
