"""The two factors of prefix sums."""

import numpy as np
import pytest

from discreet.mechanisms.prefix_sums import convolve, left_factor, right_factor


@pytest.mark.parametrize("horizon", [1, 2, 3, 64, 1000])
def test_the_left_factor_is_what_division_entry_by_entry_gives(horizon):
    right, by_hand = right_factor(horizon) * 2.0**-20, np.empty(horizon)
    for t in range(horizon):
        by_hand[t] = 1.0 - right[t:0:-1] @ by_hand[:t]
    assert np.abs(left_factor(horizon) - by_hand).max() < 1e-13


def test_very_many_entries_multiply_to_ones():
    horizon = 1 << 17
    wave = np.fft.rfft(left_factor(horizon), 2 * horizon)
    wave *= np.fft.rfft(right_factor(horizon) * 2.0**-20, 2 * horizon)
    assert np.abs(np.fft.irfft(wave)[:horizon] - 1).max() < 1e-11


@pytest.mark.parametrize("large", [1, 1 << 50, 10**30])
def test_the_right_factor_times_increments_is_exact(large):
    steps = np.array([3 * large, 0, -large, 5], dtype=object)
    entries = right_factor(4).tolist()
    expected = [sum(entries[t - i] * steps[i] for i in range(t + 1)) for t in range(4)]
    assert convolve(right_factor(4), steps).tolist() == expected
