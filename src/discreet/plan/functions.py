"""Types of function calls: one rule a function, each refusing the wrong kinds."""

import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from discreet.errors import InputError
from discreet.plan import intervals, numeric, texts
from discreet.plan.calendar import DAY, PARTS, SECOND, moment
from discreet.plan.expressions import COMPARISONS, Call, Expression, Function, Literal
from discreet.plan.keylists import counting, few, mapped, truth, united
from discreet.plan.kinds import Kind, Range, Type, Value
from discreet.plan.numeric import ResultType, as_kind, declared, fits, reach, stated
from discreet.plan.texts import NUMBERS, TIMES, Rule, expect, literal, names, of_truth, over

MOST_BUCKETS = 1 << 31


def call_type(call: Call, operands: Sequence[Type]) -> ResultType:
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
        f"{what} has values of different kinds: {names(operands)}",
        why="only numbers mix with numbers, and dates with timestamps",
        fix="cast one of them: CAST(x AS VARCHAR), .cast('text')",
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


def _arithmetic(call: Call, operands: Sequence[Type]) -> ResultType:
    expect(call, operands, NUMBERS)
    return numeric.arithmetic(call.function, operands)


def _add(call: Call, operands: Sequence[Type]) -> ResultType:
    match [of.kind for of in operands]:
        case [(Kind.DATE | Kind.TIMESTAMP), Kind.INTEGER]:
            return _days_later(call.function, *operands)
        case [Kind.INTEGER, (Kind.DATE | Kind.TIMESTAMP)]:
            return _days_later(call.function, operands[1], operands[0])
    return _arithmetic(call, operands)


def _subtract(call: Call, operands: Sequence[Type]) -> ResultType:
    match [of.kind for of in operands]:
        case [(Kind.DATE | Kind.TIMESTAMP), Kind.INTEGER]:
            return _days_later(call.function, *operands)
        case [Kind.DATE, Kind.DATE]:
            return numeric.days_between(*operands)
        case [(Kind.DATE | Kind.TIMESTAMP), (Kind.DATE | Kind.TIMESTAMP)]:
            raise InputError(
                "the difference of two timestamps by itself",
                why="it is a length of time, and values are numbers, texts and times",
                fix="write EXTRACT(EPOCH FROM a - b), which is in seconds, DATE_DIFF('hour', b, a),"
                " or compare it: a - b > INTERVAL 2 HOUR",
            )
    return _arithmetic(call, operands)


def _days_later(function: Function, time: Type, days: Type) -> ResultType:
    return numeric.later(function, time, days, DAY if time.kind is Kind.TIMESTAMP else 1)


def _months_later(call: Call, operands: Sequence[Type]) -> ResultType:
    expect(call, operands[:1], TIMES)
    expect(call, operands[1:], {Kind.INTEGER})
    return numeric.months_later(*operands)


def _seconds_later(call: Call, operands: Sequence[Type]) -> ResultType:
    expect(call, operands[:1], {Kind.TIMESTAMP})
    expect(call, operands[1:], {Kind.INTEGER})
    time, seconds = operands
    return numeric.later(Function.ADD, time, seconds, SECOND)


def _number(rule: Callable[[Type], ResultType]) -> Rule:
    return over(NUMBERS, lambda operands: rule(operands[0]))


def _extreme(call: Call, operands: Sequence[Type]) -> ResultType:
    expect(call, operands, set(Kind) - {Kind.BOOLEAN})
    kind = common_kind(operands, call.function.value)
    nullable = all(of.nullable for of in operands)
    pairs = zip(operands, call.arguments, strict=True)
    solid = [numeric.as_kind(of, kind) for of, part in pairs if not is_null(part)]
    bounds = None
    if solid and kind is not Kind.TEXT:
        bounds = numeric.extreme(call.function, solid)
    return ResultType(Type(kind, nullable, bounds, few(bounds, kind, nullable=nullable)))


def _compare(call: Call, operands: Sequence[Type]) -> ResultType:
    common_kind(operands, call.function.value)
    return of_truth(operands)


def _coalesce(call: Call, operands: Sequence[Type]) -> ResultType:
    found = either(operands, call.arguments, call.function.value)
    if any(not of.nullable for of in operands):
        keys = None if found.keys is None else tuple(key for key in found.keys if key is not None)
        found = Type(found.kind, nullable=False, range=found.range, keys=keys)
    return ResultType(found)


def _null_if(call: Call, operands: Sequence[Type]) -> ResultType:
    common_kind(operands, call.function.value)
    keys = united(operands[:1], nullable=True)
    return ResultType(replace(operands[0], nullable=True, keys=keys), strays=True)


def _part(call: Call, operands: Sequence[Type]) -> ResultType:
    """The parts of a date are few, so they are keys; years only where the date is bounded."""
    expect(call, operands, TIMES)
    (of,) = operands
    bounds = PARTS[call.function]
    if of.kind is Kind.DATE and call.function in _CLOCK:
        bounds = Range(0, 0)
    if call.function is not Function.YEAR:
        keys = counting(bounds, nullable=of.nullable)
        return ResultType(Type(Kind.INTEGER, of.nullable, bounds, keys))
    within = numeric.reach(of)
    years = Range(*(moment(end, of.kind).year for end in (within.low, within.high)))
    known = of.range is not None and math.isfinite(of.range.width)
    keys = counting(years, nullable=of.nullable) if known else None
    return ResultType(Type(Kind.INTEGER, of.nullable, years, keys))


_CLOCK = {Function.HOUR, Function.MINUTE, Function.SECOND, Function.MICROSECOND}


def _bucket(call: Call, operands: Sequence[Type]) -> ResultType:
    expect(call, operands[:1], NUMBERS)
    _, _, count = bucket_limits(call)
    bounds = Range(0, count + 1)
    keys = counting(bounds, nullable=operands[0].nullable)
    return ResultType(Type(Kind.INTEGER, operands[0].nullable, bounds, keys))


# --- literal arguments ----------------------------------------------------------------------------


def bucket_limits(call: Call) -> tuple[float, float, int]:
    """The lower end, the upper end and the number of buckets, the ends as doubles."""
    low, high, count = (literal(part) for part in call.arguments[1:])
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


_MANY = (1, 1 << 30)
ARGUMENTS: dict[Function, tuple[int, int]] = {
    **dict.fromkeys(COMPARISONS, (2, 2)),
    **dict.fromkeys((Function.ADD, Function.SUBTRACT, Function.MULTIPLY, Function.DIVIDE), (2, 2)),
    **dict.fromkeys((Function.MODULO, Function.QUOTIENT, Function.NULL_IF), (2, 2)),
    **dict.fromkeys((Function.STARTS_WITH, Function.ENDS_WITH, Function.POSITION), (2, 2)),
    **dict.fromkeys((Function.RIGHT, Function.ADD_MONTHS, Function.ADD_SECONDS), (2, 2)),
    **dict.fromkeys((Function.LEAST, Function.GREATEST, Function.AND, Function.OR), _MANY),
    **dict.fromkeys((Function.COALESCE, Function.CONCAT), _MANY),
    Function.SUBSTRING: (3, 3),
    Function.REPLACE: (3, 3),
    Function.SPLIT_PART: (3, 3),
    Function.EXTRACT: (3, 3),
    Function.BUCKET: (4, 4),
}
"""The fewest and the most arguments of each function that does not take one."""

RULES: dict[Function, Rule] = {
    Function.ADD: _add,
    Function.SUBTRACT: _subtract,
    Function.MULTIPLY: _arithmetic,
    Function.DIVIDE: over(NUMBERS, numeric.quotient),
    Function.MODULO: over({Kind.INTEGER}, numeric.remainder),
    Function.QUOTIENT: over({Kind.INTEGER}, numeric.whole_quotient),
    Function.NEGATE: _arithmetic,
    Function.ABS: _arithmetic,
    Function.SIGN: _number(numeric.sign),
    **{one: _number(partial(numeric.whole, one)) for one in numeric.ROUNDING},
    Function.SQRT: _number(numeric.square_root),
    Function.EXP: _number(numeric.exponential),
    Function.LN: _number(partial(numeric.logarithm, math.log)),
    Function.LOG10: _number(partial(numeric.logarithm, math.log10)),
    Function.LOG2: _number(partial(numeric.logarithm, math.log2)),
    Function.LEAST: _extreme,
    Function.GREATEST: _extreme,
    **dict.fromkeys(COMPARISONS, _compare),
    Function.IS_NULL: lambda _call, _operands: ResultType(truth(nullable=False)),
    **dict.fromkeys((Function.AND, Function.OR, Function.NOT), over({Kind.BOOLEAN}, of_truth)),
    Function.COALESCE: _coalesce,
    Function.NULL_IF: _null_if,
    **texts.RULES,
    **dict.fromkeys(PARTS, _part),
    Function.ADD_MONTHS: _months_later,
    Function.ADD_SECONDS: _seconds_later,
    Function.BUCKET: _bucket,
}


# --- casts ----------------------------------------------------------------------------------------


def cast_type(of: Type, kind: Kind) -> ResultType:
    """The type of a value as another kind; casts that have no single meaning are refused.

    Example:
        >>> cast_type(Type(Kind.REAL, nullable=False, range=Range(0, 9.5)), Kind.INTEGER).type.range
        Range(low=0, high=10)
    """
    if of.kind is kind:
        return ResultType(of)
    if (of.kind, kind) not in CASTS:
        raise InputError(
            f"a cast of {of.kind.value} to {kind.value}",
            why="it has no one meaning on all engines",
            fix=_ADVICE.get(
                (of.kind, kind), "compare the value with something, or leave it as it is"
            ),
        )
    return CASTS[of.kind, kind](of)


def _boolean_to_integer(of: Type) -> ResultType:
    keys = (0, 1, None) if of.nullable else (0, 1)
    return ResultType(Type(Kind.INTEGER, of.nullable, Range(0, 1), keys))


def _real_to_integer(of: Type) -> ResultType:
    strays = not fits(intervals.whole(round, reach(of)), Kind.INTEGER)
    bounds = stated(intervals.whole(round, declared(of)), Kind.INTEGER)
    nullable = of.nullable or strays
    keys = few(bounds, Kind.INTEGER, nullable=nullable)
    return ResultType(Type(Kind.INTEGER, nullable, bounds, keys), strays)


def _timestamp_to_date(of: Type) -> ResultType:
    bounds = stated(intervals.whole(lambda at: int(at) // DAY, declared(of)), Kind.DATE)
    keys = mapped(of, dt.datetime.date, nullable=of.nullable)
    keys = few(bounds, Kind.DATE, nullable=of.nullable) if keys is None else keys
    return ResultType(Type(Kind.DATE, of.nullable, bounds, keys))


def _to_text(of: Type) -> ResultType:
    def text(value: Value) -> Value:
        return str(value).lower() if isinstance(value, bool) else str(value)

    return ResultType(Type(Kind.TEXT, of.nullable, keys=mapped(of, text, nullable=of.nullable)))


def _widened(kind: Kind) -> Callable[[Type], ResultType]:
    return lambda of: ResultType(as_kind(of, kind))


def _parsed(kind: Kind) -> Callable[[Type], ResultType]:
    return lambda _: ResultType(Type(kind), strays=True)


CASTS: dict[tuple[Kind, Kind], Callable[[Type], ResultType]] = {
    (Kind.BOOLEAN, Kind.INTEGER): _boolean_to_integer,
    (Kind.BOOLEAN, Kind.REAL): lambda of: _widened(Kind.REAL)(_boolean_to_integer(of).type),
    (Kind.BOOLEAN, Kind.TEXT): _to_text,
    (Kind.INTEGER, Kind.BOOLEAN): lambda of: ResultType(truth(nullable=of.nullable)),
    (Kind.INTEGER, Kind.REAL): _widened(Kind.REAL),
    (Kind.INTEGER, Kind.TEXT): _to_text,
    (Kind.REAL, Kind.INTEGER): _real_to_integer,
    (Kind.TEXT, Kind.INTEGER): _parsed(Kind.INTEGER),
    (Kind.TEXT, Kind.REAL): _parsed(Kind.REAL),
    (Kind.TEXT, Kind.DATE): _parsed(Kind.DATE),
    (Kind.TEXT, Kind.TIMESTAMP): _parsed(Kind.TIMESTAMP),
    (Kind.DATE, Kind.TEXT): _to_text,
    (Kind.DATE, Kind.TIMESTAMP): _widened(Kind.TIMESTAMP),
    (Kind.TIMESTAMP, Kind.DATE): _timestamp_to_date,
}
_ADVICE = {
    (Kind.REAL, Kind.TEXT): "round it to INTEGER first, since engines print fractions differently",
    (Kind.TIMESTAMP, Kind.TEXT): "cast it to DATE first",
    (Kind.TEXT, Kind.BOOLEAN): "compare the text with the words that mean true",
    (Kind.REAL, Kind.BOOLEAN): "compare the number with 0",
}
