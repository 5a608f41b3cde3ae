"""Sums of turning points on a grid, against plain sums in 120 bits."""

import gmpy2
import numpy as np
import pytest

from discreet.privacy.numerics import nonuniform_fft
from discreet.privacy.numerics.nonuniform_fft import total, turning_sums


def points(count, seed):
    """Many heavy points that hardly turn, and light ones that turn a lot."""
    rng = np.random.default_rng(seed)
    angles = rng.uniform(-4, 4, count)
    angles[: count // 2] *= 1e-6
    weights = rng.random(count) ** 8
    weights[: count // 2] *= 1000
    return weights, angles


def exactly(weights, angles, k):
    with gmpy2.context(precision=120, allow_complex=True):
        turns = (gmpy2.mpfr(k) * gmpy2.mpfr(float(a)) for a in angles)
        parts = [
            gmpy2.mpfr(float(w)) * gmpy2.mpc(gmpy2.cos(t), gmpy2.sin(t))
            for w, t in zip(weights, turns, strict=True)
        ]
        return complex(sum(parts))


def off(size, count):
    """The largest error seen beside what is stated and what angles round by."""
    weights, angles = points(count, seed=size)
    found, error = turning_sums(weights, angles, size)
    assert len(found) == size
    rounded = size * 8 * 2.0**-53 * float(weights @ np.abs(angles))
    seen = [abs(found[k] - exactly(weights, angles, k)) for k in (0, 1, size // 2, size - 1)]
    return max(seen) / (error + rounded), error / weights.sum()


@pytest.mark.parametrize(("size", "count"), [(7, 40), (300, 2000), (3001, 2500)])
def test_sums_are_within_their_stated_error(size, count):
    share, relative = off(size, count)
    assert share <= 1
    assert relative < 1e-13


def test_a_kernel_cut_off_early_would_be_caught(monkeypatch):
    monkeypatch.setattr(nonuniform_fft, "_REACH", 10)
    assert off(3001, 2500)[0] > 1


def test_cells_that_are_too_few_would_be_caught(monkeypatch):
    monkeypatch.setattr(nonuniform_fft, "_WIDTH", 20.0)
    assert off(3001, 2500)[0] > 1


def test_nothing_is_vouched_for_past_what_sines_are():
    _, error = turning_sums(np.array([1.0, 0.25]), np.array([0.1, 2.0e6]), 9)
    assert error >= 0.5


def test_points_that_hardly_turn_cost_a_short_series():
    weights, angles = np.array([3.0, 1.0]), np.array([1e-9, -2e-9])
    found, error = turning_sums(weights, angles, 1000)
    assert error < 100 * 2.0**-53 * 4
    assert abs(found[999] - exactly(weights, angles, 999)) <= error


def test_a_total_is_right_to_the_last_digits():
    weights = np.random.default_rng(1).random(10_000)
    assert total(weights) == pytest.approx(sum(map(gmpy2.mpfr, weights.tolist())), rel=7e-15)
    assert total(np.zeros(0)) == 0
