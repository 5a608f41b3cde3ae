"""Gaussian noise: calibrated from every side, and never under-noised."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp

from discreet.errors import InputError
from discreet.mechanisms.gaussian import Gaussian, RoundedGaussian
from discreet.mechanisms.gaussian_calibration import calibrate, largest_mu
from discreet.mechanisms.grid import INTEGERS, sqrt_up
from discreet.privacy import GDP, RHO, ZCDP, DiscreteGaussianNoise, Filter, Neighbours
from discreet.privacy.budgets.charges import price
from discreet.privacy.numerics.rounding import total


def test_rho_gives_the_variance_and_the_variance_gives_rho():
    assert Gaussian(rho=0.1, sensitivity=2).variance == 20
    assert Gaussian(variance=20, sensitivity=2).rho == Fraction(1, 10)


def test_the_rho_asked_for_is_the_rho_charged():
    for parameters in ({}, {"grid": 0.125}, {"dimension": 7}, {"grid": 0.125, "dimension": 7}):
        noisy = Gaussian(rho=0.3, sensitivity=2, **parameters)
        assert noisy.rho <= Fraction(3, 10)
        assert noisy.rho == pytest.approx(0.3, rel=1e-15)
        assert Filter.zcdp(rho=0.3).price(noisy.guarantee).amount == noisy.rho


@pytest.mark.parametrize("epsilon", [0.05, 1, 4, 30])
@pytest.mark.parametrize("delta", [1e-9, 1e-3])
@pytest.mark.parametrize(
    "parameters",
    [
        {"sensitivity": 1},
        {"sensitivity": 50},
        {"sensitivity": 3, "dimension": 4},
        {"sensitivity": 1, "dimension": 4},
        {"sensitivity": sqrt_up(Fraction(2)), "grid": INTEGERS, "dimension": 9},
        {"sensitivity": 1, "grid": 0.25},
    ],
)
def test_a7_the_guarantee_of_a_calibrated_variance_is_within_what_was_asked(
    epsilon, delta, parameters
):
    noisy = Gaussian(epsilon=epsilon, delta=delta, **parameters)
    assert noisy.guarantee.epsilon(delta).upper <= epsilon
    assert noisy.guarantee.delta(epsilon).upper <= delta


def exact_delta(steps, variance, epsilon):
    """The hockey-stick divergence of two shifted discrete Gaussians, summed plainly."""
    reach = int(40 * math.sqrt(variance)) + 2 * steps + 40
    k = np.arange(-reach, reach + 1)
    p = np.exp(-(k**2) / (2 * variance))
    q = np.exp(-((k - steps) ** 2) / (2 * variance))
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum() / p.sum())


@pytest.mark.parametrize("epsilon", [0.3, 1, 3])
@pytest.mark.parametrize("sensitivity", [1, 5])
def test_the_calibration_is_tight(epsilon, sensitivity):
    noisy = Gaussian(epsilon=epsilon, delta=1e-5, sensitivity=sensitivity)
    spread = float(noisy.variance)
    assert exact_delta(sensitivity, spread, epsilon) <= 1e-5 * (1 + 1e-9)
    assert exact_delta(sensitivity, spread * (1 - 1e-4), epsilon) > 1e-5


def test_less_noise_never_costs_less():
    spreads = [calibrate(1, Fraction(e), Fraction(1, 10**6), one_law=True) for e in (1, 2, 4, 8)]
    assert spreads == sorted(spreads, reverse=True)
    promises = [Gaussian(variance=v, sensitivity=1).guarantee.epsilon(1e-6) for v in (1, 2, 4, 8)]
    assert promises == sorted(promises, reverse=True)


def test_numbers_and_vectors_get_their_exact_laws_and_noise_below_a_step_its_rho():
    assert isinstance(Gaussian(rho=1, sensitivity=5).guarantee, DiscreteGaussianNoise)
    assert isinstance(Gaussian(rho=1, sensitivity=1, dimension=9).guarantee, DiscreteGaussianNoise)
    assert Gaussian(rho=0.5, sensitivity=5, dimension=9).guarantee == GDP(1)
    assert Gaussian(rho=20, sensitivity=2, dimension=9).guarantee == ZCDP(20)


@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_a_vector_needs_no_more_noise_than_continuous_noise_would(epsilon, delta):
    public = {"epsilon": epsilon, "delta": delta}
    vector = Gaussian(**public, sensitivity=20, dimension=9)
    continuous = 20 / float(largest_mu(Fraction(str(epsilon)), Fraction(str(delta))))
    through_rho = calibrate(400, Fraction(str(epsilon)), Fraction(str(delta)), one_law=False)
    assert math.sqrt(vector.variance) == pytest.approx(continuous, rel=1e-6)
    assert math.sqrt(through_rho / vector.variance) > 1.04


def test_a_vector_needs_its_dimension_unless_one_step_is_all_there_is():
    assert Gaussian(rho=1, sensitivity=1).release([1, 2, 3]).shape == (3,)
    with pytest.raises(InputError, match="dimension=3"):
        Gaussian(rho=1, sensitivity=2).release([1, 2, 3])


def test_rounding_costs_the_root_of_the_dimension():
    noisy = Gaussian(rho=1, sensitivity=1, grid=Fraction(1, 16), dimension=9)
    assert noisy.square == 255 + 2 * 47 + 9 < (16 + 3) ** 2
    assert noisy.variance == pytest.approx(358 / (2 * 16**2), rel=1e-15)
    assert Gaussian(rho=1, sensitivity=1, grid=1).variance == Fraction(1, 2)


@pytest.mark.parametrize("sensitivity", [0.3, 1e-9, 12345.678])
def test_a_chosen_grid_costs_little(sensitivity):
    noisy = Gaussian(rho=0.02, sensitivity=sensitivity)
    ideal = Fraction(str(sensitivity)) ** 2 / (2 * Fraction(1, 50))
    assert 1 <= noisy.variance / ideal < 1.01


@pytest.mark.parametrize(
    "parameters",
    [
        {"sensitivity": 1},
        {"rho": 1},
        {"rho": 1, "variance": 1, "sensitivity": 1},
        {"rho": 1, "epsilon": 1, "delta": 0.1, "sensitivity": 1},
        {"epsilon": 1, "sensitivity": 1},
        {"delta": 0.1, "sensitivity": 1},
        {"rho": 1, "delta": 0.1, "sensitivity": 1},
        {"epsilon": 1, "delta": 0, "sensitivity": 1},
        {"epsilon": 1, "delta": 1, "sensitivity": 1},
        {"epsilon": 0, "delta": 0.1, "sensitivity": 1},
        {"epsilon": math.nan, "delta": 0.1, "sensitivity": 1},
        {"rho": 0, "sensitivity": 1},
        {"rho": math.inf, "sensitivity": 1},
        {"variance": -1, "sensitivity": 1},
        {"rho": 1, "sensitivity": 0},
        {"rho": 1e-60, "sensitivity": 1},
    ],
)
def test_bad_parameters_are_refused_at_birth(parameters):
    with pytest.raises((InputError, TypeError)):
        Gaussian(**parameters)


@pytest.mark.parametrize("value", [math.nan, math.inf, [1.0, -math.inf]])
def test_c1_nan_and_infinity_never_become_numbers(value):
    with pytest.raises(InputError, match="not finite"):
        Gaussian(rho=1, sensitivity=0.5, dimension=np.size(value)).release(value)


def test_a1_every_release_is_on_the_grid():
    noisy = Gaussian(rho=1, sensitivity=0.3, dimension=500)
    scaled = noisy.release(np.full(500, 1e-9)) / float(noisy.grid.step)
    assert (scaled == np.rint(scaled)).all()


def test_b5_the_renyi_divergence_of_the_worst_vectors_is_within_rho():
    """Sixteen as one coordinate of 4 steps or sixteen of 1, at several orders."""
    noisy = Gaussian(rho=0.5, sensitivity=4, dimension=16)
    variance = float(noisy.variance)
    k = np.arange(-1000, 1001)
    for moves in ([4], [1] * 16, [2, 2, 2, 2]):
        for order in (1.01, 2, 8, 64):
            total = 0.0
            for move in moves:
                p = -((k - move) ** 2) / (2 * variance)
                q = -(k**2) / (2 * variance)
                moment = logsumexp(order * p + (1 - order) * q) - logsumexp(q)
                total += moment / (order - 1)
            assert total <= float(noisy.guarantee.rdp(order)) + 1e-9


@pytest.mark.parametrize("variance", [0.01, 0.3, 1, 40, 10**5])
@pytest.mark.parametrize("confidence", [0.1, 0.5, 0.95, 0.9999])
def test_the_half_width_is_the_smallest_that_holds(variance, confidence):
    width = int(Gaussian(variance=variance, sensitivity=1).error(confidence))
    k = np.arange(-int(40 * math.sqrt(variance)) - 40, int(40 * math.sqrt(variance)) + 41)
    law = np.exp(-(k**2) / (2 * variance))
    law /= law.sum()
    assert law[np.abs(k) > width].sum() <= 1 - confidence + 1e-12
    assert width == 0 or law[np.abs(k) > width - 2].sum() > 1 - confidence - 1e-12


def test_the_claims_law_is_the_discrete_gaussian():
    law = Gaussian(variance=2, sensitivity=1).claim.law(1)
    masses = {k: math.exp(-((k - 1) ** 2) / 4) for k in range(-60, 61)}
    whole = math.fsum(masses.values())
    for k in range(-8, 9):
        low, high = law[k]
        assert low <= masses[k] / whole * (1 + 1e-12)
        assert high >= masses[k] / whole * (1 - 1e-12)


def test_neighbours_are_carried():
    noisy = Gaussian(rho=1, sensitivity=5, dimension=2, neighbours=Neighbours.CHANGE_ONE)
    assert noisy.guarantee.neighbours is Neighbours.CHANGE_ONE


def test_group_privacy_is_quadratic_in_rho():
    assert Gaussian(rho=0.5, sensitivity=1).guarantee.group(3).rho().upper == 4.5


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
