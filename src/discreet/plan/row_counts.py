"""Counts of one person's rows, which have no bounds but the rows that the owner's limits state.

`AVG(n)` over a subquery that counts each person's rows is answered as `AVG(LEAST(n, rows))` where
the table states `rows`: whoever has more counts for so many, as in every other answer about it.
Conditions and groups see the count as it is.
"""

from collections.abc import Mapping
from dataclasses import replace

from discreet.plan.expressions import Call, Column, Expression, Function, Literal
from discreet.plan.kinds import Kind
from discreet.plan.query import Aggregate, AggregateFunction, Query
from discreet.plan.relations import (
    FilterRows,
    JoinPerson,
    JoinPublic,
    PerPerson,
    Project,
    Relation,
    Scan,
    Summary,
    Union,
)

_COUNTS = {Summary.COUNT, Summary.COUNT_DISTINCT}
_BOUNDLESS = {
    AggregateFunction.COUNT,
    AggregateFunction.COUNT_PEOPLE,
    AggregateFunction.COUNT_DISTINCT,
}


def row_counts(relation: Relation) -> Mapping[str, int | None]:
    """The columns that count one person's rows, and how many rows limits state; None where none do.

    A sum of two counts, or a count of rows that a join of private tables multiplies, is none.
    """
    match relation:
        case PerPerson(below, _, aggregates):
            rows = _stated(below)
            return {one.name: rows for one in aggregates if one.summary in _COUNTS}
        case FilterRows(below, _):
            return row_counts(below)
        case Project(below, columns):
            known = row_counts(below)
            kept = ((one.name, one.expression) for one in columns)
            return {
                name: known[from_.name]
                for name, from_ in kept
                if isinstance(from_, Column) and from_.name in known
            }
    return {}


def _stated(relation: Relation) -> int | None:
    """The rows of one person in a relation, as far as limits state them."""
    match relation:
        case Scan(table):
            return table.limits.max_rows
        case FilterRows(below, _) | Project(below, _) | JoinPublic(below):
            return _stated(below)
        case Union(left, right):
            both = (_stated(left), _stated(right))
            return None if None in both else sum(rows or 0 for rows in both)
        case JoinPerson() | PerPerson():
            return None


def hold_counts(aggregate: Aggregate, counts: Mapping[str, int | None]) -> Aggregate:
    """The aggregate, with the counts that it needs bounds of held to the rows that are stated."""
    if aggregate.measure in _BOUNDLESS:
        return aggregate
    return replace(aggregate, arguments=tuple(_held(one, counts) for one in aggregate.arguments))


def _held(argument: Expression, counts: Mapping[str, int | None]) -> Expression:
    rows = counts.get(argument.name) if isinstance(argument, Column) else None
    if rows is None:
        return argument
    return Call(Function.LEAST, (argument, Literal(rows, Kind.INTEGER)))


def held_counts(query: Query) -> Mapping[str, int]:
    """The counts that are held to the rows that limits state."""
    counts = row_counts(query.relation)
    held = {name: _held(Column(name), counts) for name in counts}
    arguments = {argument for one in query.aggregates for argument in one.arguments}
    return {
        name: counts[name] or 0
        for name, argument in held.items()
        if argument != Column(name) and argument in arguments
    }
