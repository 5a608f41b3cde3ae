"""Estimators without labels: principal components, standardized features, and k-means.

K-means puts rows in noisy principal components and takes Lloyd's steps with noisy counts and sums.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin as NamedOutputs
from sklearn.base import ClusterMixin, OneToOneFeatureMixin, TransformerMixin

from discreet.errors import InputError
from discreet.learn.base import PrivateEstimator
from discreet.learn.design import GRID, Scaling, centre, feature_moments
from discreet.learn.linear_sums import second_moments
from discreet.learn.noisy_sums import NoisySums, RowStatistic
from discreet.learn.rows import Chunk, Floats, exact_dot, exact_product

_CENTRE = Fraction(1, 5)  # the share of the budget of principal components for centres

_CLUSTER_CENTRE, _AXES = Fraction(3, 20), Fraction(7, 20)
_TRIES = 64  # random points from which far-apart starts are chosen


@dataclass(kw_only=True, eq=False, repr=False)
class PCA(NamedOutputs, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Principal components of features scaled by their bounds.

    Guarantee:
        See `PrivateEstimator`: three releases for centring, one of all second moments.
    Edge cases:
        Components are orthonormal whatever the noise; `explained_variance_` is at least 0.
    Reference: Dwork, Talwar, Thakurta, Zhang, Analyze Gauss, STOC 2014.
    """

    n_components: Any = field(default=2, kw_only=False)
    bounds: Any = None

    def _prepare(self, features: int) -> None:
        super()._prepare(features)
        if self.n_components > features:
            why = f"there are {features} features"
            raise InputError(f"n_components is {self.n_components}", why=why, fix="ask for fewer")

    def _learn(self, sums: NoisySums) -> None:
        scaling, _, values, vectors = components(sums, *self.bounds_, _CENTRE, 1 - _CENTRE)
        self.components_ = vectors[: self.n_components]
        self.mean_, self.feature_scale_ = scaling.centre, scaling.scale
        self.explained_variance_ = values[: self.n_components]
        self._n_features_out = self.n_components
        most = np.abs(self.components_).sum(axis=1) * 2
        self.transformed_bounds_ = [(-float(one), float(one)) for one in most]

    def transform(self, X: Any) -> Floats:
        """Rows in the coordinates of the components."""
        away = self._clamped(X) - self.mean_
        return exact_dot(away * self.feature_scale_, self.components_.T)


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
    """Features less their mean, over their deviation; both noisy."""

    bounds: Any = None

    def _learn(self, sums: NoisySums) -> None:
        found = feature_moments(sums, *self.bounds_, Fraction(1))
        self.n_samples_seen_, self.mean_, self.var_ = found
        self.scale_ = np.sqrt(self.var_)
        ends = ((end - self.mean_) / self.scale_ for end in self.bounds_)
        self.transformed_bounds_ = [(float(a), float(b)) for a, b in zip(*ends, strict=True)]

    def transform(self, X: Any) -> Floats:
        """Scaled features, cut at their bounds; NaN becomes 0, the mean."""
        return (self._clamped(X) - self.mean_) / self.scale_


@dataclass(frozen=True)
class ClusterTotals(RowStatistic):
    """Count and sum of each cluster's rows: integers of norm at most `radius`.

    Rows belong to the centre that is nearest along `axes`; distances are whole numbers.

    Guarantee:
        A row is in one cluster, where it adds `counted` to the count and itself to the sum.
    """

    centres: Floats
    axes: Floats
    radius: int
    counted: int

    @property
    def extent(self) -> tuple[int, int]:
        """A count and a sum for each centre; its count and its norm."""
        return len(self.centres) * (1 + self.axes.shape[1]), self.counted**2 + self.radius**2

    def sums(self, chunk: Chunk) -> Any:
        """Rows by nearest centre."""
        c = np.rint(self.centres)
        along = np.trunc(chunk.x @ np.rint(self.axes.T * GRID) / GRID)
        nearest = ((c * c).sum(axis=1) - 2 * (along @ c.T)).argmin(axis=1)
        rows = np.column_stack([np.full(len(along), float(self.counted)), chunk.x])
        return exact_product(np.eye(len(c))[nearest], rows, chunk.weight, self.radius)


@dataclass(kw_only=True, eq=False, repr=False)
class KMeans(NamedOutputs, ClusterMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """K-means of features scaled by their bounds.

    Guarantee:
        See `PrivateEstimator`: four releases for centre and axes, one for each Lloyd step. Labels
        of the rows that were learned from are not kept: `predict` tells them.
    Edge cases:
        A cluster whose noisy count is small is started again at a random point.
    Reference: Su, Cao, Li, Bertino, Jin, Differentially Private K-Means Clustering, 2016.
    """

    n_clusters: Any = field(default=8, kw_only=False)
    bounds: Any = None
    max_iter: Any = 5

    def _learn(self, sums: NoisySums) -> None:
        low, high = self.bounds_
        scaling, count, values, vectors = components(sums, low, high, _CLUSTER_CENTRE, _AXES)
        kept = min(len(values), max(1, self.n_clusters - 1))
        axes = vectors[:kept]
        spread = np.sqrt(values[:kept] + 1e-6) * GRID
        centres, shift = self._lloyd(sums, scaling, count, spread, axes)
        lifted = (centres @ axes + shift) / GRID / scaling.scale + scaling.centre
        self.cluster_centers_, self.n_iter_ = np.clip(lifted, low, high), self.max_iter
        self._n_features_out = self.n_clusters

    def _lloyd(
        self, sums: NoisySums, scaling: Scaling, count: float, spread: Floats, axes: Floats
    ) -> tuple[Floats, Floats]:
        """Centres along the axes, and how far the rows' mean is from the noisy one."""
        k, share = self.n_clusters, (1 - _CLUSTER_CENTRE - _AXES) / self.max_iter
        rows, radius = scaling.apply(sums.rows), scaling.radius
        centres = starts(sums, k, spread, radius)
        counted, means = max(1, radius // 2), []
        for _ in range(self.max_iter):
            statistic = ClusterTotals(centres, axes, radius, counted)
            totals = sums.sums(statistic, share, rows).reshape(k, -1)
            noise = sums.sigma(statistic, share) / counted
            people, all_rows = totals[:, 0] / counted, totals[:, 1:]
            means.append(all_rows.sum(axis=0) / max(count, 1.0))
            moved = all_rows @ axes.T / np.maximum(people, max(2 * noise, 1.0))[:, None]
            lengths = np.linalg.norm(moved, axis=1, keepdims=True)
            moved *= np.minimum(1, radius / np.maximum(lengths, 1.0))
            small = people < min(2 * noise, count / (4 * k))
            fresh = starts(sums, k, spread, radius)
            centres = np.where(small[:, None], (centres + fresh) / 2, moved)
        mean = np.mean(means, axis=0)
        return centres, mean - mean @ axes.T @ axes

    def predict(self, X: Any) -> Any:
        """The nearest centre."""
        return self.transform(X).argmin(axis=1)

    def fit_predict(self, X: Any, y: Any = None, *, groups: Any = None) -> Any:
        """Fit, then tell the rows' clusters to whoever holds the rows."""
        return self.fit(X, y, groups=groups).predict(X)

    def transform(self, X: Any) -> Floats:
        """Distances to the centres, of features scaled by their bounds."""
        away = self._clamped(X)[:, None, :] - self.cluster_centers_
        low, high = self.bounds_
        away *= 2 / (high - low)
        return np.asarray(np.sqrt((away**2).sum(axis=2)))


def starts(sums: NoisySums, k: int, spread: Floats, radius: int) -> Floats:
    """Points that look like the noisy spread of the rows, chosen far apart; no data is read."""
    bits = sums.coins(1 << 16, (12, _TRIES, len(spread)))
    points = (bits.sum(axis=0) / (1 << 16) - 6) * spread  # about normal
    points *= np.minimum(1, radius / np.maximum(np.linalg.norm(points, axis=1), 1.0))[:, None]
    chosen = [points[0]]
    for _ in range(k - 1):
        gaps = ((points[:, None, :] - np.array(chosen)) ** 2).sum(axis=2).min(axis=1)
        # The farthest tenth are outliers of the simulation; take the next one.
        chosen.append(points[int(np.argsort(gaps)[-1 - _TRIES // 10])])
    return np.array(chosen)
