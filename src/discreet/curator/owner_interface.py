"""The owner's operations, on a local curator or a server."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Unpack

from discreet.curator.arguments import (
    AppendArguments,
    read_columns,
    read_table,
    several,
    spelled_out,
)
from discreet.curator.budget import Budget
from discreet.curator.data.intake import ColumnDeclarations
from discreet.curator.data.load_report import PUBLIC, confirmed
from discreet.curator.ledger import accounts
from discreet.curator.ledger.accounts import Account, Holder
from discreet.curator.people.person_statement import PeopleAdmin, PersonStatement
from discreet.engines.reading import Reading
from discreet.errors import InputError
from discreet.plan.kinds import Kind
from discreet.plan.schema import Bounds, Keys, Limits, Person, Unit
from discreet.rationals import Real


@dataclass(frozen=True, slots=True)
class NewTable:
    """A table to be added, in the words of its owner; a public one has a `key` and no `unit`."""

    name: str
    columns: ColumnDeclarations
    unit: Unit | None = None
    budget: Budget | None = None
    dataset: str | None = None
    limits: Limits | None = None
    source_table: str | None = None
    max_table_rows: int | None = None
    version_label: str | None = None
    key: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.unit is not None and (self.budget is None) is (self.dataset is None):
            has = "neither a budget nor a dataset" if self.budget is None else "both"
            raise InputError(
                f"{self.name} has {has}",
                why="a table either starts a dataset with a budget of its own or shares another's",
                fix="pass budget=Budget(epsilon=..., delta=...) or dataset='name'",
            )


@dataclass(frozen=True, slots=True)
class AccountChange:
    """An account to open under a cap, or without one; or, with a `reason`, its cap to change."""

    holder: Holder
    budget: Budget | None
    members: tuple[Holder, ...] = ()
    reason: str | None = None


class OwnerBackend(ABC):
    """The few things that every method of owners comes down to."""

    @abstractmethod
    def add(self, source: Any, new: NewTable) -> None:
        """Keep one more table, private or public."""

    @abstractmethod
    @spelled_out
    def append(self, name: str, rows: Any, **said: Unpack[AppendArguments]) -> int:
        """Add rows to a private table; the version of its dataset that begins with them."""

    @abstractmethod
    def retire(self, dataset: str, reason: str) -> None:
        """End a dataset for ever."""

    @abstractmethod
    def change(self, change: AccountChange) -> Account:
        """Open an account, or change its cap for ever."""


class OwnerInterface(ABC):
    """The methods of owners, written once for all who have them."""

    # --- tables ---------------------------------------------------------------------------------

    def add(
        self,
        name: str,
        source: Any,
        *,
        unit: str | Unit,
        budget: Budget | None = None,
        dataset: str | None = None,
        columns: Mapping[str, Bounds | Keys] | None = None,
        kinds: Mapping[str, Kind | str] | None = None,
        required: Iterable[str] = (),
        limits: Limits | None = None,
        source_table: str | None = None,
        max_table_rows: int | None = None,
        version_label: str | None = None,
        reading: Reading | Mapping[str, Any] | None = None,
        confirm: str | Collection[str] = (),
    ) -> None:
        """Add a private table: a new dataset with a budget, or one more table of a `dataset`.

        `source` is a file, a frame, or the address of a server that keeps the table
        (postgresql://host/database, sc://host:15002, or a SparkSession). `describe` reports what
        would be kept, lost and asked.

        `unit` is the column that names the person, a key path, or EachRow(). `columns` says what is
        known of columns, `kinds` of which kind they are where a CSV file cannot tell; `required`
        lists columns that are never NULL. `reading` says how texts are read. What `describe`
        proposes from the data is used where you `confirm` that it is public knowledge: "kinds",
        names of columns, or "all". `source_table` is the table or sheet to read.
        `version_label` stands for the rows that a server has, which are known by a digest
        otherwise: whoever states one promises that they do not change under it.
        `max_table_rows` is a public bound on the rows of the table, which estimates of time rest
        on; without one it is the next power of ten, 10,000 at least.
        """
        said = ColumnDeclarations(
            read_table(unit, limits, columns),
            kinds or {},
            frozenset(several(required, "required columns")),
            Reading.from_dict(reading),
            confirmed(confirm),
        )
        whose = Person(unit) if isinstance(unit, str) else unit
        where = (source_table, max_table_rows, version_label)
        self._owner.add(source, NewTable(name, said, whose, budget, dataset, limits, *where))

    def add_public(
        self,
        name: str,
        source: Any,
        *,
        key: str | Iterable[str],
        columns: Mapping[str, Bounds | Keys] | None = None,
        kinds: Mapping[str, Kind | str] | None = None,
        source_table: str | None = None,
        reading: Reading | Mapping[str, Any] | None = None,
    ) -> None:
        """Add a table that belongs to nobody; its key must be unique.

        Its values are public, so kinds, bounds and keys that are not stated come from them.
        """
        keys = (key,) if isinstance(key, str) else tuple(several(key, "keys"))
        read = Reading.from_dict(reading)
        said = ColumnDeclarations(read_columns(columns), kinds or {}, frozenset(keys), read, PUBLIC)
        self._owner.add(source, NewTable(name, said, source_table=source_table, key=keys))

    @spelled_out
    def append(self, name: str, rows: Any, **said: Unpack[AppendArguments]) -> int:
        """Add rows to a private table; the version of its dataset that begins with them.

        Rows of known people fall under the accounts they have: no budget grows.
        """
        return self._owner.append(name, rows, **said)

    def retire(self, dataset: str, *, reason: str) -> None:
        """End a dataset for ever: nothing new is asked of it, and its name is never used again.

        Its account stays, and so does everything that was answered. Its files are no longer read
        and may be removed.
        """
        self._owner.retire(dataset, reason)

    # --- accounts -------------------------------------------------------------------------------

    def grant(self, analyst: str, dataset: str, budget: Budget) -> Account:
        """Give an analyst a cap of their own within a dataset."""
        return self._owner.change(AccountChange(accounts.analyst(analyst, within=dataset), budget))

    def group(
        self, name: str, dataset: str, analysts: Iterable[str], budget: Budget | None = None
    ) -> Account:
        """Hold several analysts to a cap together, or, without one, count what they learn."""
        names = several(analysts, "analysts")
        members = tuple(accounts.analyst(one, within=dataset) for one in names)
        holder = accounts.group(name, within=dataset)
        return self._owner.change(AccountChange(holder, budget, members))

    def link(self, name: str, datasets: Iterable[str], budget: Budget | None = None) -> Account:
        """Say that datasets hold the same people; cap, or count, what one of them loses in all."""
        members = tuple(accounts.dataset(one) for one in several(datasets, "datasets"))
        return self._owner.change(AccountChange(accounts.link(name), budget, members))

    def raise_budget(
        self,
        dataset: str,
        budget: Budget,
        *,
        reason: str,
        analyst: str | None = None,
        group: str | None = None,
    ) -> Account:
        """Change a budget for ever, of a dataset or of somebody in it; the ledger keeps why."""
        holder = accounts.spender(dataset, analyst, group)
        return self._owner.change(AccountChange(holder, budget, reason=reason))

    def raise_link(self, name: str, budget: Budget, *, reason: str) -> Account:
        """Change for ever what one person may lose over linked datasets; the ledger keeps why."""
        return self._owner.change(AccountChange(accounts.link(name), budget, reason=reason))

    # --- people with budgets of their own -------------------------------------------------------

    def person_named(self, text: str, dataset: str | None = None) -> Any:
        """The name of a person from how it is written, in the kind of the column that names them.

        Example: `curator.remove_person(curator.person_named("17"))`
        """
        return self._people.read(text, dataset)

    def limit_person(self, unit: object, *, epsilon: Real, dataset: str | None = None) -> None:
        """Let one person lose less than the others, for questions from now on; 0 is to opt out.

        `unit` is the person's name as it stands in the data; whether they are in it is not looked
        at. Where people of several kinds have budgets, `dataset` says which.
        """
        self._people.limit(unit, epsilon, dataset)

    def remove_person(self, unit: object, *, dataset: str | None = None) -> None:
        """Close one person's account for ever: whoever comes back under this name stays out.

        Their rows are in no later answer. Take them out of your own files, too.
        """
        self._people.close(unit, dataset)

    def statement_for(self, unit: object, *, dataset: str | None = None) -> PersonStatement:
        """The statement of one person: what was computed with them, and what it can have told.

        It is computed from the data. Hand it to nobody else, and to no analyst.
        """
        return self._people.statement(unit, dataset)

    @property
    @abstractmethod
    def _owner(self) -> OwnerBackend: ...

    @property
    @abstractmethod
    def _people(self) -> PeopleAdmin: ...
