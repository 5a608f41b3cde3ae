"""Binomial probabilities in log space, with a proven bound on their rounding error."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import gmpy2
import numpy as np
from numpy.typing import NDArray

from discreet.privacy.numerics.rounding import ELEMENTARY, UNIT, Interval

Floats = NDArray[np.float64]

_TABLED: Final = 16

_NEARLY_ALL: Final = UNIT - 1.0
"""Keeps 0 log 0 from being 0 times infinity; x = 1 stays exact for means up to 2^53."""

_TINIEST: Final = 1e-300
"""Stands in for a mean of 0, whose gap is 0 as well."""


def log_probability(n: Floats | float, k: Floats, p: Floats | float) -> tuple[Floats, Floats]:
    """Log P(Bin(n, p) = k), elementwise, and how far each value may be off.

    Guarantee:
        The exact logarithm lies within the second array of the first, for the double p exactly.
    Why:
        With s(n) = log n! - n log n + n and D(x, m) = x log(x/m) - x + m the logarithm is
        s(n) - s(k) - s(n-k) - D(k, np) - D(n-k, n(1-p)). No two large terms cancel: s is below 20,
        and D, computed as x log1p((x-m)/m) - (x-m), errs by at most 2 `ELEMENTARY` times the size
        of its two terms; a relative error u of m moves D by u |x-m|. Both are charged doubly.
    Edge cases:
        k = 0 and k = n are exact limits (0! = 1 and 0 log 0 = 0). n may reach 2^53.

    Reference: Loader, Fast and accurate computation of binomial probabilities (2000).
    """
    heads, head_size = _deviance(k, n * p)
    tails, tail_size = _deviance(n - k, n * (1.0 - p))
    shape = _stirling(np.asarray(n, dtype=np.float64)) - _stirling(k) - _stirling(n - k)
    error: Floats = ELEMENTARY * (4.0 * (head_size + tail_size) + 128.0)
    return shape - heads - tails, error


def mass_before(n: int, first: int, p: float, mass: float) -> float:
    """P(Bin(n, p) < first) from above, given P(first) = mass: terms fall at least geometrically.

    Where they do not, because `first` is not below the mean, the answer is 1.
    """
    if first == 0:
        return 0.0
    ratio = first * (1 - p) / ((n - first + 1) * p)
    return float(mass * ratio / (1 - ratio) * (1 + 64 * UNIT)) if ratio < 1 - 1e-9 else 1.0


def mass_beyond(n: int, last: int, p: float, mass: float) -> float:
    """P(Bin(n, p) > last) from above, likewise."""
    if last == n:
        return 0.0
    ratio = (n - last) * p / ((last + 1) * (1 - p))
    return float(mass * ratio / (1 - ratio) * (1 + 64 * UNIT)) if ratio < 1 - 1e-9 else 1.0


def _deviance(x: Floats, mean: Floats | float) -> tuple[Floats, Floats]:
    """The number x log(x/mean) - x + mean, and the size of the terms it is the difference of."""
    gap = x - mean
    share = gap / np.maximum(mean, _TINIEST)
    grown = x * np.log1p(np.maximum(share, _NEARLY_ALL))
    return grown - gap, np.abs(grown) + np.abs(gap)


def _stirling(n: Floats) -> Floats:
    """Log n! - n log n + n: a table below 16, from there the alternating series.

    The first omitted term, 691 / (360360 n^11), bounds the error by 1.1e-16.
    """
    large = np.maximum(n, _TABLED)
    inverse = 1.0 / (large * large)
    series = 1 / 1680 - inverse / 1188
    series = 1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse * series))
    smooth = series / large + 0.5 * np.log(2 * np.pi * large)
    small = np.minimum(n, _TABLED - 1).astype(np.int64)
    return np.asarray(np.where(n < _TABLED, _TABLE[small], smooth))


def _tabled(n: int) -> float:
    if n == 0:
        return 0.0
    exact = Interval.of(Fraction(gmpy2.fac(n))).log() - Interval.of(n).log() * n + n
    return float(exact.lo)


_TABLE: Final = np.array([_tabled(n) for n in range(_TABLED)])


@dataclass(frozen=True, slots=True, eq=False)
class BinomialWindow:
    """P(Bin(n, p) = k) from k = `first` on, from below and from above; the rest is `outside`.

    Example:
        >>> coin = BinomialWindow.around(4, 0.5, sigmas=9)
        >>> coin.first, [round(float(p), 4) for p in coin.highs], coin.outside
        (0, [0.0625, 0.25, 0.375, 0.25, 0.0625], 0.0)
    """

    first: int
    lows: Floats
    highs: Floats
    outside: float

    @staticmethod
    def around(n: int, p: float, sigmas: float) -> "BinomialWindow":
        """All counts within about that many deviations of the mean, for 0 < p < 1."""
        reach = sigmas * math.sqrt(n * p * (1 - p)) + 2 * sigmas
        first, last = max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach))
        logs, error = log_probability(n, np.arange(first, last + 1, dtype=np.float64), p)
        lows = np.exp(logs - error) * (1 - 2 * ELEMENTARY)
        highs = np.exp(logs + error) * (1 + 2 * ELEMENTARY)
        outside = mass_before(n, first, p, highs[0]) + mass_beyond(n, last, p, highs[-1])
        return BinomialWindow(first, lows, highs, outside)

    @property
    def last(self) -> int:
        """The largest count inside."""
        return self.first + self.lows.size - 1
