"""Staircase draws have exactly the law of their docstring."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.errors import InputError
from discreet.noise import staircase

RUNS = 200_000


@pytest.mark.parametrize(("width", "first"), [(1, 1), (5, 2), (5, 5), (8, 1)])
def test_draws_have_the_law(width, first):
    scale, reach = Fraction(2), 6 * width
    draws = staircase(scale, width, first, RUNS)
    levels = (np.abs(np.arange(-(10**4), 10**4 + 1)) + width - first) // width
    weights = np.exp(-levels / 2.0)
    law = weights / weights.sum()
    middle = law[10**4 - reach : 10**4 + reach + 1]
    seen = np.bincount(np.clip(draws, -reach - 1, reach + 1) + reach + 1, minlength=2 * reach + 3)
    rest = (1 - middle.sum()) / 2
    expected = RUNS * np.array([rest, *middle, rest])
    assert stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > 1e-6


def test_shapes_and_wide_steps():
    assert staircase(Fraction(1), 3, 1, (2, 5)).shape == (2, 5)
    assert staircase(Fraction(1), 3, 1, 0).shape == (0,)
    wide = staircase(Fraction(1), 2**80, 2**79, 50)
    assert max(abs(int(draw)) for draw in wide) > 2**75


@pytest.mark.parametrize(("width", "first"), [(0, 1), (3, 0), (2.5, 1)])
def test_steps_that_cannot_be_are_refused(width, first):
    with pytest.raises(InputError):
        staircase(Fraction(1), width, first)
