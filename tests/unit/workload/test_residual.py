"""Residual planning: closed forms against brute force, agreement, and exact cost."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.plan.kinds import Kind
from discreet.privacy import Neighbours
from discreet.workload.domain import Attribute, Domain
from discreet.workload.histogram import JointHistogram
from discreet.workload.residual import ResidualPlan, _grid, _residual
from online_cases import DOMAIN, histogram, rows

PAIRS = [one for ways in range(3) for one in combinations(DOMAIN.names, ways)]


def plan(mu_squared=4, **options):
    return ResidualPlan.of(DOMAIN, PAIRS, mu_squared=mu_squared, **options)


def test_what_is_spent_is_within_the_budget_and_close_to_it():
    for neighbours in Neighbours:
        one = plan(neighbours=neighbours)
        assert Fraction(4) * (1 - Fraction(1, 10**4)) < one.spent <= 4


def test_the_closed_form_is_the_variance_of_the_linear_map():
    """Push unit noise through the same steps: the squares add up to the stated variance."""
    one, wanted = plan(), ("a", "b")
    shape, found = DOMAIN.shape(wanted), 0.0
    for part in [(), ("a",), ("b",), ("a", "b")]:
        for cell in np.ndindex(*DOMAIN.shape(part)):
            unit = np.zeros(DOMAIN.shape(part))
            unit[cell] = 1
            moved = _residual(unit)
            spread = [DOMAIN.sizes[n] if n in part else 1 for n in wanted]
            cells = np.prod([DOMAIN.sizes[n] for n in wanted if n not in part])
            there = np.broadcast_to(moved.reshape(spread) / cells, shape)[0, 0]
            found += one._in_rows(part) * there**2
    assert one.variance(wanted) == pytest.approx(found)
    assert one.sum_variance(wanted, [1, 1]) == pytest.approx(one.variance(wanted))
    everything = one.sum_variance(wanted, shape)
    assert everything == pytest.approx(one.sum_variance((), []))


def test_a_person_moves_a_residual_by_what_is_charged_for_it():
    """All ways to spread a weight of 2 over a pair of columns, on the grid of the noise."""
    small = Domain(
        tuple(
            Attribute(n, Kind.INTEGER, (0, 1, 2)[:m], nullable=False)
            for n, m in [("x", 2), ("y", 3)]
        )
    )
    one = ResidualPlan.of(small, [("x", "y")], mu_squared=1, person_weight=2)
    part, grid = ("x", "y"), _grid(small, ("x", "y"))
    charged = 4 * Fraction(1, 2) * Fraction(2, 3)
    worst = Fraction(0)
    for spread in product(range(3), repeat=6):
        if sum(spread) <= 2:
            moved = np.array([Fraction(v) for v in spread], dtype=object).reshape(2, 3)
            for axis in (0, 1):
                mean = moved.sum(axis=axis, keepdims=True) / Fraction(moved.shape[axis])
                moved = moved - mean
            assert all((v * grid).denominator == 1 for v in moved.reshape(-1))
            worst = max(worst, sum(v * v for v in moved.reshape(-1)))
    assert worst == charged
    assert one.variances[part] * one.spent >= charged * grid**2 * (one.spent / one.mu_squared) / 2


def test_marginals_agree_with_each_other_and_with_the_data():
    answers = plan(400).measure(histogram())
    both = answers.marginal(("a", "b"))
    assert np.allclose(both.sum(axis=1), answers.marginal(("a",)))
    assert np.allclose(both.sum(), answers.marginal(()))
    wide = 8 * answers.plan.variance(("a", "b")) ** 0.5
    assert np.abs(both - histogram().marginal(("a", "b"))).max() < wide
    assert set(answers.marginals) == set(PAIRS)


def test_people_with_several_rows_are_measured_on_their_own_grid():
    data = JointHistogram.of(rows(), DOMAIN, person=np.arange(4000) // 2, max_rows=2)
    one = plan(400, row_weight=data.row_weight, person_weight=data.person_weight)
    gap = one.measure(data).marginal(("a",)) - data.marginal(("a",)) / data.row_weight
    assert np.abs(gap).max() < 8 * one.variance(("a",)) ** 0.5


def test_what_was_not_planned_is_refused():
    with pytest.raises(InputError, match="not planned"):
        plan().variance(("a", "b", "c"))
    with pytest.raises(InputError, match="no marginals"):
        ResidualPlan.of(DOMAIN, [], mu_squared=1)
