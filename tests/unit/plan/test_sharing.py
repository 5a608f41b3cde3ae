"""Relations are a graph: walks are linear in what is different, and its size is bounded."""

# ruff: noqa: S608 - the questions are made here, of fixed parts

import json

import pytest

from clinic import CLINIC
from discreet.engines.duckdb_dialect import DuckDBDialect
from discreet.errors import InputError, QueryRefused
from discreet.plan import canonical, relations, summaries
from discreet.plan.expressions import Call, Column, Function, Literal
from discreet.plan.kinds import Kind, Type
from discreet.plan.public_facts import reads
from discreet.plan.query import MOST_AGGREGATES, MOST_KEYS
from discreet.plan.relations import DEEPEST, LARGEST, FilterRows, Scan, Union, nodes_of
from discreet.plan.schema import Person, Table
from discreet.sql.reader.read import read
from discreet.sql.writer.relations import render_relation

VISITS = Table("visits", {"who": Type(Kind.INTEGER), "x": Type(Kind.INTEGER)}, Person("who"))


def doubled(times, first=None):
    relation = first or Scan(VISITS)
    for _ in range(times):
        relation = Union(relation, relation)
    return relation


def doubling(times):
    parts = [
        "a0 AS (SELECT patient_id, age FROM visits WHERE age > 3)",
        *(
            f"a{i} AS (SELECT * FROM a{i - 1} UNION ALL SELECT * FROM a{i - 1})"
            for i in range(1, times + 1)
        ),
    ]
    return f"WITH {', '.join(parts)} SELECT COUNT(*), AVG(age) FROM a{times}"


def test_a_relation_is_one_node_however_often_it_is_read():
    order, shared = nodes_of(doubled(10))
    assert (len(order), len(shared)) == (11, 10)
    assert doubled(10).facts.size == 2**11 - 1


def test_what_stands_for_too_much_is_refused_at_its_birth():
    assert doubled(13).facts.size < LARGEST
    with pytest.raises(InputError, match=f"more than {LARGEST} parts"):
        doubled(14)


def test_what_is_nested_too_deep_is_refused_at_its_birth():
    relation = Scan(VISITS)
    positive = Call(Function.GREATER, (Column("x"), Literal(0, Kind.INTEGER)))
    for _ in range(DEEPEST - 1):
        relation = FilterRows(relation, positive)
    with pytest.raises(InputError, match="nested"):
        FilterRows(relation, positive)


def test_an_expression_that_doubles_is_refused_at_its_birth():
    value = Column("x")
    for _ in range(13):
        value = Call(Function.ADD, (value, value))
    with pytest.raises(InputError, match="parts"):
        Call(Function.ADD, (value, value))


def test_a_text_that_doubles_is_refused_at_the_place_where_it_gets_too_large():
    with pytest.raises(QueryRefused) as refused:
        read(doubling(40), CLINIC)
    assert refused.value.start > 200
    assert refused.value.end < len(doubling(40)) - 100


def test_a_shared_relation_is_one_part_of_the_sql():
    text = render_relation(read(doubling(8), CLINIC).relation, DuckDBDialect(), "salt")
    assert text.startswith("WITH ")
    assert text.count('data."visits"') == 1
    assert len(text) < 2000


def test_a_tree_is_written_as_ever():
    query = read("SELECT COUNT(*) FROM (SELECT * FROM visits WHERE age > 3) x", CLINIC)
    assert "WITH" not in render_relation(query.relation, DuckDBDialect(), "salt")
    assert canonical.write(query).startswith('{"aggregates":')


def test_small_questions_are_written_out_whatever_they_share():
    """Texts identify questions, so those of questions asked before stay what they were."""
    named = "WITH a AS (SELECT * FROM visits WHERE age > 3) SELECT COUNT(*) FROM a x JOIN a y"
    twice = (
        "SELECT COUNT(*) FROM (SELECT * FROM visits WHERE age > 3) x"
        " JOIN (SELECT * FROM visits WHERE age > 3) y"
    )
    same = " ON x.patient_id = y.patient_id"
    assert canonical.write(read(named + same, CLINIC)) == canonical.write(
        read(twice + same, CLINIC)
    )


@pytest.mark.parametrize("times", [4, 9])
def test_a_stored_question_is_short_and_read_back_as_it_was(times):
    query = read(doubling(times), CLINIC)
    text = canonical.write(query)
    assert len(text) < 40_000
    again = canonical.read(text, CLINIC)
    assert canonical.write(again) == text
    assert again.relation.facts.size == query.relation.facts.size
    assert ("shared" in json.loads(text)) == (times == 9)


def test_what_is_read_is_found_in_every_branch():
    found = {column for _, column in reads(read(doubling(9), CLINIC))}
    assert found == {"age"}


def test_more_aggregates_or_keys_than_can_be_planned_are_refused():
    many = ", ".join(f"AVG(age + {i})" for i in range(MOST_AGGREGATES + 1))
    with pytest.raises(QueryRefused, match="aggregates"):
        read(f"SELECT {many} FROM visits", CLINIC)
    keys = ", ".join(f"age + {i}" for i in range(MOST_KEYS + 1))
    with pytest.raises(QueryRefused, match="keys"):
        read(f"SELECT COUNT(*) FROM visits GROUP BY {keys}", CLINIC)


def test_the_bounds_of_joins_multiply_to_what_one_join_may_give():
    scan = Scan(VISITS)
    one = relations.PerPerson(scan, (), (summaries.PersonAggregate("n", summaries.Summary.COUNT),))
    other = relations.Project(scan, (relations.Named("y", Column("x")),))
    caps = [
        relations.join_caps(relations.JoinPerson(*sides, (), relations.Keep.MATCHED))
        for sides in ((scan, other), (scan, one))
    ]
    assert caps == [(256, 256), (relations.MOST_JOINED, None)]
