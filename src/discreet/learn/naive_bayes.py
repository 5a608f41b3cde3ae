"""Naive Bayes: one release of totals or counts by class."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.learn.binning import BinCounts, FeatureBins, category_bins, looked_up
from discreet.learn.classifiers import PrivateClassifier
from discreet.learn.design import moments
from discreet.learn.noisy_sums import NoisySums
from discreet.learn.rows import Floats


@dataclass(kw_only=True, eq=False, repr=False)
class GaussianNB(PrivateClassifier):
    """Gaussian naive Bayes.

    Edge cases:
        Variances are at least what the noise lets them be known to.
    Reference: Vaidya, Shafiq, Basu, Hong, Differentially Private Naive Bayes Classification, 2013.
    """

    bounds: Any = None

    def _learn(self, sums: NoisySums) -> None:
        low, high = self.bounds_
        found = moments(sums, low, high, Fraction(1), len(self.classes_))
        half, counts = (high - low) / 2, np.maximum(found.counts, 1.0)
        self.class_prior_ = counts / counts.sum()
        self.theta_ = (low + high) / 2 + found.means * half
        # The noise of a mean widens what is believed of it.
        doubt = (found.sigma / found.sizes[:, None]) ** 2
        self.var_ = np.minimum(found.variances + doubt, 1.0) * half**2
        sampling = found.variances / found.sizes[:, None] + doubt * (1 + found.means**2)
        self.standard_errors_ = np.sqrt(sampling) * half  # of theta_

    def _scores(self, x: Any) -> Floats:
        away = (self._clamped(x)[:, None, :] - self.theta_) ** 2 / self.var_ + np.log(self.var_)
        return np.asarray(np.log(self.class_prior_) - 0.5 * away.sum(axis=2))


@dataclass(kw_only=True, eq=False, repr=False)
class CategoricalNB(PrivateClassifier):
    """Naive Bayes of categories 0, 1, ..., `n_categories` - 1, one number or one a feature.

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
        counts = sums.sums(BinCounts(bins, labels), Fraction(1)).reshape(-1, labels)
        sizes = np.maximum(counts.sum(axis=0) / len(bins.sizes), 1.0)
        self.class_prior_ = sizes / sizes.sum()
        self.feature_log_prob_ = []
        for own in bins.split(np.maximum(counts, 0) + float(self.alpha)):
            self.feature_log_prob_.append(np.log(own / own.sum(axis=0)).T)

    def _scores(self, x: Any) -> Floats:
        places = FeatureBins(tuple(self.bin_edges_)).places(self._fitted_features(x))
        return np.asarray(np.log(self.class_prior_) + looked_up(self.feature_log_prob_, places))
