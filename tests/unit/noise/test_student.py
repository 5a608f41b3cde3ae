"""Rounded Student's t noise: one law in float64 and in arbitrary precision."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet import noise
from discreet.errors import InputError
from discreet.noise.bits import Keystream, Uniform, replaced
from discreet.noise.student import _enclose, _in_floats, certified_draw
from scripted_bits import Scripted

EDGES = [0, 1, 2, 12345, (1 << 62) - 1, 1 << 62, (1 << 63) - 2, (1 << 63) - 1]


@pytest.mark.parametrize(
    "scale", [Fraction(1, 1000), Fraction(1, 3), Fraction(10), Fraction(2**30)]
)
def test_float64_and_arbitrary_precision_agree_on_every_word(scale):
    source = Keystream(bytes(32))
    prefixes = np.append(np.array(EDGES), (source.words(300) >> np.uint64(1)).view(np.int64))
    values, doubt = _in_floats(prefixes, float(scale))
    assert doubt[8:].mean() < 0.02
    for prefix, value, unsure in zip(prefixes, values, doubt, strict=True):
        assert unsure or certified_draw(scale, Uniform(int(prefix), 63, source)) == value


def test_the_enclosure_holds_the_quantile():
    for share in (1e-6, 0.1, 0.5, 0.77, 1 - 1e-6):
        low, high = _enclose(Fraction(1), Uniform(int(share * 2**63), 63, Keystream(bytes(32))))
        assert low <= high
        assert float(low) - 0.5 == pytest.approx(stats.t.ppf(share, 4), rel=1e-9, abs=1e-12)


def test_a_uniform_that_may_be_0_or_1_asks_for_more_bits():
    for first in (0, 2**64 - 1):
        with replaced(lambda first=first: Scripted([first, 1 << 63, 1 << 62, 1 << 61])):
            assert abs(noise.rounded_student(1)) > 1000


def test_draws_have_their_law():
    draws = noise.rounded_student(Fraction(5, 2), 40_000)
    assert draws.dtype == np.int64
    for steps in (-9, -1, 0, 1, 4, 20):
        expected = stats.t.sf((steps - 0.5) / 2.5, 4)
        assert abs((draws >= steps).mean() - expected) < 0.0125  # five deviations


def test_wide_noise_is_drawn_in_arbitrary_precision_and_may_leave_64_bits():
    wide = noise.rounded_student(2**59, 50)
    assert len(wide) == 50
    assert noise.rounded_student(1, 5, widest=2**40).shape == (5,)
    with replaced(lambda: Scripted([2**64 - 2**30, 0])):
        assert noise.rounded_student(2**60) > 2**63
    assert noise.rounded_student(1, 0).size == 0


@pytest.mark.parametrize("scale", [0, -1, Fraction(1, 2**30), 2**70, float("nan")])
def test_scales_out_of_range_are_refused(scale):
    with pytest.raises(InputError):
        noise.rounded_student(scale)
