"""Laplace noise, continuous and on the integers: the loss is between -epsilon and epsilon."""

from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, log
from typing import ClassVar

import numpy as np

from discreet.privacy.guarantees.guarantee import Guarantee, OneParameter, fill, people, stored_as
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.numerics import shapes
from discreet.privacy.numerics.inversion import invert
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


@stored_as("laplace-noise/1")
@dataclass(frozen=True, slots=True, init=False)
class LaplaceNoise(OneParameter):
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

    shape: ClassVar = shapes.LAPLACE

    def rho(self) -> Bound:
        """Rho = epsilon + e^-epsilon - 1."""
        e = Interval.of(self.epsilon0)
        return (e + (-e).expm1()).bound("laplace")

    def log_mgf(self, order: Number, direction: Direction = Direction.REMOVE) -> Interval:
        """S epsilon + log(1 - (1 - e^(-2u epsilon)) (1/2 - 1/(4u))), u = s + 1/2."""
        s, e = Interval.of(order), Interval.of(self.epsilon0)
        twice = s * 2 + 1
        return s * e + ((twice * -e).expm1() * (Fraction(1, 2) - 1 / (twice * 2))).log1p()

    def _delta(self, epsilon: Fraction) -> Bound:
        if epsilon >= self.epsilon0:
            return Bound(0.0, 0.0, "laplace")
        return (-Interval.of((epsilon - self.epsilon0) / 2).expm1()).bound("laplace")

    def _epsilon(self, delta: Fraction) -> Bound:
        return (self.epsilon0 + Interval.of(-delta).log1p() * 2).bound("laplace")


_LISTED = 512
"""Steps up to which the loss is also offered as a list of atoms."""


@stored_as("discrete-laplace-noise/1")
@dataclass(frozen=True, slots=True, init=False)
class DiscreteLaplaceNoise(Guarantee):
    """Integer noise x with probability proportional to e^(-epsilon |x|/sensitivity).

    Guarantee:
        The pair is exactly two such laws `sensitivity` steps apart. One step gives randomized
        response; many steps approach continuous Laplace noise from the costly side.
    Why:
        With r = e^(-epsilon/sensitivity) and h = u epsilon/sensitivity, u = s + 1/2,
        M(s) = e^(-epsilon/2)/(1 + r) (2 cosh(u epsilon) + (1 - r) sinh((sensitivity - 1) h)/sinh
        h).
    Edge cases:
        A smaller true distance than `sensitivity` costs less, so the sensitivity may be an upper
        bound with epsilon scaled along.

    Example:
        >>> from discreet.privacy.guarantees.pure import Pure
        >>> DiscreteLaplaceNoise(1).delta(0).upper == Pure(1).delta(0).upper
        True
        >>> DiscreteLaplaceNoise(1, sensitivity=100).delta(0) < DiscreteLaplaceNoise(1).delta(0)
        True

    Reference: Ghosh, Roughgarden, Sundararajan, Universally Utility-Maximizing Privacy Mechanisms
    (the geometric mechanism).
    """

    epsilon0: Fraction
    sensitivity: int

    def __init__(
        self, epsilon: Real, sensitivity: int = 1, *, neighbours: Neighbours = Neighbours.ADD_REMOVE
    ) -> None:
        fill(
            self,
            epsilon0=positive(epsilon, "epsilon"),
            sensitivity=whole(sensitivity, "sensitivity", at_least=1),
            neighbours=neighbours,
        )

    def rho(self) -> Bound:
        """Epsilon - (1 - e^-epsilon) h/sinh(h), h = epsilon/sensitivity: the mean of the loss.

        Why: with u = s + 1/2, M(s) sinh(u h) is sinh((n + 1) u h) - r sinh((n - 1) u h) up to a
        factor, n the sensitivity. At imaginary u that is sin((n + 1) t) - r sin((n - 1) t), which
        changes sign as often as its first term, so all zeros of M in u are imaginary: M is a
        product of factors 1 + u^2/a^2 and log M is concave in u^2. It is 0 at s = 0, so that log M
        over s (s + 1) = u^2 - 1/4 is largest as s falls to 0.
        """
        e, h = Interval.of(self.epsilon0), Interval.of(self.epsilon0 / self.sensitivity)
        return (e + (-e).expm1() * (h / h.sinh())).bound("discrete laplace")

    def group(self, k: int) -> "DiscreteLaplaceNoise":
        """K people move the answer k times as far."""
        size = people(k)
        return DiscreteLaplaceNoise(
            size * self.epsilon0, size * self.sensitivity, neighbours=self.neighbours
        )

    def log_mgf(self, order: Number, direction: Direction = Direction.REMOVE) -> Interval:
        """The log moment generating function in closed form."""
        s, e = Interval.of(order), Interval.of(self.epsilon0)
        twice, step = s * 2 + 1, e / self.sensitivity
        # e^(-u epsilon) (2 cosh + ...): q^n = e^(-2 n h).
        middle = _powers_between(twice * step, self.sensitivity) * -(-step).expm1()
        inside = 1 + (-(twice * e)).exp() + middle
        return s * e + (inside / (1 + (-step).exp())).log()

    def closed_form(self) -> tuple[shapes.Shape, float] | None:
        """Two point, in the smallest case."""
        return (shapes.TWO_POINT, float(self.epsilon0)) if self.sensitivity == 1 else None

    def moments(self, line: OrderLine, direction: Direction = Direction.REMOVE) -> Moments:
        """The moments in closed form."""
        e = float(self.epsilon0)
        if self.sensitivity == 1:
            return shapes.single(shapes.TWO_POINT, e, line)
        return _grid_moments(e, self.sensitivity, line)

    def atoms(self, direction: Direction = Direction.REMOVE) -> Atoms | None:
        """Sensitivity + 1 equally spaced losses."""
        if self.sensitivity > _LISTED:
            return None
        step = self.epsilon0 / self.sensitivity
        r = Interval.of(-step).exp()
        ends = (1 / (1 + r), Interval.of(-self.epsilon0).exp() / (1 + r))
        inner = range(1, self.sensitivity)
        masses = [Interval.of(-step * x).exp() * (1 - r) / (1 + r) for x in inner]
        losses = [self.epsilon0 - 2 * step * x for x in inner]
        return Atoms((self.epsilon0, -self.epsilon0, *losses), (*ends, *masses))

    def _delta(self, epsilon: Fraction) -> Bound:
        if epsilon >= self.epsilon0:
            return Bound(0.0, 0.0, "discrete laplace")
        return _tail(self.epsilon0, self.sensitivity, epsilon).bound("discrete laplace")

    def _epsilon(self, delta: Fraction) -> Bound:
        if delta == 0:
            return Interval.of(self.epsilon0).bound("discrete laplace")
        return invert(self._delta, delta)


def _powers_between(exponent: Interval, steps: int) -> Interval:
    """Q + q^2 + ... + q^(steps - 1) with q = e^-exponent."""
    if steps == 1:
        return Interval.of(0)
    return (-exponent).exp() * (-exponent * (steps - 1)).expm1() / (-exponent).expm1()


def _tail(own: Fraction, steps: int, epsilon: Fraction) -> Interval:
    """P(loss > epsilon) - e^epsilon Q(loss > epsilon): both tails are geometric.

    The loss exceeds epsilon for x <= n, n < steps (own - epsilon)/(2 own). Under P that has
    probability 1 - r^(n+1)/(1 + r), under Q, `steps` further right, r^(steps - n)/(1 + r).
    """
    step = own / steps
    limit = (own - epsilon) / (2 * step)
    n = min(-(-limit.numerator // limit.denominator) - 1, steps - 1)
    r = 1 + Interval.of(-step).exp()
    under_p = 1 - Interval.of(-step * (n + 1)).exp() / r
    return under_p - Interval.of(epsilon - step * (steps - n)).exp() / r


def _grid_moments(e: float, steps: int, line: OrderLine) -> Moments:
    """M with everything divided by e^(u epsilon), so that nothing overflows."""
    lam, twice, each = line.lam, 2 * line.lam + 1, e / steps
    x, end = -twice * each, exp(-twice * e)
    # The weight of the inner outcomes, (1 - r)(q + ... + q^(steps - 1)) at t = 0; all terms
    # positive.
    inner = -expm1(-each) * exp(x) * expm1(x * (steps - 1)) / expm1(x)
    base = 1 + end + inner
    scale = lam * e + log(base / (1 + exp(-each)))
    log_error = ((twice + 1) * e * 8 + 16) * (4 * UNIT) + 12 * ELEMENTARY
    if line.size == 1:
        return Moments(scale, log_error, unit(line).phi, 0.0)
    top = _grid_terms(each, steps, line, end)
    error = 16 * phase_error(line.step * e, line.size, 8 * UNIT) + 32 * ELEMENTARY + log_error
    return Moments(scale, log_error, np.asarray(top / base, dtype=np.complex128), error)


def _grid_terms(each: float, steps: int, line: OrderLine, end: float) -> ComplexArray:
    """The numerator along the line: both ends and the geometric sum between them."""
    x, y = -(2 * line.lam + 1) * each, 2 * each * line.heights
    z = phases(line.step * each * steps, line.size)
    # e^(-2h) - 1 for complex h = (a + i t) epsilon/steps, without cancellation.
    dip = expm1(x) * np.cos(y) - 2 * np.sin(y / 2) ** 2 - 1j * (exp(x) * np.sin(y))
    rest = exp(x * (steps - 1)) * np.exp(-1j * y * (steps - 1)) - 1
    q = np.exp(x - 1j * y)
    return np.asarray(z + end * z.conj() - expm1(-each) * z * (q * rest / dip))
