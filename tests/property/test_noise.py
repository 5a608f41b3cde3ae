import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import bad_numbers, scales

from discreet import noise
from discreet.errors import InputError
from discreet.noise import exponential, gaussian
from discreet.noise.bits import Keystream


@given(scales(), st.binary(min_size=32, max_size=32), st.booleans())
def test_both_paths_agree_at_every_scale(scale, key, two_sided):
    law = exponential.law(scale, two_sided=two_sided)
    source = Keystream(key)
    words = source.words(20)
    high, doubt = exponential.fast(words, law.step_float, law.origin)
    for word, value, unsure in zip(words, high, doubt, strict=True):
        assert unsure or int(value) == exponential.precise(law, int(word) >> 1, source)


@given(scales(), st.binary(min_size=32, max_size=32))
def test_gaussian_verdicts_agree_at_every_scale(sigma, key):
    law = gaussian.law(sigma * sigma)
    source = Keystream(key)
    for word in map(int, source.words(10)):
        draw = exponential.one(law.proposal, source)
        assert gaussian._keeps(law, draw, word >> 1, source) == law.keeps(draw, word >> 1, source)


@given(scales())
def test_prepared_scales_keep_their_exact_value(scale):
    law = exponential.law(scale, two_sided=False)

    assert law.step * 2**law.low_bits == scale
    assert law.step < 2**21
    assert law.low_bits == 0 or law.step >= 2**20


@given(scales(), st.integers(0, 40))
def test_draws_are_whole_numbers_of_the_size_that_was_asked_for(scale, size):
    for draw in (noise.discrete_laplace, noise.geometric):
        drawn = draw(scale, size=size)
        assert drawn.shape == (size,)
        assert drawn.dtype == np.int64
    assert noise.geometric(scale) >= 0


@given(bad_numbers)
def test_whatever_is_no_scale_is_refused(value):
    for draw in (noise.discrete_laplace, noise.geometric, noise.discrete_gaussian):
        if value == []:
            continue
        with pytest.raises(InputError, match="Fix: "):
            draw(value)
