"""Questions about people as sets and each person's history mean what DuckDB would understand.

The rows that are counted are those of the plan; the same text is asked of DuckDB itself.
"""

# ruff: noqa: S608 - the questions are made here, of fixed parts

from functools import cache

import duckdb
import pytest

from clinic import CLINIC
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import QueryRefused
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.query import AggregateFunction
from discreet.plan.relations import columns_of
from discreet.plan.schema import Schema
from discreet.sql.reader.read import read
from discreet.sql.writer.compile import SECRET
from discreet.sql.writer.relations import render_relation
from recording import moved_too_far
from reference.growth import Seeded
from reference.people_questions import arrow, grow, stored

PEOPLE = 14
TIED = Schema({"visits": CLINIC.tables["visits"]})
SCHEMA = Schema({n: CLINIC.tables[n] for n in ("visits", "patients", "tests", "cities")})


@cache
def engines(*, without=None, most=25):
    """An engine of ours and a plain one over the same rows, perhaps without one person.

    `most` are the visits of the first person.
    """
    tables = stored(PEOPLE, "people questions", most)
    for name, person in (("visits", "patient_id"), ("patients", "id"), ("tests", "patient")):
        stays = [one != without for one in tables[name][person]]
        tables[name] = {
            column: [v for v, stay in zip(values, stays, strict=True) if stay]
            for column, values in tables[name].items()
        }
    ours, plain = DuckDBEngine(), duckdb.connect()
    for name, rows in arrow(tables).items():
        ours.store(name, rows)
        plain.register(name, rows)
    ours.open(SCHEMA)
    return ours, plain


def measured(aggregate, scope, dialect):
    """An aggregate as plain SQL over the rows of the plan."""
    texts = [dialect.render(one, scope) for one in aggregate.arguments]
    where = ""
    if aggregate.where is not None:
        where = f" FILTER (WHERE {dialect.render(aggregate.where, scope)})"
    match aggregate.measure:
        case AggregateFunction.COUNT:
            return f"COUNT({texts[0] if texts else '*'}){where}"
        case AggregateFunction.COUNT_PEOPLE:
            return f'COUNT(DISTINCT "_person"){where}'
        case AggregateFunction.SUM:
            return f"SUM({texts[0]}){where}"
    raise AssertionError(aggregate)


def counted(query):
    """The groups of a question, by the rows of its plan."""
    engine = engines()[0]
    scope, dialect = columns_of(query.relation), engine.dialect
    keys = [dialect.render(key.expression, scope) for key in query.keys]
    asked = [measured(one, scope, dialect) for one in query.aggregates]
    columns = ", ".join(f"{text} AS c{i}" for i, text in enumerate([*keys, *asked]))
    rows = render_relation(query.relation, dialect, SECRET)
    by = f" GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
    named = [one.name for one in (*query.keys, *query.aggregates)]
    shown = [named.index(output.expression.name) for output in query.outputs]
    with engine.snapshot() as session:
        found = session.stream(f"SELECT {columns} FROM ({rows}) AS z{by}")
        values = [tuple(row.values()) for batch in found for row in batch.to_pylist()]
    return [tuple(row[at] for at in shown) for row in values]


def disagreement(text):
    """None where both mean the same; a refusal is no answer."""
    query = read(text, SCHEMA)
    ours = sorted(counted(query), key=by_group)
    theirs = sorted(engines()[1].execute(text).fetchall(), key=by_group)
    close = [tuple(map(approximately, row)) for row in theirs]
    return None if ours == close else (ours, theirs)


def by_group(row):
    return repr([value for value in row if not isinstance(value, float)])


def approximately(value):
    return pytest.approx(value, rel=1e-7, abs=1e-7) if isinstance(value, float) else value


def asked(choose):
    """A question that is answered; few are not, each for a reason."""
    found = None
    while found is None:
        text = grow(choose)
        found = answered(text)
    return text, found


def answered(text):
    try:
        return read(text, SCHEMA)
    except QueryRefused as error:
        if error.code not in {"unbounded_count", "too_slow"}:
            raise
        return None


@pytest.mark.parametrize("seed", range(3))
def test_a_question_about_people_means_what_duckdb_understands(seed):
    choose = Seeded(f"people {seed}")
    for _ in range(100):
        text, _ = asked(choose)
        assert disagreement(text) is None, text


@pytest.mark.audit
@pytest.mark.parametrize("seed", range(20))
def test_very_many_questions_about_people_mean_what_duckdb_understands(seed):
    choose = Seeded(f"many people {seed}")
    for _ in range(250):
        text, _ = asked(choose)
        assert disagreement(text) is None, text


PICKED = [
    "DISTINCT ON (patient_id) patient_id, age FROM visits ORDER BY 1, 2 DESC NULLS LAST",
    "DISTINCT ON (1) patient_id, age FROM visits ORDER BY 1, age DESC NULLS LAST",
    "DISTINCT ON (p) patient_id AS p, age FROM visits ORDER BY p, age NULLS LAST",
    "DISTINCT ON (patient_id) patient_id, -age AS age FROM visits ORDER BY 1, age NULLS LAST",
    "DISTINCT ON (patient_id) patient_id, -age AS a, age FROM visits ORDER BY a + 1 NULLS LAST",
]


@pytest.mark.parametrize("rows", PICKED)
def test_the_first_row_of_each_person_is_told_by_places_and_names_of_selected_values(rows):
    assert disagreement(f"SELECT SUM(age) FROM (SELECT {rows})") is None


HELD = [
    """SUM(visit_id), COUNT(visit_id) FROM visits WHERE visit_id >= 3 AND visit_id < 90
    AND visit_id BETWEEN -7 AND 80.5""",
    """SUM(v) FROM (SELECT city, visit_id AS v FROM visits WHERE visit_id > 2 AND visit_id <= 60) w
    WHERE v < 50 AND city IN (SELECT name FROM cities)""",
    "SUM(LENGTH(note)), SUM(LENGTH(city)) FROM visits",
]


@pytest.mark.parametrize("values", HELD)
def test_values_whose_bounds_are_proved_are_those_of_duckdb(values):
    assert disagreement(f"SELECT city, {values} GROUP BY city") is None


SECONDS = "CAST(visit_id % 9000 AS BIGINT)"
MOMENTS = f"""(SELECT *, CAST(day AS TIMESTAMP) + INTERVAL ({SECONDS} * 4999) SECOND AS ts,
    CAST(day AS TIMESTAMP) - INTERVAL ({SECONDS} * 86399) SECOND + INTERVAL (age) DAY AS tt
    FROM visits)"""
CLOCKS = [
    *(f"EXTRACT({part} FROM AGE(ts, tt))" for part in ("YEAR", "MONTH", "DAY")),
    *("EXTRACT(DAY FROM AGE(tt, ts))", "EXTRACT(YEAR FROM AGE(ts, day))"),
    *(f"AGE(ts, tt) {sign} INTERVAL 3 DAY" for sign in ("<", "<=", "=", "<>")),
    *("AGE(ts, tt) > INTERVAL 1 MONTH", "CAST(ts AS TIME) >= CAST(tt AS TIME)"),
    *("CAST(ts AS TIME) < TIME '02:46:38'", "ts::TIME BETWEEN '01:00' AND '05:30:00.5'"),
    *(
        f"TIME_BUCKET(INTERVAL '{width}', {of})"
        for width in ("7 days", "3 days", "15 minutes", "5 months", "1 year")
        for of in ("tt", "day")
    ),
    *("MAKE_DATE(YEAR(day), 2, DAY(day) % 28 + 1)", "LEN(STRING_SPLIT(city, 'if'))"),
    "ARRAY_LENGTH(STRING_SPLIT(city, 'a'))",
    *(
        "DATE_DIFF('week', tt, ts)",
        "city || '-' || age",
        "CONCAT(YEAR(day), '-Q', QUARTER(ts), urgent)",
    ),
    *("REGEXP_EXTRACT(city, '^([A-Z])([a-h]*)', 2)", r"REGEXP_EXTRACT(note, '\w+')"),
    *("REGEXP_MATCHES(city, '[a-h]+i')", r"REGEXP_FULL_MATCH(city, '\w{5}\$?')"),
]


@pytest.mark.parametrize("key", CLOCKS)
def test_times_of_a_day_ages_and_buckets_are_those_of_duckdb(key):
    assert disagreement(f"SELECT {key} AS k, COUNT(*) FROM {MOMENTS} GROUP BY 1") is None


UNPIVOTED = [
    "(SELECT patient_id, age, visit_id FROM visits) UNPIVOT (v FOR q IN (age, visit_id))",
    "(SELECT id, sex, income FROM patients) UNPIVOT INCLUDE NULLS (v FOR q IN (income AS 'i'))",
    "(UNPIVOT (SELECT patient, value FROM tests) ON value INTO NAME q VALUE v)",
]


@pytest.mark.parametrize("rows", UNPIVOTED)
def test_columns_that_become_rows_are_those_of_duckdb(rows):
    assert disagreement(f"SELECT q, COUNT(*), COUNT(v) FROM {rows} GROUP BY q") is None


WRITTEN_AGAIN = [
    "patient_id IN (SELECT patient FROM tests WHERE value > 3)",
    "EXISTS (SELECT 1 FROM tests t WHERE t.patient = v.patient_id AND t.value > 3)",
    "CASE WHEN city IN (SELECT name FROM cities WHERE population > 50) THEN 'a' ELSE 'b' END",
]


@pytest.mark.parametrize("key", WRITTEN_AGAIN)
def test_a_key_about_other_rows_can_be_written_again(key):
    text = f"SELECT {key} AS k, COUNT(*) FROM visits v GROUP BY {key}"
    assert disagreement(text) is None
    assert read(text, SCHEMA) == read(text.replace(f"GROUP BY {key}", "GROUP BY 1"), SCHEMA)


PLANTED = {
    "SELECT COUNT(*) FROM patients WHERE id IN (SELECT patient FROM tests)": (
        "r.hit IS NOT NULL",
        "TRUE",
    ),
    """SELECT COUNT(*) FROM visits a WHERE NOT EXISTS (SELECT 1 FROM visits b
    WHERE b.patient_id = a.patient_id AND b.day > a.day)""": ("FALSE", "TRUE"),
    """SELECT COUNT(*) FROM (SELECT age - LAG(age) OVER (PARTITION BY patient_id ORDER BY visit_id)
    AS w FROM visits) WHERE w > 0""": ("LAG(", "LEAD("),
    """SELECT SUM(age) FROM (SELECT * FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id
    ORDER BY visit_id DESC) = 1)""": (" DESC", ""),
    "SELECT SUM(v) FROM (SELECT patient_id, MEDIAN(age) AS v FROM visits GROUP BY 1)": (
        "% 2",
        "% 1",
    ),
}


@pytest.mark.parametrize("text", PLANTED, ids=[right for right, _ in PLANTED.values()])
def test_a_fault_in_the_statement_is_caught(monkeypatch, text):
    right = render_relation

    def faulty(*given):
        return right(*given).replace(*PLANTED[text])

    assert disagreement(text) is None
    monkeypatch.setitem(counted.__globals__, "render_relation", faulty)
    assert disagreement(text) is not None


def test_rows_that_tie_are_told_apart_by_their_content():
    """Whatever order rows are stored in, the same ones come first."""
    turn = "ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY city)"
    query = read(f"SELECT COUNT(*) FROM (SELECT age * {turn} AS n FROM visits)", TIED)
    rows = arrow(stored(PEOPLE, "people questions"))["visits"]
    found = set()
    for order in (range(rows.num_rows), reversed(range(rows.num_rows))):
        engine = DuckDBEngine()
        engine.store("visits", rows.take(list(order)))
        engine.open(TIED)
        with engine.snapshot() as session:
            text = render_relation(query.relation, engine.dialect, SECRET)
            (batch,) = session.stream(f'SELECT SUM("n") AS s FROM ({text}) AS z')
        found.add(batch["s"][0].as_py())
        engine.close()
    assert len(found) == 1


def check_neighbours(choose, pairs, gone, most=25):
    """Ask so many questions with and without one of these people."""
    for _ in range(pairs):
        text, query = asked(choose)
        law = choose.one(list(NoiseKind))
        bounds = ContributionBounds(law, choose.one([1, 2, 5]), choose.one([1, 2]))
        without = engines(without=choose.one(gone), most=most)[0]
        assert moved_too_far(query, bounds, engines(most=most)[0], without) == [], text


def test_one_person_moves_no_answer_about_people_further_than_declared():
    check_neighbours(Seeded("neighbours"), 24, [1, 2, 3])


@pytest.mark.audit
@pytest.mark.parametrize("seed", range(20))
def test_one_person_never_moves_an_answer_about_people_further(seed):
    check_neighbours(Seeded(f"many neighbours {seed}"), 100, [1, 2, 3, 4])


@pytest.mark.audit
@pytest.mark.parametrize("seed", range(5))
def test_a_person_with_very_many_visits_moves_no_answer_further(seed):
    check_neighbours(Seeded(f"heavy neighbours {seed}"), 60, [1], 10**5)
