"""Random questions over answers mean what plain DuckDB says they mean, cell by cell.

Noise is left out; groups, windows, joins and subqueries of grouped questions are made at random.
"""

# ruff: noqa: S608 - the questions are made here, of fixed parts

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clinic import CLINIC
from discreet.errors import QueryRefused
from discreet.plan import canonical
from discreet.plan.schema import Schema
from discreet.sql.reader.read import read
from plain_answers import answered, clinic_tables, tidy

KEYS = [
    "city",
    "age // 3",
    "urgent",
    "year(day)",
    "strftime(day, '%m')",
    "split_part(city, 'i', 1)",
]
VALUES = [
    "COUNT(*)",
    "SUM(age)",
    "AVG(cost)",
    "COUNT(DISTINCT city)",
    "SUM(age > 4)",
    "COUNT(*) FILTER (WHERE urgent)",
    "REGR_AVGX(cost, age)",
    "MAX(age) - MIN(age)",
    "COALESCE(SUM(DISTINCT age), 0)",
    "ROUND(100 * ENTROPY(city))",
    "ROUND(10 * ENTROPY(age // 5) FILTER (WHERE age > 2))",
    "COALESCE(ROUND(AVG(DISTINCT age)), 0)",
]
WHERE = ["", " WHERE age > 3", " WHERE urgent", " WHERE regexp_matches(city, '^(Ha|ha)')"]
AGGREGATES = ["AVG(n)", "MAX(m)", "SUM(n)", "COUNT(*)", "MIN(n + m)", "STDDEV(n)"]
AGGREGATES += ["COUNT(DISTINCT n)"]
WINDOWS = [
    "SUM(n) OVER ()",
    "n * 1.0 / SUM(n) OVER (PARTITION BY k)",
    "RANK() OVER (ORDER BY n DESC)",
    "DENSE_RANK() OVER (PARTITION BY j ORDER BY m)",
    "SUM(m) OVER (ORDER BY k, j)",
    "n - LAG(n, 1, 0) OVER (ORDER BY k, j)",
    "AVG(n) OVER (ORDER BY j, k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
    "FIRST_VALUE(m) OVER (ORDER BY k, j)",
    "COUNT(*) FILTER (WHERE n > 2) OVER (PARTITION BY j)",
    "CUME_DIST() OVER (ORDER BY n)",
    "SUM(n) OVER w",
    "m - LAG(m, 1, CAST(n AS BIGINT)) OVER w",  # released sums are doubles, DuckDB's whole numbers
    "SUM(n) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)",
]
FIRSTS = [
    "ARG_MAX(n * 2, n)",
    "ARG_MIN(n - 1, n) FILTER (WHERE m > 2)",
    "BOOL_OR(n > 3)",
    "ANY_VALUE(1)",
    "FIRST(n ORDER BY n DESC)",
    "LAST(m ORDER BY m)",
]
SETS = ["j", "ROLLUP (j)", "CUBE (j, n)", "GROUPING SETS ((j), ())", "GROUPING SETS ((n), (j))"]


LISTED = [
    "(SELECT * FROM (VALUES ('a', 3), ('b', 1.5), (NULL, 12)) t(x, y))",
    "(SELECT 'a' AS x, unnest([2, 4]) AS y)",
    "(SELECT 'a' AS x, 1 AS y UNION ALL SELECT 'b', 9)",
]
FIRST = " QUALIFY ROW_NUMBER() OVER (ORDER BY j, k) < 4"


@st.composite
def grouped(draw):
    """A grouped question with keys k and j and values n and m."""
    k, j = draw(st.permutations(KEYS))[:2]
    n, m = draw(st.sampled_from(VALUES)), draw(st.sampled_from(VALUES))
    where = draw(st.sampled_from(WHERE))
    having = draw(st.sampled_from(["", " HAVING COUNT(*) > 2"]))
    return f"SELECT {k} AS k, {j} AS j, {n} AS n, {m} AS m FROM visits{where} GROUP BY 1, 2{having}"


@st.composite
def windowed(draw):
    parts = ", ".join(
        f"{draw(st.sampled_from(WINDOWS))} AS w{i}" for i in range(draw(st.integers(1, 2)))
    )
    kept = draw(st.sampled_from(["", " WHERE n > 1", FIRST]))
    named = (
        " WINDOW w AS (ORDER BY k, j)" if "w" in parts.replace("w0", "").replace("w1", "") else ""
    )
    where, last = (kept, "") if "WHERE" in kept else ("", kept)
    return f"SELECT k, j, {parts} FROM ({draw(grouped())}) t{where}{named}{last}"


@st.composite
def regrouped(draw):
    value = draw(st.sampled_from(AGGREGATES))
    having = draw(st.sampled_from(["", " HAVING COUNT(*) > 1"]))
    below = draw(grouped())
    if draw(st.booleans()):
        return f"SELECT {value} AS v, COUNT(*) AS c FROM ({below}) t"
    return f"SELECT j, {value} AS v FROM ({below}) t GROUP BY j{having}"


@st.composite
def picked(draw):
    """The first of released rows in some order, in each of several grouping sets."""
    value, by = draw(st.sampled_from(FIRSTS)), draw(st.sampled_from(SETS))
    key = "n" if by == SETS[-1] else "j"
    told = f", GROUPING({key})" if by not in SETS[:1] else ""
    return (
        f"SELECT {key}, {value} AS v, COUNT(*) AS c{told} FROM ({draw(grouped())}) t GROUP BY {by}"
    )


@st.composite
def beside(draw):
    """A grouped question beside a public table, or beside another by the columns of both."""
    first = draw(grouped())
    how = draw(st.sampled_from(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]))
    if draw(st.booleans()):
        second = first.replace(" AS m", " * 2 AS m")
        second = f"SELECT k, j, m AS z FROM ({second}) WHERE m > 6"
        return f"SELECT k, j, n, z FROM ({first}) a {how} ({second}) b USING (k, j)"
    if draw(st.booleans()):
        listed = draw(st.sampled_from(LISTED))
        return f"SELECT k, j, n, x, n * y AS z FROM ({first}) a {how} {listed} v ON n > y"
    on = draw(st.sampled_from(["CAST(k AS TEXT) = name", "n = population"]))
    value = draw(st.sampled_from(["n * 1.0 / population", "COALESCE(n, 0)"]))
    rest = draw(
        st.sampled_from(["", " WHERE population > (SELECT AVG(population) - 9 FROM cities)"])
    )
    if draw(st.booleans()):
        return f"SELECT region, SUM({value}) FROM ({first}) a {how} cities ON {on}{rest} GROUP BY 1"
    return f"SELECT k, name, {value} AS v FROM cities {how} ({first}) a ON {on}{rest}"


@st.composite
def joined(draw):
    """Two grouped questions by the same keys, or one beside a single number."""
    first = draw(grouped())
    if draw(st.booleans()):
        second = first.replace(" AS m", " * 2 AS m")
        how = draw(st.sampled_from(["JOIN", "LEFT JOIN", "RIGHT JOIN"]))
        on = "a.k IS NOT DISTINCT FROM b.k AND a.j IS NOT DISTINCT FROM b.j"
        return f"SELECT a.k, b.j, a.n - b.m AS d FROM ({first}) a {how} ({second}) b ON {on}"
    alone = f"(SELECT {draw(st.sampled_from(AGGREGATES))} FROM ({draw(grouped())}) u)"
    return f"SELECT k, j, n - {alone} AS d FROM ({first}) t WHERE n >= {alone} - 9"


@st.composite
def stacked(draw):
    value = draw(st.sampled_from(AGGREGATES))
    sides = [f"SELECT '{name}' AS s, {value} AS v FROM ({draw(grouped())}) t" for name in "ab"]
    return f" {draw(st.sampled_from(['UNION ALL', 'UNION']))} ".join(sides)


PEOPLE = [
    *("n", "t", "d", "n * 1.5", "t / n", "COALESCE(t, 0)", "CAST(d AS DOUBLE)"),
    "CASE WHEN n > 2 THEN t ELSE 0 END",
    "CASE WHEN o > 4 THEN n WHEN n = 1 THEN NULL ELSE t / 2 END",
]


@st.composite
def of_people(draw):
    """Sums over people of what their rows add up to, beside other aggregates of people."""
    key, where = draw(st.sampled_from(KEYS)), draw(st.sampled_from(WHERE))
    rows = f"""SELECT patient_id, {key} AS k, COUNT(*) AS n, SUM(cost) AS t, MAX(age) AS o,
    COUNT(DISTINCT city) AS d FROM visits{where} GROUP BY 1, 2"""
    one, two = draw(st.sampled_from(PEOPLE)), draw(st.sampled_from(PEOPLE))
    values = [f"AVG({one})", f"SUM({two}) FILTER (WHERE n > 1)", "COUNT(*)", "AVG(o)", "COUNT(t)"]
    asked = ", ".join(draw(st.lists(st.sampled_from(values), min_size=1, unique=True)))
    if draw(st.booleans()):
        how = draw(st.sampled_from(["JOIN", "LEFT JOIN"]))
        tables = f"patients p {how} ({rows}) v ON v.patient_id = p.id"
        return f"SELECT sex, {asked} FROM {tables} GROUP BY sex"
    few = draw(st.sampled_from(["", " WHERE o > 2"]))
    if draw(st.booleans()):
        return f"SELECT k, {asked} FROM ({rows}) v{few} GROUP BY k"
    return f"SELECT {asked} FROM ({rows}) v{few}"


@st.composite
def met(draw):
    """Groups of private rows that meet released ones."""
    key, value = draw(st.sampled_from(KEYS)), draw(st.sampled_from(VALUES))
    first = draw(st.sampled_from(["", " ORDER BY 2 DESC, 1 LIMIT 2"]))
    top = f"SELECT {key} AS a, COUNT(*) AS n FROM visits{draw(st.sampled_from(WHERE))} GROUP BY 1"
    if draw(st.booleans()):
        listed = f"SELECT a FROM ({top}{first})"
        kept = draw(st.sampled_from(["{} IN ({})", "{} NOT IN ({})", "NOT ({} IN ({}))"]))
        return f"SELECT {key} AS k, {value} FROM visits WHERE {kept.format(key, listed)} GROUP BY 1"
    many = draw(st.sampled_from(["", "y.n > 9 AND ", "y.a IS NOT NULL AND "]))
    rows = f"visits JOIN ({top}{first}) y ON y.a = {key} WHERE {many}age > 2"
    return f"SELECT {key} AS k, {value} AS v, COUNT(*) * 1.0 / MAX(y.n) FROM {rows} GROUP BY 1"


QUESTIONS = st.one_of(
    *(windowed(), regrouped(), joined(), stacked(), picked(), beside(), of_people(), met())
)


@pytest.fixture(scope="module")
def engine():
    return clinic_tables()


def check(engine, question, schema=CLINIC):
    engine.execute("SET schema = 'plain'")
    theirs = engine.execute(question).fetchall()
    engine.execute("SET schema = 'data'")
    query = read(question, schema)
    assert tidy(answered(engine, query)) == tidy(theirs)
    assert canonical.read(canonical.write(query), schema) == query


NAMES = ["_draw", "_AT", "_id", "_half", "_l", "_j", "_row", "every", "n0", "window 1", 'a"b', "="]


@pytest.mark.parametrize("name", NAMES)
def test_columns_can_have_the_names_of_columns_that_are_added(engine, name):
    name = '"' + name.replace('"', '""') + '"'
    one = f"SELECT city AS {name}, COUNT(*) AS n FROM visits GROUP BY 1"
    other = f"SELECT sex AS {name}, COUNT(*) FROM patients GROUP BY 1"
    check(engine, f"SELECT {name}, SUM(n) OVER (ORDER BY {name}) AS w FROM ({one}) t")
    check(engine, f"SELECT a.{name}, b.n FROM ({one}) a JOIN ({one}) b ON a.{name} = b.{name}")
    check(engine, f"SELECT MAX(n) AS {name} FROM ({one}) t")
    check(engine, f"{one} UNION ALL {other} ORDER BY 2, 1")


MEET = [
    "a JOIN a b ON a.k IS NOT DISTINCT FROM b.k JOIN a c ON c.k = a.k AND c.n > 0",
    "a JOIN a b ON a.n < b.n JOIN a c ON lower(c.k) = lower(a.k)",
    "a JOIN a b ON a.n < b.n CROSS JOIN (SELECT MAX(n) AS most FROM a) c",
    "(SELECT a.k, COUNT(*) AS n FROM a JOIN a b ON a.n <= b.n GROUP BY 1) x JOIN a c ON c.n > x.n",
]


@pytest.mark.parametrize("tables", MEET)
def test_answers_are_joined_one_after_the_other_where_rows_stay_few(engine, tables):
    one = "SELECT city AS k, COUNT(*) AS n FROM visits GROUP BY 1"
    check(engine, f"WITH a AS ({one}) SELECT COUNT(*) FROM {tables}")


CITIES = "cities c LEFT JOIN visits v ON v.city = c.name"
TESTS = "SELECT COUNT(*) FROM tests t WHERE t.patient = p.id"
BESIDE = [
    f"SELECT c.name, COALESCE(COUNT(v.visit_id), 0), SUM(v.age) AS s FROM {CITIES} GROUP BY 1",
    f"""SELECT c.name, c.population, COALESCE(COUNT(DISTINCT v.patient_id), 0), AVG(v.cost),
    COALESCE(SUM(CASE WHEN v.age > 4 THEN 1 ELSE 0 END), 0) AS x, COALESCE(SUM(COALESCE(v.age, 0)),
    0) AS y FROM {CITIES} AND v.urgent GROUP BY ALL""",
    """SELECT region, COUNT(visit_id) AS n, SUM(age) FILTER (WHERE urgent) AS s FROM visits RIGHT
    JOIN cities ON city = name WHERE population > 10 GROUP BY 1 HAVING COUNT(visit_id) > -1
    ORDER BY n DESC, 1 LIMIT 3""",
    f"""SELECT c.name AS city, COALESCE(COUNT(v.age), 0) AS n, RANK() OVER (ORDER BY
    COALESCE(COUNT(v.age), 0) DESC, c.name) AS r FROM {CITIES} AND c.population > 60 GROUP BY c.name
    QUALIFY r < 9""",
    """WITH v AS (SELECT city AS name, age, patient_id FROM visits WHERE age > 2)
    SELECT x.name, 2 * COALESCE(COUNT(v.age), 0) + 1 AS z FROM cities x LEFT JOIN v USING (name)
    GROUP BY x.name""",
    f"SELECT AVG(({TESTS})) AS a, SUM(({TESTS})) AS s, COUNT(*) AS n FROM patients p",
    f"""SELECT sex, AVG(({TESTS} AND t.value > 2)) AS a, COUNT(*) AS n FROM patients p
    WHERE income > 100 GROUP BY sex ORDER BY a""",
    f"SELECT SUM(n) FROM (SELECT c.name, COUNT(v.age) AS n FROM {CITIES} GROUP BY c.name)",
    """SELECT SUM((SELECT COUNT(DISTINCT t.value) FROM tests t WHERE t.patient = p.id)) AS n
    FROM patients p""",
    f"""SELECT SUM(({TESTS})) AS n, AVG(({TESTS} AND t.value > 2)) AS a FROM patients p WHERE EXISTS
    (SELECT 1 FROM tests r WHERE r.patient = p.id AND r.value > 2)""",
]


def named_cities(engine):
    """The tables, with the names of all cities declared: their groups need not be found."""
    names = [name for (name,) in engine.execute("SELECT name FROM plain.cities").fetchall()]
    cities = CLINIC.tables["cities"]
    kept = replace(cities.columns["name"], keys=tuple(names))
    columns = {**cities.columns, "name": kept}
    regions = engine.execute("SELECT DISTINCT region FROM plain.cities").fetchall()
    columns["region"] = replace(columns["region"], keys=tuple(region for (region,) in regions))
    return Schema({**CLINIC.tables, "cities": replace(cities, columns=columns)})


@pytest.mark.parametrize("question", BESIDE, ids=range(len(BESIDE)))
def test_public_rows_that_are_kept_and_counts_of_subqueries_are_those_of_duckdb(engine, question):
    check(engine, question, named_cities(engine))


def test_what_was_not_measured_beside_public_rows_is_unknown_and_not_0(engine):
    text = f"SELECT c.name, COUNT(v.age) AS n FROM {CITIES} AND v.age > 1000 GROUP BY 1"
    assert {row[1] for row in answered(engine, read(text, CLINIC))} == {None}


@pytest.mark.parametrize(
    "question",
    [
        f"SELECT c.name, COUNT(*) AS k FROM {CITIES} GROUP BY 1",
        f"SELECT DISTINCT COUNT(v.age) > -5 AS n FROM {CITIES} GROUP BY c.name",
        """SELECT c.name, COUNT(v.age) AS n FROM cities c LEFT JOIN (SELECT * FROM visits) v
        ON v.city = c.name GROUP BY 1""",
        f"SELECT DISTINCT SUM(({TESTS})) AS n FROM patients p GROUP BY sex",
    ],
)
def test_what_would_be_another_question_beside_rows_is_refused(question):
    with pytest.raises(QueryRefused):
        read(question, CLINIC)


@settings(max_examples=25)
@given(QUESTIONS)
def test_a_random_question_over_answers_means_what_duckdb_says(engine, question):
    check(engine, question)


@pytest.mark.audit
@settings(max_examples=2000)
@given(QUESTIONS)
def test_many_random_questions_over_answers_mean_what_duckdb_says(engine, question):
    check(engine, question)
