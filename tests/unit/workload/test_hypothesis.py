"""Tables of pairs without their noise, and tables that agree with them."""

from itertools import combinations

import numpy as np
import pytest

from discreet.workload.histogram import sums_of
from discreet.workload.hypothesis import raked, shrunk_pair


def groups(size=24, hidden=3, rows=40_000):
    """Counts of two columns that depend on each other by a few hidden groups alone."""
    rng = np.random.default_rng(1)
    laws = rng.dirichlet(np.full(size, 0.5), (2, hidden))
    return rows / hidden * np.einsum("gi,gj->ij", *laws)


def test_noise_is_taken_off_a_pair_and_its_dependence_stays():
    exact, sigma = groups(), 60.0
    noisy = exact + np.random.default_rng(2).normal(0, sigma, exact.shape)
    found = shrunk_pair(noisy, sigma, exact.sum(axis=1), exact.sum(axis=0))
    independent = np.outer(exact.sum(axis=1), exact.sum(axis=0)) / exact.sum()
    error = [float(np.square(one - exact).sum()) for one in (found, noisy, independent)]
    assert error[0] < error[1] / 2
    assert error[0] < error[2] / 4
    assert (found >= 0).all()
    assert found.sum(axis=1) == pytest.approx(exact.sum(axis=1), rel=0.02, abs=5)


@pytest.mark.parametrize("shape", [(2, 2), (1, 5), (20, 3)])
def test_noise_alone_is_no_dependence(shape):
    rows, columns = np.full(shape[0], 900.0 / shape[0]), np.full(shape[1], 900.0 / shape[1])
    alone = np.outer(rows, columns) / 900
    signs = np.where(np.add.outer(*map(np.arange, shape)) % 2, 1.0, -1.0)
    noisy = alone + 0.5 * signs  # half a deviation in each cell
    assert shrunk_pair(noisy, 1.0, rows, columns) == pytest.approx(alone)


def test_a_dependence_that_fills_all_ranks_stays():
    exact = np.diag(np.full(16, 500.0))
    found = shrunk_pair(exact, 5.0, exact.sum(axis=0), exact.sum(axis=1))
    assert found == pytest.approx(exact, abs=10)


def test_a_raked_table_has_the_sums_of_all_its_pairs():
    exact = np.random.default_rng(3).gamma(1.0, 10.0, (4, 5, 3))
    axes = ("a", "b", "c")
    pairs = {pair: exact.sum(axis=sums_of(axes, pair)) for pair in combinations(axes, 2)}
    found = raked(np.ones(exact.shape), axes, pairs)
    for pair, sums in pairs.items():
        assert found.sum(axis=sums_of(axes, pair)) == pytest.approx(sums, rel=0.02)


def test_sums_of_nothing_leave_nothing():
    assert raked(np.ones((2, 2)), ("a", "b"), {("a",): np.array([0.0, 3.0])}).tolist() == [
        [0, 0],
        [1.5, 1.5],
    ]
    assert raked(np.zeros((2, 2)), ("a", "b"), {("a",): np.zeros(2)}).tolist() == [[0, 0], [0, 0]]
