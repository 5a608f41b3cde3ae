"""How often a key is shown, from how many people are under it: the most that privacy allows.

p(0) = 0, and p(n + 1) is the largest number that keeps p(n) and p(n + 1) close enough in both
directions. What is close enough depends on how the keys of one person compose: by adding up their
epsilons, or by adding up their Rényi divergences of one order.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.mechanisms.unknown_keys import delta_each
from discreet.privacy.numerics.rounding import Interval, total

HALF_BITS: Final = 62
UNIT: Final = 1 << 2 * HALF_BITS
"""Probabilities of keeping are multiples of 1/UNIT, so two words flip their coins exactly."""

Row: TypeAlias = tuple[int, ...]
"""p(0), p(1), ... up to the first that is 1, in units of 1/UNIT."""

_LONGEST: Final = 1 << 20
_LARGEST: Final = Fraction(600)
_ORDERS: Final = tuple(0.1 * 1.3**i for i in range(18))
"""Orders that are tried, less 1, in units of log(1/delta)/epsilon."""

_SHARES: Final = (0.03, 0.1, 0.3)
_COARSE: Final = 64
_FINE: Final = 512
_SHORTER: Final = 1 - 2.0**-13
_SURE: Final = UNIT - UNIT // 20


@lru_cache(maxsize=256)
def keep_table(epsilon: Fraction, delta: Fraction, keys: int) -> Row:
    """The table that hides fewer people, of the two; public parameters alone decide.

    Example:
        >>> fifty = keep_table(Fraction(1), Fraction(1, 10**6), 50)
        >>> hidden(fifty) <= 130 < hidden(added_epsilons(Fraction(1, 50), Fraction(1, 10**6) / 50))
        True
    """
    if keys == 1:
        return added_epsilons(epsilon, delta)
    together = added_divergences(epsilon, delta, keys)
    each = epsilon / keys, delta_each(delta, keys)
    if together and hidden(together) < _length(*map(float, each)) / 4:
        return together
    alone = added_epsilons(*each)
    return together if together and hidden(together) < hidden(alone) else alone


def hidden(table: Row) -> int:
    """How many people may be under a key that is not shown 19 times out of 20."""
    return next(n for n, p in enumerate(table) if p >= _SURE) - 1


# --- epsilons added up ----------------------------------------------------------------------------


def added_epsilons(epsilon: Fraction, delta: Fraction) -> Row:
    """p(n + 1) = min(E p(n) + delta, 1 - (1 - p(n) - delta)/E, 1), E <= e^epsilon: the optimum.

    A factor E = top/bottom is rounded down to 62 bits; so is delta to the unit. At each step
    p(n + 1) is at most what both constraints allow, and at least p(n) as p(n) is a multiple of the
    unit, so rounding down keeps both constraints and both monotone ones.
    """
    least = min(epsilon, _LARGEST)
    _short(_length(float(least), float(delta)))
    bottom = 1 << HALF_BITS
    top = int(Fraction(*Interval.of(least).exp().lower.as_integer_ratio()) * bottom)
    extra = int(delta * UNIT)

    def step(p: int) -> int:
        # 1 - (1 - p - delta)/E, rounded down: what is taken off is rounded up.
        close = UNIT - max(0, -(-(UNIT - p - extra) * bottom // top))
        return min(p * top // bottom + extra, close, UNIT)

    return _table(step)


def _length(epsilon: float, delta: float) -> float:
    """About how many counts have p(n) < 1: twice those up to delta (E^n - 1)/(E - 1) = 1/2."""
    small = min(epsilon, float(_LARGEST))
    return 2 * math.log1p(math.expm1(small) / (2 * delta)) / small if small else 1 / delta


# --- Rényi divergences added up -------------------------------------------------------------------


def added_divergences(epsilon: Fraction, delta: Fraction, keys: int) -> Row | None:
    """Each step is a mixture: 1 - delta' of one as far as a Rényi divergence allows, delta' sure.

    Why: p(n) = (1 - d) a + d e and p(n + 1) = (1 - d) b + d e', with e, e' in [0, 1] and the
    divergence of order alpha of Bernoulli a and b at most t both ways. `keys` such steps are, with
    probability (1 - d)^keys, a pair of products whose divergence is at most keys t; that is
    (epsilon, delta2) for
        delta2 = exp((alpha - 1)(keys t - epsilon))/(alpha - 1) (1 - 1/alpha)^alpha
    (Canonne, Kamath, Steinke 2020), and delta2 + 1 - (1 - d)^keys <= delta. A rare event may grow
    by a large factor at little divergence, which no epsilon of its own would allow. `None` where
    no order gives t > 0.
    """
    least = min(epsilon, _LARGEST)
    usual = Interval.of(1 / delta).log().upper / Interval.of(least).lower
    plans = [
        _Steps.of(Fraction(1 + part * usual), Fraction(share), least, delta, keys)
        for part, share in product(_ORDERS, _SHARES)
    ]
    best = min(filter(None, plans), key=lambda plan: plan.length, default=None)
    if best is None or best.length > _LONGEST >> 6:
        return None
    return _table(best.with_reach(_FINE).step)


_EMPTY: Final = (np.empty(0), np.empty(0))


@dataclass(frozen=True, slots=True)
class _Steps:
    """Steps of one order and one delta' a key: `reach` in log odds, about as far as is allowed."""

    order: Fraction
    allowed: Fraction
    extra: int
    odds: NDArray[np.float64]
    reach: NDArray[np.float64]

    @staticmethod
    def of(
        order: Fraction, share: Fraction, epsilon: Fraction, delta: Fraction, keys: int
    ) -> "_Steps | None":
        """The table for which `keys` cost (epsilon, delta); `share` is for certain steps."""
        rest = Interval.of(order - 1)
        log = (rest * (delta * (1 - share))).log() - Interval.of(-1 / order).log1p() * order
        room = Fraction((log + rest * epsilon).lower) / keys  # (alpha - 1) t
        if room <= 0:
            return None
        extra = int(delta_each(delta * share, keys) * UNIT)
        return _Steps(order, room, extra, *_EMPTY).with_reach(_COARSE)

    def with_reach(self, points: int) -> "_Steps":
        """The same with its reach at so many log odds."""
        far = math.log(UNIT / self.extra)
        odds = np.linspace(-far, far, points)
        reach = _reach(odds, float(self.order), float(self.allowed))
        return replace(self, odds=odds, reach=reach)

    @property
    def length(self) -> float:
        """About how many steps lead from delta' to 19/20."""
        few = self.odds <= math.log(19)
        return float(np.sum(1 / self.reach[few]) * (self.odds[1] - self.odds[0]))

    def step(self, p: int) -> int:
        """The next probability: shown to be allowed by directed rounding, whatever floats said."""
        a = p * UNIT // (UNIT - self.extra)
        if a >= UNIT:
            return UNIT
        return self._grown(a) * (UNIT - self.extra) // UNIT + self.extra if a else self.extra

    def _grown(self, a: int) -> int:
        odds = math.log(a / UNIT) - math.log((UNIT - a) / UNIT)
        reach = float(np.interp(odds, self.odds, self.reach)) * _SHORTER
        while reach > 2.0**-40:
            b = _probability(odds + reach)
            if b <= a or self._holds(a, b):
                return max(a, b)
            reach *= _SHORTER
        return a

    def _holds(self, a: int, b: int) -> bool:
        """Whether neither of two coins diverges from the other by more than is allowed."""
        one, other = ((Fraction(p, UNIT), Fraction(UNIT - p, UNIT)) for p in (a, b))
        logs = [[Interval.of(p).log() for p in coin] for coin in (one, other)]
        order, rest = Interval.of(self.order), Interval.of(self.order - 1)
        limit = Interval.of(self.allowed).exp().lo
        return all(
            total((x * order - y * rest).exp() for x, y in zip(p, q, strict=True)).hi <= limit
            for p, q in (logs, logs[::-1])
        )


def _reach(odds: NDArray[np.float64], order: float, room: float) -> NDArray[np.float64]:
    """How far log odds may move, up to rounding: where the divergence meets `room`."""
    low, high = np.zeros_like(odds), np.full_like(odds, 64.0)
    for _ in range(48):
        middle = (low + high) / 2
        fits = _divergence(odds, odds + middle, order) <= room
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return np.maximum(low, 2.0**-40)


def _divergence(
    one: NDArray[np.float64], other: NDArray[np.float64], order: float
) -> NDArray[np.float64]:
    """(alpha - 1) times the larger of both Rényi divergences of two coins, from their log odds."""
    coins = [(-np.logaddexp(0, -odds), -np.logaddexp(0, odds)) for odds in (one, other)]
    both = [
        np.logaddexp(*(order * x - (order - 1) * y for x, y in zip(p, q, strict=True)))
        for p, q in (coins, coins[::-1])
    ]
    return np.maximum(*both)


def _probability(odds: float) -> int:
    """The probability with these log odds, in units, rounded down."""
    small = int(math.exp(-abs(odds)) / (1 + math.exp(-abs(odds))) * 2.0**100) << 24
    return small if odds < 0 else UNIT - small - (1 << 24)


def _table(step: Callable[[int], int]) -> Row:
    table = [0]
    while table[-1] < UNIT:
        _short(len(table))
        table.append(step(table[-1]))
    return tuple(table)


def _short(length: float) -> None:
    if length > _LONGEST:
        raise InputError(
            "epsilon and delta are too small for key selection",
            why=f"the rule would tell more than {_LONGEST} counts apart",
            fix="raise epsilon or delta, or list keys that are public",
        )
