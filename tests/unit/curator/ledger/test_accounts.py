"""Amounts as texts that sort like numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.curator.ledger.accounts import MOST, cap_units, cost_units, write_units
from discreet.errors import InputError
from discreet.privacy.budgets.charges import EPSILON, UNITS, Charge

amounts = st.integers(0, MOST)


@given(amounts, amounts)
def test_texts_compare_as_the_numbers_do(one, other):
    assert (write_units(one) < write_units(other)) == (one < other)
    assert int(write_units(one)) == one


@pytest.mark.parametrize("amount", [-1, MOST + 1])
def test_what_does_not_fit_is_refused(amount):
    with pytest.raises(InputError, match="an amount of"):
        write_units(amount)


@given(st.fractions(0, 100), st.fractions(0, 1))
def test_costs_round_up_and_caps_round_down(amount, delta):
    charge = Charge(amount, delta, measure=EPSILON)
    for exact, cost, cap in zip(
        (amount, delta), cost_units(charge), cap_units(charge), strict=True
    ):
        assert cap <= exact * UNITS <= cost <= cap + 1
