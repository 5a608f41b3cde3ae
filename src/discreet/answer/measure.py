"""Measurements: each statistic's exact integers meet exact noise, through an audited mechanism."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from discreet.answer.budget import Budget
from discreet.answer.limits import Law, Weighing
from discreet.mechanisms import Laplace, RoundedGaussian
from discreet.mechanisms.grid import INTEGERS, sqrt_up
from discreet.mechanisms.quantile import draw_cells, rank_sensitivity
from discreet.mechanisms.ranks import Ranks as RankCounts
from discreet.plan.statistics import Distinct, People, Ranks, Rows, Statistic, Total
from discreet.privacy import GDP, Guarantee, Neighbours, Pure, Ranges
from discreet.rationals import Real
from discreet.sql.compile import FULL


def reach(statistic: Statistic, weighing: Weighing) -> Fraction:
    """How far adding or removing one person moves a statistic, in the norm of the law.

    A whole number: so the noise of a group is the same whether it comes alone or among others,
    which may be there because of one person.
    """
    match statistic:
        case Rows() | Ranks():
            return Fraction(FULL * weighing.rows)
        case Total(_, _, grid):
            return Fraction(FULL * weighing.rows * grid.reach)
        case People():
            if weighing.law is Law.LAPLACE:
                return Fraction(FULL * weighing.groups)
            return Fraction(math.ceil(FULL * sqrt_up(Fraction(weighing.groups))))
        case Distinct():
            return Fraction(FULL * weighing.rows)
        case _:
            assert_never(statistic)


def charged_rho(statistic: Statistic, rho: Fraction, neighbours: Neighbours) -> GDP | Ranges:
    """What a statistic measured for so much rho gives away: by Gaussian noise, or by choices."""
    if isinstance(statistic, Ranks):
        return Ranges(rho, neighbours=neighbours)
    return GDP.of_square(2 * rho, neighbours=neighbours)


@dataclass(frozen=True, slots=True)
class Measurement:
    """One statistic of all groups: the law of its noise, its sensitivity, and what it costs.

    `cost` is epsilon for Laplace noise and rho for Gaussian noise.
    """

    statistic: Statistic
    weighing: Weighing
    cost: Fraction
    neighbours: Neighbours

    @property
    def law(self) -> Law:
        """The law of the noise."""
        return self.weighing.law

    @property
    def reach(self) -> Fraction:
        """The sensitivity over all groups, in the norm of the law.

        Changing a person is removing one and adding one, and norms add up.
        """
        people = 1 if self.neighbours is Neighbours.ADD_REMOVE else 2
        return people * reach(self.statistic, self.weighing)

    @property
    def guarantee(self) -> Guarantee:
        """What measuring all groups at once gives away, however many there are."""
        if self.law is Law.GAUSSIAN:
            return charged_rho(self.statistic, self.cost, self.neighbours)
        if isinstance(self.statistic, Ranks):
            return Pure(self.cost, neighbours=self.neighbours)
        return self.mechanism(1).guarantee

    def mechanism(self, groups: int) -> Laplace | RoundedGaussian:
        """The mechanism for this many groups at once; the noise of each group is the same."""
        if self.law is Law.LAPLACE:
            return Laplace(
                epsilon=self.cost, sensitivity=self.reach, grid=INTEGERS, neighbours=self.neighbours
            )
        return RoundedGaussian(
            mu_squared=2 * self.cost,
            sensitivity=self.reach,
            grid=INTEGERS,
            dimension=groups,
            neighbours=self.neighbours,
        )

    def release(self, totals: NDArray[np.int64]) -> NDArray[Any]:
        """Totals of some groups with fresh noise; of none there are none."""
        if not totals.size:
            return totals
        noisy: NDArray[Any] = self.mechanism(totals.size).release(totals)
        return noisy

    @property
    def unit(self) -> float:
        """What a full step of the statistic is worth: one row, one person, one step of a value."""
        return FULL / self.statistic.grid.step if isinstance(self.statistic, Total) else FULL

    def typical(self) -> float:
        """The median size of the noise, relative to what one row or person adds at most."""
        if self.law is Law.LAPLACE:
            size = math.log(2) / float(self.cost)
        else:
            size = 0.6745 / math.sqrt(2 * float(self.cost))
        most = self.statistic.grid.reach if isinstance(self.statistic, Total) else 1
        return float(self.reach) * size / (FULL * most)

    def scaled(self, totals: NDArray[Any]) -> NDArray[np.float64]:
        """Weighted integers as rows, people or values."""
        return np.asarray(totals, dtype=np.float64) / self.unit

    def error(self, confidence: Real = 0.95) -> float:
        """The half-width of one group's noise, in rows, people or values."""
        return self.mechanism(1).error(confidence) / self.unit


def measurements(
    budget: Budget, weighing: Weighing, neighbours: Neighbours
) -> dict[Statistic, Measurement]:
    """How each statistic is measured."""
    whole = budget.epsilon if weighing.law is Law.LAPLACE else budget.rho
    return {
        statistic: Measurement(statistic, weighing, whole * share, neighbours)
        for statistic, share in budget.shares[weighing.law].items()
    }


def histogram(budget: Budget, neighbours: Neighbours) -> Laplace:
    """The mechanism of each histogram of people that limits are chosen by.

    Why: a person is in one bucket. Adding or removing one moves one count by 1, and changing one
    moves two counts by 1 each.
    """
    buckets = 1 if neighbours is Neighbours.ADD_REMOVE else 2
    cost = budget.choice / len(budget.histograms)
    return Laplace(epsilon=cost, sensitivity=buckets, neighbours=neighbours)


def quantile_scale(measurement: Measurement, level: Fraction, levels: int) -> Fraction:
    """The temperature of the exponential mechanism for one of `levels` quantiles of a group.

    Why: one person's weights w_g in the groups move the score of group g by range r w_g / scale,
    r = 2 max(q, 1 - q). In all that is epsilon = r sum(w_g)/scale, or rho = r^2 sum(w_g^2)/(8
    scale^2), and the limits hold sum(w_g), or the root of sum(w_g^2), to `reach`.
    """
    width = 2 * rank_sensitivity(level, Neighbours.ADD_REMOVE) * measurement.reach
    if measurement.law is Law.LAPLACE:
        return width * levels / measurement.cost
    return width * sqrt_up(levels / (8 * measurement.cost))


def quantile_cells(
    cells: NDArray[np.int64],
    weights: NDArray[np.int64],
    size: int,
    level: Fraction,
    scale: Fraction,
) -> int:
    """The cell of one private quantile of one group, from the weight in each cell.

    Edge cases: people far over the limit weigh nothing, and a cell that only they are in counts as
    empty; so does a group of nobody else.
    """
    occupied = weights > 0
    ranks = RankCounts(cells[occupied], weights[occupied])
    return int(draw_cells(ranks, (0, size - 1), level, scale, 1)[0])
