"""Smooth sensitivity: exactly smooth, and private for the discrete law."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest

from discreet.audit.enumerate import enumerate_loss
from discreet.errors import InputError
from discreet.mechanisms.smooth_sensitivity import (
    SmoothMedian,
    SmoothSensitivity,
    decaying_weights,
)
from discreet.privacy import Approximate, Neighbours


def hockey_stick(left, right, epsilon):
    """Sum of max(0, p - e^epsilon q) for two discrete Laplace laws (centre, scale)."""
    reach = int(80 * max(left[1], right[1])) + 10
    k = np.arange(min(left[0], right[0]) - reach, max(left[0], right[0]) + reach)

    def mass(centre, scale):
        return math.tanh(0.5 / scale) * np.exp(-np.abs(k - centre) / scale)

    return float(np.maximum(0, mass(*left) - math.exp(epsilon) * mass(*right)).sum())


def test_weights_never_fall_faster_than_the_decay():
    decay = Fraction(9, 10)
    weights = decaying_weights(decay, 1000)
    assert weights[0] == 2**64
    assert all(after >= decay * before for before, after in pairwise(weights))
    assert weights[-1] >= 1


@pytest.mark.parametrize("kind", list(Neighbours))
def test_smooth_sensitivities_of_neighbours_are_within_the_decay_exactly(kind):
    mechanism = SmoothMedian(0, 3, epsilon=1, delta=1e-2, neighbours=kind)
    decay = mechanism.noisy.decay

    def smooth(data):
        return mechanism.noisy.smooth(mechanism._reduce(data)[1])

    for data in combinations_with_replacement(range(4), 3):
        for x in range(4):
            other = (*data[1:], x) if kind is Neighbours.CHANGE_ONE else (*data, x)
            assert decay <= smooth(data) / smooth(other) <= 1 / decay


@pytest.mark.parametrize("kind", list(Neighbours))
def test_medians_of_all_small_data_sets_are_private(kind):
    mechanism = SmoothMedian(0, 3, epsilon=2, delta=1e-2, neighbours=kind)

    def law(data):
        steps, bounds = mechanism._reduce(data)
        return steps, float(mechanism.noisy.law.scale(mechanism.noisy.smooth(bounds)))

    for data in combinations_with_replacement(range(4), 3):
        for x in range(4):
            other = (*data[1:], x) if kind is Neighbours.CHANGE_ONE else (*data, x)
            assert hockey_stick(law(data), law(other), 2) <= 1e-2
            assert hockey_stick(law(other), law(data), 2) <= 1e-2


def test_agreeing_values_get_less_noise():
    mechanism = SmoothMedian(0, 1024, epsilon=1, delta=1e-6)
    few = mechanism.noisy.smooth(mechanism._reduce([500] * 5)[1])
    many = mechanism.noisy.smooth(mechanism._reduce([500] * 5000)[1])
    assert many < few / 1000
    assert abs(mechanism.release([500] * 5000) - 500) <= 5


def test_a_small_delta_is_not_needed():
    small, large = (SmoothMedian(0, 128, epsilon=1, delta=delta) for delta in (1e-9, 1e-2))
    assert small.guarantee == Approximate(1, 0)
    assert large.guarantee == Approximate(1, 1e-2)


@pytest.mark.parametrize("delta", [1e-2, 1e-9])
def test_the_worst_neighbours_nearly_meet_the_guarantee(delta):
    # Whatever noise could be saved would be private no more.
    for mechanism in (
        SmoothSensitivity(global_sensitivity=1000, epsilon=1, delta=delta),
        *(SmoothMedian(0, 128, epsilon=1, delta=delta, neighbours=kind) for kind in Neighbours),
    ):
        evidence = enumerate_loss(mechanism.claim)
        assert 0.99 < evidence.bound <= 1
        assert not evidence.refuted


def test_no_values_are_a_value_like_any_other():
    mechanism = SmoothMedian(0, 16, epsilon=1, delta=1e-6)
    assert mechanism._reduce([]) == (0, [16] * len(mechanism._reduce([])[1]))
    assert isinstance(mechanism.release([]), int)


def test_bounds_beyond_the_last_are_global():
    mechanism = SmoothSensitivity(global_sensitivity=100, epsilon=1, delta=1e-6)
    assert mechanism.smooth([]) == 100
    assert mechanism.smooth([0] * 3) > mechanism.smooth([0] * 4) > 0
    assert mechanism.smooth([10**9]) == 100


@pytest.mark.parametrize("bounds", [[2, 1], [-1, 0], [0.5, 1], [math.nan]])
def test_bounds_that_cannot_be_are_refused(bounds):
    with pytest.raises(InputError):
        SmoothSensitivity(global_sensitivity=100, epsilon=1, delta=1e-6).release((0, bounds))


def test_values_in_fractions_of_steps_are_refused():
    with pytest.raises(InputError):
        SmoothSensitivity(global_sensitivity=100, epsilon=1, delta=1e-6).release((0.5, [1]))


def test_the_guarantee_and_the_face():
    mechanism = SmoothMedian(0, 8, epsilon=1, delta=1e-3, grid=0.5)
    assert mechanism.guarantee == Approximate(1, 1e-3)
    assert isinstance(mechanism.release([1.0, 2.25]), float)
    assert mechanism.error(0.95) == mechanism.noisy.error_at(16, 0.95)
    assert mechanism.noisy.error_at(1, 0.95) < mechanism.error(0.95)


@pytest.mark.parametrize(
    "parameters",
    [
        {"global_sensitivity": 0},
        {"global_sensitivity": 1.5},
        {"epsilon": 0},
        {"epsilon": math.nan},
        {"delta": 0},
        {"delta": 1},
        {"epsilon": 1e-9},
        {"grid": 3},
    ],
)
def test_bad_parameters_are_refused_at_birth(parameters):
    good = {"global_sensitivity": 10, "epsilon": 1, "delta": 1e-6}
    with pytest.raises(InputError):
        SmoothSensitivity(**(good | parameters))
