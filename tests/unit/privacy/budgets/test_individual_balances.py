"""Costs are never below the exact ones, and nobody passes a limit."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy.budgets.individual_balances import (
    RHO_UNITS,
    IndividualBalances,
    limit_units,
    price_units,
    share_costs,
    units_as_rho,
)

WHOLE = 1 << 40


@settings(max_examples=200)
@given(
    st.lists(st.integers(0, WHOLE), min_size=1, max_size=5),
    st.lists(st.integers(0, 1 << 60), min_size=1, max_size=3),
)
def test_a_cost_is_the_exact_one_rounded_up_or_a_trifle_more(shares, prices):
    rows = np.array([shares] * len(prices), dtype=np.int64).T
    for share, cost in zip(shares, share_costs(rows, prices, WHOLE).tolist(), strict=True):
        exact = min(sum(Fraction(share * price, WHOLE) for price in prices), 1 << 60)
        assert exact <= cost <= exact * (1 + Fraction(1, 2**48)) + 2 * len(prices)


def test_a_whole_share_costs_the_price_exactly():
    prices = [(1 << 59) + 1, 3]
    assert share_costs(np.array([[WHOLE, WHOLE], [0, 0]]), prices, WHOLE).tolist() == [
        sum(prices),
        0,
    ]


def test_prices_are_rounded_up_and_limits_down():
    third = Fraction(1, 3)
    assert units_as_rho(price_units(third)) > third > units_as_rho(limit_units(third))
    assert price_units(10**9) > limit_units(10**9)  # what is out of reach never fits
    assert limit_units(0) == 0
    assert price_units(1) == RHO_UNITS


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40)), max_size=30))
def test_nobody_passes_a_limit_whatever_is_charged(charges):
    limits = [100, 60, 0, 100]
    balances = IndividualBalances(100)
    balances.join(4)
    balances.limits[:] = limits
    model = [0] * 4
    for place, cost in charges:
        admitted = balances.charge(np.array([place]), np.array([cost]))
        assert admitted[0] == (model[place] + cost <= limits[place])
        model[place] += cost if admitted[0] else 0
        assert balances.spent.tolist() == model


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1, 1), (3, 0, 5), (0,)])
def test_people_join_with_the_common_limit_and_nothing_spent(sizes):
    balances = IndividualBalances(7)
    for size in sizes:
        balances.join(size)
    assert balances.spent.tolist() == [0] * sum(sizes)
    assert balances.limits.tolist() == [7] * sum(sizes)
