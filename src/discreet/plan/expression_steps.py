"""Steps that an expression takes for one row, by the longest texts that its columns can hold."""

from collections.abc import Mapping
from typing import Final

from discreet.plan.expressions import (
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Function,
    IsIn,
    Like,
    Literal,
    parts_of,
)
from discreet.plan.kinds import Kind
from discreet.plan.texts import (
    LONGEST_CONCAT,
    Wildcard,
    extraction,
    longest_part,
    replacement,
    right_limit,
    substring_limits,
    tokens,
)


def longest(expression: Expression, columns: Mapping[str, int]) -> int:
    """The most code points that a text can have, over columns of such texts; 0 for other kinds.

    Example:
        >>> twice = Call(Function.CONCAT, (Column("note"), Column("note")))
        >>> longest(twice, {"note": 1024}), longest(twice, {"note": 10_000})
        (2048, 16384)
    """
    return weigh(expression, columns, [])


def weigh(expression: Expression, columns: Mapping[str, int], costs: list[tuple[str, int]]) -> int:
    """The longest text of an expression; each of its nodes is put down with its steps."""
    parts = [weigh(part, columns, costs) for part in parts_of(expression)]
    costs.append((_named(expression), _steps(expression, parts)))
    match expression:
        case Literal(value, _):
            return len(value) if isinstance(value, str) else 0
        case Column(name):
            return columns.get(name, 0)
        case Cast(_, kind):
            return _LONGEST_CAST if kind is Kind.TEXT else 0
        case Call(Function.CONCAT, _):
            return min(sum(parts), LONGEST_CONCAT)
        case Call(Function.REPLACE, _):
            return min(_replaced(expression, parts[0]), max(parts[0], LONGEST_CONCAT))
        case Call(Function.SUBSTRING, _):
            return min(parts[0], substring_limits(expression)[1])
        case Call(Function.RIGHT, _):
            return min(parts[0], right_limit(expression))
        case Call(function, _) if function in _SAME:
            return max(parts)
        case Case():
            return max([*parts[1::2], parts[-1]])
    return 0


_LONGEST_CAST: Final = 32
_SAME: Final = {
    *(Function.LOWER, Function.UPPER, Function.TRIM, Function.LTRIM, Function.RTRIM),
    *(Function.SPLIT_PART, Function.EXTRACT),
    *(Function.LEAST, Function.GREATEST, Function.COALESCE, Function.NULL_IF),
}


def _replaced(call: Call, text: int) -> int:
    what, by = replacement(call)
    return max(text, text // len(what) * len(by) + text % len(what))


def _steps(node: Expression, parts: list[int]) -> int:
    """Steps of one node whose parts are texts as long as that; as measured, twice over."""
    text = max(parts, default=0)
    match node:
        case Literal() | Column():
            return 0
        case Like(_, pattern, escape):
            return _OVERHEAD + _like(text, pattern, escape)
        case IsIn(_, values):
            value = max((len(v.value) for v in values if isinstance(v.value, str)), default=0)
            return _OVERHEAD + text + len(values) * (1 + min(text, value) // 16)
        case Cast(_, kind):
            return 4 * _OVERHEAD + (10 * text if kind is not Kind.TEXT else 0)
        case Call(Function.REPLACE, _):
            return _OVERHEAD + 20 * text + _replaced(node, text)
        case Call(Function.SPLIT_PART, _):
            return _OVERHEAD + 40 * text
        case Call(Function.EXTRACT):
            return 100 * _OVERHEAD + 30 * text * extraction(node).states
        case Call(Function.POSITION, _):
            return _OVERHEAD + 12 * text
        case Call(Function.CONCAT, _):
            return _OVERHEAD * len(parts) + sum(parts)
        case Call(function, _) if function in _SLOW:
            return _OVERHEAD + _SLOW[function] * text
        case Call(function, _) if function in _TRANSCENDENTAL:
            return 8 * _OVERHEAD
    return _OVERHEAD * max(1, len(parts)) + text


_OVERHEAD: Final = 8
_SLOW: Final = {
    **dict.fromkeys((Function.LOWER, Function.UPPER), 20),
    **dict.fromkeys((Function.TRIM, Function.LTRIM, Function.RTRIM), 16),
    **dict.fromkeys((Function.LENGTH, Function.SUBSTRING, Function.RIGHT), 6),
}
_TRANSCENDENTAL: Final = {Function.EXP, Function.LN, Function.LOG10, Function.LOG2, Function.SQRT}


def _like(text: int, pattern: str, escape: str | None) -> int:
    read = tokens(pattern, escape)
    if Wildcard.ANY not in read:
        return 4 * min(text, len(read))
    if Wildcard.ONE not in read and not {"%", "_"} & set(read):
        return 12 * text
    return 8 * text * max(1, longest_part(read))


def _named(node: Expression) -> str:
    """A part of a question as it is written in the question."""
    match node:
        case Call(function, _):
            return function.value.upper()
        case IsIn():
            return "IN"
    return type(node).__name__.upper()
