"""Counts under private keys: their order, their reading, and what each key may cost."""

from fractions import Fraction

import pytest

from discreet.errors import InputError
from discreet.mechanisms.unknown_keys import KeyCounts, delta_each, read_counts, touched
from discreet.privacy import Neighbours


def test_c6_the_order_of_keys_is_not_that_of_the_data():
    one = KeyCounts.read({"b": 2, "a": 1, 7: 3})
    other = KeyCounts.read({7: 3, "a": 1, "b": 2})
    assert one.keys == other.keys
    assert one.counts.tolist() == other.counts.tolist()


def test_keys_without_anyone_are_dropped():
    assert KeyCounts.read({"a": 0, "b": 1}).keys == ("b",)
    assert KeyCounts.read({}).keys == ()


@pytest.mark.parametrize("bad", [[-1], [1.5], [float("nan")], ["1"], [[1]], [True]])
def test_counts_are_whole_numbers_from_0_on(bad):
    with pytest.raises(InputError):
        read_counts(bad)


def test_keys_come_with_counts():
    with pytest.raises(InputError, match="mapping"):
        KeyCounts.read(["a", "b"])


def test_changing_a_person_touches_twice_as_many_keys():
    assert touched(3, Neighbours.ADD_REMOVE) == 3
    assert touched(3, Neighbours.CHANGE_ONE) == 6


@pytest.mark.parametrize("keys", [1, 2, 7, 1000])
@pytest.mark.parametrize("delta", [Fraction(1, 2), Fraction(1, 10**6), Fraction(1, 10**20)])
def test_the_deltas_of_all_keys_stay_within_delta(keys, delta):
    each = delta_each(delta, keys)
    assert 1 - (1 - each) ** keys <= delta
    assert each >= delta / keys
