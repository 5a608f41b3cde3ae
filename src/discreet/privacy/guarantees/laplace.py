"""Laplace noise: the loss is spread between -epsilon and epsilon."""

from dataclasses import dataclass
from fractions import Fraction

from discreet.privacy.guarantees.guarantee import Guarantee, fill, people, stored_as
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.numerics import shapes
from discreet.privacy.numerics.moments import Direction
from discreet.privacy.numerics.rounding import Bound, Interval, Number
from discreet.rationals import Real, positive


@stored_as("laplace-noise/1")
@dataclass(frozen=True, slots=True, init=False)
class LaplaceNoise(Guarantee):
    """Laplace noise of scale sensitivity/epsilon.

    Guarantee:
        The pair is exactly the two Laplace laws a sensitivity apart: epsilon-differential privacy,
        and less once composed. On a grid, whose steps can only help, see `DiscreteLaplaceNoise`.
    Why:
        delta(x) = 1 - e^((x - epsilon)/2). M is entire in u^2 with negative zeros only, so log M is
        concave in u^2 and below its tangent at order 1: rho = epsilon + e^-epsilon - 1.

    Example:
        >>> LaplaceNoise(1).epsilon(0).upper, LaplaceNoise(1).delta(1).upper
        (1.0, 0.0)

    Reference: Harrison, Manurangsi, Exact zCDP Characterizations for Fundamental Differentially
    Private Mechanisms (the rho of Laplace noise).
    """

    epsilon0: Fraction

    def __init__(self, epsilon: Real, *, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> None:
        fill(self, epsilon0=positive(epsilon, "epsilon"), neighbours=neighbours)

    def rho(self) -> Bound:
        """Rho = epsilon + e^-epsilon - 1."""
        e = Interval.of(self.epsilon0)
        return (e + (-e).expm1()).bound("laplace")

    def group(self, k: int) -> "LaplaceNoise":
        """K people move the answer k times as far."""
        return LaplaceNoise(people(k) * self.epsilon0, neighbours=self.neighbours)

    def log_mgf(self, order: Number, direction: Direction = Direction.REMOVE) -> Interval:
        """S epsilon + log(1 - (1 - e^(-2u epsilon)) (1/2 - 1/(4u))), u = s + 1/2."""
        s, e = Interval.of(order), Interval.of(self.epsilon0)
        twice = s * 2 + 1
        return s * e + ((twice * -e).expm1() * (Fraction(1, 2) - 1 / (twice * 2))).log1p()

    def closed_form(self) -> tuple[shapes.Shape, float]:
        """Laplace."""
        return shapes.LAPLACE, float(self.epsilon0)

    def _delta(self, epsilon: Fraction) -> Bound:
        if epsilon >= self.epsilon0:
            return Bound(0.0, 0.0, "laplace")
        return (-Interval.of((epsilon - self.epsilon0) / 2).expm1()).bound("laplace")

    def _epsilon(self, delta: Fraction) -> Bound:
        return (self.epsilon0 + Interval.of(-delta).log1p() * 2).bound("laplace")
