"""A running bound on what adaptively chosen questions have revealed so far."""

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np

from discreet.errors import BudgetError, InputError
from discreet.privacy.budgets.charges import (
    EPSILON,
    MU_SQUARED,
    RHO,
    UNITS,
    Charge,
    Chargeable,
    ChargeHistory,
    check_kind,
    price,
    price_sum,
    stored_charges,
    units,
    unreadable,
)
from discreet.privacy.composition.composed import Composed
from discreet.privacy.guarantees.guarantee import Guarantee, fill
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.guarantees.pure import Pure
from discreet.privacy.numerics.rounding import ELEMENTARY, Bound, Interval
from discreet.rationals import Real, probability

_ORDERS: Final = 2.0 ** (np.arange(-12, 81) / 4)
"""The orders that are mixed with equal weights: 1/8 to 2^20, best for rho from 1e3 to 1e-11."""


@dataclass(frozen=True, slots=True)
class Odometer:
    """A privacy odometer: the loss so far, at any moment, with no budget fixed in advance.

    Guarantee:
        Fix delta before the first answer. For every way of choosing mechanisms, parameters and the
        moment of stopping from earlier answers, and for every set S of transcripts, P(S) <=
        E_Q[e^epsilon; S] + delta, where epsilon = `.epsilon(delta)` belongs to each transcript. A
        guarantee fixed in advance needs a `Filter`.
    Neighbours:
        `neighbours`; charges about others are refused.
    Why:
        With V the sum of rho so far and L the loss, e^(s L - s (s+1) V) is a supermartingale for
        every s > 0, and so is any fixed mixture over s. By Ville's inequality it ever reaches
        1/delta with probability at most delta; solving for L gives the bound. Where every charge
        has an epsilon, their sum bounds L surely. The rare events behind the charges' own deltas
        have probability at most `deltas` together, fixed in advance and taken off delta first.
    Edge cases:
        Nothing charged gives 0. delta <= deltas leaves the sum of epsilons, or infinity.

    Example:
        >>> meter = Odometer()
        >>> for _ in range(100):
        ...     meter = meter.charge(Pure(0.1))
        >>> meter.epsilon(0).upper, 5 < meter.epsilon(1e-6).upper < 7
        (10.0, True)

    Reference: Whitehouse, Ramdas, Rogers, Wu, Fully-Adaptive Composition in Differential Privacy
    (2023), odometers by the method of mixtures; Rogers, Roth, Ullman, Vadhan, Privacy Odometers and
    Filters (2016), for what an odometer is.
    """

    deltas: Fraction
    neighbours: Neighbours
    history: ChargeHistory = field(repr=False)
    _rho: int = field(repr=False, compare=False)
    _sum: int | None = field(repr=False, compare=False)
    _delta: int = field(repr=False, compare=False)

    def __init__(self, deltas: Real = 0, *, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> None:
        fill(self, deltas=probability(deltas, "deltas"), neighbours=neighbours)
        fill(self, history=ChargeHistory(), _rho=0, _sum=0, _delta=0)

    @property
    def spent(self) -> Charge:
        """The sum of rho and of the charges' own deltas."""
        amounts = Fraction(self._rho, UNITS), Fraction(self._delta, UNITS)
        return Charge(*amounts, measure=RHO, neighbours=self.neighbours)

    def price(self, guarantee: Chargeable) -> Charge:
        """The charge that gives this odometer the tightest bound: in epsilon where there is one."""
        return price(guarantee, EPSILON if hasattr(Guarantee.of(guarantee), "epsilon0") else RHO)

    def price_sum(self, whole: Composed) -> Charge:
        """The same for a composition fixed in advance: the sum of what its parts cost."""
        pure = all(hasattr(one, "epsilon0") for one, _ in whole.parts)
        return price_sum(whole, EPSILON if pure else RHO)

    def charge(self, charge: Charge | Chargeable) -> "Odometer":
        """The odometer with one more charge or guarantee, made before its answer is seen.

        This one does not change: write `meter = meter.charge(...)`. Charges in EPSILON, RHO and
        MU_SQUARED are accepted: all of them have a rho.
        """
        charge = charge if isinstance(charge, Charge) else self.price(charge)
        self._check(charge)
        both = self._sum is not None and charge.measure == EPSILON
        after = copy(self)
        fill(after, history=self.history.append(charge), _rho=self._rho + _rho_units(charge))
        fill(after, _sum=(self._sum or 0) + charge.units if both else None)
        fill(after, _delta=self._delta + charge.delta_units)
        return after

    def epsilon(self, delta: Real = 0) -> Bound:
        """The bound on everything so far; it fails with probability at most `delta`, ever."""
        left = probability(delta, "delta") - self.deltas
        sure = self._sure(left)
        if left <= 0 or self._rho == 0:
            none = "nothing charged: write meter = meter.charge(...)"
            return Bound(0.0, sure, "sum of epsilons" if len(self.history) else none)
        mixed = mixture_bound(Interval.of(Fraction(self._rho, UNITS)).upper, left)
        method = "mixture odometer" if mixed < sure else "sum of epsilons"
        return Bound(0.0, min(sure, mixed), method)

    def to_dict(self) -> dict[str, Any]:
        """The parameters and the charges, in plain strings and lists."""
        return {
            "kind": "odometer/1",
            "deltas": str(self.deltas),
            "neighbours": self.neighbours.value,
            "charges": [charge.to_dict() for charge in self.history],
        }

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> "Odometer":
        """Charge every stored charge again."""
        check_kind(stored, "odometer/1")
        try:
            deltas, about = Fraction(stored["deltas"]), Neighbours(stored["neighbours"])
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as wrong:
            raise unreadable("odometer", wrong) from wrong
        answer = Odometer(deltas, neighbours=about)
        for charge in stored_charges(stored):
            answer = answer.charge(charge)
        return answer

    def _sure(self, left: Fraction) -> float:
        if left < 0 or (self._sum is None and self._rho > 0):
            return math.inf
        return Interval.of(Fraction(self._sum or 0, UNITS)).upper

    def _check(self, charge: Charge) -> None:
        if charge.neighbours is not self.neighbours or charge.measure.name == "renyi":
            raise InputError(
                f"a charge in {charge.measure.name} under {charge.neighbours.value}",
                why=f"this odometer counts rho under {self.neighbours.value}",
                fix="charge what .price(guarantee) says, about the same neighbours",
            )
        room = self.deltas * UNITS // 1 - self._delta
        if charge.delta_units > room:
            raise BudgetError(
                f"a charge with delta {float(charge.delta):.6g}",
                why=f"only {room / UNITS:.6g} of the odometer's deltas is left",
                fix="start the odometer with larger deltas",
                asked=float(charge.delta),
                left=room / UNITS,
            )


def _rho_units(charge: Charge) -> int:
    """The rho that a charge implies, in whole units, rounded up."""
    if charge.measure == RHO:
        return charge.units
    if charge.measure == MU_SQUARED:
        return units(charge.amount / 2)
    return units(_pure_rho(charge.amount))


@lru_cache(maxsize=4096)
def _pure_rho(epsilon: Fraction) -> Fraction:
    return Fraction(Pure(epsilon).rho().upper)


def mixture_bound(rho: float, delta: Fraction) -> float:
    """The least L, rounded up, at which the mixture of e^(s L - s (s+1) rho) is 1/delta.

    Why: it grows with L. Below the best single order it cannot have reached 1/delta, at the
    best single order with its weight taken off delta it has; between them a bisection decides, with
    every exponent lowered by its rounding error.
    """
    target = -Interval.of(delta).log()
    with_weight = (target + Interval.of(len(_ORDERS)).log()).upper
    drift = _ORDERS * (_ORDERS + 1) * rho
    low = float(np.min((drift + target.lower) / _ORDERS))
    high = float(np.min((drift + with_weight) / _ORDERS)) * (1 + 4 * ELEMENTARY)
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        reached = _log_sum(_ORDERS * middle, drift) >= with_weight
        low, high = (low, middle) if reached else (middle, high)
    return high


def _log_sum(growth: Any, drift: Any) -> float:
    """Log of the sum of e^(growth - drift), from below."""
    powers = growth - drift - ELEMENTARY * (growth + drift)
    top = float(np.max(powers))
    return top + math.log(float(np.sum(np.exp(powers - top)))) - ELEMENTARY * (16 + abs(top))
