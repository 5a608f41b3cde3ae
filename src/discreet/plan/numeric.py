"""Types of arithmetic: which kind a result has, between which ends it lies, and when it is NULL.

Two ranges belong to a value. `declared` has the ends that public facts state, infinite where they
state none. `reach` is all that it can be, given its kind too: 64 bits, the finite doubles, the
dates there are. Kinds and NULLs follow from reach. The range of a result follows from declarations,
so an unbounded value stays unbounded.
"""

import math
import operator
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from discreet.plan import intervals
from discreet.plan.calendar import DAY, FIRST_TO_LAST, as_time, moment, position
from discreet.plan.calendar import months_later as months_on
from discreet.plan.expressions import Function
from discreet.plan.intervals import EVERYTHING, TINY
from discreet.plan.keylists import combined, counting, few, mapped
from discreet.plan.kinds import INT64, Kind, Range, Type

REACH = {
    Kind.INTEGER: Range(*INT64),
    Kind.REAL: Range(-sys.float_info.max, sys.float_info.max),
    **FIRST_TO_LAST,
}


def nearest(x: float) -> int:
    """The nearest whole number, halves away from 0; the difference of a double is exact."""
    below = math.floor(abs(x))
    size = below + (abs(x) - below >= 1 / 2)
    return -size if x < 0 else size


ROUNDING: dict[Function, Callable[[float], int]] = {
    Function.FLOOR: math.floor,
    Function.CEIL: math.ceil,
    Function.ROUND: nearest,
}


class ResultType(NamedTuple):
    """The type of a result, and whether operands that are not NULL can give NULL.

    Where they can and the kind is REAL, IEEE arithmetic on them gives NaN or infinity.
    """

    type: Type
    strays: bool = False


def declared(of: Type) -> Range:
    """The declared range of a value."""
    return EVERYTHING if of.range is None else of.range


def reach(of: Type) -> Range:
    """All that a value can be, by public facts and by its kind."""
    limits, known = REACH[of.kind], declared(of)
    return Range(max(known.low, limits.low), min(known.high, limits.high))


def fits(bounds: Range | None, kind: Kind) -> bool:
    """Whether a kind holds every value of a range."""
    limits = REACH[kind]
    return bounds is not None and limits.low <= bounds.low and bounds.high <= limits.high


def stated(bounds: Range | None, kind: Kind) -> Range | None:
    """A range as a type states it: an end that says no more than the kind does is infinite.

    Where no value of the kind is in the range, the value is always NULL. Any range is true of that,
    and None claims least.
    """
    limits = REACH[kind]
    if bounds is None or intervals.meet(bounds, limits) is None:
        return None
    low = bounds.low if bounds.low > limits.low else -math.inf
    high = bounds.high if bounds.high < limits.high else math.inf
    if math.isinf(low) and math.isinf(high):
        return None
    return intervals.as_real(Range(low, high)) if kind is Kind.REAL else Range(low, high)


def as_kind(of: Type, kind: Kind) -> Type:
    """INTEGER as REAL, DATE as TIMESTAMP at midnight; a type of the kind is itself."""
    if of.kind is kind:
        return of
    if kind is Kind.REAL:
        bounds = intervals.as_real(declared(of))
        return Type(
            kind, of.nullable, stated(bounds, kind), mapped(of, float, nullable=of.nullable)
        )
    bounds = Range(declared(of).low * DAY, declared(of).high * DAY)
    return Type(kind, of.nullable, stated(bounds, kind), mapped(of, as_time, nullable=of.nullable))


# --- arithmetic -----------------------------------------------------------------------------------

ARITHMETIC: dict[Function, Callable[..., Range | None]] = {
    Function.ADD: intervals.add,
    Function.SUBTRACT: intervals.subtract,
    Function.MULTIPLY: intervals.multiply,
    Function.NEGATE: intervals.negate,
    Function.ABS: intervals.absolute,
}


_PYTHON: dict[Function, Callable[..., float]] = {
    Function.ADD: operator.add,
    Function.SUBTRACT: operator.sub,
    Function.MULTIPLY: operator.mul,
    Function.NEGATE: operator.neg,
    Function.ABS: abs,
}
"""The same on values: exact on whole numbers, and on doubles the IEEE operation of engines."""


def arithmetic(function: Function, operands: Sequence[Type]) -> ResultType:
    """INTEGER of INTEGER where every result fits 64 bits, else REAL with operands as doubles."""
    operation = ARITHMETIC[function]
    whole_numbers = all(of.kind is Kind.INTEGER for of in operands)
    if whole_numbers and fits(operation(*map(reach, operands)), Kind.INTEGER):
        bounds = stated(operation(*map(declared, operands)), Kind.INTEGER)
        nullable = _any_nullable(operands)
        keys = combined(operands, _PYTHON[function], nullable=nullable)
        return ResultType(Type(Kind.INTEGER, nullable, bounds, keys))
    return _real(operation, operands, defined=True, value=_PYTHON[function])


def quotient(operands: Sequence[Type]) -> ResultType:
    """A quotient of doubles: NULL where y is 0, or where the quotient overflows."""
    divisor = operands[1]
    operation = partial(intervals.divide, step=_least_above_zero(divisor))
    defined = not _holds_zero(divisor)
    return _real(operation, operands, defined=defined, value=operator.truediv)


def remainder(operands: Sequence[Type]) -> ResultType:
    """A remainder of INTEGER: NULL where the divisor is 0."""
    return _whole_result(intervals.remainder, operands, strays=_holds_zero(operands[1]))


def whole_quotient(operands: Sequence[Type]) -> ResultType:
    """A quotient of INTEGER: NULL where the divisor is 0, and for -2^63 by -1."""
    fit = fits(intervals.quotient(*map(reach, operands)), Kind.INTEGER)
    strays = _holds_zero(operands[1]) or not fit
    return _whole_result(intervals.quotient, operands, strays=strays)


def _whole_result(
    operation: Callable[..., Range | None], operands: Sequence[Type], *, strays: bool
) -> ResultType:
    """A whole number that can be any in a range."""
    bounds = stated(operation(*map(declared, operands)), Kind.INTEGER)
    nullable = strays or _any_nullable(operands)
    keys = few(bounds, Kind.INTEGER, nullable=nullable)
    return ResultType(Type(Kind.INTEGER, nullable, bounds, keys), strays)


def sign(of: Type) -> ResultType:
    """-1, 0 or 1."""
    bounds = intervals.sign(declared(of))
    keys = counting(bounds, nullable=of.nullable)
    return ResultType(Type(Kind.INTEGER, of.nullable, bounds, keys))


def whole(function: Function, of: Type) -> ResultType:
    """A whole number: INTEGER where every one fits 64 bits, else REAL."""
    if of.kind is Kind.INTEGER:
        return ResultType(of)
    kind = Kind.REAL
    if fits(intervals.whole(ROUNDING[function], reach(of)), Kind.INTEGER):
        kind = Kind.INTEGER
    bounds = stated(intervals.whole(ROUNDING[function], declared(of)), kind)
    return ResultType(Type(kind, of.nullable, bounds, few(bounds, kind, nullable=of.nullable)))


def square_root(of: Type) -> ResultType:
    """NULL below 0."""
    return _real(intervals.square_root, [of], defined=reach(of).low >= 0)


def exponential(of: Type) -> ResultType:
    """NULL where it overflows."""
    return _real(intervals.exponential, [of], defined=True)


def logarithm(log: Callable[[float], float], of: Type) -> ResultType:
    """NULL at 0 and below."""
    operation = partial(intervals.logarithm, step=_least_above_zero(of), log=log)
    return _real(operation, [of], defined=reach(of).low > 0)


def extreme(function: Function, operands: Sequence[Type]) -> Range | None:
    """The range of LEAST or GREATEST, which pass over NULL; the operands are of one kind.

    LEAST is one of its operands, so none of its values is below all lower ends or above all upper
    ends; nor is it above an operand that is never NULL, and so always takes part. GREATEST is the
    same with the order turned round.
    """
    ranges = [declared(of) for of in operands]
    always = [declared(of) for of in operands if not of.nullable]
    low, high = min(r.low for r in ranges), max(r.high for r in ranges)
    if function is Function.LEAST:
        high = min((r.high for r in always), default=high)
    else:
        low = max((r.low for r in always), default=low)
    return stated(Range(low, high), operands[0].kind)


# --- dates ----------------------------------------------------------------------------------------


def later(function: Function, time: Type, steps: Type, unit: int = 1) -> ResultType:
    """A date or timestamp and a number of steps of `unit` each: NULL outside the calendar."""
    operation, each = ARITHMETIC[function], Range(unit, unit)
    return _later(lambda at, by: operation(at, intervals.multiply(by, each)), time, steps)


def _later(
    operation: Callable[[Range, Range], Range | None], time: Type, steps: Type
) -> ResultType:
    strays = not fits(operation(reach(time), reach(steps)), time.kind)
    bounds = stated(operation(declared(time), declared(steps)), time.kind)
    return ResultType(Type(time.kind, strays or _any_nullable([time, steps]), bounds), strays)


def months_later(time: Type, months: Type) -> ResultType:
    """A date or timestamp some months later: NULL outside the calendar.

    Dates and months keep their order: more of either never leads to an earlier day. Of two
    timestamps the later one may lead to an earlier hour of the same last day of a month, so their
    ends are those of days.
    """
    return _later(partial(_months, kind=time.kind), time, months)


def _months(times: Range, months: Range, kind: Kind) -> Range:
    low = _shifted(times.low, months.low, kind)
    high = _shifted(times.high, months.high, kind)
    if kind is Kind.TIMESTAMP:
        low = low if math.isinf(low) else low // DAY * DAY
        high = high if math.isinf(high) else high // DAY * DAY + DAY - 1
    return Range(low, high)


def _shifted(place: float, months: float, kind: Kind) -> float:
    """A time some months later; infinite outside the calendar."""
    if math.isinf(place) or math.isinf(months):
        return place if math.isinf(place) else months
    reached = months_on(moment(place, kind), int(months))
    return math.copysign(math.inf, months) if reached is None else position(reached)


def days_between(later: Type, earlier: Type) -> ResultType:
    """The days from one date to another: the calendar bounds them."""
    bounds = intervals.subtract(reach(later), reach(earlier))
    return ResultType(Type(Kind.INTEGER, later.nullable or earlier.nullable, bounds))


def _real(
    operation: Callable[..., Range | None],
    operands: Sequence[Type],
    *,
    defined: bool,
    value: Callable[..., float] | None = None,
) -> ResultType:
    """A result in doubles; `defined` says that no operand is outside the function's domain.

    Where `value`, the operation on two doubles, is the same on all engines, it has their keys.
    """
    furthest = operation(*(intervals.as_real(reach(of)) for of in operands))
    strays = not (defined and fits(furthest, Kind.REAL))
    bounds = operation(*(intervals.as_real(declared(of)) for of in operands))
    nullable = strays or _any_nullable(operands)
    keys = combined(operands, partial(_double, value), nullable=nullable) if value else None
    return ResultType(Type(Kind.REAL, nullable, stated(bounds, Kind.REAL), keys), strays)


def _double(operation: Callable[..., float], *operands: float) -> float | None:
    """A result in doubles; None where there is none."""
    try:
        found = operation(*map(float, operands))
    except (ZeroDivisionError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _any_nullable(operands: Sequence[Type]) -> bool:
    return any(of.nullable for of in operands)


def _holds_zero(of: Type) -> bool:
    return reach(of).low <= 0 <= reach(of).high


def _least_above_zero(of: Type) -> float:
    return 1.0 if of.kind is Kind.INTEGER else TINY
