"""Noisy totals of many data sets at once for which a null hypothesis is true, or nearly."""

import numpy as np

from discreet.learn.noisy_sums import mu_squared_of

LAWS = {
    "normal": lambda rng, shape: rng.normal(0, 0.4, shape),
    "off centre": lambda rng, shape: rng.normal(0.6, 0.1, shape),
    "skewed": lambda rng, shape: rng.exponential(0.15, shape) - 1,
    "rare coin": lambda rng, shape: np.where(rng.random(shape) < 0.1, 1.0, -1.0),
}
"""Laws of values on [-1, 1]."""


def sigma_of(epsilon, square):
    """The deviation of the noise of totals whose rows have a squared norm."""
    return (square / float(mu_squared_of(epsilon, 1e-6))) ** 0.5


def drawn(rng, law, rows, shares, runs, shift=0.0):
    """Values of data sets, and their groups; each group lies `shift` above the one before."""
    by = np.searchsorted(np.cumsum(shares)[:-1], rng.random((runs, rows)))
    return np.clip(LAWS[law](rng, (runs, rows)) + shift * by, -1, 1), by


def noisy_moments(rng, law, rows, shares, runs, epsilon, shift=0.0):
    """Counts, sums and sums of squares by group, and the deviation of their noise."""
    sigma, parts = sigma_of(epsilon, 3), []
    for at in range(0, runs, 1000):
        x, by = drawn(rng, law, rows, shares, min(1000, runs - at), shift)
        here = [by == group for group in range(len(shares))]
        powers = (np.stack([(x**k * one).sum(axis=1) for one in here], -1) for k in range(3))
        parts.append(np.stack(list(powers)))
    exact = np.concatenate(parts, axis=1)
    return (*(exact + rng.normal(0, sigma, exact.shape)), sigma)


def noisy_cells(rng, law, rows, share, runs, epsilon, shift=0.0, cells=32):
    """Counts of two groups by cell, their sizes, and the deviation of their noise."""
    sigma, parts = sigma_of(epsilon, 2), []
    for at in range(0, runs, 1000):
        some = min(1000, runs - at)
        x, by = drawn(rng, law, rows, [1 - share, share], some, shift)
        place = np.minimum((x + 1) * cells / 2, cells - 1).astype(int)
        flat = (np.arange(some)[:, None] * 2 + by) * cells + place
        counts = np.bincount(flat.ravel(), minlength=some * 2 * cells)
        parts.append(counts.reshape(some, 2, cells))
    exact = np.concatenate(parts)
    noise = rng.normal(0, sigma, exact.shape), rng.normal(0, sigma, (runs, 2))
    return exact + noise[0], exact.sum(axis=-1) + noise[1], sigma


def noisy_table(rng, rows, groups, law, runs, epsilon, effect=0.0):
    """Tables of independent groups and values, or nearly, and the deviation of their noise."""
    p = np.outer(groups, law)
    p[0, :2] += np.array([1, -1]) * effect
    if len(groups) > 1:
        p[1, :2] -= np.array([1, -1]) * effect
    sigma = sigma_of(epsilon, 1)
    exact = rng.multinomial(rows, p.ravel(), runs).reshape(runs, *p.shape)
    return exact + rng.normal(0, sigma, exact.shape), sigma
