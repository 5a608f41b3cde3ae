"""Statistical tests whose p-values know the privacy noise.

Each test is fitted like an estimator, so that a curator charges it like one: `fit(values, by)`
sets `statistic_`, `pvalue_` and `guarantee_`. The null law is that of the noisy statistic: the
covariance of counts or means, and that of the noise, added up; normal and chi-square laws of large
samples, and Welch's for means. Sampling error supposes that rows are independent: with several rows
a person (`groups`) p-values of dependent rows are too small, as anywhere in statistics.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from scipy import stats
from sklearn.utils.validation import check_is_fitted

from discreet.errors import InputError
from discreet.learn.base import PrivateEstimator, normal_intervals, read_classes
from discreet.learn.binning import BinCounts, equal_bins
from discreet.learn.class_totals import class_moments
from discreet.learn.design import read_bounds
from discreet.learn.noisy_sums import NoisySums
from discreet.learn.rows import Floats
from discreet.rationals import whole

_CELLS = 32
"""Cells of values where ranks are compared."""


_TABLE = 1000
"""Cells of a table whose counts are tested."""


@dataclass(kw_only=True, eq=False, repr=False)
class HypothesisTest(PrivateEstimator):
    """A test of one column of values, by the group of each row where there are `classes`.

    Guarantee:
        See `PrivateEstimator`: one release.
    """

    classes: Any = None

    _TARGET: ClassVar[str] = "label"
    _PAIR: ClassVar[bool] = False

    def _prepare(self, features: int) -> None:
        if features != 1:
            raise InputError(
                f"{features} columns of values", why="a test is about one", fix="pass one column"
            )
        super()._prepare(features)
        if self._PAIR and len(read_classes(self.classes)) != 2:
            raise InputError("more than two groups", why="the test compares two", fix="use anova")

    def _told(self, statistic: float, pvalue: float) -> None:
        self.statistic_, self.pvalue_ = float(statistic), float(pvalue)

    def rejects(self, level: float = 0.05) -> bool:
        """Whether the p-value is at most the level."""
        check_is_fitted(self, "pvalue_")
        return bool(self.pvalue_ <= level)


@dataclass(kw_only=True, eq=False, repr=False)
class _OfMeans(HypothesisTest):
    """Tests of means of values within bounds."""

    bounds: Any = None

    def _measure(self, sums: NoisySums) -> tuple[Floats, Floats, Floats]:
        """Means on [-1, 1], their variances from sampling and noise, and degrees of freedom.

        Those are Satterthwaite's: the variance of the noise is known, that of few rows is not.
        """
        low, high = read_bounds(self.bounds, 1)
        labels = len(read_classes(self.classes))
        found = class_moments(sums, low, high, labels, Fraction(1))
        means, sizes = found.means[:, 0], found.sizes
        pooled = float(np.average(means, weights=sizes))  # what each mean is under the null
        noise = found.sigma**2 * (1 + np.maximum(means**2, pooled**2)) / sizes**2
        left = np.maximum(sizes - 1, 1.0)
        sampling = found.variances[:, 0] / left
        variances = sampling + noise
        return means, variances, left * (variances / sampling) ** 2


class TTest(_OfMeans):
    """Welch's t-test: whether two groups have the same mean; `difference_` with an interval.

    Guarantee:
        See `PrivateEstimator`: one release of counts, sums and sums of squares by group.

    Reference: Couch, Kazan, Shi, Bray, Groce, Differentially Private Nonparametric Hypothesis
    Testing, 2019 (tests with the null law of the noisy statistic).
    """

    _PAIR: ClassVar[bool] = True

    def _learn(self, sums: NoisySums) -> None:
        means, variances, freedom = self._measure(sums)
        low, high = read_bounds(self.bounds, 1)
        half = float(high[0] - low[0]) / 2
        error = float(variances.sum()) ** 0.5
        statistic = (means[1] - means[0]) / error
        joint = error**4 / float((variances**2 / freedom).sum())
        self._told(statistic, 2 * stats.t.sf(abs(statistic), joint))
        self.difference_, self.standard_error_ = (means[1] - means[0]) * half, error * half

    def interval(self, confidence: float = 0.95) -> Floats:
        """An interval for the difference of the means."""
        check_is_fitted(self, "difference_")
        return normal_intervals(
            np.asarray(self.difference_), np.asarray(self.standard_error_), confidence
        )


class Anova(_OfMeans):
    """Whether several groups have the same mean: Welch's analysis of variance.

    Guarantee:
        See `PrivateEstimator`: one release of counts, sums and sums of squares by group.

    Reference: Swanberg, Globus-Harris, Griffith, Ritz, Groce, Bray, Improved Differentially
    Private Analysis of Variance, 2019.
    """

    def _learn(self, sums: NoisySums) -> None:
        means, variances, freedom = self._measure(sums)
        weights, k = 1 / variances, len(means)
        between = (weights * (means - np.average(means, weights=weights)) ** 2).sum() / (k - 1)
        doubt = float(((1 - weights / weights.sum()) ** 2 / freedom).sum()) / (k**2 - 1)
        statistic = float(between / (1 + 2 * (k - 2) * doubt))
        self._told(statistic, stats.f.sf(statistic, k - 1, 1 / (3 * doubt)))


class MannWhitney(_OfMeans):
    """Whether values of one of two groups tend to be larger: ranks within 32 equal cells.

    `superiority_` estimates the probability that a value of the second group is the larger.

    Guarantee:
        See `PrivateEstimator`: one release of counts by group and cell.

    Reference: Couch, Kazan, Shi, Bray, Groce, Differentially Private Nonparametric Hypothesis
    Testing, 2019.
    """

    _PAIR: ClassVar[bool] = True

    def _learn(self, sums: NoisySums) -> None:
        low, high = read_bounds(self.bounds, 1)
        statistic = BinCounts(equal_bins(low, high, [_CELLS]), 2)
        counts = sums.sums(statistic, Fraction(1)).reshape(2, -1)
        sigma = sums.sigma(statistic, Fraction(1))
        sizes, cells = np.maximum(counts[:, -1], max(1.0, sigma)), counts[:, :_CELLS]
        # Half a win for a tie, and 1/2 taken off: the noise of all cells together cancels.
        below = np.cumsum(cells, axis=1) - cells / 2 - cells.sum(axis=1, keepdims=True) / 2
        first, second = below[0] / sizes[0], below[1] / sizes[1]
        win = float((cells[1] * first).sum() / sizes[1])
        shares = np.maximum(cells.sum(axis=0), 0) / sizes.sum()
        spread = (1 - float((shares**3).sum())) / 12 * (1 / sizes[0] + 1 / sizes[1])
        noise = sigma**2 * ((first**2).sum() / sizes[1] ** 2 + (second**2).sum() / sizes[0] ** 2)
        second_order = sigma**4 * _CELLS**2 / (2 * sizes[0] ** 2 * sizes[1] ** 2)
        z = win / (spread + noise + second_order) ** 0.5
        self.superiority_ = float(np.clip(win + 0.5, 0, 1))
        self._told(z, 2 * stats.norm.sf(abs(z)))


class _OfCounts(HypothesisTest):
    """Tests of the counts of `n_categories` values, with `probabilities` or by group."""

    def _target_of(self, y: Any) -> Floats | None:
        return None if self.classes is None else super()._target_of(y)

    def _prepare(self, features: int) -> None:
        if self.classes is None:
            self._expected()
        else:
            super()._prepare(features)
        k = whole(int(np.ravel(self._categories)[0]), "n_categories", at_least=2)
        if k * (1 if self.classes is None else len(self.classes)) > _TABLE:
            raise InputError(
                f"a table of more than {_TABLE:,} cells",
                why="the covariance of all pairs is computed",
                fix="join categories",
            )

    @property
    def _categories(self) -> Any:
        if self.n_categories is not None:
            return self.n_categories
        if self.probabilities is not None:
            return len(self.probabilities)
        raise InputError(
            "n_categories are missing",
            why="categories that come from the data would give away who has a rare one",
            fix="pass n_categories=4, or probabilities",
        )

    def _expected(self) -> Floats:
        k = int(np.ravel(self._categories)[0])
        given = np.full(k, 1 / k) if self.probabilities is None else np.ravel(self.probabilities)
        if given.shape == (k,) and np.all(given > 0) and abs(float(given.sum()) - 1) < 1e-9:
            return given.astype(np.float64)
        raise InputError(
            "probabilities are no law of the categories",
            why="each is above 0 and together they are 1",
            fix="pass one a category",
        )

    def _learn(self, sums: NoisySums) -> None:
        k = int(np.ravel(self._categories)[0])
        groups = 1 if self.classes is None else len(self.classes)
        cells = equal_bins(np.array([-0.5]), np.array([k - 0.5]), [k])
        statistic = BinCounts(cells, groups)
        counts = sums.sums(statistic, Fraction(1)).reshape(groups, -1)[:, :k]
        sigma = sums.sigma(statistic, Fraction(1))
        total = max(float(counts.sum()), 1.0)
        columns = self._expected() if groups == 1 else _shares(counts.sum(axis=0))
        rows = np.ones(1) if groups == 1 else _shares(counts.sum(axis=1))
        off = np.kron(_centring(rows) if groups > 1 else np.eye(1), _centring(columns))
        p = np.kron(rows, columns)
        covariance = (
            off @ (total * (np.diag(p) - np.outer(p, p)) + sigma**2 * np.eye(len(p))) @ off.T
        )
        freedom = (k - 1) * max(groups - 1, 1)
        away = off @ counts.ravel()
        statistic_ = float(away @ np.linalg.pinv(covariance, rcond=1e-9, hermitian=True) @ away)
        self._told(statistic_, stats.chi2.sf(statistic_, freedom))


@dataclass(kw_only=True, eq=False, repr=False)
class ChiSquare(_OfCounts):
    """Whether values have given `probabilities` (goodness of fit), or do not depend on a group.

    Values are 0, 1, ..., `n_categories` - 1. Without `classes` it is goodness of fit, with them
    independence of value and group.

    Guarantee:
        See `PrivateEstimator`: one release of counts.

    Reference: Kifer, Rogers, A New Class of Private Chi-Square Hypothesis Tests, 2017 (the
    statistic is divided by the covariance of counts and noise together).
    """

    n_categories: Any = None
    probabilities: Any = None


@dataclass(kw_only=True, eq=False, repr=False)
class ProportionTest(_OfCounts):
    """Whether a share of rows is `probability`, or the same in two groups; values are 0 and 1.

    Guarantee:
        As `ChiSquare`.

    Reference: Kifer, Rogers, A New Class of Private Chi-Square Hypothesis Tests, 2017.
    """

    probability: Any = 0.5

    @property
    def n_categories(self) -> int:
        """Two."""
        return 2

    @property
    def probabilities(self) -> list[float]:
        """The probabilities of 0 and 1."""
        return [1 - float(self.probability), float(self.probability)]


TESTS: dict[str, type[HypothesisTest]] = {
    "t": TTest,
    "anova": Anova,
    "mann-whitney": MannWhitney,
    "chi-square": ChiSquare,
    "proportion": ProportionTest,
}
"""Tests by the name that `test` and `curator.test` take."""


def test_named(name: str) -> type[HypothesisTest]:
    """The test of a name."""
    if name in TESTS:
        return TESTS[name]
    raise InputError(
        "a test of a name that is not known",
        why=f"known are: {', '.join(TESTS)}",
        fix="name one of these",
    )


def benjamini_hochberg(pvalues: Any, level: float = 0.05) -> Any:
    """Hypotheses rejected with a false discovery rate of at most `level`.

    That rate holds for p-values that are independent, or depend on each other positively. P-values
    of private tests are released already, and right with their noise, so this is post-processing:
    nothing more is spent.

    Example:
        >>> benjamini_hochberg([0.001, 0.2, 0.012, 0.9]).tolist()
        [True, False, True, False]

    Reference: Benjamini, Hochberg, Controlling the False Discovery Rate, 1995; Dwork, Su, Zhang,
    Differentially Private False Discovery Rate Control, 2021.
    """
    p = np.asarray(pvalues, dtype=np.float64)
    order = np.argsort(p)
    below = np.flatnonzero(p[order] <= level * np.arange(1, len(p) + 1) / max(len(p), 1))
    rejected = np.zeros(len(p), dtype=bool)
    rejected[order[: below[-1] + 1 if len(below) else 0]] = True
    return rejected


def _shares(counts: Floats) -> Floats:
    positive = np.maximum(counts, 1.0)
    return np.asarray(positive / positive.sum())


def _centring(p: Floats) -> Floats:
    """Counts less what a law expects of their sum."""
    return np.eye(len(p)) - np.outer(p, np.ones(len(p)))
