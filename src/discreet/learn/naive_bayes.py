"""Naive Bayes: one release of totals or counts by class."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.learn.binning import BinCounts, FeatureBins, category_bins, looked_up
from discreet.learn.classifiers import PrivateClassifier, softmax
from discreet.learn.linear_sums import class_moments
from discreet.learn.noisy_sums import NoisySums
from discreet.learn.rows import Floats


@dataclass(kw_only=True, eq=False, repr=False)
class GaussianNB(PrivateClassifier):
    """Gaussian naive Bayes.

    Guarantee:
        See `PrivateEstimator`: one release of counts, sums and sums of squares by class.
    Edge cases:
        Variances are at least what the noise lets them be known to.

    Reference: Vaidya, Shafiq, Basu, Hong, Differentially Private Naive Bayes Classification, 2013.
    """

    bounds: Any = None

    def _learn(self, sums: NoisySums) -> None:
        low, high = self.bounds_
        found = class_moments(sums, low, high, len(self.classes_), Fraction(1))
        half, counts = (high - low) / 2, np.maximum(found.counts, 1.0)
        self.class_prior_ = counts / counts.sum()
        self.theta_ = (low + high) / 2 + found.means * half
        # The noise of a mean widens what is believed of it.
        doubt = (found.sigma / found.sizes[:, None]) ** 2
        self.var_ = np.minimum(found.variances + doubt, 1.0) * half**2
        sampling = found.variances / found.sizes[:, None] + doubt * (1 + found.means**2)
        self.standard_errors_ = np.sqrt(sampling) * half  # of theta_

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803 - sklearn's
        """Probabilities of the classes."""
        away = (self._clamped(X)[:, None, :] - self.theta_) ** 2 / self.var_ + np.log(self.var_)
        return softmax(np.log(self.class_prior_) - 0.5 * away.sum(axis=2))


@dataclass(kw_only=True, eq=False, repr=False)
class CategoricalNB(PrivateClassifier):
    """Naive Bayes of categories 0, 1, ..., `n_categories` - 1, one number or one a feature.

    Guarantee:
        See `PrivateEstimator`: one release of counts by class and category.
    Edge cases:
        NaN is a category of its own; what lies outside counts as the nearest category.

    Reference: Vaidya, Shafiq, Basu, Hong, Differentially Private Naive Bayes Classification, 2013.
    """

    n_categories: Any = None
    alpha: Any = 1.0

    def _prepare(self, features: int) -> None:
        super()._prepare(features)
        category_bins(self.n_categories, features)

    def _learn(self, sums: NoisySums) -> None:
        bins, labels = category_bins(self.n_categories, self.n_features_in_), len(self.classes_)
        self.bin_edges_ = list(bins.edges)
        counts = sums.sums(BinCounts(bins, labels), Fraction(1)).reshape(labels, -1)
        sizes = np.maximum(counts[:, -1], 1.0)
        self.class_prior_ = sizes / sizes.sum()
        self.feature_log_prob_ = []
        for start, size in zip(bins.starts, bins.sizes, strict=True):
            own = np.maximum(counts[:, start : start + size], 0) + float(self.alpha)
            self.feature_log_prob_.append(np.log(own / own.sum(axis=1, keepdims=True)))

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803 - sklearn's
        """Probabilities of the classes."""
        x = self._fitted_features(X)
        places = FeatureBins(tuple(self.bin_edges_)).places(x)
        return softmax(np.log(self.class_prior_) + looked_up(self.feature_log_prob_, places))
