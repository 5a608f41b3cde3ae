"""Types of function calls: one rule a function, each refusing the wrong kinds."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from discreet.errors import InputError
from discreet.plan import numeric
from discreet.plan.calendar import PARTS, moment
from discreet.plan.expressions import Call, Expression, Function, Literal
from discreet.plan.keylists import counting, mapped, truth, united
from discreet.plan.kinds import Kind, Range, Type, Value
from discreet.plan.numeric import Outcome

Rule: TypeAlias = Callable[[Call, Sequence[Type]], Outcome]

_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
TO_LOWER = str.maketrans(_UPPER, _UPPER.lower())
TO_UPPER = str.maketrans(_UPPER.lower(), _UPPER)
NUMBERS = frozenset({Kind.INTEGER, Kind.REAL})
TIMES = frozenset({Kind.DATE, Kind.TIMESTAMP})
MOST_BUCKETS = 1 << 31
LONGEST_CONCAT = 1 << 14
"""Code points; a longer CONCAT is NULL, lest doubling a text over and over exhausts an engine."""


def call_type(call: Call, operands: Sequence[Type]) -> Outcome:
    """The type of a call whose arguments have these types."""
    fewest, most = ARGUMENTS.get(call.function, (1, 1))
    if not fewest <= len(operands) <= most:
        raise InputError(
            f"{call.function.value} of {len(operands)} values",
            why=f"it takes {fewest}" + ("" if most == fewest else " or more"),
            fix="pass that many",
        )
    return RULES[call.function](call, operands)


def common_kind(operands: Sequence[Type], what: str) -> Kind:
    """The kind that all operands become: their own, REAL for numbers, TIMESTAMP for times."""
    kinds = {of.kind for of in operands}
    if len(kinds) == 1:
        return kinds.pop()
    if kinds == NUMBERS:
        return Kind.REAL
    if kinds == TIMES:
        return Kind.TIMESTAMP
    raise InputError(
        f"{what} brings together {_names(operands)}",
        why="values of these kinds cannot stand for one another",
        fix="cast one side to the kind of the other",
    )


def either(operands: Sequence[Type], expressions: Sequence[Expression], what: str) -> Type:
    """The type of a value that is one of several; a literal NULL loosens no range."""
    kind = common_kind(operands, what)
    alike = [numeric.as_kind(of, kind) for of in operands]
    nullable = any(of.nullable for of in alike)
    solid = [of for of, part in zip(alike, expressions, strict=True) if not is_null(part)]
    bounds = None
    if solid and all(of.range for of in solid):
        bounds = Range(
            min(numeric.declared(of).low for of in solid),
            max(numeric.declared(of).high for of in solid),
        )
        bounds = numeric.stated(bounds, kind)
    return Type(kind, nullable, bounds, united(alike, nullable=nullable))


def is_null(expression: Expression) -> bool:
    """Whether an expression is the literal NULL."""
    return isinstance(expression, Literal) and expression.value is None


# --- rules ----------------------------------------------------------------------------------------


def _arithmetic(call: Call, operands: Sequence[Type]) -> Outcome:
    _expect(call, operands, NUMBERS)
    return numeric.arithmetic(call.function, operands)


def _add(call: Call, operands: Sequence[Type]) -> Outcome:
    match [of.kind for of in operands]:
        case [Kind.DATE, Kind.INTEGER]:
            return numeric.days_later(call.function, *operands)
        case [Kind.INTEGER, Kind.DATE]:
            return numeric.days_later(call.function, operands[1], operands[0])
    return _arithmetic(call, operands)


def _subtract(call: Call, operands: Sequence[Type]) -> Outcome:
    match [of.kind for of in operands]:
        case [Kind.DATE, Kind.INTEGER]:
            return numeric.days_later(call.function, *operands)
        case [Kind.DATE, Kind.DATE]:
            return numeric.days_between(*operands)
    return _arithmetic(call, operands)


def _divide(call: Call, operands: Sequence[Type]) -> Outcome:
    _expect(call, operands, NUMBERS)
    return numeric.quotient(operands)


def _modulo(call: Call, operands: Sequence[Type]) -> Outcome:
    _expect(call, operands, {Kind.INTEGER})
    return numeric.remainder(operands)


def _number(rule: Callable[[Type], Outcome], call: Call, operands: Sequence[Type]) -> Outcome:
    _expect(call, operands, NUMBERS)
    return rule(operands[0])


def _whole(call: Call, operands: Sequence[Type]) -> Outcome:
    _expect(call, operands, NUMBERS)
    return numeric.whole(call.function, operands[0])


def _extreme(call: Call, operands: Sequence[Type]) -> Outcome:
    _expect(call, operands, set(Kind) - {Kind.BOOLEAN})
    kind = common_kind(operands, call.function.value)
    nullable = all(of.nullable for of in operands)
    pairs = zip(operands, call.arguments, strict=True)
    solid = [numeric.as_kind(of, kind) for of, part in pairs if not is_null(part)]
    bounds = None
    if solid and kind is not Kind.TEXT:
        bounds = numeric.extreme(call.function, solid)
    return Outcome(Type(kind, nullable, bounds))


def _compare(call: Call, operands: Sequence[Type]) -> Outcome:
    common_kind(operands, call.function.value)
    return Outcome(truth(nullable=any(of.nullable for of in operands)))


def _is_null(_call: Call, _operands: Sequence[Type]) -> Outcome:
    return Outcome(truth(nullable=False))


def _logic(call: Call, operands: Sequence[Type]) -> Outcome:
    _expect(call, operands, {Kind.BOOLEAN})
    return Outcome(truth(nullable=any(of.nullable for of in operands)))


def _coalesce(call: Call, operands: Sequence[Type]) -> Outcome:
    found = either(operands, call.arguments, call.function.value)
    if any(not of.nullable for of in operands):
        keys = None if found.keys is None else tuple(key for key in found.keys if key is not None)
        found = Type(found.kind, nullable=False, range=found.range, keys=keys)
    return Outcome(found)


def _null_if(call: Call, operands: Sequence[Type]) -> Outcome:
    common_kind(operands, call.function.value)
    keys = united(operands[:1], nullable=True)
    return Outcome(replace(operands[0], nullable=True, keys=keys), strays=True)


def _text(function: Callable[[str], str] | None, call: Call, operands: Sequence[Type]) -> Outcome:
    _expect(call, operands, {Kind.TEXT})
    nullable = any(of.nullable for of in operands)
    keys = None if function is None else mapped(operands[0], function, nullable=nullable)
    return Outcome(Type(Kind.TEXT, nullable, keys=keys))


def _concat(call: Call, operands: Sequence[Type]) -> Outcome:
    _expect(call, operands, {Kind.TEXT})
    return Outcome(Type(Kind.TEXT), strays=True)


def _length(call: Call, operands: Sequence[Type]) -> Outcome:
    _expect(call, operands, {Kind.TEXT})
    return Outcome(Type(Kind.INTEGER, operands[0].nullable, Range(0, math.inf)))


def _starts_with(call: Call, operands: Sequence[Type]) -> Outcome:
    _expect(call, operands, {Kind.TEXT})
    return Outcome(truth(nullable=any(of.nullable for of in operands)))


def _substring(call: Call, operands: Sequence[Type]) -> Outcome:
    _expect(call, operands[:1], {Kind.TEXT})
    first, count = substring_limits(call)
    slice_of = partial(_slice, first=first, count=count)
    keys = mapped(operands[0], slice_of, nullable=operands[0].nullable)
    return Outcome(Type(Kind.TEXT, operands[0].nullable, keys=keys))


def _slice(text: str, first: int, count: int) -> str:
    return text[first - 1 : first - 1 + count]


def _part(call: Call, operands: Sequence[Type]) -> Outcome:
    """The parts of a date are few, so they are keys; years only where the date is bounded."""
    _expect(call, operands, TIMES)
    (of,) = operands
    bounds = PARTS[call.function]
    if of.kind is Kind.DATE and call.function in {Function.HOUR, Function.MINUTE}:
        bounds = Range(0, 0)
    if call.function is not Function.YEAR:
        keys = counting(bounds, nullable=of.nullable)
        return Outcome(Type(Kind.INTEGER, of.nullable, bounds, keys))
    within = numeric.reach(of)
    years = Range(*(moment(end, of.kind).year for end in (within.low, within.high)))
    known = of.range is not None and math.isfinite(of.range.width)
    keys = counting(years, nullable=of.nullable) if known else None
    return Outcome(Type(Kind.INTEGER, of.nullable, years, keys))


def _bucket(call: Call, operands: Sequence[Type]) -> Outcome:
    _expect(call, operands[:1], NUMBERS)
    _, _, count = bucket_limits(call)
    bounds = Range(0, count + 1)
    keys = counting(bounds, nullable=operands[0].nullable)
    return Outcome(Type(Kind.INTEGER, operands[0].nullable, bounds, keys))


# --- literal arguments ----------------------------------------------------------------------------


def substring_limits(call: Call) -> tuple[int, int]:
    """The first position and the number of code points that SUBSTRING takes."""
    first, count = (_literal(part) for part in call.arguments[1:])
    if type(first) is int and type(count) is int and first >= 1 and count >= 0:
        return first, count
    raise InputError(
        "the limits of substring",
        why="the first position has to be a literal of at least 1, the count one of at least 0",
        fix="write substring(text, 1, 3)",
    )


def bucket_limits(call: Call) -> tuple[float, float, int]:
    """The lower end, the upper end and the number of buckets, the ends as doubles."""
    low, high, count = (_literal(part) for part in call.arguments[1:])
    numbers = all(type(value) in {int, float} for value in (low, high))
    if numbers and type(count) is int and 1 <= count <= MOST_BUCKETS:
        ends = float(low), float(high)  # type: ignore[arg-type]
        if ends[0] < ends[1] and math.isfinite(ends[1] - ends[0]):
            return (*ends, count)
    raise InputError(
        "the limits of width_bucket",
        why=f"it takes literals low < high and a count from 1 to {MOST_BUCKETS}",
        fix="write width_bucket(value, 0, 100, 20)",
    )


def _literal(expression: Expression) -> Value:
    return expression.value if isinstance(expression, Literal) else None


def _expect(call: Call, operands: Sequence[Type], kinds: "set[Kind] | frozenset[Kind]") -> None:
    if all(of.kind in kinds for of in operands):
        return
    wanted = " or ".join(kind.value for kind in Kind if kind in kinds)
    raise InputError(
        f"{call.function.value} of {_names(operands)}",
        why=f"it takes {wanted}",
        fix=f"cast the value to {wanted}, or use another function",
    )


def _names(operands: Sequence[Type]) -> str:
    return " and ".join(of.kind.value for of in operands)


_MANY = (1, 1 << 30)
ARGUMENTS: dict[Function, tuple[int, int]] = {
    **dict.fromkeys(
        (
            Function.ADD,
            Function.SUBTRACT,
            Function.MULTIPLY,
            Function.DIVIDE,
            Function.MODULO,
            Function.EQUAL,
            Function.NOT_EQUAL,
            Function.LESS,
            Function.LESS_EQUAL,
            Function.GREATER,
            Function.GREATER_EQUAL,
            Function.NULL_IF,
            Function.STARTS_WITH,
        ),
        (2, 2),
    ),
    **dict.fromkeys(
        (
            Function.LEAST,
            Function.GREATEST,
            Function.AND,
            Function.OR,
            Function.COALESCE,
            Function.CONCAT,
        ),
        _MANY,
    ),
    Function.SUBSTRING: (3, 3),
    Function.BUCKET: (4, 4),
}
"""The fewest and the most arguments of each function that does not take one."""

RULES: dict[Function, Rule] = {
    Function.ADD: _add,
    Function.SUBTRACT: _subtract,
    Function.MULTIPLY: _arithmetic,
    Function.DIVIDE: _divide,
    Function.MODULO: _modulo,
    Function.NEGATE: _arithmetic,
    Function.ABS: _arithmetic,
    Function.SIGN: partial(_number, numeric.sign),
    Function.FLOOR: _whole,
    Function.CEIL: _whole,
    Function.ROUND: _whole,
    Function.SQRT: partial(_number, numeric.square_root),
    Function.EXP: partial(_number, numeric.exponential),
    Function.LN: partial(_number, numeric.logarithm),
    Function.LEAST: _extreme,
    Function.GREATEST: _extreme,
    Function.EQUAL: _compare,
    Function.NOT_EQUAL: _compare,
    Function.LESS: _compare,
    Function.LESS_EQUAL: _compare,
    Function.GREATER: _compare,
    Function.GREATER_EQUAL: _compare,
    Function.IS_NULL: _is_null,
    Function.AND: _logic,
    Function.OR: _logic,
    Function.NOT: _logic,
    Function.COALESCE: _coalesce,
    Function.NULL_IF: _null_if,
    Function.LOWER: partial(_text, lambda text: text.translate(TO_LOWER)),
    Function.UPPER: partial(_text, lambda text: text.translate(TO_UPPER)),
    Function.TRIM: partial(_text, lambda text: text.strip(" ")),
    Function.LENGTH: _length,
    Function.CONCAT: _concat,
    Function.SUBSTRING: _substring,
    Function.STARTS_WITH: _starts_with,
    Function.YEAR: _part,
    Function.QUARTER: _part,
    Function.MONTH: _part,
    Function.DAY: _part,
    Function.HOUR: _part,
    Function.MINUTE: _part,
    Function.WEEKDAY: _part,
    Function.YEARDAY: _part,
    Function.BUCKET: _bucket,
}
