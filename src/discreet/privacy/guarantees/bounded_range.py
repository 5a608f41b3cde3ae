"""The exponential mechanism: losses whose range, not size, is bounded; and many of them."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from discreet.privacy.guarantees.guarantee import OneParameter, stored_as
from discreet.privacy.guarantees.zcdp import ZCDP
from discreet.privacy.numerics import shapes
from discreet.privacy.numerics.moments import Direction
from discreet.privacy.numerics.rounding import Bound, Interval, Number


@stored_as("bounded-range/1")
@dataclass(frozen=True, slots=True, init=False)
class BoundedRange(OneParameter):
    """epsilon-bounded range, as the exponential mechanism has it.

    Guarantee:
        For neighbours, the losses of any two outcomes differ by at most epsilon. The exponential
        mechanism with weights e^(epsilon score/(2 sensitivity)) is of this kind, and with
        e^(epsilon score/sensitivity) when scores move one way only. Permute-and-flip, noisy max
        and sparse vector are not: charge them as `Pure`.
    Why:
        The worst losses are t and t - epsilon for some t in [0, epsilon]. The profile is their
        envelope, delta(x) = (e^(epsilon/2) - e^(x/2))^2/(e^epsilon - 1), whose own loss has M(s) =
        sinh(u epsilon)/(2u sinh(epsilon/2)). Moments at a real order are those of the worst t,
        found in closed form; they are at most s (s + 1) epsilon^2/8 and beat the envelope's.

    Example:
        >>> BoundedRange(1).rho().upper, BoundedRange(1).epsilon(0).upper
        (0.125, 1.0)

    Reference: Dong, Durfee, Rogers, Optimal Differential Privacy Composition for Exponential
    Mechanisms (the worst pair of bounded range); Cesar, Rogers, Bounding, Concentrating, and
    Truncating (bounded range implies concentration).
    """

    shape: ClassVar = shapes.BOUNDED_RANGE

    def rho(self) -> Bound:
        """Rho = epsilon^2/8."""
        return Interval.of(self.epsilon0 * self.epsilon0 / 8).bound("bounded range")

    def log_mgf(self, order: Number, direction: Direction = Direction.REMOVE) -> Interval:
        """The moment of the worst pair of losses t, t - epsilon at this order."""
        s, e = Interval.of(order), Interval.of(self.epsilon0)
        # e^t = s (e^epsilon - e^(-s epsilon)) / ((s + 1)(1 - e^(-s epsilon))) is where it peaks;
        # with x = e^(t - epsilon): M = e^(s t) (1 - x + (x - e^-epsilon) e^(-s epsilon))/(1 -
        # e^-epsilon).
        fall, floor = (-(s * e)).expm1(), (-e).expm1()
        x = s * (-((s + 1) * e)).expm1() / ((s + 1) * fall)
        t = e + x.log()
        weight = -(x - 1 - (x - 1 - floor) * (fall + 1)) / -floor
        return (s * t + weight.log()).meet(s * (s + 1) * (self.epsilon0 * self.epsilon0 / 8))

    def _delta(self, epsilon: Fraction) -> Bound:
        if epsilon >= self.epsilon0:
            return Bound(0.0, 0.0, "bounded range")
        gap = Interval.of((epsilon - self.epsilon0) / 2).expm1()
        share = gap.square() / -Interval.of(-self.epsilon0).expm1()
        return share.bound("bounded range", at_most=1.0)

    def _epsilon(self, delta: Fraction) -> Bound:
        root = (-Interval.of(-self.epsilon0).expm1() * delta).sqrt()
        return (self.epsilon0 + (-root).log1p() * 2).bound("bounded range")


@stored_as("ranges/1")
@dataclass(frozen=True, slots=True, init=False)
class Ranges(ZCDP):
    """Bounded-range mechanisms, the squares of whose ranges add up to at most 8 rho.

    Guarantee:
        rho-zCDP, and Gaussian privacy with mu^2 = pi rho. One person may be in many groups, each of
        which has a choice of its own; only the sum of squares of what they move is bounded.
    Why:
        A range of r is r^2/8-zCDP. Its worst pair is a coin with chances p and q, logit(p) -
        logit(q) = r, and a coin is below the curve of mu = probit(p) - probit(q). The derivative of
        the probit by the logit, p (1 - p)/phi(probit(p)), is at most sqrt(2 pi)/4, its value at p =
        1/2. So mu^2 <= pi r^2/8, and both kinds add up.
    Edge cases:
        rho = 0 gives nothing away. With a delta it is all this except with that probability.

    Example:
        >>> Ranges(0.5).rho().upper
        0.5

    Reference: Cesar, Rogers, Bounding, Concentrating, and Truncating (bounded range implies
    concentration); `docs/explanation/proofs/gaussian-accounts.md`.
    """
