"""The cost of adaptively chosen questions.

Four measures add up then, by theorems that allow parameters to depend on what was seen:

    EPSILON        sums of (epsilon, delta)          Rogers, Roth, Ullman, Vadhan 2016
    RHO            sums of approximate zCDP          Whitehouse, Ramdas, Rogers, Wu 2023
    renyi(order)   sums at an order fixed up front   Feldman, Zrnic 2021
    MU_SQUARED     sums of the squares of mu         Smith, Thakurta 2022

Deltas add up beside the first two and beside mu^2: a mechanism that is (mu, delta)-Gaussian is
Gaussian but for a probability delta, and these are summed
(`docs/explanation/proofs/gaussian-accounts.md`).

Reference: in the same order, Privacy Odometers and Filters; Fully-Adaptive Composition in
Differential Privacy (the filter for approximate zCDP); Individual Privacy Accounting via a Renyi
Filter (the Renyi filter); Fully Adaptive Composition for Gaussian Differential Privacy.

Numerical composition is not among them: stopping when a composed loss distribution meets a budget
is not private when parameters were chosen from answers. A composition therefore costs the sum of
its parts' prices, by `price_sum`. In MU_SQUARED it may cost less: parts that are fixed in advance
are one mechanism, and that is charged for the Gaussian curve above its own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias

from discreet.errors import InputError
from discreet.privacy.budgets.domination import dominating_mu
from discreet.privacy.composition.composed import Composed, compose
from discreet.privacy.guarantees.bounded_range import BoundedRange, Ranges
from discreet.privacy.guarantees.gaussian import GDP, DiscreteGaussianNoise, GaussianNoise
from discreet.privacy.guarantees.guarantee import Guarantee, fill
from discreet.privacy.guarantees.laplace import DiscreteLaplaceNoise, LaplaceNoise
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.guarantees.pure import Approximate, Pure, least_mu
from discreet.privacy.guarantees.randomized_response import RandomizedResponseNoise
from discreet.privacy.guarantees.renyi import RDP
from discreet.privacy.guarantees.subsampled import Subsampled
from discreet.privacy.guarantees.zcdp import ZCDP
from discreet.privacy.numerics.rounding import PI, Bound
from discreet.rationals import Real, non_negative, probability, rational, read_exact

Bounded: TypeAlias = (
    Pure | LaplaceNoise | DiscreteLaplaceNoise | RandomizedResponseNoise | BoundedRange
)
"""Guarantees whose loss never exceeds their epsilon."""

Chargeable: TypeAlias = (
    Bounded | Approximate | ZCDP | RDP | GDP | GaussianNoise | DiscreteGaussianNoise | Subsampled
)
"""Guarantees of one mechanism that may be charged adaptively."""

UNITS: Final = 720_720 * 10**60
"""Units in 1. Amounts are counted in whole units, charges rounded up and limits down, so that
totals are exact integers of bounded size, and decimals and small fractions (thirds, sevenths) are
exact."""


def units(amount: Fraction) -> int:
    """An amount in whole units, rounded up."""
    return -(-amount * UNITS // 1)


@dataclass(frozen=True, slots=True)
class Measure:
    """One way of adding up; build it with EPSILON, RHO, MU_SQUARED or `renyi(order)`."""

    name: Literal["epsilon", "rho", "renyi", "mu-squared"]
    order: Fraction | None = None

    def __post_init__(self) -> None:
        if (self.order is not None) is not (self.name == "renyi"):
            raise InputError(
                f"measure {self.name} of order {self.order}",
                why="a Renyi measure has an order, the others have none",
                fix="use EPSILON, RHO, MU_SQUARED or renyi(order)",
            )


EPSILON: Final = Measure("epsilon")
"""Adds up the epsilons of pure privacy."""
RHO: Final = Measure("rho")
"""Adds up the rhos of zero-concentrated privacy."""
MU_SQUARED: Final = Measure("mu-squared")
"""Adds up the squared mus of Gaussian privacy."""


def renyi(order: Real) -> Measure:
    """Renyi divergence of one order, which has to be chosen before the first answer."""
    alpha = rational(order, "order")
    if alpha > 1:
        return Measure("renyi", alpha)
    raise InputError(f"order is {order}", why="orders start above 1", fix="pass order > 1")


@dataclass(frozen=True, slots=True)
class Charge:
    """An exact cost in one measure, about one kind of neighbours.

    Guarantee:
        `units` and `delta_units` are at least the amounts they stand for.
    Edge cases:
        A cost of 0 is a charge. Renyi charges have no delta: nothing here proves a filter of both.
        `stated` is the (epsilon, delta) that somebody typed and a limit was converted from.

    Example:
        >>> Charge(0.1, measure=EPSILON).amount
        Fraction(1, 10)
    """

    amount: Fraction
    delta: Fraction
    measure: Measure
    neighbours: Neighbours
    stated: tuple[Fraction, Fraction] | None = field(repr=False, compare=False)
    units: int = field(repr=False, compare=False)
    delta_units: int = field(repr=False, compare=False)

    def __init__(
        self,
        amount: Real,
        delta: Real = 0,
        *,
        measure: Measure,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
        stated: tuple[Fraction, Fraction] | None = None,
    ) -> None:
        cost, slip = non_negative(amount, "amount"), probability(delta, "delta")
        if slip and measure.order is not None:
            raise InputError(
                f"a {measure.name} charge with delta {delta}",
                why="only epsilon, rho and mu-squared have a delta that adds up",
                fix="charge it by MU_SQUARED, RHO or EPSILON",
            )
        fill(self, amount=cost, delta=slip, units=units(cost), delta_units=units(slip))
        fill(self, measure=measure, neighbours=neighbours, stated=stated)

    def __repr__(self) -> str:
        slip = f", delta {float(self.delta):.4g}" if self.delta else ""
        amount = f"{float(self.amount):.6g} {self.measure.name}"
        return f"Charge({amount}{slip}, {self.neighbours.value})"

    def to_dict(self) -> dict[str, str]:
        """Plain strings; `from_dict` reads them back."""
        order = {} if self.measure.order is None else {"order": str(self.measure.order)}
        return {
            "measure": self.measure.name,
            **order,
            "amount": str(self.amount),
            "delta": str(self.delta),
            "neighbours": self.neighbours.value,
            **({} if self.stated is None else {"stated": " ".join(map(str, self.stated))}),
        }

    @staticmethod
    def from_dict(stored: Mapping[str, str]) -> "Charge":
        """Read what `to_dict` wrote."""
        try:
            order = stored.get("order")
            measure = _MEASURES[stored["measure"]] if order is None else renyi(read_exact(order))
            amount, delta = read_exact(stored["amount"]), read_exact(stored["delta"])
            about, said = Neighbours(stored["neighbours"]), stored.get("stated")
            typed = None if said is None else read_stated(said)
        except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as wrong:
            raise unreadable("charge", wrong) from wrong
        return Charge(amount, delta, measure=measure, neighbours=about, stated=typed)


def read_stated(text: str) -> tuple[Fraction, Fraction]:
    """Read a stored (epsilon, delta)."""
    epsilon, delta = map(read_exact, text.split(" "))
    return epsilon, delta


_MEASURES: Final[dict[str, Measure]] = {one.name: one for one in (EPSILON, RHO, MU_SQUARED)}


@dataclass(frozen=True, slots=True, eq=False)
class ChargeHistory:
    """An append-only list of charges; appending shares everything that was there before.

    Example:
        >>> one = ChargeHistory().append(Charge(0.5, measure=RHO))
        >>> two = one.append(Charge(0.25, measure=RHO))
        >>> len(one), [charge.amount for charge in two]
        (1, [Fraction(1, 2), Fraction(1, 4)])
    """

    length: int = 0
    _last: "tuple[Charge, object] | None" = field(default=None, repr=False)

    def append(self, charge: Charge) -> "ChargeHistory":
        """The list with one more charge, in constant time and memory."""
        return ChargeHistory(self.length + 1, (charge, self._last))

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Charge]:
        newest, link = [], self._last
        while link is not None:
            charge, link = link  # type: ignore[assignment]
            newest.append(charge)
        return reversed(newest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChargeHistory) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash((self.length, self._last and self._last[0]))

    def __reduce__(self) -> tuple[object, ...]:
        # A chain of links would be pickled recursively.
        return _relink, (tuple(self),)


def _relink(charges: Iterable[Charge]) -> ChargeHistory:
    history = ChargeHistory()
    for charge in charges:
        history = history.append(charge)
    return history


def price(guarantee: Chargeable, measure: Measure, *, tail: Real = 0) -> Charge:
    """The cost of a mechanism with this guarantee in a measure, exactly or rounded up.

    `tail` is a delta that MU_SQUARED may charge beside mu^2, for losses without a bound.

    Edge cases: a guarantee that the measure cannot express is refused, never approximated silently.

    Example:
        >>> price(GaussianNoise(0.1), RHO).amount, price(LaplaceNoise(0.1), EPSILON).amount
        (Fraction(1, 200), Fraction(1, 10))
    """
    guarantee = Guarantee.of(guarantee)
    cost, delta = _cost(_chargeable(guarantee, measure), measure, probability(tail, "tail"))
    return Charge(cost, delta, measure=measure, neighbours=guarantee.neighbours)


def _cost(
    guarantee: Chargeable, measure: Measure, tail: Fraction = Fraction(0)
) -> tuple[Fraction, Fraction]:
    if measure == MU_SQUARED:
        return _in_mu_squared(guarantee, tail)
    return _PRICES[measure.name](guarantee, measure)


def price_sum(whole: Composed, measure: Measure, *, tail: Real = 0) -> Charge:
    """The joint cost of mechanisms with parameters fixed in advance: the sum of their prices.

    Guarantee:
        No more than what charging the parts one by one costs, which every measure allows. In
        MU_SQUARED all parts but Gaussian ones are charged for the curve of their composition, where
        that is less; the far tail of losses without a bound is charged as the delta `tail`.
    Edge cases:
        Nothing composed costs 0. A part that has no price of its own, such as shuffled reports, is
        refused, and so is one that the measure cannot express.

    Example:
        >>> from discreet.privacy.composition.composed import compose
        >>> price_sum(compose([(LaplaceNoise(0.1), 5), Pure(0.25)]), EPSILON).amount
        Fraction(3, 4)
    """
    parts = [(_chargeable(one, measure), count) for one, count in whole.parts]
    slip = probability(tail, "tail") if tail != 0 else Fraction(0)
    cost = _whole(parts, slip) if measure == MU_SQUARED else _sum(parts, measure)
    return Charge(cost[0], min(Fraction(1), cost[1]), measure=measure, neighbours=whole.neighbours)


def _sum(parts: Sequence[tuple[Chargeable, int]], measure: Measure) -> tuple[Fraction, Fraction]:
    costs = [(*_cost(one, measure), count) for one, count in parts]
    return (
        sum((amount * count for amount, _, count in costs), Fraction(0)),
        sum((delta * count for _, delta, count in costs), Fraction(0)),
    )


def _whole(parts: list[tuple[Chargeable, int]], tail: Fraction) -> tuple[Fraction, Fraction]:
    """The mu^2 of Gaussian parts and of the curve of all others, and the deltas."""
    apart = [(one, n) for one, n in parts if isinstance(one, (GDP, GaussianNoise, Ranges))]
    cost, delta = _sum(apart, MU_SQUARED)
    others: list[tuple[Chargeable, int]] = []
    for one, count in parts:
        if isinstance(one, Approximate):  # all but delta of it is randomized response
            delta += one.delta0 * count
            others.append((Pure(one.epsilon0, neighbours=one.neighbours), count))
        elif (one, count) not in apart:
            others.append((one, count))
    together = [(one, count) for one, count in others if not isinstance(one, Pure) or one.epsilon0]
    if not together:
        return cost, delta
    bounded = all(isinstance(one, Bounded) for one, _ in together)
    slip = Fraction(0) if bounded else tail
    if sum(count for _, count in together) == 1:
        alone = _in_mu_squared(together[0][0], slip)
        return cost + alone[0], delta + alone[1]
    if not bounded:
        return cost + dominating_mu(compose(together), slip) ** 2, delta + slip
    return cost + _least(compose(together), _sum(together, MU_SQUARED)[0]), delta


def _least(bounded: Guarantee, proved: Fraction) -> Fraction:
    """The mu^2 of a curve where that is less than what was `proved`, or what was."""
    with suppress(InputError):  # the curve of what hardly protects is above all Gaussian ones
        return min(proved, dominating_mu(bounded) ** 2)
    return proved


def _chargeable(guarantee: object, measure: Measure) -> Chargeable:
    if isinstance(guarantee, Chargeable):
        return guarantee
    raise InputError(
        f"{type(guarantee).__name__} has no cost in {measure.name}",
        why="only what one mechanism guarantees adds up, whatever is asked next",
        fix="price such a guarantee, or a composition fixed in advance with .price_sum",
    )


def _in_epsilon(guarantee: Chargeable, measure: Measure) -> tuple[Fraction, Fraction]:
    match guarantee:
        case Approximate():
            return guarantee.epsilon0, guarantee.delta0
        case Subsampled():
            return _finite(guarantee, guarantee.epsilon(0), measure)
        case ZCDP() | RDP() | GDP() | GaussianNoise() | DiscreteGaussianNoise():
            raise _inexpressible(guarantee, measure)
    return guarantee.epsilon0, Fraction(0)


def _in_rho(guarantee: Chargeable, measure: Measure) -> tuple[Fraction, Fraction]:
    match guarantee:
        case ZCDP():
            return guarantee.rho0, guarantee.delta0
        case Approximate():
            # All but delta of it is randomized response (see `Approximate`).
            return Fraction(Pure(guarantee.epsilon0).rho().upper), guarantee.delta0
        case GDP() | GaussianNoise():
            return guarantee.mu * guarantee.mu / 2, Fraction(0)
        case DiscreteGaussianNoise():
            return guarantee.sensitivity**2 / (2 * guarantee.variance), Fraction(0)
        case BoundedRange():
            return guarantee.epsilon0 * guarantee.epsilon0 / 8, Fraction(0)
        case RDP():
            raise _inexpressible(guarantee, measure)
    return _finite(guarantee, guarantee.rho(), measure)


def _in_renyi(guarantee: Chargeable, measure: Measure) -> tuple[Fraction, Fraction]:
    order = Fraction(2) if measure.order is None else measure.order
    return _finite(guarantee, guarantee.rdp(order), measure)


def _in_mu_squared(guarantee: Chargeable, tail: Fraction) -> tuple[Fraction, Fraction]:
    match guarantee:
        case GDP() | GaussianNoise():
            return guarantee.mu * guarantee.mu, Fraction(0)
        case Ranges():
            return Fraction((PI * guarantee.rho0).upper), guarantee.delta0
        case BoundedRange():
            # The worst coin is the one in the middle: see `Ranges`.
            return least_mu(guarantee.epsilon0 / 2) ** 2, Fraction(0)
        case Approximate():
            return least_mu(guarantee.epsilon0) ** 2, guarantee.delta0
        case Pure() | RandomizedResponseNoise() | DiscreteLaplaceNoise():
            return least_mu(guarantee.epsilon0) ** 2, Fraction(0)
    most = guarantee.epsilon(0).upper
    if most < float("inf"):
        return _least(guarantee, least_mu(Fraction(most)) ** 2), Fraction(0)
    if not tail:
        raise _inexpressible(guarantee, MU_SQUARED)
    return dominating_mu(guarantee, tail) ** 2, tail


def _finite(guarantee: Chargeable, cost: Bound, measure: Measure) -> tuple[Fraction, Fraction]:
    if cost.upper == float("inf"):
        raise _inexpressible(guarantee, measure)
    return Fraction(cost.upper), Fraction(0)


def _inexpressible(guarantee: Guarantee, measure: Measure) -> InputError:
    return InputError(
        f"{type(guarantee).__name__} has no cost in {measure.name}",
        why="it promises less than that measure needs",
        fix="charge it by RHO, by MU_SQUARED with a tail, or state a weaker guarantee",
    )


_PRICES: Final = {"epsilon": _in_epsilon, "rho": _in_rho, "renyi": _in_renyi}


def stored_charges(stored: Mapping[str, Any]) -> list[Charge]:
    """Read the charges of a stored filter or odometer."""
    listed = stored.get("charges")
    if not isinstance(listed, (list, tuple)):
        raise unreadable("list of charges", KeyError("charges"))
    return [Charge.from_dict(charge) for charge in listed]


def unreadable(what: str, wrong: Exception) -> InputError:
    """The error for something stored that is not whole."""
    return InputError(
        f"a stored {what} cannot be read",
        why=f"{type(wrong).__name__} {wrong}".rstrip("."),
        fix="restore it from an intact copy",
    )


def check_kind(stored: Mapping[str, Any], kind: str) -> None:
    """Refuse to read what something else wrote."""
    if stored.get("kind") != kind:
        raise InputError(
            f"stored kind {stored.get('kind')!r}",
            why=f"this release reads {kind} here and will not guess",
            fix="read it with the release that wrote it, or a later one",
        )
