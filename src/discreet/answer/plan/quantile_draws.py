"""Cells drawn for quantiles, and how far their intervals reach."""

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
from discreet.mechanisms.median import FromEnd
from discreet.mechanisms.quantile import draw_cells, rank_range
from discreet.plan.bounding import FULL, NoiseKind
from discreet.plan.query import Aggregate, AggregateFunction, level_of
from discreet.plan.statistics import Ranks
from discreet.privacy import Neighbours

EARLIER_SHARE = Fraction(7, 10)
"""The share of its price that chose a quantile where its interval was chosen after it."""

_FAILURE = 0.05
"""The probability with which a quantile is outside of its interval, or MAX is beyond all data."""

_MOST_WEIGHT = 1 << 50
"""No data has as much."""

_MARGINS = 64
"""The cap on slack and misses, in margins of weight."""

_FEW_CELLS = 256
"""Up to this many cells, distances double."""

_ROOM = 1 << 62
"""Scores are computed as 64-bit numbers below this."""


@dataclass(frozen=True, slots=True)
class QuantileDraw:
    """One choice for a quantile: its cell and, with `ends`, how far its interval reaches.

    It has one part in `levels` of the price of all that are chosen from the same values. Where
    noise is Laplace, choices are made by permute-and-flip, which has the same epsilon as the
    exponential mechanism and errs less (`flips`); otherwise by that, which has less rho. An
    interval is to hold the quantiles of both `ends`.
    """

    aggregate: Aggregate
    levels: Fraction
    flips: bool
    ends: tuple[Fraction, Fraction] | None = None

    @property
    def apart(self) -> Fraction:
        """How far apart one row moves two scores: see `FromEnd`, `scores` and `rank_range`."""
        if self.ends is not None:
            return 2 * max(self.ends[1], 1 - self.ends[0])
        if self.aggregate.from_end:
            return Fraction(2)
        return rank_range(level_of(self.aggregate), Neighbours.ADD_REMOVE)

    def target(self, size: int, scale: Fraction) -> Fraction | FromEnd:
        """The rank that a cell is to have.

        Guarantee:
            MIN and MAX are in or before the last occupied cell, and at most twice `weight` from it,
            except with probability `_FAILURE`, in a group of at least twice `weight`.
        Why:
            There n >= 2 t, so the target is t = `weight` from the end. Some cell misses it by
            nothing; one beyond all data, or with more than 2 t beyond itself, by t at least. All of
            them together rarely win: see `weight`. Size and scale are public, so t is.
        """
        level = level_of(self.aggregate)
        if not self.aggregate.from_end:
            return level
        return FromEnd(self.weight(size - 1, scale), top=level == 1)

    def weight(self, others: int, scale: Fraction) -> int:
        """The weight by which `others` have to miss, so that they win with `_FAILURE` at most.

        Why: with t so much and one choice that misses by nothing, each of k others has a weight of
        exp(-t/scale) at most, so that all together win with probability k exp(-t/scale) at most,
        and by permute-and-flip with half of it: one that stops the walk has come before the one
        that always does. Nothing is assumed of n. No data has more than `_MOST_WEIGHT`.
        """
        if scale > _MOST_WEIGHT:
            return _MOST_WEIGHT
        likely = max(others, 1) / (2 if self.flips else 1) / _FAILURE
        return min(math.ceil(float(scale) * max(math.log(likely), 0.0)), _MOST_WEIGHT)

    def cell(
        self, cells: NDArray[np.int64], weights: NDArray[np.int64], size: int, scale: Fraction
    ) -> int:
        """The cell of one group from the weight in each; `size` more a step of `distances`.

        Guarantee:
            A row changes the difference of two scores by at most `apart`.
        Edge cases:
            People far over the limit weigh nothing, and a cell that only they are in counts as
            empty; so does a group with nobody else in it. Noise too wide for any data leaves the
            whole range as the interval of a cell that is anywhere.
        """
        choose = noise.permute_and_flip if self.flips else noise.choose
        if self.aggregate.measure is AggregateFunction.MODE:
            return draw_mode(cells, weights, size, scale, choose)
        ranks = RankCounts(cells[weights > 0], weights[weights > 0])
        if self.ends is None:
            target = self.target(size, scale)
            return int(draw_cells(ranks, (0, size - 1), target, scale, 1, choose)[0])
        if self.margin(size, scale) >= _MOST_WEIGHT:
            last = distances(size).size - 1
            return last * size + int(choose(np.zeros(size, dtype=np.int64), 1, 1)[0])
        scores, temperature = self.scores(ranks, size, scale)
        return int(choose(scores.ravel(), temperature, 1)[0])

    def scores(
        self, ranks: RankCounts, size: int, scale: Fraction
    ) -> tuple[NDArray[Any], Fraction]:
        """The score of each distance an interval may reach around each cell; its temperature.

        Why:
            With w_j the j-th distance, p and q the `ends` and n the whole weight, h_j(m) is the
            smaller of p n - #(x < m - w_j) and #(x <= m + w_j) - q n: the slack in weight of the
            interval around cell m, capped both ways. At an end of the range the slack is the
            largest possible. The target is the first distance with a slack of `margin`: the j-th
            misses it by y = max(margin - h_j, h_(j - 1) - margin, 0), which a row moves by max(1 -
            p, q) at most, half of `apart`, as it moves h. The miss x(m) of the cell itself, a
            quantile's, it moves by max(level, 1 - level); taken as many times as the first is
            larger, by as much as y. The score is -max(x, y), which moves no further than both do:
            one choice at the whole price, where two of them would have to share it. Slack and
            misses are capped at `most`, which increases no distance, so neither the kind of numbers
            nor the work depends on the data.
        """
        assert self.ends is not None  # noqa: S101 - narrowing: see `cell`
        level, margin, n = level_of(self.aggregate), self.margin(size, scale), ranks.people
        unit = math.lcm(level.denominator, *(end.denominator for end in self.ends))
        larger = unit * self.apart / (2 * max(level, 1 - level))
        unit, own, most = unit * larger.denominator, larger.numerator, margin * _MARGINS
        kind = object if 4 * max(unit, own) * most >= _ROOM else np.int64
        counted = np.concatenate([[0], ranks.at_or_below(np.arange(size))])

        def lacking(target: Fraction, each: int) -> NDArray[Any]:
            """How much less weight than the target is below each cell, in fractions of a weight."""
            whole, part = divmod(int(each * target * n), each)
            near = np.clip(whole - counted, -most - 1, most + 1).astype(kind)
            return np.asarray(np.clip(each * near + part, -unit * most, unit * most))

        below, (left, right) = lacking(level, own), (lacking(one, unit) for one in self.ends)
        missed = np.maximum(np.maximum(below[1:], -below[:-1]), 0)
        beyond = np.full(size + 1, unit * most, dtype=kind)
        left = np.concatenate([beyond, left[1:-1]])  # of low ends from -size on
        right = np.concatenate([-right[1:-1], beyond])  # of high ends from 0 on
        spare = np.empty((distances(size).size + 1, size), dtype=kind)
        spare[0] = margin * unit
        for row, w in zip(spare[1:], distances(size), strict=True):
            np.minimum(left[size - w :][:size], right[w:][:size], out=row)
        misses = np.maximum(margin * unit - spare[1:], spare[:-1] - margin * unit)
        return -np.maximum(misses, missed, out=misses), scale * unit

    def margin(self, size: int, scale: Fraction) -> int:
        """The slack in weight that the target interval has on both sides.

        Guarantee:
            An interval misses the true quantile with probability at most `_FAILURE`, on all data,
            interpolated or not.
        Why:
            docs/explanation/proofs/quantile-intervals.md: each of k distances that miss weighs at
            most exp(-margin/scale) times all target intervals. Interpolated, a quantile a/b may be
            past an end by max(a/b, 1 - a/b) - 1/b rows, there and in the miss of that end. Where
            the ends are moved, every interval without it is counted as one, and has less than a row
            to spare.
        """
        distant, level = distances(size).size, level_of(self.aggregate)
        if self.ends != (level, level):
            return self.weight(distant * size - 1, scale) + FULL
        others = (distant - 1) * (2 if self.flips else 1)
        return self.weight(others, scale) + math.ceil(
            (self.apart - Fraction(2, level.denominator)) * FULL
        )


@cache
def distances(size: int) -> NDArray[np.int64]:
    """How far an interval may reach, in cells: rising by a half at most, to the whole range.

    Why: among few cells each reaches over twice as many cells as the one before, and one. Finer
    steps make intervals a little narrower, but many distances are then nearly as good as the
    target, more of them around distant cells, so these are chosen more often.
    """
    powers = range(size.bit_length())
    fine = [0, 1, *(least << power for power in powers for least in (2, 3))]
    few = [(1 << power) - 1 for power in powers] if size <= _FEW_CELLS else fine
    return np.array([*(one for one in few if one < size - 1), size - 1])


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
        is also how far they move the scores of two cells for a quantile at an end (`rank_range` is
        1). The guarantee depends only on how far apart scores move; that of permute-and-flip
        depends on their moving one way by w at most.
    Edge cases:
        Empty cells are candidates too: which ones are empty does not show. Without any rows all
        cells are equally likely.
    Reference:
        McSherry and Talwar, "Mechanism design via differential privacy", FOCS 2007, Theorem 6; Dong
        et al., "Optimal differential privacy composition for exponential mechanisms", ICML 2020.
    """
    scores = np.zeros(size, dtype=np.int64)
    scores[cells] = weights
    return int(choose(scores, scale, 1)[0])


def quantile_draws(
    quantiles: Sequence[Aggregate], brackets: Sequence[str], lost: float, noise_kind: NoiseKind
) -> list[QuantileDraw]:
    """The choices for quantiles of the same values, those in `brackets` with an interval.

    Chosen limits cut off a share `lost` of all rows at most: so far they move a level.
    """
    flips, each = noise_kind is NoiseKind.LAPLACE, Fraction(len(quantiles))
    return [
        QuantileDraw(
            one, each, flips, _moved(level_of(one), lost) if one.name in brackets else None
        )
        for one in quantiles
    ]


def rank_error(
    of: StatisticNoise,
    aggregate: Aggregate,
    sharing: Fraction | int,
    failure: float,
    *,
    bracketed: bool = False,
) -> float:
    """A bound on the rows between a released quantile and the true one, except for failures.

    MIN and MAX aim at some rows from the end: as many more lie between them and that. Where an
    interval is chosen with it, each cell is a candidate with every distance.

    Cells that miss by t ranks have weight exp(-t/scale): all of them together rarely win. In values
    there is no such bound: with half of the rows at either end of the range, a few rows decide
    whether the median is at one end or the other, and the released one is anywhere between.
    """
    cells = of.statistic.cells if isinstance(of.statistic, Ranks) else 1
    draw = QuantileDraw(aggregate, Fraction(sharing), of.noise_kind is NoiseKind.LAPLACE)
    scale = quantile_scale(of.measurement, draw.apart, sharing)
    aim = draw.weight(cells - 1, scale) if aggregate.from_end else 0
    candidates = cells * (distances(cells).size if bracketed else 1)
    return (float(scale) * math.log(candidates / failure) + aim) / FULL


def _moved(level: Fraction, by: float) -> tuple[Fraction, Fraction]:
    """A level moved both ways by no less, past 0 and 1 if need be.

    In thousandths of the larger side of the level: scores are whole numbers of parts (`scores`).
    """
    side = max(level, 1 - level)
    moved = side * math.ceil(Fraction(by) / side * 1000) / 1000
    return level - moved, level + moved
