"""Binomial logarithms against MPFR."""

import gmpy2
import numpy as np
import pytest

from discreet.privacy.numerics.binomial import log_probability


def exact(n, k, p):
    with gmpy2.context(precision=220):

        def log_factorial(m):
            return gmpy2.lngamma(gmpy2.mpfr(m) + 1)

        chance = gmpy2.mpfr(p)
        heads = k * gmpy2.log(chance) if k else gmpy2.mpfr(0)
        tails = (n - k) * gmpy2.log1p(-chance) if n - k else gmpy2.mpfr(0)
        return log_factorial(n) - log_factorial(k) - log_factorial(n - k) + heads + tails


def case(rng):
    n = int(10 ** rng.uniform(0, 9))
    p = float(rng.choice([0.5, 10 ** rng.uniform(-7, -0.01), 1 - 10 ** rng.uniform(-7, -0.01)]))
    around = round(n * p + rng.normal(0, 8) * ((n * p * (1 - p)) ** 0.5 + 1))
    near = min(max(around, 0), n)
    return n, int(rng.choice([0, n, rng.integers(0, n, endpoint=True), near, near])), p


def test_the_error_bound_holds_against_high_precision():
    rng = np.random.default_rng(7)
    for _ in range(1500):
        n, k, p = case(rng)
        value, error = log_probability(float(n), np.array([float(k)]), p)
        assert abs(gmpy2.mpfr(float(value[0])) - exact(n, k, p)) <= error[0]
        assert error[0] < 1e-12 * (10 + abs(value[0]) + abs(k - n * p))


def test_arrays_of_counts_and_sizes_go_together():
    n = np.array([0.0, 1.0, 5.0, 40.0])
    value, _ = log_probability(n, np.array([0.0, 1.0, 2.0, 17.0]), 0.5)
    reference = [float(exact(int(m), k, 0.5)) for m, k in zip(n, (0, 1, 2, 17), strict=True)]
    assert value == pytest.approx(reference, abs=1e-12)
