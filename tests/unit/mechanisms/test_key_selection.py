"""The optimal rule for unknown keys, checked in rationals."""

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.mechanisms import GaussianThreshold, KeySelection
from discreet.mechanisms.key_tables import (
    UNIT,
    added_divergences,
    added_epsilons,
    hidden,
    keep_table,
)
from discreet.mechanisms.unknown_keys import delta_each
from discreet.privacy import Approximate, Neighbours

CASES = [(1, 1e-2, 1), (0.1, 1e-6, 1), (5, 1e-9, 3), (2, 0.3, 2), (700, 1e-3, 1)]
ALONE = [(epsilon, delta) for epsilon, delta, groups in CASES if groups == 1]


@pytest.mark.parametrize(("epsilon", "delta", "groups"), CASES)
def test_a6_a_key_of_one_person_is_kept_with_probability_at_most_delta(epsilon, delta, groups):
    # Failure class "threshold off by one": the exact probability, in rationals.
    rule = KeySelection(epsilon=epsilon, delta=delta, max_groups_per_unit=groups)
    alone = rule.keep_probability(1)
    assert rule.keep_probability(0) == 0
    assert 1 - (1 - alone) ** groups <= Fraction(str(delta))
    if groups == 1:
        assert alone >= Fraction(str(delta)) * (1 - Fraction(1, 2**60))


@pytest.mark.parametrize(("epsilon", "delta"), [*ALONE, (5 / 3, 3e-10)])
def test_every_step_satisfies_both_constraints_exactly(epsilon, delta):
    rule = KeySelection(epsilon=epsilon, delta=delta)
    e = Fraction(math.exp(min(600.0, epsilon))) * (1 + Fraction(1, 10**15))
    d = rule.keep_probability(1)
    kept = [rule.keep_probability(n) for n in range(len(rule._table()))]
    for before, after in pairwise(kept):
        assert before <= after <= e * before + d
        assert 1 - before <= e * (1 - after) + d
    assert kept[-1] == 1


def test_no_other_rule_keeps_more():
    rule = KeySelection(epsilon=1, delta=1e-2)
    e, d = math.e, 1e-2
    best = [0.0]
    while best[-1] < 1:
        best.append(min(e * best[-1] + d, 1 - (1 - best[-1] - d) / e, 1.0))
    ours = [float(rule.keep_probability(n)) for n in range(len(best))]
    assert ours == pytest.approx(best, rel=1e-12)


def test_the_rule_is_a_threshold_after_truncated_geometric_noise():
    # Desfontaines et al. 2020: up to the middle, p(n) is a geometric sum times delta.
    rule = KeySelection(epsilon=1, delta=1e-4)
    for n in range(1, 8):
        expected = 1e-4 * (math.exp(n) - 1) / (math.e - 1)
        assert float(rule.keep_probability(n)) == pytest.approx(expected)


def test_a6_singletons_are_shown_at_their_exact_rate():
    rule = KeySelection(epsilon=1, delta=1e-2)
    shown = int(rule.keeps(np.ones(10**6, dtype=np.int64)).sum())
    # 5 standard deviations of a binomial with mean 10^4.
    assert abs(shown - 10_000) < 5 * math.sqrt(9900)


def test_change_one_is_charged_for_twice_the_keys():
    add = KeySelection(epsilon=1, delta=1e-3, max_groups_per_unit=4)
    change = KeySelection(
        epsilon=1, delta=1e-3, max_groups_per_unit=2, neighbours=Neighbours.CHANGE_ONE
    )
    assert [add.keep_probability(n) for n in range(9)] == [
        change.keep_probability(n) for n in range(9)
    ]
    assert change.guarantee == Approximate(1, 1e-3, neighbours=Neighbours.CHANGE_ONE)


def test_the_written_law_stays_within_epsilon_and_delta():
    rule = KeySelection(epsilon=1, delta=1e-2, max_groups_per_unit=2)
    for pair in rule.claim.pairs:
        left, right = rule.claim.law(pair.left), rule.claim.law(pair.right)
        for one, other in ((left, right), (right, left)):
            excess = sum(max(0.0, one[o][0] - math.e * other[o][1]) for o in one)
            assert excess <= 1e-2


def test_popular_keys_are_shown_and_absent_ones_never():
    rule = KeySelection(epsilon=1, delta=1e-6)
    assert rule.release({"b": 100, "a": 200, "none": 0}) == ["a", "b"]
    assert rule.release({}) == []
    assert not rule.keeps(np.zeros(1000, dtype=np.int64)).any()
    assert rule.keeps([2**70, 10**6]).tolist() == [True, True]


def test_the_error_is_the_largest_count_that_may_stay_hidden():
    rule = KeySelection(epsilon=1, delta=1e-6)
    n = int(rule.error(0.95))
    assert rule.keep_probability(n) < Fraction(95, 100) <= rule.keep_probability(n + 1)


@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": 1},
        {"epsilon": 1, "delta": 0},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": -1e-6},
        {"epsilon": 1, "delta": math.nan},
        {"epsilon": 1, "delta": 1e-40},
        {"epsilon": 0, "delta": 1e-6},
        {"epsilon": 1e-7, "delta": 1e-9},
        {"epsilon": 1, "delta": 1e-6, "max_groups_per_unit": 0},
    ],
)
def test_bad_parameters_are_refused_at_birth(parameters):
    with pytest.raises((InputError, TypeError)):
        KeySelection(**parameters)


def test_an_epsilon_below_all_floats_adds_delta_for_each_person():
    barely = KeySelection(epsilon=Fraction(1, 10**400), delta=Fraction(1, 100))
    assert barely.keep_probability(50) <= Fraction(1, 2) < barely.keep_probability(52)


MILLIONTH = Fraction(1, 10**6)


def binomial(n, p):
    if p in (0, 1):
        return [float(k == n * p) for k in range(n + 1)]
    return [math.comb(n, k) * float(p) ** k * float(1 - p) ** (n - k) for k in range(n + 1)]


@pytest.mark.parametrize(("epsilon", "keys"), [(1, 4), (1, 50), (5, 20), (Fraction(1, 4), 10)])
def test_all_keys_of_a_person_together_keep_the_promise(epsilon, keys):
    # An independent check: keys of equal counts are shown in a binomial number, so the exact delta
    # of all of them at epsilon is a sum.
    table = added_divergences(Fraction(epsilon), MILLIONTH, keys)
    shown = [Fraction(p, UNIT) for p in table]
    spent = [
        sum(
            max(0.0, p - math.exp(epsilon) * q)
            for p, q in zip(binomial(keys, one), binomial(keys, other), strict=True)
        )
        for pair in pairwise(shown)
        for one, other in (pair, pair[::-1])
    ]
    assert max(spent) <= MILLIONTH
    assert max(spent) > MILLIONTH / 100
    assert shown[0] == 0
    assert shown[-1] == 1
    assert sorted(shown) == shown


def test_keys_of_unlike_counts_keep_the_promise_together():
    rule = KeySelection(epsilon=1, delta=0.01, max_groups_per_unit=4)
    table = [rule.keep_probability(n) for n in range(len(rule._table()))]
    assert tuple(p * UNIT for p in table) == added_divergences(Fraction(1), Fraction(1, 100), 4)
    for places in product(range(0, len(table) - 1, 4), repeat=4):
        for way in (1, -1):
            chances = [(table[n], table[n + 1])[::way] for n in places]
            spent = 0.0
            for outcome in product((0, 1), repeat=4):
                one, other = (
                    math.prod(
                        float(pair[i] if kept else 1 - pair[i])
                        for pair, kept in zip(chances, outcome, strict=True)
                    )
                    for i in range(2)
                )
                spent += max(0.0, one - math.e * other)
            assert spent <= 0.01


def test_50_groups_of_one_person_hide_a_sixth_of_the_people():
    public = {"epsilon": 1, "delta": MILLIONTH, "max_groups_per_unit": 50}
    assert hidden(added_epsilons(Fraction(1, 50), MILLIONTH / 50)) == 771
    assert KeySelection(**public).error() < 135
    assert GaussianThreshold(**public).threshold == 175


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5), Fraction(1000)])
def test_the_better_table_is_taken(epsilon):
    for keys in (1, 2, 10, 50):
        best = hidden(keep_table(epsilon, MILLIONTH, keys))
        assert best <= hidden(added_epsilons(epsilon / keys, delta_each(MILLIONTH, keys)))
        if keys > 1:
            assert best <= hidden(added_divergences(epsilon, MILLIONTH, keys))


def test_no_divergence_leaves_room_where_epsilon_and_delta_are_tiny():
    assert added_divergences(Fraction(1, 10**30), Fraction(1, 2**90), 3) is None
    assert added_divergences(Fraction(1, 10**4), MILLIONTH, 50) is None


def test_keys_of_many_are_shown_and_of_few_are_hidden():
    rule = KeySelection(epsilon=1, delta=MILLIONTH, max_groups_per_unit=50)
    assert rule.release({"many": 10**6, "few": 1, "none": 0}) == ["many"]
    assert rule.keeps([10**30, 0]).tolist() == [True, False]
