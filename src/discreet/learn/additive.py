"""An additive model on private bins: a curve for each feature, learned together."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discreet.errors import InputError
from discreet.learn.binning import FeatureBins, coded, private_bins, read_n_bins
from discreet.learn.classifiers import PrivateClassifier, against, margin_shares
from discreet.learn.descent import Descent, Link, LinkGradient
from discreet.learn.design import GRID, read_bounds
from discreet.learn.noisy_sums import NoisySums, RowStatistic
from discreet.learn.rows import Chunk, Floats
from discreet.rationals import whole

_VALUES = 10_000

_BINS = Fraction(1, 10)
"""The share of the budget for bins and their counts."""


@dataclass(frozen=True)
class CurveGradient(RowStatistic):
    """The gradient of logistic loss with one coefficient a bin, of rows given as codes of bins.

    Guarantee:
        A row adds its residual, at most `clip` GRID, to one bin of each feature and to the
        constant.
    """

    theta: Floats
    features: int
    clip: float = 1.0

    @property
    def extent(self) -> tuple[int, int]:
        """One number for each bin and the constant; the residual on each feature and that."""
        return self.theta.size, (self.features + 1) * self._limit**2

    @property
    def _limit(self) -> int:
        return max(1, int(self.clip * GRID))

    def sums(self, chunk: Chunk) -> Any:
        """Residuals by bin."""
        codes = chunk.x.astype(np.int64)
        coefficients = np.rint(np.clip(self.theta, -64.0, 64.0) * GRID)
        margin = coefficients[codes].sum(axis=1) + coefficients[-1]
        one = LinkGradient(np.ones((1, 1)), GRID, Link.LOGISTIC)
        r = one.residuals(Chunk(margin[:, None], chunk.y, chunk.weight))[:, 0]
        r = np.clip(r, -self._limit, self._limit) * chunk.weight
        flat = np.bincount(codes.ravel(), np.repeat(r, self.features), minlength=self.width)
        flat[-1] = r.sum()
        return flat


@dataclass(kw_only=True, eq=False, repr=False)
class AdditiveClassifier(PrivateClassifier):
    """A sum of curves, one a feature, on private bins: accurate on tables, and easy to read.

    `curves_` has for each feature one number a bin (the last for NaN), in log odds. Features listed
    in `categorical` are whole numbers within their bounds, and keep a bin for each.

    Guarantee:
        See `PrivateEstimator`: one release for the bins, one for each of `max_iter` gradients.
    Edge cases:
        More than two classes are learned one against the others, each for an equal share.

    Reference: Nori, Caruana, Bu, Shen, Kulkarni, Accuracy, Interpretability, and Differential
    Privacy via Explainable Boosting, ICML 2021 (private bins and additive curves).
    """

    bounds: Any = None
    categorical: Any = None
    n_bins: Any = 12
    max_iter: Any = 60

    def _prepare(self, features: int) -> None:
        super()._prepare(features)
        read_n_bins(self.n_bins)
        low, high = read_bounds(self.bounds, features)
        listed = [whole(one, "categorical", at_least=0) for one in self.categorical or ()]
        if any(one >= features or high[one] - low[one] >= _VALUES for one in listed):
            raise InputError(
                "a categorical feature that is not there or too wide",
                why=f"it has a bin for each whole number within its bounds, {_VALUES:,} at most",
                fix="name features by their place, or let their values be joined to bins",
            )

    def _learn(self, sums: NoisySums) -> None:
        low, high = read_bounds(self.bounds, self.n_features_in_)
        listed = frozenset(self.categorical or ())
        bins, counts = private_bins(sums, low, high, self.n_bins, _BINS, listed)
        rows, models = coded(sums.rows, bins), len(self.classes_)
        targets = [1] if models == 2 else list(range(models))
        thetas = []
        for label in targets:
            own = rows.map(lambda chunk, label=label: against(chunk, label))  # type: ignore[misc]
            thetas.append(self._curves(sums, bins, counts, own, (1 - _BINS) / len(targets)))
        self.bin_edges_, self.n_iter_ = list(bins.edges), self.max_iter
        self.curves_ = [np.stack([bins.of(theta, j) for theta in thetas]) for j in range(len(low))]
        self.intercept_ = np.array([theta[-1] for theta in thetas])

    def _curves(
        self, sums: NoisySums, bins: FeatureBins, counts: Floats, rows: Any, share: Fraction
    ) -> Floats:
        features = len(bins.edges)
        total = max(float(np.maximum(counts, 0).sum()) / features, 1.0)
        part = np.append(np.clip(counts / total, 0, 1), 1.0)
        curvature = np.maximum(part, self._FLOOR) / 4
        own = np.repeat(np.arange(features), bins.sizes)

        def centred(step: Floats) -> Floats:
            """Curves of mean 0: what all features share is the constant's alone."""
            mean = np.bincount(own, part[:-1] * step[:-1]) / np.bincount(own, part[:-1] + 1e-9)
            return np.asarray(np.append(step[:-1] - mean[own], step[-1]))

        def gradient(theta: Floats) -> CurveGradient:
            return CurveGradient(theta, features, self._CLIP)

        start = np.zeros(sum(bins.sizes) + 1)
        return Descent(self.max_iter, rate=self._RATE, momentum=0.8).run(
            sums,
            gradient,
            start,
            total,
            share,
            rows,
            curvature=curvature,
            project=centred,
            unit=GRID,
        )

    _FLOOR = 0.04
    _CLIP = 0.6
    _RATE = 0.2

    def decision_function(self, X: Any) -> Floats:  # noqa: N803 - sklearn's
        """Log odds: one a row for two classes, else one for each class."""
        check_is_fitted(self, "curves_")
        x = self._read_features(X, reset=False)
        bins = FeatureBins(tuple(self.bin_edges_))
        codes = bins.codes(x) - bins.starts
        margin = self.intercept_ + sum(
            curve[:, codes[:, j]].T for j, curve in enumerate(self.curves_)
        )
        return np.asarray(margin[:, 0] if len(self.classes_) == 2 else margin)

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803 - sklearn's
        """Probabilities of the classes."""
        return margin_shares(self.decision_function(X))
