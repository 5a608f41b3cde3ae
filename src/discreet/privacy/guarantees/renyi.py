"""Renyi differential privacy at a list of orders."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Final

from discreet.errors import InputError
from discreet.privacy.guarantees.guarantee import GroupPrivacy, Guarantee, fill, people, stored_as
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.numerics.chernoff import chernoff_delta, chernoff_epsilon
from discreet.privacy.numerics.moments import Direction
from discreet.privacy.numerics.rounding import Bound, Interval, Number
from discreet.rationals import Real, non_negative, rational

_ORDERS: Final = tuple(
    Fraction(n) for n in (*(1 + Fraction(n, 4) for n in range(1, 28)), *range(8, 65), 96)
) + tuple(Fraction(2**n) for n in range(7, 11))
"""Orders at which a function is asked; most conversions are best at one of the lower ones."""


@stored_as("rdp/1")
@dataclass(frozen=True, slots=True, init=False)
class RDP(Guarantee):
    """Bounds on the Renyi divergence at some orders, {alpha: epsilon}.

    A function of alpha is asked, with a Fraction, at orders from 5/4 to 1024.

    Guarantee:
        The divergence of each listed order alpha > 1 is at most its epsilon, in both directions.
    Why:
        (alpha - 1) times the divergence is convex in alpha and 0 at alpha = 1, so straight lines
        between listed orders bound the orders in between; above the last one nothing is known.
    Edge cases:
        A listed order that breaks convexity only loosens the bound around it.

    Example:
        >>> curve = RDP({2: 1, 4: 2, 16: 8})
        >>> curve.rdp(2).upper, curve.rdp(3).upper, curve.rdp(17).upper
        (1.0, 1.75, inf)
        >>> RDP(lambda alpha: alpha / 2).rdp(5).upper
        2.5

    Reference: Mironov, Renyi Differential Privacy (definition; group privacy).
    """

    curve: tuple[tuple[Fraction, Fraction], ...]

    def __init__(
        self,
        curve: Mapping[Real, Real] | Iterable[tuple[Real, Real]] | Callable[[Fraction], Real],
        *,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        if callable(curve):
            curve = [(order, curve(order)) for order in _ORDERS]
        pairs = curve.items() if isinstance(curve, Mapping) else curve
        fill(self, curve=_read(pairs), neighbours=neighbours)

    def group(self, k: int) -> Guarantee:
        """For k <= 2^c people: order alpha/2^c at 3^c times the cost of alpha, alpha >= 2^(c+1)."""
        c = (people(k) - 1).bit_length()
        if c == 0:
            return self
        kept = [(a / 2**c, 3**c * e) for a, e in self.curve if a >= 2 ** (c + 1)]
        if not kept:
            return GroupPrivacy(self, k)
        return RDP(kept, neighbours=self.neighbours)

    def log_mgf(self, order: Number, direction: Direction = Direction.REMOVE) -> Interval:
        """Upper bound: the straight line between the listed orders around this one."""
        s = Interval.of(order)
        top = Fraction(*(int(part) for part in s.hi.as_integer_ratio()))
        at = bisect_left(self.curve, (top + 1, Fraction(0)))
        if at == len(self.curve):
            return Interval.between(0, float("inf"))
        (a, e), (b, f) = self.curve[at - 1] if at else (Fraction(1), Fraction(0)), self.curve[at]
        low, high = (a - 1) * e, (b - 1) * f
        rise = (s - (a - 1)) * ((high - low) / (b - a)) + low
        return Interval.between(0, max(rise.upper, 0.0))

    def rdp(self, alpha: Real) -> Bound:
        """The listed bound, or one between listed orders."""
        exact = rational(alpha, "alpha")
        for order, value in self.curve:
            if order == exact:
                return Bound(0.0, Interval.of(value).upper, "rdp")
        return Guarantee.rdp(self, alpha)

    def _delta(self, epsilon: Fraction) -> Bound:
        above = chernoff_delta(self.log_mgf, self._near, epsilon, self._orders()).upper
        return Bound(0.0, min(above, 1.0), "rdp")

    def _epsilon(self, delta: Fraction) -> Bound:
        if delta == 0:
            return Bound(0.0, float("inf"), "rdp")
        asked = Interval.of(delta)
        above = chernoff_epsilon(self.log_mgf, self._near, asked, self._orders()).upper
        return Bound(0.0, max(0.0, above), "rdp")

    def _near(self, lam: float) -> float:
        """`log_mgf` in plain floats, for searches."""
        orders, logs = _nodes(self.curve)
        at = bisect_left(orders, lam)
        if at == len(orders):
            return float("inf")
        left, low = (orders[at - 1], logs[at - 1]) if at else (0.0, 0.0)
        return low + (lam - left) * (logs[at] - low) / (orders[at] - left)

    def _orders(self) -> list[float]:
        """The listed orders less 1; one that rounds past the last of them would be refused."""
        return [min(float(a - 1), Interval.of(a - 1).lower) for a, _ in self.curve]


@lru_cache(maxsize=64)
def _nodes(curve: tuple[tuple[Fraction, Fraction], ...]) -> tuple[list[float], list[float]]:
    """The listed orders less 1, and the log moments there, in plain floats."""
    return [float(a - 1) for a, _ in curve], [float((a - 1) * e) for a, e in curve]


def _read(pairs: Iterable[tuple[Real, Real]]) -> tuple[tuple[Fraction, Fraction], ...]:
    curve = sorted((rational(a, "alpha"), non_negative(e, "epsilon")) for a, e in pairs)
    if not curve or curve[0][0] <= 1:
        raise InputError(
            "the curve has no orders" if not curve else f"order {curve[0][0]}",
            why="a Renyi curve lists orders above 1",
            fix="pass {alpha: epsilon} with every alpha > 1",
        )
    if any(a == b for (a, _), (b, _) in pairwise(curve)):
        raise InputError("an order is listed twice", why="only one can be meant", fix="drop one")
    return tuple(curve)
