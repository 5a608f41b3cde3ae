"""Privacy amplification by shuffling: many local reports, their senders forgotten."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from discreet.errors import InputError
from discreet.privacy.guarantees import clones
from discreet.privacy.guarantees.guarantee import GroupPrivacy, Guarantee, fill, people, stored_as
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.guarantees.pure import Pure, two_point_log_mgf
from discreet.privacy.guarantees.response_counts import ResponseCounts, lies, widest_needed
from discreet.privacy.numerics.moments import Direction
from discreet.privacy.numerics.rounding import Bound, Interval, Number
from discreet.rationals import Real, positive, whole

_METHOD = "clones"
_LEAST = 1e-320
_WIDEST = 40.0
_MOST = 10**8

HUGE = 300
"""Reports that lie less often than e^-300 hide nobody; their laws leave the range of doubles."""


@stored_as("shuffled/1")
@dataclass(frozen=True, slots=True, init=False)
class Shuffled(Guarantee):
    """n people each send one epsilon-private report; a shuffler hides who sent which.

    Guarantee:
        `upper` holds for every local randomizer that is epsilon-private by itself. It also holds
        when the data are shuffled first and the randomizers are applied one after the other,
        each chosen from the reports before it. `lower` is what the counts of binary randomized
        responses give away where all others hold the same: the best possible figure for all
        randomizers lies between. Above 10^8 people `lower` is 0.
    Neighbours:
        One person's data is replaced. Adding a person changes the number of reports, which a
        shuffler shows, so there is no add/remove guarantee.
    Why:
        Every report is a clone of the attacked one with probability e^-epsilon, and clones are
        indistinguishable after the shuffle; the divergence of the resulting pair of counts is
        summed directly, with every rounding and every truncation on the safe side.
    Edge cases:
        Where shuffling does not help (one person, or few people and a large epsilon) the answer
        is the report's own guarantee. Above 10^9 people are charged as 10^9. The sharper 2023 bound
        is not used: by its erratum (arXiv 2208.04591) it holds for some randomizers only.
        Compositions add Renyi moments of the same pair.

    Example:
        >>> round(Shuffled(1, 10_000).epsilon(1e-6).upper, 5)
        0.05301

    Reference: Feldman, McMillan, Talwar, Hiding Among the Clones (arXiv 2012.12803; the
    reduction to clones).
    """

    epsilon0: Fraction
    n: int
    neighbours: Neighbours = field(default=Neighbours.CHANGE_ONE, kw_only=True)

    def __init__(
        self, epsilon: Real, n: int, *, neighbours: Neighbours = Neighbours.CHANGE_ONE
    ) -> None:
        if Neighbours(neighbours) is not Neighbours.CHANGE_ONE:
            raise InputError(
                "shuffled reports under add/remove",
                why="the shuffler shows how many reports there are",
                fix="use Neighbours.CHANGE_ONE",
            )
        local, size = positive(epsilon, "epsilon"), whole(n, "n", at_least=1)
        fill(self, epsilon0=local, n=size, neighbours=neighbours)

    def group(self, k: int) -> Guarantee:
        """K reports at once, from the profile."""
        return self if people(k) == 1 else GroupPrivacy(self, k)

    def rho(self) -> Bound:
        """Upper bound: the rho of the report itself."""
        return Bound(0.0, Pure(self.epsilon0).rho().upper, "pure to zcdp")

    def log_mgf(self, order: Number, direction: Direction = Direction.REMOVE) -> Interval:
        """Upper bound: that of the clones, or of the report itself."""
        own = two_point_log_mgf(self.epsilon0, order)
        return Interval.between(0, min(own.upper, self._log_moment(Interval.of(order).upper)))

    def _log_moment(self, order: float) -> float:
        return _log_moment(self.n, self.epsilon0, order)

    @property
    def _local(self) -> Interval:
        return Interval.of(self.epsilon0)

    def _delta(self, epsilon: Fraction) -> Bound:
        if epsilon >= self.epsilon0:
            return Bound(0.0, 0.0, "pure")
        asked = Interval.of(epsilon)
        upper, spread = 1.0, 12.0
        while spread <= _WIDEST:
            crowd = clones.clone_counts(self.n, self._local, spread)
            upper = min(upper, clones.divergence(crowd, self._local, asked))
            spread = spread * 1.7 if crowd.none > upper * 1e-3 else math.inf
        return Bound(min(self._witness(0.0)(asked), upper), upper, _METHOD)

    def _epsilon(self, delta: Fraction) -> Bound:
        own = Pure(self.epsilon0).epsilon(delta).upper
        if delta == 0:
            return Bound(own, own, "pure")
        target = Interval.of(delta)
        crowd = clones.clone_counts(self.n, self._local, _spread(target.lower))
        upper = first_below(lambda e: clones.divergence(crowd, self._local, e), target.lower, own)
        lower = last_above(self._witness(target.lower), target.upper, own)
        return Bound(min(lower, upper), upper, _METHOD)

    def _witness(self, delta: float) -> Callable[[Interval], float]:
        """Lower bound on delta(epsilon), as far as it is not far below `delta`."""
        if self.n > _MOST:
            return lambda _: 0.0
        _, lie = lies(Interval.of(min(self.epsilon0, Fraction(HUGE))))
        crowd = ResponseCounts(0, self.n - 1, lie, widest_needed(delta))
        return lambda epsilon: crowd.divergence(epsilon)[0]


@lru_cache(maxsize=4096)
def _log_moment(n: int, epsilon: Fraction, order: float) -> float:
    return clones.log_moment(n, Interval.of(epsilon), order)


def _spread(delta: float) -> float:
    """Standard deviations after which the crowd's law is negligible beside delta."""
    return math.sqrt(-2 * math.log(delta)) + 5 if delta > _LEAST else _WIDEST


def first_below(
    profile: Callable[[Interval], float], delta: float, own: float, fine: float = 1e-9
) -> float:
    """The smallest epsilon found with profile(epsilon) <= delta, at most `own`."""
    if profile(Interval.of(0)) <= delta:
        return 0.0
    return _narrow(lambda e: profile(Interval.of(e)) - delta, own, fine)[1]


def last_above(
    profile: Callable[[Interval], float], delta: float, own: float, fine: float = 1e-9
) -> float:
    """The largest epsilon found with profile(epsilon) > delta, or 0."""
    return _narrow(lambda e: profile(Interval.of(e)) - delta, own, fine)[0]


def _narrow(excess: Callable[[float], float], high: float, fine: float) -> tuple[float, float]:
    """Bisect for the change of sign of a falling function between 0 and `high`."""
    low = 0.0
    while high - low > fine * high:
        middle = (
            (low + high) / 2 if low > high / 4 else max(low, high * 2.0**-40) ** 0.5 * high**0.5
        )
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return low, high
