"""The Gaussian curve, moved up by a delta, that lies above a guarantee's own curve."""

import math
from fractions import Fraction
from functools import lru_cache

from discreet.errors import InputError
from discreet.privacy.guarantees.guarantee import Guarantee
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, non_negative

_POINTS = 64
"""Points at which the curve is looked at, denser towards epsilon = 0."""

_ROUNDS = 48

_LARGEST_LOSS = 700.0
"""Losses above have no e^loss among floats; their curves are not compared."""


@lru_cache(maxsize=1024)
def dominating_mu(guarantee: Guarantee, tail: Real = 0) -> Fraction:
    """A mu, close to the least, with delta(e) <= tail + (1 - tail) delta_mu(e) for every e >= 0.

    Guarantee:
        The mechanism is (mu, tail)-Gaussian: with probability `tail` it may give everything away,
        and otherwise attacks are no easier than on N(mu, 1) against N(0, 1).
    Why:
        Two curves delta(e) are compared in x = e^e, in which both are convex. Between two points
        the guarantee's curve is below the line through their upper bounds. delta_mu is above
        A - x B for the test {y > m/mu + mu/2}, A and B its chances under N(mu, 1) and N(0, 1).
        Comparing two lines at both ends compares them in between. Beyond the last point the
        guarantee's curve is below `tail`. A pair whose curve is above that of another can imitate
        it (Blackwell), and both curves here hold for both directions.
    Edge cases:
        A loss without a bound, or above 700, needs tail > 0; a guarantee of nothing, or one whose
        bounds cannot be told from that, is refused.

    Example:
        >>> from discreet.privacy.guarantees.pure import Pure
        >>> round(float(dominating_mu(Pure(1))), 3)
        1.232

    Reference: Dong, Roth, Su, Gaussian Differential Privacy, Theorem 2.10 (Blackwell) and
    Proposition 2.13 (curves of (epsilon, delta)); Zhu, Dong, Wang 2022 (dominating pairs).
    """
    slip = non_negative(tail, "tail")
    top = guarantee.epsilon(slip).upper
    if top > _LARGEST_LOSS:
        raise _above_all(guarantee, slip)
    points = [top * (j / _POINTS) ** 1.25 for j in range(_POINTS + 1)]
    heights = [guarantee.delta(Fraction(e)).upper for e in points[:-1]]
    heights.append(min(Interval.of(slip).upper, heights[-1]))  # what `top` was asked for
    if heights[0] <= slip:
        return Fraction(0)
    mu = _search(points, heights, float(slip))
    step = 2.0**-36  # doubled, since floats may have missed the least mu by far
    while not _is_above(mu, points, heights, slip):
        mu, step = mu * (1 + step), 2 * step
        if step > 1:
            raise _above_all(guarantee, slip)
    return Fraction(mu)


def _above_all(guarantee: Guarantee, slip: Fraction) -> InputError:
    return InputError(
        f"{type(guarantee).__name__} is below no Gaussian curve with delta {float(slip):g}",
        why="with that probability or more its loss has no bound, or one too large to compare",
        fix="pass a larger delta for the far tail, or state a stronger guarantee",
    )


def _search(points: list[float], heights: list[float], tail: float) -> float:
    """About the least mu, in plain floats."""
    xs = [math.exp(e) for e in points]

    def fits(mu: float) -> bool:
        for j in range(_POINTS):
            middle = (points[j] + points[j + 1]) / 2 / mu
            a, b = _tail(middle - mu / 2), _tail(middle + mu / 2)
            if any(heights[i] > tail + (1 - tail) * (a - xs[i] * b) for i in (j, j + 1)):
                return False
        return True

    low, high = 0.0, 1.0
    while not fits(high) and high < _LARGEST_LOSS:
        low, high = high, high * 2
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high * (1 + 2.0**-40)


def _tail(z: float) -> float:
    return math.erfc(z / math.sqrt(2)) / 2


def _is_above(mu: float, points: list[float], heights: list[float], tail: Fraction) -> bool:
    """The same comparison, rounded against mu."""
    size, rest = Interval.of(mu), Interval.of(1 - tail)
    for j in range(_POINTS):
        middle = (Interval.of(points[j]) + Interval.of(points[j + 1])) / 2 / size
        a, b = (middle - size / 2).normal_tail(), (middle + size / 2).normal_tail()
        for i in (j, j + 1):
            line = tail + rest * (a - Interval.of(points[i]).exp() * b)
            if line.lo < heights[i]:
                return False
    return True
