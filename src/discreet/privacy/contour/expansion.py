"""The sum of a line around one epsilon: its value there and how it goes on.

With v_k the terms of the sum at epsilon and t_k their heights, the sum at epsilon + h is the real
part of sum_k v_k e^(-i t_k h), and

    e^(-i x) = 1 - i x - x^2/2 + i x^3/6 + r,   |r| <= x^4/24,

so that four dot products at one epsilon enclose delta at all epsilons close by.
"""

import math
from typing import Final

from discreet.privacy.numerics.rounding import UNIT

_NUDGE: Final = 1 + 16 * UNIT


class Expansion:
    """Delta of the finite loss near one epsilon, from both sides.

    Guarantee:
        `log_upper(at)` is at least log delta(at), and `log_lower(at)` at most the log of the sum
        that holds delta(at) and its aliases, for every `at`; far away they are infinite.
    Why:
        `slack` bounds everything the four dot products leave out at epsilon, term by term; the
        error of the j-th is at most top^j times as large, so at distance h it has grown by at most
        e^(top |h|) <= 1 + 2 top |h|. `fourth` is at least sum_k |v_k| t_k^4.
    Edge cases:
        h = at - epsilon is exact: within half of epsilon no subtraction of doubles rounds.
    """

    def __init__(
        self,
        at: tuple[float, float, float],
        sums: list[float],
        slack: float,
        exponent: tuple[float, float],
        beyond: tuple[float, float],
    ) -> None:
        self.epsilon, self.lam, self.ghost = at
        self._value, self._first, self._second, self._third = sums
        self.slack, (self._low, self._high), (self._top, self._fourth) = slack, exponent, beyond

    def log_upper(self, at: float) -> float:
        """The log of a bound from above."""
        h = at - self.epsilon
        if not h:
            return log_above(self._value + self.slack, self._high)
        total, room = self._near(h)
        fall = self.lam * h
        exponent = self._high - fall + (abs(self._high) + abs(fall)) * (4 * UNIT)
        return log_above(total + room, exponent)

    def log_lower(self, at: float) -> float:
        """The log of a bound from below on the sum with its aliases."""
        h = at - self.epsilon
        total, room = self._near(h)
        if not total > room:
            return -math.inf
        log, fall = math.log(total - room), self.lam * h
        room = abs(self._low) + abs(fall) + 4 * abs(log) + 2
        return self._low - fall + log - room * (4 * UNIT)

    def blur(self) -> float:
        """The approximate gap of the bounds on log delta, near epsilon."""
        if not self._value > 0:
            return math.inf
        return 2 * self.slack / self._value + (self._high - self._low)

    def covers(self, at: float, share: float) -> bool:
        """Whether going on from epsilon to `at` blurs the sum by less than this share of it."""
        h = abs(at - self.epsilon)
        away, square = self._top * h, h * h
        if away > 1 or 2 * h > self.epsilon:
            return not h
        return self._fourth * square * square / 24 + 2 * away * self.slack <= share * self._value

    def phantom_cost(self, room: float) -> float:
        """Upper bound on what the phantom adds to delta at epsilon; its sum is off by `room`.

        Why:
            The phantom Y, N(v/2, v), raises D to D_v = E D(epsilon - Y). As v grows D_v grows at
            the rate p_v/2, p_v = D_v'' - D_v' the density of the loss with Y in it; and n(u; r/2,
            r) <= sqrt(v/r) e^(v/8) n(u; v/2, v) for r <= v, so that p_r <= sqrt(v/r) e^(v/8) p_v.
            Integrated, D_v - D <= v e^(v/8) p_v. The sum for p_v, too, only gains from its aliases.
        """
        v, lam = self.ghost, self.lam
        parts = (lam * (lam + 1) * self._value, -(2 * lam + 1) * self._first, -self._second)
        room += sum(map(abs, parts)) * (8 * UNIT)
        log = log_above(sum(parts) + room, self._high)
        return v * math.exp(min(v / 8, 700.0)) * math.exp(min(log, 700.0)) * (1 + 64 * UNIT)

    def rate(self, at: float) -> float:
        """Minus the derivative of log delta, about; lam where there is none."""
        h = at - self.epsilon
        total = self._value + h * (self._first - 0.5 * h * self._second)
        if not total > 0:
            return self.lam
        rate = self.lam - (self._first - h * (self._second + 0.5 * h * self._third)) / total
        return rate if 0 < rate < math.inf else self.lam

    def step(self, off: float) -> float:
        """Newton's step for log delta to fall by `off`, corrected by its second derivative."""
        value = self._value
        if not value > 0:
            return off / self.lam
        # Only the log of the sum bends, not the exponent.
        slope = self._first / value
        rate = self.lam - slope
        if not 0 < rate < math.inf:
            return off / self.lam
        step = off / rate
        correction = -0.5 * (self._second / value + slope * slope) * step / rate
        return step * (1 + correction) if abs(correction) < 0.3 else step

    def _near(self, h: float) -> tuple[float, float]:
        """The sum at a distance, and all it may be off by there."""
        away = self._top * abs(h)
        if away > 1 or 2 * abs(h) > self.epsilon:
            return self._value, math.inf
        total = self._value + h * (self._first - h * (self._second / 2 + h * self._third / 6))
        room = self.slack * (1 + 2 * away) + self._fourth * (h * h) * (h * h) / 24
        return total, room * _NUDGE


def log_above(top: float, exponent: float) -> float:
    """log(top) + exponent, rounded up; nothing is claimed where rounding has made top negative."""
    if not top > 0:
        return math.inf
    log = math.log(top)
    return exponent + log + (abs(exponent) + 8 * abs(log) + 4) * (2 * UNIT)
