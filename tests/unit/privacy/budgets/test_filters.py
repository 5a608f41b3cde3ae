"""Filters: exact totals, one refusal, and the promise they stand for."""

import json
import pickle
import time
from fractions import Fraction

import pytest

from cpu_time import quickest
from discreet.errors import BudgetError, InputError
from discreet.privacy.budgets.charges import EPSILON, MU_SQUARED, RHO, Charge, renyi
from discreet.privacy.budgets.filters import Filter, renyi_for
from discreet.privacy.composition.composed import compose
from discreet.privacy.guarantees.gaussian import GDP, GaussianNoise
from discreet.privacy.guarantees.laplace import LaplaceNoise
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.guarantees.pure import Approximate, Pure
from discreet.privacy.guarantees.renyi import RDP
from discreet.privacy.guarantees.zcdp import ZCDP


def charged(filter_, charge, times):
    for _ in range(times):
        filter_ = filter_.charge(charge)
    return filter_


def test_ten_tenths_fit_exactly_and_the_eleventh_does_not():
    filter_ = Filter.basic(1.0)
    tenth = filter_.price(Pure(0.1))
    full = charged(filter_, tenth, 10)
    assert full.spent.amount == 1
    assert full.left.amount == 0
    assert not full.fits(tenth)
    assert not full.fits(Charge(Fraction(1, 10**59), measure=EPSILON))
    assert full.fits(Charge(0, measure=EPSILON))


def test_a_composition_is_charged_as_its_parts_one_by_one():
    parts = [(LaplaceNoise(0.1), 3), (Pure(0.2), 2)]
    for start in (Filter.basic(1), Filter.within(2, 1e-6)):
        together = start.charge(start.price_sum(compose(parts)))
        one_by_one = start
        for part, count in parts:
            one_by_one = charged(one_by_one, start.price(part), count)
        assert together.spent.amount <= one_by_one.spent.amount
        assert one_by_one.spent.amount - together.spent.amount < Fraction(1, 10**50)
    full = Filter.basic(0.7).charge(Filter.basic(1).price_sum(compose(parts)))
    assert full.left.amount == 0


def test_three_thirds_fit_exactly():
    assert charged(Filter.zcdp(1), Charge(Fraction(1, 3), measure=RHO), 3).left.amount == 0


def test_seventeenths_are_rounded_against_the_spender():
    odd = Charge(Fraction(1, 17), measure=RHO)
    filter_ = charged(Filter.zcdp(1), odd, 16)
    assert not filter_.fits(odd)
    assert charged(Filter.zcdp(Fraction(10**40 + 1, 10**40)), odd, 17).left.amount > 0


def test_deltas_add_up_on_their_own():
    filter_ = Filter.basic(10, 2e-6)
    filter_ = charged(filter_, filter_.price(Approximate(0.1, 1e-6)), 2)
    assert filter_.fits(filter_.price(Pure(0.1)))
    with pytest.raises(BudgetError) as refusal:
        filter_.charge(filter_.price(Approximate(0.1, 1e-6)))
    assert refusal.value.asked == 1e-6
    assert refusal.value.left == 0


def test_a_refusal_names_what_was_asked_and_what_is_left_and_changes_nothing():
    filter_ = charged(Filter.basic(1), Charge(0.25, measure=EPSILON), 3)
    with pytest.raises(BudgetError, match=r"only 0\.25 is left") as refusal:
        filter_.charge(Charge(0.5, measure=EPSILON))
    assert (refusal.value.asked, refusal.value.left) == (0.5, 0.25)
    assert filter_.left.amount == Fraction(1, 4)
    assert len(filter_.history) == 3


def test_charging_makes_a_new_filter_and_asking_makes_none():
    start = Filter.basic(1)
    later = start.charge(Charge(1, measure=EPSILON))
    assert start.spent.amount == 0
    assert later.spent.amount == 1
    assert start.fits(Charge(1, measure=EPSILON))
    with pytest.raises(AttributeError):
        start.limit = later.limit


@pytest.mark.parametrize(
    ("filter_", "promise"),
    [
        (Filter.basic(1), Pure(1)),
        (Filter.basic(1, 1e-6), Approximate(1, 1e-6)),
        (Filter.zcdp(0.5, 1e-9), ZCDP(0.5, 1e-9)),
        (Filter.gdp(0.3), GDP(0.3)),
        (Filter.renyi(0.5, 8), RDP({8: 0.5})),
    ],
)
def test_each_filter_names_the_guarantee_of_the_whole(filter_, promise):
    assert filter_.guarantee == promise
    changed = type(filter_)(
        Charge(
            filter_.limit.amount,
            filter_.limit.delta,
            measure=filter_.limit.measure,
            neighbours=Neighbours.CHANGE_ONE,
        )
    )
    assert changed.guarantee.neighbours is Neighbours.CHANGE_ONE


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3, 20])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-15])
def test_a_budget_is_guarded_by_the_largest_amount_that_implies_it(epsilon, delta):
    for by in (RHO, MU_SQUARED, renyi_for(epsilon, delta)):
        filter_ = Filter.within(epsilon, delta, by=by)
        assert filter_.guarantee.delta(epsilon).upper <= delta
        amount = filter_.limit.amount * Fraction(1001, 1000)
        more = Filter(Charge(amount, measure=by))
        assert more.guarantee.delta(epsilon).upper > delta


def test_room_for_deltas_is_taken_off_the_budget():
    plain, roomy = Filter.within(1, 1e-6), Filter.within(1, 1e-6, deltas=5e-7)
    assert roomy.limit.amount < plain.limit.amount
    assert roomy.guarantee.delta(1).upper <= 1e-6
    assert roomy.fits(roomy.price(Approximate(0.1, 5e-7)))
    assert not plain.fits(plain.price(Approximate(0.1, 5e-7)))


def test_the_best_renyi_order_takes_more_gaussians_than_others():
    order = renyi_for(1, 1e-6)

    def most(measure):
        filter_ = Filter.within(1, 1e-6, by=measure)
        return filter_.limit.amount / filter_.price(GaussianNoise(0.01)).amount

    assert most(order) > most(renyi(order.order * Fraction(4, 5)))
    assert most(order) > most(renyi(order.order * Fraction(5, 4)))
    with pytest.raises(InputError, match="leaves nothing"):
        Filter.within(1, 1e-6, by=renyi(1.5))


@pytest.mark.parametrize(
    "keywords",
    [
        {"epsilon": 0, "delta": 1e-6},
        {"epsilon": 1, "delta": 0},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": 1e-6, "deltas": 1e-6},
        {"epsilon": 1, "delta": 1e-6, "deltas": -1},
        {"epsilon": 1, "delta": 1e-6, "deltas": 1e-6, "by": MU_SQUARED},
        {"epsilon": float("nan"), "delta": 1e-6},
        {"epsilon": 1, "delta": 1e-6, "deltas": 1e-7, "by": EPSILON},
    ],
)
def test_impossible_budgets_are_refused(keywords):
    with pytest.raises(InputError):
        Filter.within(**keywords)


def test_other_neighbours_and_measures_are_refused():
    filter_ = Filter.zcdp(1)
    for stranger in (
        Charge(0.1, measure=RHO, neighbours=Neighbours.CHANGE_ONE),
        Charge(0.1, measure=EPSILON),
        Charge(0.1, measure=renyi(2)),
    ):
        with pytest.raises(InputError, match="the budget counts"):
            filter_.fits(stranger)
        with pytest.raises(InputError):
            filter_.charge(stranger)
    with pytest.raises(InputError):
        Filter.renyi(1, 2).fits(Charge(0.1, measure=renyi(3)))


def test_filters_survive_storage():
    filter_ = Filter.zcdp(1, 1e-6, neighbours=Neighbours.CHANGE_ONE)
    for guarantee in (LaplaceNoise(0.1), GaussianNoise(0.2), Approximate(0.3, 1e-7)):
        filter_ = filter_.charge(
            filter_.price(
                type(guarantee).from_dict(guarantee.to_dict() | {"neighbours": "change-one"})
            )
        )
    again = Filter.from_dict(json.loads(json.dumps(filter_.to_dict())))
    assert again == filter_
    assert again.left == filter_.left
    assert pickle.loads(pickle.dumps(filter_)).left == filter_.left  # noqa: S301


def test_a_forged_total_does_not_survive_storage():
    stored = Filter.basic(1).to_dict()
    stored["charges"] = [Charge(0.6, measure=EPSILON).to_dict()] * 2
    with pytest.raises(BudgetError):
        Filter.from_dict(stored)
    with pytest.raises(InputError, match="will not guess"):
        Filter.from_dict({**stored, "kind": "filter/2"})


@pytest.mark.parametrize(
    "broken", [{}, {"charges": []}, {"limit": None}, {"charges": None}, {"charges": [None]}]
)
def test_broken_storage_is_refused(broken):
    whole = Filter.basic(1).charge(Charge(0.1, measure=EPSILON)).to_dict()
    stored = {"kind": "filter/1"} if broken in ({}, {"charges": []}) else whole
    with pytest.raises(InputError, match="cannot be read"):
        Filter.from_dict({**stored, **broken})


def test_a_basic_filter_is_named_by_its_measure_too():
    assert Filter.within(1, 1e-6, by=EPSILON) == Filter.basic(1, 1e-6)


@pytest.mark.timed
def test_checking_and_charging_stay_quick_over_a_hundred_thousand_charges():
    filter_ = Filter.zcdp(1)
    charge = filter_.price(GaussianNoise(0.001))
    start = time.process_time()
    for _ in range(100_000):
        filter_ = filter_.charge(charge)
    appended = (time.process_time() - start) / 100_000
    checked = quickest(lambda: [filter_.fits(charge) for _ in range(10_000)]) / 10_000
    assert filter_.spent.amount == Fraction(5, 100)
    assert checked < 5e-6
    assert appended < 30e-6


def test_a_filter_by_rho_that_refuses_a_large_charge_names_the_one_that_adds_epsilons():
    with pytest.raises(BudgetError, match=r"Filter\.basic\(epsilon=1, delta=1e-06\) adds epsilons"):
        Filter(epsilon=1, delta=1e-6).charge(Pure(0.3))
    Filter.basic(epsilon=1, delta=1e-6).charge(Pure(0.3))
    for other in (Filter.basic(1), Filter.zcdp(0.01)):
        with pytest.raises(BudgetError, match=r"the owner of the budget\.$"):
            other.charge(Pure(2))
