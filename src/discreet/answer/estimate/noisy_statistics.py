"""Noisy measurements, read as statistics: their units, their noise, and what bounds cut off."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answer.estimate.aggregates import Floats
from discreet.answer.execute.measure_set import known_keys
from discreet.answer.execute.noisy_measurements import NoisyMeasurements
from discreet.answer.plan.contribution_histogram import GROUPS, ROWS, ClippedShare, lost_rows
from discreet.answer.plan.expected_error import rank_error
from discreet.answer.plan.measure import StatisticNoise
from discreet.answer.plan.quantile_draws import sharing
from discreet.answer.plan.set_plan import SetPlan
from discreet.answer.plan.thresholded_count import ThresholdedCount
from discreet.plan.bounding import ContributionBounds
from discreet.plan.query import Aggregate, Query
from discreet.plan.statistics import People, Ranks, Rows, Statistic, Total, ranks_of


@dataclass(frozen=True, slots=True)
class NoisyStatistics:
    """Groups, noisy statistics in their own units, and the guarantees spent on them.

    `clipped` is what the limits on rows and on groups cut off, where the system chose them, from
    what was `learnt` about people.
    """

    query: Query
    keys: Mapping[str, pa.Array]
    groups: int
    statistics: Mapping[Statistic, NDArray[np.float64]]
    quantiles: Mapping[str, NDArray[np.float64]]
    measurements: Mapping[Statistic, StatisticNoise]
    contributions: ContributionBounds
    showing: ThresholdedCount | None = None
    clipped: Mapping[str, ClippedShare] = field(default_factory=dict)
    learnt: tuple[str, ...] = ()
    widths: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """Half-widths of the quantiles that bought an interval."""

    @property
    def finds_groups(self) -> bool:
        """Whether groups had to be found."""
        return not self.query.has_known_keys

    def sliced(self, first: int, count: int) -> "NoisyStatistics":
        """The same of some of the groups."""
        some = slice(first, first + count)
        return replace(
            self,
            keys={name: column.slice(first, count) for name, column in self.keys.items()},
            groups=min(count, self.groups - first),
            statistics={of: values[some] for of, values in self.statistics.items()},
            quantiles={name: values[some] for name, values in self.quantiles.items()},
            widths={name: values[some] for name, values in self.widths.items()},
        )

    def rank_error(self, aggregate: Aggregate, failure: float) -> float:
        """How many rows a quantile is off at most, but for failures."""
        ranks = ranks_of(self.query, aggregate)
        assert ranks is not None  # noqa: S101 - narrowing: it is a quantile
        among = sum(ranks_of(self.query, other) == ranks for other in self.query.aggregates)
        share = sharing(among, bracketed=aggregate.name in self.widths)
        return rank_error(self.measurements[ranks], aggregate, share, failure)


def interpret(plan: SetPlan, drawn: NoisyMeasurements) -> NoisyStatistics:
    """The noisy integers of a grouping set, with the unit and noise of each."""
    query, noises = plan.query, plan.noises(drawn.contributions)
    selection = plan.selection(drawn.contributions)
    statistics, numbers = {}, iter(drawn.numbers)
    for strategy in plan.added:
        own = [next(numbers) for _ in strategy.combinations]
        statistics.update({one: noises[one].values(own) for one in strategy.statistics})
    return NoisyStatistics(
        query,
        known_keys(query)[0] if query.has_known_keys else drawn.keys,
        drawn.groups,
        statistics,
        {name: _middles(query, name, cells) for name, cells in drawn.cells.items()},
        noises,
        drawn.contributions,
        selection if isinstance(selection, ThresholdedCount) else None,
        drawn.clipped,
        plan.histograms,
        {name: _half_widths(query, name, drawn) for name in drawn.brackets},
    )


def _middles(query: Query, name: str, cells: NDArray[np.int64]) -> NDArray[np.float64]:
    """The middle of each cell that was chosen for a quantile."""
    ranks, width = _cells(query, name)
    return np.asarray(ranks.low + (cells + 0.5) * width, dtype=np.float64)


def _half_widths(query: Query, name: str, drawn: NoisyMeasurements) -> NDArray[np.float64]:
    """How far the ends of an interval are from its quantile, the cells of both counted in."""
    _, width = _cells(query, name)
    middle, (low, high) = drawn.cells[name], drawn.brackets[name]
    away = np.maximum(np.abs(middle - low), np.abs(high - middle))
    return np.asarray((away + 0.5) * width, dtype=np.float64)


def _cells(query: Query, name: str) -> tuple[Ranks, float]:
    """The values of a quantile on their cells, and how wide these are."""
    (ranks,) = (ranks_of(query, one) for one in query.aggregates if one.name == name)
    assert ranks is not None  # noqa: S101 - narrowing: cells are of quantiles
    return ranks, (ranks.high - ranks.low) / ranks.cells


# --- what limits that the system chose cut off --------------------------------------------------
# Noise errs to both sides, clipping only takes away: a person over a limit L with norm n counts for
# L of n. The released histogram of people tells how much that is at most in all; of a group it is
# taken to be as large a share as of everything. It is added to the half-width of the noise.

_MOST = 0.9
"""The largest share that is reckoned with; beyond, an interval would say nothing."""


def cut_off(part: NoisyStatistics) -> dict[Statistic, Floats]:
    """Upper bound on what clipping removed from each statistic and group; none for stated limits.

    Why: with a share b of all rows cut off, what is left is (1 - b)/b times as much. A total of
    values around their middle loses no more than the lost rows with the largest value each, a total
    of values as they are loses its share.
    """
    if not part.clipped:
        return {}
    return {of: _lost(of, part) for of in part.statistics}


def lost_share(part: NoisyStatistics) -> float:
    """The share of all rows that chosen limits cut off at most: so far they move a quantile."""
    return lost_rows(part.clipped, found=part.finds_groups)


def _lost(statistic: Statistic, part: NoisyStatistics) -> Floats:
    values = part.statistics[statistic]
    if isinstance(statistic, People):
        return _rate(part, GROUPS) * np.maximum(values, 0.0)
    # Where groups are found, people are left some of them, and lose their rows in the others.
    rate = _rate(part, ROWS) + (_rate(part, GROUPS) if part.finds_groups else 0.0)
    if isinstance(statistic, Total):
        rows = part.statistics.get(Rows(statistic.where))
        if rows is not None:
            return rate * np.maximum(rows, 0.0) * statistic.grid.reach * statistic.grid.step
    return rate * np.abs(values)


def _rate(part: NoisyStatistics, what: str) -> float:
    """Ratio of what clipping removed to what is left."""
    share = min(part.clipped[what].lost, _MOST) if what in part.clipped else 0.0
    return share / (1 - share)
