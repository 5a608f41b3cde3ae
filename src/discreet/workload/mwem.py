"""MWEM: learn a hypothesis from the worst of many known queries, again and again."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Final

import numpy as np

from discreet.errors import InputError
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.privacy import GDP, RHO, BoundedRange, Filter, Neighbours
from discreet.rationals import Real, whole
from discreet.workload.counting_query import CountingQuery
from discreet.workload.domain import Domain
from discreet.workload.histogram import JointHistogram, measure_marginal
from discreet.workload.hypothesis import Hypothesis

_FINE: Final = 10**12
_START: Final = Fraction(1, 10)
_CHOICE: Final = Fraction(3, 10)


@dataclass(frozen=True)
class MWEM:
    """Rounds of choosing the worst query and measuring the marginal of its columns.

    Guarantee:
        rho-zCDP with the rho of `budget`, and so (epsilon, delta): one marginal a column, then in
        every round one exponential mechanism and one marginal with Gaussian noise; their prices
        are charged to a filter before each.
    Neighbours:
        As `neighbours`.
    Why:
        A query's distance from the public hypothesis moves by one person's weight. The whole
        marginal has the same l2 sensitivity as the one count, so it is measured instead.
    Edge cases:
        A query may be chosen twice; both measurements count.

    Reference: Hardt, Ligett, McSherry 2012, A Simple and Practical Algorithm for Differentially
    Private Data Release.
    """

    domain: Domain
    queries: tuple[CountingQuery, ...]
    epsilon: Real
    delta: Real
    rounds: int = 10
    person_weight: int = 1
    row_weight: int = 1
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        whole(self.rounds, "rounds", at_least=1)
        if not self.queries:
            raise InputError("no queries", why="there is nothing to learn", fix="name some")

    @property
    def budget(self) -> Filter:
        """The filter that everything is charged to, before anything is."""
        return Filter.within(self.epsilon, self.delta, by=RHO, neighbours=self.neighbours)

    @property
    def start_mu_squared(self) -> Fraction:
        """The mu^2 of each of the first marginals."""
        return 2 * _START * self.budget.limit.amount / len(self.domain) * (1 - Fraction(1, 10**9))

    @property
    def choice_epsilon(self) -> Fraction:
        """The epsilon of one choice: its rho is epsilon^2/8."""
        square = 8 * _CHOICE * self.budget.limit.amount / self.rounds
        return Fraction(isqrt(int(square * _FINE**2)), _FINE)

    @property
    def round_mu_squared(self) -> Fraction:
        """The mu^2 of the marginal of one round."""
        share = (1 - _START - _CHOICE) * self.budget.limit.amount / self.rounds
        return 2 * share * (1 - Fraction(1, 10**9))

    def release(self, histogram: JointHistogram) -> Hypothesis:
        """A hypothesis that has learnt the worst queries; it answers all for free."""
        histogram.check_planned(self)
        spent = self.budget
        measured = []
        for name in self.domain.names:
            spent = spent.charge(spent.price(self._gaussian(self.start_mu_squared)))
            measured.append(measure_marginal(histogram, (name,), self.start_mu_squared))
        found = Hypothesis(self.domain, measured)
        choice = ExponentialMechanism(
            len(self.queries),
            epsilon=self.choice_epsilon,
            sensitivity=self.person_weight,
            neighbours=self.neighbours,
        )
        for _ in range(self.rounds):
            spent = spent.charge(
                spent.price(BoundedRange(self.choice_epsilon, neighbours=self.neighbours))
            )
            worst = self.queries[int(choice.release(self._scores(histogram, found)))]
            spent = spent.charge(spent.price(self._gaussian(self.round_mu_squared)))
            found = found.updated(measure_marginal(histogram, worst.clique, self.round_mu_squared))
        return found

    def _gaussian(self, mu_squared: Fraction) -> GDP:
        return GDP.of_square(mu_squared, neighbours=self.neighbours)

    def _scores(self, histogram: JointHistogram, found: Hypothesis) -> list[int]:
        """How far the hypothesis is off for each query, in whole units of weight: private."""
        exact = {q.clique: histogram.marginal(q.clique) for q in self.queries}
        return [
            abs(
                int(q.total(exact[q.clique]))
                - round(float(q.total(found.marginal(q.clique))) * self.row_weight)
            )
            for q in self.queries
        ]


def predicted_error(
    domain: Domain, queries: Sequence[CountingQuery], rows: float, rho: float
) -> float:
    """The textbook bound on the largest error, in rows, with the best number of rounds.

    Hardt, Ligett, McSherry 2012, Theorem 2.2, with the noise of zCDP: 2 n sqrt(ln |X| / T) for
    what T rounds have not learnt, and the choice and the noise of each.
    """
    spread = float(np.sum(np.log(np.array(domain.shape(), dtype=np.float64))))
    many = float(np.log(max(2, len(queries))))
    bounds = [
        2 * rows * (spread / rounds) ** 0.5
        + many * (2 * rounds / rho) ** 0.5
        + (2 * rounds / rho * many) ** 0.5
        for rounds in range(1, 200)
    ]
    return float(min(bounds))
