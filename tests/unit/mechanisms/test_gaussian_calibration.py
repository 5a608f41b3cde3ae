"""From (epsilon, delta) to the variance of Gaussian noise."""

import math
from fractions import Fraction

import pytest
from scipy import stats

from discreet.mechanisms.gaussian_calibration import calibrate, discrete_guarantee, largest_mu


def test_the_analytic_calibration_is_that_of_continuous_noise():
    mu = float(largest_mu(Fraction(1), Fraction(1, 10**6)))
    reached = stats.norm.cdf(mu / 2 - 1 / mu) - math.e * stats.norm.cdf(-mu / 2 - 1 / mu)
    assert reached == pytest.approx(1e-6, rel=1e-6)


@pytest.mark.parametrize("one_law", [True, False])
@pytest.mark.parametrize("square", [1, 400])
def test_a_calibrated_variance_keeps_the_promise_and_little_less_does_not(square, one_law):
    epsilon, delta = Fraction(1, 2), Fraction(1, 10**6)
    found = calibrate(square, epsilon, delta, one_law=one_law)
    kept = discrete_guarantee(square, found, one_law=one_law)
    broken = discrete_guarantee(square, found * Fraction(999, 1000), one_law=one_law)
    assert kept.delta(epsilon).upper <= delta < broken.delta(epsilon).upper
