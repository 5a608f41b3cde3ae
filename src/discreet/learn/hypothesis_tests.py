"""Statistical tests whose p-values know the privacy noise.

Each test is fitted like an estimator, so that a curator charges it like one: `fit(values, by)`
sets `statistic_`, `pvalue_` and `guarantee_`. Few rows, small groups or much noise make p-values
too large rather than too small; cells of some two rows with as little noise make them too small
(`docs/reference/test-levels.md`). Sampling error supposes that rows are independent: with several
rows a person (`groups`) p-values of dependent rows are too small, as anywhere in statistics.

**The null law.** P-values are those of noisy counts and sums, by the law that these have under the
null hypothesis. No estimate is divided by a noisy count. A null hypothesis says that some numbers
are multiples of others (sums are the mean times counts, a table is rows times columns), each number
has its variance from sampling and noise, and the statistic is the least weighted sum of squared
residuals over all means, or all rows and columns. Its law is chi-square where the data fixes those.
Where noise drowns them, the least sum of squares is smaller: its law is then that given the largest
sum. Ranks are compared given the pooled counts. The last axes of arrays are those of one data set.

Reference: Guggenberger, Kleibergen, Mavroeidis, Chen, On the Asymptotic Sizes of Subset
Anderson-Rubin and Lagrange Multiplier Tests, 2012 (the least statistic over what is not known);
Couch, Kazan, Shi, Bray, Groce, Differentially Private Nonparametric Hypothesis Testing, 2019.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.utils.validation import check_is_fitted

from discreet.errors import InputError
from discreet.learn.base import PrivateEstimator, normal_intervals
from discreet.learn.binning import BinCounts, category_bins, equal_bins
from discreet.learn.design import GroupMoments, moments
from discreet.learn.noisy_sums import NoisySums
from discreet.learn.rows import Floats, items_of
from discreet.rationals import proper_share

_CELLS = 32  # cells of values where ranks are compared

_ROUNDS, _POINTS = 10, 17
"""How often the least of a function is looked for, and at how many points."""

_PARTS = 32  # parts of an integral
_EXAMPLES = 32  # matrices of noise
_TABLE = 1000  # cells of a table whose counts are tested


@dataclass(kw_only=True, eq=False, repr=False)
class HypothesisTest(PrivateEstimator):
    """A test of one column of values, by the group of each row where there are `classes`."""

    classes: Any = None

    _TARGET: ClassVar[str] = "label"
    _PAIR: ClassVar[bool] = False
    _ALONE: ClassVar[bool] = False
    """Whether it compares two groups; whether it also tests one group alone."""

    def _prepare(self, features: int) -> None:
        if features != 1:
            raise InputError(
                f"{features} columns of values", why="a test is about one", fix="pass one column"
            )
        if self.classes is not None or not self._ALONE:
            super()._prepare(features)
        if self._PAIR and len(self.classes_) != 2:
            raise InputError("more than two groups", why="the test compares two", fix="use anova")

    def _read_features(self, x: Any, *, reset: bool = True) -> Floats:
        """Values as a column; a flat list of them is one."""
        flat = x if hasattr(x, "shape") else items_of(x)
        one = len(flat.shape) == 1 and not any(np.ndim(item) for item in flat[:1])
        return super()._read_features(np.asarray(flat)[:, None] if one else x, reset=reset)

    def _told(self, statistic: Any, pvalue: Any) -> None:
        self.statistic_, self.pvalue_ = float(statistic), float(pvalue)

    def rejects(self, level: float = 0.05) -> bool:
        """Whether the p-value is at most the level."""
        check_is_fitted(self, "pvalue_")
        return bool(self.pvalue_ <= level)

    def interval(self, confidence: float = 0.95) -> Floats:
        """An interval for `difference_`, from sampling and privacy noise together."""
        check_is_fitted(self, "pvalue_")
        if not hasattr(self, "difference_"):
            why = "intervals are about the difference of two groups, or of one from a number"
            fix = "read pvalue_, which is paid for; TTest and ProportionTest compare two groups"
            raise InputError(f"this {type(self).__name__} has no interval", why=why, fix=fix)
        middle = np.asarray(getattr(self, "_middle", self.difference_))
        return normal_intervals(middle, np.asarray(self.standard_error_), confidence)


@dataclass(kw_only=True, eq=False, repr=False)
class _OfMeans(HypothesisTest):
    """Tests of means of values within bounds."""

    bounds: Any = None

    def _compared(self, sums: NoisySums) -> tuple[GroupMoments, Any, Any]:
        """Totals by group of values on [-1, 1], the F of their means, and its p-value."""
        found = moments(sums, *self.bounds_, Fraction(1), len(self.classes_))
        f, pvalue = compare_means(found.counts, found.sums[:, 0], found.squares[:, 0], found.sigma)
        return found, f, pvalue


class TTest(_OfMeans):
    """Welch's t-test: whether two groups have the same mean; `difference_` with an interval."""

    _PAIR: ClassVar[bool] = True

    def _learn(self, sums: NoisySums) -> None:
        found, f, pvalue = self._compared(sums)
        low, high = self.bounds_
        half, means = float(high[0] - low[0]) / 2, found.means[:, 0]
        noise = found.sigma**2 * (1 + means**2) / found.sizes**2
        sampling = found.variances[:, 0] / np.maximum(found.sizes - 1, 1.0)
        self.difference_ = float(means[1] - means[0]) * half
        self.standard_error_ = float((sampling + noise).sum()) ** 0.5 * half
        self._told(np.copysign(f**0.5, self.difference_), pvalue)


class Anova(_OfMeans):
    """Whether several groups have the same mean: Welch's analysis of variance."""

    def _learn(self, sums: NoisySums) -> None:
        self._told(*self._compared(sums)[1:])


class MannWhitney(_OfMeans):
    """Whether values of one of two groups tend to be larger: ranks within 32 equal cells.

    `superiority_` estimates the probability that a value of the second group is the larger. Rows
    without a value count nowhere.
    """

    _PAIR: ClassVar[bool] = True

    def _learn(self, sums: NoisySums) -> None:
        by_cell, half = BinCounts(equal_bins(*self.bounds_, [_CELLS]), 2), Fraction(1, 2)
        *cells, missing = sums.sums(by_cell, half).reshape(-1, 2)
        rows, sigma = sums.sums(replace(by_cell, by_bin=False), half), sums.sigma(by_cell, half)
        # Rows without a value have no rank; where there are few, their count is noise alone.
        ranked = np.where(missing > 2 * sigma, rows - missing, rows)
        win, z, pvalue = compare_ranks(np.transpose(cells), ranked, sigma)
        self.superiority_ = float(np.clip(win + 0.5, 0, 1))
        self._told(z, pvalue)


class _OfCounts(HypothesisTest):
    """Tests of the counts of `n_categories` values, with `probabilities` or by group."""

    _ALONE: ClassVar[bool] = True

    def _target_of(self, y: Any) -> Floats | None:
        return None if self.classes is None else super()._target_of(y)

    def _prepare(self, features: int) -> None:
        super()._prepare(features)
        statistic = self._statistic
        if self.classes is None:
            self._expected(statistic)
        if statistic.width > _TABLE + statistic.labels:
            why, fix = "with so many, nearly all would be noise", "join categories"
            raise InputError(f"a table of more than {_TABLE:,} cells", why=why, fix=fix)

    @property
    def _statistic(self) -> BinCounts:
        """Counts by category (and of NaN) and group."""
        told = self.n_categories is None and self.probabilities is not None
        many = len(self.probabilities) if told else self.n_categories
        return BinCounts(category_bins(many, 1), 1 if self.classes is None else len(self.classes))

    def _expected(self, statistic: BinCounts) -> Floats:
        k = statistic.bins.sizes[0] - 1
        given = np.full(k, 1 / k) if self.probabilities is None else np.ravel(self.probabilities)
        if given.shape == (k,) and np.all(given > 0) and abs(float(given.sum()) - 1) < 1e-9:
            return given.astype(np.float64)
        why, fix = "each is above 0 and together they are 1", "pass one a category"
        raise InputError("probabilities are no law of the categories", why=why, fix=fix)

    def _learn(self, sums: NoisySums) -> None:
        statistic = self._statistic
        counts = sums.sums(statistic, Fraction(1)).reshape(-1, statistic.labels)[:-1].T
        sigma = sums.sigma(statistic, Fraction(1))
        law = self._expected(statistic) if self.classes is None else None
        chi_square, pvalue = compare_counts(counts, sigma, law)
        self._told(chi_square, pvalue)
        self._estimate(counts, sigma)

    def _estimate(self, counts: Floats, sigma: float) -> None:
        """Keep more than the p-value of noisy counts."""


@dataclass(kw_only=True, eq=False, repr=False)
class ChiSquare(_OfCounts):
    """Whether values have given `probabilities` (goodness of fit), or do not depend on a group.

    Values are 0, 1, ..., `n_categories` - 1. Without `classes` it is goodness of fit, with them
    independence of value and group.
    Reference: Kifer, Rogers, A New Class of Private Chi-Square Hypothesis Tests, 2017 (the
    statistic is divided by the covariance of counts and noise together).
    """

    n_categories: Any = None
    probabilities: Any = None


@dataclass(kw_only=True, eq=False, repr=False)
class ProportionTest(_OfCounts):
    """Whether a share of rows is `probability`, or the same in two groups; values are 0 and 1.

    `proportions_` are the shares of 1. `difference_`, with an interval, is that of two groups, or
    that of one share from `probability`.
    Reference: Kifer, Rogers, A New Class of Private Chi-Square Hypothesis Tests, 2017; intervals
    that hold rare values by four more rows: Agresti, Coull, 1998; Agresti, Caffo, 2000.
    """

    probability: Any = 0.5

    @property
    def n_categories(self) -> int:
        """Two."""
        return 2

    @property
    def probabilities(self) -> list[float]:
        """The probabilities of 0 and 1."""
        share = float(proper_share(self.probability, "probability"))
        return [1 - share, share]

    def _estimate(self, counts: Floats, sigma: float) -> None:
        sizes = np.maximum(counts.sum(axis=1), max(1.0, sigma))
        self.proportions_ = np.clip(counts[:, 1] / sizes, 0, 1)
        if len(sizes) > 2:
            return
        rows, ones = sizes + 4 / len(sizes), counts[:, 1] + 2 / len(sizes)  # as Agresti
        p = np.clip(ones / rows, 0, 1)
        away = np.minimum(np.abs(p - 0.5) + sigma / rows, 0.5)  # noise draws a rare share inward
        noise = sigma**2 * (0.5 + 2 * away**2) / rows**2  # p^2 + (1 - p)^2 for p = 1/2 + away
        self.difference_, self._middle = (
            float(one[-1] - (one[0] if len(one) == 2 else float(self.probability)))
            for one in (self.proportions_, p)
        )
        self.standard_error_ = float((p * (1 - p) / rows + noise).sum()) ** 0.5


TESTS: dict[str, type[HypothesisTest]] = {
    "t": TTest,
    "anova": Anova,
    "mann-whitney": MannWhitney,
    "chi-square": ChiSquare,
    "proportion": ProportionTest,
}
"""Tests by the name that `test` and `curator.test` take."""


def benjamini_hochberg(
    pvalues: Any, level: float = 0.05, *, any_dependence: bool = False
) -> NDArray[np.bool_]:
    """Hypotheses rejected with a false discovery rate of at most `level`.

    That rate holds for p-values that are independent, or depend on each other positively; with
    `any_dependence` (Benjamini, Yekutieli 2001) for all others too. P-values of private tests are
    paid for already, so nothing more is spent. A NaN is never rejected.

    Example:
        >>> benjamini_hochberg([0.001, 0.2, 0.012, 0.9]).tolist()
        [True, False, True, False]

    Reference: Benjamini, Hochberg, Controlling the False Discovery Rate, 1995.
    """
    p = np.nan_to_num(np.asarray(pvalues, dtype=np.float64), nan=1.0)
    adjusted = stats.false_discovery_control(p, method="by" if any_dependence else "bh")
    return np.asarray((adjusted <= level) & (p < 1))


# --- null laws ------------------------------------------------------------------------------------


def compare_means(
    counts: Floats, sums: Floats, squares: Floats, sigma: float
) -> tuple[Floats, Floats]:
    """Welch's F of groups with values on [-1, 1], and its p-value.

    Every number has noise of deviation `sigma`. The spread of a group is that around the common
    mean, less what noise put into both the spread and the residual. The mean is fitted twice: with
    spreads around each mean, then with those around the first fit, so that no mean is chosen for
    the spread it gives. Degrees of freedom are Satterthwaite's, for the noise of spreads: around
    a common mean their sampling needs none (as R^2 is beta, not F).
    """
    groups = counts.shape[-1]
    c, s, q = (one[..., None] for one in (counts, sums, squares))

    def noise(mean: Floats) -> Floats:
        """The variance that noise gives a residual."""
        return np.asarray(sigma**2 * (1 + mean**2))

    def squared(mean: Floats) -> Floats:
        return np.asarray(q - 2 * mean * s + mean**2 * c)

    def held(spread: Floats, mean: Floats, unsure: Floats) -> Floats:
        """Spreads not far below 0: cut off there they would be too large on average."""
        return np.maximum(spread, -np.minimum(noise(mean) / 2, 1.5 * np.sqrt(unsure)))

    def fit(spread: Callable[[Floats], Floats]) -> tuple[Floats, Callable[[Floats], Floats]]:
        def residual(mean: Floats) -> Floats:
            return np.asarray(((s - mean * c) ** 2 / (spread(mean) + noise(mean))).sum(axis=-2))

        return _least(residual, counts.shape[:-1]), residual

    def squares_noise(mean: Floats) -> Floats:
        return np.asarray(sigma**2 * (1 + 4 * mean**2 + mean**4))

    mean, _ = fit(lambda mean: held(squared(mean), mean, squares_noise(mean)))
    away, shared = s - mean * c, mean * (2 + mean**2) * sigma**2  # minus their covariance
    own = np.maximum(squared(mean), 0) + noise(mean)
    rest = _rest(c**2 / own)
    unsure = np.maximum(squares_noise(mean) - shared**2 * rest / own, squares_noise(mean) / 10)
    # The residual of few rows is in their spread too, as far as it is noise, by degree of freedom:
    twice = noise(mean) / own * (away**2 - own) * c / (c**2 + 16 * sigma**2 + 1) / (groups - 1)
    spread = squared(mean) + shared / own * away - twice
    mean, residual = fit(lambda mean: held(spread, mean, unsure))
    total = held(spread, mean, unsure) + noise(mean)
    weights = c**2 / total
    rest = _rest(weights)
    alone = (rest**2 * unsure / total**2).sum(axis=(-2, -1))
    # The noise of the fitted mean is in all spreads alike:
    alike = rest * shared * c / (own * total)
    alike = alike / np.sqrt(np.maximum(weights.sum(axis=-2, keepdims=True), 1e-300))
    both = np.maximum(alike.sum(axis=(-2, -1)) ** 2 - (alike**2).sum(axis=(-2, -1)), 0)
    doubt = alone / (2 * (groups**2 - 1))
    f = residual(mean)[..., 0] / (groups - 1) / (1 + 2 * (groups - 2) * doubt)
    pvalue = stats.f.sf(f, groups - 1, 1 / (3 * doubt + both / (2 * (groups - 1) ** 3)))
    most = residual(_least(lambda one: -residual(one), counts.shape[:-1]))[..., 0]
    return f, _given_most(pvalue, most, (1, groups - 1))


def _rest(weights: Floats) -> Floats:
    """The share of all weights that others have."""
    return np.asarray(1 - weights / np.maximum(weights.sum(axis=-2, keepdims=True), 1e-300))


def _given_most(pvalue: Floats, most: Floats, shape: tuple[int, int]) -> Floats:
    """The p-value of what a nearest matrix of rank 1 leaves, given its own sum of squares.

    Where noise drowns that matrix, less is left than a chi-square. What is left of p + 1 rows and
    n + 1 columns are p squared singular values; given the `most`, the largest, these are those of
    p rows and n columns of noise, their density times the root of what each is below the most,
    whatever the matrix is. Their sum is a chi-square independent of the shares that each has of
    it. A most below its mean counts as that: p-values are then too large.

    Reference: Guggenberger, Kleibergen, Mavroeidis, A More Powerful Subvector Anderson Rubin Test
    in Linear Instrumental Variables Regression, Quantitative Economics 10, 2019 (p = 1).
    """
    places, freedom = (np.arange(_PARTS) + 0.5) / _PARTS, shape[0] * shape[1]
    shares = _noise_shares(*sorted(shape))
    most = np.maximum(most, freedom * shares[:, -1].mean())

    def weigh(start: Any, width: Floats) -> Floats:
        """The chance of a part of all chi-squares, times the mean of those roots there."""
        squares = stats.chi2.isf(start + width * places.reshape(-1, *[1] * width.ndim), freedom)
        part = squares / most
        roots = (np.sqrt(np.maximum(1 - np.multiply.outer(one, part), 0)).prod(0) for one in shares)
        return np.asarray(sum(root.mean(axis=0) for root in roots) * width)

    beyond = weigh(0.0, pvalue)
    return np.asarray(beyond / np.maximum(beyond + weigh(pvalue, 1 - pvalue), 1e-300))


def _noise_shares(rows: int, columns: int) -> Floats:
    """The shares that squared singular values of noise have of their sum, in examples."""
    if rows == 1:
        return np.ones((1, 1))
    steps = np.arange(1.0, _EXAMPLES * rows * columns + 1) ** 2 * 0.6180339887498949
    noise = stats.norm.ppf(steps % 1).reshape(_EXAMPLES, rows, columns)
    found = np.linalg.eigvalsh(noise @ noise.swapaxes(1, 2))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _least(of: Callable[[Floats], Floats], shape: tuple[int, ...]) -> Floats:
    """Where a function of a mean is least: all means, infinite ones too, as tangents of angles."""
    low, width = np.full((*shape, 1, 1), -np.pi / 2), np.pi
    at = low
    for _ in range(_ROUNDS):
        angles = low + width * np.linspace(0, 1, _POINTS)
        best = of(np.tan(angles)).argmin(axis=-1)[..., None, None]
        at = np.take_along_axis(angles, best, axis=-1)
        low, width = at - width / (_POINTS - 1), 2 * width / (_POINTS - 1)
    return np.asarray(np.tan(at))


def compare_ranks(cells: Floats, sizes: Floats, sigma: float) -> tuple[Floats, Floats, Floats]:
    """Superiority of the second of two groups less a half, its z, and its p-value.

    `cells` are counts by group and cell of values, `sizes` by group. The p-value is that given the
    pooled counts, whose noise weighs wins: weights make them as good as independent of n_2 times
    the first group's counts less n_1 times the second's. With K for 1/2 below a value and -1/2
    above it, wins x'Ky are a multiple of this difference times K times the pooled counts, whatever
    the weights are: given these, normal with mean 0. Without them wins are products of two noises,
    whose tails are long.
    """
    # Half a win for a tie, and 1/2 taken off: the noise of all cells together cancels.
    below = np.cumsum(cells, axis=-1) - cells / 2 - cells.sum(axis=-1, keepdims=True) / 2
    wins = (cells[..., 1, :] * below[..., 0, :]).sum(axis=-1)
    n = np.maximum(sizes, 1.0)
    sampling = np.zeros((*n.shape[:-1], 1))
    for _ in range(2):
        own = n * sampling + sigma**2  # the variance of a group, along the pooled ranks
        weight = n / own
        rank, pooled = ((weight[..., None] * one).sum(axis=-2) for one in (below, cells))
        rows, square = (weight * n).sum(axis=-1), (rank**2).sum(axis=-1) + 1e-9
        spread = (pooled * rank**2).sum(axis=-1) / (rows * square)
        sampling = np.maximum(spread, 0)[..., None]
    own = n * sampling + sigma**2
    # Sizes are noisy: their errors times what pooled noise moves the rank of a common law.
    moved, k = sigma**2 * (weight**2).sum(axis=-1), cells.shape[-1]
    law = np.maximum(square - moved * k * (k - 1) / 4, 0) * moved / (rows**2 * square)
    missed = sigma**2 * (n**2).sum(axis=-1) * law
    z = wins * rows / np.sqrt(((n[..., ::-1] ** 2 * own).sum(axis=-1) + missed) * square)
    pairs = np.maximum(sizes, max(1.0, sigma)).prod(axis=-1)
    return wins / pairs, z, 2 * stats.norm.sf(np.abs(z))


def compare_counts(counts: Floats, sigma: float, law: Any = None) -> tuple[Floats, Floats]:
    """Chi-square of a table and its p-value: rows times columns, or rows times a given `law`.

    Counts are as good as independent Poisson numbers, as the number of rows is fitted too.
    Reference: Kifer, Rogers, A New Class of Private Chi-Square Hypothesis Tests, 2017.
    """
    rows, columns = counts.shape[-2:]
    fitted = (rows + columns - 1 if law is None else 1) / (rows * columns)
    b = _margin(counts, sigma, -2) if law is None else np.asarray(law)
    a = _margin(counts, sigma, -1) / np.maximum(b.sum(axis=-1, keepdims=True), 1e-9)
    variance = a * b + sigma**2 + 1e-9
    # Variances are estimated: their reciprocals are too large by the variance of the fit.
    variance += fitted * sigma**2 / variance
    if law is None:  # the nearest product where variances are one, then where they differ
        scale = [np.sqrt(variance.mean(axis=axis, keepdims=True)) for axis in (-1, -2)]
        b = np.linalg.svd(counts / scale[0] / scale[1], full_matrices=False)[2][..., :1, :]
        b = b * scale[1]
    for _ in range(16):
        a = _multiples(counts, b, variance, -1)
        b = _multiples(counts, a, variance, -2) if law is None else b
    told = ((counts - a * b) ** 2 / variance).sum(axis=(-2, -1))
    if law is not None:
        return told, stats.chi2.sf(told, columns - 1)
    most, freedom = (counts**2 / variance).sum(axis=(-2, -1)) - told, (rows - 1) * (columns - 1)
    # Counts are whole: among few, singular values are often equal, where none of noise would be.
    grain = 1 / np.sqrt(12 * variance.min(axis=(-2, -1)))
    most = (np.sqrt(np.maximum(most, 0)) + grain) ** 2
    return told, _given_most(stats.chi2.sf(told, freedom), most, (rows - 1, columns - 1))


def _margin(counts: Floats, sigma: float, axis: int) -> Floats:
    """Sums along an axis, drawn to their mean as far as they differ by noise (James and Stein).

    Variances that followed noise would weigh cells by what they happen to be.
    """
    sums = counts.sum(axis=axis, keepdims=True)
    mean = sums.mean(axis=(-2, -1), keepdims=True)
    noise = (counts.size // sums.size) * sigma**2 * (sums.shape[-1] * sums.shape[-2] - 1)
    length = np.maximum(((sums - mean) ** 2).sum(axis=(-2, -1), keepdims=True), 1e-300)
    return np.asarray(np.maximum(mean + np.maximum(1 - noise / length, 0) * (sums - mean), 0))


def _multiples(counts: Floats, of: Floats, variance: Floats, axis: int) -> Floats:
    """The multiples of rows or columns that are nearest to counts."""
    top = (counts * of / variance).sum(axis=axis, keepdims=True)
    square = (of * of / variance).sum(axis=axis, keepdims=True)
    return np.asarray(top / np.maximum(square, 1e-300))
