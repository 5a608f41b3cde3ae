import math

import pytest

from discreet.errors import InvariantBroken
from discreet.privacy import Bound


def test_as_a_number_it_is_the_upper_end():
    assert float(Bound(1.0, 2.0, "x")) == 2.0


def test_comparisons_act_on_the_upper_end():
    a, b = Bound(0.0, 1.0, "x"), Bound(0.9, 1.5, "y")
    assert a < b
    assert b > a
    assert a <= 1
    assert not a < 1.0
    assert a == Bound(0.5, 1.0, "z")
    assert hash(a) == hash(Bound(0.5, 1.0, "z"))
    assert a != "1"
    with pytest.raises(TypeError):
        a < "1"  # noqa: B015


@pytest.mark.parametrize("ends", [(2.0, 1.0), (math.nan, 1.0), (0.0, math.nan), (-1.0, 1.0)])
def test_ends_out_of_order_fail_closed(ends):
    with pytest.raises(InvariantBroken):
        Bound(*ends, "x")


def test_infinity_is_a_bound():
    assert Bound(math.inf, math.inf, "x").width == 0.0
    assert Bound(1.0, math.inf, "x").width == math.inf


def test_formats_of_numbers_are_those_of_the_upper_end():
    bound = Bound(0.5, 1.25, "basic")
    assert f"{bound:.2f}{bound:7.3f}" == "1.25  1.250"
    assert f"{bound}" == str(bound)
