"""The owner's changes to tables and accounts, each recorded in the ledger."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Unpack

from discreet.curator.arguments import AppendArguments, expect, order_spec
from discreet.curator.budget import Budget
from discreet.curator.data.data_store import DataStore
from discreet.curator.data.registry import Part, Registration, Registry
from discreet.curator.data.table_checks import known_dataset
from discreet.curator.ledger import accounts
from discreet.curator.ledger.accounts import Account, Holder
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import named
from discreet.curator.orders.streams.streams import Streams
from discreet.curator.owner_interface import AccountChange, NewTable, OwnerBackend
from discreet.curator.people.person_statement import PeopleAdmin, check_link, check_population
from discreet.engines.reading import Reading
from discreet.errors import InputError
from discreet.plan.schema import Limits, PublicTable, Table
from discreet.privacy import Neighbours
from discreet.privacy.budgets.charges import Charge

_FIX = "pass Budget(epsilon=3, delta=1e-6)"


@dataclass(frozen=True, slots=True)
class OwnerAdmin(OwnerBackend):
    """An owner's hand on the tables that can be seen, and on who may spend how much of them."""

    ledger: Ledger
    data_store: DataStore
    tables: Registry
    people: PeopleAdmin
    streams: Streams
    neighbours: Neighbours
    by: str

    def add(self, source: Any, new: NewTable) -> None:
        """Keep one more table, private or public."""
        said, unit, budget = new.columns, new.unit, new.budget
        if unit is not None:
            self._check_going(named(new.dataset or new.name, "table"))
            if new.dataset is not None:
                known_dataset(self.tables, new.dataset)
        incoming = self.data_store.look(new.name, source, said, new.source_table, unit)
        types = said.types(incoming)
        if unit is None:
            public = PublicTable(new.name, types, new.key)
            self.data_store.add(public, incoming, None, self.record)
            return
        table = Table(new.name, types, unit, new.limits or Limits())
        own = isinstance(budget, Budget) and budget.is_per_person
        holder = accounts.dataset(new.name)
        cap = None if budget is None else self.cap(budget, holder, each=own)
        if own:
            check_population(unit, self.neighbours)

        def settle(one: Registration) -> int:
            if cap is not None:
                self._open(cap, one, per_person=own)
            return self.record(one)

        bound, label = new.max_table_rows, new.version_label
        self.data_store.add(table, incoming, new.dataset or new.name, settle, bound, label)

    def append(self, name: str, rows: Any, **said: Unpack[AppendArguments]) -> int:
        """Add rows to a private table; the version of its dataset that begins with them."""
        through = order_spec({"through": said.get("through")})
        self.data_store.settle_pending(self.find_part)
        known = self.tables.tables.get(name)
        if known is not None and known.dataset is not None:
            self._check_going(known.dataset)
            self.data_store.check_parts((known.dataset,), self.ledger.appended)

        def settle(one: Registration, part: Part) -> int:
            facts = {**one.part_said(part), **through}
            return self.ledger.record("appended", by=self.by, facts=facts).sequence

        reading = said.get("reading")
        version = self.data_store.append(
            name,
            rows,
            settle,
            again=said.get("again", False),
            max_table_rows=said.get("max_table_rows"),
            reading=None if reading is None else Reading.from_dict(reading),
        )
        if through and known is not None and known.dataset is not None:
            self.streams.go_on(known.dataset)
        return version

    def retire(self, dataset: str, reason: str) -> None:
        """End a dataset for ever; once more with the same reason changes nothing."""
        facts = {"dataset": known_dataset(self.tables, dataset), "reason": named(reason, "reason")}
        given = {one.facts["dataset"]: one.facts["reason"] for one in self.ledger.noted("retired")}
        if dataset not in given:
            self.ledger.record("retired", by=self.by, facts=facts)
        elif reason != given[dataset]:
            raise InputError(
                f"{dataset} was retired before, for another reason",
                why=f"a dataset ends once, and the ledger keeps the reason given: {given[dataset]}",
                fix="leave it as it is: it is retired",
            )

    def record(self, one: Registration) -> int:
        """Let the ledger prove what was said about a table, and which data it was."""
        return self.ledger.record("added", by=self.by, facts=one.said).sequence

    def find_part(self, one: Registration, part: Part) -> int:
        """The entry that says that a part was appended, 0 where there is none."""
        said = one.part_said(part)
        known = self.ledger.appended(one.table.name)
        return next((each.sequence for each in known if said.items() <= each.facts.items()), 0)

    def _check_going(self, dataset: str) -> None:
        if self.ledger.retired(dataset):
            raise InputError(
                f"{dataset} is retired",
                why="what has ended takes no rows and no tables, and lends its name to none",
                fix="add the data as a new dataset under another name",
            )

    # --- accounts ---------------------------------------------------------------------------------

    def change(self, change: AccountChange) -> Account:
        """Open an account, or change its cap for ever."""
        holder, budget, members = change.holder, change.budget, list(change.members)
        if holder.kind == "link":
            for one in members:
                known_dataset(self.tables, one.name)
            if change.reason is None:
                check_link(self.ledger, self.tables, members, capped=budget is not None)
        else:
            dataset = known_dataset(self.tables, holder.within or holder.name)
        if change.reason is not None:
            expect(budget, Budget, "a budget", fix=_FIX)
            assert budget is not None  # noqa: S101 - narrowing
            cap = self.cap(budget, holder)
            return self.ledger.set_cap(holder, cap, by=self.by, reason=change.reason)
        like = members[:1] if holder.kind == "link" else [accounts.dataset(dataset)]
        if budget is None and holder.kind == "analyst":
            expect(budget, Budget, "a budget", fix=_FIX)
        limit = None if budget is None else self.cap(budget, *like)
        return self.ledger.open_account(holder, limit, by=self.by, members=members)

    def cap(self, budget: Budget, *like: Holder, each: bool = False) -> Charge:
        """The cap that keeps a budget; where it leaves the measure open, that of another account.

        Why: accounts within a dataset start with what was spent of it, in its own measure.
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
                known.append(self.ledger.account(holder).limit)
        return budget.cap(self.neighbours, *(one for one in known if one is not None))

    def _open(self, cap: Charge, one: Registration, *, per_person: bool = False) -> None:
        """Open the account of a dataset; one that a crash left without its table is taken over.

        Where something was spent of it, answers rest on what was said, and it has to be said again.
        """
        holder = accounts.dataset(one.table.name)
        known = {one.holder: one for one in self.ledger.accounts()}.get(holder)
        if known is None:
            self.ledger.open_account(holder, cap, by=self.by, per_person=per_person)
        if per_person:
            self.people.open(holder.name, cap)
        if known is None:
            return
        before = self.ledger.added(one.table.name)
        kept = known.is_under(cap, per_person=per_person)
        same = before is not None and one.is_said(before.facts) and kept
        if known.total.amount and not same:
            raise InputError(
                f"{one.table.name} was added before, with other data, words or budget",
                why="part of its budget is spent, on answers that rest on what was said then",
                fix="put back tables.json, say the same again, or give the table another name",
            )
        if not kept:
            self.ledger.set_cap(holder, cap, by=self.by, reason="the dataset was added again")

    def open_like(self, holder: Holder, other: Account) -> None:
        """Open an account under the cap that another curator has for it."""
        each = Budget.per_person(*other.stated) if other.is_per_person and other.stated else None
        cap = other.limit if each is None else each.cap(self.neighbours)
        own = each is not None
        self.ledger.open_account(holder, cap, by=self.by, per_person=own)
        if own and cap is not None:
            self.people.open(holder.name, cap)
