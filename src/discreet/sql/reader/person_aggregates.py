"""Aggregates of one person's rows that no answer about many people has."""

from collections.abc import Callable
from typing import TypeAlias

from sqlglot import exp

from discreet.plan.expressions import Call, Expression, Function
from discreet.plan.summaries import RowOrder, Summary
from discreet.sql.reader.expressions import ExpressionReader
from discreet.sql.reader.refusals import Refusal
from discreet.sql.reader.syntax import Node
from discreet.sql.reader.windows import boolean, row_orders

Asked: TypeAlias = tuple[Summary, Expression, Expression | None, tuple[RowOrder, ...]]
Rule: TypeAlias = Callable[[ExpressionReader, Node, Expression | None], Asked]


def _logical(summary: Summary) -> Rule:
    """BOOL_OR is the greatest of true and false, BOOL_AND the least."""

    def rule(reader: ExpressionReader, node: Node, where: Expression | None) -> Asked:
        argument = reader.checked(reader.syntax.part(node, "this"))
        return summary, boolean(reader, argument, node), where, ()

    return rule


def _any(reader: ExpressionReader, node: Node, where: Expression | None) -> Asked:
    """ANY_VALUE: the least, which is any of them."""
    return Summary.MIN, reader.checked(reader.syntax.part(node, "this")), where, ()


def _at(descending: bool) -> Rule:  # noqa: FBT001 - a fact of the function
    """ARG_MIN(x, y), ARG_MAX(x, y): x where y is least, greatest; rows without either are none."""

    def rule(reader: ExpressionReader, node: Node, where: Expression | None) -> Asked:
        value = reader.checked(reader.syntax.part(node, "this"))
        by = reader.checked(reader.syntax.part(node, "expression"))
        there = [
            reader.call(node, Function.NOT, reader.call(node, Function.IS_NULL, one))
            for one in (value, by)
        ]
        present = Call(Function.AND, (*there, *(() if where is None else (where,))))
        return Summary.FIRST, value, present, (RowOrder(by, descending),)

    return rule


def _first(reader: ExpressionReader, node: Node, where: Expression | None) -> Asked:
    """FIRST(x ORDER BY y); LAST is the first in the opposite order."""
    inner = reader.syntax.part(node, "this")
    if not isinstance(inner, exp.Order):
        raise reader.syntax.refuse(node, _UNORDERED)
    value = reader.checked(reader.syntax.part(inner, "this"))
    by = row_orders(reader.syntax, inner, reader.checked)
    if isinstance(node, exp.Last):
        by = tuple(RowOrder(o.expression, not o.descending, not o.nulls_first) for o in by)
    return Summary.FIRST, value, where, by


PERSON_ONLY: dict[type[Node], Rule] = {
    exp.LogicalOr: _logical(Summary.MAX),
    exp.LogicalAnd: _logical(Summary.MIN),
    exp.AnyValue: _any,
    exp.ArgMin: _at(descending=False),
    exp.ArgMax: _at(descending=True),
    exp.First: _first,
    exp.Last: _first,
}
_UNORDERED = Refusal(
    "argument",
    "the first or last of rows without an order",
    "which row that is would be anything",
    "write FIRST(x ORDER BY day), or ANY_VALUE(x)",
)
