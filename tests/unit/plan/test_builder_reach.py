"""Each kind of part that a golden question in SQL has is part of a question in Python too."""

import re
from pathlib import Path

import pytest

from clinic import CLINIC
from discreet.errors import InputError, QueryRefused
from discreet.plan.answer_builder import over
from discreet.plan.builder import Asker, From, descending, first, lag, row_number, running
from discreet.plan.expression_builder import (
    case,
    col,
    correlation,
    count,
    count_distinct,
    count_people,
    covariance,
    maximum,
    mean,
    median,
    minimum,
    quantile,
    stddev,
    total,
    variance,
)
from discreet.plan.query import questions_in
from discreet.plan.relations import Scan, nodes_of
from discreet.sql.reader.read import read
from plan_text import plan_text

GOLDEN = Path(__file__).parents[2] / "golden"


def _nothing(*_asked, **_said):
    return None


ASK = Asker(_nothing, _nothing, _nothing, lambda text, rows: read(text, CLINIC, rows=rows))
VISITS = From(Scan(CLINIC.tables["visits"]), ask=ASK)
PATIENTS = From(Scan(CLINIC.tables["patients"]), ask=ASK)
CITIES = VISITS.group_by("city").agg(n=count(), s=total("cost"))

BUILT = {
    "filter": VISITS.where(col("age") >= 18).count(),
    "project": VISITS.with_columns(old=col("age") > 60).group_by("old").count(),
    "person join": PATIENTS.join(VISITS).count(),
    "person match": PATIENTS.matching(VISITS).count(),
    "public join": VISITS.join(CLINIC.tables["cities"], "city").count(),
    "union": VISITS.union(VISITS).count(),
    "per person": VISITS.per_person(n=count(), c=first("city", "day")).agg(m=count_distinct("c")),
    "person window": VISITS.with_windows(
        turn=row_number(descending("day")),
        before=lag("age", "day"),
        spent=running(total("cost"), "day"),
    ).count(),
    "grouping sets": VISITS.cube("city", year=col("day").year()).agg(n=count()),
    "rollup": VISITS.group_by("urgent").rollup("city", decade=col("age") // 10).agg(n=count()),
    "counts": VISITS.agg(count(), count_people(), count_distinct("city"), mean("age")),
    "spread": VISITS.agg(variance("age"), stddev("age"), covariance("age", "cost")),
    "ranks": VISITS.agg(median("age"), minimum("age"), maximum("age"), quantile("cost", 0.9)),
    "pairs": VISITS.agg(correlation("age", "cost")),
    "case": VISITS.group_by(g=case((col("age") < 30, "y"), otherwise="o")).count(),
    "having, order, limit": CITIES.having(col("n") > 3).order_by("n", descending=True).limit(2),
    "computed": CITIES.with_columns(each=col("s") / col("n")),
    "filtered, sorted": CITIES.limit(5).having(col("n") > 3).order_by("n"),
    "windows": CITIES.with_columns(place=over("rank", order_by="n")),
    "regrouped": CITIES.group_by(big=col("n") > 10).agg(k=count()),
    "joined": CITIES.join(CITIES.select(town="city", m="n"), col("city") == col("town")),
    "stacked": CITIES.stack(CITIES),
    "mode": VISITS.mode("age"),
    "mode, sum of different": VISITS.sql("SELECT MODE(age), SUM(DISTINCT age) FROM self"),
}

REASONS = {
    "MatchPublic": "conditions IN (SELECT ... FROM a public table): ask .sql(), or .join the table",
    "ConstantRows": "answers beside rows that are written out: ask .sql(), or write a case()",
    "PublicRows": "answers beside the rows of a public table: ask .sql(), or join what is released",
}


def _parts(query):
    """The classes of relations and released tables, and the aggregates, of a question."""
    questions = questions_in(query)
    relations = [one for part in questions for one in nodes_of(part.relation)[0]]
    tables = [] if query.then is None else list(query.then.nodes())
    measures = {one.measure.name for part in questions for one in part.aggregates}
    return {type(one).__name__ for one in (*relations, *tables)} | measures


def _golden():
    for file in sorted(GOLDEN.glob("read_*.sql")):
        for block in re.split(r"\n\n+", file.read_text()):
            text = "\n".join(x for x in block.splitlines() if not x.startswith("--"))
            if text.strip():
                yield text


def test_python_has_every_part_that_golden_questions_have_or_says_why_not():
    asked = set()
    for text in _golden():
        try:
            asked |= _parts(read(text, CLINIC))
        except QueryRefused:
            continue
    built = set().union(*(_parts(one.query()) for one in BUILT.values()))
    assert len(asked) > 25
    assert asked - built == set(REASONS)


SAME = [
    (
        "SELECT city, age // 10 AS d, COUNT(*) AS n FROM visits GROUP BY ROLLUP (city, d)",
        VISITS.rollup("city", d=col("age") // 10).agg(n=count()),
    ),
    (
        "SELECT city, urgent, COUNT(*) AS n FROM visits GROUP BY CUBE (city, urgent)",
        VISITS.cube("city", "urgent").agg(n=count()),
    ),
    (
        "SELECT urgent, city, SUM(cost) AS n FROM visits GROUP BY urgent, ROLLUP (city)",
        VISITS.group_by("urgent").rollup("city").agg(n=total("cost")),
    ),
]


@pytest.mark.parametrize(("sql", "python"), SAME, ids=[sql for sql, _ in SAME])
def test_grouping_sets_are_those_of_sql(sql, python):
    asked, built = read(sql, CLINIC), python.query()
    assert {part: getattr(asked, part) for part in ("relation", "keys", "aggregates", "sets")} == {
        part: getattr(built, part) for part in ("relation", "keys", "aggregates", "sets")
    }


def test_names_are_given_by_alias_too():
    keys = VISITS.group_by((col("age") // 10).alias("decade"), col("city"))
    assert [key.name for key in keys.keys] == ["decade", "city"]
    question = keys.agg(mean("age").alias("m"), count()).sort("count")
    assert [one.name for one in question.query().aggregates] == ["m", "count"]
    assert VISITS.with_columns((col("age") + 1).alias("next")).agg(n=count("next"))
    assert VISITS.value_counts("city").query() == (
        VISITS.group_by("city").count().order_by("count", descending=True).query()
    )


def test_too_many_grouping_sets_are_refused_before_they_are_made():
    with pytest.raises(InputError, match="grouping sets"):
        VISITS.cube(**{f"k{i}": col("age") // (i + 2) for i in range(40)})


def test_steps_in_python_are_the_table_self_of_sql():
    old = VISITS.where(col("age") >= 60)
    assert "(age >= 60)" in plan_text(old.sql("SELECT city, COUNT(*) FROM self GROUP BY 1").query())
    people = old.sql("SELECT COUNT(DISTINCT patient_id) AS n FROM self")
    assert people.query().aggregates[0].measure.name == "COUNT_PEOPLE"
    assert old.with_columns(d=col("age") // 10).sql("SELECT d, AVG(age) FROM self GROUP BY d")
    with pytest.raises(QueryRefused, match="FROM self"):
        old.sql("SELECT COUNT(*) FROM visits")
    with pytest.raises(InputError, match="GROUP BY"):
        old.group_by("city").sql("SELECT COUNT(*) FROM self")
    with pytest.raises(InputError, match="the mode of each group"):
        old.group_by("city").mode("age")
    shown = old.sql("SELECT city, COUNT(*) + 1 AS n FROM self GROUP BY city")
    assert list(shown.having(col("n") > 3).query().then.columns) == ["city", "n"]


PEOPLE = VISITS.where(col("age") >= 60).per_person(n=count())
COUNTS = "SELECT patient_id, COUNT(*) AS n FROM visits WHERE age >= 60 GROUP BY patient_id"


@pytest.mark.parametrize("asked", ["AVG(n)", "SUM(n)", "SUM(n), COUNT(*)"])
def test_counts_that_are_measured_by_rows_are_still_those_of_self(asked):
    same = read(f"SELECT {asked} FROM ({COUNTS})", CLINIC)  # noqa: S608 - a question, read
    for source in ("self", "(SELECT n FROM self)"):
        built = PEOPLE.sql(f"SELECT {asked} FROM {source}").query()  # noqa: S608 - likewise
        assert [one.measure for one in built.aggregates] == [one.measure for one in same.aggregates]
        assert "(age >= 60)" in plan_text(built)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM visits",
        f"SELECT AVG(n) FROM ({COUNTS.replace('60', '50')})",  # noqa: S608 - likewise
        "WITH self AS (SELECT * FROM visits) SELECT COUNT(*) FROM self",
        "WITH unread AS (SELECT * FROM self) SELECT COUNT(*) FROM visits",
    ],
)
def test_a_question_in_sql_that_leaves_the_steps_out_is_refused(text):
    with pytest.raises(QueryRefused, match="FROM self") as refused:
        PEOPLE.sql(text)
    assert refused.value.code == "other_rows"


@pytest.mark.parametrize(
    "text",
    [
        "age > 30) HAVING (COUNT(*) > 1000000",
        "age > 30) UNION ALL SELECT COUNT(*) FROM visits WHERE (age > 3",
        "age > 30) ORDER BY COUNT(*) LIMIT 1 OFFSET 5 --",
        "age > 30) ORDER BY (1",
        "age > 30) LIMIT 1 --",
        "age > 30) OFFSET 1 --",
        "age > 30) QUALIFY (ROW_NUMBER() OVER () = 1",
        "age > 30) GROUP BY (city",
        "age > 30) GROUP BY ROLLUP (city",
    ],
)
def test_a_text_that_is_more_than_a_condition_is_refused(text):
    with pytest.raises(InputError, match="not one condition"):
        VISITS.query(text)


def test_a_condition_in_sql_keeps_rows():
    kept = VISITS.query("age >= 60 AND urgent")
    assert (
        kept.count().query().relation
        == read("SELECT COUNT(*) FROM visits WHERE age >= 60 AND urgent", CLINIC).relation
    )
    with pytest.raises((InputError, QueryRefused)):
        VISITS.query("1 = 1) AND age > (SELECT AVG(age) FROM visits")


@pytest.mark.parametrize(
    ("pandas", "own"),
    [
        (VISITS["age"].mean(), VISITS.mean("age")),
        (VISITS.age.median(), VISITS.median("age")),
        (
            VISITS[(VISITS.age > 30) & (VISITS.city == "Haifa")].count(),
            VISITS.where((col("age") > 30) & (col("city") == "Haifa")).count(),
        ),
        (VISITS.groupby("city")["age"].mean(), VISITS.group_by("city").mean("age")),
        (VISITS.city.value_counts(), VISITS.value_counts("city")),
        (VISITS[["age", "cost"]].mean(), VISITS.agg(mean("age"), mean("cost"))),
        (VISITS[["age", "cost"]].corr(), VISITS.agg(correlation("age", "cost"))),
        (VISITS.age.agg("mean", "max"), VISITS.agg(mean("age"), maximum("age"))),
        (VISITS.age.agg(["mean", "max"]), VISITS.agg(mean("age"), maximum("age"))),
        (VISITS.age.agg(m="mean"), VISITS.agg(m=mean("age"))),
        (VISITS.agg({"age": ["mean", "max"]}), VISITS.agg(mean("age"), maximum("age"))),
        (
            VISITS.agg(m=("age", "mean"), n=("age", "count")),
            VISITS.agg(m=mean("age"), n=count("age")),
        ),
        (
            VISITS.age.quantile([0.1, 0.5]),
            VISITS.agg(p10_age=quantile("age", 0.1), median_age=quantile("age")),
        ),
    ],
)
def test_columns_are_picked_as_pandas_does(pandas, own):
    assert pandas.query() == own.query()


def test_a_table_has_no_length_and_columns_no_others():
    with pytest.raises(TypeError, match=r"call \.count\(\)"):
        len(VISITS)
    with pytest.raises(InputError, match="there is no column"):
        VISITS["nobody"]
    with pytest.raises(InputError, match="an aggregate is of another kind"):
        VISITS.agg(m=("age", "average"))
    with pytest.raises(AttributeError, match=r"\.clamp\(low, high\)"):
        _ = VISITS.age.clip
    assert VISITS


@pytest.mark.parametrize(
    "ask",
    [
        lambda: VISITS[VISITS[["age", "cost"]] > 3],
        lambda: VISITS.where(~(VISITS[["age", "cost"]] == 3)),
        lambda: VISITS.mean(VISITS[["age", "cost"]]),
        lambda: VISITS[["age", "cost"]].agg(m="mean"),
        lambda: VISITS[[]],
    ],
)
def test_several_columns_are_no_expression(ask):
    with pytest.raises(InputError, match=r"there is no column|condition"):
        ask()


def test_tables_list_their_columns():
    assert list(VISITS) == list(VISITS.relation.table.columns)
    assert "age" in VISITS
    assert "nobody" not in VISITS


def test_rows_and_questions_say_in_a_line_what_they_are():
    assert repr(VISITS).endswith("; aggregate them, as in .count()>")
    assert repr(VISITS.group_by("city").mean("age")).startswith(
        "<a question: mean_age of visits, by city; not asked yet: .explain(epsilon=...) is free"
    )
