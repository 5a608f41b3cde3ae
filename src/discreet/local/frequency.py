"""Frequencies: one estimator for protocols whose reports support values; the simplest of them."""

from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local import protocol
from discreet.local.domain import ValueDomain
from discreet.local.estimate import Estimate
from discreet.local.protocol import LocalProtocol, Statistic
from discreet.local.reports import Octets
from discreet.mechanisms.comparison_laws import ends
from discreet.mechanisms.mechanism import Law, Pair
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy import Guarantee
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real

Chances = tuple[Fraction, Fraction]


@dataclass(frozen=True, kw_only=True)
class FrequencyProtocol(LocalProtocol):
    """A report supports a set of values: its own with probability p, any other with q.

    Why: the number S of reports that support a value that c of n people hold has mean
    c p + (n - c) q, so (S - n q)/(p - q) is unbiased, with variance
    (c p (1 - p) + (n - c) q (1 - q))/(p - q)^2: reports of different people are independent.

    Reference: Wang, Blocki, Li, Jha, Locally Differentially Private Protocols for Frequency
    Estimation, 2017, section 3 ("pure" protocols).
    """

    domain: ValueDomain = field()

    def __post_init__(self) -> None:
        LocalProtocol.__post_init__(self)
        object.__setattr__(self, "domain", ValueDomain.of(self.domain))

    @property
    @abstractmethod
    def support(self) -> Chances:
        """P and q, exactly."""

    @abstractmethod
    def supporters(self, statistic: Statistic, n: int) -> NDArray[Any]:
        """How many reports support each value of the domain."""

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The first value beside the second and the last."""
        values = self.domain.values
        return tuple(Pair(values[0], values[at]) for at in {1: None, self.domain.size - 1: None})

    def read(self, values: Any) -> NDArray[np.int64]:
        """Values as their numbers."""
        return self.domain.numbers(values)

    def estimate(self, statistic: Statistic, n: int, values: Any = None) -> Estimate:
        """How many people hold each value of the domain, or each of these."""
        p, q = self.support
        counts = (self.supporters(statistic, n) - n * float(q)) / float(p - q)
        base, slope = (float(one) for one in self.variances)
        told = self.domain.values
        if values is not None:
            places = self.domain.numbers(values)
            told, counts = [told[place] for place in places.tolist()], counts[places]
        return Estimate(told, counts, n, n * base, slope, float(1 / (p - q)))

    def variance(self, n: int, count: Real = 0) -> float:
        """The variance of the estimate of a value that `count` of n people hold."""
        base, slope = self.variances
        return float(n * base + Fraction(count) * slope)

    @property
    def variances(self) -> Chances:
        """The variance of an estimate over n: for nobody's value, and more for each own."""
        p, q = self.support
        base = q * (1 - q) / (p - q) ** 2
        return base, p * (1 - p) / (p - q) ** 2 - base


def small_law(chances: dict[Any, Fraction]) -> Law:
    """An exact law as bounds in floats."""
    return ends({outcome: Interval.of(p) for outcome, p in chances.items()})


@protocol.stored_as("k-randomized-response/1")
@dataclass(frozen=True, kw_only=True)
class KRandomizedResponse(FrequencyProtocol):
    """Report the own value with probability e^epsilon/(e^epsilon + k - 1), else one of the others.

    Guarantee: that of `dp.RandomizedResponse`, which draws the reports (GRR, direct encoding,
    local histograms of few values). The most accurate protocol
    where k < 3 e^epsilon + 2; its variance grows with k, as that of the others does not.

    Example:
        >>> poll = KRandomizedResponse(epsilon=1, domain=["tea", "coffee"])
        >>> reports = [poll.reporter().report(drink) for drink in ["tea", "tea", "coffee"]]
        >>> len(poll.aggregator().add(reports).estimate().counts)
        2

    Reference: Kairouz, Bonawitz, Ramage, Discrete Distribution Estimation under Local Privacy.
    """

    @property
    def coin(self) -> RandomizedResponse:
        """The mechanism that draws one report."""
        return RandomizedResponse(epsilon=self.epsilon, k=self.domain.size)

    @property
    def guarantee(self) -> Guarantee:
        """The exact law of a report."""
        return self.coin.guarantee

    @property
    def support(self) -> Chances:
        """Truth and lie."""
        return self.coin.truth, self.coin.lie

    @property
    def width(self) -> int:
        """One to four bytes: the number of a value."""
        return protocol.octets_for(self.domain.size - 1)

    @property
    def shape(self) -> tuple[int, ...]:
        """A count for each value."""
        return (self.domain.size,)

    def randomize(self, codes: NDArray[Any]) -> Octets:
        """The truth or a lie."""
        return protocol.as_octets(np.asarray(self.coin.release(codes)), self.width)

    def is_valid(self, rows: Octets) -> NDArray[np.bool_]:
        """Values that exist."""
        return protocol.as_numbers(rows) < self.domain.size

    def tally(self, rows: Octets, sums: protocol.Statistic) -> None:
        """How often each value was reported."""
        protocol.count_into(sums, protocol.as_numbers(rows))

    def supporters(self, statistic: protocol.Statistic, n: int) -> NDArray[Any]:
        """The counts themselves."""
        return statistic

    def law(self, value: Any) -> Law | None:
        """Truth for the own value, lie for all others."""
        if self.domain.size > 64:
            return None
        own, (truth, lie) = int(self.read(value)[0]), self.support
        return small_law({v: truth if v == own else lie for v in range(self.domain.size)})
