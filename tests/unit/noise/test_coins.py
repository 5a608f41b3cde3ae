import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import noise
from discreet.errors import InputError
from discreet.noise.bits import replaced
from discreet.noise.coins import exponential_coin, rational_coin
from scripted_bits import Scripted


def test_a_coin_compares_the_whole_uniform_and_not_its_first_word():
    coin = rational_coin(Fraction(1, 3))
    tie = coin.threshold  # 0.0101... in binary, word after word

    assert coin.settle(tie - 1, Scripted([])) is True
    assert coin.settle(tie + 1, Scripted([])) is False
    assert coin.settle(tie, Scripted([tie, tie, tie - 1])) is True
    assert coin.settle(tie, Scripted([tie, tie, tie + 1])) is False


def test_arrays_settle_their_ties_too():
    tie = rational_coin(Fraction(1, 3)).threshold
    with replaced(lambda: Scripted([tie] * 20 + [0] * 10 + [2**64 - 1] * 10)):
        heads = noise.bernoulli(Fraction(1, 3), size=20)

    assert heads.tolist() == [True] * 10 + [False] * 10


def test_the_threshold_of_an_exponential_coin_is_the_floor_of_its_probability():
    # exp(-1) in hexadecimal begins 0.5E2D58D8B3BCDF1A|BADEC7829054F90D.
    assert exponential_coin(Fraction(1)).threshold == 0x5E2D58D8B3BCDF1A
    assert exponential_coin(Fraction(0)).threshold == 1 << 64
    assert exponential_coin(Fraction(10**30)).threshold == 0


def test_certain_coins_are_certain():
    assert noise.bernoulli(1, size=100).all()
    assert not noise.bernoulli(0, size=100).any()
    assert noise.bernoulli_exp(0, size=100).all()
    with replaced(lambda: Scripted([2**64 - 1] * 20)):
        assert noise.bernoulli(1, size=20).all()
    with replaced(lambda: Scripted([0] * 20)):
        assert not noise.bernoulli(0, size=20).any()


def test_a_coin_that_is_all_but_impossible_still_ends():
    with replaced(lambda: Scripted([0, 0, 1])):
        assert noise.bernoulli_exp(10**30) is False


def test_coins_of_many_probabilities_keep_their_places():
    heads = noise.bernoulli(np.array([0, 1] * 50))

    assert heads.tolist() == [False, True] * 50
    assert noise.bernoulli([0, 1]).tolist() == [False, True]
    assert type(noise.bernoulli(0.5)) is bool


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan, math.inf, "0.5", None, True])
def test_what_is_no_probability_is_refused(p):
    with pytest.raises(InputError, match="Fix: "):
        noise.bernoulli(p)


@pytest.mark.parametrize("x", [-0.1, math.nan, math.inf, "0.5", None])
def test_a_rate_that_gives_no_probability_is_refused(x):
    with pytest.raises(InputError, match="Fix: "):
        noise.bernoulli_exp(x)
