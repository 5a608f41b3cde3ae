"""Invert delta(epsilon) to epsilon(delta) and the trade-off curve, rounding to the safe side."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

from discreet.privacy.numerics.rounding import Bound, Interval

Profile: TypeAlias = Callable[[Fraction], Bound]
"""delta(epsilon): never increasing."""

_ROUNDS = 120
_LARGEST = 2.0**60


def invert(profile: Profile, delta: Fraction) -> Bound:
    """Enclose the smallest epsilon >= 0 with profile(epsilon) <= delta.

    Why: the profile never increases, so any epsilon whose upper end is at most delta is a bound
    from above, and any whose lower end exceeds delta a bound from below. A bracketing search over
    doubles ends with the tightest of both.
    Edge cases: infinity where no epsilon up to 2^60 will do.
    """
    at_zero = profile(Fraction(0))
    if at_zero.upper <= delta:
        return Bound(0.0, 0.0, at_zero.method)
    target = Interval.of(delta)
    upper = first_below(lambda e: profile(Fraction(e)).upper, target.lower)
    if at_zero.lower <= delta:
        lower = 0.0
    else:
        lower = last_above(lambda e: profile(Fraction(e)).lower > delta, upper)
    method = profile(Fraction(upper)).method if upper < math.inf else at_zero.method
    return Bound(lower, upper, method)


def first_below(height: Callable[[float], float], target: float) -> float:
    """The smallest double whose height is at most `target`, or one a few units above it.

    Why: Chandrupatla's bracketing search on the logarithm; both ends of the bracket are confirmed
    by evaluation, so the answer is sound whatever the shape of the curve.
    """
    low, high = 0.0, 1.0
    while height(high) > target:
        low, high = high, high * 2
        if high > _LARGEST:
            return math.inf
    return _narrow(lambda e: _excess(height(e), target), low, high)


def _excess(height: float, target: float) -> float:
    """How far above the target, in logarithms where there are any; positive exactly if above."""
    if height > target > 0:
        return math.log(height / target) or 5e-324
    if height > target:
        return 1.0
    return min(math.log(height / target), 0.0) if height > 0 < target else -1.0


def _narrow(excess: Callable[[float], float], low: float, high: float) -> float:
    """Shrink a bracket with excess(low) > 0 >= excess(high) to neighbouring doubles."""
    b, a = (low, excess(low)), (high, excess(high))
    share = 0.5
    for _ in range(_ROUNDS):
        middle = a[0] + share * (b[0] - a[0])
        new = (middle, excess(middle))
        c, b = (a, b) if (new[1] > 0) == (a[1] > 0) else (b, a)
        a = new
        if abs(b[0] - a[0]) <= 4e-16 * max(abs(a[0]), abs(b[0])):
            break
        share = _share(a, b, c)
    return a[0] if a[1] <= 0 else b[0]


def _share(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    """The next point: by inverse quadratic interpolation if safe, else halfway."""
    (xa, fa), (xb, fb), (xc, fc) = a, b, c
    if fc in (fa, fb) or fa == fb or xc in (xa, xb):
        return 0.5
    x, y = (xa - xb) / (xc - xb), (fa - fb) / (fc - fb)
    if not (1 - math.sqrt(max(0.0, 1 - x)) < y < math.sqrt(max(0.0, x))):
        return 0.5
    least = min(0.5, 2e-16 * max(abs(xa), abs(xb)) / abs(xb - xa))
    t = fa / (fb - fa) * fc / (fb - fc)
    t += (xc - xa) / (xb - xa) * fa / (fc - fa) * fb / (fc - fb)
    return min(1 - least, max(least, t))


def last_above(exceeds: Callable[[float], bool], limit: float) -> float:
    """Bisect for the largest double that still exceeds, at most `limit`."""
    low, high = 0.0, min(limit, _LARGEST)
    if math.isinf(limit) and exceeds(high):
        return high
    for near in (1 - 2.0**-51, 1 - 2.0**-46, 1 - 2.0**-38):
        if exceeds(high * near):
            return high * near
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        if middle in (low, high) or high - low <= 1e-14 * high:
            break
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return low


def best_tradeoff(profile: Profile, alpha: Fraction) -> float:
    """The best of the lines that profile(epsilon) draws under the error curve, at `alpha`.

    Why: 1 - delta(epsilon) - e^epsilon alpha is concave in e^epsilon, and so is the mirrored line
    in e^-epsilon, so a golden-section search finds their tops; any point it stops at is a sound
    line.
    """
    if alpha == 0:
        # At alpha = 0 only 1 - delta(infinity) remains.
        return max(0.0, (1 - Interval.of(profile(Fraction(2**20)).upper)).lower)
    kept: Callable[[float], Interval] = lambda e: 1 - Interval.of(profile(Fraction(e)).upper)  # noqa: E731
    line = _climb(lambda e: (kept(e) - Interval.of(e).exp() * alpha).lower)
    return max(0.0, line, _climb(lambda e: ((kept(e) - alpha) * Interval.of(-e).exp()).lower))


def _climb(height: Callable[[float], float]) -> float:
    """Golden-section search over epsilon in [0, 2^k], widening while the top is at the far end."""
    best, far = height(0.0), 1.0
    while far < 2**10 and height(far) >= best:
        best, far = height(far), far * 2
    return max(best, -golden_section(lambda e: -height(e), (0.0, far), 36)[0])


def golden_section(
    cost: Callable[[float], float], ends: tuple[float, float], rounds: int
) -> tuple[float, float]:
    """The approximate minimum of a curve that falls and then rises, and its place."""
    ratio, (low, high) = (math.sqrt(5) - 1) / 2, ends
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = cost(a), cost(b)
    for _ in range(rounds):
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = cost(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = cost(b)
    return (at_a, a) if at_a <= at_b else (at_b, b)
