"""Transformers from noisy moments: principal components, and standardized features."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discreet.errors import InputError
from discreet.learn.base import PrivateEstimator
from discreet.learn.design import Scaling, centre, feature_moments
from discreet.learn.linear_sums import second_moments
from discreet.learn.noisy_sums import NoisySums
from discreet.learn.rows import Floats, exact_dot

_CENTRE = Fraction(1, 5)


@dataclass(kw_only=True, eq=False, repr=False)
class PCA(TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Principal components of features scaled by their bounds.

    Guarantee:
        See `PrivateEstimator`: two releases for centring, one of all second moments.
    Edge cases:
        Components are orthonormal whatever the noise; `explained_variance_` is at least 0.

    Reference: Dwork, Talwar, Thakurta, Zhang, Analyze Gauss, STOC 2014.
    """

    n_components: Any = field(default=2, kw_only=False)
    bounds: Any = None

    def _prepare(self, features: int) -> None:
        super()._prepare(features)
        if self.n_components > features:
            raise InputError(
                f"n_components is {self.n_components}",
                why=f"there are {features} features",
                fix="ask for fewer",
            )

    def _learn(self, sums: NoisySums) -> None:
        low, high = self.bounds_
        scaling, _, values, vectors = components(sums, low, high, _CENTRE, 1 - _CENTRE)
        self.components_ = vectors[: self.n_components]
        self.mean_, self.feature_scale_ = scaling.centre, scaling.scale
        self.explained_variance_ = values[: self.n_components]

    def transform(self, X: Any) -> Floats:  # noqa: N803 - sklearn's
        """Rows in the coordinates of the components."""
        check_is_fitted(self, "components_")
        x = self._read_features(X, reset=False)
        low, high = self.bounds_
        x = np.clip(np.where(np.isnan(x), self.mean_, x), low, high)
        return exact_dot((x - self.mean_) * self.feature_scale_, self.components_.T)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    @property
    def transformed_bounds_(self) -> list[tuple[float, float]]:
        """Bounds of what `transform` gives: public, for the next step of a pipeline."""
        check_is_fitted(self, "components_")
        most = np.abs(self.components_).sum(axis=1) * 2
        return [(-float(one), float(one)) for one in most]


def components(
    sums: NoisySums, low: Floats, high: Floats, centring: Fraction, share: Fraction
) -> tuple[Scaling, float, Floats, Floats]:
    """A scaling by bounds, the number of rows, and variances and components, largest first."""
    scaling, count = centre(sums, low, high, centring)
    matrix, _ = second_moments(sums, scaling, share, sums.rows)
    values, vectors = np.linalg.eigh(matrix / count)
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), range(len(vectors))])
    return scaling, count, np.maximum(values[::-1], 0), vectors.T[::-1]


@dataclass(kw_only=True, eq=False, repr=False)
class StandardScaler(OneToOneFeatureMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Features less their mean, over their deviation; both noisy.

    Guarantee:
        See `PrivateEstimator`: one release of counts, sums and sums of squares.
    """

    bounds: Any = None

    def _learn(self, sums: NoisySums) -> None:
        low, high = self.bounds_
        self.n_samples_seen_, self.mean_, self.var_ = feature_moments(sums, low, high, Fraction(1))
        self.scale_ = np.sqrt(self.var_)

    def transform(self, X: Any) -> Floats:  # noqa: N803 - sklearn's
        """Scaled features, cut at their bounds; NaN becomes 0, the mean."""
        check_is_fitted(self, "mean_")
        low, high = self.bounds_
        x = np.clip(self._read_features(X, reset=False), low, high)
        return np.asarray(np.where(np.isnan(x), 0.0, (x - self.mean_) / self.scale_))

    @property
    def transformed_bounds_(self) -> list[tuple[float, float]]:
        """Bounds of what `transform` gives: public, for the next step of a pipeline."""
        check_is_fitted(self, "mean_")
        low, high = self.bounds_
        ends = ((low - self.mean_) / self.scale_, (high - self.mean_) / self.scale_)
        return [(float(a), float(b)) for a, b in zip(*ends, strict=True)]
