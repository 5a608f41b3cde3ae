"""Linear classifiers by noisy descent: logistic regression, support vectors, perceptron."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from discreet.learn.base import PrivateEstimator
from discreet.learn.design import CENTRE, GRID, Scaling, standardize
from discreet.learn.linear import KnownErrors, unscaling
from discreet.learn.linear_sums import LinkGradient, LogisticCurvature, descend, symmetric
from discreet.learn.noisy_sums import NoisySums
from discreet.learn.rows import Chunk, Floats, PersonRows

_HIDDEN = 2.0
"""The deviation of a coefficient that noise hides, as it is supposed, in log odds of a unit."""


_LINK_VARIANCE = 2.6
"""p (1 - p) is about a multiple of a normal density of this variance, by the margin."""

_ROUNDS = 3  # how often a step is foretold and the curvature halfway along it drawn to its place


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """A classifier of public `classes`; labels that are none of them count nowhere."""

    classes: Any = None
    _TARGET: ClassVar[str] = "label"
    _ODDS: ClassVar[bool] = True
    """Whether scores are logarithms of odds."""

    @abstractmethod
    def _scores(self, x: Any) -> Floats:
        """A score of each class, by row; if only one is told of two, it is that of the second."""

    def decision_function(self, X: Any) -> Floats:
        """Scores: one a row for two classes, else one for each class."""
        scores = self._all_scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """The class with the largest score."""
        place = self._all_scores(X).argmax(axis=1)
        return self.classes_[place]

    @available_if(lambda one: one._ODDS)  # type: ignore[untyped-decorator] # noqa: SLF001 - its own
    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes."""
        return np.asarray(softmax(self._all_scores(X), axis=1))

    def _all_scores(self, x: Any) -> Floats:
        check_is_fitted(self, "guarantee_")
        told = self._scores(x)
        return np.pad(told, [(0, 0), (1, 0)]) if told.shape[1] == 1 else told


@dataclass(kw_only=True, eq=False, repr=False)
class LinearClassifier(PrivateClassifier):
    """A linear classifier: features are standardized privately, then gradients are summed."""

    bounds: Any = None
    max_iter: Any = 30

    _LINK: ClassVar[str] = "logistic"
    _SOFTMAX: ClassVar[bool] = False

    def _learn(self, sums: NoisySums) -> None:
        found = standardize(sums, *self.bounds_)
        theta = self._descend(sums, found, 1 - CENTRE, sums.rows, len(self.classes_))
        self._keep(theta, found[0])

    def _descend(
        self,
        sums: NoisySums,
        found: tuple[Scaling, float],
        share: Fraction,
        rows: PersonRows,
        labels: int,
        *,
        by_row: bool = False,
    ) -> Floats:
        scaling, count = found
        start = np.zeros((1 if labels == 2 else labels, self.n_features_in_ + 1))
        several = self._SOFTMAX and labels > 2

        def gradient(theta: Floats) -> LinkGradient:
            return LinkGradient(theta, scaling.radius, self._LINK, several, clip=0.5, by_row=by_row)

        paid = self.max_iter, share, [scaling.apply(rows)]
        rate = 1 / (scaling.norm**2 / 4)  # over the curvature
        return descend(sums, gradient, start, *paid, unit=GRID**2 * count, rate=rate)

    def _keep(self, theta: Floats, scaling: Scaling) -> None:
        values = theta @ unscaling(scaling, self.n_features_in_).T
        self.coef_, self.intercept_, self.n_iter_ = values[:, 1:], values[:, 0], self.max_iter

    def _scores(self, x: Any) -> Floats:
        return np.asarray(self._clamped(x) @ self.coef_.T + self.intercept_)


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(KnownErrors, LinearClassifier):
    """Logistic regression, multinomial for more than two classes.

    With `standard_errors=True` two thirds of the budget buy `newton_steps` Newton steps, most of it
    the last one's curvature and gradient: its errors from sampling and privacy noise are known
    (`standard_errors_`, `intervals`, `predict_interval`). Of more than two classes each is then
    compared with the first, among rows of these two: in a multinomial model that is a logistic one
    (Begg, Gray 1984). The first has coefficients 0.

    Guarantee:
        See `PrivateEstimator`: two releases for centring and one for each of `max_iter` gradients;
        with standard errors `max_iter` + 2 `newton_steps` for each class but the first.
    Edge cases:
        Without rows the coefficients are noise. Steps do not reach coefficients that nearly
        separate the classes (above some 10 for features in [-1, 1]); intervals are then too short,
        and those of strong features where noise hides them (`hidden_`), or of fewer than 100 rows.
    Reference: Bassily, Smith, Thakurta, Private Empirical Risk Minimization, 2014 (noisy gradient
    descent); Avella-Medina, Bradshaw, Loh, Differentially Private Inference via Noisy
    Optimization, 2023 (intervals).
    """

    _SOFTMAX: ClassVar[bool] = True

    standard_errors: Any = False
    newton_steps: Any = 3

    def _learn(self, sums: NoisySums) -> None:
        if not self.standard_errors:
            super()._learn(sums)
            return
        found = standardize(sums, *self.bounds_)
        back = unscaling(found[0], self.n_features_in_)
        others, early = len(self.classes_) - 1, self.newton_steps - 1
        # Of each step's gradient, and of its curvature:
        shares = [*(Fraction(1, 12 * early) for _ in range(early)), Fraction(1, 4)]
        thetas = [np.zeros(len(back))] * (others > 1)
        covariances = [np.zeros((2, *back.shape))] * (others > 1)
        for label in range(1, others + 1):
            own = sums.rows.map(lambda chunk, label=label: against(chunk, label))  # type: ignore[misc]
            theta = self._descend(sums, found, Fraction(1, 6) / others, own, 2, by_row=True)
            inverse = np.zeros(back.shape)
            for at, share in enumerate(shares):
                paid = share / others
                step, true, covariance, inverse = newton_step(
                    sums, found[0], theta, own, paid, inverse
                )
                theta = theta - (step if at == early else true * step)
            thetas.append(theta[0])
            covariances.append(back @ covariance @ back.T)
        self._keep(np.stack(thetas), found[0])
        errors = self._keep_covariance(*np.stack(covariances, axis=1))
        self.intercept_error_, self.standard_errors_ = errors[:, 0], errors[:, 1:]

    def predict_interval(self, X: Any, confidence: float = 0.95) -> Floats:
        """An interval (low, high) of each row's probability of the second class.

        Of more than two classes, of each one's log odds against the first.
        """
        odds = self._line_intervals(X, 0.0, confidence)
        return np.asarray(expit(odds[:, 0]) if odds.shape[1] == 1 else odds)


class LinearSVC(LinearClassifier):
    """Support vectors with a smoothed hinge (Chaudhuri et al. 2011), one class against the rest."""

    _LINK: ClassVar[str] = "hinge"
    _ODDS: ClassVar[bool] = False


class Perceptron(LinearSVC):
    """The perceptron from sums of mistakes over all rows at once (Blum et al. 2005)."""

    _LINK: ClassVar[str] = "perceptron"


def newton_step(
    sums: NoisySums,
    scaling: Scaling,
    theta: Floats,
    own: PersonRows,
    share: Fraction,
    before: Floats,
) -> tuple[Floats, float, Floats, Floats]:
    """A step from a noisy gradient and curvature, its share that is no noise, its covariance.

    Early steps go this share of the way (James and Stein), so that noise does not lead them
    astray. The last one goes all of it, which has no bias. Curvature is measured halfway along the
    step that the inverse curvature of the step `before` foretells, and drawn to halfway along the
    step that it gives: there it is the mean of the way, up to third derivatives. The covariance
    comes with its part that is supposed; the inverse of the new curvature comes last.
    """
    # Rows as long as they are, with less weight where that is long: no bias, as weights depend
    # on features alone.
    whole_rows = replace(scaling, norm=4 * scaling.norm)
    slope = LinkGradient(theta, whole_rows.radius, clip=0.25, by_row=True)
    g = sums.sums(slope, share, whole_rows.apply(own)) / GRID**2
    noise = sums.sigma(slope, share) / GRID**2

    def certain(inverse: Floats) -> float:
        length = max(float(g @ inverse @ g), 1e-9)
        return max(0.0, 1 - float(noise**2 * np.trace(inverse) + len(g)) / length)

    halfway = theta[0] - certain(before) / 2 * before @ g
    bend = LogisticCurvature(halfway, scaling.radius, scaling.reach)
    raw = symmetric(sums.sums(bend, share, scaling.apply(own)) * bend.unit, theta.size)
    bend_noise = bend.unit * sums.sigma(bend, share)
    there = halfway
    for _ in range(_ROUNDS):
        h, unsure, kept = drawn(raw, halfway, there, bend_noise)
        floor = 2 * bend_noise * (1 + (kept + 0.05) * len(h)) ** 0.5
        values, vectors = np.linalg.eigh(h)
        inverse = vectors @ np.diag(1 / np.maximum(values, floor)) @ vectors.T
        positive = np.maximum(values, 0)  # a noisy one may be less, a variance may not
        ended = theta[0] - inverse @ g
        errors = (vectors**2 @ ((positive + noise**2) / np.maximum(values, floor) ** 2)) ** 0.5
        there = (ended + theta[0]) / 2 * (np.abs(ended) > 2 * errors)
    lost = 1 - np.clip(values / floor, 0, 1)  # part of the way where noise hides the curvature
    hidden = vectors * lost**2 * (_HIDDEN**2 + (vectors.T @ theta[0]) ** 2) @ vectors.T
    step, true = inverse @ g, certain(inverse)
    middle = vectors * positive @ vectors.T + np.diag(noise**2 + true * unsure @ step**2)
    # Margins move by `moved` in mean square. Halfway, the change of p (1 - p) cancels to first
    # order; at most a multiple of the square is left: the step falls short. Rows count by the
    # square of their own move, so `moved` is its fourth moment over its second: 3 times the second
    # if it is normal.
    moved = 3 * true * float(step @ g) / max(float(h[0, 0]), bend_noise)
    missing = true * min(1.0, moved / 4) ** 2
    bias = hidden + missing * np.outer(step, step)
    return step, true, np.stack([inverse @ middle @ inverse + bias, hidden]), inverse


def drawn(
    found: Floats, theta: Floats, there: Floats, noise: float
) -> tuple[Floats, Floats, float]:
    """A curvature `there` from a noisy one at theta, how unsure its numbers are, the share kept.

    Noise in all entries hides eigenvalues that are far above that of any. So an entry is drawn as
    far as it looks like noise to that of independent normal features: alone (one in as many as
    there are rows is none), and all together (James and Stein).
    """
    size = len(found)
    plain, after = normal_curvature(there)
    plain *= max(float(np.trace(found)), noise) / np.trace(plain)
    z = (found - plain) / noise
    own = 1 / (1 + size * np.exp(-np.minimum(z**2, 1e3) / 2))
    weight, kept = own.copy(), 0.0
    for here in (np.eye(size, dtype=bool), ~np.eye(size, dtype=bool)):
        rest = z[here & (own < 0.5)]
        kept = max(0.0, 1 - max(rest.size, 1) / max(float((rest**2).sum()), 1e-300))
        weight[here] = np.maximum(own[here], kept)
    unsure = noise**2 * (weight + own * (1 - own) * z**2)
    before = normal_curvature(theta)[1]
    return (plain + weight * z * noise) * (after / before), unsure, kept


def normal_curvature(theta: Floats) -> tuple[Floats, float]:
    """The mean of p (1 - p) z z' over that of p (1 - p), and the latter, if features are normal.

    Where one label is rare, rows that may have it lie along theta, so that features have a mean.
    """
    along = np.append(0.0, theta[1:])
    square = _LINK_VARIANCE + float(along @ along)
    near = (_LINK_VARIANCE / square) ** 0.5
    p = expit(near * theta[0])
    mean = near * (1 - 2 * p) * along
    mean[0] = 1
    spread = np.eye(len(theta)) - np.outer(along, along) / square
    spread[0, 0] = 0
    return np.outer(mean, mean) + spread, near * p * (1 - p)


def against(chunk: Chunk, label: int) -> Chunk:
    """Rows whose target is whether they have a label or the first; unknown where neither."""
    y = np.where(np.isin(chunk.y, (0, label)), np.sign(chunk.y), np.nan)
    return Chunk(chunk.x, y, chunk.weight)
