"""How one grouping set is measured: decided once, before anything is charged.

Pricing, explaining, running and auditing a question all read this value; nobody derives it again.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeAlias

from discreet.answer.plan.contribution_histogram import FEW, GROUPS, ROWS, Norm, far_beyond
from discreet.answer.plan.measure import Measurement, StatisticNoise, gaussian, laplace
from discreet.answer.plan.price import Price
from discreet.answer.plan.thresholded_count import ThresholdedCount, shared_count
from discreet.mechanisms import KeySelection, Laplace, RoundedGaussian
from discreet.mechanisms.grid import sqrt_up
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.query import Aggregate, AggregateFunction, Query, level_of
from discreet.plan.sensitivity import Strategy
from discreet.plan.statistics import Distinct, Ranks, Rows, Statistic, Total, needed
from discreet.privacy import GDP, Approximate, Neighbours, Pure, Ranges
from discreet.privacy.budgets.buying import amount_within, buys
from discreet.privacy.budgets.charges import EPSILON, MU_SQUARED, Measure

LEAST_KEYS = Fraction(1, 1000)
"""The least epsilon for finding one of a person's groups."""

_ROOT_2 = sqrt_up(Fraction(2))

Charged: TypeAlias = Pure | Approximate | GDP | Ranges
"""Guarantees that filters take."""


@dataclass(frozen=True, slots=True)
class SetPlan:
    """The measurements, contribution bounds and costs of one grouping set.

    `costs` are epsilon for Laplace and rho for Gaussian noise. `contributions` bounds people; None
    where a first stage chooses the bounds: it pays `choice`, in equal parts, for `histograms` of
    people, an epsilon or rho as their `histogram_noise` is Laplace or Gaussian. Groups that are not
    public are found for the price `keys`; or, where the count `shared` is measured anyway, by that
    count, for a delta of `hidden`.
    """

    query: Query
    noise_kind: NoiseKind
    neighbours: Neighbours
    costs: Mapping[Strategy, Fraction]
    contributions: ContributionBounds | None = None
    histograms: tuple[str, ...] = ()
    choice: Fraction = Fraction(0)
    keys: Price | None = None
    shared: Statistic | None = None
    hidden: Fraction = Fraction(0)
    brackets: tuple[str, ...] = ()
    """The quantiles that are chosen together with an interval in values."""
    histogram_noise: NoiseKind = NoiseKind.LAPLACE
    second: Fraction = Fraction(0)
    """The share of what counts and totals of rows cost that pays a second histogram of people.

    Guarantee:
        That histogram and those strategies (for Laplace noise the dearest of them) together give
        away what the strategies cost: who is not far out is not in it, and who is moves them by a
        share 1 - `second` of their sensitivity, or of its square for Gaussian noise.
    Why:
        Epsilon is linear in the distance that a person moves a number with Laplace noise, mu^2 of
        Gaussian noise in its square. Who is far out follows from the first histogram alone.
    Reference:
        `docs/explanation/proofs/bounding.md`, People who are counted twice.
    """
    whole: bool = field(init=False)
    """Whether everybody has full weight."""
    _measured: dict[ContributionBounds, list[Measurement]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    """Cache of `measurements`: measuring and presenting an answer need the same."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "whole", self.query.counts_whole)

    @property
    def finds_keys(self) -> bool:
        """Whether groups have to be found."""
        return self.keys is not None or self.shared is not None

    @property
    def added(self) -> list[Strategy]:
        """The strategies whose numbers noise is added to: totals first, then different values."""
        numbers = [one for one in self.costs if not is_ranked(one)]
        return sorted(numbers, key=lambda one: isinstance(one.statistics[0], Distinct))

    # --- what is measured -------------------------------------------------------------------------

    def measurements(self, contributions: ContributionBounds) -> list[Measurement]:
        """How each strategy is measured, once people are bounded."""
        found = self._measured.get(contributions)
        if found is None:
            found = self._measured[contributions] = [
                Measurement(strategy, contributions, cost, self.neighbours, self.whole)
                for strategy, cost in self.costs.items()
            ]
        return found

    def noises(self, contributions: ContributionBounds) -> dict[Statistic, StatisticNoise]:
        """The noise of each statistic, once people are bounded."""
        return {
            statistic: measurement.view(statistic)
            for measurement in self.measurements(contributions)
            for statistic in measurement.strategy.statistics
        }

    def selection(
        self, contributions: ContributionBounds
    ) -> KeySelection | ThresholdedCount | None:
        """How groups are found; None where all of them are public."""
        if self.shared is not None:
            return ThresholdedCount(
                self.noises(contributions)[self.shared], self.hidden, contributions.groups
            )
        if self.keys is None:
            return None
        groups = self.findable(contributions.groups)
        return KeySelection(
            epsilon=self.keys.epsilon,
            delta=self.keys.delta,
            max_groups_per_unit=groups,
            neighbours=self.neighbours,
        )

    def findable(self, groups: int) -> int:
        """How many groups one person can help to find; more would leave too little for each."""
        if self.keys is None:
            return groups
        return min(groups, int(self.keys.epsilon / LEAST_KEYS))

    def share(self, statistic: Statistic) -> Fraction:
        """The share of the statistics' price that a statistic takes; 0 if it goes with another."""
        amounts = {
            one: cost / cost_of(one, Fraction(1), self.noise_kind)
            for one, cost in self.costs.items()
        }
        first = {one.statistics[0]: amount for one, amount in amounts.items()}
        return first.get(statistic, Fraction(0)) / sum(amounts.values(), Fraction(0))

    # --- the first stage --------------------------------------------------------------------------

    @property
    def histogram(self) -> Laplace | RoundedGaussian:
        """The mechanism of each histogram of people that bounds are chosen by.

        Why: a person is in one bucket. Adding or removing one moves one count by 1, and changing
        one moves two counts by 1 each: 2 in l1, and the root of 2 in l2.
        """
        once, each = self.neighbours is Neighbours.ADD_REMOVE, self.choice / len(self.histograms)
        if self.histogram_noise is NoiseKind.GAUSSIAN:
            return gaussian(2 * each, Fraction(1) if once else _ROOT_2, self.neighbours)
        return laplace(each, Fraction(1 if once else 2), self.neighbours)

    def bounds(self, rows: int, groups: int) -> ContributionBounds:
        """Bounds that a first histogram chooses; who is far out has a share if that is planned."""
        bounds = ContributionBounds(self.noise_kind, rows, groups)
        far = far_beyond(rows) if self.second else None
        return bounds if far is None else replace(bounds, far=far, share=1 - self.second)

    @property
    def histogram_scale(self) -> float:
        """The scale of the noise of each bucket, as `ContributionHistogram` takes it."""
        mechanism = self.histogram
        if isinstance(mechanism, Laplace):
            return float(mechanism.scale)
        return math.sqrt(mechanism.variance / 2)

    @property
    def norms(self) -> dict[str, Norm]:
        """The norms of people that histograms are made of."""
        count, found = self.query.group_count, not self.query.has_known_keys
        return {
            name: Norm(name, self.noise_kind, count, found and name == GROUPS)
            for name in self.histograms
        }

    # --- what it costs ----------------------------------------------------------------------------

    @property
    def guarantees(self) -> tuple[tuple[str, Charged], ...]:
        """Each part's description and guarantee, whatever bounds are chosen."""
        about = self.neighbours
        found: list[tuple[str, Charged]] = []
        if self.histograms:
            each = self._paid(self.choice / len(self.histograms), self.histogram_noise)
            found += [(histogram_of(name), each) for name in self.histograms]
        if self.keys is not None:
            price = Approximate(self.keys.epsilon, self.keys.delta, neighbours=about)
            found.append((FINDING, price))
        if self.shared is not None:
            found.append((FINDING, Approximate(0, self.hidden, neighbours=about)))
        for strategy, cost in self.costs.items():
            ranked = is_ranked(strategy)
            found.append((words(strategy), self._paid(cost, self.noise_kind, ranked=ranked)))
        return tuple(found)

    def _paid(self, cost: Fraction, noise_kind: NoiseKind, *, ranked: bool = False) -> Charged:
        """The guarantee that noise, or the choice of ranked cells, has for its cost."""
        if noise_kind is NoiseKind.LAPLACE:
            return Pure(cost, neighbours=self.neighbours)
        if ranked:
            return Ranges(cost, neighbours=self.neighbours)
        return GDP.of_square(2 * cost, neighbours=self.neighbours)

    # --- as text ----------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON: what was decided, beside the question; `from_dict` reads it back."""
        names = needed(self.query)
        contributions, keys = self.contributions, self.keys
        of_histograms = _HISTOGRAM_COSTS[self.histogram_noise]
        return {
            "noise": _NOISES[self.noise_kind],
            "bounds": None if contributions is None else [contributions.rows, contributions.groups],
            "histograms": list(self.histograms),
            of_histograms: str(self.choice),
            "keys": None if keys is None else [str(keys.epsilon), str(keys.delta)],
            "count": None if self.shared is None else names.index(self.shared),
            "count_delta": str(self.hidden),
            "measured": [
                [[names.index(one) for one in strategy.statistics], str(cost)]
                for strategy, cost in self.costs.items()
            ],
            **({"brackets": list(self.brackets)} if self.brackets else {}),
            **({"second_histogram": str(self.second)} if self.second else {}),
        }

    @staticmethod
    def from_dict(stored: Mapping[str, Any], query: Query, neighbours: Neighbours) -> "SetPlan":
        """Read what `to_dict` wrote; ValueError if it does not fit the question."""
        statistics = needed(query)
        noise_kind = {name: one for one, name in _NOISES.items()}[stored["noise"]]
        bounds, keys, shared = stored["bounds"], stored["keys"], stored["count"]
        [(histogram_noise, choice)] = [
            (one, stored[name]) for one, name in _HISTOGRAM_COSTS.items() if name in stored
        ]
        measured = [
            (Strategy.of(tuple(statistics[place] for place in places)), Fraction(cost))
            for places, cost in stored["measured"]
        ]
        read = SetPlan(
            query,
            noise_kind,
            neighbours,
            dict(measured),
            None if bounds is None else ContributionBounds(noise_kind, *bounds),
            tuple(stored["histograms"]),
            Fraction(choice),
            None if keys is None else Price(Fraction(keys[0]), Fraction(keys[1])),
            None if shared is None else statistics[shared],
            Fraction(stored["count_delta"]),
            tuple(stored.get("brackets", ())),
            histogram_noise,
            Fraction(stored.get("second_histogram", 0)),
        )
        if not read._suits_question:
            raise ValueError(stored)
        return read

    @property
    def _suits_question(self) -> bool:
        """Whether each statistic is measured once, and groups and bounds come from one place."""
        counted = Counter(one for strategy in self.costs for one in strategy.statistics)
        shared = self.shared is None or (
            self.shared == shared_count(self.query) and Strategy.of((self.shared,)) in self.costs
        )
        ways = (self.keys is not None) + (self.shared is not None)
        return (
            counted == Counter(needed(self.query))
            and shared
            and ways == (not self.query.has_known_keys)
            and (self.contributions is None) is bool(self.histograms)
            and self.second in (0, second_share(self))
            and set(self.brackets) <= {a.name for a in self.query.aggregates if is_inner(a)}
        )


def second_share(plan: SetPlan) -> Fraction:
    """The share that a second histogram, as costly as the first, takes; 0 if it is not made.

    Why: groups that are found leave people less than the histogram knew of. With many groups
    limits leave out as many people as histograms show anyway.
    """
    several = plan.finds_keys or plan.query.group_count >= FEW
    several = several or plan.histogram_noise is not plan.noise_kind
    payers = [
        cost
        for strategy, cost in plan.costs.items()
        if isinstance(strategy.statistics[0], Rows | Total)
    ]
    if several or ROWS not in plan.histograms or not payers:
        return Fraction(0)
    paid = sum(payers) if plan.noise_kind is NoiseKind.GAUSSIAN else max(payers)
    share = plan.choice / len(plan.histograms) / paid
    return share if share <= Fraction(1, 2) else Fraction(0)


FINDING, EXACT = "which groups there are", "exact choice"


_BELOW_PI = Fraction(113, 355)
"""Just below 1/pi: choices of rho are Gaussian-private with mu^2 = pi rho (see `Ranges`)."""


def amount_for(
    epsilon: Fraction, delta: Fraction, noise_kind: NoiseKind, measure: Measure | None = None
) -> Fraction:
    """The noise budget that a price buys: epsilon, or the largest mu^2; 0 if none.

    An account that counts in a `measure` pays as much for either kind; without one, the price is
    (epsilon, delta)-privacy itself.
    """
    square = amount_within(epsilon, delta, MU_SQUARED) if delta else Fraction(0)
    if noise_kind is NoiseKind.GAUSSIAN:
        return square
    if measure is None or measure == EPSILON or not delta:
        return epsilon
    return buys(MU_SQUARED, square).epsilon


def cost_of(strategy: Strategy, amount: Fraction, noise_kind: NoiseKind) -> Fraction:
    """The cost of a strategy that has so much of the price: epsilon, or rho for its mu^2."""
    if noise_kind is NoiseKind.LAPLACE:
        return amount
    return amount * (_BELOW_PI if is_ranked(strategy) else Fraction(1, 2))


def histogram_of(name: str) -> str:
    """The name of a histogram in a list of costs."""
    return f"people by {name}"


_NOISES = {NoiseKind.LAPLACE: "laplace", NoiseKind.GAUSSIAN: "gaussian"}
"""How kinds of noise are stored; never changed."""

_HISTOGRAM_COSTS = {NoiseKind.LAPLACE: "histogram_epsilon", NoiseKind.GAUSSIAN: "histogram_rho"}
"""Names that the cost of histograms is stored under; never changed."""


def is_inner(aggregate: Aggregate) -> bool:
    """Whether it is a quantile that has values on both sides."""
    return aggregate.measure is AggregateFunction.QUANTILE and 0 < level_of(aggregate) < 1


def words(strategy: Strategy) -> str:
    """The measurement in words."""
    return " and ".join(type(one).__name__ for one in strategy.statistics)


def is_ranked(strategy: Strategy) -> bool:
    """Whether cells of quantiles are chosen instead of adding noise."""
    return isinstance(strategy.statistics[0], Ranks)
