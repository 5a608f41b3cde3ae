"""Heavy tails folded in: which cap, and how much it may have added to delta."""

import math
from dataclasses import dataclass

from discreet.privacy.contour.crossing import descend
from discreet.privacy.contour.tally import ORDERS, Tally
from discreet.privacy.numerics.moments import Direction

_SURE = 16.0
"""Past a cap there is less than e^-16 of delta in doubt."""

_NEVER = -90.0
"""A doubt of e^-90 is none."""

_WALK = 0.02
"""What a step to a higher order has to gain: far up moments take long and gain little."""

_LIST: list[float] = ORDERS.tolist()


@dataclass(frozen=True, slots=True)
class Folding:
    """Upper bound on what folding the tails at `cap` adds to delta; see `Capped`.

    Why:
        Replace the laws one by one. Up to epsilon = cap a law and its capped one have the same
        delta, so replacing one adds something only where the losses Z of all others fall short of
        epsilon - cap, and then at most the mass that it moved. E[e^(-theta Z)] is the moment at
        order theta - 1 with P and Q exchanged, at most that of `turned`, the capped laws, so
        Chernoff's bound holds. The other way round capped losses differ below -cap alone: others
        have to exceed epsilon + cap, and the bound is that of `plain`.
    """

    plain: Tally
    turned: Tally
    cap: float
    mass: float
    count: int

    def doubt(self, epsilon: float) -> float:
        """Upper bound on what folding adds to delta at epsilon."""
        room = self.cap * (1 - 1e-9) + (-epsilon if self._removing() else epsilon)
        if room <= 0:
            return self.mass

        def log(i: int) -> float:
            return self._log_moment(i) - self._order(i) * room

        j = descend(lambda i: max(log(i), _NEVER) + 1e-9 * i, len(ORDERS))
        return self.mass * math.exp(min(0.0, log(j))) * (1 + 1e-9)

    def suited(self, epsilon: float, log_delta: float) -> float:
        """Approximately the least cap whose error at epsilon is negligible against delta."""
        spare = _SURE if self._removing() else _SURE + math.log(self.mass) - log_delta

        def needed(i: int) -> float:
            return (self._log_moment(i) + spare) / self._order(i)

        room = needed(descend(lambda i: needed(i) * (1 + _WALK * i), len(ORDERS)))
        return room + epsilon if self._removing() else max(room - epsilon, epsilon)

    def _removing(self) -> bool:
        return self.plain.direction is Direction.REMOVE

    def _order(self, i: int) -> float:
        return _LIST[i] + self._removing()

    def _log_moment(self, i: int) -> float:
        return (self.turned if self._removing() else self.plain).scale(i)


def fold(tally: Tally, cap: float) -> Folding:
    """Fold all heavy tails of a list in at `cap`."""
    way = tally.direction
    other = Direction.ADD if way is Direction.REMOVE else Direction.REMOVE
    plain, turned = tally.capped(cap, way), tally.capped(cap, other)
    return Folding(plain, turned, cap, tally.moved(cap), sum(tally.heavy().values()))
