"""Sampled Gaussian noise over the whole range that training uses: close bounds, and monotone."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy import GaussianNoise, Subsampled, compose

RATES = st.sampled_from(["0.000001", "0.0001", "0.0005", "0.002", "0.01", "0.03", "0.1"])
NOISES = st.sampled_from(["0.5", "0.7", "1", "1.5", "2", "4"])
STEPS = st.sampled_from([2, 7, 30, 100, 500, 1000, 5000, 20_000, 10**5])
DELTAS = st.sampled_from(["1e-5", "1e-6", "1e-8", "1e-10"])

FEW = settings(max_examples=15)


def spent(rate, noise, steps, delta):
    one = Subsampled(GaussianNoise(1 / Fraction(noise)), Fraction(rate))
    return compose([(one, steps)]).epsilon(Fraction(delta))


@FEW
@given(RATES, NOISES, STEPS, DELTAS)
def test_bounds_are_a_thousandth_apart(rate, noise, steps, delta):
    found = spent(rate, noise, steps, delta)
    assert found.upper <= found.lower * 1.001


@FEW
@given(RATES, NOISES, STEPS, DELTAS)
def test_more_steps_never_cost_less(rate, noise, steps, delta):
    more = steps + max(1, steps // 100)
    assert spent(rate, noise, steps, delta).upper <= spent(rate, noise, more, delta).upper


@FEW
@given(RATES, NOISES, STEPS, DELTAS)
def test_higher_rates_and_less_noise_never_cost_less(rate, noise, steps, delta):
    here = spent(rate, noise, steps, delta).upper
    assert here <= spent(Fraction(rate) * Fraction(101, 100), noise, steps, delta).upper
    assert here <= spent(rate, Fraction(noise) * Fraction(99, 100), steps, delta).upper


@pytest.mark.parametrize(("rate", "noise"), [("0.002", "1"), ("0.0001", "0.7")])
def test_a_long_run_is_monotone_throughout(rate, noise):
    uppers = [spent(rate, noise, t, "1e-6").upper for t in (1, 2, 5, 20, 80, 300, 900, 3000, 9000)]
    assert uppers == sorted(uppers)
