"""Hiding among uniform reports: what shuffled randomized response over k >= 3 answers gives away.

With a = 1/(e^eps0 + k - 1), every report is drawn uniformly with probability k a, and true else. An
attacker who is told which of the others' reports are true is left with D ~ Bin(n - 1, k a) uniform
ones and the attacked person's. Of these T = D + 1 reports x say what the person holds in the one
world and y what they hold in the other, and the two probabilities are those of T uniform reports
times k a (1 + (e^eps0 - 1) x/T), and with y for x: nothing else of the reports helps.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from discreet.privacy.guarantees.clones import half_tail
from discreet.privacy.numerics.binomial import BinomialWindow, Floats, log_probability
from discreet.privacy.numerics.rounding import ELEMENTARY, UNIT, Interval

_FINE: Final = 1e-3
"""Numbers of reports within this relative distance are charged alike."""

_STEPS: Final = 3
"""... and so are those within a third of a deviation."""

_TINY: Final = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class UniformReports:
    """Groups of (T, m): the mass of each, rounded up, T the least of it, m = x + y in [m0, m1].

    Why:
        Another uniform report hides more (the attacker could add it himself), so numbers T are
        charged as the least of their group. Given T and m, x ~ Bin(m, 1/2). The part of delta at
        (T, m) is k a/T times E(A x - B m - c)+, A = (e^eps0 - 1)(e^eps + 1), B = (e^eps0 - 1)
        e^eps and c = (e^eps - 1) T. Adding Bin(m1 - m, 1/2) less its mean to x makes that no
        smaller (Jensen), so m is charged as m1, with A x - B m1 + h (m1 - m0) - c in place of A x -
        B m - c, where h = (e^eps0 - 1)(e^eps - 1)/2.
    """

    k: int
    epsilon0: Interval
    totals: Floats
    least: Floats
    largest: Floats
    masses: Floats
    none: float
    """The mass that is charged as if the person were alone."""

    @staticmethod
    def among(others: int, k: int, epsilon0: Interval, sigmas: float) -> "UniformReports":
        """The groups for a crowd, cut off that many deviations from the mean."""
        local = epsilon0.exp()
        chance, growth = (k / (local + (k - 1))).lower, (local - 1).upper
        drawn = BinomialWindow.around(others, chance, sigmas)
        width = _width(others * chance, math.sqrt(others * chance * (1 - chance)))
        parts, none = [], drawn.outside
        for start in range(0, drawn.highs.size, width):
            total = drawn.first + start + 1
            mass = float(drawn.highs[start : start + width].sum()) * (1 + 2 * width * UNIT)
            either = BinomialWindow.around(total, 2 / k, sigmas)
            none += mass * either.outside
            group = min(_FINE * (2 * total / growth + 2 * total / k), either.highs.size)
            group = max(1, int(group))
            starts = np.arange(0, either.highs.size, group)
            masses = np.add.reduceat(either.highs, starts) * (1 + 2 * group * UNIT)
            least = either.first + starts.astype(np.float64)
            largest = np.minimum(least + group - 1, either.last)
            parts.append((np.full(starts.size, float(total)), least, largest, masses * mass))
        totals, least, largest, masses = map(np.concatenate, zip(*parts, strict=True))
        return UniformReports(k, epsilon0, totals, least, largest, masses, none)

    def divergence(self, epsilon: Interval) -> float:
        """The hockey-stick divergence of order e^epsilon, from above.

        Why: with K = B m1 - h (m1 - m0) + c and b = P(Bin(m1, 1/2) = a*), a* = ceil(K/A), the
        positive part has mean b (A a*/2 - (h m0 + c) tail), the tail of the law from a* on in units
        of b. It enters negatively: cutting it short is safe.
        """
        local, asked = self.epsilon0.exp(), epsilon.exp()
        own = (local - asked) / (local + (self.k - 1))
        if own.hi <= 0:
            return 0.0
        growth, excess = local - 1, epsilon.expm1()
        slope, tilt = (growth * (asked + 1)).upper, (growth * excess / 2).lower
        drift = tilt * self.least + excess.lower * self.totals
        start = np.ceil((slope / 2 * self.largest + drift) / slope * (1 - 16 * UNIT))
        start = np.maximum(start, 1.0)
        some = start <= self.largest
        start, most, drift = start[some], self.largest[some], drift[some]
        logs, error = log_probability(most, start, 0.5)
        tail, steps = half_tail(most, start) if start.size else (start, 0)
        hidden = drift * tail * (1 - (4 * steps + 16) * UNIT)
        gain = np.maximum(slope / 2 * start - hidden, 0.0) + 256 * UNIT * slope * start
        weights = self.masses[some] / self.totals[some]
        terms = weights * np.exp(logs + error) * gain
        known = float(np.sum(terms)) * (1 + 4 * ELEMENTARY + 4 * terms.size * UNIT) + _TINY
        share = (self.k / (local + (self.k - 1))).upper
        return min(own.upper, (known * share + self.none * own.upper) * (1 + 8 * UNIT))


def _width(mean: float, deviation: float) -> int:
    return max(1, int(max(_FINE * mean, deviation / _STEPS)))
