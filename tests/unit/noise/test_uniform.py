import numpy as np
import pytest

from discreet import noise
from discreet.errors import InputError
from discreet.noise.bits import replaced
from discreet.noise.uniform import _one
from scripted_bits import Scripted


def test_words_beyond_the_last_whole_multiple_are_drawn_again():
    # 2^64 = 3 * 6148914691236517205 + 1: the one word left over would favour 0.
    last = 2**64 - 1
    with replaced(lambda: Scripted([last, *[4] * 19, 5])):
        draws = noise.below(3, size=20)

    assert draws.tolist() == [2] + [1] * 19


def test_a_scalar_starts_over_on_a_miss_and_takes_a_word_even_for_one_value():
    source = Scripted([2**64 - 1, 8, 77])

    assert _one(3, source) == 2
    assert _one(1, source) == 0
    assert source.script == []
    assert _one(2**65, Scripted([5, 9])) == 5 * 2**64 % 2**65 + 9


def test_draws_fit_their_type():
    assert noise.below(2**63, size=100).dtype == np.int64
    large = noise.below(2**200, size=100)

    assert large.dtype == object
    assert max(large) > 2**150
    assert noise.below([1, 2, 3], size=(40, 3)).max(axis=0).tolist() == [0, 1, 2]
    assert noise.below([]).shape == (0,)
    assert type(noise.below(10)) is int


@pytest.mark.parametrize("n", [0, -3, 2.0, "2", None, True])
def test_what_nothing_can_be_drawn_below_is_refused(n):
    with pytest.raises(InputError, match="Fix: "):
        noise.below(n)


class Counted(Scripted):
    count = 0

    def word(self):
        self.count += 1
        return Scripted.word(self)


@pytest.mark.parametrize("size", [None, 3])
def test_a4_a_public_bound_settles_how_many_words_are_drawn(size):
    counts = set()
    for n in (1, 7, 2**32, 2**40, 2**63):
        source = Counted()
        with replaced(lambda source=source: source):
            assert np.all(np.asarray(noise.below(n, size, at_most=2**63)) < n)
        counts.add(source.count)
    assert counts == {2 * (size or 1)}
