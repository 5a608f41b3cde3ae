"""A mean that no single value moves far, and that needs no bounds on values."""

import math

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.mechanisms import Laplace, heavy_tailed_mean, sensitivity
from discreet.privacy import BoundedRange, Neighbours


def pareto(n):
    """Evenly spaced quantiles of a Pareto law of shape 2.5: mean 1000 * 5/3, variance finite."""
    shares = (np.arange(n) + 0.5) / n
    return (1000 * (1 - shares) ** (-1 / 2.5)).tolist()


def test_heavy_tails_are_answered_nearer_than_with_noise_for_their_bounds():
    rows = pareto(50_000)
    mean = heavy_tailed_mean(0, 2**20, epsilon=1)
    answers = [mean.release(rows) for _ in range(5)]
    assert max(abs(answer - 5000 / 3) for answer in answers) < 150
    # Values reach 10^5; bounds that are safe for all of them are far above.
    bounded = Laplace(epsilon=1, sensitivity=sensitivity.mean(50_000, 0, 10**7))
    assert bounded.error() > 500


def test_one_value_however_large_moves_one_block():
    rows = [500] * 20_000
    mean = heavy_tailed_mean(0, 1024, epsilon=1)
    assert mean.release(rows) == 500
    assert mean.release([*rows, 10**300, -(10**300)]) == 500


def test_the_median_is_in_the_middle_third_of_enough_blocks():
    mean = heavy_tailed_mean(0, 2**30, epsilon=0.5, grid=2**-10)
    assert mean.aggregate.error() <= mean.blocks / 6
    assert heavy_tailed_mean(0, 8, epsilon=1, blocks=7).blocks == 7


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_it_costs_what_its_median_costs(neighbours):
    mean = heavy_tailed_mean(0, 8, epsilon=1, neighbours=neighbours)
    assert mean.guarantee == BoundedRange(1, neighbours=neighbours)


def test_no_rows_and_bad_parameters():
    assert 0 <= heavy_tailed_mean(0, 8, epsilon=1).release([]) <= 8
    for bad in ({"epsilon": 0}, {"blocks": 0}, {"epsilon": math.nan}):
        with pytest.raises(InputError):
            heavy_tailed_mean(0, 8, **({"epsilon": 1} | bad))
