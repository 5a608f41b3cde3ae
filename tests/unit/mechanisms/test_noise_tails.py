"""Tails of discrete Laplace noise against brute sums."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.mechanisms.noise_tails import (
    gaussian_half_width,
    gaussian_mass,
    gaussian_tail,
    laplace_half_width,
    laplace_tail,
    laplace_tail_steps,
    normal_half_width,
)


def brute_tail(scale, steps):
    q = math.exp(-1 / scale)
    mass = (1 - q) / (1 + q)
    return math.fsum(mass * q ** abs(k) for k in range(steps, steps + int(60 * scale) + 60))


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(20)])
@pytest.mark.parametrize("steps", [0, 1, 2, 9])
def test_the_tail_is_the_sum_of_its_masses(scale, steps):
    tail = laplace_tail(scale, steps)
    assert tail.lower <= tail.upper
    assert tail.lower == pytest.approx(brute_tail(float(scale), steps), rel=1e-12)


@pytest.mark.parametrize("scale", [Fraction(1, 100), Fraction(1), Fraction(20), Fraction(2**40)])
@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 100), Fraction(1, 10**30)])
def test_tail_steps_is_the_first_that_fits(scale, p):
    m = laplace_tail_steps(scale, p)
    assert Fraction(laplace_tail(scale, m).upper) <= p * (1 + Fraction(1, 10**15))
    assert m == 0 or laplace_tail(scale, m - 1).upper > p


def test_a_half_width_counts_both_sides():
    width = laplace_half_width(Fraction(5), Fraction(1, 20))
    assert 2 * laplace_tail(Fraction(5), width + 1).upper <= 1 / 20
    assert 2 * laplace_tail(Fraction(5), width).upper > 1 / 20


def test_probabilities_too_small_for_floats_are_fine():
    assert laplace_tail_steps(Fraction(1), Fraction(1, 10**400)) == 921


def summed_tail(variance, width):
    reach = width + int(40 * math.sqrt(variance)) + 40
    k = np.arange(-reach, reach + 1, dtype=np.longdouble)
    law = np.exp(-(k**2) / (2 * np.longdouble(variance)))
    return float(law[np.abs(k) > width].sum() / law.sum())


@pytest.mark.parametrize("variance", [2**-20, 0.1, 1, 10, 4095, 4097, 10**6])
@pytest.mark.parametrize("deviations", [0, 0.3, 0.99, 1, 1.01, 2, 6])
def test_the_tail_is_enclosed(variance, deviations):
    width = int(deviations * math.sqrt(variance))
    tail = gaussian_tail(Fraction(variance), width)
    truth = summed_tail(variance, width)
    assert tail.lower <= truth * (1 + 1e-13)
    assert tail.upper >= truth * (1 - 1e-13)
    # One step of width, where the law is known least well, is worth this much.
    slack = 0 if variance < 4096 else 0.8 / math.sqrt(variance)
    assert tail.upper - tail.lower <= slack + 1e-12


def test_the_half_width_at_a_great_scale_is_normal():
    deviation = 1 << 50
    width = gaussian_half_width(Fraction(deviation**2), Fraction(1, 20))
    assert width == pytest.approx(deviation * stats.norm.ppf(0.975), rel=1e-12)


def test_masses_sum_to_one():
    total = sum(gaussian_mass(Fraction(3), k).upper for k in range(-40, 41))
    assert total == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("probability", [0.5, 0.05, 1e-6])
def test_the_normal_half_width_is_rounded_up(probability):
    z = float(normal_half_width(Fraction(probability)))
    exact = -stats.norm.ppf(probability / 2)
    assert exact <= z <= exact + 1e-9
