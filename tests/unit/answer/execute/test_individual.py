"""Weights and shares of people, against exact integers, whatever the numbers are."""

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.answer.execute.individual import check_individual, rounded_steps, row_weights
from discreet.answer.measurement_plan import MeasurementPlan
from discreet.answer.plan.price import Price
from discreet.errors import QueryRefused
from discreet.plan.bounding import FULL, ContributionBounds, NoiseKind, largest_weight
from discreet.plan.schema import MOST_ROWS, Limits
from discreet.plan.sensitivity import Strategy, sensitivity
from discreet.plan.statistics import Total, grid
from discreet.sql.reader.read import read
from people import CITIES, LOUD, clinic, spent
from visits import schema

COUNTS = st.integers(1, 5) | st.sampled_from([2**26, 2**27 - 1, 2**31, 2**62, 2**63 - 1])
PAIRS = st.lists(st.tuples(st.integers(0, 3), COUNTS), min_size=1, max_size=8)
LIMITS = st.integers(1, 6) | st.sampled_from([2**26, 2**27, 2**30])


@example([(0, 1), (0, 1)], 1)  # a square above the limit by 1, exact in doubles and not
@example([(0, 2**26), (0, 1)], 2**26)
@example([(0, 2**30), (0, 1)], 2**30)
@given(PAIRS, LIMITS)
def test_rows_weigh_as_their_exact_norm_says(pairs, limit):
    of = defaultdict(list)
    for account, rows in pairs:
        of[account].append(rows)
    accounts, rows = np.array(pairs, dtype=np.int64).T
    weights = row_weights(accounts, rows, limit**2, people=5)
    assert weights[4] == FULL  # not in the set
    for account, mine in of.items():
        weight, norm = int(weights[account]), sum(n * n for n in mine)
        top = largest_weight(limit**2, squared=True)
        assert weight == (FULL if norm <= limit**2 else int(top / math.sqrt(norm)))
        assert weight**2 * norm <= (FULL * limit) ** 2


@example(2**61 - 1, 2**61 - 1, FULL)
@example(3 * 2**30, 2**30, 3)  # a whole number of steps
@example(2**60 + 1, 2**60, FULL)
@given(st.integers(1, 2**61 - 1), st.integers(0, 2**61 - 1), st.integers(0, FULL))
def test_steps_are_rounded_up_exactly(most, size, weight):
    held = min(size, most)
    [found] = rounded_steps(np.array([held]), np.array([weight]), most)
    assert found == min(-(-size * weight * 2**20 // most), 2**20)


def test_no_sensitivity_is_above_what_steps_are_exact_for():
    widest = [grid(-1.7e308, 1.7e308, whole=False), grid(-(2.0**20), 2.0**20, whole=True)]
    bounds = ContributionBounds(NoiseKind.GAUSSIAN, MOST_ROWS, MOST_ROWS)
    for one in widest:
        assert sensitivity(Strategy.of((Total(None, None, one),)), bounds) < 2**61


@pytest.mark.parametrize("groups", [1, 2])
def test_whoever_is_above_a_limit_pays_the_whole_price_and_counts_once(groups):
    rows = [(i, city, 0) for i in range(50) for city in CITIES[:groups] for _ in range(3)]
    with clinic([*rows, (50, CITIES[0], 0)]) as curator:
        text = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
        found = curator.sql(text, **LOUD).table.column("n").to_pylist()
        assert found[0] == pytest.approx(1 + 50 / math.sqrt(groups), abs=3)
        paid = spent(curator)
        assert all(0.99 < paid[i] / paid[50] <= 1 for i in range(50))


REFUSED = {
    "groups that nobody has listed": "SELECT street, COUNT(*) AS n FROM visits GROUP BY street",
    "limits that nobody has stated": "SELECT COUNT(*) AS n FROM visits",
    "a quantile": "SELECT MEDIAN(amount) AS n FROM visits",
    "a count of different values": "SELECT COUNT(DISTINCT amount) AS n FROM visits",
    "Laplace noise": "SELECT COUNT(*) AS n FROM visits",
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_has_no_price_for_each_person_is_refused(reason):
    limits = Limits() if reason.startswith("limits") else Limits(1, 1)
    kind = NoiseKind.LAPLACE if reason.startswith("Laplace") else NoiseKind.GAUSSIAN
    query = read(REFUSED[reason], schema(limits=limits))
    plan = MeasurementPlan.of(query, Price(1, 1e-6), noise_kinds=(kind,))
    with pytest.raises(QueryRefused, match=reason) as refused:
        check_individual(plan.sets)
    assert refused.value.code == "per-person"
