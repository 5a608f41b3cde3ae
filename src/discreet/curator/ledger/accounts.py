"""Accounts: holder, cap and amount spent.

    dataset            the hard cap, against all analysts together
    analyst            one analyst within a dataset
    group              several analysts within a dataset
    link               one person's total over several datasets that hold the same people
    workbook           a share of what one analyst may still ask of a dataset, in one measure

Groups and links only grow, because what was learnt is not unlearnt.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias, get_args

from discreet.answer.present.number_text import percent
from discreet.curator.ledger.orders import MEASURES, canonical, digest, named
from discreet.errors import BudgetError, InputError, InvariantBroken
from discreet.html_view import framed, note, share_bar
from discreet.privacy.budgets.charges import (
    EPSILON,
    MU_SQUARED,
    UNITS,
    Charge,
    Measure,
    read_stated,
)
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.guarantees.gaussian import GDP
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.guarantees.zcdp import ZCDP

Kind: TypeAlias = Literal["dataset", "analyst", "group", "link", "workbook"]

_KINDS: Final = frozenset(get_args(Kind))

COLUMNS: Final = "key, measure, neighbours, cap, cap_delta, spent, spent_delta, stated, entry"
"""The columns of the table `accounts`, in the order of `Account.row`."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The owner of an account; `dataset`, `analyst`, `group`, `link` and `workbook` build it."""

    kind: Kind
    name: str
    within: str | None = None
    key: str = field(init=False, repr=False, compare=False)
    """The text that represents this holder in the ledger."""

    def __post_init__(self) -> None:
        named(self.name, self.kind)
        nested = self.kind in ("analyst", "group", "workbook")
        if self.kind not in _KINDS or nested is not isinstance(self.within, str):
            raise InputError(
                f"an account of kind {self.kind!r}",
                why="datasets and links have accounts of their own, all others within a dataset",
                fix="use dataset(name), analyst(name, within=), group(name, within=), link(name)",
            )
        if nested:
            named(self.within, "dataset")
        object.__setattr__(self, "key", canonical([self.kind, self.name, self.within]))

    @property
    def facts(self) -> dict[str, str | None]:
        """It as JSON."""
        return {"kind": self.kind, "name": self.name, "within": self.within}

    @staticmethod
    @lru_cache(maxsize=4096)
    def read(key: str) -> "Holder":
        """Read a key."""
        return Holder(*json.loads(key))

    def __str__(self) -> str:
        inside = "" if self.within is None else f" within {self.within}"
        return f"{self.kind} {self.name}{inside}"


def dataset(name: str) -> Holder:
    """All analysts of a dataset together."""
    return Holder("dataset", name)


def analyst(name: str, *, within: str) -> Holder:
    """One analyst of a dataset."""
    return Holder("analyst", name, within)


def group(name: str, *, within: str) -> Holder:
    """Several analysts of a dataset together."""
    return Holder("group", name, within)


def link(name: str) -> Holder:
    """Datasets that hold the same people."""
    return Holder("link", name)


def workbook(analyst_name: str, name: str, measure: Measure, *, within: str) -> Holder:
    """A workbook of an analyst, as far as it counts one measure."""
    return Holder("workbook", f"{analyst_name}/{workbook_name(name)} ({measure.name})", within)


def workbook_name(name: str) -> str:
    """Read the name of a workbook: one with a / could be that of another analyst."""
    if "/" in named(name, "the name of a workbook"):
        raise InputError("a workbook's name with a /", why="it separates names", fix="leave it out")
    return name


def spender(within: str, analyst_name: str | None, group_name: str | None = None) -> Holder:
    """All analysts of a dataset together, one of them, or a group."""
    if analyst_name is not None and group_name is not None:
        raise InputError(
            "an analyst and a group at once",
            why="each has a cap of its own",
            fix="name one of them",
        )
    if group_name is not None:
        return group(group_name, within=within)
    return dataset(within) if analyst_name is None else analyst(analyst_name, within=within)


@dataclass(frozen=True, slots=True, repr=False)
class Account:
    """A running total in one measure, about one kind of neighbours, under a cap.

    Guarantee:
        What was spent is a sum of costs rounded up, the cap is rounded down, and a `Filter` keeps
        the first from exceeding the second.
    Edge cases:
        `cap` None counts and never refuses. A dataset has a cap, or its people have budgets of
        their own: then `stated` is what each of them may lose. Else `stated` is the (epsilon,
        delta) that the owner typed; caps of older ledgers, and those in rho, have none.

    Example:
        >>> one = Account(dataset("visits"), EPSILON, Neighbours.ADD_REMOVE, cap=(2 * UNITS, 0))
        >>> one.after((UNITS, 0)).left.amount
        Fraction(1, 1)
        >>> one.after((UNITS // 100, 0))
        dataset visits: 0.50 % of epsilon 2 is spent; the largest epsilon that still fits is 1.99
    """

    holder: Holder
    measure: Measure
    neighbours: Neighbours
    cap: tuple[int, int] | None
    spent: tuple[int, int] = (0, 0)
    stated: tuple[Fraction, Fraction] | None = None
    entry: int = field(default=0, compare=False)
    """The newest entry that changed it."""

    @staticmethod
    def under(holder: Holder, cap: Charge) -> "Account":
        """A new account with a cap."""
        if cap.measure.name in MEASURES:
            units = cap_units(cap)
            return Account(holder, cap.measure, cap.neighbours, units, stated=cap.stated)
        raise InputError(
            f"a budget in {cap.measure.name}",
            why="the ledger adds up epsilon, rho or mu-squared",
            fix="pass the limit of Filter.basic, Filter.zcdp, Filter.gdp or Filter.within",
        )

    @staticmethod
    def per_person(holder: Holder, cap: Charge) -> "Account":
        """An account that counts the charges about people who each have a cap of their own."""
        return replace(Account.under(holder, cap), cap=None)

    @property
    def is_per_person(self) -> bool:
        """Whether every person has a budget of their own."""
        return self.cap is None and self.stated is not None

    @property
    def each(self) -> Charge | None:
        """The cap of each person, where people have budgets of their own."""
        if self.cap is not None or self.stated is None:
            return None
        return Filter.within(*self.stated, neighbours=self.neighbours).limit

    def is_under(self, cap: Charge, *, per_person: bool) -> bool:
        """Whether it was opened with a cap, for all people together or for each."""
        if per_person:
            return self.is_per_person and self.stated == cap.stated
        return self.limit == cap

    @property
    def limit(self) -> Charge | None:
        """The cap as an amount, None where there is none."""
        return None if self.cap is None else self._charge(*self.cap, self.stated)

    @property
    def filter(self) -> Filter | None:
        """The filter that guards the cap, with what was spent taken; None if there is no cap."""
        return None if self.limit is None else Filter(self.limit).charge(self.total)

    @property
    def total(self) -> Charge:
        """The amount spent."""
        return self._charge(*self.spent)

    @property
    def left(self) -> Charge | None:
        """The amount left; None without a cap."""
        return None if self.filter is None else self.filter.left

    def share(self, cost: Charge) -> float:
        """The part of the cap that a cost is: of its amount or its delta, the larger."""
        parts = zip((cost.units, cost.delta_units), self.cap or (), strict=False)
        return max((part / most for part, most in parts if most), default=0.0)

    @property
    def largest_epsilon(self) -> float:
        """The largest epsilon that still fits, at the delta the owner typed or a smaller one."""
        left = self.left
        if left is None:
            return float("inf")
        delta = self.stated[1] if self.stated else Fraction(0)
        return _largest_epsilon(self.measure, left.amount, delta or Fraction(1, 10**8))

    def __repr__(self) -> str:
        if self.limit is None:
            return f"{self.holder}: {float(self.total.amount):.6g} {self.measure.name}, no cap"
        names = ("epsilon", "delta") if self.stated else (self.measure.name, "delta")
        typed = self.stated or (self.limit.amount, self.limit.delta)
        most = ", ".join(f"{k} {float(v):.6g}" for k, v in zip(names, typed, strict=True) if v)
        return (
            f"{self.holder}: {percent(self.share(self.total))} of {most} is spent; "
            f"the largest epsilon that still fits is {self.largest_epsilon:.3g}"
        )

    def _repr_html_(self) -> str:
        return framed(note(self), share_bar(self.share(self.total)) if self.cap else "")

    def counts_like(self, other: "Account | Charge") -> bool:
        """Whether amounts of both may be added."""
        return self.measure == other.measure and self.neighbours is other.neighbours

    def after(self, cost: tuple[int, int]) -> "Account":
        """The account with a cost taken; BudgetError if it does not fit."""
        spent = self.spent[0] + cost[0], self.spent[1] + cost[1]
        if self.cap is None or _guard(self.measure, self.neighbours, self.cap).holds(*spent):
            return replace(self, spent=spent)
        assert self.filter is not None  # noqa: S101 - narrowing: it has a cap
        try:
            self.filter.charge(self._charge(*cost))
        except BudgetError as refused:
            raise self._refusal(refused, cost) from None
        raise InvariantBroken(
            f"the budget of {self.holder} is in doubt",
            why="its filter holds a charge that does not fit",
            fix="stop asking, and run `discreet ledger verify`",
        )

    @property
    def digest(self) -> str:
        """The digest of the account in the entry that last changed it."""
        return digest(canonical(self.row()[:-1]))

    def row(self) -> tuple[str | int | None, ...]:
        """The values of COLUMNS."""
        caps = (None, None) if self.cap is None else tuple(write_units(part) for part in self.cap)
        spent = tuple(write_units(part) for part in self.spent)
        stated = None if self.stated is None else " ".join(map(str, self.stated))
        said = self.holder.key, self.measure.name, self.neighbours.value
        return (*said, *caps, *spent, stated, self.entry)

    @staticmethod
    def read(row: Sequence[Any]) -> "Account":
        """Read the values of COLUMNS."""
        key, measure, neighbours, cap, cap_delta, spent, spent_delta, stated, entry = row
        caps = None if cap is None else (int(cap), int(cap_delta))
        total = int(spent), int(spent_delta)
        typed = None if stated is None else read_stated(stated)
        about = MEASURES[measure], Neighbours(neighbours)
        return Account(Holder.read(key), *about, caps, total, typed, entry)

    def _charge(
        self, units: int, delta_units: int, stated: tuple[Fraction, Fraction] | None = None
    ) -> Charge:
        amounts, about = (Fraction(units, UNITS), Fraction(delta_units, UNITS)), self.neighbours
        return Charge(*amounts, measure=self.measure, neighbours=about, stated=stated)

    def _refusal(self, refused: BudgetError, cost: tuple[int, int]) -> BudgetError:
        assert self.cap is not None  # noqa: S101 - narrowing: it refused
        over = int(cost[0] <= self.cap[0] - self.spent[0])
        most, left = max(1, self.cap[over]), self.cap[over] - self.spent[over]
        named = ("budget", "budget's delta")[over]
        less = f"an epsilon of at most about {self.largest_epsilon:.2g}", "a smaller delta"
        none = not self.cap[over]
        return BudgetError(
            "a charge with a delta"
            if none
            else f"a charge of {percent(cost[over] / most)} of the {named}",
            why=f"{self.holder} has none in its budget"
            if none
            else f"only {percent(left / most)} of it is left to {self.holder}",
            fix=f"ask for {less[over]}, or ask the owner",
            asked=refused.asked,
            left=refused.left,
        )


def budget_share(touched: Iterable[Account], prices: Iterable[Charge]) -> float | None:
    """The largest share of any capped budget that an order takes; None without a cap."""
    costs = list(prices)
    found = [
        one.share(cost) for one in touched if one.cap for cost in costs if one.counts_like(cost)
    ]
    return max(found, default=None)


@lru_cache(maxsize=4096)
def _guard(measure: Measure, neighbours: Neighbours, cap: tuple[int, int]) -> Filter:
    """The filter of a cap, with nothing spent."""
    amounts = (Fraction(units, UNITS) for units in cap)
    return Filter(Charge(*amounts, measure=measure, neighbours=neighbours))


@lru_cache(maxsize=256)
def _largest_epsilon(measure: Measure, left: Fraction, delta: Fraction) -> float:
    """The epsilon of what is left; searched for once between two charges, not with each quote."""
    if measure == EPSILON or left == 0:
        return float(left)
    whole = GDP.of_square(left) if measure == MU_SQUARED else ZCDP(left)
    return whole.epsilon(delta).lower


def read_holder(value: object) -> Holder:
    """Refuse anything but a holder."""
    if isinstance(value, Holder):
        return value
    raise InputError(
        f"an account named by a {type(value).__name__}",
        why="an account belongs to a dataset, an analyst, a group or a link",
        fix="use dataset(name), analyst(name, within=), group(name, within=) or link(name)",
    )


# --- stored amounts -----------------------------------------------------------------------------

WIDTH: Final = 78
"""Digits of stored amounts: leading zeros make texts compare as the numbers do, also in a CHECK."""

MOST: Final = 10**WIDTH - 1


def write_units(units: int) -> str:
    """A number of units as text of fixed width.

    Example:
        >>> write_units(9) < write_units(10), int(write_units(42))
        (True, 42)
    """
    if 0 <= units <= MOST:
        return f"{units:0{WIDTH}d}"
    raise InputError(
        f"an amount of {units // UNITS:.3g}",
        why=f"a ledger holds amounts from 0 to {MOST // UNITS:.3g}",
        fix="use a budget that protects somebody",
    )


def cost_units(charge: Charge) -> tuple[int, int]:
    """A cost in whole units, rounded up: amount, then delta."""
    return charge.units, charge.delta_units


def cap_units(cap: Charge) -> tuple[int, int]:
    """A limit in whole units, rounded down: amount, then delta."""
    return cap.amount * UNITS // 1, cap.delta * UNITS // 1
