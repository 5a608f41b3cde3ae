"""How one price is split over the measurements of a query. Reads the question alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet.answer.influence import Influence, best_shares, influences
from discreet.answer.limits import Law
from discreet.errors import InputError
from discreet.plan.query import Query
from discreet.plan.statistics import Ranks, Statistic, statistics_in
from discreet.privacy.buying import amount_within
from discreet.privacy.charges import MU_SQUARED, RHO
from discreet.rationals import Real, non_negative, positive

CHOICE = Fraction(1, 10)
"""The share of epsilon that buys limits which nobody has stated."""

FEW = 10
"""With fewer groups twice that share is paid.

Why: a limit suits many groups if it leaves as many people over it as noise is wide in all of them
together; with few groups those people are few, and seeing them takes a better histogram.
"""

KEYS = Fraction(1, 4)
"""The share of epsilon that buys a list of groups which nobody has stated."""

LEAST_KEYS = Fraction(1, 1000)
"""The least epsilon for finding one of a person's groups."""

_PARTS = 1 << 12
"""Shares are multiples of one part in so many, or nearly, so that every machine has the same."""


@dataclass(frozen=True, slots=True, init=False)
class Price:
    """What a question may cost: (epsilon, delta)-differential privacy in all."""

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Real, delta: Real = 0) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "delta", non_negative(delta, "delta"))
        if self.delta >= 1:
            raise InputError(f"delta is {delta}", why="it is a probability", fix="pass delta < 1")

    def over(self, parts: int) -> "Price":
        """An equal share of it."""
        return Price(self.epsilon / parts, self.delta / parts)


@dataclass(frozen=True, slots=True)
class Budget:
    """A price, split: limits, then keys, then each statistic's share of the rest under a law.

    The three add up by basic composition; `epsilon` and `delta` are for all statistics together.
    Where the count `shared` decides which groups are shown, keys cost the delta `hidden` alone.
    `histograms` are what `choice` buys, in equal parts: of people by rows, by groups, or both.
    """

    choice: Fraction
    keys: Price | None
    epsilon: Fraction
    delta: Fraction
    shares: Mapping[Law, Mapping[Statistic, Fraction]]
    influences: Mapping[Law, tuple[Influence, ...]]
    shared: Statistic | None = None
    hidden: Fraction = Fraction(0)
    histograms: tuple[str, ...] = ()

    @property
    def finds_keys(self) -> bool:
        """Whether groups have to be found."""
        return self.keys is not None or self.shared is not None

    @property
    def rho(self) -> Fraction:
        """The most rho that Gaussian noise may spend on the statistics; 0 without a delta.

        Its (epsilon, delta) is that of mu^2 = 2 rho, exactly; where quantiles are chosen as well,
        that of zCDP.
        """
        if not self.delta:
            return Fraction(0)
        if any(isinstance(one, Ranks) for one in self.shares[Law.GAUSSIAN]):
            return amount_within(self.epsilon, self.delta, RHO)
        return gaussian_rho(self.epsilon, self.delta)


def gaussian_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Half the largest mu^2 of Gaussian noise that is (epsilon, delta)-private."""
    return amount_within(epsilon, delta, MU_SQUARED) / 2


def split(
    price: Price,
    query: Query,
    *,
    histograms: tuple[str, ...] = (),
    groups: int = 1,
    find_keys: bool,
    shared: Statistic | None = None,
) -> Budget:
    """Split a price so that the relative errors to expect of all aggregates add up to the least."""
    choice = price.epsilon * CHOICE * (2 if groups < FEW else 1) if histograms else Fraction(0)
    apart = find_keys and shared is None
    keys = Price(price.epsilon * KEYS, price.delta / 2) if apart else None
    spent = choice + (keys.epsilon if keys else 0)
    needs = statistics_in(query)
    on = {law: influences(needs, law) for law in Law}
    return Budget(
        choice,
        keys,
        price.epsilon - spent,
        price.delta / 2 if find_keys else price.delta,
        {law: _shares(on[law], law, shared if find_keys else None) for law in Law},
        on,
        shared if find_keys else None,
        price.delta / 2 if find_keys and not apart else Fraction(0),
        histograms,
    )


def _shares(
    on: tuple[Influence, ...], law: Law, shared: Statistic | None
) -> dict[Statistic, Fraction]:
    """The share of each statistic; one that finds the groups has what finding them is worth."""
    best = best_shares(on, law)
    parts = {statistic: Fraction(max(1, round(_PARTS * best[statistic]))) for statistic in best}
    rest = sum((part for s, part in parts.items() if s != shared), Fraction(0))
    if shared is not None and rest:
        parts[shared] = max(parts[shared], rest * KEYS / (1 - KEYS))
    whole = sum(parts.values(), Fraction(0))
    return {statistic: part / whole for statistic, part in parts.items()}
