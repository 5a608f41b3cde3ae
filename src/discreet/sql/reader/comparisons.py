"""Comparisons: equality and order, NULL, lists, ranges and patterns."""

from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp

from discreet.plan.expressions import (
    MIRRORED,
    Call,
    Cast,
    Expression,
    Function,
    IsIn,
    Like,
    Literal,
)
from discreet.plan.kinds import Kind
from discreet.sql.reader import times
from discreet.sql.reader.refusals import NODES, Refusal
from discreet.sql.reader.syntax import Node, is_null

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.sql.reader.expressions import ExpressionReader

Rule: TypeAlias = "Callable[[ExpressionReader, Node], Expression]"


def _compare(function: Function) -> Rule:
    def rule(reader: "ExpressionReader", node: Node) -> Expression:
        sides = [reader.syntax.part(node, "this"), reader.syntax.part(node, "expression")]
        if any(map(is_null, sides)):
            raise reader.syntax.refuse(node, NULL_COMPARED)
        match [times.is_interval(side) for side in sides]:
            case [False, True]:
                return times.read_longer(reader, function, *sides)
            case [True, False]:
                return times.read_longer(reader, MIRRORED[function], *sides[::-1])
        return Call(function, tuple(times.read_clocks(reader, sides) or comparable(reader, sides)))

    return rule


_BITS = {Literal(0, Kind.INTEGER), Literal(1, Kind.INTEGER)}


def comparable(reader: "ExpressionReader", nodes: "Sequence[Node]") -> list[Expression]:
    """Values of one kind; TRUE is 1 beside a bit, as in DuckDB."""

    def as_bit(value: Expression, node: Node) -> Expression:
        boolean = reader.check(value, node).kind is Kind.BOOLEAN
        return reader.syntax.remember(Cast(value, Kind.INTEGER), node) if boolean else value

    values = reader.alike(nodes)
    return list(map(as_bit, values, nodes)) if _BITS.intersection(values) else values


def _same(reader: "ExpressionReader", node: Node) -> Expression:
    """IS NOT DISTINCT FROM: equal, or both NULL."""
    syntax = reader.syntax
    sides = [syntax.part(node, "this"), syntax.part(node, "expression")]
    values = [reader.read(side) for side in sides if not is_null(side)]
    if len(values) < 2:
        nulls = values or [reader.read(sides[0])]
        return Call(Function.IS_NULL, tuple(nulls))
    values = comparable(reader, sides)
    if any(isinstance(value, Literal) for value in values):
        never = Literal(value=False, kind=Kind.BOOLEAN)
        return Call(Function.COALESCE, (reader.call(node, Function.EQUAL, *values), never))
    nulls = [reader.call(node, Function.IS_NULL, value) for value in values]
    both = reader.call(node, Function.AND, *nulls)
    return Call(Function.COALESCE, (reader.call(node, Function.EQUAL, *values), both))


def _is(reader: "ExpressionReader", node: Node) -> Expression:
    operand = reader.read(reader.syntax.part(node, "this"))
    what = reader.syntax.part(node, "expression")
    if isinstance(what, exp.Null):
        return Call(Function.IS_NULL, (operand,))
    if not isinstance(what, exp.Boolean):
        raise reader.syntax.refuse(node, _IS)
    no = Literal(value=False, kind=Kind.BOOLEAN)
    if not reader.syntax.part(what, "this"):
        operand = reader.call(node, Function.NOT, operand)
    return Call(Function.COALESCE, (operand, no))


def _between(reader: "ExpressionReader", node: Node) -> Expression:
    parts = [reader.syntax.part(node, name) for name in ("this", "low", "high")]
    if any(map(is_null, parts)):
        raise reader.syntax.refuse(node, NULL_COMPARED)
    if times.is_interval(parts[1]):
        ends = zip((Function.GREATER_EQUAL, Function.LESS_EQUAL), parts[1:], strict=True)
        sides = (times.read_longer(reader, one, parts[0], end) for one, end in ends)
        return Call(Function.AND, tuple(sides))
    value, low, high = times.read_clocks(reader, parts) or comparable(reader, parts)
    above = reader.call(node, Function.GREATER_EQUAL, value, low)
    below = reader.call(node, Function.LESS_EQUAL, value, high)
    return Call(Function.AND, (above, below))


def _in(reader: "ExpressionReader", node: Node) -> Expression:
    """A list of constants, or the same as a chain of equalities."""
    syntax = reader.syntax
    if node.args.get("query") is not None or node.args.get("field") is not None:
        raise syntax.refuse(node, NODES["Subquery"])
    listed = syntax.parts(node, "expressions")
    if isinstance(node.this, exp.Tuple):
        return _in_rows(reader, node, listed)
    if not listed or any(map(is_null, listed)):
        raise syntax.refuse(node, _IN_NULL)
    operand, *values = comparable(reader, [syntax.part(node, "this"), *listed])
    constants = tuple(dict.fromkeys(v for v in values if isinstance(v, Literal)))
    if all(isinstance(value, Literal) for value in values):
        return IsIn(operand, constants)
    equal = [reader.call(node, Function.EQUAL, operand, value) for value in values]
    return Call(Function.OR, tuple(equal))


def _in_rows(reader: "ExpressionReader", node: Node, listed: list[Node]) -> Expression:
    """(a, b) IN ((1, 'x'), (2, 'y')): one of them is equal in every part."""
    syntax = reader.syntax
    operands = syntax.parts(syntax.part(node, "this"), "expressions")
    found = []
    for row in listed:
        values = syntax.parts(row, "expressions") if isinstance(row, exp.Tuple) else []
        if len(values) != len(operands) or any(map(is_null, values)):
            raise syntax.refuse(row, _IN_WIDTH)
        parts = (comparable(reader, pair) for pair in zip(operands, values, strict=True))
        found.append(
            reader.call(row, Function.AND, *(Call(Function.EQUAL, tuple(p)) for p in parts))
        )
    return found[0] if len(found) == 1 else Call(Function.OR, tuple(found))


def _like(reader: "ExpressionReader", node: Node, escape: str | None = None) -> Expression:
    """LIKE; ILIKE folds A-Z on both sides, as LOWER does."""
    syntax = reader.syntax
    operand = reader.read(syntax.part(node, "this"))
    pattern_node = syntax.part(node, "expression")
    pattern = reader.text(pattern_node, "the pattern of LIKE")
    if isinstance(node, exp.ILike):
        if not pattern.isascii() or (escape is not None and escape.isalpha()):
            raise syntax.refuse(pattern_node, _ILIKE)
        operand = reader.call(node, Function.LOWER, operand)
        pattern = pattern.lower()
    match = Like(operand, pattern, escape)
    if not syntax.part(node, "negate"):
        return match
    return Call(Function.NOT, (syntax.remember(match, node),))


def _escape(reader: "ExpressionReader", node: Node) -> Expression:
    like = reader.syntax.part(node, "this")
    if not isinstance(like, exp.Like | exp.ILike):
        raise reader.syntax.refuse(node, Refusal("clause", "ESCAPE stands without LIKE"))
    escape = reader.text(reader.syntax.part(node, "expression"), "the escape of LIKE")
    return reader.syntax.remember(_like(reader, like, escape), like)


NULL_COMPARED = Refusal(
    "null",
    "a value is compared with NULL",
    "the comparison is NULL for every row, so it holds for none",
    "write IS NULL or IS NOT NULL",
)
_IN_NULL = Refusal(
    "null",
    "the list of IN is empty or holds NULL",
    "nothing equals NULL, and NOT IN would hold for no row",
    "list the values, and test for NULL with IS NULL",
)
_IN_WIDTH = Refusal(
    "argument",
    "IN compares rows of different length, or with NULL",
    "each value is compared with the one at its place, and nothing equals NULL",
    "write (a, b) IN ((1, 'x'), (2, 'y'))",
)
_IS = Refusal(
    "clause", "IS is followed by something else", fix="write IS NULL, IS TRUE or IS FALSE"
)
_ILIKE = Refusal(
    "pattern",
    "ILIKE with letters beyond A-Z",
    "engines fold other letters differently",
    "use LIKE for this pattern",
)

COMPARISONS: dict[type[Node], Rule] = {
    exp.EQ: _compare(Function.EQUAL),
    exp.NEQ: _compare(Function.NOT_EQUAL),
    exp.LT: _compare(Function.LESS),
    exp.LTE: _compare(Function.LESS_EQUAL),
    exp.GT: _compare(Function.GREATER),
    exp.GTE: _compare(Function.GREATER_EQUAL),
    exp.NullSafeEQ: _same,
    exp.NullSafeNEQ: lambda reader, node: Call(
        Function.NOT, (reader.syntax.remember(_same(reader, node), node),)
    ),
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escape,
}
