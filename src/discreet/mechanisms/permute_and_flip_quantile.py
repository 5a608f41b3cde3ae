"""Quantiles by permute-and-flip: closer than by the exponential mechanism, for a pure epsilon."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.mechanisms.exponential import utility_gap
from discreet.mechanisms.mechanism import Law
from discreet.mechanisms.median import CellCounts
from discreet.mechanisms.quantile import Quantile, draw_cells
from discreet.privacy import Pure
from discreet.rationals import Real, failure

_OFF: Final = 1e-9
"""More than all relative errors of a product of 512 factors at Gauss nodes, and of their sum."""


@dataclass(frozen=True, slots=True, init=False)
class PermuteAndFlipQuantile(Quantile):
    """A grid point, with the misses of `Quantile` as scores of permute-and-flip, exactly.

    Guarantee:
        Pure epsilon with epsilon = s/scale, s as for `Quantile`. It is not of bounded range: where
        many answers are composed, `Quantile` is cheaper; for one answer, or under a budget in
        epsilon, this one misses by fewer ranks.
    Neighbours:
        As for `Quantile`.
    Why:
        See `PermuteAndFlip`: one person changes the difference of two misses by at most s. The w
        grid points between two values have one score, and the largest of their w exponential draws
        is drawn at once (see `noise.permute_and_flip`); which of them has it is uniform.
    Edge cases:
        As for `Quantile`.

    Example:
        >>> ages = PermuteAndFlipQuantile(0.5, 0, 128, epsilon=1)
        >>> ages.release([40] * 5000)
        40
        >>> ages.error() < Quantile(0.5, 0, 128, epsilon=1).error()
        True

    Reference: McKenna, Sheldon 2020, Permute-and-Flip: A New Mechanism for Differentially Private
    Selection.
    """

    @property
    def guarantee(self) -> Pure:
        """Pure epsilon."""
        return Pure(self.epsilon, neighbours=self.neighbours)

    def error(self, confidence: Real = 0.95) -> float:
        """Largest rank error at this confidence: (ln((size - 1)/2) + b) scale."""
        others = self.range.size - 1
        return max(0.0, utility_gap(others, 2 * failure(confidence), self.scale).upper)

    def cells(self, ranks: CellCounts, runs: int) -> NDArray[np.int64]:
        """Cells of `runs` independent answers."""
        ends = 0, self.range.size - 1
        return draw_cells(
            ranks, ends, self.quantile, self.scale, runs, choose=noise.permute_and_flip
        )

    def _points(self, values: Any) -> Law:
        """The probability of every grid point.

        Why: with p_j = exp((score_j - best)/scale), point i stops the walk with probability p_i
        times the integral over u from 0 to 1 of the product of 1 - p_j u, j not i: a polynomial of
        degree below the number of points, which half as many Gauss points integrate exactly.
        """
        ranks = CellCounts.read(values, self.range)
        pieces = ranks.segments(0, self.range.size - 1, self.quantile)
        temperature = self.scale * self.quantile.denominator
        best = int(pieces.scores.max())
        coins = [float(np.exp(float((int(s) - best) / temperature))) for s in pieces.scores]
        nodes, weights = np.polynomial.legendre.leggauss(self.range.size // 2 + 1)
        factors = [1 - coin * (nodes + 1) / 2 for coin in coins]
        logs = sum(int(w) * np.log(f) for w, f in zip(pieces.widths, factors, strict=True))
        law: dict[Any, tuple[float, float]] = {}
        pairs = zip(pieces.starts, pieces.widths, coins, factors, strict=True)
        for start, width, coin, factor in pairs:
            share = coin * float(np.sum(weights / 2 * np.exp(logs - np.log(factor))))
            for cell in range(int(start), int(start + width)):
                law[self.range.point(cell)] = (share * (1 - _OFF), share * (1 + _OFF))
        return law
