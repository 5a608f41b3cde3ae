"""Decision trees from noisy counts: ID3 level by level, and forests of random splits."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from discreet.learn.binning import FeatureBins, equal_bins, placed
from discreet.learn.classifiers import PrivateClassifier
from discreet.learn.noisy_sums import NoisySums, RowStatistic
from discreet.learn.rows import Chunk, Floats


@dataclass(frozen=True)
class Tree:
    """A complete binary tree: node i asks whether a feature's bin is at least a threshold.

    Children of i are 2 i + 1 and 2 i + 2. A threshold of 0 sends everybody right.
    """

    feature: NDArray[np.int64]
    threshold: NDArray[np.int64]

    @property
    def depth(self) -> int:
        """Questions on a path."""
        return (len(self.feature) + 1).bit_length() - 1

    def leaves(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The leaf of each row, counted from the left."""
        node = np.zeros(len(codes), dtype=np.int64)
        for _ in range(self.depth):
            asked = codes[np.arange(len(codes)), self.feature[node]]
            node = 2 * node + 1 + (asked >= self.threshold[node])
        return node - len(self.feature)


@dataclass(frozen=True)
class LeafCounts(RowStatistic):
    """How many rows of each label are in each leaf of each tree; with `bins`, in each bin there.

    Guarantee:
        A row is in one leaf of a tree, there in one bin of each feature.
    """

    trees: tuple[Tree, ...]
    labels: int
    codes: FeatureBins
    by_bin: bool = False

    @property
    def _inner(self) -> int:
        return sum(self.codes.sizes) if self.by_bin else 1

    @property
    def extent(self) -> tuple[int, int]:
        """Trees, leaves, bins, labels; one for each tree and feature."""
        leaves = 1 << self.trees[0].depth
        asked = len(self.codes.edges) if self.by_bin else 1
        return len(self.trees) * leaves * self._inner * self.labels, len(self.trees) * asked

    def sums(self, chunk: Chunk) -> Any:
        """Counts of rows that are given as places in bins."""
        places = chunk.x.astype(np.int64)
        known = np.isfinite(chunk.y)
        label = np.where(known, chunk.y, 0).astype(np.int64)
        weight, answer = chunk.weight * known, []
        for tree in self.trees:
            leaf = tree.leaves(places)[:, None]
            inner = leaf * self._inner + (places + self.codes.starts if self.by_bin else 0)
            cells = inner * self.labels + label[:, None]
            each = np.repeat(weight, cells.shape[1])
            size = self.width // len(self.trees)
            answer.append(np.bincount(cells.ravel(), each, minlength=size))
        return np.concatenate(answer)


@dataclass(kw_only=True, eq=False, repr=False)
class TreeClassifier(PrivateClassifier):
    """Votes of noisy leaves."""

    bounds: Any = None

    def _own_bins(self) -> FeatureBins:
        return equal_bins(*self.bounds_, [self.n_bins] * self.n_features_in_)

    def _keep(self, trees: tuple[Tree, ...], counts: Floats, noise: float) -> None:
        """Shares of labels in each leaf, drawn towards equal ones by as much as noise is."""
        labels = len(self.classes_)
        votes = np.maximum(counts.reshape(len(trees), -1, labels), 0) + max(noise, 1.0)
        self.trees_ = trees
        self.leaf_shares_ = votes / votes.sum(axis=2, keepdims=True)

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803 - sklearn's
        """The shares of labels in a row's leaves, averaged over all trees."""
        x = self._clamped(X)
        codes = self._own_bins().places(x)
        pairs = zip(self.trees_, self.leaf_shares_, strict=True)
        return np.asarray(np.mean([shares[tree.leaves(codes)] for tree, shares in pairs], axis=0))


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionTree(TreeClassifier):
    """ID3: at each level noisy counts by leaf, feature, bin and label choose the best splits.

    Guarantee:
        See `PrivateEstimator`: one release a level, and one for the leaves.
    Edge cases:
        A leaf where noise drowns the counts gets a split all the same; its rows vote by noise.

    Reference: Blum, Dwork, McSherry, Nissim, Practical Privacy: the SuLQ Framework, 2005 (ID3).
    """

    max_depth: Any = 3
    n_bins: Any = 8

    def _learn(self, sums: NoisySums) -> None:
        bins, labels = self._own_bins(), len(self.classes_)
        rows, none = placed(sums.rows, bins), np.zeros(0, dtype=np.int64)
        tree, share = Tree(none, none), Fraction(1, self.max_depth + 1)
        for _ in range(self.max_depth):
            statistic = LeafCounts((tree,), labels, bins, by_bin=True)
            counts = sums.sums(statistic, share, rows).reshape(2**tree.depth, -1, labels)
            chosen = np.array([_best_split(one, len(bins.edges)) for one in counts], dtype=np.int64)
            tree = Tree(
                np.concatenate([tree.feature, chosen[:, 0]]),
                np.concatenate([tree.threshold, chosen[:, 1]]),
            )
        statistic = LeafCounts((tree,), labels, bins)
        found = sums.sums(statistic, share, rows)
        self._keep((tree,), found, sums.sigma(statistic, share))


@dataclass(kw_only=True, eq=False, repr=False)
class RandomForest(TreeClassifier):
    """Trees whose splits are drawn without looking at data; leaves vote with noisy counts.

    Guarantee:
        See `PrivateEstimator`: one release of all leaves of all trees.

    Reference: Jagannathan, Pillaipakkamnatt, Wright, A Practical Differentially Private Random
    Decision Tree Classifier, 2009.
    """

    n_estimators: Any = 20
    max_depth: Any = 4
    n_bins: Any = 8

    def _learn(self, sums: NoisySums) -> None:
        bins, inner = self._own_bins(), 2**self.max_depth - 1
        features = sums.coins(self.n_features_in_, self.n_estimators * inner)
        thresholds = 1 + sums.coins(self.n_bins - 1, self.n_estimators * inner)
        trees = tuple(
            Tree(features[at : at + inner], thresholds[at : at + inner])
            for at in range(0, len(features), inner)
        )
        statistic = LeafCounts(trees, len(self.classes_), bins)
        found = sums.sums(statistic, Fraction(1), placed(sums.rows, bins))
        self._keep(trees, found, sums.sigma(statistic, Fraction(1)))


def _best_split(counts: Floats, features: int) -> tuple[int, int]:
    """The feature and threshold after which labels are purest, by noisy counts."""
    each = np.maximum(counts, 0).reshape(features, -1, counts.shape[-1])
    left = each.cumsum(axis=1)[:, :-1]
    scores = _purity(left) + _purity(each.sum(axis=1, keepdims=True) - left)
    feature, place = np.unravel_index(scores.argmax(), scores.shape)
    return int(feature), int(place) + 1


def _purity(counts: Floats) -> Floats:
    """Minus the entropy of labels, times how many there are."""
    total = counts.sum(axis=-1)
    return np.asarray(xlogy(counts, counts).sum(axis=-1) - xlogy(total, total))
