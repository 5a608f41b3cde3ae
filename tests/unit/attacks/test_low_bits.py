import numpy as np
import pytest

from discreet.attacks import LowBits, Promise, RepeatedZero
from discreet.attacks.simulation import SplitMix64
from discreet.errors import InputError
from discreet.mechanisms import Laplace


def textbook(scale=1.0, seed=1):
    draws = SplitMix64(seed)
    return lambda count, runs: count + draws.laplace(scale, runs)


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
def test_textbook_noise_is_recognised_by_its_low_order_bits(scale):
    outcome = LowBits(scale, Promise(1 / scale)).run(textbook(scale), 1000)

    assert outcome.success > 0.3
    assert outcome.baseline < 0.01
    assert outcome.refutes


def test_a_proof_that_it_was_zero_is_never_wrong_about_textbook_noise():
    draws = SplitMix64(2)

    assert not LowBits().proves_zero(1 + draws.laplace(1.0, 5000)).any()


def test_one_zero_in_a_few_answers_is_enough():
    outcome = RepeatedZero(Promise(1)).run(textbook(), 20)

    assert outcome.success > 0.98
    assert outcome.baseline == 0.0
    assert outcome.refutes


def test_more_answers_hold_more_proofs():
    rates = [RepeatedZero().run(textbook(), effort).success for effort in (1, 4, 16)]

    assert rates == sorted(rates)
    assert rates[0] < 0.4


@pytest.mark.parametrize("attack", [LowBits(promise=Promise(1)), RepeatedZero(Promise(1))])
def test_noise_on_a_grid_has_no_such_event(attack):
    grid = Laplace(epsilon=1, sensitivity=1, grid=2.0**-10)
    outcome = attack.run(lambda count, runs: np.asarray(grid.draw(count, runs)), 10)

    assert (outcome.success, outcome.baseline) == (0.0, 0.0)


@pytest.mark.parametrize("attack", [LowBits(promise=Promise(1)), RepeatedZero(Promise(1))])
def test_a_count_that_comes_without_noise_is_proof_enough(attack):
    outcome = attack.run(lambda count, runs: np.full(runs, float(count)), 50)

    assert (outcome.success, outcome.baseline) == (1.0, 0.0)
    assert outcome.refutes


@pytest.mark.parametrize("attack", [LowBits(promise=Promise(1)), RepeatedZero(Promise(1))])
def test_whole_noise_that_is_often_nothing_proves_no_more_than_it_may(attack):
    # Here the count itself is a likely answer, about 0 and about 1, and the baseline says so.
    whole = Laplace(epsilon=1, sensitivity=1)
    effort = 500 if isinstance(attack, LowBits) else 1
    outcome = attack.run(lambda count, runs: np.asarray(whole.draw(count, runs)), effort)

    assert outcome.success > 0.4
    assert not outcome.refutes


@pytest.mark.parametrize("scale", [0, -1, np.inf, np.nan])
def test_a_scale_that_is_no_width_is_refused(scale):
    with pytest.raises(InputError, match="scale"):
        LowBits(scale)


def test_no_effort_is_refused():
    with pytest.raises(InputError, match="effort"):
        RepeatedZero().run(textbook(), 0)
