"""Cells drawn for quantiles and for the ends of paid intervals."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.mechanisms.median import CellCounts as RankCounts
from discreet.mechanisms.quantile import draw_cells
from discreet.plan.bounding import FULL

BRACKETS = Fraction(3, 10)
"""The share of a quantile's price that buys an interval, half of it for each end."""

_END_FAILURE = 0.025
"""The probability with which one end of a quantile's interval is on the wrong side."""

_MOST_WEIGHT = 1 << 60


@dataclass(frozen=True, slots=True)
class QuantileDraw:
    """One choice of a cell: a quantile (side 0), or the lower or upper end of its interval.

    It has one part in `levels` of the price of all that are chosen from the same values. Where
    noise is Laplace, cells are chosen by permute-and-flip, which has the same epsilon as the
    exponential mechanism and errs less; otherwise by that, which has less rho. A `mode` is the most
    frequent cell.
    """

    name: str
    side: int
    level: Fraction
    levels: Fraction
    mode: bool = False
    flips: bool = False

    def cell(
        self, cells: NDArray[np.int64], weights: NDArray[np.int64], size: int, scale: Fraction
    ) -> int:
        """The cell of one group, from the weight in each cell.

        Guarantee:
            That of the quantile at `level`: what is added is public.
        Why:
            An end is a quantile of the values with a public weight m at the lower (upper) end of
            the range. Say the q-quantile of the values is in cell c and the level is p <= q. Every
            cell above c has weight q n + m or more below it, where p (n + m) is wanted, and misses
            by (1 - p) m at least; m is so large that all cells together miss by that with
            probability 1 in 40 at most. One row more allows for interpolated quantiles. Nothing is
            assumed of n. For the upper end the same holds with p m. Permute-and-flip moves by
            2 max(q, 1 - q)/scale for a row, as the exponential mechanism does (by 1/scale at q = 0
            and 1, where all misses move one way), and chooses no cell that misses by t more often
            than exp(-t/scale).
        Edge cases:
            People far over the limit weigh nothing, and a cell that only they are in counts as
            empty; so does a group of nobody else. Noise too wide for any data leaves the whole
            range as the interval.
        """
        choose = noise.permute_and_flip if self.flips else noise.choose
        if self.mode:
            return draw_mode(cells, weights, size, scale, choose)
        if self._extra(size, scale) > _MOST_WEIGHT:
            return 0 if self.side < 0 else size - 1
        ranks = self.ranks(cells, weights, size, scale)
        return int(draw_cells(ranks, (0, size - 1), self.level, scale, 1, choose)[0])

    def ranks(
        self, cells: NDArray[np.int64], weights: NDArray[np.int64], size: int, scale: Fraction
    ) -> RankCounts:
        """The values to rank and, for an end of an interval, the public weight."""
        occupied = weights > 0
        cells, weights = cells[occupied], weights[occupied]
        if not self.side:
            return RankCounts(cells, weights)
        end = 0 if self.side < 0 else size - 1
        inner = cells != end
        heavy = self._extra(size, scale) + int(weights[~inner].sum())
        place = 0 if self.side < 0 else int(inner.sum())
        return RankCounts(
            np.insert(cells[inner], place, end), np.insert(weights[inner], place, heavy)
        )

    def _extra(self, size: int, scale: Fraction) -> int:
        """The public weight at one end of the range."""
        if not self.side:
            return 0
        missed = float(scale) * math.log(size / _END_FAILURE) + FULL
        return math.ceil(missed / float(1 - self.level if self.side < 0 else self.level))


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
        found.append(QuantileDraw(name, 0, level, each, name in modes, flips))
        if name in brackets:
            share = 2 * len(quantiles) / BRACKETS
            ends = ((i, _moved(level, i * lost)) for i in (-1, 1))
            found += [QuantileDraw(name, i, moved, share, flips=flips) for i, moved in ends]
    return found


def sharing(quantiles: int, *, bracketed: bool) -> Fraction:
    """One over the share of one of several quantiles of the same values."""
    return quantiles / (1 - BRACKETS) if bracketed else Fraction(quantiles)


def _moved(level: Fraction, by: float) -> Fraction:
    """A level that is moved by no less, in thousandths, within 0 and 1."""
    if not by:
        return level
    away = (math.floor if by < 0 else math.ceil)((float(level) + by) * 1000)
    return Fraction(min(max(away, 0), 1000), 1000)
