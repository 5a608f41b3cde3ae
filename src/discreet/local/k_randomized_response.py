"""k-ary randomized response: the value itself, or any other."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local import protocol
from discreet.local.frequency import Chances, FrequencyProtocol, small_law
from discreet.local.reports import Octets
from discreet.mechanisms.mechanism import Law
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy import Guarantee


@protocol.stored_as("k-randomized-response/1")
@dataclass(frozen=True, kw_only=True)
class KRandomizedResponse(FrequencyProtocol):
    """Report the own value with probability e^epsilon/(e^epsilon + k - 1), else one of the others.

    Guarantee: that of `dp.RandomizedResponse`, which draws the reports. The most accurate protocol
    where k < 3 e^epsilon + 2; its variance grows with k, as that of the others does not.

    Example:
        >>> KRandomizedResponse(epsilon=1, domain=10).width
        1

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
