"""Tails of rounded Student's t noise against another library, and half-widths."""

from fractions import Fraction

import pytest
from scipy import stats

from discreet.mechanisms.smooth_laws import half_width, upper_tail


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(10**6)])
def test_tails_agree_with_another_library(scale):
    for steps in (1, 2, 10, 10**6):
        tail = upper_tail(scale, steps)
        expected = stats.t.sf((steps - 0.5) / float(scale), 4)
        assert tail.lower <= tail.upper <= tail.lower * (1 + 1e-12)
        assert tail.upper == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("probability", [Fraction(1, 20), Fraction(1, 10**9)])
def test_half_widths_are_the_smallest(probability):
    for scale in (Fraction(1, 100), Fraction(37, 2)):
        width = half_width(scale, probability)
        assert (upper_tail(scale, width + 1) * 2).upper <= float(probability)
        assert width == 0 or (upper_tail(scale, width) * 2).upper > float(probability)
