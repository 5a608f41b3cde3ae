"""A law of the loss with its far tail folded in: what a composition needs of a heavy tail."""

from dataclasses import dataclass
from fractions import Fraction
from math import log1p

import numpy as np

from discreet.privacy.guarantees.guarantee import Guarantee
from discreet.privacy.numerics import quadrature
from discreet.privacy.numerics.moments import Direction, Moments, OrderLine
from discreet.privacy.numerics.quadrature import Sampled
from discreet.privacy.numerics.rounding import UNIT, Bound, Interval, Number

_NEAR = Fraction(1, 10**9)
"""A cap is met to within this share of itself."""


@dataclass(frozen=True, slots=True)
class Capped(Guarantee):
    """A sampled mechanism whose likelihood ratio g is taken for e^cap wherever it is larger.

    Guarantee:
        It dominates `guarantee`, and has the same delta(epsilon) for every epsilon up to `cap`.
    Why:
        Under Q nothing moves. Under P outcomes with a loss z > cap keep e^cap Q, and the rest of
        their mass, delta(cap) in all, has an infinite loss. For epsilon <= cap that leaves P -
        e^epsilon Q as it was on all of them together; for larger epsilon it can only raise it. With
        P and Q exchanged the loss -log g is raised to at least -cap.
    """

    directions = (Direction.REMOVE, Direction.ADD)

    guarantee: Guarantee
    pair: Sampled
    rate: float
    cap: float

    def group(self, k: int) -> Guarantee:
        """That of the mechanism."""
        return self.guarantee.group(k)

    def infinity(self, direction: Direction = Direction.REMOVE) -> Interval:
        """Delta at the cap, when the person is removed."""
        if direction is Direction.ADD:
            return Interval.of(0)
        above = self.guarantee.delta(Fraction(self.cap) * (1 - _NEAR)).upper
        below = self.guarantee.delta(Fraction(self.cap) * (1 + _NEAR)).lower
        return Interval.between(min(above, below), above)

    def log_mgf(self, order: Number, direction: Direction = Direction.REMOVE) -> Interval:
        """The log moment generating function at the nearest doubles, between which it is convex."""
        ends = [
            self.moments(OrderLine(near, 1.0, 1), direction)
            for near in (Interval.of(order).lower, Interval.of(order).upper)
        ]
        low = min(end.log_scale - end.log_error for end in ends)
        return Interval.between(low, max(end.log_scale + end.log_error for end in ends))

    def moments(self, line: OrderLine, direction: Direction = Direction.REMOVE) -> Moments:
        """The moments, by quadrature nodes."""
        removed = direction is Direction.REMOVE
        way = (line.lam + 1, 1.0) if removed else (-line.lam, -1.0)
        found = quadrature.moments(self.pair, line, way)
        return self._bracket(line, direction) if found is None else found

    def _delta(self, epsilon: Fraction) -> Bound:
        return self.guarantee.delta(min(epsilon, Fraction(self.cap) * (1 - _NEAR)))

    def _bracket(self, line: OrderLine, direction: Direction) -> Moments:
        """A bracket from the range of the loss; E_Q g^w is at least (E_Q g)^w by convexity."""
        lost = Interval.of(-self.infinity(direction)).log1p() * (line.lam + 1)
        removed = direction is Direction.REMOVE
        top = line.lam * (self.cap if removed else -log1p(-self.rate)) * (1 + 2.0**-30)
        half = (top - lost.lower) / 2
        shape = np.zeros(line.size, dtype=np.complex128)
        shape[0] = 1
        error = half * (1 + 2.0**-30) + abs(lost.lower) * UNIT
        return Moments(top - half, error, shape, 1.0 if line.size > 1 else 0.0)
