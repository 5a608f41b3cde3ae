"""Tails of discrete Laplace noise against brute sums."""

import math
from fractions import Fraction

import pytest

from discreet.errors import InputError
from discreet.mechanisms.laplace_tail import (
    failure,
    first_whole,
    half_width,
    tail_steps,
    upper_tail,
)


def brute_tail(scale, steps):
    q = math.exp(-1 / scale)
    mass = (1 - q) / (1 + q)
    return math.fsum(mass * q ** abs(k) for k in range(steps, steps + int(60 * scale) + 60))


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(20)])
@pytest.mark.parametrize("steps", [0, 1, 2, 9])
def test_the_tail_is_the_sum_of_its_masses(scale, steps):
    tail = upper_tail(scale, steps)
    assert tail.lower <= tail.upper
    assert tail.lower == pytest.approx(brute_tail(float(scale), steps), rel=1e-12)


@pytest.mark.parametrize("scale", [Fraction(1, 100), Fraction(1), Fraction(20), Fraction(2**40)])
@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 100), Fraction(1, 10**30)])
def test_tail_steps_is_the_first_that_fits(scale, p):
    m = tail_steps(scale, p)
    assert Fraction(upper_tail(scale, m).upper) <= p * (1 + Fraction(1, 10**15))
    assert m == 0 or upper_tail(scale, m - 1).upper > p


def test_a_half_width_counts_both_sides():
    width = half_width(Fraction(5), Fraction(1, 20))
    assert 2 * upper_tail(Fraction(5), width + 1).upper <= 1 / 20
    assert 2 * upper_tail(Fraction(5), width).upper > 1 / 20


def test_probabilities_too_small_for_floats_are_fine():
    assert tail_steps(Fraction(1), Fraction(1, 10**400)) == 921


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 1.5, math.nan, math.inf, "0.95", None])
def test_a_confidence_is_strictly_between_0_and_1(confidence):
    with pytest.raises(InputError):
        failure(confidence)


@pytest.mark.parametrize("guess", [0.0, 1.0, 7.2, 8.0, 9.9, 1000.0])
def test_any_guess_finds_the_first_whole(guess):
    assert first_whole(lambda m: m >= 8, guess) == 8
    assert first_whole(lambda m: m >= 0, guess) == 0
