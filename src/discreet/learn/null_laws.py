"""P-values of noisy counts and sums, by the law that they have under the null hypothesis.

No estimate is divided by a noisy count. A null hypothesis says that some numbers are multiples of
others (sums are the mean times counts, a table is rows times columns), each number has its variance
from sampling and noise, and the statistic is the least weighted sum of squared residuals over all
means, or all rows and columns. Its law is chi-square where the data fixes those. Where noise drowns
them, the least sum of squares is smaller, so that the level is kept.

The last axes of arrays are those of one data set, so that many are tested at once.

Reference: Guggenberger, Kleibergen, Mavroeidis, Chen, On the Asymptotic Sizes of Subset
Anderson-Rubin and Lagrange Multiplier Tests, 2012 (the least statistic over what is not known).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from discreet.learn.rows import Floats

_ROUNDS, _POINTS = 10, 17


def compare_means(
    counts: Floats, sums: Floats, squares: Floats, sigma: float
) -> tuple[Floats, Floats]:
    """Welch's F of groups with values on [-1, 1], and its p-value.

    Every number has noise of deviation `sigma`. The variance of a group is that around the common
    mean, with one row more that is as far away as it can be: few rows of a skewed law underrate
    theirs. Degrees of freedom are Satterthwaite's: the noise of sums is known, variances are not.
    """
    groups = counts.shape[-1]
    c, s, q = (one[..., None] for one in (counts, sums, squares))

    def spread(mean: Floats) -> Floats:
        return np.asarray(np.maximum(q - 2 * mean * s + mean**2 * c, 0))

    def variance(mean: Floats) -> Floats:
        far = (1 + np.minimum(np.abs(mean), 1)) ** 2
        return np.asarray(spread(mean) + far + sigma**2 * (1 + mean**2))

    def residual(mean: Floats) -> Floats:
        return np.asarray(((s - mean * c) ** 2 / variance(mean)).sum(axis=-2))

    mean = _least(residual, counts.shape[:-1])
    total, each = variance(mean), spread(mean)
    unknown = 2 * each**2 / np.maximum(c, 1) + sigma**2 * (1 + 4 * mean**2 + mean**4)
    weights = c**2 / total
    rest = 1 - weights / np.maximum(weights.sum(axis=-2, keepdims=True), 1e-300)
    doubt = (rest**2 * unknown / (2 * total**2)).sum(axis=(-2, -1)) / (groups**2 - 1)
    f = residual(mean)[..., 0] / (groups - 1) / (1 + 2 * (groups - 2) * doubt)
    return f, stats.f.sf(f, groups - 1, 1 / (3 * doubt))


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

    `cells` are counts by group and cell of values, `sizes` by group.
    """
    # Half a win for a tie, and 1/2 taken off: the noise of all cells together cancels.
    below = np.cumsum(cells, axis=-1) - cells / 2 - cells.sum(axis=-1, keepdims=True) / 2
    wins = (cells[..., 1, :] * below[..., 0, :]).sum(axis=-1)
    n = np.maximum(sizes, 0)
    share = np.maximum(cells.sum(axis=-2), 0)
    share = share / np.maximum(share.sum(axis=-1, keepdims=True), 1)
    untied = (1 - (share**3).sum(axis=-1)) / 12
    # A product of two noises has this variance; squares of `below` hold it twice.
    product = sigma**4 * cells.shape[-1] * (cells.shape[-1] - 1) / 4
    noise = np.maximum(sigma**2 * (below**2).sum(axis=(-2, -1)) - product, product)
    z = wins / np.sqrt(n.prod(axis=-1) * n.sum(axis=-1) * untied + noise + 1e-9)
    pairs = np.maximum(sizes, max(1.0, sigma)).prod(axis=-1)
    return wins / pairs, z, 2 * stats.norm.sf(np.abs(z))


def compare_counts(counts: Floats, sigma: float, law: Any = None) -> tuple[Floats, Floats]:
    """Chi-square of a table and its p-value: rows times columns, or rows times a given `law`.

    Counts are as good as independent Poisson numbers, as the number of rows is fitted too.
    Reference: Kifer, Rogers, A New Class of Private Chi-Square Hypothesis Tests, 2017.
    """
    rows, columns = counts.shape[-2:]
    a = np.maximum(counts.sum(axis=-1, keepdims=True), 1.0)
    b = np.maximum(counts.sum(axis=-2, keepdims=True), 1.0) if law is None else np.asarray(law)
    b = b / b.sum(axis=-1, keepdims=True)
    variance = np.ones_like(counts)
    for step in range(32):
        if step % 4 == 0:
            variance = np.maximum(a * b, 0) + sigma**2 + 1e-9
        a = _multiples(counts, b, variance, -1)
        b = _multiples(counts, a, variance, -2) if law is None else b
    # Variances are estimated: their reciprocals are too large by the variance of the fit.
    fitted = (rows + columns - 1 if law is None else 1) / (rows * columns)
    told = ((counts - a * b) ** 2 / (variance + fitted * min(1.0, sigma**2))).sum(axis=(-2, -1))
    return told, stats.chi2.sf(told, (columns - 1) * (rows - 1 if law is None else 1))


def _multiples(counts: Floats, of: Floats, variance: Floats, axis: int) -> Floats:
    """The multiples of rows or columns that are nearest to counts."""
    top = (counts * of / variance).sum(axis=axis, keepdims=True)
    square = (of * of / variance).sum(axis=axis, keepdims=True)
    return np.asarray(top / np.maximum(square, 1e-300))
