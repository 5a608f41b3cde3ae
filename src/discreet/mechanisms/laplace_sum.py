"""Sums of independent discrete Laplace noises: certified half-widths.

For m noises of scale b, with a = 1/(2b), the characteristic function is
(1 + (sin(t/2)/sinh a)^2)^-m. Its inverse Fourier transform on a circle of N points gives the law of
the sum modulo N; what wraps around, and all rounding, is added to the tail.
"""

import math
from fractions import Fraction

import numpy as np

from discreet.mechanisms import noise_tails
from discreet.privacy.numerics.rounding import Interval

_SCALE = 1 << 12
"""Scales up to this are transformed as they are."""

_SLACK = 1e-11
"""Covers rounding (a transform of N = 2^22 points errs by less than 1e-12 in l1) and wrapping."""

_RARE = Fraction(1, 10**8)

_ORDERS = tuple(Fraction(n, 32) for n in range(8, 32))


def half_width(scale: Fraction, count: int, probability: Fraction) -> int:
    """The smallest w, up to 1e-11, with P(|sum of `count` noises| > w) <= probability.

    Why: a noise is a difference of two geometric draws, and a geometric draw of scale b divided by
    c, rounded down, is one of scale b/c. So the sum at a large scale is c times one at a small
    scale, give or take count (c - 1). For rare events the exponential bound answers at the best of
    a few orders o/b: each noise has E e^(o Z/b) <= 1/(1 - o^2), as (cosh(x) - 1)/x^2 grows.

    Example:
        >>> half_width(Fraction(10), 4, Fraction(1, 20))
        57
    """
    if count == 1:
        return noise_tails.laplace_half_width(scale, probability)
    if probability < _RARE:
        return _exponential_bound(scale, count, probability)
    coarse = math.ceil(scale / _SCALE)
    return coarse * _transformed(scale / coarse, count, probability) + count * (coarse - 1)


def _exponential_bound(scale: Fraction, count: int, probability: Fraction) -> int:
    rare = Interval.of(2 / probability).log()
    widths = ((rare - Interval.of(1 - o * o).log() * count) * (scale / o) for o in _ORDERS)
    return math.ceil(min(width.upper for width in widths))


def _transformed(scale: Fraction, count: int, probability: Fraction) -> int:
    reach = _exponential_bound(scale, count, Fraction(1, 10**14))
    points = 1 << (2 * reach).bit_length()
    angles = np.pi / points * np.arange(points // 2 + 1)
    # A larger scale than a tiny one is on the safe side, and keeps sinh finite.
    wave = np.sin(angles) / math.sinh(min(1 / (2 * float(scale)), 300.0))
    law = np.fft.irfft((1 + wave * wave) ** -float(count), points)
    inside = law[0] + 2 * np.concatenate([[0.0], np.cumsum(law[1 : reach + 1])])
    fits = inside >= 1 - float(probability) + _SLACK
    return int(np.argmax(fits)) if fits.any() else reach
