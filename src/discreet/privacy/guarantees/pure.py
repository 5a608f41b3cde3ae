"""Pure and approximate differential privacy: losses up to epsilon, but for a probability delta."""

from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import ClassVar

from discreet.privacy.guarantees.guarantee import Guarantee, OneParameter, fill, people, stored_as
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.numerics import shapes
from discreet.privacy.numerics.moments import Atoms, Direction, Moments, OrderLine
from discreet.privacy.numerics.rounding import UNIT, Bound, Interval, Number
from discreet.rationals import Real, non_negative, probability


@stored_as("pure/1")
@dataclass(frozen=True, slots=True, init=False)
class Pure(OneParameter):
    """No outcome is more than e^epsilon times likelier on one neighbour than on the other.

    Guarantee:
        (epsilon, 0)-differential privacy, and nothing more: permute-and-flip, noisy max and sparse
        vector are charged with this, and so with rho = epsilon tanh(epsilon/2).
    Why:
        Randomized response dominates every such mechanism, so its loss +-epsilon, the upper with
        probability e^epsilon/(1 + e^epsilon), is the worst: log M(s) = log cosh(u epsilon) - log
        cosh(epsilon/2) with u = s + 1/2. In w = u^2 this is concave (tanh(x)/x falls), so it is
        below its tangent at w = 1/4, whose slope is rho = epsilon tanh(epsilon/2) <= epsilon^2/2.
    Edge cases:
        epsilon = 0 gives nothing away at all.

    Example:
        >>> Pure(0.5).group(3).epsilon(0).upper, Pure(0.5).epsilon(0).upper
        (1.5, 0.5)

    Reference: Kairouz, Oh, Viswanath, The Composition Theorem for Differential Privacy, proof
    of Theorem 3.3.
    """

    shape: ClassVar = shapes.TWO_POINT

    def __init__(self, epsilon: Real, *, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> None:
        fill(self, epsilon0=non_negative(epsilon, "epsilon"), neighbours=neighbours)

    def rho(self) -> Bound:
        """Rho = epsilon tanh(epsilon/2), reached as the order falls to 1."""
        e = Interval.of(self.epsilon0)
        return (e * (e / 2).tanh()).bound("pure to zcdp")

    def log_mgf(self, order: Number, direction: Direction = Direction.REMOVE) -> Interval:
        """Log cosh(u epsilon) - log cosh(epsilon/2), u = order + 1/2."""
        return two_point_log_mgf(self.epsilon0, order)

    def atoms(self, direction: Direction = Direction.REMOVE) -> Atoms:
        """Plus and minus epsilon."""
        return two_point_atoms(self.epsilon0)

    def _delta(self, epsilon: Fraction) -> Bound:
        return two_point_delta(self.epsilon0, epsilon).bound("pure")

    def _epsilon(self, delta: Fraction) -> Bound:
        return two_point_epsilon(self.epsilon0, Interval.of(delta)).bound("pure")

    def _tradeoff(self, alpha: Fraction) -> float:
        e = Interval.of(self.epsilon0)
        first, second = 1 - e.exp() * alpha, (-e).exp() * (1 - alpha)
        return max(0.0, first.lower, second.lower)


def two_point_delta(own: Fraction, epsilon: Fraction) -> Interval:
    """Delta(epsilon) of a loss +-own: (1 - e^(epsilon - own))/(1 + e^-own), 0 from own on."""
    if epsilon >= own:
        return Interval.of(0)
    return -Interval.of(epsilon - own).expm1() / (1 + Interval.of(-own).exp())


def two_point_epsilon(own: Fraction, delta: Interval) -> Interval:
    """Epsilon(delta) of a loss +-own: own + log(1 - delta (1 + e^-own)), at least 0."""
    e = Interval.of(own)
    return (e + (-delta * (1 + (-e).exp())).log1p()).join(Interval.of(0))


def two_point_log_mgf(own: Fraction, order: Number) -> Interval:
    """Log M of a loss +-own."""
    e = Interval.of(own)
    return ((Interval.of(order) + Fraction(1, 2)) * e).log_cosh() - (e / 2).log_cosh()


def two_point_atoms(own: Fraction) -> Atoms:
    """The law of a loss +-own."""
    tail = Interval.of(-own).exp()
    if own == 0:
        return Atoms((own,), (Interval.of(1),))
    return Atoms((own, -own), (1 / (1 + tail), tail / (1 + tail)))


@stored_as("approximate/1")
@dataclass(frozen=True, slots=True, init=False)
class Approximate(Guarantee):
    """(epsilon, delta)-differential privacy and nothing more.

    Guarantee:
        P(S) <= e^epsilon Q(S) + delta for every set S of outcomes, and the same with P, Q swapped.
    Why:
        The worst such mechanism reveals everything with probability delta and is randomized
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
        """The moments of randomized response, times 1 - delta."""
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


def least_mu(epsilon: Fraction) -> Fraction:
    """A mu, close to the least, such that epsilon-privacy implies mu-Gaussian privacy.

    Why: the error curve of randomized response consists of two lines that meet at 1/(1 +
    e^epsilon); the convex curve of mu that passes through this point lies below both. Reference:
    Dong, Roth, Su, Gaussian Differential Privacy (trade-off functions are convex).
    """
    meeting = 1 / (1 + Interval.of(epsilon).exp())
    if not epsilon:
        return Fraction(0)
    z, step = -NormalDist().inv_cdf(max(meeting.lower, 1e-300)), 2.0**-52
    while Interval.of(z).normal_tail().hi > meeting.lo:
        z, step = z + step, step * 2
    return 2 * Fraction(z)
