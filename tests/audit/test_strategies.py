"""Statistics that are measured together: the auditor tries to refute what that costs.

One row of one person moves several combinations at once; a strategy that declares less than that
is caught.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.answer.plan.measure import Measurement
from discreet.audit import refute
from discreet.mechanisms.mechanism import Claim, Pair
from discreet.noise.bits import Keystream, replaced
from discreet.plan.bounding import FULL, ContributionBounds, NoiseKind
from discreet.plan.expressions import Column
from discreet.plan.sensitivity import Strategy
from discreet.plan.statistics import Grid, Rows, Total
from discreet.privacy import GDP, Neighbours, Pure

ALL, SOME = Rows(None), Rows(Column("known"))
VALUES = Total(Column("x"), Column("known"), Grid(-2.0, 2.0, 0.0, 1.0, 2))
STRATEGIES = [(ALL, SOME), (SOME, VALUES), (ALL, SOME, VALUES)]
ROWS = {  # what one row adds to each statistic: no value, the least, the largest, the middle
    "none": {ALL: 1, SOME: 0, VALUES: 0},
    "least": {ALL: 1, SOME: 1, VALUES: -2},
    "largest": {ALL: 1, SOME: 1, VALUES: 2},
    "middle": {ALL: 1, SOME: 1, VALUES: 0},
}
COST = {NoiseKind.LAPLACE: Fraction(1), NoiseKind.GAUSSIAN: Fraction(1, 2)}


def claim(statistics, noise_kind, neighbours, declared=1):
    """All combinations of one group, for one row more or less, or one for another."""
    strategy = Strategy.of(statistics)
    lied = replace(strategy, each=max(1, strategy.each // declared)) if declared > 1 else strategy
    bounds = ContributionBounds(noise_kind, 1, 1)
    one = Measurement(lied, bounds, COST[noise_kind], neighbours)
    rows = [tuple(row[one] for one in statistics) for row in ROWS.values()]
    nobody = (0,) * len(statistics)
    pairs = [Pair(nobody, row) for row in rows]
    if neighbours is Neighbours.CHANGE_ONE:
        pairs = [Pair(left, right) for left in rows for right in rows if left < right]

    def draw(totals, runs):
        exact = [np.full(runs, FULL * total, dtype=np.int64) for total in totals]
        return np.stack(one.release(exact), axis=1).astype(np.float64) * one.step

    promised = Pure(COST[noise_kind], neighbours=neighbours)
    if noise_kind is NoiseKind.GAUSSIAN:
        promised = GDP.of_square(2 * COST[noise_kind], neighbours=neighbours)
    return Claim("strategy", promised, tuple(pairs), draw)


def is_refuted(one):
    stream = Keystream(bytes(32))
    with replaced(lambda: stream):
        return refute(one, samples=40_000).refuted


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("noise_kind", list(NoiseKind))
@pytest.mark.parametrize("statistics", STRATEGIES, ids=["counts", "values", "all"])
def test_the_auditor_cannot_refute_what_measuring_together_promises(
    statistics, noise_kind, neighbours
):
    assert not is_refuted(claim(statistics, noise_kind, neighbours))


@pytest.mark.parametrize("noise_kind", list(NoiseKind))
@pytest.mark.parametrize("statistics", STRATEGIES[1:], ids=["values", "all"])
def test_a_strategy_that_forgets_half_of_what_a_row_moves_is_refuted(statistics, noise_kind):
    assert is_refuted(claim(statistics, noise_kind, Neighbours.ADD_REMOVE, declared=2))
