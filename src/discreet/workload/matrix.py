"""Matrix mechanisms over one list of cells: measure a strategy, answer the workload from it.

Identity, weighted trees of intervals, and the strategy that is best for a workload. What is
measured are whole numbers: a strategy is a matrix of integers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import InputError
from discreet.privacy import GDP, Neighbours
from discreet.rationals import Real, positive, whole
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
        by w times the longest column of the strategy at most, in l2 (by sqrt(2) of that where one
        is exchanged for another). Both are computed in whole numbers.
    Neighbours:
        One person's counts are added or removed, or exchanged for another's.
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
    mu_squared: Fraction
    person_weight: int = 1
    row_weight: int = 1
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __init__(
        self,
        strategy: Any,
        *,
        mu_squared: Real,
        person_weight: int = 1,
        row_weight: int = 1,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        rows = np.asarray(strategy, dtype=np.int64)
        object.__setattr__(self, "strategy", rows)
        object.__setattr__(self, "mu_squared", positive(mu_squared, "mu_squared"))
        object.__setattr__(self, "person_weight", whole(person_weight, "weight", at_least=1))
        object.__setattr__(self, "row_weight", whole(row_weight, "weight", at_least=1))
        object.__setattr__(self, "neighbours", Neighbours(neighbours))
        if rows.ndim != 2 or np.linalg.matrix_rank(rows.astype(np.float64)) < rows.shape[1]:
            raise InputError(
                "a strategy that does not determine the counts",
                why="its rows are answered, and every count is computed from them",
                fix="add the rows of identity_strategy(cells)",
            )

    @property
    def guarantee(self) -> GDP:
        """Gaussian."""
        return GDP.of_square(self.mu_squared, neighbours=self.neighbours)

    @property
    def variance(self) -> Fraction:
        """The variance of the noise on each row, in squared units of weight."""
        longest = max(int(one) for one in (self.strategy.astype(object) ** 2).sum(axis=0))
        exchanged = 1 if self.neighbours is Neighbours.ADD_REMOVE else 2
        return longest * exchanged * self.person_weight**2 / self.mu_squared

    def measure(self, counts: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """The noisy answers of the strategy."""
        exact = self.strategy.astype(object) @ np.asarray(counts).astype(object)
        return np.asarray(exact + noise.rounded_gaussian(self.variance, exact.shape))

    def estimate(self, measured: NDArray[Any]) -> Floats:
        """The counts, in rows, by least squares; they agree with each other."""
        seen = measured.astype(np.float64) / self.row_weight
        return np.asarray(self._inverse @ (self.strategy.T.astype(np.float64) @ seen))

    @cached_property
    def _inverse(self) -> Floats:
        rows = self.strategy.astype(np.float64)
        return np.asarray(np.linalg.inv(rows.T @ rows))

    def query_variance(self, workload: NDArray[Any]) -> Floats:
        """The variance of each query of a workload, a row of numbers each; in squared rows."""
        rows = np.atleast_2d(workload).astype(np.float64)
        spread = np.einsum("ij,jk,ik->i", rows, self._inverse, rows, optimize=True)
        return np.asarray(spread * float(self.variance) / self.row_weight**2)


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


@dataclass(frozen=True)
class RangeTree:
    """Counts of all intervals of a tree, each level with a variance of its own; for many cells.

    Guarantee:
        sqrt(mu_squared)-Gaussian differential privacy: a person is in one interval of each level,
        and the levels' shares of mu^2 add up.
    Neighbours:
        As for `MatrixMechanism`.
    Edge cases:
        The cells are filled up with empty ones to a power of `branching`.

    Reference: Hay, Rastogi, Miklau, Suciu 2010, Boosting the Accuracy of Differentially Private
    Histograms Through Consistency; Qardaji, Yang, Li 2013, Understanding Hierarchical Methods for
    Differentially Private Histograms (branching).
    """

    cells: int
    branching: int
    shares: tuple[Fraction, ...]  # of mu^2, from the leaves to the root
    person_weight: int = 1
    row_weight: int = 1
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    @staticmethod
    def of(
        cells: int,
        *,
        mu_squared: Real,
        branching: int = 4,
        ranges: Sequence[tuple[int, int]] | None = None,
        person_weight: int = 1,
        row_weight: int = 1,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> "RangeTree":
        """Share a mu^2 among levels by how many intervals of each the ranges use on average."""
        size, wide = whole(cells, "cells", at_least=1), whole(branching, "branching", at_least=2)
        levels = 1
        while wide ** (levels - 1) < size:
            levels += 1
        uses = np.full(levels, float(wide)) if ranges is None else _uses(ranges, wide, levels)
        uses = np.maximum(uses, 0.05)
        parts = [Fraction(round(one * 10**6)) for one in np.sqrt(uses)]
        budget = positive(mu_squared, "mu_squared")
        shares = tuple(budget * one / sum(parts) for one in parts)
        return RangeTree(size, wide, shares, person_weight, row_weight, Neighbours(neighbours))

    @property
    def mu_squared(self) -> Fraction:
        """What all levels give away together."""
        return sum(self.shares, Fraction(0))

    @property
    def guarantee(self) -> GDP:
        """Gaussian."""
        return GDP.of_square(self.mu_squared, neighbours=self.neighbours)

    def _variance(self, level: int) -> Fraction:
        """The variance of the noise on a level, in squared units of weight."""
        exchanged = 1 if self.neighbours is Neighbours.ADD_REMOVE else 2
        return exchanged * self.person_weight**2 / self.shares[level]

    def measure(self, counts: NDArray[np.integer[Any]]) -> list[NDArray[Any]]:
        """The noisy counts of all intervals, from the leaves to the root."""
        top = self.branching ** (len(self.shares) - 1)
        level = np.zeros(top, dtype=np.int64)
        level[: self.cells] = counts
        found = []
        for height in range(len(self.shares)):
            found.append(level + noise.rounded_gaussian(self._variance(height), level.shape))
            level = level.reshape(-1, self.branching).sum(axis=1) if level.size > 1 else level
        return found

    def estimate(self, measured: Sequence[NDArray[Any]]) -> Floats:
        """The counts, in rows, by least squares: one pass up the tree and one down."""
        seen = [one.astype(np.float64) / self.row_weight for one in measured]
        spread = [float(self._variance(level)) for level in range(len(seen))]
        best, variance = [seen[0]], [spread[0]]
        for level in range(1, len(seen)):
            below, noisy = best[-1].reshape(-1, self.branching).sum(axis=1), seen[level]
            summed = variance[-1] * self.branching
            share = summed / (summed + spread[level])
            best.append(below + share * (noisy - below))
            variance.append(summed * (1 - share))
        fixed = best[-1]
        for level in range(len(seen) - 2, -1, -1):
            children = best[level].reshape(-1, self.branching)
            missing = (fixed - children.sum(axis=1)) / self.branching
            fixed = (children + missing[:, None]).reshape(-1)
        return np.asarray(fixed[: self.cells])

    def range_variance(self, ranges: Sequence[tuple[int, int]]) -> float:
        """A bound on the mean variance of ranges, in squared rows: without least squares."""
        uses = _uses(ranges, self.branching, len(self.shares))
        variances = [float(self._variance(level)) for level in range(len(uses))]
        return float(np.dot(uses, variances)) / self.row_weight**2


def _uses(ranges: Sequence[tuple[int, int]], branching: int, levels: int) -> Floats:
    """How many intervals of each level a range is made of, on average; ends are exclusive."""
    ends = np.array(ranges, dtype=np.int64).reshape(-1, 2)
    low, high = ends[:, 0], ends[:, 1]
    uses = np.zeros(levels)
    for level in range(levels):
        up, down = -(-low // branching), high // branching
        inner = (up <= down) & (level < levels - 1)
        left, right = up * branching - low, high - down * branching
        uses[level] = np.where(inner, left + right, np.maximum(high - low, 0)).mean()
        low, high = np.where(inner, up, 0), np.where(inner, down, 0)
    return uses
