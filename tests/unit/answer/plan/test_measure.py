"""Measurements: one law of noise for every group, whatever stands beside it."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.answer.plan.measure import Measurement
from discreet.plan.bounding import FULL, ContributionBounds, NoiseKind
from discreet.plan.expressions import Call, Column, Function
from discreet.plan.sensitivity import Strategy
from discreet.plan.statistics import Distinct, People, Rows, Total, grid
from discreet.privacy import Neighbours

STATISTICS = [
    Rows(None),
    People(None),
    Total(Column("x"), None, grid(-1.0, 99.0, whole=False)),
    Distinct(Column("x"), None),
]


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda one: type(one).__name__)
def test_how_many_groups_there_are_does_not_change_the_noise_of_one(statistic, neighbours):
    """Groups may be there because of one person: were noise wider among them, it would tell."""
    for limit in (1, 2, 3, 5, 7, 50):
        contributions = ContributionBounds(NoiseKind.GAUSSIAN, limit, limit)
        one = Measurement(Strategy.of((statistic,)), contributions, Fraction(1, 10), neighbours)
        assert one.mechanism(1).variance == one.mechanism(2).variance
        assert one.mechanism(1).rho == one.mechanism(1000).rho == one.cost


def test_people_in_several_groups_move_a_vector_of_counts_no_further_than_its_reach():
    for groups in range(1, 200):
        one = Measurement(
            Strategy.of((People(None),)),
            ContributionBounds(NoiseKind.GAUSSIAN, 1, groups),
            Fraction(1),
            Neighbours.ADD_REMOVE,
        )
        assert one.sensitivity**2 >= groups * 1024**2
        assert (one.sensitivity - 1) ** 2 < groups * 1024**2


@pytest.mark.parametrize("law", list(NoiseKind))
@pytest.mark.parametrize("rows", [10**6, 3 * 10**9, 10**10, 8 * 10**12])
def test_statistics_that_are_measured_together_are_right_of_any_number_of_rows(law, rows):
    known = Call(Function.NOT, (Call(Function.IS_NULL, (Column("x"),)),))
    total = Total(Column("x"), known, grid(0.0, 100.0, whole=False))
    strategy = Strategy.of((Rows(None), Rows(known), total))
    one = Measurement(
        strategy, ContributionBounds(law, 1, 1), Fraction(1, 2), Neighbours.ADD_REMOVE
    )
    exact = [rows * FULL, rows // 4 * FULL, -rows // 4 * FULL * 1000]
    noisy = one.release([np.array([number, 0]) for number in exact])
    for statistic, number in zip(strategy.statistics, exact, strict=True):
        view = one.view(statistic)
        worth = total.grid.step if statistic == total else 1
        expected = np.array([number // FULL * worth, 0])
        assert np.abs(view.values(noisy) - expected).max() < view.error(1 - 1e-9)
