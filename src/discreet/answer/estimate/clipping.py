"""How much wider intervals are because limits that the system chose cut something off.

Noise errs to both sides, clipping only takes away: a person over a limit L with norm n counts for L
of n. The released histogram of people tells how much that is at most in all; of a group it is
taken to be as large a share as of everything. It is added to the half-width of the noise.
"""

import numpy as np

from discreet.answer.estimate.aggregates import Floats
from discreet.answer.estimate.noisy_statistics import NoisyStatistics
from discreet.answer.plan.chosen_limits import lost_rows
from discreet.answer.plan.set_plan import GROUPS, ROWS
from discreet.plan.statistics import People, Rows, Statistic, Total

_MOST = 0.9
"""The largest share that is reckoned with; beyond, an interval would say nothing."""


def cut_off(part: NoisyStatistics) -> dict[Statistic, Floats]:
    """What clipping takes from each statistic of each group at most; none where limits are stated.

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
    """What is cut off, beside what is left."""
    share = min(_share(part, what), _MOST)
    return share / (1 - share)


def _share(part: NoisyStatistics, what: str) -> float:
    clipped = part.clipped.get(what)
    return clipped.lost if clipped is not None else 0.0
