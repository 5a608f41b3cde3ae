"""The interface of guarantees for users and for the accountant.

The public face is `Guarantee`: epsilon(delta), delta(epsilon), rdp(alpha), rho(), tradeoff(alpha),
group(k), under(neighbours) and a dictionary that survives storage. Below it are six hooks that a
family fills in as far as its theory goes:

    log_mgf(order, direction)   log E[e^(order Z); Z < infinity] at a real order, as an Interval
    moments(line, direction)    the same at complex orders, floats with a rigorous error (Moments)
    closed_form()               a named shape with one parameter, for families that are one
    infinity(direction)         the probability under P that the loss is infinite
    atoms(direction)            the whole law of the loss, when it is discrete and small
    capped(cap)                 the same guarantee with its far tail folded in, where it is heavy

A family whose dominating pair is not symmetric lists both `directions` and answers the hooks for
each. A family without any dominating pair (an RDP curve) answers None to `moments` and composes by
`log_mgf` alone.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeAlias, TypeVar, overload

import numpy as np

from discreet.errors import InputError
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.numerics import shapes
from discreet.privacy.numerics.inversion import best_tradeoff, invert
from discreet.privacy.numerics.moments import Atoms, Direction, Moments, OrderLine
from discreet.privacy.numerics.rounding import Bound, Interval, Number
from discreet.privacy.numerics.shapes import Shape
from discreet.rationals import Real, non_negative, positive, rational, read_exact, whole


@dataclass(frozen=True, slots=True)
class Guarantee(ABC):
    """An upper bound on what one mechanism, or many together, reveals about one person.

    Guarantee:
        Every number answered is on the safe side of the truth for the worst mechanism and the worst
        pair of neighbours the fields describe: `delta`, `epsilon`, `rdp` and `rho` from above,
        `tradeoff` from below.
    Neighbours:
        Carried in `neighbours`; guarantees about different neighbours never mix.
    """

    kind: ClassVar[str] = ""
    directions: ClassVar[tuple[Direction, ...]] = (Direction.REMOVE,)

    neighbours: Neighbours = field(default=Neighbours.ADD_REMOVE, kw_only=True)

    # --- what users ask -------------------------------------------------------------------------

    def epsilon(self, delta: Real = 0) -> Bound:
        """The smallest epsilon with which (epsilon, delta)-differential privacy holds."""
        return self._epsilon(below_one(delta, "delta"))

    def delta(self, epsilon: Real) -> Bound:
        """The smallest delta with which (epsilon, delta)-differential privacy holds."""
        return self._delta(non_negative(epsilon, "epsilon"))

    def rdp(self, alpha: Real) -> Bound:
        """The Renyi divergence of order alpha > 1, the larger over both directions.

        Infinite where the loss itself can be infinite.
        """
        order = rational(alpha, "alpha") - 1
        if order <= 0:
            raise InputError(f"alpha is {alpha}", why="orders start above 1", fix="pass alpha > 1")
        if any(self.infinity(way).hi > 0 for way in self.directions):
            return Bound(math.inf, math.inf, "infinite loss")
        worst = self.log_mgf(order, self.directions[0])
        for way in self.directions[1:]:
            worst = worst.join(self.log_mgf(order, way))
        return (worst / order).bound("rdp")

    def rho(self) -> Bound:
        """The smallest rho of zero-concentrated differential privacy: rdp(alpha) <= rho alpha.

        Raises InputError where there is none.
        """
        raise InputError(
            f"{type(self).__name__} has no rho",
            why="its loss is not concentrated at every order",
            fix="ask for .epsilon(delta) or .rdp(alpha) instead",
        )

    @overload
    def tradeoff(self, alpha: Real) -> float: ...
    @overload
    def tradeoff(self, alpha: Iterable[Real]) -> list[float]: ...
    def tradeoff(self, alpha: Real | Iterable[Real]) -> float | list[float]:
        """The type-II error of the best attacker at type-I error `alpha`, from below.

        Of a list or an array it is the list of errors.

        Why: (epsilon, delta) holds exactly when the error curve is above the two lines
        1 - delta - e^epsilon alpha and e^-epsilon (1 - delta - alpha); the best of them is taken.
        Reference: Dong, Roth, Su, Gaussian Differential Privacy (f and the profile are dual).
        """
        if np.ndim(alpha):  # type: ignore[arg-type]  # of fractions too
            return [self.tradeoff(one) for one in alpha]  # type: ignore[union-attr]
        level = non_negative(alpha, "alpha")  # type: ignore[arg-type]  # it refuses texts
        if level > 1:
            raise InputError(f"alpha is {alpha}", why="it is a probability", fix="pass alpha <= 1")
        return self._tradeoff(level)

    if not TYPE_CHECKING:  # which knows better

        def __getattr__(self, name: str) -> Any:
            has = "epsilon(delta), delta(epsilon), rdp(alpha), rho(), tradeoff(alpha), group(k)"
            text = f"{type(self).__name__} has no {name}: it has {has}"
            raise AttributeError(text, name=name, obj=self)

    @staticmethod
    def of(given: Any) -> Any:
        """A guarantee as it is, and that of a mechanism; anything else as it is."""
        return given if isinstance(given, Guarantee) else getattr(given, "guarantee", given)

    @abstractmethod
    def group(self, k: int) -> "Guarantee":
        """The guarantee for k people at once."""

    def under(self, neighbours: Neighbours) -> "Guarantee":
        """The same guarantee about other neighbours.

        Why: changing one person is removing one and adding one, so group privacy for two carries
        add/remove over to change-one. The way back does not exist: a mechanism that prints the
        number of people is perfectly private under change-one and not private under add/remove.
        """
        wanted = Neighbours(neighbours)
        if wanted is self.neighbours:
            return self
        if wanted is Neighbours.CHANGE_ONE:
            return about(self.group(2), wanted)
        raise InputError(
            f"{type(self).__name__} is about changing one person",
            why="that keeps the number of people public and so says nothing about adding one",
            fix="state the mechanism's own add/remove guarantee",
        )

    # --- storage --------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, object]:
        """Plain strings, ints, lists and dictionaries; `from_dict` reads them back."""
        facts = {
            _parameter(part.name): _plain(getattr(self, part.name))
            for part in fields(self)
            if not part.name.startswith("_")  # caches
        }
        return {"kind": self.kind, **facts}

    @staticmethod
    def from_dict(stored: Mapping[str, object]) -> "Guarantee":
        """Read what `to_dict` wrote. A kind never changes its meaning; a new one is a new kind."""
        facts = dict(stored)
        maker = _KINDS.get(str(facts.pop("kind", None)))
        if maker is None:
            raise InputError(
                f"guarantee kind {stored.get('kind')!r}",
                why="this release knows no such kind and will not guess",
                fix="read it with the release that wrote it, or a later one",
            )
        try:
            about = Neighbours(facts.pop("neighbours", None))
            return maker(**{name: _rich(part) for name, part in facts.items()}, neighbours=about)
        except (TypeError, ValueError, ZeroDivisionError) as wrong:
            raise InputError(
                f"a stored {stored['kind']} cannot be read",
                why=str(wrong).rstrip("."),
                fix="restore it from an intact copy",
            ) from wrong

    # --- what accountants ask -------------------------------------------------------------------

    @abstractmethod
    def log_mgf(self, order: Number, direction: Direction = Direction.REMOVE) -> Interval:
        """Enclose log E[e^(order Z); Z < infinity] at a real order > 0: order x rdp(order + 1)."""

    def moments(self, line: OrderLine, direction: Direction = Direction.REMOVE) -> Moments | None:
        """The moments on a line of complex orders; None where there is no dominating pair.

        Those of the closed form, where there is one. An implementation by quadrature adds its
        quadrature error to `Moments.error` and `Moments.log_error`; both must be rigorous, because
        every figure of the contour accountant rests on them.
        """
        form = self.closed_form()
        return None if form is None else shapes.single(*form, line)

    def closed_form(self) -> tuple[Shape, float] | None:
        """The one-parameter shape of the finite loss in both directions, where it has one.

        It speaks of the loss given that it is finite; `infinity` is charged apart. The accountant
        then handles thousands at once; everything else goes through `moments`, one by one.
        """
        return None

    def infinity(self, direction: Direction = Direction.REMOVE) -> Interval:
        """The probability under P of an outcome that is impossible under Q."""
        return _NEVER

    def atoms(self, direction: Direction = Direction.REMOVE) -> Atoms | None:
        """The law of the finite loss as a short list of atoms; None where it is not one."""
        return None

    def capped(self, cap: float) -> "Guarantee | None":
        """A dominating guarantee of bounded loss and the same delta up to epsilon = cap.

        None where it would gain nothing: where the tail of the loss is as light as its bulk.
        """
        return None

    # --- what families refine -------------------------------------------------------------------

    @abstractmethod
    def _delta(self, epsilon: Fraction) -> Bound:
        """Answer `delta` for a valid epsilon."""

    def _epsilon(self, delta: Fraction) -> Bound:
        """Answer `epsilon` for a valid delta: by bracketing `_delta`, which never increases."""
        return invert(self._delta, delta)

    def _tradeoff(self, alpha: Fraction) -> float:
        """Answer `tradeoff` for a valid alpha: from the profile delta(epsilon)."""
        return best_tradeoff(self._delta, alpha)


Part: TypeAlias = Guarantee | tuple[Guarantee, int]
"""A guarantee, or a guarantee and how often it is composed."""


def counted_parts(parts: Any, *more: Any) -> list[tuple[Guarantee, int]]:
    """Every part with its count, at least 1; one part may be followed by its count."""
    if len(more) == 1 and isinstance(more[0], (int, np.integer)):
        parts, more = [(parts, more[0])], ()
    parts = parts.items() if isinstance(parts, Mapping) else parts
    listed = parts if isinstance(parts, Iterable) and not more else [parts, *more]
    return [_counted(*one) if isinstance(one, tuple) else _counted(one) for one in listed]


def _counted(part: Any, count: Any = 1, *more: Any) -> tuple[Guarantee, int]:
    """A guarantee, or that of a mechanism, and how often; a number may mean either: refused."""
    one = Guarantee.of(part)
    if isinstance(one, Guarantee) and not more:
        once = type(count) is int and count == 1  # as most are
        return one, 1 if once else whole(count, "count", at_least=1)
    raise InputError(
        f"a {type(part).__name__} in a composition",
        why="only guarantees compose",
        fix="pass guarantees, mechanisms, or pairs (guarantee, n): dp.compose(dp.Pure(0.1), 10)",
    )


Family = TypeVar("Family", bound=type[Guarantee])

_NEVER: Final = Interval.of(0)
_KINDS: Final[dict[str, Callable[..., Guarantee]]] = {}


def stored_as(kind: str) -> Callable[[Family], Family]:
    """Give a family the name it is stored under, for ever."""

    def register(family: Family) -> Family:
        family.kind = kind
        _KINDS[kind] = family
        return family

    return register


def fill(value: object, **facts: object) -> None:
    """Set the fields of a frozen value while it is being born; neighbours may be given by name."""
    for name, fact in facts.items():
        known = Neighbours(fact) if name == "neighbours" else fact
        object.__setattr__(value, name, known)


def about(guarantee: Guarantee, neighbours: Neighbours) -> Guarantee:
    """The same numbers, said about other neighbours; only proofs of that may call this."""
    twin = copy(guarantee)
    fill(twin, neighbours=neighbours)
    return twin


def people(k: int) -> int:
    """Read the size of a group."""
    return whole(k, "k", at_least=1)


@dataclass(frozen=True, slots=True, init=False)
class OneParameter(Guarantee):
    """A family whose loss has one `shape`, stretched by epsilon; k people stretch it k times."""

    shape: ClassVar[Shape]

    epsilon0: Fraction

    def __init__(self, epsilon: Real, *, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> None:
        fill(self, epsilon0=positive(epsilon, "epsilon"), neighbours=neighbours)

    def group(self, k: int) -> Self:
        """K people cost k epsilon."""
        return type(self)(people(k) * self.epsilon0, neighbours=self.neighbours)

    def closed_form(self) -> tuple[Shape, float]:
        """The shape, at epsilon."""
        return self.shape, float(self.epsilon0)


def below_one(value: Real, name: str) -> Fraction:
    """Read a probability that is not 1."""
    exact = non_negative(value, name)
    if exact < 1:
        return exact
    raise InputError(f"{name} is {value}", why="it is a probability below 1", fix="lower it")


def _parameter(name: str) -> str:
    """A field epsilon0 stores the parameter epsilon, whose name is taken by the method."""
    return name.removesuffix("0")


def _plain(value: object) -> object:
    match value:
        case Fraction():
            return str(value)
        case Neighbours():
            return value.value
        case Guarantee():
            return value.to_dict()
        case tuple():
            return [_plain(part) for part in value]
    return value


def _rich(value: object) -> object:
    match value:
        case str():
            return read_exact(value)
        case Mapping():
            return Guarantee.from_dict(value)
        case list() | tuple():
            return tuple(_rich(part) for part in value)
    return value


_SHARES = 4
"""Epsilons at which the bound of a group is tried."""


@stored_as("grouped/1")
@dataclass(frozen=True, slots=True, init=False)
class GroupPrivacy(Guarantee):
    """A guarantee for one person, read as one for k people.

    Guarantee:
        delta_k(epsilon) = delta(epsilon/k) (e^epsilon - 1)/(e^(epsilon/k) - 1), at most 1.
    Why:
        (epsilon, delta) holds between each of the k steps from one dataset to the other, and each
        step multiplies by e^epsilon and adds delta.
    Edge cases:
        Renyi moments of a group are not bounded by those of one person; `rdp` is infinite, and a
        composition uses the (epsilon, delta) profile.

    Reference: Vadhan, The Complexity of Differential Privacy (group privacy).
    """

    guarantee: Guarantee
    k: int

    def __init__(
        self, guarantee: Guarantee, k: int, *, neighbours: Neighbours | None = None
    ) -> None:
        about = guarantee.neighbours if neighbours is None else neighbours
        fill(self, guarantee=guarantee, k=people(k), neighbours=about)

    def group(self, k: int) -> "GroupPrivacy":
        """A group of groups."""
        return GroupPrivacy(self.guarantee, people(k) * self.k, neighbours=self.neighbours)

    def log_mgf(self, order: Number, direction: Direction = Direction.REMOVE) -> Interval:
        """Unbounded."""
        return Interval.between(0, float("inf"))

    def _delta(self, epsilon: Fraction) -> Bound:
        below = self.guarantee.delta(epsilon)
        # The bound is not monotone in epsilon but delta is, so any smaller epsilon's bound holds
        # too, and that of 0 always.
        above = min(self._chained(epsilon * share / _SHARES) for share in range(_SHARES + 1))
        return Bound(below.lower, max(below.lower, min(above, 1.0)), f"group of {self.k}")

    def _chained(self, epsilon: Fraction) -> float:
        """Delta after k steps of (epsilon/k, delta)."""
        each = epsilon / self.k
        e = Interval.of(epsilon)
        grown = e.expm1() / Interval.of(each).expm1() if epsilon else Interval.of(self.k)
        return (grown * self.guarantee.delta(each).upper).upper
