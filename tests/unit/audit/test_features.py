import numpy as np
import pytest

from discreet.audit.features import _ratios, grain, learn, row_codes, rows
from discreet.errors import InputError


def test_outputs_become_rows_whatever_their_type():
    assert rows([1, 2]).shape == (2, 1)
    assert rows(np.array([True, False])).dtype == np.int64
    assert rows(np.array([[1.5, 2.0]])).shape == (1, 2)
    assert rows(np.array([2**70, 1], dtype=object)).dtype == object


@pytest.mark.parametrize("outputs", [np.zeros((2, 2, 2)), np.array(["a"]), np.array(3)])
def test_outputs_that_are_no_rows_of_numbers_are_refused(outputs):
    with pytest.raises(InputError):
        rows(outputs)


def test_equal_rows_have_equal_codes_and_others_do_not():
    table = rows(np.array([[0, 1], [1, 0], [0, 1], [0, 0]]))
    first, second, third, fourth = row_codes(table)

    assert first == third
    assert len({first, second, fourth}) == 3


def test_codes_tell_zero_from_minus_zero_and_huge_ints_apart():
    signed = row_codes(rows([0.0, -0.0, np.nan]))
    huge = row_codes(rows(np.array([2**70, 2**70 + 1, 2**70], dtype=object)))

    assert len(set(signed)) == 3
    assert huge[0] == huge[2] != huge[1]


def test_grain_sees_the_last_bits_of_floats_and_of_integers():
    floats = grain(rows([0.5, 0.5 + 2.0**-50, 0.75, np.inf]))
    integers = grain(rows([1, 2, 3, 4, 0]))

    assert floats[0] != floats[1]
    assert integers.tolist() == [0, 1, 0, 2, 63]


def test_features_of_a_row_look_at_each_number_and_at_all_together():
    left, right = rows(np.zeros((10, 3))), rows(np.ones((10, 3)))
    names = [feature.name for feature in learn(left, right)]

    assert {"number 0", "number 2", "the sum"} <= set(names)
    assert {"the whole row", "all numbers, one by one"} <= {
        name.removeprefix("the log likelihood ratio of ") for name in names
    }


def test_scores_are_higher_where_left_is_likelier():
    left, right = rows([0] * 90 + [1] * 10), rows([0] * 10 + [1] * 90)
    for feature in learn(left, right):
        if feature.name != "the output":
            zero, one, unseen = feature.score(rows([0, 1, 7]))
            assert zero > one
            assert unseen <= zero


def test_not_a_number_has_a_bin_of_its_own():
    left, right = rows([np.nan] * 50 + [0.0] * 50), rows([0.0] * 100)
    (binned,) = [one for one in learn(left, right) if "the bin of" in one.name]

    assert binned.score(rows([np.nan]))[0] > binned.score(rows([0.0]))[0]


@pytest.mark.parametrize("apart", [1, 2**40])
def test_ratios_are_those_of_training_and_0_for_what_was_not_seen(apart):
    """Codes near each other are looked up by place, others by search."""
    ratios = _ratios(apart * np.array([0, 0, 5]), apart * np.array([5, 5, -3]))
    seen = ratios(apart * np.array([0, 5, -3]))
    unseen = ratios(np.array([1, 6 * apart, -4 * apart, -(2**63), 2**63 - 1]))

    assert seen == pytest.approx(np.log([5, 1.5 / 2.5, 1 / 3]))
    assert not unseen.any()
