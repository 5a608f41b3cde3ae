import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.rationals import failure, first_whole, non_negative, positive, rational, whole


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (0.1, Fraction(1, 10)),
        (1e-6, Fraction(1, 10**6)),
        (5e-324, Fraction(5, 10**324)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float16(0.1), Fraction(1, 10)),
        (Decimal("0.30"), Fraction(3, 10)),
        (Fraction(1, 3), Fraction(1, 3)),
        (np.int8(-3), Fraction(-3)),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
        (-0.0, Fraction(0)),
    ],
)
def test_a_number_is_what_it_prints_as(typed, meant):
    assert rational(typed, "x") == meant


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_float_is_read_as_its_shortest_decimal(value):
    assert rational(value, "x") == Fraction(repr(value))
    assert float(rational(value, "x")) == value


@pytest.mark.parametrize(
    "value",
    [
        *(float("nan"), float("inf"), np.float32("nan"), Decimal("NaN"), Decimal("-Infinity")),
        *(True, np.True_, "1", None, 1j, [1], np.array([1])),
    ],
    ids=repr,
)
def test_what_is_no_finite_number_is_refused(value):
    with pytest.raises(InputError, match="x is"):
        rational(value, "x")


def test_signs_are_checked():
    assert positive(2, "x") == 2
    assert non_negative(0, "x") == 0
    for wrong in (0, -1):
        with pytest.raises(InputError, match="above 0"):
            positive(wrong, "x")
    with pytest.raises(InputError, match="negative"):
        non_negative(-1, "x")


def test_counts_are_ints_and_nothing_that_looks_like_one():
    assert whole(np.int64(3), "k", at_least=1) == 3
    for wrong in (3.0, True, "3", None):
        with pytest.raises(InputError, match="pass k as an int"):
            whole(wrong, "k", at_least=1)
    with pytest.raises(InputError, match="at least 1"):
        whole(0, "k", at_least=1)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 1.5, math.nan, math.inf, "0.95", None])
def test_a_confidence_is_strictly_between_0_and_1(confidence):
    with pytest.raises(InputError):
        failure(confidence)


@pytest.mark.parametrize("guess", [0.0, 1.0, 7.2, 8.0, 9.9, 1000.0])
def test_any_guess_finds_the_first_whole(guess):
    assert first_whole(lambda m: m >= 8, guess) == 8
    assert first_whole(lambda m: m >= 0, guess) == 0
