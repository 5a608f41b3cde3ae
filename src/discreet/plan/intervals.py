"""Interval arithmetic that bounds what an engine computes, rounding included.

A `Range` is a closed interval; an infinite end means that nothing bounds that side, while every
value inside is finite. Each function takes ranges of operands and returns a range that holds every
finite result, or None where there is none (a quotient by 0 alone).

Why the ends are right although engines round. On whole numbers Python's arithmetic is exact. On
doubles write RN for rounding to nearest: it is monotone, x <= y gives RN(x) <= RN(y), overflow to
infinity included. So where g takes its least and greatest value over a box at some of its corners,
RN(g) takes its own at the same corners, and computing those corners with the same IEEE operation
bounds every double an engine can compute. An end that overflows is infinite, which is true: results
beyond it are NULL, and the finite ones have no bound worth stating.

Infinite ends stand for finite values without a limit. The corner conventions 0 * inf = 0 and
x / inf = 0 make a corner the supremum or infimum over such values.
"""

import math
from collections.abc import Callable, Iterable

from discreet.plan.kinds import Range

EVERYTHING = Range(-math.inf, math.inf)
TINY = math.ulp(0.0)  # the smallest double above 0
LIBRARY_STEPS = 4  # see `exponential`


def add(x: Range, y: Range) -> Range:
    """The sum grows in both, so its extremes are at the equal corners."""
    return Range(x.low + y.low, x.high + y.high)


def subtract(x: Range, y: Range) -> Range:
    """The difference grows in x and falls in y."""
    return Range(x.low - y.high, x.high - y.low)


def multiply(x: Range, y: Range) -> Range:
    """The product grows or falls in x for a fixed y, and the other way round: all corners."""
    return _hull((a * b if a and b else 0) for a in (x.low, x.high) for b in (y.low, y.high))


def divide(x: Range, y: Range, step: float) -> Range | None:
    """The quotient where y is not 0, but `step` or more from it (1 for whole numbers).

    On either side of 0 the quotient grows or falls in each operand, so corners suffice there; the
    values of y that are not 0 lie in the part up to -step and the part from step on.
    """
    halves = (meet(y, Range(-math.inf, -step)), meet(y, Range(step, math.inf)))
    ends = [end for half in halves if half is not None for end in (half.low, half.high)]
    corners = (0.0 if math.isinf(b) else a / b for a in (x.low, x.high) for b in ends)
    return _hull(corners) if ends else None


def remainder(x: Range, y: Range) -> Range | None:
    """The remainder of whole numbers has the sign of x; it is no larger, and smaller than y."""
    largest = max(abs(y.low), abs(y.high)) - 1
    if largest < 0:
        return None
    return Range(-min(max(-x.low, 0), largest), min(max(x.high, 0), largest))


def quotient(x: Range, y: Range) -> Range | None:
    """The whole quotient of whole numbers, cut off towards 0: it moves as the quotient does.

    A quotient of whole numbers beyond 2^53 is rounded as a double, so corners are exact divisions.
    """
    halves = (meet(y, Range(-math.inf, -1)), meet(y, Range(1, math.inf)))
    ends = [end for half in halves if half is not None for end in (half.low, half.high)]
    return _hull(_cut_off(a, b) for a in (x.low, x.high) for b in ends) if ends else None


def negate(x: Range) -> Range:
    """-x, exact."""
    return Range(-x.high, -x.low)


def absolute(x: Range) -> Range:
    """|x|, exact: 0 is its least value where x can be 0."""
    if x.low >= 0:
        return x
    return negate(x) if x.high <= 0 else Range(0, max(-x.low, x.high))


def sign(x: Range) -> Range:
    """-1, 0 or 1: grows in x."""
    return Range((x.low > 0) - (x.low < 0), (x.high > 0) - (x.high < 0))


def square_root(x: Range) -> Range | None:
    """The root of what is not negative: IEEE rounds it to nearest, and it grows in x."""
    return Range(math.sqrt(max(x.low, 0.0)), math.sqrt(x.high)) if x.high >= 0 else None


def exponential(x: Range) -> Range:
    """The power of e, within the error of any mathematical library.

    The function grows, but libraries need not round it to nearest, nor even be monotone. Good ones
    err by less than one unit in the last place. The ends computed here and the values computed
    there are both that close to the truth, so four steps outward cover both, also at a power of
    two, where steps change their size.
    """
    return Range(max(_outward(_exp(x.low), -math.inf), 0.0), _outward(_exp(x.high), math.inf))


def logarithm(x: Range, step: float, log: Callable[[float], float] = math.log) -> Range | None:
    """The logarithm where x is `step` or more above 0; the error as for `exponential`."""
    if x.high < step:
        return None
    low, high = log(max(x.low, step)), log(x.high)
    return Range(_outward(low, -math.inf), _outward(high, math.inf))


def whole(rounding: Callable[[float], int], x: Range) -> Range:
    """Floor, ceiling or rounding to the nearest: each exact, and growing in x."""
    return Range(*(end if math.isinf(end) else rounding(end) for end in (x.low, x.high)))


def as_real(x: Range) -> Range:
    """Whole numbers as doubles: rounding to nearest is monotone."""
    return Range(float(x.low), float(x.high))


def meet(x: Range, y: Range) -> Range | None:
    """The intersection."""
    low, high = max(x.low, y.low), min(x.high, y.high)
    return Range(low, high) if low <= high else None


def _cut_off(a: float, b: float) -> float:
    if math.isinf(b):
        return 0
    if math.isinf(a):
        return a if b > 0 else -a
    whole = abs(int(a)) // abs(int(b))
    return whole if (a < 0) == (b < 0) else -whole


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def _outward(end: float, towards: float) -> float:
    for _ in range(LIBRARY_STEPS):
        end = math.nextafter(end, towards)
    return end


def _hull(corners: Iterable[float]) -> Range:
    ends = list(corners)
    return Range(min(ends), max(ends))
