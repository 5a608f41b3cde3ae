"""Intervals of quantiles in values, where other numbers that are released bound them.

A quantile's own error is in ranks. Of several quantiles of the same values, those to its sides are
far enough away in ranks, once there are enough rows, to lie on their sides of the true one too.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.answer.estimate.aggregates import Floats
from discreet.answer.estimate.error_bars import CONFIDENCE
from discreet.answer.estimate.noisy_statistics import NoisyStatistics, lost_share, ranks_of
from discreet.plan.query import Aggregate, AggregateFunction, level_of
from discreet.plan.statistics import Ranks, Rows

_FAILURE = (1 - CONFIDENCE) / 3
"""Of the count, of the quantile below, of the quantile above."""


@dataclass(frozen=True, slots=True)
class QuantileInterval:
    """Quantiles of one group of values, and what is known of how many values each group has.

    Why: a released quantile of level p misses by t ranks at most, but for failures; so it is no
    higher than the true quantile of level p + t/n, and that is no higher than the true one of level
    q where p + t/n <= q. The count gives the least n. Noises are independent, so which neighbour is
    taken (the nearest that n allows) says nothing about its own noise. Limits that the system chose
    take a share of all rows at most, and move levels by no more.
    """

    ranks: Ranks
    siblings: tuple[Aggregate, ...]
    part: NoisyStatistics

    @staticmethod
    def of(aggregate: Aggregate, part: NoisyStatistics) -> "QuantileInterval | None":
        """The interval of a quantile; None where there is none.

        The most frequent value may be on either side of any quantile, so a mode tells nothing.
        """
        ranks = ranks_of(part.query, aggregate)
        assert ranks is not None  # noqa: S101 - narrowing: it is a quantile
        same = (a for a in part.query.aggregates if ranks_of(part.query, a) == ranks)
        siblings = tuple(a for a in same if a.measure is not AggregateFunction.MODE)
        shown = part.showing is not None and part.showing.count.statistic == Rows(ranks.where)
        told = aggregate in siblings and len(siblings) > 1
        if shown or Rows(ranks.where) not in part.statistics or not told:
            return None
        return QuantileInterval(ranks, siblings, part)

    def half_widths(self, aggregate: Aggregate) -> Floats:
        """How far the true quantile is from the released one at most, 95 times in 100."""
        middle = self.part.quantiles[aggregate.name]
        low = np.full(middle.size, self.ranks.low)
        high = np.full(middle.size, self.ranks.high)
        half_cell = (self.ranks.high - self.ranks.low) / self.ranks.cells / 2
        fewest = self._fewest()
        for other in self._from_far(aggregate):  # the nearest that is far enough has the last word
            apart = float(level_of(aggregate) - level_of(other))
            missed = self.part.rank_error(other, _FAILURE)
            sure = (abs(apart) - lost_share(self.part)) * fewest >= missed
            value = self.part.quantiles[other.name]
            low = np.where(sure & (apart > 0), value - half_cell, low)
            high = np.where(sure & (apart < 0), value + half_cell, high)
        return np.asarray(np.maximum(np.abs(middle - low), np.abs(high - middle)))

    def _from_far(self, aggregate: Aggregate) -> list[Aggregate]:
        level = level_of(aggregate)
        return sorted(self.siblings, key=lambda other: -abs(level_of(other) - level))

    def _fewest(self) -> Floats:
        """The least number of values each group has."""
        count = Rows(self.ranks.where)
        one_sided = Fraction(1 - 2 * _FAILURE).limit_denominator(10**6)
        off = self.part.measurements[count].error(one_sided)
        return np.maximum(self.part.statistics[count] - off, 0.0)


def quantile_widths(aggregate: Aggregate, part: NoisyStatistics) -> Floats | None:
    """Half-widths of a quantile in values: bought for it, or by its neighbours; else None."""
    if aggregate.name in part.widths:
        return np.asarray(part.widths[aggregate.name])
    bracket = QuantileInterval.of(aggregate, part)
    return None if bracket is None else bracket.half_widths(aggregate)
