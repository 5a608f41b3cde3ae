"""Naive Bayes: one release of totals or counts by class."""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discreet.errors import InputError
from discreet.learn.binning import BinCounts, FeatureBins, equal_bins
from discreet.learn.class_totals import class_moments
from discreet.learn.classifiers import PrivateClassifier, softmax
from discreet.learn.design import read_bounds
from discreet.learn.noisy_sums import NoisySums
from discreet.learn.rows import Floats
from discreet.rationals import whole


class BayesClassifier(PrivateClassifier):
    """Classes by the largest joint log likelihood."""

    @abstractmethod
    def _joint(self, x: Floats) -> Floats:
        """Log likelihoods of rows and classes."""

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803 - sklearn's
        """Probabilities of the classes."""
        return softmax(self._joint(self._clamped(X)))


@dataclass(kw_only=True, eq=False, repr=False)
class GaussianNB(BayesClassifier):
    """Gaussian naive Bayes.

    Guarantee:
        See `PrivateEstimator`: one release of counts, sums and sums of squares by class.
    Edge cases:
        Variances are at least what the noise lets them be known to.

    Reference: Vaidya, Shafiq, Basu, Hong, Differentially Private Naive Bayes Classification, 2013.
    """

    bounds: Any = None

    def _learn(self, sums: NoisySums) -> None:
        low, high = read_bounds(self.bounds, self.n_features_in_)
        found = class_moments(sums, low, high, len(self.classes_), Fraction(1))
        half, counts = (high - low) / 2, np.maximum(found.counts, 1.0)
        self.class_prior_ = counts / counts.sum()
        self.theta_ = (low + high) / 2 + found.means * half
        # The noise of a mean widens what is believed of it.
        doubt = (found.sigma / found.sizes[:, None]) ** 2
        self.var_ = np.minimum(found.variances + doubt, 1.0) * half**2
        sampling = found.variances / found.sizes[:, None] + doubt * (1 + found.means**2)
        self.standard_errors_ = np.sqrt(sampling) * half  # of theta_

    def _joint(self, x: Floats) -> Floats:
        away = (x[:, None, :] - self.theta_) ** 2 / self.var_ + np.log(self.var_)
        return np.asarray(np.log(self.class_prior_) - 0.5 * away.sum(axis=2))


@dataclass(kw_only=True, eq=False, repr=False)
class CategoricalNB(BayesClassifier):
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
        self._bins(features)

    def _bins(self, features: int) -> FeatureBins:
        if self.n_categories is None:
            raise InputError(
                "n_categories are missing",
                why="categories that come from the data would give away who has a rare one",
                fix="pass n_categories=4, or one number a feature",
            )
        given = np.ravel(self.n_categories).tolist()
        sizes = given * features if len(given) == 1 else given
        if len(sizes) != features:
            raise InputError(
                "n_categories are neither one nor one a feature",
                why=f"there are {features} features",
                fix="pass one number, or as many as features",
            )
        tops = np.array([whole(one, "n_categories", at_least=2) for one in sizes]) - 0.5
        return equal_bins(np.full(features, -0.5), tops, [int(top + 0.5) for top in tops])

    def _learn(self, sums: NoisySums) -> None:
        bins, labels = self._bins(self.n_features_in_), len(self.classes_)
        counts = sums.sums(BinCounts(bins, labels), Fraction(1)).reshape(labels, -1)
        sizes = np.maximum(counts[:, -1], 1.0)
        self.class_prior_ = sizes / sizes.sum()
        self.feature_log_prob_ = []
        for start, size in zip(bins.starts, bins.sizes, strict=True):
            own = np.maximum(counts[:, start : start + size], 0) + float(self.alpha)
            self.feature_log_prob_.append(np.log(own / own.sum(axis=1, keepdims=True)))

    def _clamped(self, x: Any) -> Floats:
        check_is_fitted(self, "guarantee_")
        return self._read_features(x, reset=False)

    def _joint(self, x: Floats) -> Floats:
        bins = self._bins(self.n_features_in_)
        codes = bins.codes(x) - bins.starts
        answer: Floats = np.log(self.class_prior_) + sum(
            table[:, codes[:, j]].T for j, table in enumerate(self.feature_log_prob_)
        )
        return answer
