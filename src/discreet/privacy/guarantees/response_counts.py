"""How many shuffled yes-or-no reports say yes: the exact privacy loss of randomized response.

Every report is a lie with probability r = 1/(e^eps0 + 1). Of the others `no` hold 0 and `yes` hold
1; their reports of 1 are yes + U - W, with U ~ Bin(no, r) lies of the ones and W ~ Bin(yes, r) of
the others. The attacker sees that sum with one more report in it, and nothing else helps.

With kappa = 1 - r - e^eps r and lambda = e^eps (1 - r) - r, the hockey-stick divergence between a
person who holds 1 and one who holds 0 is the largest over t of

    V(t) = kappa P(U - W = t - 1) - (lambda - kappa) P(U - W >= t),

since the difference of the two laws changes sign once (the law of U - W is log-concave). The other
direction is the same with `no` and `yes` exchanged, so the larger of all splits covers both.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np

from discreet.privacy.numerics.binomial import BinomialWindow, Floats
from discreet.privacy.numerics.rounding import UNIT, Interval

_WIDEST: Final = 1 / 100
_NARROWEST: Final = 1 / 2048
_GROWTH: Final = 1.2

_SLIP: Final = 2.0**-28
"""More than all relative errors of a sum of products here, so of where the sign changes too."""

_TINY: Final = 1e-300
"""Above anything that underflow can swallow here."""


def lies(epsilon0: Interval) -> tuple[float, float]:
    """Doubles below and above 1/(e^eps0 + 1): fewer lies hide less."""
    share = 1 / (epsilon0.exp() + 1)
    return share.lower, share.upper


def splits(others: int) -> Iterator[tuple[int, int]]:
    """Crowds (no, yes) such that every split of the others hides at least as much as one of these.

    Why:
        Another report can be added to the sum by the attacker himself, so a smaller crowd hides
        less: all splits with `no` from a to b are covered by a and others - b. Blocks [a, b] are
        fixed shares of the others, at most 1/100 wide and narrower where most hold 1, which is
        worst where reports are skewed: few lies fall below their mean more easily than above it.
    """
    edges = sorted({min(others + 1, int(share * (others + 1))) for share in _EDGES})
    for first, after in pairwise(edges):
        yield first, others - after + 1


def _shares() -> tuple[float, ...]:
    edges, width = [0.0], _NARROWEST
    while edges[-1] < 1:
        edges.append(min(1.0, edges[-1] + width))
        width = min(width * _GROWTH, _WIDEST)
    return tuple(edges)


_EDGES: Final = _shares()


@dataclass(frozen=True)
class ResponseCounts:
    """The law of U - W for one crowd and one share of lies, up to that many deviations."""

    no: int
    yes: int
    lie: float
    sigmas: float

    @cached_property
    def _ups(self) -> BinomialWindow:
        return BinomialWindow.around(self.no, self.lie, self.sigmas)

    @cached_property
    def _downs(self) -> BinomialWindow:
        return BinomialWindow.around(self.yes, self.lie, self.sigmas)

    @property
    def _outside(self) -> float:
        return self._ups.outside + self._downs.outside

    @cached_property
    def _reached(self) -> tuple[Floats, Floats]:
        """P(u <= U <= the last of the window) for u in the window, enclosed, and 0 past it."""
        lows, highs = (
            np.append(np.cumsum(side[::-1])[::-1], 0.0)
            for side in (self._ups.lows, self._ups.highs)
        )
        slack = 2 * lows.size * UNIT
        return lows * (1 - slack), highs * (1 + slack)

    def divergence(self, epsilon: Interval) -> tuple[float, float]:
        """The hockey-stick divergence of order e^epsilon from holding 1 to holding 0, enclosed.

        Why: inside the windows the law is log-concave as well, and what is outside adds no more
        than its mass.
        """
        asked, lie = epsilon.exp(), Interval.of(self.lie)
        kappa, excess = 1 - lie - asked * lie, epsilon.expm1()
        if kappa.hi <= 0:
            return 0.0, 0.0
        ratio = float((asked * (1 - lie) - lie).upper / max(kappa.upper, 1e-300))
        t = self._change_of_sign(ratio)
        low, high = self._mass(t - 1)
        tail_low, tail_high = self._tail(t)
        slip = _SLIP * (kappa.upper + excess.upper) * (high + self._mass(t)[1])
        beyond = self._outside * (1 + _SLIP) + _TINY
        most = kappa.upper * high - excess.lower * tail_low
        least = kappa.lower * low - excess.upper * tail_high
        upper = max(0.0, most) * (1 + _SLIP) + slip + beyond
        return max(0.0, least * (1 - _SLIP) - slip - _TINY), upper

    def _change_of_sign(self, ratio: float) -> int:
        """The least t with P(U - W = t - 1) > ratio P(U - W = t), about.

        It is above the mode, which is within 1 of the mean; from there on 0 is underflow.
        """
        low = max(
            self._ups.first - self._downs.last, math.floor((self.no - self.yes) * self.lie) - 2
        )
        high = self._ups.last - self._downs.first + 1

        def falls(t: int) -> bool:
            here = self._mass(t)[1]
            return here <= 0 or self._mass(t - 1)[1] > ratio * here

        return low + 1 + bisect_left(range(low + 1, high), x=True, key=falls)

    def _mass(self, s: int) -> tuple[float, float]:
        """P(U - W = s) inside the windows, enclosed."""
        ups, downs = self._ups, self._downs
        first = max(downs.first, ups.first - s)
        after = max(first, min(downs.last, ups.last - s) + 1)
        w, u = (
            slice(first - downs.first, after - downs.first),
            slice(first + s - ups.first, after + s - ups.first),
        )
        low = float(np.sum(ups.lows[u] * downs.lows[w])) * (1 - _SLIP)
        high = float(np.sum(ups.highs[u] * downs.highs[w])) * (1 + _SLIP)
        return low, high

    def _tail(self, t: int) -> tuple[float, float]:
        ups, downs = self._ups, self._downs
        needed = np.arange(t + downs.first, t + downs.last + 1) - ups.first
        lows, highs = self._reached
        place = np.clip(needed, 0, lows.size - 1)
        low = float(np.sum(downs.lows * lows[place])) * (1 - _SLIP)
        high = float(np.sum(downs.highs * highs[place])) * (1 + _SLIP)
        return low, high + self._outside


def widest_needed(delta: float) -> float:
    """Deviations after which the tail is negligible against delta."""
    return math.sqrt(-2 * math.log(delta)) + 6 if delta > 1e-300 else 44.0
