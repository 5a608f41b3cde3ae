"""Randomized response over two or more answers."""

from dataclasses import dataclass
from fractions import Fraction
from math import exp, log1p

from discreet.privacy.guarantees.guarantee import Guarantee, fill, people, stored_as
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.guarantees.pure import Pure
from discreet.privacy.numerics import shapes
from discreet.privacy.numerics.moments import (
    Atoms,
    ComplexArray,
    Direction,
    Moments,
    OrderLine,
    unit,
)
from discreet.privacy.numerics.phases import phase_error, phases
from discreet.privacy.numerics.rounding import ELEMENTARY, UNIT, Bound, Interval, Number
from discreet.rationals import Real, positive, whole


@stored_as("randomized-response/1")
@dataclass(frozen=True, slots=True, init=False)
class RandomizedResponseNoise(Guarantee):
    """The true answer of k with probability e^epsilon/(e^epsilon + k - 1), else any of the others.

    Guarantee:
        The loss between two true answers is epsilon, -epsilon, or 0 for a third answer.
    Neighbours:
        The data is one person's answer; `neighbours` says how that person's presence is modelled in
        the composition this becomes part of.
    Why:
        M(s) = (e^(s epsilon) + e^(-(s + 1) epsilon) + (k - 2) e^-epsilon)/(1 + (k - 1) e^-epsilon).

    Example:
        >>> four, two = RandomizedResponseNoise(1, k=4), RandomizedResponseNoise(1)
        >>> four.delta(0).upper < two.delta(0).upper
        True

    Reference: Kairouz, Bonawitz, Ramage, Discrete Distribution Estimation under Local Privacy
    (k-ary randomized response).
    """

    epsilon0: Fraction
    k: int

    def __init__(
        self, epsilon: Real, k: int = 2, *, neighbours: Neighbours = Neighbours.ADD_REMOVE
    ) -> None:
        fill(
            self,
            epsilon0=positive(epsilon, "epsilon"),
            k=whole(k, "k", at_least=2),
            neighbours=neighbours,
        )

    def rho(self) -> Bound:
        """That of any epsilon-differentially private mechanism; exact for two answers."""
        return Pure(self.epsilon0).rho()

    def group(self, k: int) -> Guarantee:
        """K people, each with their own report, cost at most k epsilon."""
        if people(k) == 1:
            return self
        return Pure(people(k) * self.epsilon0, neighbours=self.neighbours)

    def log_mgf(self, order: Number, direction: Direction = Direction.REMOVE) -> Interval:
        """The log moment generating function in closed form."""
        s, e = Interval.of(order), Interval.of(self.epsilon0)
        rest = (-(s * 2 + 1) * e).exp() + (-(s + 1) * e).exp() * (self.k - 2)
        return s * e + rest.log1p() - ((-e).exp() * (self.k - 1)).log1p()

    def closed_form(self) -> tuple[shapes.Shape, float] | None:
        """Two point, in the smallest case."""
        return (shapes.TWO_POINT, float(self.epsilon0)) if self.k == 2 else None

    def moments(self, line: OrderLine, direction: Direction = Direction.REMOVE) -> Moments:
        """The moments in closed form."""
        e = float(self.epsilon0)
        if self.k == 2:
            return shapes.single(shapes.TWO_POINT, e, line)
        lam, others = line.lam, self.k - 1
        down, stay = exp(-(2 * lam + 1) * e), (others - 1) * exp(-(lam + 1) * e)
        scale = lam * e + log1p(down + stay) - log1p(others * exp(-e))
        # Exponents are rounded three times; 1 + positive terms keeps relative errors as they are.
        relative = ((2 * lam + 2) * e * 4 + 16) * UNIT
        log_error = 4 * relative + (abs(scale) + 2 * log1p(others)) * ELEMENTARY
        if line.size == 1:
            return Moments(scale, log_error, unit(line).phi, 0.0)
        z = phases(line.step * e, line.size)
        phi: ComplexArray = (z + down * z.conj() + stay) / (1 + down + stay)
        error = 2 * phase_error(line.step * e, line.size, 4 * UNIT) + 8 * relative
        return Moments(scale, log_error, phi, error)

    def atoms(self, direction: Direction = Direction.REMOVE) -> Atoms:
        """Epsilon, -epsilon and 0."""
        tail = Interval.of(-self.epsilon0).exp()
        whole_mass = 1 + tail * (self.k - 1)
        ends = (1 / whole_mass, tail / whole_mass)
        if self.k == 2:
            return Atoms((self.epsilon0, -self.epsilon0), ends)
        zero = (Fraction(0), tail * (self.k - 2) / whole_mass)
        return Atoms((self.epsilon0, -self.epsilon0, zero[0]), (*ends, zero[1]))

    def _delta(self, epsilon: Fraction) -> Bound:
        if epsilon >= self.epsilon0:
            return Bound(0.0, 0.0, "randomized response")
        top = 1 + Interval.of(-self.epsilon0).exp() * (self.k - 1)
        return (-Interval.of(epsilon - self.epsilon0).expm1() / top).bound("randomized response")

    def _epsilon(self, delta: Fraction) -> Bound:
        top = 1 + Interval.of(-self.epsilon0).exp() * (self.k - 1)
        return (self.epsilon0 + (-(top * delta)).log1p()).bound("randomized response")
