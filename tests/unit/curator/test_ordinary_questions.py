"""Questions about Adult as an analyst types them: each is answered at the first try."""

from pathlib import Path

import pytest

import discreet as dp
from adult import adult_curator
from discreet import col

LINES = (Path(__file__).parents[2] / "golden" / "ordinary_questions.sql").read_text().splitlines()
QUESTIONS = {
    line.removeprefix("-- "): sql for line, sql in zip(LINES[0::2], LINES[1::2], strict=True)
}


@pytest.fixture(scope="module")
def curator():
    """One curator for all questions."""
    return adult_curator()


def test_there_are_twenty_five_of_them():
    assert len(QUESTIONS) == 25


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_ordinary_question_is_answered_at_the_first_try(curator, name):
    answer = curator.sql(QUESTIONS[name], epsilon=1)
    assert answer.table.num_rows > 0


FLUENT = {
    "filter": lambda t: t.filter((col("age") > 40) & (col("sex") == "Female")).count(),
    "two conditions": lambda t: t.filter(col("age") > 40, sex="Female").mean("age"),
    "groups": lambda t: t.groupby(["sex", "race"]).agg(n=dp.count(), age=dp.avg("age")),
    "methods": lambda t: t.group_by("sex").agg(
        age=col("age").mean(), hours=dp.std("hours_per_week")
    ),
    "a list": lambda t: t.agg(
        [dp.sum("capital_gain"), dp.max("age"), dp.nunique("native_country")]
    ),
    "one aggregate": lambda t: t.group_by("sex").sum("capital_gain"),
    "filter groups": lambda t: t.group_by("race").agg(n=dp.count()).filter(col("n") > 1),
    "sort": lambda t: (
        t.group_by("occupation").agg(n=dp.count()).sort(["n"], descending=True).head(3)
    ),
    "descending": lambda t: (
        t.group_by("race").agg(n=dp.count()).order_by(dp.descending("n")).limit(2)
    ),
    "share": lambda t: t.group_by("sex").agg(rich=dp.mean(col("income") == ">50K")),
    "count of truths": lambda t: t.group_by("sex").agg(rich=(col("income") == ">50K").sum()),
    "ratio": lambda t: (
        t.group_by("sex")
        .agg(gain=dp.total("capital_gain"), n=dp.count())
        .with_columns(each=col("gain") / col("n"))
    ),
    "case": lambda t: (
        t.with_columns(
            band=dp.case((col("age") < 30, "young"), (col("age") < 50, "middle"), otherwise="older")
        )
        .group_by("band")
        .count()
    ),
    "quantile": lambda t: t.group_by("sex").agg(high=col("age").quantile(0.9)),
    "between": lambda t: t.filter(col("age").is_between(30, 40)).count(),
    "known": lambda t: t.filter(col("workclass").is_not_null()).count(),
    "unknown": lambda t: t.filter(col("workclass").isna()).count(),
    "fill": lambda t: t.group_by(work=col("workclass").fill_null("Private")).count(),
    "text": lambda t: t.filter(col("education").str.starts_with("Some")).count(),
    "round": lambda t: t.group_by(decade=(col("age") / 10).floor()).count(),
    "rank": lambda t: (
        t.group_by("race")
        .agg(n=dp.count())
        .with_columns(place=dp.over("rank", order_by="n", descending=True))
    ),
}


@pytest.mark.parametrize("name", FLUENT)
def test_a_fluent_question_is_answered_at_the_first_try(curator, name):
    answer = FLUENT[name](curator.table("adult")).release(epsilon=1)
    assert answer.table.num_rows > 0


def test_rows_are_joined_to_a_public_table_by_its_key(curator):
    known = {"name": ["Masters", "Doctorate"], "degree": ["high", "high"], "sex": ["f", "m"]}
    curator.add_public("degrees", known, key="name")
    degrees, people = curator.schema.tables["degrees"], curator.table("adult")
    joined = people.join(degrees, "education")
    assert joined.group_by("degree").count().release(epsilon=1).table["degree"].to_pylist() == [
        "high"
    ]
    assert joined.group_by("other.sex").count().query().keys[0].name == "other.sex"
    with pytest.raises(dp.InputError, match="the columns here that equal"):
        people.join(degrees)


def test_conditions_on_groups_add_up_and_directions_are_one_for_each_column(curator):
    groups = curator.table("adult").group_by("sex", "race").agg(n=dp.count())
    both = groups.filter(col("n") > 1e9).filter(col("n") < 1e12)
    assert both.release(epsilon=1).table.num_rows == 0
    keys = groups.sort("sex", "n", descending=[False, True]).query().order
    assert [one.descending for one in keys] == [False, True]
    with pytest.raises(dp.InputError, match="one of them for each column"):
        groups.sort("sex", "n", descending=[True])


def test_a_call_of_another_library_is_told_the_one_here(curator):
    people = curator.table("adult")
    for wrong, told in {
        lambda: people.head: "its rows are private",
        lambda: people.unique: r"group_by\(\"x\"\)\.count",
        lambda: col("sex").slice: r"\.substring\(1, 3\)",
        lambda: people.count().pivot: r"to_pandas\(\)\.pivot",
        lambda: people.count().top_k: r"\.sort\(\"n\", descending=True\)",
        lambda: people.count().to_frame: r"\.release\(epsilon=",
        lambda: dp.minimun: r"dp\.minimum",
    }.items():
        with pytest.raises(AttributeError, match=told):
            wrong()
    with pytest.raises(dp.InputError, match=r"col\(\"day\"\)\.year\(\)"):
        people.agg(dp.mean(col("age").abs))


def test_steps_after_head_are_about_the_rows_that_are_left(curator):
    groups = curator.table("adult").group_by("sex").agg(n=dp.count())
    top = groups.sort("n", descending=True).head(1)
    assert top.filter(col("n") < 2000).release(epsilon=1).table.num_rows == 0
    assert top.head(5).query().limit == 1
    (name,) = groups.sort("sex").head(1).sort("n").release(epsilon=1).table["sex"].to_pylist()
    assert name == "Female"
    first, _ = groups.sort("sex").sort("n").query().order
    assert first.expression == col("n").expression
