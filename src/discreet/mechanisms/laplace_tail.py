"""Tails of discrete Laplace noise, certified: thresholds and half-widths as whole steps.

For noise X with P(k) proportional to q^|k|, q = e^(-1/scale): P(X >= m) = q^m/(1 + q) for m >= 1.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, proper_share


def failure(confidence: Real) -> Fraction:
    """Read a confidence in (0, 1) as the probability 1 - confidence of being wrong."""
    return 1 - proper_share(confidence, "confidence")


def upper_tail(scale: Fraction, steps: int) -> Interval:
    """P(X >= steps), for steps >= 0."""
    rate = -1 / scale
    q = Interval.of(rate).exp()
    # At 0 the tail is one half and half an atom: 1/(1 + q), which the formula gives as well.
    return Interval.of(rate * steps).exp() / (1 + q)


def tail_steps(scale: Fraction, probability: Fraction) -> int:
    """The smallest m >= 0 for which surely P(X >= m) <= probability.

    Example:
        >>> tail_steps(Fraction(1), Fraction(1, 100))
        5
    """
    log = math.log(probability.numerator) - math.log(probability.denominator)
    guess = float(scale) * (-log - math.log1p(math.exp(-1 / float(scale))))
    return first_whole(lambda m: upper_tail(scale, m).hi <= Interval.of(probability).lo, guess)


@lru_cache(256)
def half_width(scale: Fraction, probability: Fraction) -> int:
    """The smallest w >= 0 for which surely P(|X| > w) <= probability.

    Example:
        >>> half_width(Fraction(1), Fraction(1, 20))
        3
    """
    return max(0, tail_steps(scale, probability / 2) - 1)


def first_whole(holds: Callable[[int], bool], guess: float = 1.0) -> int:
    """The smallest whole number >= 0 from which on `holds` is true; it must be true in the end.

    Example:
        >>> first_whole(lambda m: m * m >= 50)
        8
    """
    high, step = max(0, math.ceil(guess)), 1
    while not holds(high):
        high, step = high + step, 2 * step
    low, step = high - 1, 1
    while low >= 0 and holds(low):
        high, low, step = low, low - 2 * step, 2 * step
    low = max(low, -1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
