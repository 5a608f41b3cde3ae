"""Known marginals, measured together: residual planning with closed-form variances.

A marginal is the sum of residuals, one for each set of its columns: what the marginal of that set
says beyond those of its parts. Each is measured once, however many marginals share it, and all
answers agree with each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import ceil, prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.privacy import GDP, Neighbours
from discreet.rationals import Real, positive
from discreet.workload.domain import Domain
from discreet.workload.histogram import Clique, Floats, JointHistogram, rounded_noise, with_noise

_FINE: Final = 10**6
"""Variances are rounded up to a millionth of a squared grid step."""

_ROOM: Final = 1 << 60
"""Below this, sums of counts times a grid are computed as 64-bit numbers."""


@dataclass(frozen=True)
class ResidualPlan:
    """How all marginals of a list are measured together, for the least sum of all cells' variances.

    `variances` has the variance of the noise on each cell for every set of columns, in squared
    grid steps; a set with m cells has 1/(m `row_weight`) rows as its step.

    Guarantee:
        sqrt(mu_squared)-Gaussian differential privacy for everything `measure` gives.
    Neighbours:
        As `JointHistogram`.
    Why:
        The residual of a set of columns is P x, where P takes the mean over each of its axes away.
        P x is a whole number of steps of 1/m, which rounded noise is added to on that grid. Say a
        person moves the marginal x by a: the squared length of P a is at most
        the squared weight of a person times the product of (size - 1)/size over the columns, as
        it is convex in a. Two people who are exchanged move P x by at most what they move x.
    Edge cases:
        No columns are the number of rows. Columns of one cell have no residual.

    Reference: Xiao, He, Zhang, Kifer 2023, An Optimal and Scalable Matrix Mechanism for Noisy
    Marginals under Convex Loss Functions (the residual basis and its closed form).
    """

    domain: Domain
    marginals: tuple[Clique, ...]
    mu_squared: Fraction
    variances: Mapping[Clique, Fraction]
    row_weight: int
    person_weight: int
    neighbours: Neighbours

    @staticmethod
    def of(
        domain: Domain,
        marginals: Iterable[Sequence[str]],
        *,
        mu_squared: Real,
        row_weight: int = 1,
        person_weight: int = 1,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> "ResidualPlan":
        """Share a mu^2 among residuals, so that the error of each marginal matters alike."""
        wanted = tuple(dict.fromkeys(_ordered(domain, one) for one in marginals))
        budget = positive(mu_squared, "mu_squared")
        if not wanted:
            raise InputError("no marginals", why="there is nothing to plan", fix="name some")
        uses = _uses(domain, wanted)
        costs = {one: _cost(domain, one, neighbours) * person_weight**2 for one in uses}
        sizes = {one: _grid(domain, one) for one in uses}
        # Minimise sum(u p s^2) with sum(p / s^2) = budget: s^2 = sum(p sqrt u) / (budget sqrt u).
        whole = sum(float(costs[one]) * use**0.5 for one, use in uses.items())
        variances = {
            one: Fraction(
                ceil(Fraction(whole / use**0.5) / budget * sizes[one] ** 2 * _FINE), _FINE
            )
            for one, use in uses.items()
        }
        weights_of_rows = (row_weight, person_weight, Neighbours(neighbours))
        plan = ResidualPlan(domain, wanted, budget, variances, *weights_of_rows)
        over = max(Fraction(1), plan.spent / budget)  # by a float's last digit
        return replace(plan, variances={one: over * v for one, v in variances.items()})

    @property
    def guarantee(self) -> GDP:
        """Gaussian, for all marginals together."""
        return GDP.of_square(self.spent, neighbours=self.neighbours)

    @property
    def spent(self) -> Fraction:
        """The exact mu^2 of all residuals; at most `mu_squared`."""
        weight = self.person_weight**2
        return sum(
            (
                weight
                * _cost(self.domain, one, self.neighbours)
                * _grid(self.domain, one) ** 2
                / found
                for one, found in self.variances.items()
            ),
            Fraction(0),
        )

    def variance(self, clique: Sequence[str]) -> float:
        """The variance of each cell of a marginal, in squared rows: a closed form."""
        return self.sum_variance(clique, [1] * len(clique))

    def _in_rows(self, part: Clique) -> float:
        """The variance of the noise on a cell of a residual's marginal, in squared rows."""
        return float(self.variances[part] / (_grid(self.domain, part) * self.row_weight) ** 2)

    def sum_variance(self, clique: Sequence[str], cells: Sequence[int]) -> float:
        """The variance of the sum of a product of cells: so many of each column of a marginal."""
        ordered = _ordered(self.domain, clique)
        counts = dict(zip(ordered, cells, strict=True))
        found, sizes = 0.0, self.domain.sizes
        for part in _subsets(ordered):
            if part not in self.variances:
                if all(sizes[n] > 1 for n in part):
                    raise InputError(
                        f"the marginal of {', '.join(clique)} was not planned",
                        why="a residual that it needs is not measured",
                        fix="name it, or a marginal that has all of its columns, when planning",
                    )
                continue
            inside = prod(counts[n] * (sizes[n] - counts[n]) / sizes[n] for n in part)
            beside = prod(counts[n] / sizes[n] for n in ordered if n not in part)
            found += self._in_rows(part) * inside * beside**2
        return found

    def measure(self, histogram: JointHistogram) -> "ResidualAnswers":
        """Measure every residual once."""
        histogram.check_planned(self)
        found = {part: self._measured(histogram, part) for part in self.variances}
        return ResidualAnswers(self, found)

    def _measured(self, histogram: JointHistogram, part: Clique) -> Floats:
        grid = _grid(self.domain, part)
        small = histogram.total < _ROOM // grid
        counts = histogram.marginal(part).astype(np.int64 if small else object)
        exact = _residual(counts, whole=True)
        cost = _cost(self.domain, part, self.neighbours)
        square, variance = cost * (grid * self.person_weight) ** 2, self.variances[part]
        noise = rounded_noise(square, exact.size, self.neighbours, variance=variance)
        rows = (with_noise(exact, noise) / (grid * histogram.row_weight)).astype(np.float64)
        return _residual(rows)


@dataclass(frozen=True)
class ResidualAnswers:
    """Residuals as they were measured; every marginal follows, and all agree with each other."""

    plan: ResidualPlan
    residuals: Mapping[Clique, Floats]

    def marginal(self, clique: Sequence[str]) -> Floats:
        """The estimated rows in each cell; unbiased, so some may be negative."""
        domain, ordered = self.plan.domain, _ordered(self.plan.domain, clique)
        self.plan.variance(ordered)
        found = np.zeros(domain.shape(ordered))
        for part in _subsets(ordered):
            if part in self.residuals:
                spread = [domain.sizes[name] if name in part else 1 for name in ordered]
                cells = prod(domain.sizes[name] for name in ordered if name not in part)
                found += self.residuals[part].reshape(spread) / cells
        return found

    @cached_property
    def marginals(self) -> dict[Clique, Floats]:
        """All marginals of the plan."""
        return {one: self.marginal(one) for one in self.plan.marginals}


def _residual(rows: NDArray[Any], *, whole: bool = False) -> NDArray[Any]:
    """The residual after the mean over each axis is removed; times all sizes, if `whole`."""
    for axis, size in enumerate(rows.shape):
        sums = rows.sum(axis=axis, keepdims=True)
        rows = rows * size - sums if whole else rows - sums / size
    return rows


def _ordered(domain: Domain, clique: Sequence[str]) -> Clique:
    for name in clique:
        domain.place(name)
    return tuple(name for name in domain.names if name in clique)


def _subsets(clique: Clique) -> list[Clique]:
    return [part for width in range(len(clique) + 1) for part in combinations(clique, width)]


def _grid(domain: Domain, part: Clique) -> int:
    """Steps to one unit of weight."""
    return prod(domain.sizes[name] for name in part)


def _cost(domain: Domain, part: Clique, neighbours: Neighbours) -> Fraction:
    """The squared length of what a person of weight 1 moves in a residual."""
    if neighbours is not Neighbours.ADD_REMOVE:
        return Fraction(2)
    return prod((Fraction(domain.sizes[n] - 1, domain.sizes[n]) for n in part), start=Fraction(1))


def _uses(domain: Domain, marginals: Sequence[Clique]) -> dict[Clique, float]:
    """How much each residual's variance weighs in the variances of all cells of all marginals."""
    uses: dict[Clique, float] = {}
    for one in marginals:
        for part in _subsets(one):
            if any(domain.sizes[name] == 1 for name in part):
                continue
            cells = prod(domain.sizes[name] for name in one if name not in part)
            own = prod(domain.sizes[name] for name in part)
            uses[part] = uses.get(part, 0.0) + own / cells
    return uses
