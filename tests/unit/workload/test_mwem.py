"""MWEM: it stays within its filter, and learns what it is asked about."""

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.workload.mwem import MWEM, predicted_error
from online_cases import DOMAIN, histogram, queries


def test_all_prices_fit_the_filter_with_little_left():
    one = MWEM(DOMAIN, tuple(queries(10)), epsilon=1, delta=1e-6, rounds=5)
    limit = one.budget.limit.amount
    spent = 3 * one.start_mu_squared / 2 + 5 * one.round_mu_squared / 2
    spent += 5 * one.choice_epsilon**2 / 8
    assert limit * 999 / 1000 < spent <= limit


def test_learning_lowers_the_error_of_all_queries():
    data, asked = histogram(), tuple(queries(30))
    exact = np.array([q.total(data.marginal(q.clique)) for q in asked])

    def error(rounds):
        found = MWEM(DOMAIN, asked, epsilon=4, delta=1e-6, rounds=rounds).release(data)
        told = np.array([q.total(found.marginal(q.clique)) for q in asked])
        return np.abs(told - exact).mean(), found

    first, _ = error(1)
    independent = error(1)[1].__class__(DOMAIN, error(1)[1].measurements[:3])
    before = np.array([q.total(independent.marginal(q.clique)) for q in asked])
    assert first < np.abs(before - exact).mean() / 2


def test_no_queries_or_rounds_are_refused():
    with pytest.raises(InputError):
        MWEM(DOMAIN, (), epsilon=1, delta=1e-6)
    with pytest.raises(InputError):
        MWEM(DOMAIN, tuple(queries(1)), epsilon=1, delta=1e-6, rounds=0)


def test_the_bound_shrinks_with_the_budget():
    few, many = (predicted_error(DOMAIN, queries(5), 10_000, rho) for rho in (0.01, 1))
    assert many < few
