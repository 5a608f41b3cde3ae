"""Linear regression from noisy second moments (AdaSSP); its standard errors know the noise."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from discreet.errors import InputError
from discreet.learn.base import PrivateEstimator, normal_intervals
from discreet.learn.design import CENTRE, FREE, Scaling, read_bounds, standardize
from discreet.learn.linear_sums import second_moments
from discreet.learn.noisy_sums import NoisySums
from discreet.learn.rows import Floats
from discreet.rationals import non_negative


class KnownErrors(PrivateEstimator):
    """Coefficients whose covariance, from sampling and privacy noise, is known.

    `hidden_` is the share of each coefficient's variance that is supposed, not measured. Where
    noise hides a direction of the features, true coefficients along it are supposed to vary (in a
    logistic model by 2 log odds a deviation), and intervals cover what such coefficients would.
    """

    covariance_: Floats

    def _keep_covariance(self, covariance: Floats, supposed: Floats) -> Floats:
        """Keep the covariance of (constant, coefficients); their standard errors."""
        self.covariance_ = covariance
        known, guessed = (np.diagonal(one, axis1=-2, axis2=-1) for one in (covariance, supposed))
        self.hidden_ = (guessed / np.maximum(known, 1e-300))[..., 1:]
        return np.sqrt(np.maximum(known, 0))

    def intervals(self, confidence: float = 0.95) -> Floats:
        """An interval for each coefficient, from sampling and privacy noise together."""
        self._check_errors()
        return normal_intervals(self.coef_, self.standard_errors_, confidence)

    def _line_intervals(self, x: Any, residual: float, confidence: float) -> Floats:
        """An interval of each row's lines, with a residual of some variance beside."""
        self._check_errors()
        read = np.column_stack([np.ones(len(x)), self._clamped(x)])
        covariance = self.covariance_.reshape(-1, read.shape[1], read.shape[1])
        doubt = np.einsum("ni,kij,nj->nk", read, covariance, read)
        lines = read[:, 1:] @ np.atleast_2d(self.coef_).T + self.intercept_
        return normal_intervals(lines, np.sqrt(np.maximum(doubt, 0) + residual), confidence)

    def _check_errors(self) -> None:
        check_is_fitted(self, "coef_")
        if not hasattr(self, "covariance_"):
            what, why = "a fit without standard errors", "they cost a part of the budget"
            raise InputError(what, why=why, fix="pass standard_errors=True and fit again")


@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegression(RegressorMixin, KnownErrors):  # type: ignore[misc]
    """Least squares, penalised only as far as the privacy noise asks for it (AdaSSP).

    `standard_errors_` and `intervals` cover sampling, the privacy noise and the bias of the penalty
    `ridge_`, for rows within the bounds whose target lies within `target_cut_`.

    Guarantee:
        See `PrivateEstimator`: two releases for centring, one of all second moments.
    Edge cases:
        Where noise drowns the smallest eigenvalue, the penalty grows with it and coefficients
        shrink towards 0; predictions stay within `target_bounds`. A target further than 4 (noisy)
        deviations from its mean counts as 4, at `target_cut_`: what moves few targets that far is
        underrated, and no interval covers that. Bounds that are nearer cut nothing more.
    Reference: Wang, Revisiting Differentially Private Linear Regression (AdaSSP), UAI 2018.
    """

    _TARGET: ClassVar[str] = "number"

    bounds: Any = None
    target_bounds: Any = None

    def _prepare(self, features: int) -> None:
        super()._prepare(features)
        [low], [high] = read_bounds(self.target_bounds, 1, "target_bounds")
        self.target_bounds_ = float(low), float(high)
        non_negative(getattr(self, "alpha", 0), "alpha")

    def _learn(self, sums: NoisySums) -> None:
        low, high = map(np.append, self.bounds_, self.target_bounds_)
        joined = sums.rows.joined()
        scaling, _ = standardize(sums, low, high, joined, free=1)
        self._solve(*second_moments(sums, scaling, 1 - CENTRE, joined), scaling)

    def _solve(self, matrix: Floats, sigma: float, scaling: Scaling) -> None:
        p = len(matrix) - 1
        a, b, yy = matrix[:p, :p], matrix[:p, p], float(matrix[p, p])
        drowned = 2 * sigma * p**0.5  # the spectral norm of the noise, about
        values, vectors = np.linalg.eigh(a)
        self.ridge_ = float(getattr(self, "alpha", 0)) + max(0.0, drowned - float(values[0]))
        inverse = np.linalg.inv(a + self.ridge_ * np.eye(p))
        theta = inverse @ b
        count = max(float(matrix[0, 0]), p + 1.0)
        length = float(theta @ theta)
        noise = sigma**2 * ((1 + length) * np.eye(p) + np.diag(theta**2))
        left = yy - 2 * theta @ b + theta @ a @ theta + np.trace(inverse @ noise)
        freedom = max(count - p, 1.0)
        spread = max(float(left) / freedom, sigma * (1 + length) ** 0.5 / count)
        # The noise of yy, of 2 theta b and of theta a theta, whose variance is below 2 length^2:
        unsure = sigma * (1 + 4 * length + 2 * length**2) ** 0.5 / freedom
        # A 95 % interval covers that much less on average as if spread were too small by this:
        slack = min(unsure, 1.2 * unsure**2 / spread)
        lost = self.ridge_ / (values + self.ridge_)
        deviation = np.clip(yy / count, (scaling.norm / FREE) ** 2, scaling.norm**2) ** 0.5
        # Where noise hides an axis, what is lost of its coefficient: as found, and a weak prior.
        bias = vectors * lost**2 * (deviation**2 + (vectors.T @ theta) ** 2) @ vectors.T
        sampling = spread * (vectors * np.maximum(values, 0) @ vectors.T)  # never below 0
        covariance = inverse @ (sampling + noise) @ inverse + bias
        # In units of the features and the target:
        target, back = scaling.scale[-1], unscaling(scaling, len(theta) - 1)
        values = back @ theta / target
        values[0] += scaling.centre[-1]
        self.coef_, self.intercept_ = values[1:], float(values[0])
        far = scaling.norm / target * np.array([-1, 1])
        self.target_cut_ = np.clip(scaling.centre[-1] + far, *self.target_bounds_)
        errors = self._keep_covariance(*(back @ c @ back.T / target**2 for c in (covariance, bias)))
        self.intercept_error_, self.standard_errors_ = float(errors[0]), errors[1:]
        self.residual_deviation_ = float(spread**0.5 / target)
        self.residual_slack_ = float(slack / target**2)

    def predict_interval(self, X: Any, confidence: float = 0.95) -> Floats:
        """An interval (low, high) for each row's target, if residuals are normal.

        It covers sampling and privacy noise of the coefficients, the spread of residuals, and what
        privacy noise does to that spread.
        """
        residual = self.residual_deviation_**2 + self.residual_slack_
        told = self._line_intervals(X, residual, confidence)[:, 0]
        return np.asarray(np.clip(told, *self.target_bounds_))

    def predict(self, X: Any) -> Floats:
        """Predictions, within the bounds of the target."""
        told = self._clamped(X) @ self.coef_ + self.intercept_
        return np.asarray(np.clip(told, *self.target_bounds_))


@dataclass(kw_only=True, eq=False, repr=False)
class Ridge(LinearRegression):
    """Least squares with an l2 penalty `alpha`."""

    alpha: Any = field(default=1.0, kw_only=False)


def unscaling(scaling: Scaling, features: int) -> Floats:
    """The matrix that takes (constant, coefficients) of scaled features to their own units."""
    scale, centre = scaling.scale[:features], scaling.centre[:features]
    back = np.diag(np.append(1.0, scale))
    back[0, 1:] = -scale * centre
    return back
