"""Groups without a list, shown if a noisy count that is released anyway is high enough.

Where a question asks how many people (or rows, where each is protected by itself) a group has, that
one measurement also decides which groups are shown, and nothing but a delta is paid for it. Other
questions pay for a selection of its own (`KeySelection`).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from discreet.answer.plan.measure import StatisticNoise
from discreet.mechanisms import Laplace, noise_tails
from discreet.mechanisms.unknown_keys import delta_each, touched
from discreet.plan.bounding import FULL, NoiseKind
from discreet.plan.query import Query
from discreet.plan.statistics import People, Rows, Statistic, needed
from discreet.privacy import Approximate

Floats = NDArray[np.float64]

_FAILURE = 0.025
"""The probability of a miss on one side of an interval."""

_FAR = 7
_POINTS = 512
_DEEPEST = 36.0
"""Deviations: the tail is a normal double up to here, and the limit of one person is nearer."""


def shared_count(query: Query) -> Statistic | None:
    """The statistic of a question that counts the people of each group, one at most each.

    A count of rows suffices if each row is protected by itself, but not if one person may have
    many: the threshold would have to be far above all of them.
    """
    counts = [Rows(None), People(None)] if query.is_by_row else [People(None)]
    return next((count for count in counts if count in needed(query)), None)


@dataclass(frozen=True, slots=True)
class ThresholdedCount:
    """Shows groups whose noisy count reaches a threshold that one person alone hardly reaches.

    Guarantee:
        Together with the count, which costs what it costs, (0, delta) for a person who is in at
        most `groups` groups: all statistics of groups that are not shown stay hidden.
    Neighbours:
        Add-remove touches `groups` groups, change-one twice as many.
    Why:
        Say the person is alone in j of these groups. All j stay hidden with probability h >= 1 -
        delta, independently of the other groups, whose law R the measurements keep within their
        guarantee of Q, the law without the person. So P(S) <= delta + h R(S) and, as h R(S) <=
        P(S), Q(S) = (1 - h) Q(S) + h Q(S) <= delta + h Q(S): what holds between R and Q holds
        between P and Q with delta more.
    Edge cases:
        Groups without rows are not there to be shown.

    Reference: Korolova, Kenthapadi, Mishra, Ntoulas 2009, Releasing Search Queries and Clicks
    Privately, Theorem 1; Bun, Steinke 2016, Definition 8.1 (the same for zCDP).
    """

    count: StatisticNoise
    delta: Fraction
    groups: int

    @property
    def guarantee(self) -> Approximate:
        """The guarantee of showing groups, in addition to the measurement's own."""
        return Approximate(0, self.delta, neighbours=self.count.measurement.neighbours)

    @property
    def threshold(self) -> int:
        """The least weight that is shown: one person and noise reach it with delta at most."""
        each = delta_each(self.delta, touched(self.groups, self.count.measurement.neighbours))
        return self._one + self._tail(each)

    @property
    def _one(self) -> int:
        """One person, in steps of the noise."""
        return FULL // self.count.measurement.step

    @property
    def people(self) -> float:
        """The threshold in people."""
        return self.threshold / self._one

    def shows(self, noisy: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The groups to show, decided by their released noisy counts."""
        return np.asarray(noisy >= self.threshold, dtype=np.bool_)

    def certain_people(self, confidence: Fraction) -> int:
        """A group with that many people is shown with at least this confidence."""
        return -(-(self.threshold + self._tail(1 - confidence)) // self._one)

    def _tail(self, probability: Fraction) -> int:
        """A number of steps that noise reaches with at most this probability."""
        noise = self.count.measurement.mechanism
        if isinstance(noise, Laplace):
            return noise_tails.laplace_tail_steps(noise.scale, probability)
        return noise.half_width(2 * probability) + 1

    # --- what noise does to counts that are shown -------------------------------------------------

    def half_widths(self, counts: Floats, plain: float) -> Floats:
        """Half-widths of shown counts, given that they are shown; `plain` is that of any count.

        Why: counts near the threshold are shown because their noise was high. Of all true counts c
        the interval holds those under which a shown count as high as this one is no rarer than 1 in
        40. It is as wide to both sides; a group has one person at least.
        """
        scale = self.count.scale
        if self.count.noise_kind is NoiseKind.LAPLACE:
            below = _laplace_below(counts - self.people, scale)
        else:
            below = _gaussian_below(counts - self.people, scale)
        below = np.minimum(below, counts - 1)
        return np.maximum(below, plain)


def _laplace_below(above: Floats, scale: float) -> Floats:
    """How far below a shown count the true one may lie; `above` is how far it is above the bar.

    With c below the bar, what is shown is exponential above it, whatever c: v = exp(-above/scale).
    With c above, u = exp(-distance/scale) solves u/2 = failure (1 - v/(2 u)).
    """
    v = np.exp(-np.maximum(above, 0.0) / scale)
    root = np.sqrt(np.maximum(_FAILURE**2 - _FAILURE * v, 0.0))
    return np.where(v >= _FAILURE, np.inf, -scale * np.log(_FAILURE + root))


def _gaussian_below(above: Floats, scale: float) -> Floats:
    """The same for Gaussian noise, read off a table and rounded up."""
    place = np.minimum(above / scale * ((_POINTS - 1) / _FAR), _POINTS - 1).astype(np.int64)
    return np.asarray(scale * _standard_table()[np.maximum(place, 0)], dtype=np.float64)


@cache
def _standard_table() -> Floats:
    return np.array([_standard_below(height) for height in np.linspace(0.0, _FAR, _POINTS)])


def _standard_below(above: float) -> float:
    """The largest d for which Q(d) / Q(d - above) is the failure; grows as `above` falls."""
    low, high = 0.0, _DEEPEST
    for _ in range(50):
        middle = (low + high) / 2
        tails = (math.erfc(x / math.sqrt(2)) for x in (middle, middle - above))
        fine = next(tails) >= _FAILURE * next(tails)
        low, high = (middle, high) if fine else (low, middle)
    return high
