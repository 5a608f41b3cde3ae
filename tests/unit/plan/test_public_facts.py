"""Which columns a question reads: through every kind of relation and expression."""

import pytest

from clinic import CITIES, CLINIC, PATIENTS, TESTS, VISITS
from discreet.plan.builder import From
from discreet.plan.expression_builder import col, count, mean, total
from discreet.plan.expressions import (
    Call,
    Case,
    Cast,
    Column,
    Function,
    IsIn,
    Like,
    Literal,
    Truncate,
    Unit,
    mentions,
)
from discreet.plan.kinds import Kind
from discreet.plan.public_facts import facts_of, reads
from discreet.plan.query import Aggregate, AggregateFunction, Query
from discreet.plan.relations import (
    FilterRows,
    JoinPerson,
    JoinPublic,
    Keep,
    Named,
    PerPerson,
    Project,
    Scan,
    Union,
)
from discreet.plan.summaries import PersonAggregate, Summary
from discreet.sql.reader.read import read

A, B, C = (Column(name) for name in "abc")
YES = Literal(value=True, kind=Kind.BOOLEAN)


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        (YES, ""),
        (A, "a"),
        (Call(Function.ADD, (A, B)), "ab"),
        (Case(((A, B),), C), "abc"),
        (Case(((YES, YES),), C), "c"),
        (Cast(A, Kind.TEXT), "a"),
        (IsIn(B, (YES,)), "b"),
        (Like(C, "%"), "c"),
        (Truncate(A, Unit.MONTH), "a"),
    ],
)
def test_an_expression_mentions_its_columns(expression, names):
    assert mentions(expression) == set(names)


def columns(query):
    return [f"{table.name}.{column}" for table, column in reads(query)]


def test_keys_conditions_and_filters_are_read():
    question = From(Scan(VISITS)).where(col("urgent")).group_by("city")
    query = question.agg(n=count(), m=mean("cost")).query()
    assert columns(query) == ["visits.city", "visits.cost", "visits.urgent"]
    filtered = Aggregate("n", AggregateFunction.COUNT, (), where=Column("urgent"))
    assert columns(Query(Scan(VISITS), (), (filtered,))) == ["visits.urgent"]


def test_counting_rows_reads_no_column():
    assert columns(From(Scan(VISITS)).agg(n=count()).query()) == []


def test_only_the_projected_columns_that_are_used_count():
    inner = Project(Scan(VISITS), (Named("x", Column("cost")), Named("y", Column("age"))))
    assert columns(From(inner).agg(s=total("x")).query()) == ["visits.cost"]


def test_a_public_table_adds_the_columns_it_is_joined_on_and_none_of_its_own():
    joined = JoinPublic(
        Scan(VISITS), CITIES, (Column("city"),), Keep.ALL, (("people", "population"),)
    )
    assert columns(From(joined).agg(m=mean("people")).query()) == ["visits.city"]


def test_both_sides_of_a_join_are_read():
    left = Project(Scan(VISITS), (Named("v", Column("visit_id")), Named("cost", Column("cost"))))
    joined = JoinPerson(left, Scan(TESTS), ((Column("v"), Column("visit_id")),), Keep.MATCHED)
    found = columns(From(joined).agg(m=mean("value")).query())
    assert found == ["visits.visit_id", "tests.visit_id", "tests.value"]


def test_a_summary_of_a_person_is_read_only_where_it_is_used():
    each = PerPerson(
        FilterRows(Scan(VISITS), Column("urgent")),
        (Named("city", Column("city")),),
        (
            PersonAggregate("top", Summary.MAX, Column("cost"), where=Column("urgent")),
            PersonAggregate("young", Summary.MIN, Column("age")),
            PersonAggregate("n", Summary.COUNT),
        ),
    )
    found = columns(From(each).agg(m=mean("top")).query())
    assert found == ["visits.city", "visits.cost", "visits.urgent"]
    assert columns(From(each).agg(n=count()).query()) == [
        "visits.city",
        "visits.urgent",
    ]


def test_a_union_reads_the_same_place_on_both_sides():
    left = Project(Scan(VISITS), (Named("a", Column("age")), Named("x", Column("cost"))))
    right = Project(Scan(PATIENTS), (Named("b", Column("id")), Named("y", Column("income"))))
    found = columns(From(Union(left, right)).agg(m=mean("x")).query())
    assert found == ["visits.cost", "patients.income"]


def test_a_table_that_is_read_twice_is_named_once():
    twice = Union(Scan(TESTS), Scan(TESTS))
    assert columns(From(twice).agg(m=mean("value")).query()) == ["tests.value"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELECT EXTRACT(DOW FROM day) AS d, COUNT(*) FROM visits GROUP BY 1", True),
        ("SELECT COUNT(*) FILTER (WHERE DAYOFWEEK(day) IN (1, 6)) FROM visits", True),
        ("SELECT COUNT(*) FROM visits WHERE WEEKDAY(day) BETWEEN 2 AND 6", True),
        ("SELECT EXTRACT(ISODOW FROM day) AS d, COUNT(*) FROM visits GROUP BY 1", False),
        ("SELECT COUNT(*) FROM visits WHERE age % 7 = 1", False),
    ],
)
def test_the_numbers_of_weekdays_are_told(text, told):
    remarks = facts_of(read(text, CLINIC)).remarks
    assert any("Sunday, which is 0" in one for one in remarks) is told
