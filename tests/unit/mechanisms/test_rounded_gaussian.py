"""Rounded Gaussian noise as a mechanism."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.mechanisms import INTEGERS, RoundedGaussian
from discreet.privacy import GDP, RHO
from discreet.privacy.budgets.charges import price
from discreet.privacy.numerics.rounding import total


def test_mu_squared_is_the_squared_sensitivity_over_the_variance():
    noisy = RoundedGaussian(mu_squared=Fraction(1, 4), sensitivity=3, dimension=5)
    assert noisy.variance == 36
    assert noisy.guarantee == GDP(Fraction(1, 2))
    assert price(noisy.guarantee, RHO).amount == noisy.rho


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (0.1, 1e-9), (3, 1e-3)])
def test_epsilon_and_delta_are_met_and_hardly_undercut(epsilon, delta):
    noisy = RoundedGaussian(epsilon=epsilon, delta=delta, sensitivity=2, dimension=3)
    found = noisy.guarantee.delta(epsilon).upper
    assert delta * (1 - 1e-6) <= found <= delta


def test_the_exact_law_is_as_private_as_it_is_said_to_be():
    noisy = RoundedGaussian(mu_squared=1, sensitivity=2)
    left, right = (noisy.claim.law(value) for value in (0, 2))
    for epsilon in (0, Fraction(1, 2), 2):
        lost = sum(max(0.0, left[k][1] - float(np.exp(float(epsilon))) * right[k][0]) for k in left)
        assert lost <= noisy.guarantee.delta(epsilon).upper + 1e-9


@pytest.mark.parametrize("sensitivity", [1, 3, 40])
def test_the_law_adds_up_and_its_half_width_holds(sensitivity):
    noisy = RoundedGaussian(mu_squared=1, sensitivity=sensitivity)
    width = noisy.half_width(Fraction(1, 20))
    inside = total(noisy._mass(k) for k in range(-width, width + 1))
    assert inside.lower >= 0.95
    assert (inside - noisy._mass(width) - noisy._mass(-width)).upper < 0.95
    everything = inside + noisy._tail(width + 1) * 2
    assert everything.lower <= 1 <= everything.upper


def test_vectors_of_any_length_have_the_same_guarantee():
    short, long = (
        RoundedGaussian(mu_squared=1, sensitivity=5, grid=INTEGERS, dimension=n) for n in (1, 10**6)
    )
    assert short.guarantee == long.guarantee
    assert long.variance == short.variance


def test_real_values_are_rounded_to_the_grid_first():
    noisy = RoundedGaussian(variance=3, sensitivity=0.3, grid=Fraction(1, 8), dimension=2)
    assert noisy.square > (Fraction(3, 10) * 8) ** 2
    assert (np.asarray(noisy.release([0.1, 0.2])) * 8 % 1 == 0).all()


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"mu_squared": 1, "variance": 2},
        {"epsilon": 1},
        {"mu_squared": 0},
        {"variance": Fraction(1, 100)},
        {"mu_squared": 1, "dimension": 0},
    ],
)
def test_bad_parameters_are_refused(parameters):
    with pytest.raises(InputError):
        RoundedGaussian(sensitivity=1, **parameters)
