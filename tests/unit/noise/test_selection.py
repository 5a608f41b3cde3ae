import math
from decimal import Decimal
from fractions import Fraction

import gmpy2
import numpy as np
import pytest

from discreet import noise
from discreet.errors import InputError
from discreet.noise import selection
from discreet.noise.bits import Keystream, Uniform, replaced
from discreet.noise.selection import _largest, locate, outlast, read_scores
from scripted_bits import Scripted

SCORES = [
    np.array([0, 3, -2, 3, 1]),
    np.array([0.1, 0.3, -0.2, 0.3, 0.15]),
    np.array([0.1, 0.3, -0.2, 0.3, 0.15], dtype=np.float32),
    [Fraction(1, 3), Decimal("0.3"), -1, 0.5, 2],
]


@pytest.mark.parametrize("scores", SCORES, ids=["ints", "floats", "narrow", "mixed"])
def test_choose_and_arbitrary_precision_agree_on_every_word(scores):
    read = read_scores(scores, 0.7)
    source = Keystream(bytes(32))
    for word in map(int, source.words(3000)):
        with replaced(lambda word=word: Scripted([word])):
            assert noise.choose(scores, 0.7) == locate(read, Uniform(word, 64, source))


@pytest.mark.parametrize("scores", SCORES, ids=["ints", "floats", "narrow", "mixed"])
def test_permute_and_flip_and_arbitrary_precision_agree_on_every_word(scores):
    read = read_scores(scores, 0.7)
    source = Keystream(bytes(32))
    for _ in range(1500):
        words = [int(word) for word in source.words(5)]
        with replaced(lambda words=words: Scripted(words)):
            fast = noise.permute_and_flip(scores, 0.7)
        assert fast == outlast(read, {i: Uniform(w >> 1, 63, source) for i, w in enumerate(words)})


@pytest.mark.parametrize("many", [[1, 1, 1], [1, 2**61, 5]], ids=["one each", "many"])
def test_the_largest_of_many_draws_agrees_with_arbitrary_precision(many):
    read, source = read_scores([0, -30, 1], 1), Keystream(bytes(32))
    for start in range(400):
        key = [start, 0, 0, 0]
        stream = Keystream(np.array(key, dtype="<u8").tobytes())
        uniforms = {i: Uniform(int(w) >> 1, 63, source) for i, w in enumerate(stream.words(3))}
        with replaced(lambda key=key: Scripted(list(key))):
            assert noise.permute_and_flip([0, -30, 1], 1, None, many) == outlast(
                read, uniforms, many
            )


@pytest.mark.parametrize("many", [2, 7, 2**61])
def test_the_largest_of_many_draws_has_its_law(many):
    # P(largest <= x) = (1 - e^-x)^m: the enclosure of the draw holds the quantile of U.
    for prefix in (1, 1 << 20, 1 << 62, (1 << 63) - 1):
        low, high = _largest(Uniform(prefix, 63, Keystream(bytes(32))), many)
        with gmpy2.context(precision=300):
            left, right = (
                -gmpy2.log(-gmpy2.expm1(gmpy2.log1p(-gmpy2.mpfr(prefix + more) / 2**63) / many))
                for more in (0, 1)
            )
            assert low <= right <= left <= high


def test_a_uniform_at_the_edge_between_two_candidates_asks_for_more_bits():
    half = 1 << 63  # exactly at the edge of two equal weights
    low, high = [half - 1, 2**64 - 1, 2**64 - 1], [half, 0, 1]

    for script, expected in ((low, 0), (high, 1)):
        with replaced(lambda script=script: Scripted(list(script))):
            assert noise.choose([5, 5], 1) == expected


def test_the_edge_is_settled_by_later_bits_where_the_first_word_cannot():
    # 1/(1 + exp(-1)): the first word of the edge itself decides nothing.
    read = read_scores([1, 0], 1)
    edge = int(math.exp(0) / (1 + math.exp(-1)) * 2**53) << 11
    seen = set()
    for word in range(edge - 4096, edge + 4096, 64):
        uniform = Uniform(word, 64, Keystream(bytes(32)))
        seen.add(locate(read, uniform))

    assert seen == {0, 1}


def test_contenders_that_look_alike_are_told_apart_by_later_bits():
    same = 12345 << 40
    with replaced(lambda: Scripted([same, same, 7, 9, 0, 0])):
        assert noise.permute_and_flip([0, 0], 1) == 0  # the smaller uniform is the larger noise
    with replaced(lambda: Scripted([same, same, 9, 7, 0, 0])):
        assert noise.permute_and_flip([0, 0], 1) == 1


def test_a_uniform_that_begins_with_zeros_is_not_trusted_to_float64():
    with replaced(lambda: Scripted([0, 1 << 63, 1 << 62, 1 << 60, 1 << 60])):
        assert noise.permute_and_flip([0, 0], 1) == 0


@pytest.mark.parametrize("choose", [noise.choose, noise.permute_and_flip])
def test_scores_of_any_size_are_chosen_among_without_overflow(choose):
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max

    assert choose([7], 1) == 0
    assert choose(np.array([low, high]), 1) == 1
    assert choose(np.array([0, 2**64 - 1], dtype=np.uint64), 1) == 1
    assert choose([-1.7e308, 1.7e308], 1) == 1
    assert choose([0, 10**400], 1) == 1
    assert choose([0, 1], Fraction(1, 10**400)) == 1
    assert choose([0, 0, 1], Decimal("1e400")) in {0, 1, 2}
    assert choose([1e-320, 1.0], 1e-300) == 1
    assert choose(np.array([0, 1e300], dtype=np.longdouble), 1) == 1


@pytest.mark.parametrize("choose", [noise.choose, noise.permute_and_flip])
@pytest.mark.parametrize(
    "scores",
    [[], [[1, 2]], 3, [1, math.nan], [math.inf, 1], ["a", "b"], [True, False], [None]],
    ids=repr,
)
def test_what_is_no_list_of_scores_is_refused(choose, scores):
    with pytest.raises(InputError, match="Fix: "):
        choose(scores, 1)


@pytest.mark.parametrize("temperature", [0, -1, math.nan, math.inf, "1"])
def test_what_is_no_temperature_is_refused(temperature):
    with pytest.raises(InputError, match="temperature"):
        noise.choose([1, 2], temperature)


@pytest.mark.parametrize("kind", [np.array, list, lambda scores: [*scores[:1], Fraction(0.3)]])
def test_a_float_score_is_the_double_it_is_and_large_ones_are_doubted(kind):
    read = read_scores(kind([0.1, 0.3]), 1)

    assert read.exact_gap(0, read.best()) == Fraction(0.3) - Fraction(0.1)
    assert selection.read_scores(np.array([1e18, 1.0]), 1).size == 1e18
    assert selection.exactly(np.float32(0.1)) == Fraction(float(np.float32(0.1)))


def test_b1_float_scores_are_no_further_apart_than_they_were_computed_to_be():
    """As decimals these are 1.00000000000000003 apart, and a sensitivity of 1 would be exceeded."""
    low, high = 3 * 2.0**-52, 1 + 3 * 2.0**-52

    assert Fraction(repr(high)) - Fraction(repr(low)) > 1
    for kind in (np.array, list):
        read = read_scores(kind([low, high]), 1)
        assert read.exact_gap(0, read.best()) == 1
