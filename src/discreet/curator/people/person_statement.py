"""The owner's operations on people with budgets of their own, and each person's statement."""

import textwrap
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.curator.arguments import unknown
from discreet.curator.budget import Budget
from discreet.curator.data.data_store import DataStore
from discreet.curator.data.registry import Registry
from discreet.curator.data.table_checks import unit_kind
from discreet.curator.ledger import accounts
from discreet.curator.ledger.account_changes import unshared
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import digest
from discreet.curator.orders.planned_orders import PlannedOrder
from discreet.curator.orders.query_orders import QueryOrder
from discreet.curator.people.person_accounts import PersonAccounts, PersonCharge
from discreet.curator.people.person_limits import (
    BUDGET,
    limits_after,
    links_of,
    read_name,
    record_limit,
)
from discreet.curator.people.populations import Populations
from discreet.errors import InputError, QueryRefused
from discreet.plan.schema import EachRow, Table, Unit, counted
from discreet.privacy import ZCDP, Neighbours
from discreet.privacy.budgets.charges import Charge
from discreet.privacy.budgets.individual_balances import limit_units, units_as_rho
from discreet.privacy.guarantees.interpretation import read
from discreet.rationals import Real, non_negative

if TYPE_CHECKING:
    from discreet.curator.answer_service import AnswerService


@dataclass(frozen=True, slots=True)
class UsedRelease:
    """One question that a person's data were in: when, about what, and how much of them it took.

    `share` is the part of their whole budget.
    """

    charge: int
    time: str
    dataset: str
    asked: str
    share: float


@dataclass(frozen=True, slots=True, repr=False)
class PersonStatement:
    """What was computed with one person in it, and what all of it can have revealed.

    Where each person has a budget for `every` period, it is about the period that used most.

    Secret:
        It depends on this person's data: it is for them, from the owner, and for nobody else.
    """

    epsilon: Fraction
    delta: Fraction
    rho: Fraction
    spent: Fraction
    releases: tuple[UsedRelease, ...]
    left_out: int
    closed: bool
    every: str | None = None

    @property
    def odds(self) -> str:
        """The odds that all answers together allow, now and ever."""
        if not self.releases:
            return "Nothing was computed with you in it, so nothing about you can have been told."
        told = read(ZCDP(self.rho, neighbours=Neighbours.ADD_REMOVE), delta=self.delta)
        alone = f"Of each {self.every} by itself, and of several more: each adds to the others. "
        return alone + told if self.every else told

    def __str__(self) -> str:
        used = 100 * float(self.spent / self.rho)
        parts = len({one.charge for one in self.releases})
        price = f"epsilon = {float(self.epsilon):g}, delta = {float(self.delta):g}"
        some = ", with some of your data," if self.every else ""
        unpaid = f"left out{some} of {self.left_out} because your budget could not pay for them"
        span = f"each {self.every} (here the one that used most)" if self.every else "life"
        budget = f"Your budget for {span} is {price}; {used:.1f} % of it is used"
        lines = [
            f"{budget}, and nothing refills it.",
            "Your account is closed." if self.closed else "",
            f"Your data were part of {counted(parts, 'answer')}, and were {unpaid}.",
            f"What all of this, and all that may follow, can tell anyone: {self.odds}",
        ]
        wrapped = [textwrap.fill(line, 100) for line in lines if line]
        table = [
            f"{one.time}  {one.dataset}  {100 * one.share:.3g} %  {one.asked}"
            for one in self.releases
        ]
        return "\n\n".join([*wrapped, "\n".join(table)] if table else wrapped)

    def __repr__(self) -> str:
        return "PersonStatement(...)"  # it is about one person: nothing of it goes into a log

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, for the owner to hand over."""
        return {
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "used": float(self.spent / self.rho),
            "closed": self.closed,
            "left_out": self.left_out,
            "odds": self.odds,
            "releases": [asdict(one) for one in self.releases],
        }


class PeopleInterface(ABC):
    """The methods of owners about people who have budgets of their own."""

    _ledger: Ledger
    _data_store: DataStore
    _answer_service: "AnswerService"
    _by: str

    @property
    def _people(self) -> Populations:
        """The accounts of people."""
        return self._answer_service.people

    @abstractmethod
    def datasets(self) -> dict[str, list[str]]:
        """The tables of each dataset."""

    def person_named(self, text: str, dataset: str | None = None) -> Any:
        """The name of a person from how it is written, in the kind of the column that names them.

        Example: `curator.remove_person(curator.person_named("17"))`
        """
        return read_name(text, self._people.of(self._per_person(dataset)).name_kind)

    def limit_person(self, unit: object, *, epsilon: Real, dataset: str | None = None) -> None:
        """Let one person lose less than the others, for questions from now on; 0 is to opt out.

        `unit` is the person's name as in the data; whether they are in it is not looked at. Where
        people of several kinds have budgets, `dataset` says which.
        """
        name, population, hash_ = self._find(unit, dataset)
        if self._is_closed(population, hash_):
            raise InputError(
                "a limit for an account that is closed",
                why="the person was removed, and an account is closed for ever",
                fix="leave it so",
            )
        asked = non_negative(epsilon, "epsilon")
        _, delta = self._stated(name)
        rho = Budget.per_person(asked, delta).cap().amount if asked else Fraction(0)
        units, most = limit_units(rho), population.population.limit
        if units > most:
            raise InputError(
                "a limit above what everybody has",
                why="the budget of the dataset is a promise to every one of its people",
                fix="pass an epsilon of at most the dataset's",
            )
        record_limit(self._ledger, name, hash_, units, by=self._by)

    def remove_person(self, unit: object, *, dataset: str | None = None) -> None:
        """Close one person's account for ever: rows that are added under this name stay out.

        Their rows are in no later answer. Take them out of your own files, too.
        """
        name, population, hash_ = self._find(unit, dataset)
        if not self._is_closed(population, hash_):
            record_limit(self._ledger, name, hash_, 0, by=self._by, final=True)

    def statement_for(self, unit: object, *, dataset: str | None = None) -> PersonStatement:
        """The statement of one person: what was computed with them, and what it can have told.

        It is computed from the data, anew from the beginning. Hand it to nobody else, and to no
        analyst.
        """
        name, population, hash_ = self._find(unit, dataset)
        _, found = population.history(hash_)
        taken = [one for one in found if one.took_part and one.units]
        spent = Counter[int]()
        for one in taken:
            spent[one.account] += one.units
        epsilon, delta = self._stated(name)
        rho = units_as_rho(population.population.limit)
        return PersonStatement(
            epsilon,
            delta,
            rho,
            units_as_rho(max(spent.values(), default=0)),
            tuple(self._used(one, population.population.limit) for one in taken),
            len({one.sequence for one in found if not one.took_part}),
            self._is_closed(population, hash_),
            population.every,
        )

    def _open_people(self, dataset: str, cap: Charge) -> None:
        """Say what each person of a dataset may lose in all, for ever."""
        key, units = self._data_store.person_key(), limit_units(cap.amount)
        facts = {"dataset": dataset, "key": digest(key), "units": str(units)}
        if not any(one.facts["dataset"] == dataset for one in self._ledger.noted(BUDGET)):
            self._ledger.record(BUDGET, by=self._by, facts=facts)

    def _used(self, one: PersonCharge, limit: int) -> UsedRelease:
        filed = self._ledger.find(one.sequence)
        assert filed is not None  # noqa: S101 - narrowing: it was folded in
        asked = filed.order.asked or f"a question in Python ({filed.order.kind})"
        return UsedRelease(one.sequence, filed.time, filed.order.dataset, asked, one.units / limit)

    def _find(self, unit: object, dataset: str | None) -> tuple[str, PersonAccounts, str]:
        """The dataset, the accounts and the hash of a person's name."""
        people, name = self._people, self._per_person(dataset)
        population = people.of(name)
        return name, population, population.hash_of(unit, self._data_store.open_for([name]))

    def _per_person(self, dataset: str | None) -> str:
        """The dataset that is meant of those whose people have budgets of their own."""
        known = self.datasets()
        if dataset is not None and dataset not in known:
            raise unknown("dataset", dataset, known)
        names = [dataset] if dataset is not None else list(known)
        mine = [one for one in names if self._account_of(one).is_per_person]
        people = {self._people.of(one).population for one in mine}
        if len(people) == 1:
            return mine[0]
        raise InputError(
            f"a person of {'several populations' if people else 'no population'}",
            why="people have budgets of their own in datasets that have Budget.per_person",
            fix=f"name one dataset: {', '.join(mine)}" if mine else "ask curator.budget(dataset)",
        )

    def _account_of(self, dataset: str) -> accounts.Account:
        return self._ledger.account(accounts.dataset(dataset))

    def _stated(self, dataset: str) -> tuple[Fraction, Fraction]:
        stated = self._account_of(dataset).stated
        assert stated is not None  # noqa: S101 - narrowing: it is per person
        return stated

    def _is_closed(self, population: PersonAccounts, hash_: str) -> bool:
        said = limits_after(self._ledger, population.population.datasets)
        return any(one.facts["account"] == hash_ and one.facts.get("final") for one in said)


def check_population(unit: Unit, neighbours: Neighbours) -> None:
    """Refuse a budget for each person where nobody is named for life, or of other neighbours."""
    if isinstance(unit, EachRow) or neighbours is not Neighbours.ADD_REMOVE:
        raise InputError(
            "a budget for each person where no person can have one",
            why="an account is found by a name, and holds what adding or removing its person tells",
            fix="name the column of the person, in a curator with neighbours='add-remove'",
        )


def check_link(
    ledger: Ledger, tables: Registry, members: Sequence[accounts.Holder], *, capped: bool
) -> None:
    """Refuse a link of accounts that differ; the ledger refuses one of charges made apart."""
    known = [ledger.account(one) for one in members]
    if not any(one.is_per_person for one in known):
        return
    alike = len({(one.is_per_person, one.stated) for one in known}) == 1
    apart = not any(links_of(ledger, one.name) for one in members)
    if alike and apart and not capped:
        names = {one.name for one in members}
        found = [one.table for one in tables.tables.values() if one.dataset in names]
        tables.schema.check_same_people(one.name for one in found)
        if len({unit_kind(tables.schema, one) for one in found if isinstance(one, Table)}) == 1:
            return
    raise unshared()


def check_remeasure(planned: PlannedOrder) -> None:
    """Refuse to join answers of different participants into one."""
    if isinstance(planned, QueryOrder) and planned.plan.participants:
        raise QueryRefused(
            "an answer is to be joined with earlier ones, where people run out of budget",
            why="fewer take part each time, and the joined number would be of nobody in particular",
            fix="ask the question anew, with sql()",
            code="per-person",
        )
