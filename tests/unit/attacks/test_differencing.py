import numpy as np
import pytest

from discreet.attacks import Averaging, Differencing, Promise
from discreet.attacks.simulation import SplitMix64
from discreet.errors import InputError


def noisy(secret, scale, seed=9):
    draws = SplitMix64(seed)
    return lambda who: (secret * who).sum(axis=1) + draws.laplace(scale, len(secret))


def test_exact_answers_give_every_target_away():
    secret = SplitMix64(1).bits(200, 4)

    for kind in (Differencing, Averaging):
        outcome = kind(secret, Promise(1)).run(lambda who: (secret * who).sum(axis=1), 1)
        assert (outcome.success, outcome.n) == (1.0, 200)


def test_the_targets_are_left_out_of_the_second_question():
    secret, asked = SplitMix64(2).bits(5, 3), []
    Differencing(secret).run(lambda who: asked.append(who) or np.zeros(5), 1)

    assert [who.sum() for who in asked] == [15, 10]
    assert not asked[1][:, 0].any()


def test_one_noisy_count_is_guessed_as_often_as_its_law_says():
    # P(|Laplace(1)| keeps the side) = 1 - e^(-1/2)/2.
    secret = SplitMix64(3).bits(4000, 2)
    outcome = Averaging(secret).run(noisy(secret, 1.0), 1)

    assert abs(outcome.success - 0.697) < 3 * np.sqrt(0.697 * 0.303 / 4000)


@pytest.mark.parametrize(("repeats", "rate"), [(100, 0.640), (1000, 0.869)])
def test_repeats_wear_fresh_noise_down(repeats, rate):
    # Each answer alone keeps epsilon = 0.1. Three standard errors of 1000 wards.
    secret = SplitMix64(4).bits(1000, 2)
    outcome = Averaging(secret, Promise(0.1)).run(noisy(secret, 10.0), repeats)

    assert abs(outcome.success - rate) < 3 * np.sqrt(rate * (1 - rate) / 1000)
    assert outcome.refutes


@pytest.mark.parametrize("kind", [Differencing, Averaging])
def test_a_rare_secret_is_told_by_its_prior(kind):
    secret = (SplitMix64(6).uniform(300, 3) < 0.1).astype(np.int64)
    outcome = kind(secret, Promise(1), prior=0.1).run(lambda who: (secret * who).sum(axis=1), 1)

    assert (outcome.success, outcome.baseline, outcome.bound) == (1.0, 0.9, 0.9)
    with pytest.raises(InputError, match=r"prior is 0.5"):
        kind(secret)


@pytest.mark.parametrize("kind", [Differencing, Averaging])
def test_bad_secrets_and_no_effort_are_refused(kind):
    with pytest.raises(InputError, match="table of bits"):
        kind(np.array([0, 1]))
    with pytest.raises(InputError, match="nobody"):
        kind(np.zeros((0, 2)))
    with pytest.raises(InputError, match="effort"):
        kind(np.array([[0, 1]])).run(lambda who: who.sum(axis=1), 0)
