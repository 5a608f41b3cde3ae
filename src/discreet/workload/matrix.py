"""Matrix mechanisms over one list of cells: measure a strategy, answer the workload from it.

Identity, weighted trees of intervals, and the strategy that is best for a workload. What is
measured are whole numbers: a strategy is a matrix of integers.
"""

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.mechanisms.gaussian import RoundedGaussian
from discreet.mechanisms.grid import INTEGERS, sqrt_up
from discreet.privacy import GDP, Neighbours
from discreet.rationals import positive, whole
from discreet.workload.marginals import Floats

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
        """The noisy answers of the strategy; a column each, where nobody is in two of them."""
        exact = _exact_product(self.strategy, np.asarray(counts, dtype=np.int64))
        mechanism = RoundedGaussian(
            mu_squared=self.mu_squared,
            sensitivity=sqrt_up(self.variance * self.mu_squared),
            grid=INTEGERS,
            dimension=exact.size,
            neighbours=self.neighbours,
        )
        return np.asarray(mechanism.release(exact.reshape(-1))).reshape(exact.shape)

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
    """Each count by itself."""
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


def best_strategy(workload: NDArray[Any], rounds: int = _ROUNDS) -> NDArray[np.int64]:
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
    for _ in range(rounds):
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
