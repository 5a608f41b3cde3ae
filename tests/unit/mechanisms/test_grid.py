"""The grid: exact, never wrapping, and honest about what rounding costs."""

import math
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.mechanisms.grid import INTEGERS, PowerOfTwoGrid, add, choose_grid, grid_below, sqrt_up

QUARTERS = PowerOfTwoGrid(Fraction(1, 4))


def test_values_are_rounded_to_the_nearest_point_and_halves_go_up():
    assert QUARTERS.index([0.125, -0.125, 0.374, 0.376]).tolist() == [1, 0, 1, 2]


def test_the_float_just_below_a_half_is_rounded_down_where_adding_a_half_would_round_it_up():
    assert PowerOfTwoGrid(Fraction(1)).index(0.49999999999999994) == 0
    assert PowerOfTwoGrid(Fraction(1)).index(np.array([0.49999999999999994, 0.5])).tolist() == [
        0,
        1,
    ]


def test_arrays_lists_and_numbers_are_put_on_the_same_points():
    values = [0.1, -7.3, 1e17, -2.5, 3, 2**70]
    one_by_one = [QUARTERS.index(value) for value in values]
    assert QUARTERS.index(values).tolist() == one_by_one
    assert QUARTERS.index(np.array(values[:4])).tolist() == one_by_one[:4]
    exact = [math.floor(Fraction(value) * 4 + Fraction(1, 2)) for value in values]
    assert one_by_one == exact


def test_fractions_and_decimals_are_read_exactly():
    assert QUARTERS.index(Fraction(1, 3)) == 1
    assert QUARTERS.index(Decimal("0.125")) == 1
    assert QUARTERS.index([Fraction(1, 3), Decimal("-0.2")]).tolist() == [1, -1]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
def test_c5_every_integer_width_keeps_its_largest_value(dtype):
    edges = [np.iinfo(dtype).min, np.iinfo(dtype).max]
    assert INTEGERS.index(np.array(edges, dtype=dtype)).tolist() == edges
    shifted = QUARTERS.index(np.array(edges, dtype=dtype)).tolist()
    assert shifted == [4 * int(edge) for edge in edges]


def test_c5_a_list_with_one_large_int_stays_exact():
    # np.asarray([2**63, -1]) is an array of floats.
    assert INTEGERS.index([2**63, -1]).tolist() == [2**63, -1]


def test_b1_sums_never_wrap():
    top = np.array([2**63 - 1, 0])
    assert add(top, np.array([1, 1])).tolist() == [2**63, 1]
    assert add(np.array([-(2**63)]), np.array([-(2**63)])).tolist() == [-(2**64)]
    assert add(2**63 - 1, 1) == 2**63


def test_the_type_of_a_sum_depends_on_the_sum_alone():
    assert add(np.array([2**63], dtype=object), np.array([-5])).dtype == np.int64


def test_coarse_grids_give_ints_and_fine_grids_floats():
    assert PowerOfTwoGrid(Fraction(8)).value(PowerOfTwoGrid(Fraction(8)).index(13)) == 16
    assert isinstance(QUARTERS.value(3), float)
    assert QUARTERS.value(np.array([3, -1])).tolist() == [0.75, -0.25]
    assert PowerOfTwoGrid(Fraction(8)).value(np.array([2**62])).tolist() == [2**65]


def test_a_result_beyond_all_floats_is_the_largest_one():
    assert QUARTERS.value(1 << 2000) == np.finfo(float).max
    assert QUARTERS.value(np.array([-(1 << 2000)], dtype=object))[0] == -np.finfo(float).max


def test_huge_floats_on_a_fine_grid_stay_exact():
    fine = PowerOfTwoGrid(Fraction(1, 1 << 40))
    assert fine.index(np.array([1e300])).tolist() == [int(1e300) << 40]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, np.float32("nan"), Decimal("NaN")])
@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [x], lambda x: [1.5, x, 2]])
def test_c1_nan_and_infinity_are_refused_in_the_same_words(bad, wrap):
    with pytest.raises(InputError) as error:
        QUARTERS.index(wrap(bad))
    assert "a value is not finite" in str(error.value)
    assert "clamp or drop such rows" in str(error.value)


@pytest.mark.parametrize("bad", [True, np.bool_(1), "1", None, 1j, [True], [[1], [2, 3]], ["x"]])
def test_what_is_not_a_number_is_refused(bad):
    with pytest.raises(InputError):
        QUARTERS.index(bad)


def test_masked_arrays_are_refused_because_their_hidden_values_would_count():
    with pytest.raises(InputError, match="mask"):
        QUARTERS.index(np.ma.masked_array([1, 2], mask=[0, 1]))


@pytest.mark.parametrize("value", [1.0, np.float64(2), [1.0, 2.0], np.array([1.0]), Fraction(3)])
def test_declared_integers_refuse_other_types_whatever_their_value(value):
    with pytest.raises(InputError, match="grid=2"):
        INTEGERS.index(value)


def test_d2_errors_do_not_quote_data():
    for value in (123456.789, [123456.789], "123456.789", [1, "123456.789"]):
        with pytest.raises(InputError) as error:
            INTEGERS.index(value)
        assert "123456" not in str(error.value)


@pytest.mark.parametrize("step", [3, Fraction(1, 3), 0, -1, math.nan, Fraction(2) ** 901])
def test_only_powers_of_two_are_grids(step):
    with pytest.raises(InputError):
        choose_grid(step, Fraction(1))


def test_a_grid_is_chosen_from_public_parameters():
    assert choose_grid(None, Fraction(3)) is INTEGERS
    chosen = choose_grid(None, Fraction(1, 3), dimension=4)
    assert Fraction(1, 2) < chosen.step * 4 * 2**20 * 3 <= 1
    assert grid_below(Fraction(5)).step == 4


def test_b3_rounding_never_loses_sensitivity():
    """Exhaustively, for scalars on a coarse lattice of sixteenths and every sensitivity."""
    for sensitivity in (Fraction(k, 16) for k in range(1, 20)):
        allowed = QUARTERS.l1_steps(sensitivity)
        for start in (Fraction(k, 16) for k in range(-8, 9)):
            moved = abs(QUARTERS.index(start + sensitivity) - QUARTERS.index(start))
            assert moved <= allowed
            assert moved**2 <= QUARTERS.squared_steps(sensitivity)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_rounding_costs_what_some_vectors_are_moved_by_and_no_more(size):
    """Over all whole moves m: those are reached where coordinates just above m - 1 apart fit."""
    moves = list(product(range(6), repeat=size))
    for sensitivity in (Fraction(k, 16) for k in range(1, 20)):
        steps = sensitivity / QUARTERS.step
        l1 = [sum(m) for m in moves if sum(k - 1 for k in m if k) < steps]
        assert max(l1) == QUARTERS.l1_steps(sensitivity, size)
        l2 = [sum(k * k for k in m) for m in moves if sum((k - 1) ** 2 for k in m if k) < steps**2]
        assert max(l2) <= QUARTERS.squared_steps(sensitivity, size) <= max(l2) + size * max(l2) / 4
        if size == 1:
            assert max(l2) == QUARTERS.squared_steps(sensitivity)


def test_integers_are_not_rounded_and_cost_nothing_more():
    assert INTEGERS.l1_steps(Fraction(3), 1000) == 3
    assert INTEGERS.squared_steps(sqrt_up(Fraction(2)), 1000) == 2
    assert INTEGERS.rounding == 0
    assert QUARTERS.rounding == Fraction(1, 8)


def test_roots_are_rounded_up():
    for square in (Fraction(2), Fraction(1, 3), Fraction(10**40, 7), Fraction(1, 10**40)):
        root = sqrt_up(square)
        assert root**2 >= square
        assert root**2 <= square * (1 + Fraction(1, 1 << 60))
    assert sqrt_up(Fraction(0)) == 0


@pytest.mark.parametrize("kind", ["M8[ns]", "m8[ns]", "M8[D]", "m8[us]"])
def test_times_are_no_numbers_however_fine(kind):
    with pytest.raises(InputError, match="a value is not a number"):
        INTEGERS.index(np.array([1, 2], dtype=kind))


@pytest.mark.parametrize("value", [{0: 10, 1: 5}, {}, {3, 4}, frozenset(), b"12", bytearray(2)])
def test_what_lists_something_else_than_numbers_is_refused(value):
    """Counts by bin would be released as their keys."""
    with pytest.raises(InputError, match="where numbers belong"):
        INTEGERS.index(value)
    with pytest.raises(InputError, match="where numbers belong"):
        PowerOfTwoGrid(Fraction(1, 4)).index(value)
