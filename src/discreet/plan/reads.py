"""Which stored columns a question reads: what it touches, and nothing that it leaves alone."""

from collections.abc import Iterable
from typing import TypeAlias, assert_never

from discreet.plan.expressions import (
    Call,
    Case,
    Cast,
    Column,
    Expression,
    IsIn,
    Like,
    Literal,
    Truncate,
)
from discreet.plan.query import Aggregate, Query, questions_in
from discreet.plan.relations import (
    FilterRows,
    JoinPerson,
    JoinPublic,
    MatchPerson,
    MatchPublic,
    PerPerson,
    PersonWindow,
    Project,
    Relation,
    Scan,
    Union,
    columns_of,
    nodes_of,
)
from discreet.plan.schema import Table
from discreet.plan.summaries import expressions_in

Read: TypeAlias = tuple[Table, str]
"""A private table and one of its columns."""


def reads(query: Query) -> list[Read]:
    """The columns of private tables that a query reads, each once, in order of the tables.

    Example:
        >>> from discreet.plan.builder import From, mean
        >>> from discreet.plan.kinds import Kind, Range, Type
        >>> from discreet.plan.schema import Person
        >>> number = Type(Kind.INTEGER, range=Range(0, 120))
        >>> visits = Table("visits", {"who": Type(Kind.TEXT), "age": number}, Person("who"))
        >>> [column for _, column in reads(From(Scan(visits)).agg(m=mean("age")).query())]
        ['age']
    """
    found = (
        read
        for one in questions_in(query)
        for read in _reads(one, {id(node): set() for node in nodes_of(one.relation)[0]})
    )
    return list({(table.name, name): (table, name) for table, name in found}.values())


def fetched(query: Query) -> list[Read]:
    """The same, with the columns by which rows are hashed or ordered: all of them."""
    order, _ = nodes_of(query.relation)
    kinds = JoinPerson | MatchPerson | PersonWindow
    joins = {id(node) for node in order if isinstance(node, kinds)}
    return _reads(
        query, {id(node): set(columns_of(node) if id(node) in joins else ()) for node in order}
    )


def mentions(expression: Expression) -> set[str]:
    """The columns that an expression is computed from."""
    match expression:
        case Literal():
            return set()
        case Column(name):
            return {name}
        case Call(_, arguments):
            return _all(arguments)
        case Case(branches, otherwise):
            return _all([part for branch in branches for part in branch]) | mentions(otherwise)
        case Cast(operand, _) | IsIn(operand, _) | Like(operand, _, _) | Truncate(operand, _):
            return mentions(operand)
        case _:
            assert_never(expression)


def _all(expressions: Iterable[Expression]) -> set[str]:
    return {name for expression in expressions for name in mentions(expression)}


def _reads(query: Query, wanted: dict[int, set[str]]) -> list[Read]:
    """The stored columns behind wanted columns; each relation is looked at once."""
    order, _ = nodes_of(query.relation)
    names = wanted[id(query.relation)]
    names |= {name for key in query.keys for name in mentions(key.expression)}
    for aggregate in query.aggregates:
        names |= _of_aggregate(aggregate)
    for node in reversed(order):  # whoever reads a relation comes before it
        for below, some in _wants(node, wanted[id(node)]):
            wanted[id(below)] |= some
    scans = [node for node in order if isinstance(node, Scan)]
    found = {
        (scan.table.name, name): (scan.table, name)
        for scan in scans
        for name in scan.table.columns
        if name in wanted[id(scan)]
    }
    return list(found.values())


def _wants(relation: Relation, names: set[str]) -> list[tuple[Relation, set[str]]]:
    """What a relation reads of each of its inputs for these columns of its own."""
    match relation:
        case Scan():
            return []
        case FilterRows(below, predicate):
            return [(below, names | mentions(predicate))]
        case Project(below, columns):
            return [(below, _all(c.expression for c in columns if c.name in names))]
        case JoinPublic(below, _, on, _, _):
            return [(below, names | _all(on))]
        case JoinPerson(left, right, on, _, condition) | MatchPerson(left, right, on, _, condition):
            names = names if condition is None else names | mentions(condition)
            here = names | _all(pair[0] for pair in on)
            return [(left, here), (right, names | _all(pair[1] for pair in on))]
        case MatchPublic(below, _, on):
            return [(below, names | _all(here for here, _ in on))]
        case PersonWindow(below, columns):
            windows = (c.expressions() for c in columns if c.name in names)
            return [(below, names | {n for parts in windows for n in _all(parts)})]
        case PerPerson(below, keys, aggregates):
            grouped = _all(key.expression for key in keys)
            summed = (expressions_in(a) for a in aggregates if a.name in names)
            return [(below, grouped | {n for parts in summed for n in _all(parts)})]
        case Union(left, right):
            places = [i for i, name in enumerate(columns_of(left)) if name in names]
            across = list(columns_of(right))
            return [(left, names), (right, {across[i] for i in places})]
        case _:
            assert_never(relation)


def _of_aggregate(aggregate: Aggregate) -> set[str]:
    where = () if aggregate.where is None else (aggregate.where,)
    return _all([*aggregate.arguments, *where])
