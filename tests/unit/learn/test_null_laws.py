"""Tests keep their level on data sets that are small, unbalanced or drowned in noise.

Bounds are 0.055, the largest size that is claimed, and five standard errors of 2,000 simulations.
`tests/statistical/test_learning.py` has the whole grid.
"""

import numpy as np
import pytest
from scipy import stats

from discreet import learn
from discreet.learn.hypothesis_tests import compare_counts, compare_means, compare_ranks
from null_data import noisy_cells, noisy_moments, noisy_table

RUNS = 2000
MOST = 0.055 + 5 * (0.05 * 0.95 / RUNS) ** 0.5


def _size(pvalues):
    return float(np.mean(pvalues <= 0.05))


@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
@pytest.mark.parametrize("law", ["normal", "rare coin"])
def test_means_of_small_groups_are_not_told_apart(law, epsilon):
    told = noisy_moments(np.random.default_rng(1), law, 100, [0.8, 0.1, 0.1], RUNS, epsilon)

    # Sizes were 0.006 to 0.033 without the law given the largest residual.
    assert 0.02 < _size(compare_means(*told)[1]) < MOST


@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_ranks_and_counts_of_few_rows_are_not_told_apart(epsilon):
    rng = np.random.default_rng(2)
    ranks = compare_ranks(*noisy_cells(rng, "skewed", 100, 0.1, RUNS, epsilon))[2]
    sparse = [0.9, 0.05, 0.03, 0.02]
    table = compare_counts(*noisy_table(rng, 60, [0.9, 0.1], sparse, RUNS, epsilon))[1]
    counts, sigma = noisy_table(rng, 60, [1.0], sparse, RUNS, epsilon)

    # Sizes were 0.004 to 0.038 without the law given the pooled counts.
    assert 0.1 - MOST < _size(ranks) < MOST
    assert _size(table) < MOST
    assert _size(compare_counts(counts, sigma, sparse)[1]) < MOST


@pytest.mark.parametrize("law", ["skewed", "rare coin"])
def test_means_of_skewed_values_are_told_apart_as_often_as_the_level_says(law):
    runs = 12_000
    told = noisy_moments(np.random.default_rng(6), law, 100, [1 / 3] * 3, runs, 3)

    # It was 0.029 of the rare coin where one mean was fitted to residuals and spreads together.
    assert abs(_size(compare_means(*told)[1]) - 0.05) < 0.005 + 5 * (0.05 * 0.95 / runs) ** 0.5


def test_tables_of_two_groups_keep_their_level_where_noise_drowns_them():
    told = noisy_table(np.random.default_rng(7), 100, [0.5, 0.5], [0.5, 0.5], 12_000, 0.3)

    # It was 0.031 without the law given the largest sum of squares.
    assert abs(_size(compare_counts(*told)[1]) - 0.05) < 0.005 + 5 * (0.05 * 0.95 / 12_000) ** 0.5


@pytest.mark.parametrize("values", [[0.5, 0.3, 0.2], [0.6, 0.2, 0.1, 0.05, 0.05]])
def test_tables_of_three_groups_keep_their_level_where_noise_drowns_them(values):
    told = noisy_table(np.random.default_rng(8), 100, [0.4, 0.3, 0.3], values, 6000, 0.3)

    # Sizes were 0.018 and 0.015 with the law of one direction, and twice the variance of noise.
    assert abs(_size(compare_counts(*told)[1]) - 0.05) < 0.005 + 5 * (0.05 * 0.95 / 6000) ** 0.5


@pytest.mark.parametrize(("rows", "epsilon"), [(100, 1), (30, 3)])
def test_tables_of_many_cells_are_not_told_apart_where_sampling_and_noise_are_alike(rows, epsilon):
    told = noisy_table(np.random.default_rng(9), rows, [0.2] * 5, [0.1] * 10, RUNS, epsilon)

    # Sizes were 0.1 where the largest sum was taken as if variances were known.
    assert _size(compare_counts(*told)[1]) < MOST


def test_large_tables_beside_the_noise_keep_small_levels():
    runs = 6000
    told = noisy_table(np.random.default_rng(10), 200, [0.5] * 2, [0.05] * 20, runs, 0.4)
    pvalues = compare_counts(*told)[1]

    # Sizes were 0.067, 0.018 and 0.008: the nearest product was not found.
    for level in (0.05, 0.01, 0.001):
        assert np.mean(pvalues <= level) < 1.1 * level + 5 * (level / runs) ** 0.5


@pytest.mark.parametrize("sigma", [1, 2, 4])
def test_a_table_without_rows_keeps_small_levels(sigma):
    """Noise of whole numbers has equal singular values, which p-values of 0 were told of."""
    runs = 4000
    noise = np.rint(np.random.default_rng(11).normal(0, sigma, (runs, 2, 2)))
    pvalues = compare_counts(noise, (sigma**2 + 1 / 12) ** 0.5)[1]

    # Sizes at 0.001 were 0.02, 0.008 and 0.004.
    for level in (0.05, 0.01, 0.001):
        assert np.mean(pvalues <= level) <= level


def test_differences_are_found():
    rng = np.random.default_rng(3)
    means = noisy_moments(rng, "normal", 1000, [0.5, 0.5], 500, 1, shift=0.2)
    ranks = noisy_cells(rng, "normal", 1000, 0.5, 500, 1, shift=0.2)
    table = noisy_table(rng, 1000, [0.5, 0.5], [0.5, 0.5], 500, 1, effect=0.05)

    assert _size(compare_means(*means)[1]) > 0.95
    assert _size(compare_ranks(*ranks)[2]) > 0.8
    assert _size(compare_counts(*table)[1]) > 0.8


def test_a_test_that_forgets_the_noise_is_found_out():
    *totals, sigma = noisy_moments(np.random.default_rng(4), "normal", 100, [0.5, 0.5], RUNS, 1)

    assert _size(compare_means(*totals, sigma / 100)[1]) > MOST


def test_without_noise_tables_are_pearsons():
    table = np.array([[20.0, 30, 50], [35, 25, 40]])
    pearson = stats.chi2_contingency(table)
    given = np.array([0.25, 0.35, 0.4])
    goodness = stats.chisquare(table[0], 100 * given)

    assert compare_counts(table, 1e-6)[0] == pytest.approx(pearson.statistic, rel=0.02)
    assert compare_counts(table[:1], 1e-6, given)[0] == pytest.approx(goodness.statistic, rel=0.05)


def _discovery_rate(z, null, *, any_dependence=False):
    """The mean share of true hypotheses among those rejected, of rows of z-scores."""
    shares = []
    for p in 2 * stats.norm.sf(np.abs(z)):
        rejected = learn.benjamini_hochberg(p, any_dependence=any_dependence)
        shares.append((rejected & null).sum() / max(1, rejected.sum()))
    return np.mean(shares)


def test_false_discoveries_of_private_p_values_are_few():
    rng, many = np.random.default_rng(5), 20
    null = np.arange(many) < 15
    tests = []
    for one in null:
        told = noisy_moments(rng, "normal", 200, [0.5, 0.5], 400, 1, shift=0.0 if one else 0.4)
        tests.append(compare_means(*told)[1])
    found = [learn.benjamini_hochberg(p) for p in np.stack(tests, axis=-1)]
    rate = np.mean([(one & null).sum() / max(1, one.sum()) for one in found])
    power = np.mean([one[~null].mean() for one in found])

    assert rate < 0.05 + 5 * 0.15 / 400**0.5
    assert power > 0.5

    shared = rng.normal(size=(400, 1)) * 0.7 + rng.normal(size=(400, many)) * 0.51**0.5
    opposed = rng.normal(size=(400, 1)) * np.where(np.arange(many) % 2, 1, -1)
    for z in (shared + 4 * ~null, opposed + 4 * ~null):
        assert _discovery_rate(z, null) < 0.05 + 5 * 0.2 / 400**0.5
        assert _discovery_rate(z, null, any_dependence=True) < 0.05 + 5 * 0.1 / 400**0.5
