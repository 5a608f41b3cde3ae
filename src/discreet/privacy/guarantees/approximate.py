"""Approximate differential privacy: pure but for a probability delta."""

from dataclasses import dataclass
from fractions import Fraction

from discreet.privacy.guarantees.guarantee import Guarantee, fill, people, stored_as
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.guarantees.pure import (
    two_point_atoms,
    two_point_delta,
    two_point_epsilon,
    two_point_log_mgf,
)
from discreet.privacy.numerics import shapes
from discreet.privacy.numerics.moments import Atoms, Direction, Moments, OrderLine
from discreet.privacy.numerics.rounding import UNIT, Bound, Interval, Number
from discreet.rationals import Real, non_negative, probability


@stored_as("approximate/1")
@dataclass(frozen=True, slots=True, init=False)
class Approximate(Guarantee):
    """(epsilon, delta)-differential privacy and nothing more.

    Guarantee:
        P(S) <= e^epsilon Q(S) + delta for every set S of outcomes, and the same with P, Q swapped.
    Why:
        The worst such mechanism gives everything away with probability delta and is randomized
        response otherwise; the loss is infinite with probability delta.
    Edge cases:
        delta = 0 is pure; delta = 1 promises nothing.

    Example:
        >>> Approximate(1, 0.25).delta(1).upper, Approximate(1, 0.25).epsilon(0.25).upper
        (0.25, 1.0)

    Reference: Kairouz, Oh, Viswanath, The Composition Theorem for Differential Privacy, proof of
    Theorem 3.3 (the mechanism that dominates all others).
    """

    epsilon0: Fraction
    delta0: Fraction

    def __init__(
        self, epsilon: Real, delta: Real, *, neighbours: Neighbours = Neighbours.ADD_REMOVE
    ) -> None:
        fill(
            self,
            epsilon0=non_negative(epsilon, "epsilon"),
            delta0=probability(delta, "delta"),
            neighbours=neighbours,
        )

    def group(self, k: int) -> "Approximate":
        """K people cost k epsilon and delta (e^(k epsilon) - 1)/(e^epsilon - 1)."""
        e, d = group_parameters(self.epsilon0, self.delta0, people(k))
        return Approximate(e, d, neighbours=self.neighbours)

    def infinity(self, direction: Direction = Direction.REMOVE) -> Interval:
        """Delta."""
        return Interval.of(self.delta0)

    def log_mgf(self, order: Number, direction: Direction = Direction.REMOVE) -> Interval:
        """That of randomized response, times 1 - delta."""
        return two_point_log_mgf(self.epsilon0, order) + Interval.of(-self.delta0).log1p()

    def closed_form(self) -> tuple[shapes.Shape, float]:
        """Two point."""
        return shapes.TWO_POINT, float(self.epsilon0)

    def moments(self, line: OrderLine, direction: Direction = Direction.REMOVE) -> Moments | None:
        """Those of randomized response, times 1 - delta."""
        if self.delta0 == 1:
            return None
        bare = shapes.single(shapes.TWO_POINT, float(self.epsilon0), line)
        lost = Interval.of(-self.delta0).log1p()
        error = bare.log_error + lost.upper - lost.lower + abs(lost.lower) * UNIT
        return Moments(bare.log_scale + lost.lower, error, bare.phi, bare.error)

    def atoms(self, direction: Direction = Direction.REMOVE) -> Atoms:
        """Plus and minus epsilon, sharing 1 - delta."""
        pure = two_point_atoms(self.epsilon0)
        rest = Interval.of(1 - self.delta0)
        return Atoms(pure.losses, tuple(p * rest for p in pure.probabilities))

    def _delta(self, epsilon: Fraction) -> Bound:
        rest = Interval.of(1 - self.delta0)
        inner = two_point_delta(self.epsilon0, epsilon)
        return (self.delta0 + rest * inner).bound("approximate", at_most=1.0)

    def _epsilon(self, delta: Fraction) -> Bound:
        if delta < self.delta0:
            return Bound(float("inf"), float("inf"), "approximate")
        if delta == self.delta0:
            return Interval.of(self.epsilon0).bound("approximate")
        left = Interval.of((delta - self.delta0) / (1 - self.delta0))
        return two_point_epsilon(self.epsilon0, left).bound("approximate")


def group_parameters(epsilon: Fraction, delta: Fraction, k: int) -> tuple[Fraction, Fraction]:
    """(epsilon, delta) for k people: (k epsilon, delta (1 + e^epsilon + ... + e^((k-1) epsilon))).

    The delta is rounded up to a double, and to 1 where the sum exceeds it.
    """
    if delta == 0 or k == 1:
        return k * epsilon, delta
    e = Interval.of(epsilon)
    grown = (e * k).expm1() / e.expm1() * delta if epsilon else Interval.of(k * delta)
    return k * epsilon, min(Fraction(1), Fraction(min(grown.upper, 2.0)))
