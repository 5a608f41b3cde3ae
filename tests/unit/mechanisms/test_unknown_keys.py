"""Counts under private keys: their order, their reading, and what each key may cost."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.mechanisms.unknown_keys import Audited, KeyCounts, delta_each, read_counts, touched
from discreet.privacy import Neighbours
from discreet.privacy.numerics.rounding import Interval


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


def moved(pair):
    return {
        key: pair.right.get(key, 0) - pair.left.get(key, 0) for key in {*pair.left, *pair.right}
    }


@pytest.mark.parametrize("groups", [1, 2, 3, 50])
def test_audited_neighbours_are_what_one_person_can_do(groups):
    for pair in Audited.of(groups, Neighbours.ADD_REMOVE).pairs:
        assert set(moved(pair).values()) == {1}
        assert len(moved(pair)) == groups
    for pair in Audited.of(groups, Neighbours.CHANGE_ONE).pairs:
        steps = sorted(moved(pair).values())
        assert steps == [-1] * min(groups, 26) + [1] * min(groups, 26)


def test_audited_neighbours_have_a_person_who_is_alone():
    few = Audited.of(1, Neighbours.ADD_REMOVE)
    assert few.pairs[0].left == {}
    assert few.pairs[0].right == {"a": 1}


def test_what_is_drawn_is_placed_by_key():
    few = Audited.of(2, Neighbours.CHANGE_ONE)
    drawn = few.draw({"c": 30, "a": 10, "b": 0}, 2, lambda counts: counts + 1)
    assert few.keys == ("a", "b", "c", "d")
    assert drawn.tolist() == [[11, 0, 31, 0]] * 2


def test_the_law_of_how_many_keys_are_shown_is_that_of_coins():
    both = Audited.of(2, Neighbours.CHANGE_ONE)
    law = both.law({"a": 1, "b": 1, "c": 9}, lambda n: Interval.of(Fraction(min(n, 4), 4)))
    assert both.numbers(np.array([[5, 0, 7, 0], [0, 0, 0, 0]])).tolist() == [[1, 1], [0, 0]]
    assert law[1, 1] == pytest.approx((6 / 16, 6 / 16))
    assert law[0, 0] == law[2, 2] == (0, 0)
    assert sum(upper for _, upper in law.values()) == pytest.approx(1)
