"""Subsample and aggregate: one row is in one block, whatever the statistic does."""

import math
from collections import Counter

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.mechanisms.quantile import Quantile, Quantiles
from discreet.mechanisms.subsample_aggregate import SubsampleAggregate
from discreet.privacy import BoundedRange, Neighbours


def middle(**parameters):
    return Quantile(0.5, 0, 100, neighbours=Neighbours.CHANGE_ONE, **({"epsilon": 1} | parameters))


def built(statistic=len, blocks=10, **parameters):
    return SubsampleAggregate(
        statistic, **({"blocks": blocks, "aggregate": middle(), "default": 0} | parameters)
    )


@pytest.mark.parametrize("make", [list, np.array])
def test_every_row_is_in_exactly_one_block(make):
    parts = built()._parts(make(range(1000)))
    assert len(parts) == 10
    assert Counter(int(row) for part in parts for row in part) == Counter(range(1000))


@pytest.mark.usefixtures("fixed_bits")
def test_rows_go_to_blocks_by_coins_of_their_own():
    # The block of a row does not depend on how many rows there are, so one more moves none of them.
    first = Counter(len(built(blocks=4)._parts([0])[0]) for _ in range(2000))
    assert 400 < first[1] < 600
    sizes = np.array(
        [[len(part) for part in built(blocks=4)._parts(range(40))] for _ in range(500)]
    )
    assert sizes.std(axis=0).min() > 2  # equal blocks would have no spread at all


def test_failing_and_strange_statistics_count_as_the_default():
    def fails(block):
        raise RuntimeError(len(block))

    strange = [math.nan, math.inf, "seven", None, 10**400]
    for statistic in (fails, *(lambda _, odd=odd: odd for odd in strange)):
        robust = SubsampleAggregate(statistic, blocks=500, aggregate=middle(epsilon=5), default=42)
        assert robust.release(range(100)) == 42


def test_c2_empty_blocks_and_no_rows_are_answered():
    robust = SubsampleAggregate(max, blocks=500, aggregate=middle(epsilon=5), default=42)
    assert robust.release([]) == 42


def test_the_guarantee_is_that_of_the_aggregate_about_rows():
    assert built().guarantee == BoundedRange(1)
    change = built(neighbours=Neighbours.CHANGE_ONE)
    assert change.guarantee == BoundedRange(1, neighbours=Neighbours.CHANGE_ONE)
    quartiles = Quantiles([0.25, 0.5, 0.75], 0, 10, epsilon=1, neighbours=Neighbours.CHANGE_ONE)
    many = built(aggregate=quartiles)
    assert many.guarantee.neighbours is Neighbours.ADD_REMOVE
    assert all(one.neighbours is Neighbours.ADD_REMOVE for one, _ in many.guarantee.parts)
    assert built().error(0.9) == middle().error(0.9)
    assert built().claim.guarantee == BoundedRange(1)


def test_b4_aggregates_for_add_remove_are_refused():
    # A block never goes missing: its value changes, by as much as it likes.
    with pytest.raises(InputError, match="CHANGE_ONE"):
        built(aggregate=Quantile(0.5, 0, 100, epsilon=1))


def test_bad_parameters_are_refused_at_birth():
    for parameters in ({"blocks": 0}, {"blocks": 1.5}, {"default": math.nan}):
        with pytest.raises(InputError):
            built(**parameters)
