"""Budgets for questions that are chosen from earlier answers.

A filter is a value. Charging makes a new one and leaves the old as it was; asking changes nothing.
It is a function of its limit and its list of charges alone, which is all that is stored.
"""

import math
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.errors import BudgetError, InputError
from discreet.privacy.budgets.charges import (
    EPSILON,
    MU_SQUARED,
    RHO,
    UNITS,
    Charge,
    Chargeable,
    ChargeHistory,
    Measure,
    check_kind,
    price,
    price_sum,
    renyi,
    stored_charges,
)
from discreet.privacy.composition.composed import Composed, compose
from discreet.privacy.guarantees.gaussian import GDP
from discreet.privacy.guarantees.guarantee import fill
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.guarantees.pure import Approximate, Pure
from discreet.privacy.guarantees.renyi import RDP
from discreet.privacy.guarantees.zcdp import ZCDP
from discreet.privacy.numerics.chernoff import best_order, log_peak, near_log_peak
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, non_negative, positive


@dataclass(frozen=True, slots=True)
class Filter:
    """A budget that adaptively chosen charges cannot exceed.

    Guarantee:
        Everything released under charges that the filter accepted satisfies `guarantee` together,
        even if every mechanism, its parameters and the moment of stopping depend on all earlier
        answers. A charge must be made before its answer is seen.
    Neighbours:
        Those of the limit; a charge about others is refused.
    Why:
        Each measure adds up under full adaptivity (see `charges`); totals are exact integers, so
        neither the order of charges nor their number costs anything.
    Edge cases:
        A charge that reaches the limit exactly fits. A charge of 0 always fits. A charge that does
        not fit raises BudgetError, and the filter does not change.

    Example:
        >>> budget = Filter.basic(epsilon=1)
        >>> for _ in range(10):
        ...     budget = budget.charge(budget.price(Pure(0.1)))
        >>> budget.left.amount, budget.fits(budget.price(Pure(0.001)))
        (Fraction(0, 1), False)

    Reference: for each measure, see `discreet.privacy.budgets.charges`.
    """

    limit: Charge
    history: ChargeHistory = field(repr=False)
    _left: int = field(repr=False, compare=False)
    _left_delta: int = field(repr=False, compare=False)

    def __init__(
        self,
        limit: Charge | Chargeable | None = None,
        *,
        epsilon: Real | None = None,
        delta: Real = 0,
    ) -> None:
        if limit is not None and (epsilon is not None or delta):
            raise InputError(
                "a limit and epsilon or delta", why="each is the whole budget", fix="pass one"
            )
        if epsilon is not None:
            limit = (Filter.within(epsilon, delta) if delta else Filter.basic(epsilon)).limit
        if hasattr(limit, "cap"):  # a curator's budget
            limit = limit.cap()  # type: ignore[union-attr]
        if not isinstance(limit, Charge):
            by = MU_SQUARED if isinstance(limit, GDP) else EPSILON
            by = RHO if isinstance(limit, ZCDP) else by
            limit = price(limit, by)  # type: ignore[arg-type]  # it refuses None
        left = {"_left": limit.amount * UNITS // 1, "_left_delta": limit.delta * UNITS // 1}
        fill(self, limit=limit, history=ChargeHistory(), **left)

    @staticmethod
    def basic(
        epsilon: Real, delta: Real = 0, *, neighbours: Neighbours = Neighbours.ADD_REMOVE
    ) -> "Filter":
        """Epsilons and deltas add up."""
        return Filter(Charge(epsilon, delta, measure=EPSILON, neighbours=neighbours))

    @staticmethod
    def zcdp(
        rho: Real, delta: Real = 0, *, neighbours: Neighbours = Neighbours.ADD_REMOVE
    ) -> "Filter":
        """Approximate zCDP: rhos and deltas add up."""
        return Filter(Charge(rho, delta, measure=RHO, neighbours=neighbours))

    @staticmethod
    def renyi(
        divergence: Real, order: Real, *, neighbours: Neighbours = Neighbours.ADD_REMOVE
    ) -> "Filter":
        """Renyi divergences of one fixed order add up."""
        return Filter(Charge(divergence, measure=renyi(order), neighbours=neighbours))

    @staticmethod
    def gdp(
        mu: Real, delta: Real = 0, *, neighbours: Neighbours = Neighbours.ADD_REMOVE
    ) -> "Filter":
        """Gaussian privacy: the squares of mu, and deltas, add up."""
        size = non_negative(mu, "mu")
        return Filter(Charge(size * size, delta, measure=MU_SQUARED, neighbours=neighbours))

    @staticmethod
    def within(
        epsilon: Real,
        delta: Real,
        *,
        by: Measure = RHO,
        deltas: Real = 0,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> "Filter":
        """The largest filter in a measure that keeps the whole within (epsilon, delta).

        `deltas` is how much of delta the charges' own deltas may use, by RHO and MU_SQUARED; by
        EPSILON they may use all of it.

        Example:
            >>> Filter.within(1, 1e-6).guarantee.delta(1) <= 1e-6
            True
        """
        e, d = positive(epsilon, "epsilon"), non_negative(delta, "delta")
        own = non_negative(deltas, "deltas")
        if by == EPSILON and own in (0, d):
            return Filter(Charge(e, d, measure=EPSILON, neighbours=neighbours, stated=(e, d)))
        if not own < d < 1 or (own and by not in (RHO, MU_SQUARED)):
            raise InputError(
                f"delta is {delta} with {deltas} of it for charges by {by.name}",
                why="a filter by this measure needs room between them and below 1",
                fix="pass 0 <= deltas < delta < 1, with deltas = 0 unless by RHO or MU_SQUARED",
            )
        amount = amount_within(e, d, by, own)
        return Filter(Charge(amount, own, measure=by, neighbours=neighbours, stated=(e, d)))

    @property
    def guarantee(self) -> "Pure | Approximate | ZCDP | RDP | GDP | Composed":
        """The guarantee of the whole interaction."""
        about, most = self.limit.neighbours, self.limit.amount
        match self.limit.measure.name:
            case "epsilon" if self.limit.delta == 0:
                return Pure(most, neighbours=about)
            case "epsilon":
                return Approximate(most, self.limit.delta, neighbours=about)
            case "rho":
                return ZCDP(most, self.limit.delta, neighbours=about)
            case "mu-squared" if self.limit.delta == 0:
                return GDP.of_square(most, neighbours=about)
            case "mu-squared":
                lost = Approximate(0, self.limit.delta, neighbours=about)
                return compose([GDP.of_square(most, neighbours=about), lost])
        return RDP([(self.limit.measure.order or 2, most)], neighbours=about)

    @property
    def spent(self) -> Charge:
        """The exact total of all charges."""
        start = Filter(self.limit)
        return self._charge(start._left - self._left, start._left_delta - self._left_delta)

    @property
    def left(self) -> Charge:
        """The amount left of the limit."""
        return self._charge(self._left, self._left_delta)

    def price(self, guarantee: Chargeable, *, tail: Real = 0) -> Charge:
        """The cost of a mechanism with this guarantee in this filter; see `charges.price`."""
        return price(guarantee, self.limit.measure, tail=tail)

    def price_sum(self, whole: Composed, *, tail: Real = 0) -> Charge:
        """The cost of a composition fixed in advance; see `charges.price_sum`."""
        return price_sum(whole, self.limit.measure, tail=tail)

    def fits(self, charge: Charge | Chargeable) -> bool:
        """Whether a charge, or the price of a guarantee, would be accepted."""
        charge = charge if isinstance(charge, Charge) else self.price(charge)
        _check_same(charge, self.limit)
        return self.holds(charge.units, charge.delta_units)

    def holds(self, units: int, delta_units: int) -> bool:
        """Whether that many whole units of amount and delta are left."""
        return units <= self._left and delta_units <= self._left_delta

    def charge(self, charge: Charge | Chargeable) -> "Filter":
        """The filter after a charge, or a guarantee's price; BudgetError if it does not fit."""
        charge = charge if isinstance(charge, Charge) else self.price(charge)
        if not self.fits(charge):
            raise _refusal(charge, self.left, self.limit)
        after = copy(self)
        fill(after, history=self.history.append(charge), _left=self._left - charge.units)
        fill(after, _left_delta=self._left_delta - charge.delta_units)
        return after

    def to_dict(self) -> dict[str, Any]:
        """The limit and the charges, in plain strings and lists."""
        return {
            "kind": "filter/1",
            "limit": self.limit.to_dict(),
            "charges": [charge.to_dict() for charge in self.history],
        }

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> "Filter":
        """Charge every stored charge again, so that a stored total is never trusted."""
        check_kind(stored, "filter/1")
        answer = Filter(Charge.from_dict(stored.get("limit", {})))
        for charge in stored_charges(stored):
            answer = answer.charge(charge)
        return answer

    def _charge(self, units: int, delta_units: int) -> Charge:
        amounts = Fraction(units, UNITS), Fraction(delta_units, UNITS)
        return Charge(*amounts, measure=self.limit.measure, neighbours=self.limit.neighbours)


def renyi_for(epsilon: Real, delta: Real) -> Measure:
    """The order, to the next half, at which (epsilon, delta) leaves most room for Gaussians."""
    e, d = positive(epsilon, "epsilon"), positive(delta, "delta")
    log_delta = Interval.of(d).log().lower

    def lost(lam: float) -> float:
        room = float(e) - (near_log_peak(lam) - log_delta) / lam
        return -room / (lam + 1)

    return renyi(1 + Fraction(max(1, round(2 * best_order(lost))), 2))


@lru_cache(maxsize=4096)
def amount_within(
    epsilon: Fraction, delta: Fraction, by: Measure, own: Fraction = Fraction(0)
) -> Fraction:
    """The largest amount in a measure that implies (epsilon, delta), rounded down to 12 digits.

    `own` is how much of delta is set aside for the deltas of charges. All conversions from what
    people type to what is counted are this one.

    Example:
        >>> round(float(amount_within(Fraction(1), Fraction(1, 10**6), MU_SQUARED)), 4)
        0.056
    """
    match by.name:
        case "epsilon":
            return epsilon
        case "renyi":
            order = Fraction(2) if by.order is None else by.order
            lam = Interval.of(order - 1)
            room = epsilon - (log_peak(lam) - Interval.of(delta).log()) / lam
            if room.lower > 0:
                return _shortened(room.lower)
            raise InputError(
                f"order {order} leaves nothing of epsilon {float(epsilon)}, delta {float(delta)}",
                why="converting at this order costs more than epsilon",
                fix="take the order that renyi_for(epsilon, delta) names, or a larger one",
            )
        case "mu-squared":
            mu = _last(lambda size: GDP(size).delta(epsilon).upper <= delta - own)
            return mu * mu
    return _last(lambda size: ZCDP(size, own).delta(epsilon).upper <= delta)


def _last(implies: Callable[[Fraction], bool]) -> Fraction:
    """Bisect for the largest decimal of 12 digits that still implies the target."""
    low, high = 0.0, 1.0
    while implies(Fraction(high)):
        low, high = high, high * 2
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if implies(Fraction(middle)) else (low, middle)
    return _shortened(low)


def _shortened(amount: float) -> Fraction:
    """Twelve digits, rounded down."""
    scale = Fraction(10) ** (11 - math.floor(math.log10(amount))) if amount else Fraction(1)
    return Fraction(math.floor(Fraction(amount) * scale)) / scale


def _check_same(charge: Charge, limit: Charge) -> None:
    if charge.measure == limit.measure and charge.neighbours is limit.neighbours:
        return
    raise InputError(
        f"a charge in {charge.measure.name} under {charge.neighbours.value}",
        why=f"the budget counts {limit.measure.name} under {limit.neighbours.value}",
        fix="price the mechanism with the filter's own .price(guarantee)",
    )


def _refusal(charge: Charge, left: Charge, limit: Charge) -> BudgetError:
    over = charge.amount > left.amount
    asked, rest = (charge.amount, left.amount) if over else (charge.delta, left.delta)
    name = charge.measure.name if over else "delta"
    return BudgetError(
        f"a charge of {float(asked):.6g} {name}",
        why=f"only {float(rest):.6g} is left",
        fix="ask for less accuracy, or ask the owner of the budget" + _few(limit),
        asked=float(asked),
        left=float(rest),
    )


def _few(limit: Charge) -> str:
    """A way out for few large charges: rho counts them dearly, so that many small ones fit."""
    if limit.measure != RHO or limit.stated is None:
        return ""
    epsilon, delta = map(float, limit.stated)
    how = f"Filter.basic(epsilon={epsilon:g}, delta={delta:g})"
    return f"; for few charges, {how} adds epsilons, and rho lets many small ones fit"
