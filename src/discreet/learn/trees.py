"""Decision trees from noisy counts: ID3 level by level, and forests of random splits."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import xlogy

from discreet.learn.binning import BinCounts, FeatureBins, Tree, equal_bins
from discreet.learn.classifiers import PrivateClassifier
from discreet.learn.noisy_sums import NoisySums
from discreet.learn.rows import Floats


@dataclass(kw_only=True, eq=False, repr=False)
class TreeClassifier(PrivateClassifier):
    """Votes of noisy leaves."""

    bounds: Any = None

    def _own_bins(self) -> FeatureBins:
        return equal_bins(*self.bounds_, [self.n_bins] * self.n_features_in_)

    def _count(
        self, sums: NoisySums, bins: FeatureBins, trees: tuple[Tree, ...], share: Fraction
    ) -> None:
        """Shares of labels in each leaf, drawn towards equal ones by as much as noise is."""
        statistic = BinCounts(bins, len(self.classes_), trees, by_bin=False)
        counts = sums.sums(statistic, share).reshape(len(trees), -1, statistic.labels)
        votes = np.maximum(counts, 0) + max(sums.sigma(statistic, share), 1.0)
        self.trees_ = trees
        self.leaf_shares_ = votes / votes.sum(axis=2, keepdims=True)

    def _scores(self, x: Any) -> Floats:
        """Logarithms of the shares of labels in a row's leaves, averaged over all trees."""
        places = self._own_bins().places(self._clamped(x))
        told = map(lambda tree, shares: shares[tree.leaves(places)], self.trees_, self.leaf_shares_)
        return np.asarray(np.log(np.mean(list(told), axis=0)))


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionTree(TreeClassifier):
    """ID3: at each level noisy counts by leaf, feature, bin and label choose the best splits.

    Edge cases:
        A leaf where noise drowns the counts gets a split all the same; its rows vote by noise.
    Reference: Blum, Dwork, McSherry, Nissim, Practical Privacy: the SuLQ Framework, 2005 (ID3).
    """

    max_depth: Any = 3
    n_bins: Any = 8

    def _learn(self, sums: NoisySums) -> None:
        bins, labels, features = self._own_bins(), len(self.classes_), self.n_features_in_
        tree, share = Tree(), Fraction(1, self.max_depth + 1)
        for _ in range(self.max_depth):
            counts = sums.sums(BinCounts(bins, labels, (tree,)), share)
            leaves = counts.reshape(features, 2**tree.depth, -1, labels).swapaxes(0, 1)
            chosen = np.array([_best_split(one) for one in leaves], dtype=np.int64)
            tree = Tree(*np.concatenate([[tree.feature, tree.threshold], chosen.T], axis=1))
        self._count(sums, bins, (tree,), share)


@dataclass(kw_only=True, eq=False, repr=False)
class RandomForest(TreeClassifier):
    """Trees with random splits; leaves vote with noisy counts (Jagannathan et al. 2009)."""

    n_estimators: Any = 20
    max_depth: Any = 4
    n_bins: Any = 8

    def _learn(self, sums: NoisySums) -> None:
        shape = self.n_estimators, 2**self.max_depth - 1
        features = sums.coins(self.n_features_in_, shape)
        thresholds = 1 + sums.coins(self.n_bins - 1, shape)
        self._count(sums, self._own_bins(), tuple(map(Tree, features, thresholds)), Fraction(1))


def _best_split(counts: Floats) -> tuple[int, int]:
    """The feature and threshold after which labels are purest, by noisy counts of their bins."""
    each = np.maximum(counts, 0)
    left = each.cumsum(axis=1)[:, :-1]
    scores = _purity(left) + _purity(each.sum(axis=1, keepdims=True) - left)
    feature, place = np.unravel_index(scores.argmax(), scores.shape)
    return int(feature), int(place) + 1


def _purity(counts: Floats) -> Floats:
    """Minus the entropy of labels, times how many there are."""
    total = counts.sum(axis=-1)
    return np.asarray(xlogy(counts, counts).sum(axis=-1) - xlogy(total, total))
