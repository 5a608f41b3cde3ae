"""Private bins of features, and counts of rows in them."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from discreet.errors import InputError
from discreet.learn.base import CELLS, PrivateEstimator
from discreet.learn.design import missing
from discreet.learn.noisy_sums import NoisySums, RowStatistic
from discreet.learn.rows import Chunk, Floats, PersonRows, small
from discreet.rationals import whole

_FEW = 16
"""Bins up to which a value is compared with edges; equal bins beyond are found by arithmetic."""


@dataclass(frozen=True)
class FeatureBins:
    """The inner edges of each feature's bins; one more bin at the end is for NaN.

    Codes come from comparisons alone, so they are a row's own. `ends` are those of all bins of a
    feature together, where they are equally wide.
    """

    edges: tuple[Floats, ...]
    ends: tuple[tuple[float, float], ...] = ()

    @property
    def sizes(self) -> list[int]:
        """Bins of each feature."""
        return [len(one) + 2 for one in self.edges]

    def split(self, flat: Floats) -> list[Floats]:
        """The parts of a flat list, one a feature."""
        return np.split(flat, np.cumsum(self.sizes)[:-1])

    def even(self, feature: int) -> tuple[float, float] | None:
        """Where the bins of a feature begin and how wide each is, where arithmetic finds them.

        None where edges are few or not exactly equidistant, so near each other for their size
        that a quotient could be more than one bin off, or where a quotient could overflow.
        """
        edges = self.edges[feature]
        many = len(edges) + 1
        if not self.ends or many <= _FEW:
            return None
        low, high = self.ends[feature]
        step = (high - low) / many
        fine = 2.0**-900 < step < 2.0**900 and step >= max(abs(low), abs(high)) * 2.0**-40
        found = fine and np.array_equal(edges, np.arange(1, many) * step + low)
        return (low, step) if found else None

    def places(self, x: NDArray[Any]) -> NDArray[Any]:
        """The bin of each value among those of its feature."""
        found = np.empty(x.shape, dtype=np.uint16, order="F")
        for j in range(x.shape[1]):
            found[:, j] = self._place(np.ascontiguousarray(x[:, j]), j)
        return found

    def _place(self, x: Floats, feature: int) -> NDArray[Any]:
        edges, even, none = self.edges[feature], self.even(feature), np.isnan(x)
        if even is None:
            place = np.searchsorted(edges, x, side="right")
        else:  # a quotient, which rounding may have put one bin off
            first, last = (np.concatenate(pair) for pair in (([-np.inf], edges), (edges, [np.nan])))
            with np.errstate(over="ignore", invalid="ignore"):
                scaled = x - even[0]
                scaled *= 1 / even[1]
                place = np.clip(scaled, 0.0, float(len(edges)), out=scaled).astype(np.int32)
            place[none] = 0
            place = place - (x < first.take(place)) + (x >= last.take(place))
        place[none] = len(edges) + 1
        return place


class PlacedBins(FeatureBins):
    """Bins of rows that are given by their places in them."""

    def places(self, x: NDArray[Any]) -> NDArray[Any]:
        """What they are."""
        return x


def equal_bins(low: Floats, high: Floats, counts: list[int]) -> FeatureBins:
    """Bins of equal width, so many a feature."""
    ends = tuple((float(a), float(b)) for a, b in zip(low, high, strict=True))
    edges = (np.linspace(a, b, n + 1)[1:-1] for (a, b), n in zip(ends, counts, strict=True))
    return FeatureBins(tuple(edges), ends)


def category_bins(n_categories: Any, features: int) -> FeatureBins:
    """A bin for each of the categories 0, 1, ...: one number of them for all features, or each."""
    if n_categories is None:
        example = "4, one number or one a feature"
        raise missing("n_categories", "whoever has a rare one", example, "private_classes")
    given = np.ravel(n_categories).tolist()
    sizes = given * features if len(given) == 1 else given
    if len(sizes) != features:
        why, fix = f"there are {features} features", "pass one number, or as many as features"
        raise InputError("n_categories are neither one nor one a feature", why=why, fix=fix)
    tops = np.array([whole(one, "n_categories", at_least=2) for one in sizes]) - 0.5
    return equal_bins(np.full(features, -0.5), tops, [int(top + 0.5) for top in tops])


def looked_up(tables: list[Floats], places: NDArray[Any]) -> Floats:
    """For each row the sum over features of the column of a table at the row's place."""
    return np.asarray(sum(table[:, places[:, j]].T for j, table in enumerate(tables)))


@dataclass(frozen=True)
class Tree:
    """A complete binary tree: node i asks whether a feature's bin is at least a threshold.

    Children of i are 2 i + 1 and 2 i + 2. A threshold of 0 sends everybody right. Without nodes it
    is one leaf.
    """

    feature: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    threshold: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def depth(self) -> int:
        """Questions on a path."""
        return (len(self.feature) + 1).bit_length() - 1

    def leaves(self, places: NDArray[Any]) -> NDArray[np.int64]:
        """The leaf of each row, counted from the left."""
        node = np.zeros(len(places), dtype=np.int64)
        for _ in range(self.depth):
            asked = places[np.arange(len(places)), self.feature[node]]
            node = 2 * node + 1 + (asked >= self.threshold[node])
        return node - len(self.feature)


@dataclass(frozen=True)
class BinCounts(RowStatistic):
    """How many rows of each label are in each bin of each feature, in each leaf of each tree.

    Without `by_bin`, how many are in each leaf. Numbers are by tree, feature, leaf, bin and label.

    Guarantee:
        A row is in one leaf of a tree, there in one bin of each feature.
    """

    bins: FeatureBins
    labels: int = 1
    trees: tuple[Tree, ...] = (Tree(),)
    by_bin: bool = True

    @property
    def sizes(self) -> list[int]:
        """Bins of each feature whose bins are counted."""
        return self.bins.sizes if self.by_bin else [1]

    @property
    def cells(self) -> int:
        """Numbers of a bin: leaves of a tree, times labels."""
        return self.labels << self.trees[0].depth

    @property
    def extent(self) -> tuple[int, int]:
        """One number for each tree, bin, leaf and label; one for each tree and feature."""
        trees = len(self.trees)
        return trees * sum(self.sizes) * self.cells, trees * len(self.sizes)

    def sums(self, chunk: Chunk) -> Any:
        """Counts of rows with a known label."""
        label, weight = chunk.labelled(self.labels)
        places = self.bins.places(chunk.x)
        answer = []
        for tree in self.trees:
            leaf = tree.leaves(places)
            for j, size in enumerate(self.sizes):
                here = leaf * size + (places[:, j] if self.by_bin else 0)
                cell = (here * self.labels + label).astype(np.int64, copy=False)
                answer.append(np.bincount(cell, weight, size * self.cells))
        return np.concatenate(answer)


def fine_cells(low: Floats, high: Floats, categorical: frozenset[int] = frozenset()) -> FeatureBins:
    """Equal cells of features, which are counted before they are joined; listed: one a value."""
    listed = np.isin(np.arange(len(low)), list(categorical))
    fine = np.where(listed, high - low + 1, CELLS).astype(np.int64)
    return equal_bins(low - listed / 2, high + listed / 2, fine.tolist())


def private_bins(
    sums: NoisySums,
    cells: FeatureBins,
    n_bins: int,
    share: Fraction,
    categorical: frozenset[int] = frozenset(),
    rows: PersonRows | None = None,
) -> tuple[FeatureBins, Floats]:
    """Bins with about as many rows each, and their noisy counts; listed features keep every value.

    Why: equal cells are counted with noise, and neighbouring cells joined until each bin has its
    part of the rows; that looks at noisy counts alone.
    """
    counts = cells.split(sums.sums(BinCounts(cells), share, rows))
    edges = (
        inner if j in categorical else _joined(inner, counts[j][:-1], n_bins)
        for j, inner in enumerate(cells.edges)
    )
    bins = FeatureBins(tuple(edges))
    joined = map(np.bincount, bins_of_cells(bins, cells), counts, bins.sizes)
    return bins, np.concatenate(list(joined))


def bins_of_cells(bins: FeatureBins, cells: FeatureBins) -> list[NDArray[Any]]:
    """For each feature the bin of each of its cells, and of NaN, in the smallest type."""
    firsts = [np.concatenate([[-np.inf], inner]) for inner in cells.edges]
    return [
        small(np.append(np.searchsorted(edges, first, side="right"), len(edges) + 1))
        for edges, first in zip(bins.edges, firsts, strict=True)
    ]


def _joined(inner: Floats, counts: Floats, n_bins: int) -> Floats:
    """Edges between cells: heavy cells alone, all others joined to about equal shares.

    A heavy cell holds more than its part of all rows (nobody at 0, say); without this, rows beside
    it would share one bin.
    """
    total = float(counts.sum())
    if total <= 0:
        return inner[:: max(1, len(inner) // n_bins)]
    heavy = counts > total / n_bins
    rest = np.maximum.accumulate(np.cumsum(np.where(heavy, 0.0, counts)))
    part = max(float(rest[-1]), 0.0) / max(1, n_bins - int(heavy.sum())) + 1e-9
    shares = np.floor(np.maximum(rest, 0.0) / part)
    cut = (shares[1:] > shares[:-1]) | heavy[1:] | heavy[:-1]
    return np.asarray(inner[cut])


@dataclass(kw_only=True, eq=False, repr=False)
class Binner(OneToOneFeatureMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Features as numbers of bins that hold about as many rows each (Lei 2011)."""

    n_bins: Any = field(default=16, kw_only=False)
    bounds: Any = None

    def _learn(self, sums: NoisySums) -> None:
        bins, counts = private_bins(sums, fine_cells(*self.bounds_), self.n_bins, Fraction(1))
        self.bin_edges_ = list(bins.edges)
        self.bin_counts_ = bins.split(counts)
        self.transformed_bounds_ = [(0.0, size - 1.0) for size in bins.sizes]

    def transform(self, X: Any) -> Floats:
        """The number of the bin of each value; NaN has the last."""
        x = self._fitted_features(X)
        return FeatureBins(tuple(self.bin_edges_)).places(x).astype(np.float64)
