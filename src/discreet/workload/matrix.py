"""Matrix mechanisms over one list of cells: measure a strategy, answer the workload from it.

Identity, weighted trees of intervals, the strategy that is best for a workload, and two levels of
such for ranges of a long column. What is measured are whole numbers: a strategy is a matrix of
integers.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.privacy import GDP, Neighbours
from discreet.rationals import Real, positive, whole
from discreet.workload.histogram import Floats, rounded_noise, with_noise

MOST_CELLS: Final = 1024
"""Cells up to which strategies are written out as matrices."""

_FINE: Final = 1 << 12
"""Integers to 1 in a strategy that was computed in floating point."""

_ROUNDS: Final = 6


@dataclass(frozen=True, eq=False)
class MatrixMechanism:
    """Measures `strategy` times the counts with Gaussian noise; everything is answered from that.

    Guarantee:
        sqrt(mu_squared)-Gaussian differential privacy: a person of weight w moves what is measured
        by w times the longest column of the strategy at most, in l2. Where one is exchanged for
        another, by w times the largest distance of two columns, or sqrt(2) of the longest column
        where they are in different columns of the counts. All is computed in whole numbers.
    Neighbours:
        One person's counts are added or removed, or exchanged for another's.
    Why:
        The distance is convex in both people's counts, which are not negative and sum to w at most:
        it is largest where each has one cell. Columns may point away from each other.
    Edge cases:
        A strategy whose rows do not determine every count is refused.

    Example:
        >>> tree = MatrixMechanism(tree_strategy(8), mu_squared=1)
        >>> tree.estimate(tree.measure(np.arange(8))).shape
        (8,)

    Reference: Li, Miklau, Hay, McGregor, Rastogi 2015, The Matrix Mechanism: Optimizing Linear
    Counting Queries under Differential Privacy.
    """

    strategy: NDArray[np.int64]
    _: KW_ONLY
    mu_squared: Fraction
    person_weight: int = 1
    row_weight: int = 1
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        rows = np.asarray(self.strategy, dtype=np.int64)
        object.__setattr__(self, "strategy", rows)
        object.__setattr__(self, "mu_squared", positive(self.mu_squared, "mu_squared"))
        object.__setattr__(self, "neighbours", Neighbours(self.neighbours))
        for weight in (self.person_weight, self.row_weight):
            whole(weight, "weight", at_least=1)
        if rows.ndim != 2 or not _determines(rows.astype(np.float64)):
            raise InputError(
                "a strategy that does not determine the counts",
                why="its rows are answered, and every count is computed from them",
                fix="add the rows of identity_strategy(cells)",
            )

    @property
    def guarantee(self) -> GDP:
        """Gaussian."""
        return GDP.of_square(self.mu_squared, neighbours=self.neighbours)

    @cached_property
    def variance(self) -> Fraction:
        """The variance of the noise on each row, in squared units of weight."""
        largest = max(int(self.strategy.max()), -int(self.strategy.min()))
        wide = largest**2 * len(self.strategy) >= 1 << 62
        rows = self.strategy.astype(object) if wide else self.strategy
        longest = max(map(int, (rows * rows).sum(axis=0)))
        if self.neighbours is not Neighbours.ADD_REMOVE:
            products = _exact_product(self.strategy.T, self.strategy)
            squares = np.diag(products)
            apart = np.add.outer(squares, squares) - 2 * products
            longest = max(2 * longest, int(apart.max()))
        return longest * self.person_weight**2 / self.mu_squared

    def measure(self, counts: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """The noisy answers of the strategy; one column each, if nobody is in two of them."""
        exact = _exact_product(self.strategy, np.asarray(counts, dtype=np.int64))
        square, mu_squared = self.variance * self.mu_squared, self.mu_squared
        noise = rounded_noise(square, exact.size, self.neighbours, mu_squared=mu_squared)
        return with_noise(exact, noise)

    def estimate(self, measured: NDArray[Any]) -> Floats:
        """The counts, in rows, by least squares; they agree with each other."""
        seen = measured.astype(np.float64) / self.row_weight
        rows = self.strategy.astype(np.float64)
        return np.asarray(np.linalg.solve(rows.T @ rows, rows.T @ seen))

    @cached_property
    def information(self) -> Floats:
        """The inverse of the covariance of all counts, in rows."""
        rows = self.strategy.astype(np.float64)
        return np.asarray(rows.T @ rows * (self.row_weight**2 / float(self.variance)))

    @cached_property
    def covariance(self) -> Floats:
        """Covariance of the estimates of all counts, in squared rows."""
        return np.asarray(np.linalg.inv(self.information))

    def query_variance(self, workload: NDArray[Any]) -> Floats:
        """The variance of each query of a workload, a row of numbers each; in squared rows."""
        rows = np.atleast_2d(workload).astype(np.float64)
        return np.asarray(np.einsum("ij,jk,ik->i", rows, self.covariance, rows, optimize=True))


def _determines(rows: Floats) -> bool:
    """Whether every count follows from these rows, well enough for least squares."""
    try:
        pivots = np.diag(np.linalg.cholesky(rows.T @ rows))
    except np.linalg.LinAlgError:
        return False
    return bool(pivots.min() > 1e-7 * pivots.max())


def _exact_product(strategy: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[Any]:
    """A product of whole numbers, exactly: by doubles where every sum is a whole one below 2^53."""
    left, right = strategy.astype(np.float64), counts.astype(np.float64)
    columns = np.abs(right).reshape(len(counts), -1).sum(axis=0)
    if float(columns.max(initial=0.0)) * float(np.abs(left).max(initial=0)) < 2.0**52:
        return np.rint(left @ right).astype(np.int64)
    return np.asarray(strategy.astype(object) @ counts.astype(object))


def identity_strategy(cells: int) -> NDArray[np.int64]:
    """Each count separately."""
    return np.eye(whole(cells, "cells", at_least=1), dtype=np.int64)


def tree_strategy(cells: int, branching: int = 4) -> NDArray[np.int64]:
    """All intervals of a tree over the cells, the leaves among them."""
    size = whole(cells, "cells", at_least=1)
    rows = [np.eye(size, dtype=np.int64)]
    width = whole(branching, "branching", at_least=2)
    while width < size * branching and size > 1:
        starts = range(0, size, width)
        level = np.zeros((len(starts), size), dtype=np.int64)
        for row, start in enumerate(starts):
            level[row, start : start + width] = 1
        rows.append(level)
        width *= branching
    return np.concatenate(rows)


def best_strategy(workload: NDArray[Any]) -> NDArray[np.int64]:
    """The strategy with the least total variance over a workload, rounded to integers.

    Why: with G = W'W, the least trace(G X^-1) over X = A'A with a diagonal of at most 1 has
    X = V^(-1/2) (V^(1/2) G V^(1/2))^(1/2) V^(-1/2) for a diagonal V that is the diagonal of
    (V^(1/2) G V^(1/2))^(1/2): iterate that. Rounding costs a little variance, and no privacy: the
    sensitivity is that of the integers.

    Reference: Denisov, McMahan, Rush, Smith, Thakurta 2022, Improved Differential Privacy for SGD
    via Optimal Private Linear Operators on Adaptive Streams (the fixed point).
    """
    rows = np.atleast_2d(workload).astype(np.float64)
    gram = rows.T @ rows
    gram += np.eye(gram.shape[0]) * (1e-6 * np.trace(gram) / gram.shape[0] + 1e-12)
    diagonal = np.sqrt(np.diag(gram))
    for _ in range(_ROUNDS):
        scale = np.sqrt(diagonal)
        found = np.diag(_root(gram * np.outer(scale, scale)))
        done = float(np.abs(found / diagonal - 1).max()) < 1e-3
        diagonal = found
        if done:
            break
    scale = np.sqrt(diagonal)
    squared = _root(gram * np.outer(scale, scale)) / np.outer(scale, scale)
    return np.rint(_root(squared) * _FINE).astype(np.int64)


def _root(symmetric: Floats) -> Floats:
    values, vectors = np.linalg.eigh(symmetric)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)


# --- ranges of one long column --------------------------------------------------------------------

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
