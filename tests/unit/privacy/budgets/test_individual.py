"""Individual accounting: exact balances, nobody overspends, asking changes nothing."""

import time
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.privacy.budgets.individual import BUDGET_UNITS, IndividualFilter
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.guarantees.zcdp import ZCDP


def test_ten_tenths_fit_exactly_and_the_eleventh_does_not():
    filter_ = IndividualFilter(4, 1.0)
    for _ in range(10):
        filter_, admitted = filter_.charge(0.1)
        assert admitted.all()
    _, admitted = filter_.charge(0.1)
    assert not admitted.any()


@pytest.mark.parametrize("share", [3, 7, 12, 13, 16])
def test_equal_shares_of_any_budget_fit_exactly(share):
    filter_ = IndividualFilter(2, Fraction(22, 7))
    for _ in range(share):
        filter_, admitted = filter_.charge(Fraction(22, 7) / share)
        assert admitted.all()
    assert not filter_.admits(Fraction(1, 10**15)).any()


def test_each_person_pays_their_own_weight():
    filter_, admitted = IndividualFilter(4, 1).charge(0.25, weights=[0, 1, 4, 5])
    assert admitted.tolist() == [True, True, True, False]
    assert filter_.admits(0.75).tolist() == [True, True, False, True]
    assert filter_.admits(Fraction(1, 10**12)).tolist() == [True, True, False, True]


def test_whole_weights_are_exact_in_any_dtype():
    for weights in ([1, 2, 3], np.array([1, 2, 3], dtype=np.uint8), np.array([1.0, 2.0, 3.0])):
        filter_, _ = IndividualFilter(3, 3).charge(1, weights=weights)
        assert filter_.admits(2).tolist() == [True, False, False]
        assert filter_.admits(1).tolist() == [True, True, False]


def test_fractional_weights_are_charged_at_least_what_they_are():
    rng = np.random.default_rng(0)
    weights = rng.random(1000) * 3
    filter_ = IndividualFilter(1000, 7)
    spent = [Fraction(0)] * 1000
    for _ in range(5):
        filter_, admitted = filter_.charge(0.3, weights=weights)
        spent = [
            total + Fraction(3, 10) * Fraction(float(w)) * bool(a)
            for total, w, a in zip(spent, weights, admitted, strict=True)
        ]
    charged = [Fraction(int(units), BUDGET_UNITS) * 7 for units in filter_._spent]
    pairs = list(zip(charged, spent, strict=True))
    assert all(have >= owed for have, owed in pairs)
    assert all(
        have <= owed * (1 + Fraction(1, 10**14)) + Fraction(1, 10**16) for have, owed in pairs
    )


def test_nobody_ever_spends_more_than_the_budget():
    rng = np.random.default_rng(1)
    filter_ = IndividualFilter(50, 1)
    total = [Fraction(0)] * 50
    for _ in range(200):
        weights = rng.integers(0, 40, 50)
        filter_, admitted = filter_.charge(Fraction(1, 97), weights=weights)
        total = [
            t + Fraction(int(w), 97) * bool(a)
            for t, w, a in zip(total, weights, admitted, strict=True)
        ]
    assert max(total) <= 1
    assert max(total) > Fraction(95, 100)  # and the budget is usable


def test_somebody_who_does_not_fit_is_left_as_they_were():
    filter_, admitted = IndividualFilter(1, 1).charge(2)
    assert not admitted.any()
    assert filter_.admits(1).all()


def test_asking_and_charging_leave_the_old_value_alone():
    start = IndividualFilter(3, 1)
    start.admits(0.5)
    later, _ = start.charge(1)
    assert start.admits(1).all()
    assert not later.admits(0.001).any()
    with pytest.raises(ValueError, match="read-only"):
        start._spent[0] = 1


@pytest.mark.parametrize("rho", [1e-300, 1e300, 10**400])
def test_tiny_and_huge_costs_never_wrap_around(rho):
    for weights in (None, [1, 2**62, 0], [0.5, 1e300, 0.0], [np.inf, 1.0, 0.0]):
        _, admitted = IndividualFilter(3, 1).charge(rho, weights=weights)
        if rho > 1 and weights is not None:
            assert admitted.tolist() == [False, False, True]
    filter_, _ = IndividualFilter(3, 1).charge(1e-300)
    assert not filter_.admits(1).any()  # rounded up: even the tiniest cost is a cost


@pytest.mark.parametrize(
    ("weights", "hint"),
    [
        ([1, 2], "one number"),
        ([[1, 2, 3]], "one number"),
        (["a", "b", "c"], "one number"),
        ([1, -1, 1], "negative"),
        ([1, float("nan"), 1], "negative"),
    ],
)
def test_bad_weights_are_refused_without_showing_a_value(weights, hint):
    with pytest.raises(InputError, match=hint) as refusal:
        IndividualFilter(3, 1).charge(0.1, weights=weights)
    assert "-1" not in str(refusal.value).replace("-1 ", "")


@pytest.mark.parametrize(
    ("people", "budget"), [(-1, 1), (1.5, 1), (1, 0), (1, -1), (1, float("nan")), (True, 1)]
)
def test_bad_parameters_raise_input_errors(people, budget):
    with pytest.raises(InputError):
        IndividualFilter(people, budget)


def test_a_negative_charge_cannot_refund():
    with pytest.raises(InputError):
        IndividualFilter(1, 1).charge(-0.1)


def test_it_promises_zcdp_under_add_remove():
    promise = IndividualFilter(1, 0.5).guarantee
    assert promise == ZCDP(0.5)
    assert promise.neighbours is Neighbours.ADD_REMOVE


def test_how_many_people_there_are_is_not_shown():
    assert "123456" not in repr(IndividualFilter(123456, 1))
    with pytest.raises(InputError) as refusal:
        IndividualFilter(123456, 1).admits(0.1, weights=[1])
    assert "123456" not in str(refusal.value)


def test_no_people_are_no_problem():
    _, admitted = IndividualFilter(0, 1).charge(0.5)
    assert admitted.shape == (0,)


@pytest.mark.timed
def test_a_million_people_take_little_time_and_memory():
    filter_ = IndividualFilter(10**6, 1)
    weights = np.random.default_rng(0).random(10**6)
    fastest = float("inf")
    for _ in range(3):
        start = time.process_time()
        filter_.charge(0.001, weights=weights)
        fastest = min(fastest, time.process_time() - start)
    tracemalloc.start()
    filter_.charge(0.001, weights=weights)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert fastest < 0.05
    assert peak < 200e6
