"""Subsample and aggregate: one row is in one block, whatever the statistic does."""

import math
from collections import Counter
from functools import partial
from itertools import product

import numpy as np
import pytest

from discreet.audit import replay
from discreet.errors import InputError
from discreet.mechanisms import INTEGERS, Gaussian, Laplace
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
    rule, rows = built(), make(range(1000))
    parts = rule._parts(rows, rule._toss(rows, 1)[0])
    assert len(parts) == 10
    assert Counter(int(row) for part in parts for row in part) == Counter(range(1000))


def test_rows_go_to_blocks_by_coins_of_their_own():
    # The block of a row does not depend on how many rows there are, so one more moves none of them.
    rule = built(blocks=4)
    first = Counter(rule._toss([0], 2000).ravel().tolist())
    assert all(400 < first[block] < 600 for block in range(4))
    sizes = np.array([np.bincount(toss, minlength=4) for toss in rule._toss(range(40), 500)])
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


@pytest.mark.parametrize("kind", list(Neighbours))
def test_the_claim_runs_from_rows_to_answers(kind):
    rule = built(max, blocks=3, neighbours=kind, default=7)
    for pair in rule.claim.pairs:
        assert not replay(rule.release, pair.left, pair.right)
    seen = []
    spied = built(lambda rows: seen.append(sorted(rows)) or max(rows), blocks=3, neighbours=kind)
    spied.claim.draw((3, 5), 500)
    assert {tuple(part) for part in seen} == {(), (3,), (5,), (3, 5)}


def test_the_law_is_a_mixture_over_the_ways_that_rows_fall():
    rule = built(max, blocks=2, aggregate=middle(), default=0)
    own = rule.aggregate.claim.law
    together, apart = own([0, 100]), own([100, 100])
    law = rule.claim.law((100, 100))
    for point, (low, high) in law.items():
        expected = (together[point][0] + apart[point][0]) / 2
        assert low <= expected * (1 + 1e-12)
        assert expected * (1 - 1e-12) <= high
    assert built(blocks=10**6).claim.law is None


def test_draws_keep_the_order_of_their_runs():
    # Runs that fall the same way are drawn together; where they stand must not tell which.
    rule = built(max, blocks=2, aggregate=middle(epsilon=50), default=0)
    answers = rule.claim.draw((100, 100), 2000)
    both = answers > 50
    assert abs(both[:500].mean() - both[500:1000].mean()) < 0.2
    assert 0.4 < both.mean() < 1


def test_many_rows_are_drawn_one_by_one():
    answers = built(max, blocks=10).claim.draw(range(100), 30)
    assert answers.shape == (30,)


def test_b4_aggregates_for_add_remove_are_refused():
    # A block never goes missing: its value changes, by as much as it likes.
    with pytest.raises(InputError, match="CHANGE_ONE"):
        built(aggregate=Quantile(0.5, 0, 100, epsilon=1))


def test_bad_parameters_are_refused_at_birth():
    for parameters in ({"blocks": 0}, {"blocks": 1.5}, {"default": math.nan}, {"aggregate": None}):
        with pytest.raises(InputError):
            built(**parameters)
    with pytest.raises(InputError, match="a statistic of type int"):
        built(3)


def test_b5_noise_for_a_sensitivity_is_no_aggregate():
    """One row moves a maximum without limit, and noise for 1 would be promised to hide it."""
    for noise in (Laplace, partial(Gaussian, delta=0.01)):
        scaled = noise(epsilon=1, sensitivity=1, dimension=3, neighbours=Neighbours.CHANGE_ONE)
        with pytest.raises(InputError, match="beyond every sensitivity"):
            built(aggregate=scaled)


def test_c2_an_aggregate_that_refuses_some_numbers_is_refused_at_birth():
    """An empty block counts as a fraction: a refusal of it would tell that the block is empty."""
    whole = Quantile(0.5, 0, 8, epsilon=1, grid=INTEGERS, neighbours=Neighbours.CHANGE_ONE)
    with pytest.raises(InputError, match="does not take fractions"):
        built(aggregate=whole)


@pytest.mark.parametrize(
    "odd", [True, np.bool_(1), np.array([3.0]), [3], "3", 1j, None, np.float64("nan")]
)
def test_c2_a_statistic_of_another_kind_on_one_block_is_the_default(odd):
    """Else whether there is an answer at all would follow the rows."""
    middle = Quantile(0.5, 0, 8, epsilon=1, neighbours=Neighbours.CHANGE_ONE)
    blocks = SubsampleAggregate(lambda _: odd, blocks=3, aggregate=middle, default=5)

    assert blocks._on([1, 2]) == 5
    assert 0 <= blocks.release([1, 2, 3]) <= 8


@pytest.mark.parametrize("rows", [(), (8,), (0, 8), (8, 1, 8), (3, 0, 8), (8, 8, 8, 8, 0)])
def test_the_law_is_the_mean_over_all_the_ways_that_rows_fall(rows):
    aggregate = Quantile(0.5, 0, 8, epsilon=1, neighbours=Neighbours.CHANGE_ONE)
    whole = SubsampleAggregate(max, blocks=3, aggregate=aggregate, default=0)
    listed = [
        aggregate.claim.law([max(block, default=0) for block in in_blocks(rows, way, 3)])
        for way in product(range(3), repeat=len(rows))
    ]
    for outcome, (least, most) in whole.claim.law(rows).items():
        mean = sum(float(sum(law.get(outcome, (0, 0))) / 2) for law in listed) / len(listed)
        assert least - 1e-12 <= mean <= most + 1e-12


def in_blocks(rows, way, blocks):
    return [
        [row for row, at in zip(rows, way, strict=True) if at == block] for block in range(blocks)
    ]


def test_the_law_of_many_equal_rows_is_known_soon():
    aggregate = Quantile(0.5, 0, 8, epsilon=1, neighbours=Neighbours.CHANGE_ONE)
    whole = SubsampleAggregate(max, blocks=4, aggregate=aggregate, default=0)
    assert len(whole._ways((8,) * 12)) == 34  # of 4^12: partitions of 12 into at most 4 parts
    assert sum(least for least, _ in whole.claim.law((8,) * 12).values()) == pytest.approx(1)
