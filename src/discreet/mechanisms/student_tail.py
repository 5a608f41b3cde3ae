"""Tails of rounded Student's t noise, four degrees of freedom, certified; scales in steps."""

import math
from fractions import Fraction
from functools import lru_cache

from discreet.mechanisms.laplace_tail import first_whole
from discreet.privacy.numerics.rounding import Interval


def upper_tail(scale: Fraction, steps: int) -> Interval:
    """P(noise >= steps) for steps >= 1.

    Why: with x = (steps - 1/2)/scale, R = sqrt(4 + x^2) and v = x/R it is (2 - 3v + v^3)/4 = (1 -
    v)^2 (2 + v)/4, and 1 - v = 4/(R (R + x)): nothing cancels.

    Example:
        >>> round(upper_tail(Fraction(1), 3).upper, 4)
        0.0334
    """
    x = Interval.of((steps - Fraction(1, 2)) / scale)
    root = (x.square() + 4).sqrt()
    rest = 4 / (root * (root + x))
    return rest.square() * (3 - rest) / 4


@lru_cache(maxsize=1024)
def half_width(scale: Fraction, probability: Fraction) -> int:
    """The smallest w for which surely P(|noise| > w) <= probability.

    Example:
        >>> half_width(Fraction(100), Fraction(1, 20))
        278
    """
    limit = Interval.of(probability).lo
    guess = float(scale) * math.sqrt(2) * float(probability) ** -0.25
    return first_whole(lambda w: (upper_tail(scale, w + 1) * 2).hi <= limit, guess)
