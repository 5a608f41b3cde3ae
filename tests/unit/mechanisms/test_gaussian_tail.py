"""Certified tails of discrete Gaussian noise."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.mechanisms.gaussian_tail import (
    half_width,
    mass,
    normal_half_width,
    two_sided_tail,
)


def summed_tail(variance, width):
    reach = width + int(40 * math.sqrt(variance)) + 40
    k = np.arange(-reach, reach + 1, dtype=np.longdouble)
    law = np.exp(-(k**2) / (2 * np.longdouble(variance)))
    return float(law[np.abs(k) > width].sum() / law.sum())


@pytest.mark.parametrize("variance", [2**-20, 0.1, 1, 10, 4095, 4097, 10**6])
@pytest.mark.parametrize("deviations", [0, 0.3, 0.99, 1, 1.01, 2, 6])
def test_the_tail_is_enclosed(variance, deviations):
    width = int(deviations * math.sqrt(variance))
    tail = two_sided_tail(Fraction(variance), width)
    truth = summed_tail(variance, width)
    assert tail.lower <= truth * (1 + 1e-13)
    assert tail.upper >= truth * (1 - 1e-13)
    # One step of width, where the law is known least well, is worth this much.
    slack = 0 if variance < 4096 else 0.8 / math.sqrt(variance)
    assert tail.upper - tail.lower <= slack + 1e-12


def test_the_half_width_at_a_great_scale_is_normal():
    deviation = 1 << 50
    width = half_width(Fraction(deviation**2), Fraction(1, 20))
    assert width == pytest.approx(deviation * stats.norm.ppf(0.975), rel=1e-12)


def test_masses_sum_to_one():
    total = sum(mass(Fraction(3), k).upper for k in range(-40, 41))
    assert total == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("probability", [0.5, 0.05, 1e-6])
def test_the_normal_half_width_is_rounded_up(probability):
    z = float(normal_half_width(Fraction(probability)))
    exact = -stats.norm.ppf(probability / 2)
    assert exact <= z <= exact + 1e-9
