"""Cells drawn for quantiles, and how far their paid intervals reach."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.answer.plan.measure import StatisticNoise, quantile_scale
from discreet.mechanisms.median import CellCounts as RankCounts
from discreet.mechanisms.quantile import draw_cells
from discreet.plan.bounding import FULL
from discreet.plan.query import Aggregate, level_of
from discreet.plan.statistics import Ranks

BRACKETS = Fraction(3, 10)
"""The share of a quantile's price that buys its interval."""

_FAILURE = 0.05
"""The probability with which the true quantile is outside of its interval."""

_MOST_MARGIN = 1 << 50
"""No data has as much weight to spare."""

_MARGINS = 8
"""As many margins of spare weight are as good as any more."""


@dataclass(frozen=True, slots=True)
class QuantileDraw:
    """One choice for a quantile: its cell or, where `ends` are given, how far its interval reaches.

    It has one part in `levels` of the price of all that are chosen from the same values. Where
    noise is Laplace, choices are made by permute-and-flip, which has the same epsilon as the
    exponential mechanism and errs less; otherwise by that, which has less rho. A `mode` is the most
    frequent cell. An interval is to hold the quantiles of both `ends`; `level` is then one by which
    a row moves as much.
    """

    name: str
    level: Fraction
    levels: Fraction
    mode: bool = False
    flips: bool = False
    ends: tuple[Fraction, Fraction] | None = None

    def cell(
        self,
        cells: NDArray[np.int64],
        weights: NDArray[np.int64],
        size: int,
        scale: Fraction,
        middle: int = 0,
    ) -> int:
        """The cell of one group from the weight in each, or how many cells it is off at most.

        Guarantee:
            That of the quantile at `level`; the `middle` of an interval is what was chosen before.
        Edge cases:
            People far over the limit weigh nothing, and a cell that only they are in counts as
            empty; so does a group of nobody else. Noise too wide for any data leaves the whole
            range as the interval.
        """
        choose = noise.permute_and_flip if self.flips else noise.choose
        if self.mode:
            return draw_mode(cells, weights, size, scale, choose)
        ranks = RankCounts(cells[weights > 0], weights[weights > 0])
        if self.ends is None:
            return int(draw_cells(ranks, (0, size - 1), self.level, scale, 1, choose)[0])
        if scale > _MOST_MARGIN or self.margin(size, scale) > _MOST_MARGIN:
            return size - 1
        scores, temperature = self.scores(ranks, size, scale, middle)
        return int(distances(size)[choose(scores, temperature, 1)[0]])

    def scores(
        self, ranks: RankCounts, size: int, scale: Fraction, middle: int
    ) -> tuple[NDArray[Any], Fraction]:
        """The score of each of the `distances` that an interval may reach, and its temperature.

        Why:
            With w_j the j-th distance, p and q the `ends` and n the whole weight, h_j is the
            smaller of p n - #(x < middle - w_j) and #(x <= middle + w_j) - q n: how much weight
            the interval has to spare, with a limit both ways. An end of the range spares as much as
            there can be. A row moves h_j by max(p, 1 - p, q, 1 - q) at most, as much as the miss of
            a quantile at `level`. Wanted is the first distance that spares a `margin`: the j-th
            misses it by max(margin - h_j, h_(j - 1) - margin, 0), which a row moves as much as h.
        """
        assert self.ends is not None  # noqa: S101 - narrowing: see `cell`
        away, unit = distances(size), math.lcm(*(end.denominator for end in self.ends))
        wanted, most = unit * self.margin(size, scale), unit * self.margin(size, scale) * _MARGINS
        low, high = middle - away, middle + away
        below, upto = (unit * ranks.at_or_below(one).astype(object) for one in (low - 1, high))
        targets = [int(end * unit) * ranks.people for end in self.ends]
        left = np.where(low <= 0, most, targets[0] - below)
        right = np.where(high >= size - 1, most, upto - targets[1])
        spare = np.clip(np.minimum(left, right), -most, most)
        before = np.concatenate([[wanted], spare[:-1]])
        misses = np.maximum(np.maximum(wanted - spare, before - wanted), 0)
        return -misses, scale * unit

    def margin(self, size: int, scale: Fraction) -> int:
        """The weight that the wanted interval has to spare on both sides.

        Why: an interval without the true quantile, interpolated or not, has less than a row to
        spare, so it misses by t = margin - FULL at least, and one of the others misses by nothing.
        Each of k - 1 has a weight of exp(-t/scale) at most, so that all together win with
        probability (k - 1) exp(-t/scale) at most, and by permute-and-flip with half of it: one that
        stops the walk has come before the one that always does. Nothing is assumed of n.
        """
        others = max(distances(size).size - 1, 1) / (2 if self.flips else 1)
        return math.ceil(float(scale) * max(math.log(others / _FAILURE), 0.0)) + FULL


@cache
def distances(size: int) -> NDArray[np.int64]:
    """How far an interval may reach, in cells: rising by a quarter at most, to the whole range."""
    few = [least << power for power in range(size.bit_length()) for least in range(4, 8)]
    return np.array([*(one for one in (0, 1, 2, 3, *few) if one < size - 1), size - 1])


def draw_mode(
    cells: NDArray[np.int64],
    weights: NDArray[np.int64],
    size: int,
    scale: Fraction,
    choose: Callable[..., Any] = noise.choose,
) -> int:
    """The most frequent of `size` cells, chosen with weight exp(weight in it / scale).

    Guarantee:
        That of a quantile at level 1, at the same scale.
    Neighbours:
        Adding or removing a person, whose weights in the cells add up to w.
    Why:
        The person moves every score the same way, by 0 to w: two scores by w at most apart, which
        is also how far they move the scores of two cells for a quantile at an end
        (`rank_range` is 1). How far apart scores move is all that the guarantee depends on; that
        of permute-and-flip depends on their moving one way by w at most.
    Edge cases:
        Cells with nobody are candidates too: which ones are empty does not show. Without any rows
        all cells are equally likely.
    Reference:
        McSherry and Talwar, "Mechanism design via differential privacy", FOCS 2007, Theorem 6; Dong
        et al., "Optimal differential privacy composition for exponential mechanisms", ICML 2020.
    """
    scores = np.zeros(size, dtype=np.int64)
    scores[cells] = weights
    return int(choose(scores, scale, 1)[0])


def quantile_draws(
    quantiles: Sequence[tuple[str, Fraction]],
    brackets: Sequence[str],
    lost: float = 0.0,
    modes: Sequence[str] = (),
    *,
    flips: bool = False,
) -> list[QuantileDraw]:
    """All choices for quantiles of the same values, those in `brackets` with an interval.

    Chosen limits cut off a share `lost` of all rows at most: so far they move a level.
    """
    found = []
    for name, level in quantiles:
        each = sharing(len(quantiles), bracketed=name in brackets)
        found.append(QuantileDraw(name, level, each, name in modes, flips))
        if name in brackets:
            ends = _apart(level, lost)
            farthest = max(ends[1], 1 - ends[0])
            share = len(quantiles) / BRACKETS
            found.append(QuantileDraw(name, farthest, share, flips=flips, ends=ends))
    return found


def sharing(quantiles: int, *, bracketed: bool) -> Fraction:
    """One over the share of one of several quantiles of the same values."""
    return quantiles / (1 - BRACKETS) if bracketed else Fraction(quantiles)


def rank_error(
    of: StatisticNoise, aggregate: Aggregate, sharing: Fraction | int, failure: float
) -> float:
    """How many rows lie between a released quantile and the true one at most, but for failures.

    Cells that miss by t ranks have weight exp(-t/scale): all of them together rarely win. In values
    there is no such bound: with half of the rows at either end of the range, a few rows decide
    whether the median is at one end or the other, and the released one is anywhere between.
    """
    cells = of.statistic.cells if isinstance(of.statistic, Ranks) else 1
    scale = quantile_scale(of.measurement, level_of(aggregate), sharing)
    return float(scale) * math.log(cells / failure) / FULL


def _apart(level: Fraction, by: float) -> tuple[Fraction, Fraction]:
    """A level moved both ways by no less, in thousandths; past 0 and 1 if need be, never onto it.

    A row moves the miss of a quantile at 0 or 1 by less than that of an interval that reaches there
    (`rank_range`).
    """
    moved = Fraction(math.ceil(by * 1000), 1000)
    if {level - moved, level + moved} & {0, 1}:
        moved += Fraction(1, 1000)
    return level - moved, level + moved
