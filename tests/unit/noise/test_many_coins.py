"""Many draws of one coin: a byte settles most, and the rest is exact."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import noise
from discreet.noise.bits import replaced
from discreet.noise.coins import MANY


class Scripted:
    """Words that were chosen."""

    def __init__(self, *batches):
        self.batches = list(batches)

    def words(self, count):
        return np.resize(np.array(self.batches.pop(0), dtype=np.uint64), count)

    def word(self):
        return self.batches.pop(0)


def flips(p, *batches):
    with replaced(lambda: Scripted(*batches)):
        return noise.bernoulli(p, size=MANY)


def test_a_byte_below_the_first_of_p_is_heads_and_above_it_tails():
    octets = np.arange(8, dtype=np.uint8).view("<u8")
    drawn = flips(Fraction(4, 256), octets, [0])

    assert drawn[:8].tolist() == [True] * 4 + [False] * 4


def test_a_byte_like_the_first_of_p_draws_the_rest():
    p = Fraction(4, 256) + Fraction(1, 512)  # half of those that tie
    octets = np.full(8, 4, dtype=np.uint8).view("<u8")
    low, high = 0, (1 << 64) - 1
    drawn = flips(p, octets, [low, high])

    assert drawn[:4].tolist() == [True, False, True, False]


def test_a_whole_word_like_that_of_p_draws_on():
    """P is a third: floor(p 2^64) is 0x5555...; the next word decides."""
    octets = np.full(8, 0x55, dtype=np.uint8).view("<u8")
    tie = 0x55555555555555 << 8
    for word, heads in ((0, True), ((1 << 64) - 1, False)):
        drawn = flips(Fraction(1, 3), octets, [tie], *[word] * MANY)
        assert (drawn == heads).all()


@pytest.mark.parametrize("p", [0, 1, Fraction(255, 256), Fraction(1, 3), Fraction(1, 1 << 70)])
def test_shares_are_p(p):
    drawn = noise.bernoulli(p, size=1 << 18)

    assert abs(drawn.mean() - float(p)) <= 5 * np.sqrt(float(p * (1 - p)) / (1 << 18))
