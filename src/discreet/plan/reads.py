"""The stored columns that a question reads."""

from collections.abc import Iterable
from typing import TypeAlias, assert_never

from discreet.plan import relations as rel
from discreet.plan.expressions import Column, Expression
from discreet.plan.query import Query, measured_in, questions_in
from discreet.plan.schema import Table
from discreet.plan.summaries import expressions_in
from discreet.plan.typing import parts_of

Read: TypeAlias = tuple[Table, str]
"""A private table and one of its columns."""


def reads(query: Query) -> list[Read]:
    """The columns of private tables that a query reads, each once, in order of the tables.

    Example:
        >>> from discreet.plan.builder import From, mean
        >>> from discreet.plan.kinds import Kind, Range, Type
        >>> from discreet.plan.relations import Scan
        >>> from discreet.plan.schema import Person
        >>> number = Type(Kind.INTEGER, range=Range(0, 120))
        >>> visits = Table("visits", {"who": Type(Kind.TEXT), "age": number}, Person("who"))
        >>> [column for _, column in reads(From(Scan(visits)).agg(m=mean("age")).query())]
        ['age']
    """
    found = (
        read
        for one in questions_in(query)
        for read in _reads(one, {id(node): set() for node in rel.nodes_of(one.relation)[0]})
    )
    return list({(table.name, name): (table, name) for table, name in found}.values())


def fetched(query: Query) -> list[Read]:
    """The same, with the columns by which rows are hashed or ordered: all of them."""
    order, _ = rel.nodes_of(query.relation)
    kinds = rel.JoinPerson | rel.MatchPerson | rel.PersonWindow
    joins = {id(node) for node in order if isinstance(node, kinds)}
    return _reads(
        query, {id(node): set(rel.columns_of(node) if id(node) in joins else ()) for node in order}
    )


def mentions(expression: Expression) -> set[str]:
    """The columns that an expression is computed from."""
    return {expression.name} if isinstance(expression, Column) else _all(parts_of(expression))


def _all(expressions: Iterable[Expression]) -> set[str]:
    return {name for expression in expressions for name in mentions(expression)}


def _reads(query: Query, wanted: dict[int, set[str]]) -> list[Read]:
    """The stored columns behind wanted columns; each relation is looked at once."""
    order, _ = rel.nodes_of(query.relation)
    names = wanted[id(query.relation)]
    names |= _all([*(key.expression for key in query.keys), *measured_in(query)])
    for node in reversed(order):  # whoever reads a relation comes before it
        for below, some in _wants(node, wanted[id(node)]):
            wanted[id(below)] |= some
    scans = [node for node in order if isinstance(node, rel.Scan)]
    found = {
        (scan.table.name, name): (scan.table, name)
        for scan in scans
        for name in scan.table.columns
        if name in wanted[id(scan)]
    }
    return list(found.values())


def _wants(relation: rel.Relation, names: set[str]) -> list[tuple[rel.Relation, set[str]]]:
    """The columns that a relation reads of each input to compute these columns."""
    match relation:
        case rel.Scan():
            return []
        case rel.FilterRows(below, predicate):
            return [(below, names | mentions(predicate))]
        case rel.Project(below, columns):
            return [(below, _all(c.expression for c in columns if c.name in names))]
        case rel.JoinPublic(below, _, on, _, _):
            return [(below, names | _all(on))]
        case rel.JoinPerson(left, right, on, _, condition) | rel.MatchPerson(
            left, right, on, _, condition
        ):
            names = names if condition is None else names | mentions(condition)
            here = names | _all(pair[0] for pair in on)
            return [(left, here), (right, names | _all(pair[1] for pair in on))]
        case rel.MatchPublic(below, _, on):
            return [(below, names | _all(here for here, _ in on))]
        case rel.PersonWindow(below, columns):
            windows = (c.expressions() for c in columns if c.name in names)
            return [(below, names | {n for parts in windows for n in _all(parts)})]
        case rel.PerPerson(below, keys, aggregates):
            grouped = _all(key.expression for key in keys)
            summed = (expressions_in(a) for a in aggregates if a.name in names)
            return [(below, grouped | {n for parts in summed for n in _all(parts)})]
        case rel.Union(left, right):
            places = [i for i, name in enumerate(rel.columns_of(left)) if name in names]
            across = list(rel.columns_of(right))
            return [(left, names), (right, {across[i] for i in places})]
        case _:
            assert_never(relation)
