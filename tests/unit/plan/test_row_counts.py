"""Counts of one person's rows: bounded by the limits that are stated, and by nothing else."""

import re
from dataclasses import replace

import pyarrow as pa
import pytest

import discreet as dp
from clinic import CLINIC, VISITS
from discreet.errors import QueryRefused
from discreet.plan.row_counts import held_counts
from discreet.plan.schema import Limits, Schema
from discreet.sql.reader.read import read
from plain_answers import answered, clinic_tables, tidy
from plan_text import plan_text

STATED = Schema({**CLINIC.tables, "visits": replace(VISITS, limits=Limits(max_rows=5))})
COUNTS = "SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id"
OUTER = "SELECT {} AS x FROM ({})"
PICKED = f"SELECT n FROM ({COUNTS}) WHERE n > 2"  # noqa: S608 - ours
KINDS = [COUNTS.replace("*", one) for one in ("*", "city", "DISTINCT city")]


@pytest.mark.parametrize("inner", [*KINDS, PICKED])
@pytest.mark.parametrize("outer", ["AVG(n)", "SUM(n)", "STDDEV(n)", "MEDIAN(n)", "MAX(n)"])
def test_a_count_of_a_persons_rows_is_held_to_the_rows_that_are_stated(inner, outer):
    asked = read(OUTER.format(outer, inner), STATED)
    written = read(OUTER.format(outer.replace("n)", "LEAST(n, 5))"), inner), STATED)

    assert plan_text(asked) == plan_text(written)


@pytest.mark.parametrize(
    "question",
    [
        "SELECT COUNT(*) FROM ({}) WHERE n > 9",
        "SELECT n, COUNT(*) FROM ({}) WHERE n IN (1, 9) GROUP BY n",
        "SELECT COUNT(DISTINCT n) FROM ({})",
        "SELECT COUNT(n) FROM ({})",
        "SELECT AVG(LEAST(n, 50)) FROM ({})",
        "SELECT COUNT(*) FROM ({} HAVING COUNT(*) > 9)",
    ],
)
def test_conditions_groups_and_bounds_that_are_asked_for_stay_as_they_are(question):
    question = question.format(COUNTS)

    assert plan_text(read(question, STATED)) == plan_text(read(question, CLINIC))


SUMS = "SELECT patient_id, SUM({}) AS t FROM visits GROUP BY patient_id"


@pytest.mark.parametrize(
    ("of", "held"),
    [
        ("age", "case[IS_NULL(t) -> None:INTEGER; else GREATEST(LEAST(t, 600), 0)]"),
        ("cost", "case[IS_NULL(t) -> None:INTEGER; else GREATEST(LEAST(t, 5000), 0)]"),
        ("age - 60", "case[IS_NULL(t) -> None:INTEGER; else GREATEST(LEAST(t, 300), -300)]"),
    ],
)
def test_a_sum_of_a_persons_rows_is_held_to_what_so_many_rows_add_up_to(of, held):
    asked = read(OUTER.format("AVG(t)", SUMS.format(of)), STATED)

    assert f"MEAN({held})" in plan_text(asked).replace(".0", "").replace("REAL", "INTEGER")


@pytest.mark.parametrize(
    ("of", "bound"),
    [("cost", "LEAST(t, 1000)"), ("age - 60", "GREATEST(LEAST(t, 1000), -1000)")],
)
def test_a_sum_without_limits_is_refused_with_the_question_that_works(of, bound):
    with pytest.raises(QueryRefused, match="a sum of one person's rows") as refused:
        read(OUTER.format("STDDEV(t)", SUMS.format(of)), CLINIC)
    kept = f"CASE WHEN t IS NOT NULL THEN {bound} END"  # LEAST(NULL, 1000) is 1000
    instead = OUTER.format(f"STDDEV({kept})", SUMS.format(of))

    assert refused.value.fix.endswith(instead)
    assert read(instead, CLINIC)


def test_what_limits_prove_needs_no_bounds():
    assert read(OUTER.format("AVG(n)", COUNTS.replace("*", "DISTINCT urgent")), CLINIC)
    assert read(OUTER.format("AVG(n)", COUNTS.replace("*", "DISTINCT age")), CLINIC)
    assert read(OUTER.format("AVG(LEAST(t, 300))", SUMS.format("cost")), CLINIC)


def test_rows_of_two_tables_add_up_and_a_join_of_private_rows_has_no_limit():
    both = "SELECT patient_id FROM visits UNION ALL SELECT patient_id FROM visits"
    asked = read(
        OUTER.format("AVG(n)", COUNTS.replace("visits", f"({both})")),
        STATED,
    )
    assert "LEAST(n, 10)" in plan_text(asked)
    with pytest.raises(QueryRefused, match="one person's rows"):
        read(
            "SELECT STDDEV(n) FROM (SELECT a.patient_id, COUNT(*) AS n FROM visits a"
            " JOIN visits b USING (patient_id) GROUP BY a.patient_id)",
            STATED,
        )


@pytest.mark.parametrize(
    "outer",
    [
        "STDDEV( n )",
        "VAR_POP(n) FILTER (WHERE patient_id > 3)",
        "COVAR_POP(patient_id % 9, n)",
    ],
)
def test_without_limits_the_question_that_works_is_spelled_out(outer):
    with pytest.raises(QueryRefused) as refused:
        read(OUTER.format(outer, COUNTS), CLINIC)
    instead = OUTER.format(re.sub(r"\bn\b", "LEAST(n, 50)", outer), COUNTS)

    assert refused.value.code == "unbounded_count"
    assert refused.value.fix.endswith(instead)
    assert read(instead, CLINIC)


def test_the_answer_says_how_many_rows_of_a_person_it_counts():
    curator = dp.Curator.in_memory()
    rows = pa.table({"id": [i % 500 for i in range(2000)] + [1] * 500})
    budget = dp.Budget(epsilon=100, delta=1e-6)
    curator.add("visits", rows, unit="id", budget=budget, limits=Limits(1, 5))
    text = "SELECT AVG(n) AS x FROM (SELECT id, COUNT(*) AS n FROM visits GROUP BY id)"
    answer = curator.sql(text, epsilon=50)

    assert answer.table["x"].to_pylist() == [pytest.approx(4, abs=0.05)]  # 5 where one has 504
    said = "n counts at most 5 rows per person (the stated limits)"
    assert said in answer.notes
    assert said in " ".join(answer.statement().split())
    assert said in " ".join(str(curator.explain(text, epsilon=1)).split())


def test_the_answer_says_what_a_sum_of_one_person_is_held_to():
    curator = dp.Curator.in_memory()
    rows = pa.table({"id": [i % 500 for i in range(2000)], "x": [1.0] * 2000})
    bounds = {"x": dp.Bounds(0, 2)}
    budget = dp.Budget(epsilon=100, delta=1e-6)
    curator.add("visits", rows, unit="id", budget=budget, limits=Limits(1, 5), columns=bounds)
    text = "SELECT AVG(t) AS m FROM (SELECT id, SUM(x) AS t FROM visits GROUP BY id)"
    answer = curator.sql(text, epsilon=50)

    assert answer.table["m"].to_pylist() == [pytest.approx(4, abs=0.05)]
    assert "t of one person is clamped to 0 .. 10 (the stated limits)" in answer.notes


def test_a_count_beside_people_without_rows_is_null_and_not_the_limit():
    """LEAST(NULL, 5) is 5: people who had no visits were averaged as if they had five."""
    people = pa.table({"who": range(400)})
    visits = pa.table({"who": range(100)})
    curator = dp.Curator.in_memory()
    budget = dp.Budget(epsilon=100, delta=1e-6)
    curator.add("patients", people, unit="who", budget=budget, limits=dp.Limits(1, 1))
    curator.add("visits", visits, unit="who", dataset="patients", limits=dp.Limits(1, 5))
    counts = "(SELECT who, COUNT(*) AS c FROM visits GROUP BY who)"
    text = f"SELECT AVG(c) AS m, SUM(c) AS s FROM patients LEFT JOIN {counts} USING (who)"  # noqa: S608 - ours
    answer = curator.sql(text, epsilon=30)

    assert answer.table["m"].to_pylist() == [pytest.approx(1, abs=0.2)]
    assert answer.table["s"].to_pylist() == [pytest.approx(100, abs=20)]


# --- without limits -------------------------------------------------------------------------------

TOTALS = {
    "AVG(n)": "case[(count = 0) -> None:REAL; else (GREATEST(total 1, 0) / GREATEST(count, 1))]",
    "SUM(n)": "total 1",
    "(SUM(n) / COUNT(*))": "(total 1 / count)",
}


@pytest.mark.parametrize("outer", TOTALS)
def test_without_limits_people_are_averaged_by_their_rows(outer):
    query = read(f"SELECT 0 + {outer} AS x FROM ({COUNTS})", CLINIC)  # noqa: S608 - ours

    assert f"x := (0 + {TOTALS[outer]})" in plan_text(query)


PEOPLE_ROWS = {
    "AVG(n), COUNT(*), SUM(n)": COUNTS,
    "AVG(n)": f"SELECT n FROM ({COUNTS}) WHERE n > 1",  # noqa: S608 - ours
    "AVG(t), SUM(t), COUNT(t), COUNT(*)": SUMS.format("NULLIF(age, 5)"),
    "AVG(t) FILTER (WHERE n > 1), SUM(n)": COUNTS.replace(
        "COUNT(*) AS n", "COUNT(*) AS n, SUM(age) AS t"
    ),
    "MAX(n), MIN(n)": COUNTS,
    "city, AVG(n)": COUNTS.replace("patient_id", "patient_id, city", 1) + ", city",
    "AVG(n), SUM(n)": COUNTS.replace("patient_id", "patient_id, city", 1) + ", city",
    "SUM(n + t), AVG(t - n), AVG(n * 2.5)": COUNTS.replace(
        "COUNT(*) AS n", "COUNT(*) AS n, SUM(age) AS t"
    ),
    "SUM(a.n), AVG(b.n), COUNT(*)": f"{COUNTS}) a JOIN ({COUNTS} HAVING COUNT(*) > 1) b"
    " ON (a.patient_id = b.patient_id",
}


@pytest.mark.parametrize("outer", PEOPLE_ROWS)
def test_people_by_their_rows_mean_what_duckdb_says(outer):
    engine = clinic_tables()
    by = " GROUP BY city" if "city" in outer else ""
    text = f"SELECT {outer} FROM ({PEOPLE_ROWS[outer]}){by}"  # noqa: S608 - ours
    engine.execute("SET schema = 'plain'")
    theirs = engine.execute(text).fetchall()
    engine.execute("SET schema = 'data'")

    assert tidy(answered(engine, read(text, CLINIC))) == tidy(theirs)


def test_a_limit_holds_a_count_inside_of_an_expression_and_not_in_its_conditions():
    asked = read(OUTER.format("AVG(CASE WHEN n > 9 THEN n * 1.0 END)", COUNTS), STATED)

    assert "case[(n > 9) -> (LEAST(n, 5) * 1.0); else None:REAL]" in plan_text(asked)
    assert set(held_counts(asked)) == {"n"}


@pytest.mark.parametrize("value", ["n * n", "SQRT(n)", "n - 1", "n * (2 * 3 - n)"])
def test_what_rows_do_not_add_up_to_is_refused(value):
    with pytest.raises(QueryRefused, match="one person's rows"):
        read(OUTER.format(f"AVG({value})", COUNTS), CLINIC)


def test_the_bounds_that_nobody_stated_are_bought_and_told():
    curator = dp.Curator.in_memory()
    rows = pa.table({"id": [i % 500 for i in range(2000)] + [1] * 500})
    curator.add("visits", rows, unit="id", budget=dp.Budget(epsilon=100, delta=1e-6))
    text = "SELECT AVG(n) AS x FROM (SELECT id, COUNT(*) AS n FROM visits GROUP BY id)"
    answer = curator.sql(text, epsilon=50)

    assert answer.table["x"].to_pylist() == [pytest.approx(4.5, abs=0.6)]  # 5 with all 504 rows
    assert "one person counts for at most" in answer.notes[0]
    assert "limits on the rows of one person are chosen" in str(curator.explain(text, epsilon=1))
