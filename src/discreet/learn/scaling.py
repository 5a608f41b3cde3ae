"""Standardizing features by noisy means and deviations."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discreet.learn.base import PrivateEstimator
from discreet.learn.design import feature_moments, read_bounds
from discreet.learn.noisy_sums import NoisySums
from discreet.learn.rows import Floats


@dataclass(kw_only=True, eq=False, repr=False)
class StandardScaler(OneToOneFeatureMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Features less their mean, over their deviation; both noisy.

    Guarantee:
        See `PrivateEstimator`: one release of counts, sums and sums of squares.
    """

    bounds: Any = None

    def _prepare(self, features: int) -> None:
        read_bounds(self.bounds, features)

    def _learn(self, sums: NoisySums) -> None:
        low, high = read_bounds(self.bounds, self.n_features_in_)
        self.n_samples_seen_, self.mean_, self.var_ = feature_moments(sums, low, high, Fraction(1))
        self.scale_ = np.sqrt(self.var_)

    def transform(self, X: Any) -> Floats:  # noqa: N803 - sklearn's
        """Scaled features, cut at their bounds; NaN becomes 0, the mean."""
        check_is_fitted(self, "mean_")
        low, high = read_bounds(self.bounds, self.n_features_in_)
        x = np.clip(self._read_features(X, reset=False), low, high)
        return np.asarray(np.where(np.isnan(x), 0.0, (x - self.mean_) / self.scale_))

    @property
    def transformed_bounds_(self) -> list[tuple[float, float]]:
        """Bounds of what `transform` gives: public, for the next step of a pipeline."""
        check_is_fitted(self, "mean_")
        low, high = read_bounds(self.bounds, self.n_features_in_)
        ends = ((low - self.mean_) / self.scale_, (high - self.mean_) / self.scale_)
        return [(float(a), float(b)) for a, b in zip(*ends, strict=True)]
