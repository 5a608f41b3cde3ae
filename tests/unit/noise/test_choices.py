"""Exact choices, many at once: both paths, multiplicities, and what is refused."""

from fractions import Fraction

import gmpy2
import numpy as np
import pytest

from discreet.errors import InputError
from discreet.noise import selection as choices
from discreet.noise.bits import replaced
from scripted_bits import Scripted


def chosen_by(word, scores, multiplicities=None):
    with replaced(lambda: Scripted([word])):
        return int(choices.choose(scores, 1, 1, multiplicities)[0])


def test_words_on_the_boundary_are_settled_by_further_bits():
    assert chosen_by(2**63 - 1, [0, 0]) == 0
    assert chosen_by(2**63, [0, 0]) == 1
    assert chosen_by(2**64 - 1, [0, 0]) == 1
    assert chosen_by(0, [0, 0]) == 0


def test_an_irrational_boundary_is_settled_by_as_many_bits_as_it_takes():
    # The boundary of scores 1 and 0 is at e/(1 + e); give its own first 128 bits, then a doubt.
    with gmpy2.context(precision=400):
        boundary = int(gmpy2.floor(gmpy2.exp(1) / (1 + gmpy2.exp(1)) * gmpy2.mpfr(2) ** 128))
    first, second = divmod(boundary, 2**64)
    for bits, expected in (((first, second, 0), 0), ((first, second, 2**64 - 1), 1)):
        with replaced(lambda bits=bits: Scripted([*bits])):
            assert int(choices.choose([1, 0], 1, 1)[0]) == expected
    with replaced(lambda: Scripted([first, second - 1])):
        assert int(choices.choose([1, 0], 1, 1)[0]) == 0
    with replaced(lambda: Scripted([first, second + 1])):
        assert int(choices.choose([1, 0], 1, 1)[0]) == 1


def test_multiplicities_move_the_boundary():
    # Weights 3 and 1: the boundary is at 3/4.
    assert chosen_by(3 * 2**62 - 1, [5, 5], [3, 1]) == 0
    assert chosen_by(3 * 2**62, [5, 5], [3, 1]) == 1


def test_huge_multiplicities_outweigh_scores():
    assert set(choices.choose([0, 200], 1, 100, [2**400, 1])) == {0}


def test_both_paths_agree_on_the_same_words():
    generator = np.random.default_rng(5)
    words = [int(word) for word in generator.integers(0, 2**64, size=300, dtype=np.uint64)]
    scores, many = [0, 3, -2, 1], [1, 1, 5, 2]
    with replaced(lambda: Scripted([*words])):
        fast = choices.choose(scores, Fraction(7, 3), 300, many)
    read = choices.read_scores(scores, Fraction(7, 3))
    slow = [choices.locate(read, choices.Uniform(word, 64, Scripted()), many) for word in words]
    assert fast.tolist() == slow


def test_both_paths_of_permute_and_flip_agree_on_the_same_words():
    generator = np.random.default_rng(6)
    words = [int(word) for word in generator.integers(0, 2**64, size=600, dtype=np.uint64)]
    with replaced(lambda: Scripted([*words])):
        fast = choices.permute_and_flip([0, 3, 1], 2, 200)
    read = choices.read_scores([0, 3, 1], 2)
    slow = [
        choices.outlast(
            read, {j: choices.Uniform(words[3 * i + j] >> 1, 63, Scripted()) for j in range(3)}
        )
        for i in range(200)
    ]
    assert fast.tolist() == slow


def test_ties_of_permute_and_flip_are_settled_by_further_bits():
    same = 2**63 + 1  # both candidates see the same first word; later bits are 0 and 1
    for bits, expected in (((5, 2**63), 0), ((2**63, 5), 1)):
        with replaced(lambda bits=bits: Scripted([same, same, *bits])):
            assert choices.permute_and_flip([0, 0], 1, 1).tolist() == [expected]


def test_no_runs_are_no_choices():
    assert choices.choose([1, 2], 1, 0).size == 0
    assert choices.permute_and_flip([1, 2], 1, 0).size == 0


@pytest.mark.parametrize("many", [[0, 1], [-1, 1], [2**500, 1]])
def test_candidates_that_stand_for_nothing_or_too_much_are_refused(many):
    with pytest.raises(InputError):
        choices.choose([0, 0], 1, 1, many)


def test_more_candidates_than_a_block_are_fine():
    scores = np.zeros(1 << 21, dtype=np.int64)
    scores[17] = 10_000
    assert choices.permute_and_flip(scores, 1, 1).tolist() == [17]
