"""What other dialects call a function is read as what DuckDB calls it."""

# ruff: noqa: S608 - the questions are made here, of fixed parts

import time

import pytest

from clinic import CLINIC
from discreet.errors import QueryRefused
from discreet.plan.relations import columns_of
from discreet.sql.reader.read import read, reads_clock
from plan_text import plan_text
from reference.interpreter import evaluate

SAME = [
    ("BTRIM(city)", "TRIM(city)"),
    ("DATETIME(day)", "CAST(day AS TIMESTAMP)"),
    ("DATE_TRUNC(seen, MONTH)", "DATE_TRUNC('month', seen)"),
    ("DATE_TRUNC(seen, WEEK)", "DATE_TRUNC('week', seen + INTERVAL 1 DAY) - INTERVAL 1 DAY"),
    ("DATE_TRUNC(seen, WEEK(MONDAY))", "DATE_TRUNC('week', seen)"),
    ("DATE_TRUNC(day, WEEK(TUESDAY))",
     "DATE_TRUNC('week', day + INTERVAL 6 DAY) - INTERVAL 6 DAY"),
    ("DATETIME_TRUNC(seen, HOUR)", "DATE_TRUNC('hour', seen)"),
    ("DATE_TRUNC('MM', day)", "DATE_TRUNC('month', day)"),
    ("TRUNC(day, 'YYYY')", "DATE_TRUNC('year', day)"),
    ("DATE_DIFF(day, DATE '2024-01-05', ISOWEEK)",
     "DATE_DIFF('week', DATE_TRUNC('week', DATE '2024-01-05'), DATE_TRUNC('week', day))"),
    ("DATE_DIFF(day, DATE '2024-01-05', WEEK)",
     """DATE_DIFF('week', DATE_TRUNC('week', DATE '2024-01-05' + INTERVAL 1 DAY) - INTERVAL 1 DAY,
     DATE_TRUNC('week', day + INTERVAL 1 DAY) - INTERVAL 1 DAY)"""),
    ("DATETIME_DIFF(seen, day, HOUR)", "DATE_DIFF('hour', day, seen)"),
    ("TIMESTAMP_DIFF(seen, day, HOUR)", "TIMESTAMPDIFF(HOUR, day, seen)"),
    ("TIMESTAMP_ADD(seen, INTERVAL 3 HOUR)", "seen + INTERVAL 3 HOUR"),
    ("DATETIME_SUB(seen, INTERVAL 3 HOUR)", "seen - INTERVAL 3 HOUR"),
    ("DATE_ADD(seen, 30)", "CAST(seen AS DATE) + 30"),
    ("DATE_SUB(day, 30)", "CAST(day AS DATE) - 30"),
    ("DATE_FORMAT(day, 'yyyy-MM')", "STRFTIME(day, '%Y-%m')"),
    ("DATE_FORMAT(day, 'EEEE d')", "STRFTIME(day, '%A %-d')"),
    ("DATE(2024, 1, 5) < day", "MAKE_DATE(2024, 1, 5) < day"),
    ("EXTRACT(DATE FROM seen)", "CAST(seen AS DATE)"),
    ("CAST(age AS FLOAT64)", "CAST(age AS DOUBLE)"),
    ("SQUARE(age)", "POWER(age, 2)"),
    ("TIMESTAMP_TRUNC(seen, ISOWEEK)", "DATE_TRUNC('week', seen)"),
    ("DATE_DIFF(day, DATE '2024-01-05', MONTH)", "DATE_DIFF('month', DATE '2024-01-05', day)"),
    ("DATEDIFF(day, DATE '2024-01-05')", "DATE_DIFF('day', DATE '2024-01-05', day)"),
    ("day > DATEADD(day, -9, '2024-06-30')", "day > DATE '2024-06-30' + INTERVAL (-9) DAY"),
    ("DATE_SUB(day, INTERVAL 2 WEEK)", "day - INTERVAL 2 WEEK"),
    ("DECODE(city, 'Haifa', 1, 'Austin', 2, 0)",
     "CASE city WHEN 'Haifa' THEN 1 WHEN 'Austin' THEN 2 ELSE 0 END"),
    ('DECODE(city, "Note", 1, NULL, 2)',
     'CASE WHEN city IS NOT DISTINCT FROM "Note" THEN 1 WHEN city IS NULL THEN 2 END'),
    ("DECODE(city, 'Haifa', 1)", "CASE city WHEN 'Haifa' THEN 1 END"),
    ("ZEROIFNULL(age + 1) * 2", "COALESCE(age + 1, 0) * 2"),
    ("NULLIFZERO(age)", "NULLIF(age, 0)"),
    ("NVL2(age, 1, 2)", "CASE WHEN age IS NULL THEN 2 ELSE 1 END"),
    ("DIV0(age - 1, age)", "IF(age = 0 AND NOT (age - 1) IS NULL, 0, (age - 1) / age)"),
    ("TO_VARCHAR(day, 'YYYY')", "TO_CHAR(day, 'YYYY')"),
    ("FORMAT(seen, 'yyyy-MM-dd HH:mm')", "STRFTIME(seen, '%Y-%m-%d %H:%M')"),
    ("FORMAT_DATE('%Y-%Q', day)", "TO_CHAR(day, 'YYYY-Q')"),
    ("CONVERT(date, seen)", "CAST(seen AS DATE)"),
    ("TRY_CONVERT(varchar, DATEADD(day, 1, day))", "TRY_CAST(day + INTERVAL (1) DAY AS VARCHAR)"),
    ("CONVERT(int, cost)", "CAST(TRUNC(cost) AS INT)"),
    ("CONVERT(bigint, age)", "CAST(age AS BIGINT)"),
    ("CONVERT(cost, SIGNED)", "CAST(cost AS BIGINT)"),
    ("CONVERT(age, DOUBLE)", "CAST(age AS DOUBLE)"),
    ("CONCAT_WS('/', city, 'x')",
     "SUBSTRING(CONCAT(IF(city IS NULL, '', '/' || city), '/x'), 2)"),
    ("UNIX_TIMESTAMP(seen)", "EPOCH(seen)"),
    ("EXTRACT(ISOWEEK FROM day)", "EXTRACT(WEEK FROM day)"),
    ("VAR(age)", "VAR_SAMP(age)"),
    ("VARP(age)", "VAR_POP(age)"),
    ("STDEVP(age)", "STDDEV_POP(age)"),
    ("APPROX_PERCENTILE(age, 0.9)", "QUANTILE_CONT(age, 0.9)"),
    ("TRUNC(age, -1)", "TRUNC(age / 10) * 10"),
]  # fmt: skip


@pytest.mark.parametrize(("spelling", "own"), SAME, ids=[one for one, _ in SAME])
def test_a_spelling_is_read_as_what_it_stands_for(spelling, own):
    aggregate = any(part in own for part in ("QUANTILE", "VAR_", "STDDEV"))
    ask = "SELECT {} AS v, COUNT(*) FROM visits" + ("" if aggregate else " GROUP BY 1")
    if "CONCAT_WS" in spelling:  # a text that is written out is never NULL, which is not looked at
        own = own.replace("'/x'", "IF('x' IS NULL, '', '/' || 'x')")
    assert read(ask.format(spelling), CLINIC) == read(ask.format(own), CLINIC)


@pytest.mark.parametrize("scheme", ["public", "dbo", "main", "PUBLIC"])
def test_the_schema_that_each_database_has_may_stand_before_a_table(scheme):
    plain = "SELECT city, COUNT(*) FROM {}visits v GROUP BY city"
    assert read(plain.format(scheme + "."), CLINIC) == read(plain.format(""), CLINIC)


def test_a_schema_before_a_table_means_the_table_and_no_name_of_with():
    plain = read("SELECT COUNT(*) FROM visits", CLINIC)
    assert read(f"WITH visits AS (SELECT * FROM visits WHERE age > 50) {AGAIN}", CLINIC) == plain
    with pytest.raises(QueryRefused, match="no table"):
        read("WITH v AS (SELECT * FROM visits) SELECT COUNT(*) FROM main.v", CLINIC)


AGAIN = "SELECT COUNT(*) FROM main.visits"


def test_a_column_that_is_called_day_is_no_unit():
    plain = "SELECT {} AS v, COUNT(*) FROM visits GROUP BY 1"
    months = "DATE_DIFF('month', DATE '2024-01-05', day)"
    assert "MONTH(day)" in plan_text(read(plain.format(months), CLINIC))


def test_values_of_a_pivot_stand_in_brackets_as_in_sql_server():
    asked = """SELECT * FROM (SELECT city, urgent, age FROM visits) AS s
    PIVOT (SUM(age) FOR city IN ({})) AS p"""
    brackets = read(asked.format("[Haifa], [Austin]"), CLINIC)
    assert brackets == read(asked.format("'Haifa', 'Austin'"), CLINIC)
    with pytest.raises(QueryRefused, match="PIVOT"):
        read(asked.format("[visits].[Haifa], [Austin]"), CLINIC)


@pytest.mark.parametrize("form", ["ROLLUP", "CUBE"])
def test_subtotals_stand_behind_the_keys_as_in_mysql(form):
    ask = "SELECT city, urgent, SUM(age) AS s FROM visits GROUP BY "
    behind = read(f"{ask}city, urgent WITH {form}", CLINIC)
    assert behind == read(f"{ask}{form} (city, urgent)", CLINIC)
    assert len(behind.sets) > 2


ROWS = "(SELECT city, urgent, COUNT(*) AS n FROM visits GROUP BY 1, 2)"


@pytest.mark.parametrize(
    ("on", "order"), [("1", "1, 3 DESC"), ("city", "1, n DESC"), ("1, 2", "city, 2, 3")]
)
def test_places_in_distinct_on_over_answers_are_those_of_selected_values(on, order):
    names = {"1": "city", "2": "urgent", "3": "n"}
    named = ["".join(names.get(letter, letter) for letter in one) for one in (on, order)]
    asked = f"SELECT DISTINCT ON ({{}}) * FROM {ROWS} ORDER BY {{}}"
    assert read(asked.format(on, order), CLINIC) == read(asked.format(*named), CLINIC)


def test_the_first_row_of_a_person_is_told_by_place_and_name_of_the_selected_value():
    asked = """SELECT AVG((SELECT w.cost AS age FROM visits w WHERE w.patient_id = v.patient_id
    ORDER BY {} LIMIT 1)) FROM visits v"""
    own = read(asked.format("w.cost DESC, w.day"), CLINIC)
    assert read(asked.format("age DESC, day"), CLINIC) == own
    assert read(asked.format("1 DESC, w.day"), CLINIC) == own
    assert read(asked.format("w.age DESC, day"), CLINIC) != own
    with pytest.raises(QueryRefused):
        read(asked.format("2"), CLINIC)


@pytest.mark.parametrize("value", ["COALESCE(region, 'none')", "'none'", "region IS NULL"])
def test_a_value_of_a_public_row_that_is_not_there_is_null(value):
    text = f"(SELECT {value} FROM cities c WHERE c.name = v.city) IS NULL"
    query = read(f"SELECT COUNT(*) FROM visits v WHERE {text}", CLINIC)
    columns = columns_of(query.relation)
    nowhere = dict.fromkeys(columns)
    assert evaluate(query.relation.predicate, nowhere, columns) is True
    there = nowhere | {"city": "Haifa", "name": "Haifa"}
    assert evaluate(query.relation.predicate, there, columns) is False


ELAPSED = [
    ("MONTH", "2024-01-31", "2024-02-29", 0),
    ("MONTH", "2024-01-31", "2024-03-31", 2),
    ("MONTH", "2024-03-31", "2024-01-31", -2),
    ("YEAR", "2000-02-29", "2024-02-28", 23),
    ("YEAR", "2000-02-29", "2024-02-29", 24),
    ("DAY", "2024-02-28 13:00", "2024-03-01 12:59", 1),
    ("HOUR", "2024-02-28 13:30", "2024-02-28 15:29", 1),
    ("MINUTE", "2024-02-28 13:00:30", "2024-02-28 12:58:31", -1),
]


@pytest.mark.parametrize(("unit", "first", "last", "whole"), ELAPSED)
def test_timestampdiff_counts_whole_units(unit, first, last, whole):
    text = f"TIMESTAMPDIFF({unit}, TIMESTAMP '{first}', TIMESTAMP '{last}') = {whole}"
    query = read(f"SELECT COUNT(*) FROM visits WHERE {text}", CLINIC)
    row = dict.fromkeys(columns_of(query.relation))
    assert evaluate(query.relation.predicate, row, columns_of(query.relation)) is True


@pytest.mark.parametrize(
    "call", ["DECODE(city)", "ZEROIFNULL(age, 1)", "CONCAT_WS(city, city)",
             "FORMAT(cost, 'N2')", "TIMESTAMPDIFF(FORTNIGHT, day, day)",
             "FORMAT(seen, 'yyyy\\-MM')", "FORMAT(seen, 'yyyy\"-\"MM')",
             "DATEADD(day, day)", "CONVERT(city, seen)", "DATE_TRUNC(day, age)"]
)  # fmt: skip
def test_what_is_no_such_spelling_is_refused(call):
    with pytest.raises(QueryRefused):
        read(f"SELECT COUNT(*) FROM visits WHERE {call} IS NULL", CLINIC)


@pytest.mark.parametrize("call", ["DIV0(age, ", "DECODE(age, 1, 2, 3, 4, "])
def test_calls_inside_calls_do_not_grow_without_end(call):
    before, value = time.process_time(), call * 40 + "1" + ")" * 40
    with pytest.raises(QueryRefused, match="parts"):
        read(f"SELECT {value} AS v, COUNT(*) FROM visits GROUP BY 1", CLINIC)
    assert time.process_time() - before < 2


@pytest.mark.parametrize(
    "text",
    [
        "getdate()",
        "NOW()",
        "CURDATE ()",
        "SYSDATE()",
        "AGE(born)",
        "current_date",
        "today()",
        "AGE\n\t(born)",
        "AGE/* x */(born)",
        "AGE -- x\n (born)",
        '"getdate"()',
        "GETDATE\u00a0()",
    ],
)
def test_what_means_something_else_tomorrow_is_known_by_its_words(text):
    """A text that reads the clock is not remembered by what it meant before."""
    assert reads_clock(f"SELECT COUNT(*) FROM patients WHERE born < {text}")
