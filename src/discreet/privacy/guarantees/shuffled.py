"""Privacy amplification by shuffling: many local reports, their senders forgotten."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from discreet.errors import InputError
from discreet.privacy.guarantees import clones
from discreet.privacy.guarantees.guarantee import GroupPrivacy, Guarantee, fill, people, stored_as
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.guarantees.pure import Pure, two_point_log_mgf
from discreet.privacy.guarantees.randomized_response import RandomizedResponseNoise
from discreet.privacy.guarantees.response_counts import ResponseCounts, lies, splits, widest_needed
from discreet.privacy.guarantees.uniform_reports import UniformReports
from discreet.privacy.numerics.moments import Direction
from discreet.privacy.numerics.rounding import Bound, Interval, Number
from discreet.rationals import Real, positive, whole

_METHOD = "clones"
_RESPONSE = "shuffled randomized response"
_FINE = 1e-6
_LEAST = 1e-320
_WIDEST = 40.0
_MOST = 10**8
"""Up to this many people counts are enumerated; a larger crowd is charged as this many where that
is less than hiding among clones."""

_HUGE = 300
"""Reports that lie less often than e^-300 hide nobody; their laws leave the range of doubles."""


@stored_as("shuffled/1")
@dataclass(frozen=True, slots=True, init=False)
class Shuffled(Guarantee):
    """n people each send one epsilon-private report; a shuffler hides who sent which.

    Guarantee:
        `upper` holds for every local randomizer that is epsilon-private by itself. It also holds
        when the data are shuffled first and the randomizers are applied one after the other, each
        chosen from the reports before it. `lower` is the loss of the counts of binary randomized
        responses if all others hold the same value: the best possible figure for all randomizers
        lies between. Above 10^8 people `lower` is 0.
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
        _, lie = lies(Interval.of(min(self.epsilon0, Fraction(_HUGE))))
        crowd = ResponseCounts(0, self.n - 1, lie, widest_needed(delta))
        return lambda epsilon: crowd.divergence(epsilon)[0]


@lru_cache(maxsize=4096)
def _log_moment(n: int, epsilon: Fraction, order: float) -> float:
    return clones.log_moment(n, Interval.of(epsilon), order)


def _spread(delta: float) -> float:
    """Standard deviations after which the crowd's law is negligible against delta."""
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


@stored_as("shuffled-randomized-response/1")
@dataclass(frozen=True, slots=True, init=False)
class ShuffledRandomizedResponse(Shuffled):
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

    k: int

    def __init__(
        self, epsilon: Real, n: int, k: int = 2, *, neighbours: Neighbours = Neighbours.CHANGE_ONE
    ) -> None:
        Shuffled.__init__(self, epsilon, n, neighbours=neighbours)
        fill(self, k=whole(k, "k", at_least=2))

    def group(self, k: int) -> Guarantee:
        """K reports at once, as any reports."""
        return self if people(k) == 1 else Shuffled(self.epsilon0, self.n).group(k)

    def _delta(self, epsilon: Fraction) -> Bound:
        any_report = Shuffled(self.epsilon0, self.n).delta(epsilon)
        if epsilon >= self.epsilon0 or self._hides_nobody:
            return any_report if self.k == 2 else self._alone.delta(epsilon)
        asked = Interval.of(epsilon)
        if self.k > 2:
            upper = any_report.upper
            for _ in range(2):
                crowd = self._uniform(upper)
                upper = min(upper, crowd.divergence(asked))
            return Bound(0.0, upper, _RESPONSE)
        lower = any_report.lower
        near = lower if self.n <= _MOST else any_report.upper
        upper = max(one.divergence(asked)[1] for one in self._crowds(near))
        return Bound(lower, min(max(lower, upper), any_report.upper), _RESPONSE)

    def _epsilon(self, delta: Fraction) -> Bound:
        any_report = Shuffled(self.epsilon0, self.n).epsilon(delta)
        if delta == 0 or self._hides_nobody:
            return any_report if self.k == 2 else self._alone.epsilon(delta)
        target, own = Interval.of(delta), any_report.upper
        if self.k > 2:
            crowd = self._uniform(target.lower)
            return Bound(0.0, first_below(crowd.divergence, target.lower, own, _FINE), _RESPONSE)
        upper = 0.0
        for one in self._crowds(target.lower):
            if upper < own and one.divergence(Interval.of(upper))[1] > target.lower:
                profile = _upper_end(one)
                upper = first_below(profile, target.lower, own, _FINE)
        return Bound(min(any_report.lower, upper), upper, _RESPONSE)

    @property
    def _hides_nobody(self) -> bool:
        return self.n == 1 or self.epsilon0 > _HUGE

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
