"""Staircase noise: private exactly, and smaller than Laplace noise."""

import math
from fractions import Fraction

import pytest

from discreet.errors import InputError
from discreet.mechanisms import Laplace, Staircase
from discreet.privacy import Neighbours, Pure

SHAPES = [
    {"epsilon": 1, "sensitivity": 5},
    {"epsilon": 4, "sensitivity": 9},
    {"epsilon": Fraction(1, 3), "sensitivity": 1},
    {"epsilon": 3, "sensitivity": 0.7, "grid": Fraction(1, 8)},
]


@pytest.mark.parametrize("parameters", SHAPES)
def test_b4_no_shift_within_the_sensitivity_loses_more_than_epsilon(parameters):
    noisy = Staircase(**parameters)
    masses = {k: noisy._mass(k) for k in range(-60, 61)}
    losses = [
        math.log(masses[k].upper / masses[k + d].lower)
        for k in range(-40, 41)
        for d in range(-noisy.steps, noisy.steps + 1)
    ]
    assert max(losses) == pytest.approx(float(noisy.epsilon))
    assert max(losses) <= noisy.epsilon + Fraction(1, 10**9)


@pytest.mark.parametrize("parameters", SHAPES)
def test_masses_add_up_to_tails_and_to_one(parameters):
    noisy = Staircase(**parameters)
    reach = 60 * noisy.steps + 100
    for m in (1, 2, noisy.steps, 3 * noisy.steps + 1):
        listed = math.fsum(noisy._mass(k).lower for k in range(m, reach))
        assert noisy._tail(m).lower == pytest.approx(listed)
    assert noisy._tail(1).upper * 2 + noisy._mass(0).upper == pytest.approx(1)
    mean = math.fsum(abs(k) * noisy._mass(k).lower for k in range(-reach, reach))
    assert noisy.mean_error() == pytest.approx(mean * noisy.grid.step)


@pytest.mark.parametrize(("epsilon", "gain"), [(3, 1.41), (5, 2.41)])
def test_the_mean_error_is_below_laplace_noise_by_the_published_factor(epsilon, gain):
    noisy = Staircase(epsilon=epsilon, sensitivity=0.5)
    assert Laplace(epsilon=epsilon, sensitivity=0.5).scale / noisy.mean_error() > gain


def test_one_step_is_discrete_laplace_noise():
    noisy, plain = Staircase(epsilon=2, sensitivity=1), Laplace(epsilon=2, sensitivity=1)
    for k in range(5):
        assert noisy._mass(k).lower == pytest.approx(plain._mass(k).lower)
    assert noisy.error() == plain.error()


def test_the_face():
    noisy = Staircase(epsilon=1, sensitivity=3, neighbours=Neighbours.CHANGE_ONE)
    assert noisy.guarantee == Pure(1, neighbours=Neighbours.CHANGE_ONE)
    assert isinstance(noisy.release(10**30), int)
    with pytest.raises(InputError):
        noisy.release([1, 2])


@pytest.mark.parametrize("bad", [{"epsilon": 0}, {"sensitivity": 0}, {"grid": 3}])
def test_bad_parameters_are_refused_at_birth(bad):
    with pytest.raises(InputError):
        Staircase(**({"epsilon": 1, "sensitivity": 1} | bad))
