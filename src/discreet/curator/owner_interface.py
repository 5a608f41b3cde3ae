"""The owner's operations on tables, accounts and people, each recorded in the ledger."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Unpack, get_args

from discreet.argument_names import also_called
from discreet.curator.answer_service import AnswerService
from discreet.curator.arguments import AppendArguments, expect, read_columns, several
from discreet.curator.budget import Budget
from discreet.curator.data.data_store import DataStore
from discreet.curator.data.intake import NewTable, read_kinds
from discreet.curator.data.load_report import PUBLIC, Stated, confirmed
from discreet.curator.data.registry import Registration, Registry
from discreet.curator.data.table_checks import known_dataset
from discreet.curator.ledger import accounts
from discreet.curator.ledger.accounts import Account, Holder
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import named
from discreet.curator.local_backend import LocalBackend
from discreet.curator.orders.planned_orders import OWNER
from discreet.curator.orders.streams.streams import Streams
from discreet.curator.people.person_statement import PeopleInterface, check_link, check_population
from discreet.curator.question_interface import spelled_out
from discreet.engines.reading import Reading
from discreet.errors import InputError
from discreet.plan.kinds import Kind
from discreet.plan.schema import Bounds, Keys, Limits, Person, Unit
from discreet.privacy import Neighbours
from discreet.privacy.budgets.charges import Charge

_FIX = "pass Budget(epsilon=3, delta=1e-6)"


class OwnerInterface(PeopleInterface):
    """The methods of owners; the ledger records each call."""

    _ledger: Ledger
    _data_store: DataStore
    _answer_service: AnswerService
    _streams: Streams
    _local: LocalBackend
    _neighbours: Neighbours
    _by: str = OWNER
    """Whom entries about accounts and tables name."""

    @property
    def _tables(self) -> Registry:
        """The tables that can be seen."""
        return self._local.tables

    # --- tables ---------------------------------------------------------------------------------

    @also_called()
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

        `unit` is the column that names the person, a key path, or EachRow(). `columns` declares
        bounds and keys, `kinds` the kinds of columns that a CSV file does not tell; `required`
        lists columns that are never NULL. `reading` says how texts are read. What `describe`
        proposes from the data is used only if you `confirm` that it is public knowledge: "kinds",
        names of columns, or "all". `source_table` is the table or sheet to read. `version_label`
        names the version of a server's rows, instead of a digest: stating one promises that the
        rows do not change under it. `max_table_rows` is a public bound on the rows of the table, on
        which estimates of time are based; by default the next power of ten, at least 10,000.
        """
        expect(unit, (str, *get_args(Unit)), "unit", fix="name the person's column")
        if limits is not None:
            expect(limits, Limits, "limits", fix="pass Limits(max_groups=2, max_rows=4)")
        said = Stated(
            read_columns(columns),
            read_kinds(kinds),
            confirmed(confirm),
            frozenset(several(required, "required columns")),
            Reading.from_dict(reading),
        )
        whose = Person(unit) if isinstance(unit, str) else unit
        where = (source_table, max_table_rows, version_label)
        self._add(source, NewTable(name, said, whose, budget, dataset, limits, *where))

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
        """Add a public table, about nobody; its key must be unique.

        Its values are public, so unstated kinds, bounds and keys are derived from them.
        """
        keys = (key,) if isinstance(key, str) else tuple(several(key, "keys"))
        read = Reading.from_dict(reading)
        said = Stated(read_columns(columns), read_kinds(kinds), PUBLIC, frozenset(keys), read)
        self._add(source, NewTable(name, said, source_table=source_table, key=keys))

    def _add(self, source: Any, new: NewTable) -> None:
        """Keep one more table, private or public."""
        unit, budget = new.unit, new.budget
        dataset = None if unit is None else new.dataset or new.name
        if dataset is not None:
            self._check_going(named(dataset, "table"))
        if new.dataset is not None:
            known_dataset(self._tables, new.dataset)
        incoming = new.take(source, self._data_store.tables)
        table = new.table(incoming)
        own = isinstance(budget, Budget) and budget.is_per_person
        cap = None if budget is None else self._cap(budget, accounts.dataset(new.name), each=own)
        if unit is not None and own:
            check_population(unit, self._neighbours)

        def settle(one: Registration) -> int:
            if cap is not None:
                self._open_dataset(cap, one, per_person=own)
            return self._record(one)

        bound, label = new.max_table_rows, new.version_label
        self._data_store.add(table, incoming, dataset, settle, bound, label)

    @spelled_out
    def append(self, name: str, rows: Any, **said: Unpack[AppendArguments]) -> int:
        """Add rows to a private table; the version of its dataset that begins with them.

        Rows of known people fall under their existing accounts: no budget grows.
        """
        self._data_store.settle_pending()
        known = self._tables.tables.get(name)
        if known is not None and known.dataset is not None:
            self._check_going(known.dataset)
            self._data_store.check_parts((known.dataset,))
        version = self._data_store.append(name, rows, said, by=self._by)
        if said.get("through") and known is not None and known.dataset is not None:
            self._streams.go_on(known.dataset)
        return version

    def retire(self, dataset: str, *, reason: str) -> None:
        """End a dataset for ever: it takes no new questions, and its name is never used again.

        Its account stays, and so does everything that was answered. Its files are no longer read
        and may be removed. Calling again with the same reason changes nothing.
        """
        facts = {"dataset": known_dataset(self._tables, dataset), "reason": named(reason, "reason")}
        given = {one.facts["dataset"]: one.facts["reason"] for one in self._ledger.noted("retired")}
        if dataset not in given:
            self._ledger.record("retired", by=self._by, facts=facts)
        elif reason != given[dataset]:
            raise InputError(
                f"{dataset} was retired before, for another reason",
                why=f"a dataset ends once, and the ledger keeps the reason given: {given[dataset]}",
                fix="leave it as it is: it is retired",
            )

    def _record(self, one: Registration) -> int:
        """Let the ledger prove what was said about a table, and which data it was."""
        return self._ledger.record("added", by=self._by, facts=one.said).sequence

    def _check_going(self, dataset: str) -> None:
        if self._ledger.retired(dataset):
            raise InputError(
                f"{dataset} is retired",
                why="what has ended takes no rows and no tables, and lends its name to none",
                fix="add the data as a new dataset under another name",
            )

    # --- accounts -------------------------------------------------------------------------------

    def grant(self, analyst: str, dataset: str, budget: Budget) -> Account:
        """Give an analyst a cap of their own within a dataset."""
        expect(budget, Budget, "a budget", fix=_FIX)
        return self._open_account(accounts.analyst(analyst, within=dataset), budget)

    def group(
        self, name: str, dataset: str, analysts: Iterable[str], budget: Budget | None = None
    ) -> Account:
        """Give several analysts one cap together, or, without one, count what they learn."""
        names = several(analysts, "analysts")
        members = tuple(accounts.analyst(one, within=dataset) for one in names)
        holder = accounts.group(name, within=dataset)
        return self._open_account(holder, budget, members)

    def link(self, name: str, datasets: Iterable[str], budget: Budget | None = None) -> Account:
        """Say that datasets hold the same people; cap, or count, what one of them loses in all."""
        members = tuple(accounts.dataset(one) for one in several(datasets, "datasets"))
        return self._open_account(accounts.link(name), budget, members)

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
        return self._set_cap(accounts.spender(dataset, analyst, group), budget, reason)

    def raise_link(self, name: str, budget: Budget, *, reason: str) -> Account:
        """Change for ever what one person may lose over linked datasets; the ledger keeps why."""
        return self._set_cap(accounts.link(name), budget, reason)

    def _open_account(
        self, holder: Holder, budget: Budget | None, members: Sequence[Holder] = ()
    ) -> Account:
        if holder.within is None:  # a link
            for one in members:
                known_dataset(self._tables, one.name)
            check_link(self._ledger, self._tables, members, capped=budget is not None)
        else:
            known_dataset(self._tables, holder.within)
        like = members[:1] if holder.within is None else [accounts.dataset(holder.within)]
        cap = None if budget is None else self._cap(budget, *like)
        return self._ledger.open_account(holder, cap, by=self._by, members=members)

    def _set_cap(self, holder: Holder, budget: Budget, reason: str) -> Account:
        if holder.kind != "link":
            known_dataset(self._tables, holder.within or holder.name)
        cap = self._cap(budget, holder)
        return self._ledger.set_cap(holder, cap, by=self._by, reason=reason)

    def _cap(self, budget: Budget, *like: Holder, each: bool = False) -> Charge:
        """The cap that keeps a budget; if it leaves the measure open, that of another account.

        Why: accounts within a dataset start with what was spent of it, in its measure.
        """
        expect(budget, Budget, "a budget", fix=_FIX)
        if budget.is_per_person and not each:
            raise InputError(
                "a budget of every person, for somebody else",
                why="the people of a dataset have it from the day the dataset is added",
                fix=_FIX,
            )
        known = []
        for holder in like:
            with suppress(InputError):  # it has no account yet
                known.append(self._ledger.account(holder).limit)
        return budget.cap(self._neighbours, *(one for one in known if one is not None))

    def _open_dataset(self, cap: Charge, one: Registration, *, per_person: bool = False) -> None:
        """Open the account of a dataset; one that a crash left without its table is taken over.

        Where something was spent of it, answers rest on what was said, and it has to be said again.
        """
        holder = accounts.dataset(one.table.name)
        known = {one.holder: one for one in self._ledger.accounts()}.get(holder)
        if known is None:
            self._ledger.open_account(holder, cap, by=self._by, per_person=per_person)
        else:
            before = self._ledger.added(one.table.name)
            kept = known.is_under(cap, per_person=per_person)
            same = before is not None and one.is_said(before.facts) and kept
            if known.total.amount and not same:
                raise InputError(
                    f"{one.table.name} was added before, with other data, words or budget",
                    why="part of its budget is spent, on answers that rest on what was said then",
                    fix="put back tables.json, say the same again, or give the table another name",
                )
            if not kept:
                self._ledger.set_cap(holder, cap, by=self._by, reason="the dataset was added again")
        if per_person:
            self._open_people(holder.name, cap)

    def _open_like(self, holder: Holder, other: Account) -> None:
        """Open an account under the cap that another curator has for it."""
        each = Budget.per_person(*other.stated) if other.is_per_person and other.stated else None
        cap = other.limit if each is None else each.cap(self._neighbours)
        own = each is not None
        self._ledger.open_account(holder, cap, by=self._by, per_person=own)
        if own and cap is not None:
            self._open_people(holder.name, cap)
