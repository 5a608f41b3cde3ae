"""Half-widths of sums of discrete Laplace noise."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms import laplace_sum, noise_tails
from discreet.mechanisms.laplace_sum import half_width


def convolved_tail(scale, count, width):
    q = math.exp(-1 / scale)
    reach = int(60 * scale) + 60
    k = np.arange(-reach, reach + 1)
    one = (1 - q) / (1 + q) * q ** np.abs(k)
    law = np.ones(1)
    for _ in range(count):
        law = np.convolve(law, one)
    middle = law.size // 2
    return 1 - law[middle - width : middle + width + 1].sum()


@pytest.mark.parametrize("scale", [0.2, 1, 3.7, 20])
@pytest.mark.parametrize("count", [2, 3, 7])
@pytest.mark.parametrize("probability", [0.5, 0.05, 1e-4])
def test_the_half_width_is_the_smallest_that_holds(scale, count, probability):
    width = half_width(Fraction(str(scale)), count, Fraction(str(probability)))
    assert convolved_tail(scale, count, width) <= probability
    assert width == 0 or convolved_tail(scale, count, width - 1) > probability - 2e-11


def test_one_noise_is_the_exact_case():
    assert half_width(Fraction(9), 1, Fraction(1, 100)) == noise_tails.laplace_half_width(
        Fraction(9), Fraction(1, 100)
    )


def test_large_scales_lose_less_than_a_percent():
    fine = half_width(Fraction(1 << 12), 10, Fraction(1, 20)) / (1 << 12)
    coarse = half_width(Fraction(1 << 30), 10, Fraction(1, 20)) / (1 << 30)
    assert fine <= coarse <= fine * 1.01


@pytest.mark.parametrize("scale", [3, 8, 20])
@pytest.mark.parametrize("count", [2, 7])
@pytest.mark.parametrize("probability", [0.5, 0.05, 1e-4])
def test_a_large_scale_is_divided_on_the_safe_side(monkeypatch, scale, count, probability):
    monkeypatch.setattr(laplace_sum, "_SCALE", 1)
    width = half_width(Fraction(scale), count, Fraction(str(probability)))
    assert convolved_tail(scale, count, width) <= probability


def test_rare_failures_are_bounded_too():
    often, rarely = (half_width(Fraction(5), 4, Fraction(1, 10**k)) for k in (7, 12))
    assert often < rarely < 10 * often


@pytest.mark.parametrize("count", [2, 4, 10, 20])
def test_the_bound_for_rare_failures_is_near_the_exact_width(count):
    exact = half_width(Fraction(10), count, Fraction(1, 10**8))
    assert exact < half_width(Fraction(10), count, Fraction(99, 10**10)) < 1.25 * exact


def test_a_tiny_scale_has_no_noise_to_speak_of():
    assert half_width(Fraction(1, 1 << 20), 5, Fraction(1, 100)) == 0
