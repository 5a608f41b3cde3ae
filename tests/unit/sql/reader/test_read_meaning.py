"""A question means what DuckDB would understand: the same text, asked there and through the plan.

The data is tame (no overflow, no failed cast), since there our meaning and the engine's agree; what
happens beyond is defined by the plan and tested with it.
"""

# ruff: noqa: S608 - the questions are made here, of fixed parts

import random

import duckdb
import pytest

from clinic import CLINIC, VISITS
from discreet.engines.duckdb_dialect import DuckDBDialect
from discreet.errors import QueryRefused
from discreet.plan.relations import columns_of
from discreet.sql.reader.read import read

ROWS = """
    (1, 10, 'Haifa', 30, 12.5, DATE '2024-02-29', TIMESTAMP '2024-02-29 10:30:15', TRUE, 'a%b'),
    (2, 10, 'Austin', 0, 0.0, DATE '2020-01-01', TIMESTAMP '2020-01-01 00:00:00', FALSE, 'ab'),
    (3, 11, NULL, 17, 999.5, DATE '2025-12-31', TIMESTAMP '2025-12-31 23:59:59', NULL, NULL),
    (4, 12, 'haifa', NULL, NULL, NULL, NULL, TRUE, ''),
    (5, 13, ' Haifa ', 120, 2.5, DATE '2023-07-02', TIMESTAMP '2023-07-02 12:00:00', FALSE, '7'),
    (NULL, 14, 'Haifa', 3, 3.5, DATE '2021-05-16', TIMESTAMP '2021-05-16 05:06:07', TRUE, 'A_b')
"""


@pytest.fixture(scope="module")
def engine():
    connection = duckdb.connect()
    names = ", ".join(f'"{name}"' for name in VISITS.columns)
    connection.execute(f"CREATE TABLE visits AS SELECT * FROM (VALUES {ROWS}) AS v({names})")
    connection.execute("ALTER TABLE visits ALTER cost TYPE DOUBLE")
    return connection


def both(engine, text):
    """The values of an expression: by DuckDB's own reading, and by ours."""
    query = read(f"SELECT COUNT(DISTINCT {text}) FROM visits", CLINIC)
    (expression,) = query.aggregates[0].arguments
    ours = DuckDBDialect().render(expression, columns_of(query.relation))
    theirs = engine.execute(f"SELECT {text} FROM visits").fetchall()
    return [row[0] for row in theirs], [
        row[0] for row in engine.execute(f"SELECT {ours} FROM visits").fetchall()
    ]


def same(first, second):
    if isinstance(first, bool) or isinstance(second, bool) or first is None or second is None:
        return first is second
    if hasattr(first, "isoformat"):
        return first.isoformat()[:10] == second.isoformat()[:10]
    if isinstance(first, str) or isinstance(second, str):
        return first == second
    return float(first) == pytest.approx(float(second), rel=1e-12)


EXPRESSIONS = """
age + 1
age - visit_id * 2
-age
cost / 4
age % 7
MOD(age, 7)
ABS(age - 50)
SIGN(age - 17)
FLOOR(cost)
CEIL(cost)
ROUND(cost * 10)
ROUND(cost + 0.3, 0)
ROUND(age, -1)
ROUND(age / 2)
ROUND(age * 0.25, 1)
ROUND((0 - age) / 2)
CAST(age / 2 AS BIGINT)
SQRT(cost)
EXP(visit_id)
LN(age + 1)
LEAST(age, 20, NULL)
GREATEST(age, cost, 20)
age = 17
age <> 17
age < cost
age >= 17
NOT urgent
urgent AND age > 5
urgent OR age > 5
urgent IS TRUE
urgent IS NOT TRUE
urgent IS FALSE
urgent IS NOT FALSE
age IS NULL
age IS NOT NULL
age ISNULL
age NOTNULL
age IS DISTINCT FROM 17
age IS NOT DISTINCT FROM 17
city IS DISTINCT FROM "Note"
city IS NOT DISTINCT FROM NULL
age BETWEEN 3 AND 30
age NOT BETWEEN 3 AND 30
age IN (3, 17, 30)
age NOT IN (3, 17, 30)
age IN (visit_id, 30)
city IN ('Haifa', 'Austin')
city LIKE 'H%'
city NOT LIKE 'H%'
city LIKE '%a_s%'
note LIKE 'a!%%' ESCAPE '!'
note NOT LIKE 'A!_b' ESCAPE '!'
city ILIKE 'h%'
city NOT ILIKE '%A%'
COALESCE(age, visit_id, 0)
IFNULL(city, 'x')
NULLIF(age, 17)
CASE WHEN age > 20 THEN 1 WHEN age > 10 THEN 2 END
CASE WHEN age > 20 THEN 'old' ELSE NULL END
CASE city WHEN 'Haifa' THEN 1 WHEN 'Austin' THEN 2 ELSE 3 END
CASE urgent WHEN TRUE THEN 1 END
IF(urgent, age, 1)
CAST(age AS DOUBLE)
age::VARCHAR
urgent::VARCHAR
urgent::BIGINT
TRY_CAST(note AS BIGINT)
TRY_CAST(note AS DOUBLE)
CAST(seen AS DATE)
DATE(seen)
LOWER(city)
UPPER(city)
TRIM(city)
LENGTH(city)
city || '/' || note
CONCAT(city, '/', note)
SUBSTRING(city, 2, 3)
SUBSTRING(city FROM 2 FOR 3)
SUBSTR(city, 3)
LEFT(city, 2)
STARTS_WITH(city, 'H')
city ^@ 'H'
YEAR(day)
QUARTER(day)
EXTRACT(MONTH FROM day)
EXTRACT('day' FROM day)
DATE_PART('hour', seen)
MINUTE(seen)
DAYOFWEEK(day)
EXTRACT(DOW FROM day)
WEEKDAY(day)
ISODOW(day)
DAYOFYEAR(day)
DATE_TRUNC('year', day)
DATE_TRUNC('quarter', day)
DATE_TRUNC('month', day)
DATE_TRUNC('week', day)
DATE_TRUNC('hour', seen)
day + 3
day + INTERVAL 3 DAY
day - INTERVAL '2 weeks'
INTERVAL 3 DAY + day
day - DATE '2020-01-01'
day >= '2024-01-01'
day BETWEEN '2020-06-01' AND DATE '2024-12-31'
day IN ('2024-02-29', '2020-01-01')
seen > '2024-01-01'
seen > '2024-02-29 10:30:15'
seen < TIMESTAMP '2024-02-29 10:30:15.000001'
@age
age + 6 / 4 * 3
age / 4 / 2 - 8 / 2
age * 4 % 3 + 2 IS NULL
1e2 + age
.5 + age
1_000 + age
-9223372036854775808 + 0 * age < 0
age // 7
(0 - age) // 7
POWER(age, 2)
age ** 3
cost ^ 2
POW(cost, 0.5)
LOG(cost + 1)
LOG10(age + 1)
LOG2(cost + 1)
LTRIM(' ' || note || ' ')
RTRIM(' ' || note || ' ')
TRIM(LEADING FROM note)
TRIM(BOTH FROM note)
REPLACE(city, 'a', 'bb')
REPLACE(note, 'a', '')
RIGHT(city, 3)
RIGHT(note, 0)
STRPOS(city, 'a')
INSTR(note, 'a')
POSITION('a' IN city)
CONTAINS(city, 'i')
ENDS_WITH(city, 'a')
SUFFIX(city, 'a')
PREFIX(city, 'H')
SECOND(seen)
WEEK(day)
WEEKOFYEAR(seen)
EXTRACT(SECOND FROM seen)
DATE_PART('week', day)
day + INTERVAL 1 MONTH
day - INTERVAL 1 YEAR
day + INTERVAL (age) DAY
day + INTERVAL '5 quarters'
seen + INTERVAL 3 DAY
seen - INTERVAL 2 WEEKS
seen - INTERVAL (age) MONTH
seen + INTERVAL '36 hours'
seen - INTERVAL 61 SECONDS
day + INTERVAL 90 MINUTE
DATE_ADD(day, INTERVAL 1 MONTH)
DATE_DIFF('day', day, seen)
DATE_DIFF('month', day, seen)
DATEDIFF('quarter', day, seen)
DATEDIFF('year', day, seen)
"""


@pytest.mark.parametrize("text", EXPRESSIONS.strip().splitlines())
def test_an_expression_means_what_the_engine_understands(engine, text):
    theirs, ours = both(engine, text)
    assert all(map(same, theirs, ours)), list(zip(theirs, ours, strict=True))


OPERATORS = [
    "+",
    "-",
    "*",
    "%",
    "//",
    "** 2",
    "^ 2",
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "==",
    "!=",
    "AND",
    "OR",
    "||",
]
OPERATORS += ["IS NULL", "IS NOT NULL", "IS TRUE", "IS NOT FALSE", "ISNULL", "::BIGINT", "::DOUBLE"]
OPERATORS += ["BETWEEN", "NOT BETWEEN", "IN", "NOT IN", "LIKE", "NOT LIKE", "IS DISTINCT FROM"]
ATOMS = ["age", "visit_id", "cost", "urgent", "city", "note", "1", "2", "0.25", "TRUE", "'Haifa'"]


def chain(rng):
    """Operators and atoms in a row, without parentheses."""
    words = [*prefix(rng)]
    for _ in range(rng.randint(1, 4)):
        words += step(rng)
    return " ".join(words)


def prefix(rng):
    return [rng.choice(["NOT", "-"]) for _ in range(rng.choice([0, 0, 0, 0, 1, 2]))] + [
        rng.choice(ATOMS)
    ]


def step(rng):
    operator = rng.choice(OPERATORS)
    if operator.endswith(("NULL", "TRUE", "FALSE", "2")) or operator.startswith("::"):
        return [operator]
    if operator.endswith("BETWEEN"):
        return [operator, *prefix(rng), "AND", *prefix(rng)]
    if operator.endswith("IN"):
        return [operator, f"({rng.choice(ATOMS)}, {rng.choice(ATOMS)})"]
    if operator.endswith("LIKE"):
        return [operator, "'%a%'"]
    return [operator, *prefix(rng)]


def test_operators_bind_as_in_the_engine(engine):
    """Chains without parentheses have the same values (without /, which can leave the numbers)."""
    rng = random.Random(20260131)  # noqa: S311 - a fixed choice of texts
    compared = 0
    for _ in range(2500):
        text = chain(rng)
        try:
            theirs, ours = both(engine, text)
        except (QueryRefused, duckdb.Error, ValueError, AttributeError):
            continue
        compared += 1
        assert all(map(same, theirs, ours)), text
    assert compared > 150
