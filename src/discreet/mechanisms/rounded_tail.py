"""Tails of rounded Gaussian noise, certified; variances are in squared steps."""

import math
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from discreet.mechanisms.laplace_tail import first_whole
from discreet.privacy.numerics.rounding import Interval


def upper_tail(variance: Fraction, steps: int) -> Interval:
    """P(noise >= steps).

    Example:
        >>> round(upper_tail(Fraction(9), 3).upper, 4)
        0.2023
    """
    return (Interval.of(steps - Fraction(1, 2)) / Interval.of(variance).sqrt()).normal_tail()


@lru_cache(maxsize=1024)
def half_width(variance: Fraction, probability: Fraction) -> int:
    """The smallest w for which surely P(|noise| > w) <= probability.

    Example:
        >>> half_width(Fraction(9), Fraction(1, 20))
        6
    """
    limit = Interval.of(probability).lo
    normal = -NormalDist().inv_cdf(max(float(probability / 2), 1e-300))
    guess = math.sqrt(variance) * normal - 0.5
    return first_whole(lambda w: (upper_tail(variance, w + 1) * 2).hi <= limit, guess)
