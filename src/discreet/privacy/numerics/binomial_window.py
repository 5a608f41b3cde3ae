"""Binomial probabilities near the mean, enclosed one by one, with a bound on all the others."""

import math
from dataclasses import dataclass

import numpy as np

from discreet.privacy.numerics.binomial import Floats, log_probability, mass_before, mass_beyond
from discreet.privacy.numerics.rounding import ELEMENTARY


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
        """All counts within about so many deviations of the mean, for 0 < p < 1."""
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
