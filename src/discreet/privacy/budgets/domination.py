"""The Gaussian curve, moved up by a delta, that lies above a guarantee's own curve."""

import math
from fractions import Fraction
from functools import lru_cache

from discreet.errors import InputError
from discreet.privacy.guarantees.guarantee import Guarantee
from discreet.privacy.guarantees.pure import least_mu
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, non_negative

_POINTS = 64
"""Points at which the curve is looked at, denser towards epsilon = 0."""

_ROUNDS = 48

_FAR = 700.0
"""Beyond this epsilon e^epsilon has no float; what far less private mechanisms cost is rough."""


@lru_cache(maxsize=1024)
def dominating_mu(guarantee: Guarantee, tail: Real = 0) -> Fraction:
    """A mu, close to the least, with delta(e) <= tail + (1 - tail) delta_mu(e) for every e >= 0.

    Guarantee:
        The mechanism is (mu, tail)-Gaussian: with probability `tail` it may reveal everything, and
        otherwise attacks are no easier than on N(mu, 1) against N(0, 1).
    Why:
        Two curves delta(e) are compared in x = e^e, in which both are convex. Between two points
        the guarantee's curve is below the line through their upper bounds. delta_mu is above
        A - x B for the test {y > m/mu + mu/2}, A and B its chances under N(mu, 1) and N(0, 1).
        Comparing two lines at both ends compares them in between. Beyond the last point the
        guarantee's curve is below `tail`. A pair whose curve is above that of another can imitate
        it (Blackwell), and both curves here hold for both directions. Whatever is found costs no
        more than `least_mu` of the last point, since the guarantee is (that, tail)-private.
    Edge cases:
        A loss without a bound needs tail > 0; a guarantee of nothing is refused. A mechanism that
        hardly protects anybody, whose curve is 1 to all digits, is charged for its largest loss.

    Example:
        >>> from discreet.privacy.guarantees.pure import Pure
        >>> round(float(dominating_mu(Pure(1))), 3)
        1.232

    Reference: Dong, Roth, Su, Gaussian Differential Privacy, Theorem 2.10 (Blackwell) and
    Proposition 2.13 (curves of (epsilon, delta)); Zhu, Dong, Wang 2022 (dominating pairs).
    """
    slip = non_negative(tail, "tail")
    top = guarantee.epsilon(slip).upper
    if not math.isfinite(top):
        raise InputError(
            f"{type(guarantee).__name__} is below no Gaussian curve with delta {float(slip):g}",
            why="with that probability or more its loss has no bound",
            fix="pass a larger delta for the far tail, or state a stronger guarantee",
        )
    points = [top * (j / _POINTS) ** 1.25 for j in range(_POINTS + 1)]
    heights = [guarantee.delta(Fraction(e)).upper for e in points[:-1]]
    heights.append(min(Interval.of(slip).upper, heights[-1]))  # what `top` was asked for
    if heights[0] <= slip:
        return Fraction(0)
    most = least_mu(Fraction(top))
    mu, step = _search(points, heights, float(slip), float(most)), 2.0**-36
    while mu < most and not _is_above(mu, points, heights, slip):
        mu, step = mu * (1 + step), step * 2
    return min(most, Fraction(mu))


def _search(points: list[float], heights: list[float], tail: float, most: float) -> float:
    """About the least mu, in plain floats, and no more than about `most`."""
    if points[-1] > _FAR:
        return most
    xs = [math.exp(e) for e in points]

    def fits(mu: float) -> bool:
        for j in range(_POINTS):
            middle = (points[j] + points[j + 1]) / 2 / mu
            a, b = _tail(middle - mu / 2), _tail(middle + mu / 2)
            if any(heights[i] > tail + (1 - tail) * (a - xs[i] * b) for i in (j, j + 1)):
                return False
        return True

    low, high = 0.0, 1.0
    while high < most and not fits(high):
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
