"""Automatic bounds: bins to the last bit, failure probability, and what it costs."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.mechanisms.automatic_bounds import AutomaticBounds
from discreet.privacy import DiscreteLaplaceNoise, Neighbours


def bin_of(value, mechanism):
    return int(np.flatnonzero(mechanism._count([value]))[0])


@pytest.mark.parametrize("smallest", [1, 2**-10, 8])
def test_every_value_is_in_the_bin_that_holds_it(smallest):
    mechanism = AutomaticBounds(epsilon=1, smallest=smallest, largest=2**20)
    ends = mechanism._ends()
    for power in range(-12, 21):
        for size in (2.0**power, math.nextafter(2.0**power, 0), math.nextafter(2.0**power, 2**30)):
            for value in (size, -size, 0.0):
                at = bin_of(value, mechanism)
                low, high = ends[at], ends[at + 1]
                held = max(-(2**20), min(value, 2**20))
                assert low < held <= high or (held == low == 0) or (held < 0 and low <= held < high)


def test_ints_fractions_and_huge_values_are_counted_too():
    mechanism = AutomaticBounds(epsilon=1, largest=2**20)
    assert bin_of(2**400, mechanism) == bin_of(2**20, mechanism) == mechanism.bins - 1
    assert bin_of(-(2**400), mechanism) == 0
    assert bin_of(Fraction(3, 2), mechanism) == bin_of(2, mechanism)
    assert bin_of(1e308, mechanism) == mechanism.bins - 1


@pytest.mark.parametrize("rows", [1, 3])
def test_b4_one_person_moves_counts_by_the_stated_l1_distance(rows):
    add = AutomaticBounds(epsilon=1, max_rows_per_unit=rows)
    assert add.scale == rows
    assert add.guarantee == DiscreteLaplaceNoise(1, rows)
    change = AutomaticBounds(epsilon=1, max_rows_per_unit=rows, neighbours=Neighbours.CHANGE_ONE)
    assert change.scale == 2 * rows
    for mechanism in (add, change):
        for pair in mechanism.claim.pairs:
            moved = np.abs(mechanism._count(pair.left) - mechanism._count(pair.right)).sum()
            assert moved == mechanism.guarantee.sensitivity


def test_the_threshold_is_the_first_that_keeps_the_failure_probability():
    mechanism = AutomaticBounds(epsilon=0.5, failure=1e-3, largest=2**30)
    q = math.exp(-0.5)

    def wrong(threshold):
        return mechanism.bins * q**threshold / (1 + q)

    assert wrong(mechanism.threshold) <= 1e-3 < wrong(mechanism.threshold - 1)


def test_empty_bins_count_as_occupied_as_seldom_as_stated():
    mechanism = AutomaticBounds(epsilon=1, failure=0.1, largest=2**20)
    bounds = mechanism.claim.draw([], 20_000)
    wrong = np.any(bounds != [-(2**20), 2**20], axis=1).mean()
    # 5 standard deviations above the stated probability.
    assert wrong <= 0.1 + 5 * math.sqrt(0.09 / 20_000)
    assert wrong > 0.01


def test_bounds_hold_the_values_within_a_factor_of_two():
    mechanism = AutomaticBounds(epsilon=1, smallest=1, largest=2**40)
    assert mechanism.release([70, 100, 120] * 1000) == (64, 128)
    assert mechanism.release([-70, 100] * 1000) == (-128, 128)
    assert mechanism.release([-70, -90] * 1000) == (-128, -64)
    assert mechanism.release([0] * 1000) == (0, 1)
    assert mechanism.release([0.25] * 1000 + [1e9]) == (0, 1)  # one far value is not followed
    assert AutomaticBounds(epsilon=1, smallest=2**-4).release([0.3] * 1000) == (0.25, 0.5)


def test_nobody_gives_the_widest_bounds():
    assert AutomaticBounds(epsilon=1, largest=1024).release([]) == (-1024, 1024)


def test_the_error_bounds_how_many_rows_are_cut_off():
    mechanism = AutomaticBounds(epsilon=1, largest=2**10)
    q, w = math.exp(-1), int(mechanism.error(0.9)) // (mechanism.bins - 1) - mechanism.threshold + 1
    assert mechanism.bins * q ** (w + 1) / (1 + q) <= 0.1


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"epsilon": 0},
        {"epsilon": 1, "scale": 1},
        {"epsilon": 1, "smallest": 3},
        {"epsilon": 1, "smallest": 4, "largest": 2},
        {"epsilon": 1, "failure": 0},
        {"epsilon": 1, "failure": 1},
        {"epsilon": 1, "max_rows_per_unit": 0},
    ],
)
def test_bad_parameters_are_refused_at_birth(parameters):
    with pytest.raises(InputError):
        AutomaticBounds(**parameters)


def test_c1_values_that_are_no_finite_numbers_are_refused():
    for bad in (math.nan, math.inf, "1", None):
        with pytest.raises(InputError):
            AutomaticBounds(epsilon=1).release([1.0, bad])
