"""Group privacy from the profile alone, for guarantees without a closed form for groups."""

from dataclasses import dataclass
from fractions import Fraction

from discreet.privacy.guarantees.guarantee import Guarantee, fill, people, stored_as
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.numerics.moments import Direction
from discreet.privacy.numerics.rounding import Bound, Interval, Number

_SHARES = 4
"""Epsilons at which the bound of a group is tried."""


@stored_as("grouped/1")
@dataclass(frozen=True, slots=True, init=False)
class GroupPrivacy(Guarantee):
    """A guarantee for one person, read as one for k people.

    Guarantee:
        delta_k(epsilon) = delta(epsilon/k) (e^epsilon - 1)/(e^(epsilon/k) - 1), at most 1.
    Why:
        (epsilon, delta) holds between each of the k steps from one dataset to the other, and each
        step multiplies by e^epsilon and adds delta.
    Edge cases:
        Renyi moments of a group are not bounded by those of one person; `rdp` is infinite, and a
        composition uses the (epsilon, delta) profile.

    Reference: Vadhan, The Complexity of Differential Privacy (group privacy).
    """

    guarantee: Guarantee
    k: int

    def __init__(
        self, guarantee: Guarantee, k: int, *, neighbours: Neighbours | None = None
    ) -> None:
        about = guarantee.neighbours if neighbours is None else neighbours
        fill(self, guarantee=guarantee, k=people(k), neighbours=about)

    def group(self, k: int) -> "GroupPrivacy":
        """A group of groups."""
        return GroupPrivacy(self.guarantee, people(k) * self.k, neighbours=self.neighbours)

    def log_mgf(self, order: Number, direction: Direction = Direction.REMOVE) -> Interval:
        """Unbounded."""
        return Interval.between(0, float("inf"))

    def _delta(self, epsilon: Fraction) -> Bound:
        below = self.guarantee.delta(epsilon)
        # The bound is not monotone in epsilon but delta is, so any smaller epsilon's bound holds
        # too, and that of 0 always.
        above = min(self._chained(epsilon * share / _SHARES) for share in range(_SHARES + 1))
        return Bound(below.lower, max(below.lower, min(above, 1.0)), f"group of {self.k}")

    def _chained(self, epsilon: Fraction) -> float:
        """Delta after k steps of (epsilon/k, delta)."""
        each = epsilon / self.k
        e = Interval.of(epsilon)
        grown = e.expm1() / Interval.of(each).expm1() if epsilon else Interval.of(self.k)
        return (grown * self.guarantee.delta(each).upper).upper
