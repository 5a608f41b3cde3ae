"""Geometric and Laplace: the fast path against arbitrary precision, word by word, and the edges."""

import gc
import math
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet import noise
from discreet.errors import InputError
from discreet.noise import exponential
from discreet.noise.bits import Keystream, contexts, exact, floor, replaced
from discreet.noise.shape import DrawRequest
from scripted_bits import Scripted, Silent

SCALES = [Fraction(1, 1 << 20), Fraction(7, 10), Fraction(10), Fraction(10**6, 7), Fraction(3**25)]


def words_near_boundaries(law, distances):
    """Words whose t lies within these distances of an integer."""
    words = []
    for i, distance in enumerate(distances):
        target = 1 + i % max(1, int(12 * law.step_float)) + distance
        u = math.exp(law.origin - target / law.step_float)
        if exponential._TRUSTED <= u < 2.0**63:
            words.append(2 * int(u) + i % 2)
    return np.array(words, dtype=np.uint64)


def mismatches(law, words):
    high, doubt = exponential.fast(words, law.step_float, law.origin)
    source = Keystream(bytes(32))
    return [
        int(word)
        for word, value, unsure in zip(words, high, doubt, strict=True)
        if not unsure and int(value) != exponential.precise(law, int(word) >> 1, source)
    ]


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("scale", SCALES, ids=float)
def test_the_fast_path_and_arbitrary_precision_agree_on_every_word(scale, two_sided):
    law = exponential.law(scale, two_sided=two_sided)
    words = Keystream(bytes(31) + bytes([two_sided])).words(10_000)

    assert mismatches(law, words) == []


@pytest.mark.parametrize("scale", [Fraction(10), Fraction(10**6, 7), Fraction(3**25)], ids=float)
def test_the_paths_agree_just_outside_the_band_and_doubt_reigns_inside(scale):
    law = exponential.law(scale, two_sided=True)
    rng = np.random.default_rng(1)
    signs = rng.choice([-1, 1], 2000)
    outside = words_near_boundaries(law, signs * exponential.BAND * rng.uniform(1.01, 4, 2000))
    inside = words_near_boundaries(law, signs * exponential.BAND * rng.uniform(0, 0.9, 2000))

    assert len(outside) > 1000
    assert mismatches(law, outside) == []
    assert exponential.fast(inside, law.step_float, law.origin)[1].all()


def test_a_sampler_without_the_band_is_caught(monkeypatch):
    law = exponential.law(Fraction((1 << 21) - 1), two_sided=True)
    words = words_near_boundaries(law, np.random.default_rng(2).uniform(-1, 1, 4000) * 2.0**-26)
    monkeypatch.setattr(exponential, "BAND", 0.0)

    assert len(mismatches(law, words)) > 10


def test_the_scalar_path_agrees_with_the_array_path():
    for scale in SCALES:
        law = exponential.law(scale, two_sided=True)
        words = Keystream(bytes(32)).words(4000)
        together = exponential.many(DrawRequest((law,), None, (2000,)), Scripted(words)).values
        # The array path reads all first words of a block, then all second ones.
        seconds = words[2000:] if law.low_bits else words[:0]
        for i in range(2000):
            script = [int(words[i]), *map(int, seconds[i : i + 1])]
            assert exponential.one(law, Scripted(script)) == together[i]


def test_unmistakable_words_ask_for_no_more_bits():
    law = exponential.law(Fraction(10), two_sided=True)

    assert exponential._high(law, 1 << 62, Silent()) == 7


@pytest.mark.parametrize("scale", [1, 10, 2**40])
def test_draws_forced_through_arbitrary_precision_are_the_same_draws(monkeypatch, scale):
    stream = Keystream(b"k" * 32)
    with replaced(lambda: stream):
        expected = noise.discrete_laplace(scale, size=3000)
    monkeypatch.setattr(exponential, "BAND", 1.0)
    stream = Keystream(b"k" * 32)
    with replaced(lambda: stream):
        actual = noise.discrete_laplace(scale, size=3000)

    # A block whose doubtful lanes ask for no more bits reads the same words.
    assert np.array_equal(expected, actual)


def test_low_bits_are_kept_with_the_right_probability():
    law = exponential.law(Fraction(1 << 30), two_sided=False)
    low = (1 << law.low_bits) - 1
    tries = 20_000
    source = Keystream(bytes(32))
    kept = sum(exponential.keep(law, low, source) for _ in range(tries))
    # Given twenty ones, V < exp(-L/s) has probability 1 - 2^20 (1 - exp(-L/s)).
    p = 1 - 2**20 * -math.expm1(-low / 2**30)

    assert abs(kept - tries * p) < 5 * math.sqrt(tries * p * (1 - p))


def test_minus_zero_and_refused_low_bits_are_drawn_again():
    law = exponential.law(Fraction(1 << 30), two_sided=True)
    top = (1 << 64) - 1  # U just below 1: a high part of 0; its lowest bit says "negative"
    minus_zero = [top, 0]
    refused = [top, top, top]  # all low bits set, then a uniform just below 1 refuses them
    accepted = [top - 1, 5 << 54]

    assert exponential.one(law, Scripted([*minus_zero, *refused, *accepted])) == 5


def test_a_draw_beyond_64_bits_is_a_python_int_and_never_wraps():
    rest = [0, 0, 0, 0, 0, 1 << 63]  # U is about 2^-384, so -ln U is about 266
    law = exponential.law(Fraction(1 << 56), two_sided=False)
    lone = exponential.one(law, Scripted([0, *rest, 77]))
    with replaced(lambda: Scripted([0, *[1 << 63] * 15, *[77] * 16, *rest])):
        array = noise.geometric(2**56, size=16)
    with replaced(lambda: Scripted([0, *rest, 77])):
        short = noise.geometric(2**56, size=1)

    assert lone > 1 << 63
    assert array.dtype == object
    assert array[0] == lone
    assert short[0] == lone
    assert all(type(value) is int for value in array)


def test_mixed_scales_draw_each_position_from_its_own_law():
    scales = np.array([0.25, 10, 2.0**30] * 20_000)
    draws = noise.discrete_laplace(scales)
    spread = np.abs(draws.reshape(-1, 3)).mean(axis=0)

    assert spread[0] == pytest.approx(2 * math.exp(-4) / (1 - math.exp(-8)), rel=0.05)
    assert spread[1] == pytest.approx(10, rel=0.05)
    assert spread[2] == pytest.approx(2**30, rel=0.05)


def test_results_have_the_shape_and_type_that_was_asked_for():
    assert type(noise.discrete_laplace(3)) is int
    assert type(noise.geometric(np.float64(3))) is int
    assert type(noise.geometric(np.array(3))) is int
    assert noise.geometric(3, size=0).shape == (0,)
    assert noise.geometric([], size=None).shape == (0,)
    assert noise.discrete_laplace(3, size=(4, 5)).shape == (4, 5)
    assert noise.discrete_laplace([1, 2, 3]).shape == (3,)
    assert noise.discrete_laplace([1, 2, 3], size=(50, 3)).shape == (50, 3)
    assert noise.discrete_laplace([Fraction(1, 3), Decimal("0.5"), 2]).dtype == np.int64


@pytest.mark.parametrize(
    "scale",
    [0, -1, math.nan, math.inf, -math.inf, 2.0**-21, 2**57, True, "10", None, 1j, [1, -1]],
    ids=repr,
)
@pytest.mark.parametrize("draw", [noise.discrete_laplace, noise.geometric])
def test_a_scale_that_is_no_scale_is_refused_with_a_way_to_mend_it(draw, scale):
    with pytest.raises(InputError, match="Fix: "):
        draw(scale)


@pytest.mark.parametrize("size", [-1, 1.5, (2, -1), "3", True])
def test_a_size_that_is_no_size_is_refused(size):
    with pytest.raises(InputError, match="size"):
        noise.discrete_laplace(1, size=size)


def test_scales_that_cannot_be_spread_over_the_size_are_refused():
    with pytest.raises(InputError, match="spread"):
        noise.discrete_laplace([1, 2, 3], size=4)


def test_a_float_scale_is_the_decimal_it_prints_as():
    assert exponential.read_scale(0.1) == Fraction(1, 10)
    assert exponential.read_scale(np.float32(0.1)) == Fraction(1, 10)


def test_a_word_that_straddles_a_boundary_is_settled_by_later_bits():
    law = exponential.law(Fraction(10), two_sided=False)
    # The 63 bits of exp(-1/10), where the draw changes from 0 to 1: a larger U is a smaller draw.
    down, _ = contexts(200)
    edge = floor(down.mul(down.exp(down.div(-1, 10)), exact(1 << 63)))

    assert exponential.precise(law, edge, Scripted([0])) == 1
    assert exponential.precise(law, edge, Scripted([2**64 - 1])) == 0


def steps(law, word):
    """The operations of the interpreter, one by one, that make a draw from a word.

    Garbage is not collected meanwhile: what others run at a collection is no part of the draw.
    """
    taken = []

    def follow(frame, event, _argument):
        frame.f_trace_opcodes = True
        if event == "opcode":
            taken.append((frame.f_code.co_name, frame.f_lasti))
        return follow

    source = Scripted([word, word])
    before = sys.gettrace()
    gc.disable()
    sys.settrace(follow)
    try:
        exponential.one(law, source)
    finally:
        sys.settrace(before)
        gc.enable()
    return tuple(taken)


def paths_of(scale):
    """How many different paths single draws take; words that float64 does not settle are left out.

    Every word comes with either sign, and so with small and large noise.
    """
    law = exponential.law(scale, two_sided=True)
    words = Keystream(bytes(32)).words(300) & ~np.uint64(1)
    _, doubt = exponential.fast(words, law.step_float, law.origin)
    sure = [int(word) | sign for word in words[~doubt] for sign in (0, 1)]
    steps(law, sure[0])  # Python 3.12 prepares functions for tracing while it first traces them
    return len({steps(law, word) for word in sure})


@pytest.mark.parametrize("scale", [1, 20, 60, 1000, 2**21 - 1, 2**22, 2**40])
def test_a4_every_draw_takes_the_same_steps_whatever_its_size_and_sign(scale):
    assert paths_of(Fraction(scale)) == 1


def test_a4_a_branch_on_the_sign_or_the_size_is_noticed(monkeypatch):
    def branching(law, prefix, source):
        high = straight(law, prefix, source)
        return high if high < 2 else high + 0.0

    straight = exponential._high
    monkeypatch.setattr(exponential, "_high", branching)

    assert paths_of(Fraction(1)) == 2
