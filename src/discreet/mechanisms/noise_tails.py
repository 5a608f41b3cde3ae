"""Tails of Laplace and Gaussian noise, certified: thresholds and half-widths as whole steps.

For discrete Laplace noise X, P(k) is proportional to q^|k|, q = e^(-1/scale), and
P(X >= m) = q^m/(1 + q) for m >= 1. For discrete Gaussian noise P(X = k) is proportional to
f(k) = e^(-k^2/(2 v)); rounded Gaussian noise has tails of the normal law.

Where the deviation of discrete Gaussian noise is small the outcomes are summed. Where it is large,
a sum over k > w of f lies between two integrals, because f falls, and from one deviation on is
convex:
    f falls:    integral from w + 1  <= sum <= integral from w
    f convex:   integral from w + 1, plus f(w + 1)/2  <= sum <= integral from w + 1/2
"""

import math
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from discreet.privacy.numerics.lattice import theta
from discreet.privacy.numerics.rounding import PI, Interval, total
from discreet.rationals import first_whole


@lru_cache(4096)
def laplace_tail(scale: Fraction, steps: int) -> Interval:
    """P(X >= steps) of discrete Laplace noise, for steps >= 0."""
    rate = -1 / scale
    q = Interval.of(rate).exp()
    # At 0 the tail is one half and half an atom: 1/(1 + q), which the formula gives as well.
    return Interval.of(rate * steps).exp() / (1 + q)


def laplace_tail_steps(scale: Fraction, probability: Fraction) -> int:
    """The smallest m >= 0 for which surely P(X >= m) <= probability.

    Example:
        >>> laplace_tail_steps(Fraction(1), Fraction(1, 100))
        5
    """
    log = math.log(probability.numerator) - math.log(probability.denominator)
    guess = float(scale) * (-log - math.log1p(math.exp(-1 / float(scale))))
    return first_whole(lambda m: laplace_tail(scale, m).hi <= Interval.of(probability).lo, guess)


@lru_cache(256)
def laplace_half_width(scale: Fraction, probability: Fraction) -> int:
    """The smallest w >= 0 for which surely P(|X| > w) <= probability.

    Example:
        >>> laplace_half_width(Fraction(1), Fraction(1, 20))
        3
    """
    return max(0, laplace_tail_steps(scale, probability / 2) - 1)


_SUMMED = 64**2
"""Up to this variance outcomes are summed one by one."""

_DEVIATIONS = 16
"""How many deviations of outcomes are summed; what is beyond weighs less than e^-128."""


def gaussian_mass(variance: Fraction, steps: int) -> Interval:
    """P(X = steps)."""
    return _height(variance, steps) / theta(Interval.of(0), Interval.of(variance))


def gaussian_tail(variance: Fraction, width: int) -> Interval:
    """P(|X| > width) for width >= 0.

    Example:
        >>> round(gaussian_tail(Fraction(100), 19).upper, 4)
        0.0511
    """
    part = _summed(variance, width) if variance <= _SUMMED else _integrated(variance, width)
    return part * 2 / theta(Interval.of(0), Interval.of(variance))


def gaussian_half_width(variance: Fraction, probability: Fraction) -> int:
    """The smallest w >= 0 for which surely P(|X| > w) <= probability; one more at the very most.

    Example:
        >>> gaussian_half_width(Fraction(100), Fraction(1, 20))
        20
    """
    limit = Interval.of(probability).lo
    guess = math.sqrt(variance) * math.sqrt(-2 * math.log(probability / 2))
    return first_whole(lambda w: gaussian_tail(variance, w).hi <= limit, guess)


@lru_cache(256)
def normal_half_width(probability: Fraction) -> Fraction:
    """A z, rounded up, with P(|N(0, 1)| > z) <= probability.

    Example:
        >>> float(normal_half_width(Fraction(1, 20)))
        1.95996...
    """
    limit, scale = Interval.of(probability / 2).lo, 1 << 32
    guess = -scale * NormalDist().inv_cdf(max(float(probability / 2), 1e-300))
    units = first_whole(lambda n: Interval.of(Fraction(n, scale)).normal_tail().hi <= limit, guess)
    return Fraction(units, scale)


def _height(variance: Fraction, steps: int) -> Interval:
    return Interval.of(-Fraction(steps * steps) / (2 * variance)).exp()


def _summed(variance: Fraction, width: int) -> Interval:
    """The sum of f over k > width, and what it leaves out.

    Beyond `last` each term is at most e^(-last/v) times the one before, by convexity of k^2.
    """
    last = width + 2 + _DEVIATIONS * (math.isqrt(math.ceil(variance)) + 1)
    inside = total(_height(variance, k) for k in range(width + 1, last + 1))
    ratio = Interval.of(-Fraction(last) / variance).exp()
    beyond = _height(variance, last) * ratio / (1 - ratio)
    return Interval.between(inside, inside + beyond)


def _integrated(variance: Fraction, width: int) -> Interval:
    if (width + Fraction(1, 2)) ** 2 < variance:
        return Interval.between(_integral(variance, width + 1), _integral(variance, width))
    low = _integral(variance, width + 1) + _height(variance, width + 1) / 2
    return Interval.between(low, _integral(variance, width + Fraction(1, 2)))


def _integral(variance: Fraction, start: Fraction | int) -> Interval:
    v = Interval.of(variance)
    return (Interval.of(start) / v.sqrt()).normal_tail() * (PI * 2 * v).sqrt()
