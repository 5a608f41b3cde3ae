"""How often tests at level 0.05 reject: a true hypothesis (size), and a false one (power).

    python -m benchmarks.levels [RUNS [ROWS ...]]

Beside each test is the same without privacy, of the same data: Welch's, Mann-Whitney's with ties,
Pearson's. Noise is that of one release at each epsilon, delta 1e-6; counts, sums and ranks are
those that the tests release. Two groups of the same size, or three.
"""

import sys

import numpy as np
from scipy import stats

from discreet.learn.hypothesis_tests import compare_counts, compare_means, compare_ranks
from discreet.learn.noisy_sums import mu_squared_of

EPSILONS = 0.3, 1, 3
LAWS = {
    "normal": lambda rng, shape: rng.standard_normal(shape) * 0.3,
    "uniform": lambda rng, shape: rng.random(shape) * 2 - 1,
    "exponential": lambda rng, shape: rng.standard_exponential(shape) * 0.25 - 1,
    "lognormal": lambda rng, shape: np.exp(rng.standard_normal(shape)) * 0.1 - 1,
    "five values": lambda rng, shape: rng.integers(0, 5, shape) * 0.5 - 1,
    "Poisson": lambda rng, shape: rng.poisson(1.0, shape) * 0.2 - 1,
    "rare coin": lambda rng, shape: np.where(rng.random(shape) < 0.1, 1.0, -1.0),
    "off centre": lambda rng, shape: rng.standard_normal(shape) * 0.1 + 0.6,
}
"""Values cut to [-1, 1], the bounds."""

DEVIATION = {"normal": 0.3, "uniform": 0.577, "exponential": 0.25, "five values": 0.707}
TABLES = {
    "one proportion, 0.5": ([1.0], [0.5, 0.5]),
    "one proportion, 0.2": ([1.0], [0.8, 0.2]),
    "two proportions, 0.5": ([0.5, 0.5], [0.5, 0.5]),
    "two proportions, 0.1": ([0.5, 0.5], [0.9, 0.1]),
    "goodness of fit, 4": ([1.0], [0.4, 0.3, 0.2, 0.1]),
    "goodness of fit, 10": ([1.0], [0.1] * 10),
    "independence, 2 x 5": ([0.5, 0.5], [0.4, 0.3, 0.1, 0.1, 0.1]),
    "independence, 3 x 3": ([0.5, 0.3, 0.2], [0.5, 0.3, 0.2]),
    "independence, 3 x 5": ([0.4, 0.3, 0.3], [0.6, 0.2, 0.1, 0.05, 0.05]),
}
_AT_ONCE = 1_000_000


def totals(rng, law, rows, groups, runs, shift=0.0):
    """Counts, sums and sums of squares by group of many data sets, and counts by cell of 32."""
    moments, cells, step = [], [], max(1, min(runs, _AT_ONCE // rows))
    for at in range(0, runs, step):
        many = min(step, runs - at)
        by = rng.integers(0, groups, (many, rows))
        x = np.clip(LAWS[law](rng, (many, rows)) + shift * by, -1, 1)
        here = [by == group for group in range(groups)]
        powers = (np.stack([(x**k * one).sum(axis=1) for one in here], -1) for k in range(3))
        moments.append(np.stack(list(powers)))
        place = np.minimum((x + 1) * 16, 31).astype(np.int64)
        flat = (np.arange(many)[:, None] * groups + by) * 32 + place
        found = np.bincount(flat.ravel(), minlength=many * groups * 32)
        cells.append(found.reshape(many, groups, 32))
    return np.concatenate(moments, axis=1), np.concatenate(cells)


def welch(counts, sums, squares):
    n = np.maximum(counts, 2)
    mean = sums / n
    weight = n / np.maximum((squares - n * mean**2) / (n - 1), 1e-12)
    total, k = weight.sum(axis=-1, keepdims=True), n.shape[-1]
    middle = (weight * mean).sum(axis=-1, keepdims=True) / total
    doubt = ((1 - weight / total) ** 2 / (n - 1)).sum(axis=-1) / (k * k - 1)
    f = (weight * (mean - middle) ** 2).sum(axis=-1) / (k - 1) / (1 + 2 * (k - 2) * doubt)
    return stats.f.sf(f, k - 1, 1 / (3 * doubt))


def mann_whitney(cells):
    n1, n2 = cells.sum(axis=-1).T
    ties, n = cells.sum(axis=1), n1 + n2
    below = np.cumsum(cells[:, 0], axis=-1) - cells[:, 0] / 2
    wins = (cells[:, 1] * below).sum(axis=-1) - n1 * n2 / 2
    variance = n1 * n2 / 12 * (n + 1 - (ties**3 - ties).sum(axis=-1) / (n * (n - 1)))
    return 2 * stats.norm.sf(np.abs(wins) / np.sqrt(variance))


def pearson(table, law):
    n = table.sum(axis=(1, 2), keepdims=True)
    both = table.sum(axis=1, keepdims=True) * table.sum(axis=2, keepdims=True) / n
    expected = n * np.asarray(law) if table.shape[1] == 1 else both
    told = ((table - expected) ** 2 / np.maximum(expected, 1e-9)).sum(axis=(1, 2))
    return stats.chi2.sf(told, max(1, table.shape[1] - 1) * (table.shape[2] - 1))


def noisy(rng, exact, epsilon, square):
    sigma = (square / float(mu_squared_of(epsilon, 1e-6))) ** 0.5
    return exact + rng.normal(0, sigma, exact.shape), sigma


def means(rng, moments, epsilon):
    told, sigma = noisy(rng, moments, epsilon, 3)
    return compare_means(*told, sigma)[1]


def ranks(rng, cells, epsilon):
    told, sigma = noisy(rng, np.dstack([cells, cells.sum(axis=-1)]), epsilon, 2)
    return compare_ranks(told[..., :-1], told[..., -1], sigma)[2]


def counts(rng, table, epsilon, law):
    told, sigma = noisy(rng, table, epsilon, 1)
    return compare_counts(told, sigma, law if table.shape[1] == 1 else None)[1]


def show(rows, name, plain, private):
    share = [float(np.mean(one <= 0.05)) for one in (plain, *private)]
    print(f"{rows:6} {name:34}" + "".join(f"{one:9.4f}" for one in share), flush=True)


def of_values(rng, rows, runs, law, shift=0.0):
    said = f"{law}, {shift:.2f} apart" if shift else law
    for groups, name in ((2, "t"), (3, "anova")):
        moments, cells = totals(rng, law, rows, groups, runs, shift)
        told = [means(rng, moments, epsilon) for epsilon in EPSILONS]
        show(rows, f"{name}, {said}", welch(*moments), told)
        if groups == 2:
            told = [ranks(rng, cells, epsilon) for epsilon in EPSILONS]
            show(rows, f"mann-whitney, {said}", mann_whitney(cells), told)


def of_counts(rng, rows, runs, name, effect=0.0):
    groups, law = TABLES[name]
    p = np.outer(groups, law)
    p[0, :2] += np.array([1, -1]) * effect * groups[0]
    table = rng.multinomial(rows, p.ravel(), runs).reshape(runs, *p.shape)
    told = [counts(rng, table, epsilon, law) for epsilon in EPSILONS]
    show(rows, f"{name}, {effect:.2f} apart" if effect else name, pearson(table, law), told)


def main():
    runs, *sizes = [int(one) for one in sys.argv[1:]] or [10_000]
    rng = np.random.default_rng(0)
    print(f"{'rows':6} {'test':34}{'plain':>9}" + "".join(f"{e:>9}" for e in EPSILONS))
    for rows in sizes or (100, 300, 1000, 10_000):
        for law in LAWS:
            of_values(rng, rows, runs, law)
        for name in TABLES:
            of_counts(rng, rows, runs, name)
        for law, deviation in DEVIATION.items():
            of_values(rng, rows, runs // 10, law, deviation / 2)
        for name in TABLES:
            of_counts(rng, rows, runs // 10, name, 0.1)


if __name__ == "__main__":
    main()
