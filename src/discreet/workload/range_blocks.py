"""Ranges of one long column: counts of blocks by the best strategy for them, and cells within."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.privacy import GDP
from discreet.rationals import Real, positive, whole
from discreet.workload.marginals import Floats
from discreet.workload.matrix import MatrixMechanism, best_strategy

_BLOCKS: Final = 512
_SHORTEST: Final = 8
_LOOKED_AT: Final = 4096
"""Ranges that a plan is fitted to, where there are more: evenly taken from their list."""

_SHARES: Final = tuple(Fraction(k, 20) for k in (7, 9, 11, 13, 15))


@dataclass(frozen=True, eq=False)
class RangeBlocks:
    """Two levels of a hierarchy, each measured by the strategy that is best for the ranges.

    `blocks` measures the totals of all blocks, `within` the cells of each block alike.

    Guarantee:
        sqrt(mu_squared)-Gaussian differential privacy: those of both levels add up.
    Neighbours:
        As for `MatrixMechanism`.
    Why:
        A strategy moves the cells of each block by at most its longest column times the weight that
        somebody has there, and lengths of parts add up to no less than the length of the whole: all
        blocks together cost what one costs. Estimates are least squares over both levels, so
        counts of cells add up to those of blocks. An end of a range in a block errs by a share of
        the error of the block's total, and by what is uncertain within a block of known total,
        which is independent of all else: a closed form for every range.
    Edge cases:
        The last block is filled up with empty cells.

    Reference: Hay, Rastogi, Miklau, Suciu 2010, Boosting the Accuracy of Differentially Private
    Histograms Through Consistency; the strategies are those of `best_strategy`.
    """

    cells: int
    blocks: MatrixMechanism
    within: MatrixMechanism

    @staticmethod
    def of(
        cells: int, ranges: Sequence[tuple[int, int]], *, mu_squared: Real, **weights: Any
    ) -> "RangeBlocks":
        """Share a mu^2 between both levels so that the ranges err least on average.

        Ranges are first cells and ends. `weights` are those of `MatrixMechanism`.
        """
        size, budget = whole(cells, "cells", at_least=2), positive(mu_squared, "mu_squared")
        count = min(_BLOCKS, -(-size // _SHORTEST))
        length = -(-size // count)
        ends = np.array(ranges[:: -(-len(ranges) // _LOOKED_AT)], dtype=np.int64)
        # What is known of a prefix once the total of its block is.
        prefixes = np.tril(np.ones((length, length)))
        low = best_strategy(prefixes - prefixes.mean(axis=1, keepdims=True) + 0.05 / length)
        top = best_strategy(_covered(ends, count, length))

        def shared(share: Fraction) -> "RangeBlocks":
            levels = ((top, share), (low, 1 - share))
            return RangeBlocks(
                size, *(MatrixMechanism(a, mu_squared=budget * s, **weights) for a, s in levels)
            )

        plans = [shared(share) for share in _SHARES]
        return min(plans, key=lambda plan: float(plan.variances(ends).mean()))

    @property
    def mu_squared(self) -> Fraction:
        """The mu^2 of both levels together."""
        return self.blocks.mu_squared + self.within.mu_squared

    @property
    def guarantee(self) -> GDP:
        """Gaussian."""
        return GDP.of_square(self.mu_squared, neighbours=self.blocks.neighbours)

    def measure(self, counts: NDArray[np.integer[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
        """The noisy answers of both strategies; of cells one column a block."""
        filled = np.zeros((self._count, self._length), dtype=np.int64)
        filled.reshape(-1)[: self.cells] = counts
        return self.blocks.measure(filled.sum(axis=1)), self.within.measure(filled.T)

    def estimate(self, measured: tuple[NDArray[Any], NDArray[Any]]) -> Floats:
        """The counts of cells, in rows, by least squares over both levels."""
        top, low = measured
        cells = self.within.estimate(low)
        sums = cells.sum(axis=0)
        known = self.blocks.information @ self.blocks.estimate(top)
        totals = self._covariance @ (known + sums / self._spread)
        fixed = cells + np.outer(self._regression, totals - sums)
        return np.asarray(fixed.T.reshape(-1)[: self.cells])

    def variances(self, ranges: Sequence[tuple[int, int]] | NDArray[np.int64]) -> Floats:
        """The variance of the estimate of every range, in squared rows."""
        ends = np.asarray(ranges, dtype=np.int64).reshape(-1, 2)
        (i, j), (k, m) = (one.T for one in np.divmod(ends, self._length))
        inner = self._prefixes[1]
        told = self._both(i, k, i, k) + self._both(j, m, j, m) - 2 * self._both(i, k, j, m)
        within = inner[k, k] + inner[m, m] - 2 * np.where(i == j, inner[k, m], 0.0)
        return np.asarray(told + within)

    # --- least squares ---------------------------------------------------------------------------

    @property
    def _count(self) -> int:
        return int(self.blocks.strategy.shape[1])

    @property
    def _length(self) -> int:
        return int(self.within.strategy.shape[1])

    @cached_property
    def _spread(self) -> float:
        """The variance of the sum of a block's cells, measured by themselves."""
        return float(self.within.covariance.sum())

    @cached_property
    def _regression(self) -> Floats:
        """The gain of each cell when the total of its block is one higher than its cells say."""
        return np.asarray(self.within.covariance.sum(axis=1) / self._spread)

    @cached_property
    def _covariance(self) -> Floats:
        """Covariance of the errors of all totals."""
        return np.asarray(
            np.linalg.inv(self.blocks.information + np.eye(self._count) / self._spread)
        )

    @cached_property
    def _prefixes(self) -> tuple[Floats, Floats]:
        """For the first k cells: share of a total's error, and covariances at known totals."""
        steps = np.tril(np.ones((self._length + 1, self._length)), -1)
        shares = steps @ self._regression
        inner = steps @ self.within.covariance @ steps.T
        return shares, inner - np.outer(shares, shares) * self._spread

    @cached_property
    def _sums(self) -> Floats:
        """Sums of the covariances of the first i and first j totals."""
        size = self._count
        padded = np.zeros((size + 2, size + 2))
        padded[1:-1, 1:-1] = self._covariance
        return padded.cumsum(axis=0).cumsum(axis=1)

    def _both(
        self,
        i: NDArray[np.int64],
        k: NDArray[np.int64],
        j: NDArray[np.int64],
        m: NDArray[np.int64],
    ) -> Floats:
        """The covariance by totals of prefixes of i blocks and k cells, and j blocks and m cells.

        A prefix takes a share of the block that it ends in: sums are interpolated.
        """
        a, b = (self._prefixes[0][one] for one in (k, m))
        sums = self._sums
        flat = (1 - a) * sums[i, j] + a * sums[i + 1, j]
        return np.asarray((1 - b) * flat + b * ((1 - a) * sums[i, j + 1] + a * sums[i + 1, j + 1]))


def _covered(ends: NDArray[np.int64], count: int, length: int) -> Floats:
    """The share of every block that each range covers."""
    starts = np.arange(count) * length
    inside = np.minimum(ends[:, 1:], starts + length) - np.maximum(ends[:, :1], starts)
    return np.asarray(np.maximum(inside, 0) / length)
