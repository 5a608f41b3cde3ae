"""P-values of noisy counts and sums, by the law that they have under the null hypothesis.

A null hypothesis says that some numbers are multiples of others (sums are the mean times counts, a
table is rows times columns). The statistic is the weighted sum of squared residuals of the nearest
such numbers, each with its variance from sampling and noise, so that nothing is divided by a noisy
count. Its law is about chi-square. How far from it, a simulation tells: data sets of the null
hypothesis that the released numbers are nearest to, with sampling and with the noise
(parametric bootstrap). It looks at released numbers alone, and is the same each time.

The last axes of arrays are those of one data set, so that many are tested at once.

Reference: Kifer, Rogers, A New Class of Private Chi-Square Hypothesis Tests, 2017; Gaboardi, Lim,
Rogers, Vadhan, Differentially Private Chi-Squared Hypothesis Testing, 2016 (simulated null laws).
"""

from typing import Any

import numpy as np
from scipy import stats

from discreet.learn.rows import Floats

_RUNS = 99, 999
"""Simulated data sets, at least and at most: fewer of large tables, which take longer."""

_SHARED = 8
"""Rows of all groups that a group's variance is joined with: few rows may all be alike."""

_ROWS = 64
"""Rows of a group that are drawn; sums of more vary as so many do, times a root."""


def calibrated(pvalue: Floats, null: Floats) -> Floats:
    """P-values as shares of those simulated (first axis) that are no larger.

    Below the smallest hundredth of these the law is continued as a power.
    """
    share, tail = (1 + (null <= pvalue).sum(axis=0)) / (len(null) + 1), max(2, len(null) // 100)
    last = np.clip(np.partition(null, tail - 1, axis=0)[tail - 1], 1e-300, 1 - 1e-9)
    power = np.log(tail / (len(null) + 1)) / np.log(last)
    return np.asarray(np.where(pvalue < last, np.clip(pvalue, 1e-300, 1) ** power, share))


def _simulation(cells: int, runs: int | None) -> tuple[np.random.Generator, int]:
    """The same random numbers each time, and how many data sets with so many cells."""
    return np.random.default_rng(20), runs or int(np.clip((1 << 16) // cells, *_RUNS))


def compare_means(
    counts: Floats, sums: Floats, squares: Floats, sigma: float, runs: int | None = None
) -> tuple[Floats, Floats]:
    """Welch's F of groups with values on [-1, 1], and its p-value.

    Every number has noise of deviation `sigma`. The variance of a group is that around the common
    mean. Simulated values have beta laws with that mean and these variances: near a bound they are
    skewed.
    """
    f, pvalue, mean, spread = _welch(counts, sums, squares, sigma)
    rng, runs = _simulation(counts.shape[-1], runs)
    rows = np.maximum(np.rint(counts), 1.0)
    mean = np.clip(mean, -1 + 1e-6, 1 - 1e-6)
    together = spread.sum(axis=-1, keepdims=True) / rows.sum(axis=-1, keepdims=True)
    variance = (spread + _SHARED * together) / (rows + _SHARED)
    variance = np.clip(variance, 1e-9, (1 - mean**2) * (1 - 1e-3))
    sure, share = ((1 - mean**2) / variance - 1)[..., None], (1 + mean[..., None]) / 2
    x = 2 * rng.beta(share * sure, (1 - share) * sure, (runs, *counts.shape, _ROWS)) - 1
    drawn = np.minimum(rows, _ROWS)[..., None]
    used = np.sqrt(rows[..., None] / drawn) * (np.arange(_ROWS) < drawn)
    second = variance + mean**2
    noise = rng.normal(0, sigma, (3, runs, *counts.shape))
    total = rows * mean + ((x - mean[..., None]) * used).sum(axis=-1) + noise[1]
    squared = rows * second + ((x * x - second[..., None]) * used).sum(axis=-1) + noise[2]
    null = _welch(rows + noise[0], total, squared, sigma)[1]
    return f, calibrated(pvalue, null)


def _welch(c: Floats, s: Floats, q: Floats, sigma: float) -> tuple[Floats, Floats, Floats, Floats]:
    """F, the p-value where its law is that of F, the common mean, and squares around it.

    Degrees of freedom are Satterthwaite's: the noise of sums is known, variances are not.
    """
    groups = c.shape[-1]
    found = s.sum(axis=-1, keepdims=True) / np.maximum(c.sum(axis=-1, keepdims=True), 1.0)
    mean = np.clip(found, -1, 1)
    for _ in range(4):
        spread = np.maximum(q - 2 * mean * s + mean**2 * c, 0)
        total = spread + sigma**2 * (1 + mean**2) + 1e-9
        weights = c**2 / total
        all_of = np.maximum(weights.sum(axis=-1, keepdims=True), 1e-300)
        mean = np.clip((c * s / total).sum(axis=-1, keepdims=True) / all_of, -1, 1)
    unknown = 2 * spread**2 / np.maximum(c, 1) + sigma**2 * (1 + 4 * mean**2 + mean**4)
    rest = 1 - weights / all_of
    doubt = (rest**2 * unknown / (2 * total**2)).sum(axis=-1) / (groups**2 - 1)
    f = ((s - mean * c) ** 2 / total).sum(axis=-1) / (groups - 1) / (1 + 2 * (groups - 2) * doubt)
    return f, stats.f.sf(f, groups - 1, 1 / (3 * doubt + 1e-300)), mean, spread


def compare_ranks(
    cells: Floats, sizes: Floats, sigma: float, runs: int | None = None
) -> tuple[Floats, Floats, Floats]:
    """Superiority of the second of two groups less a half, its z, and its p-value.

    `cells` are counts by group and cell of values, `sizes` by group.
    """
    wins, z = _wins(cells, sizes, sigma)
    rows = np.maximum(np.rint(sizes), 1).astype(np.int64)
    rng, runs = _simulation(2 * cells.shape[-1], runs)
    share = nearest_law(cells.sum(axis=-2), rows.sum(axis=-1))
    drawn = rng.multinomial(rows, share[..., None, :], (runs, *sizes.shape))
    noisy = (
        drawn + rng.normal(0, sigma, drawn.shape),
        rows + rng.normal(0, sigma, (runs, *sizes.shape)),
    )
    null = _wins(*noisy, sigma)[1]
    pairs = np.maximum(sizes, max(1.0, sigma)).prod(axis=-1)
    told = (2 * stats.norm.sf(np.abs(one)) for one in (z, null))
    return wins / pairs, z, calibrated(*told)


def nearest_law(counts: Floats, rows: Floats) -> Floats:
    """Shares of cells: the nearest counts that are not negative and add up to so many rows."""
    falling = -np.sort(-counts, axis=-1)
    over = (np.cumsum(falling, axis=-1) - rows[..., None]) / np.arange(1, counts.shape[-1] + 1)
    kept = np.maximum((falling > over).sum(axis=-1, keepdims=True) - 1, 0)
    share = np.maximum(counts - np.take_along_axis(over, kept, axis=-1), 0)
    return np.asarray(share / share.sum(axis=-1, keepdims=True))


def _wins(cells: Floats, sizes: Floats, sigma: float) -> tuple[Floats, Floats]:
    """Wins of the second group less half of all, and their z.

    Half a win for a tie, and 1/2 taken off: the noise of all cells together cancels.
    """
    below = np.cumsum(cells, axis=-1) - cells / 2 - cells.sum(axis=-1, keepdims=True) / 2
    wins = (cells[..., 1, :] * below[..., 0, :]).sum(axis=-1)
    n = np.maximum(sizes, 0)
    share = np.maximum(cells.sum(axis=-2), 0)
    share = share / np.maximum(share.sum(axis=-1, keepdims=True), 1)
    untied = (1 - (share**3).sum(axis=-1)) / 12
    # A product of two noises has this variance; squares of `below` hold it twice.
    product = sigma**4 * cells.shape[-1] * (cells.shape[-1] - 1) / 4
    noise = np.maximum(sigma**2 * (below**2).sum(axis=(-2, -1)) - product, product)
    return wins, wins / np.sqrt(n.prod(axis=-1) * n.sum(axis=-1) * untied + noise + 1e-9)


def compare_counts(
    counts: Floats, sigma: float, law: Any = None, runs: int | None = None
) -> tuple[Floats, Floats]:
    """Chi-square of a table and its p-value: rows times columns, or rows times a given `law`.

    Counts are as good as independent Poisson numbers, as the number of rows is fitted too.
    """
    rows, columns = counts.shape[-2:]
    free = (columns - 1) * (rows - 1 if law is None else 1)
    told = _residual(counts, sigma, law)
    total = np.maximum(counts.sum(axis=(-2, -1)), 1.0)
    groups = nearest_law(counts.sum(axis=-1), total)[..., None]
    values = nearest_law(counts.sum(axis=-2), total) if law is None else np.asarray(law)
    expected = groups * values[..., None, :] * total[..., None, None]
    rng, runs = _simulation(rows * columns, runs)
    shape = runs, *counts.shape
    null = _residual(rng.poisson(expected, shape) + rng.normal(0, sigma, shape), sigma, law)
    return told, calibrated(*(stats.chi2.sf(one, free) for one in (told, null)))


def _residual(counts: Floats, sigma: float, law: Any) -> Floats:
    """The sum of squares over variances, of a table less the nearest that the hypothesis allows."""
    a = np.maximum(counts.sum(axis=-1, keepdims=True), 1.0)
    b = np.maximum(counts.sum(axis=-2, keepdims=True), 1.0) if law is None else np.asarray(law)
    b = b / b.sum(axis=-1, keepdims=True)
    variance = np.ones_like(counts)
    for step in range(12):
        if step % 3 == 0:
            variance = np.maximum(a * b, 0) + sigma**2 + 1e-9
        a = _multiples(counts, b, variance, -1)
        b = _multiples(counts, a, variance, -2) if law is None else b
    return np.asarray(((counts - a * b) ** 2 / variance).sum(axis=(-2, -1)))


def _multiples(counts: Floats, of: Floats, variance: Floats, axis: int) -> Floats:
    """The multiples of rows or columns that are nearest to counts."""
    top = (counts * of / variance).sum(axis=axis, keepdims=True)
    square = (of * of / variance).sum(axis=axis, keepdims=True)
    return np.asarray(top / np.maximum(square, 1e-300))
