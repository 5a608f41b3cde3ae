"""Filters and odometers under analysts who adapt, in any order, with any numbers."""

import json
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BudgetError
from discreet.privacy.budgets.charges import EPSILON, MU_SQUARED, RHO, UNITS, Charge, renyi
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.budgets.individual import IndividualFilter
from discreet.privacy.budgets.odometer import Odometer

amounts = st.one_of(
    st.fractions(0, 2, max_denominator=10**6),
    st.floats(0, 2),
    st.integers(0, 10**30).map(lambda n: Fraction(n, 10**30)),
    st.sampled_from([0, Fraction(1, 3), 0.1, 1e-300, 1, Fraction(1, 10**90)]),
)
deltas = st.sampled_from([0, 1e-9, Fraction(1, 3 * 10**7), 1e-300, 0.5])
measures = st.sampled_from([EPSILON, RHO, MU_SQUARED, renyi(2), renyi(Fraction(17, 2))])


@st.composite
def charges(draw, measure):
    delta = draw(deltas) if measure.order is None else 0
    return Charge(draw(amounts), delta, measure=measure)


@st.composite
def budgets(draw):
    measure = draw(measures)
    limit = draw(charges(measure))
    return Filter(limit), draw(st.lists(charges(measure), max_size=30))


@given(budgets())
def test_no_sequence_of_charges_overspends(case):
    filter_, wanted = case
    taken = []
    for charge in wanted:
        room = filter_.fits(charge)
        try:
            filter_ = filter_.charge(charge)
        except BudgetError:
            assert not room
        else:
            assert room
            taken.append(charge)
    assert sum(charge.amount for charge in taken) <= filter_.limit.amount
    assert sum(charge.delta for charge in taken) <= filter_.limit.delta
    assert list(filter_.history) == taken


@given(budgets(), st.randoms(use_true_random=False))
def test_the_order_of_charges_does_not_matter(case, rng):
    filter_, wanted = case
    wanted = wanted[:12]
    there = Filter(Charge(100, 1 if filter_.limit.delta else 0, measure=filter_.limit.measure))
    back = there
    wanted = [charge for charge in wanted if not charge.delta or filter_.limit.delta]
    wanted = [charge for charge in wanted if charge.delta < Fraction(1, 20)]
    shuffled = wanted[:]
    rng.shuffle(shuffled)
    for one, other in zip(wanted, shuffled, strict=True):
        there, back = there.charge(one), back.charge(other)
    assert there.spent == back.spent


@given(budgets())
def test_what_is_spent_and_left_make_up_the_limit(case):
    filter_, wanted = case
    for charge in wanted:
        if filter_.fits(charge):
            filter_ = filter_.charge(charge)
    spent, left, limit = filter_.spent, filter_.left, filter_.limit
    assert 0 <= limit.amount - (spent.amount + left.amount) < Fraction(1, UNITS)
    exact = sum((charge.amount for charge in filter_.history), Fraction(0))
    assert 0 <= spent.amount - exact <= Fraction(len(filter_.history), UNITS)


@given(budgets())
def test_storage_round_trips(case):
    filter_, wanted = case
    for charge in wanted:
        if filter_.fits(charge):
            filter_ = filter_.charge(charge)
    again = Filter.from_dict(json.loads(json.dumps(filter_.to_dict())))
    assert again == filter_
    assert (again.left, again.spent) == (filter_.left, filter_.spent)


@given(budgets())
def test_a_smaller_charge_fits_where_a_larger_one_does(case):
    filter_, wanted = case
    for charge in wanted:
        half = Charge(charge.amount / 2, charge.delta / 2, measure=charge.measure)
        assert filter_.fits(half) or not filter_.fits(charge)
        if filter_.fits(charge):
            filter_ = filter_.charge(charge)


@given(st.lists(charges(RHO), max_size=10), st.lists(charges(EPSILON), max_size=10))
@settings(max_examples=40)
def test_an_odometer_never_runs_backwards(rhos, epsilons):
    meter, last = Odometer(deltas=Fraction(1, 2)), 0.0
    for charge in [*rhos, *epsilons]:
        if charge.delta < Fraction(1, 50):
            meter = meter.charge(charge)
            now = meter.epsilon(0.6).upper
            assert now >= last * (1 - 1e-12)
            last = now
    assert Odometer.from_dict(json.loads(json.dumps(meter.to_dict()))) == meter


@given(
    st.fractions(Fraction(1, 100), 5, max_denominator=1000),
    st.lists(
        st.tuples(
            st.fractions(0, 2, max_denominator=1000),
            st.lists(st.integers(0, 12), min_size=4, max_size=4),
        ),
        max_size=20,
    ),
)
def test_no_person_overspends_and_exact_costs_are_used_up_exactly(budget, queries):
    filter_ = IndividualFilter(4, budget)
    spent = np.array([Fraction(0)] * 4)
    for rho, weights in queries:
        filter_, admitted = filter_.charge(rho, weights=weights)
        cost = np.array([rho * weight for weight in weights])
        spent = spent + np.where(admitted, cost, Fraction(0))
        # Whoever is left out would have overspent, to within a rounding of each charge so far.
        slack = Fraction(20 * 12, 10**18) * budget
        assert all((spent + cost > budget - slack) | admitted)
    assert all(spent <= budget)
