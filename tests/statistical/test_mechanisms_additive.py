"""Additive mechanisms against their exact laws, through the release path itself.

A correct mechanism fails one of these checks with probability at most 1e-6 (`ALARM`); bits are
fixed, so that the verdict is the same on every run.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.mechanisms.continual import FactorizedCount, TreeCount
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.grid import INTEGERS, sqrt_up
from discreet.mechanisms.histogram import Histogram
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy import Neighbours

ALARM = 1e-6
RUNS = 100_000


def laplace_law(scale):
    q = math.exp(-1 / scale)
    return lambda k: (1 - q) / (1 + q) * q ** abs(k)


def gaussian_law(variance):
    reach = math.ceil(12 * math.sqrt(variance)) + 2
    total = math.fsum(math.exp(-k * k / (2 * variance)) for k in range(-reach, reach + 1))
    return lambda k: math.exp(-k * k / (2 * variance)) / total


def fit(noise, law):
    """The p-value of integer noise against a law, rare outcomes pooled at both ends."""
    reach = 0
    while law(reach + 1) * len(noise) > 10:
        reach += 1
    expected = np.array([law(k) for k in range(-reach, reach + 1)])
    rest = (1 - expected.sum()) / 2
    inside = np.abs(noise) <= reach
    counts = np.bincount(noise[inside] + reach, minlength=2 * reach + 1)
    observed = [(noise < -reach).sum(), *counts, (noise > reach).sum()]
    chances = np.array([rest, *expected, rest])
    kept = chances * len(noise) > 1
    return stats.chisquare(
        np.array(observed)[kept],
        chances[kept] / chances[kept].sum() * np.array(observed)[kept].sum(),
    ).pvalue


def covered(inside, confidence, runs):
    """Whether a share of hits is that of `confidence` or more, but for the alarm rate."""
    return stats.binom.cdf(inside, runs, confidence) > ALARM


MECHANISMS = [
    (Laplace(epsilon=1, sensitivity=1), laplace_law(1)),
    (Laplace(epsilon=0.3, sensitivity=2), laplace_law(2 / 0.3)),
    (Laplace(epsilon=1, sensitivity=1, grid=0.25), laplace_law(4)),
    (Laplace(scale=8, sensitivity=4, grid=4), laplace_law(2)),
    (Gaussian(rho=0.5, sensitivity=1), gaussian_law(1)),
    (Gaussian(variance=50, sensitivity=1, grid=0.5), gaussian_law(200)),
    (Gaussian(rho=0.1, sensitivity=sqrt_up(Fraction(2)), grid=INTEGERS), gaussian_law(5)),
]


@pytest.mark.parametrize(("mechanism", "law"), MECHANISMS)
def test_a5_released_noise_has_the_exact_law(mechanism, law):
    claim = mechanism.claim
    for value in (claim.pairs[0].left, claim.pairs[0].right):
        answers = claim.draw(value, RUNS)
        steps = np.rint(np.asarray(answers, dtype=float) / float(mechanism.grid.step)).astype(int)
        assert fit(steps - mechanism.grid.index(value), law) > ALARM


def test_a5_the_check_notices_noise_of_the_wrong_scale():
    noisy = Laplace(scale=1.05, sensitivity=1).draw(0, RUNS)
    assert fit(noisy, laplace_law(1)) < ALARM


def test_a5_the_check_notices_a_zero_of_double_mass():
    """As if -0 had not been rejected."""
    noisy = Laplace(scale=3, sensitivity=1).draw(0, RUNS)
    extra = np.flatnonzero(np.abs(noisy) == 1)[::10]
    noisy[extra] = 0
    assert fit(noisy, laplace_law(3)) < ALARM


@pytest.mark.parametrize("release", ["one", "many"])
def test_scalars_and_vectors_have_the_same_law(release):
    noisy = Laplace(epsilon=1, sensitivity=1)
    if release == "one":
        draws = np.array([noisy.release(100) for _ in range(20_000)])
    else:
        draws = noisy.release(np.full(20_000, 100))
    assert fit(draws - 100, laplace_law(1)) > ALARM


@pytest.mark.parametrize(("mechanism", "law"), MECHANISMS)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_stated_error_holds_as_often_as_stated(mechanism, law, confidence):
    value = mechanism.claim.pairs[0].left
    truth = float(value)
    width = mechanism.error(confidence)
    answers = np.asarray(mechanism.draw(value, RUNS), dtype=float)
    inside = int((np.abs(answers - truth) <= width).sum())
    assert covered(inside, confidence, RUNS)
    # Nor is it needlessly wide: one step less and the noise alone would not be held.
    step = float(mechanism.grid.step)
    steps = round((width - float(mechanism.grid.rounding)) / step)
    exact = math.fsum(law(k) for k in range(-steps + 1, steps))
    assert steps == 0 or exact < confidence


def test_e5_the_coordinates_of_a_vector_are_not_correlated():
    noise = np.asarray(Laplace(epsilon=1, sensitivity=1).draw([0] * 8, RUNS), dtype=float)
    correlations = np.corrcoef(noise.T)[np.triu_indices(8, 1)] * math.sqrt(RUNS)
    assert np.abs(correlations).max() < 6


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_histograms_have_the_noise_of_their_neighbours(neighbours):
    noisy = Histogram(bins=RUNS, epsilon=1, neighbours=neighbours).release(np.full(RUNS, 7)) - 7
    assert fit(noisy, laplace_law(2 if neighbours is Neighbours.CHANGE_ONE else 1)) > ALARM


@pytest.mark.parametrize("k", [2, 3, 10])
def test_reports_have_the_stated_probabilities(k):
    survey = RandomizedResponse(epsilon=1, k=k)
    for answer in (0, k - 1):
        reports = survey.release(np.full(RUNS, answer))
        expected = np.full(k, float(survey.lie))
        expected[answer] = float(survey.truth)
        counts = np.bincount(reports, minlength=k)
        assert stats.chisquare(counts, expected * RUNS).pvalue > ALARM


def test_scalar_reports_have_the_stated_probabilities():
    survey = RandomizedResponse.two_coins()
    truths = sum(survey.release(1) for _ in range(20_000))
    assert stats.binomtest(truths, 20_000, 0.75).pvalue > ALARM


def test_a_million_reports_are_estimated_within_their_error():
    survey = RandomizedResponse(epsilon=1, k=4)
    answers = np.repeat(np.arange(4), [400_000, 300_000, 200_000, 100_000])
    estimate = survey.estimate(survey.release(answers))
    width = survey.error(1 - ALARM / 4, n=answers.size)
    assert np.abs(estimate - [0.4, 0.3, 0.2, 0.1]).max() <= width
    assert width < 0.02


def test_estimates_of_a_proportion_have_the_stated_variance():
    survey, people, surveys = RandomizedResponse(gamma=0.2), 100, 20_000
    answers = np.tile(np.arange(people) < 30, (surveys, 1))
    shares = survey.release(answers).mean(axis=1)
    estimates = (shares - float(survey.lie)) / 0.4
    ratio = estimates.var() / survey.variance(people)
    low, high = stats.chi2.ppf([ALARM, 1 - ALARM], surveys - 1) / surveys
    # Binomial shares are not normal: a tenth of the width more.
    assert low - 0.005 < ratio < high + 0.005
    assert abs(estimates.mean() - 0.3) < 6 * math.sqrt(survey.variance(people) / surveys)


COUNTERS = [
    TreeCount(horizon=100, epsilon=2),
    TreeCount(horizon=100, epsilon=0.001, sensitivity=50),
    FactorizedCount(horizon=100, rho=0.5),
]


@pytest.mark.parametrize("counter", COUNTERS)
@pytest.mark.parametrize("time", [1, 63, 100])
def test_running_counts_are_within_their_error_as_often_as_stated(counter, time):
    runs = 20_000
    increments = np.arange(100) % 5
    answers = np.asarray(counter.claim.draw(increments, runs), dtype=float)[:, time - 1]
    misses = np.abs(answers - np.cumsum(increments)[time - 1])
    inside = int((misses <= counter.error(0.9, time)).sum())
    assert covered(inside, 0.9, runs)
    assert stats.binom.sf(inside, runs, 0.9 if counter.error(0.9, time) > 50 else 0.94) > ALARM


@pytest.mark.audit  # smaller streams are held against their whole releases on every run
@pytest.mark.parametrize("counter", COUNTERS[::2])
@pytest.mark.usefixtures("fixed_bits")
def test_streams_and_whole_releases_have_the_same_law(counter):
    increments = [1, 2, 0, 4, 3, 1, 0]

    def in_steps():
        stream = counter.start()
        return [stream.release(x) for x in increments][-1]

    singly = [in_steps() for _ in range(3000)]
    at_once = [counter.release(increments)[-1] for _ in range(3000)]
    assert stats.ks_2samp(singly, at_once).pvalue > ALARM
