"""Tolerances are six standard errors of fixed draws, so nothing here can flake."""

import math

import numpy as np
import pytest

from discreet.attacks.simulation import SplitMix64


def test_the_first_words_are_those_of_splitmix64():
    # The published output for seed 1234567, which our start mixes first.
    golden, mask = 0x9E3779B97F4A7C15, 2**64 - 1

    def mixed(word):
        word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & mask
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & mask
        return word ^ (word >> 31)

    start = mixed(1234567)
    expected = [mixed((start + i * golden) & mask) for i in (1, 2, 3)]

    assert SplitMix64(1234567).words(3).tolist() == expected
    assert mixed((1234567 + golden) & mask) == 6457827717110365317


def test_the_same_seed_draws_the_same_and_another_one_others():
    assert SplitMix64(3).words(5).tolist() == SplitMix64(3).words(5).tolist()
    assert not set(SplitMix64(3).words(1000)) & set(SplitMix64(4).words(1000))


def test_draws_go_on_where_they_stopped():
    stream = SplitMix64(5)

    assert [*stream.words(2), *stream.words(3)] == SplitMix64(5).words(5).tolist()


def test_a_split_has_draws_of_its_own():
    stream = SplitMix64(6)

    assert not set(stream.split().words(1000)) & set(stream.split().words(1000))


@pytest.mark.parametrize(
    ("draw", "mean", "spread"),
    [
        (lambda d, n: d.uniform(n), 0.5, 1 / math.sqrt(12)),
        (lambda d, n: d.bits(n), 0.5, 0.5),
        (lambda d, n: d.below(10, n), 4.5, math.sqrt(8.25)),
        (lambda d, n: d.normal(n), 0.0, 1.0),
        (lambda d, n: d.laplace(3.0, n), 0.0, 3 * math.sqrt(2)),
    ],
)
def test_laws_have_their_mean_and_spread(draw, mean, spread):
    sample = draw(SplitMix64(7), 40_000)

    assert abs(sample.mean() - mean) < 6 * spread / 200
    assert abs(sample.std() / spread - 1) < 0.05


def test_an_order_is_a_permutation():
    order = SplitMix64(8).order(100)

    assert sorted(order) == list(range(100))
    assert list(order) != list(range(100))


def test_shapes_are_as_asked():
    assert SplitMix64(9).bits(2, 3).shape == (2, 3)
    assert np.all(SplitMix64(9).uniform(1000) < 1)
