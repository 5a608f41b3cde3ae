"""Shuffled randomized response: the counts of the answers, and who gave which forgotten."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from discreet.privacy.guarantees.guarantee import Guarantee, fill, people, stored_as
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.guarantees.randomized_response import RandomizedResponseNoise
from discreet.privacy.guarantees.response_counts import ResponseCounts, lies, splits, widest_needed
from discreet.privacy.guarantees.shuffled import HUGE, Shuffled, first_below
from discreet.privacy.guarantees.uniform_reports import UniformReports
from discreet.privacy.numerics.moments import Direction
from discreet.privacy.numerics.rounding import Bound, Interval, Number
from discreet.rationals import Real, whole

_METHOD: Final = "shuffled randomized response"
_FINE: Final = 1e-6
_MOST: Final = 10**8
"""A larger crowd is charged as this many people where that is less than hiding among clones."""


@stored_as("shuffled-randomized-response/1")
@dataclass(frozen=True, slots=True, init=False)
class ShuffledRandomizedResponse(Guarantee):
    """n people each send one randomized response over k answers; a shuffler hides who sent which.

    Guarantee:
        `upper` holds whatever the others hold, and is at most that of `Shuffled`, which allows for
        any local randomizer. For two answers and up to 100 people it is exact, but for epsilons
        next to that of a report; above, the crowd is charged as up to 1 % smaller. For three
        answers and more the attacker is told which of the others' reports are true, which helps
        little: where somebody holds none of the two answers in question, it is what the counts of
        these two give away as n grows.
    Neighbours:
        One person's answer is replaced; see `Shuffled`.
    Why:
        See `response_counts` for two answers and `uniform_reports` for more.
    Edge cases:
        Alone, or from an epsilon of 300 on, a report has its own guarantee, and delta = 0 leaves
        epsilon as it is. Compositions, groups and `rho` are those of `Shuffled`. Above 10^8 people
        `lower` is 0.

    Example:
        >>> reports = Shuffled(2, 10_000), ShuffledRandomizedResponse(2, 10_000)
        >>> [round(one.epsilon(1e-6).upper, 3) for one in reports]
        [0.155, 0.087]

    Reference: Balle, Bell, Gascon, Nissim, The Privacy Blanket of the Shuffle Model (arXiv
    1903.02837; uniform reports hide the attacked one); Warner 1965 for the report itself.
    """

    epsilon0: Fraction
    n: int
    k: int
    neighbours: Neighbours = field(default=Neighbours.CHANGE_ONE, kw_only=True)

    def __init__(
        self, epsilon: Real, n: int, k: int = 2, *, neighbours: Neighbours = Neighbours.CHANGE_ONE
    ) -> None:
        any_report = Shuffled(epsilon, n, neighbours=neighbours)
        fill(
            self,
            epsilon0=any_report.epsilon0,
            n=any_report.n,
            k=whole(k, "k", at_least=2),
            neighbours=neighbours,
        )

    def group(self, k: int) -> Guarantee:
        """K reports at once, as any reports."""
        return self if people(k) == 1 else self._any_report.group(k)

    def rho(self) -> Bound:
        """Upper bound: the rho of the report itself."""
        return self._any_report.rho()

    def log_mgf(self, order: Number, direction: Direction = Direction.REMOVE) -> Interval:
        """Upper bound: that of the clones, or of the report itself."""
        return self._any_report.log_mgf(order, direction)

    @property
    def _any_report(self) -> Shuffled:
        return Shuffled(self.epsilon0, self.n)

    def _delta(self, epsilon: Fraction) -> Bound:
        any_report = self._any_report.delta(epsilon)
        if epsilon >= self.epsilon0 or self._hides_nobody:
            return any_report if self.k == 2 else self._alone.delta(epsilon)
        asked = Interval.of(epsilon)
        if self.k > 2:
            upper = any_report.upper
            for _ in range(2):
                crowd = self._uniform(upper)
                upper = min(upper, crowd.divergence(asked))
            return Bound(0.0, upper, _METHOD)
        lower = any_report.lower
        near = lower if self.n <= _MOST else any_report.upper
        upper = max(one.divergence(asked)[1] for one in self._crowds(near))
        return Bound(lower, min(max(lower, upper), any_report.upper), _METHOD)

    def _epsilon(self, delta: Fraction) -> Bound:
        any_report = self._any_report.epsilon(delta)
        if delta == 0 or self._hides_nobody:
            return any_report if self.k == 2 else self._alone.epsilon(delta)
        target, own = Interval.of(delta), any_report.upper
        if self.k > 2:
            crowd = self._uniform(target.lower)
            return Bound(0.0, first_below(crowd.divergence, target.lower, own, _FINE), _METHOD)
        upper = 0.0
        for one in self._crowds(target.lower):
            if upper < own and one.divergence(Interval.of(upper))[1] > target.lower:
                profile = _upper_end(one)
                upper = first_below(profile, target.lower, own, _FINE)
        return Bound(min(any_report.lower, upper), upper, _METHOD)

    @property
    def _hides_nobody(self) -> bool:
        return self.n == 1 or self.epsilon0 > HUGE

    @property
    def _alone(self) -> RandomizedResponseNoise:
        return RandomizedResponseNoise(self.epsilon0, self.k, neighbours=self.neighbours)

    def _crowds(self, delta: float) -> Iterator[ResponseCounts]:
        lie, _ = lies(Interval.of(self.epsilon0))
        for no, yes in splits(min(self.n, _MOST) - 1):
            yield ResponseCounts(no, yes, lie, widest_needed(delta))

    def _uniform(self, delta: float) -> UniformReports:
        local = Interval.of(self.epsilon0)
        return UniformReports.among(min(self.n, _MOST) - 1, self.k, local, widest_needed(delta))


def _upper_end(crowd: ResponseCounts) -> Callable[[Interval], float]:
    return lambda epsilon: crowd.divergence(epsilon)[1]
