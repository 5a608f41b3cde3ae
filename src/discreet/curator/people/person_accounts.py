"""Everybody's own balance: a fold of the ledger over the data, and nothing else.

    charges and limits, in the order of the ledger ──┐
    the data that each charge was made for ──────────┴──> what each person has spent

Who takes part in a question follows from the entries before it, so nothing has to be written down
between a charge and its noise: a crash loses time, and never a charge. Two questions may be
measured side by side; whose turn is first is the order of their charges.
"""

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answer.execute.individual import (
    PeopleShares,
    people_shares,
)
from discreet.answer.execute.measure_set import put_domains
from discreet.answer.measurement_plan import MeasurementPlan
from discreet.answer.plan.sql_statements import SetStatements
from discreet.curator.data import registry
from discreet.curator.data.data_store import DataStore
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Entry, Order
from discreet.curator.orders.planned_orders import StoredOrder
from discreet.curator.people.balance_table import BalanceTable
from discreet.curator.people.charge_batches import (
    Batch,
    PersonClasses,
    ReadCharge,
    charge_costs,
    charge_salt,
    charged_sets,
    read_costs,
    render_rows,
    share_signature,
)
from discreet.curator.people.opened_accounts import OpenedAccounts, naming_of
from discreet.curator.people.person_limits import Population, hash_person, limits_after
from discreet.engines.engine import Engine, Session
from discreet.engines.timing import Deadline
from discreet.errors import LedgerError
from discreet.plan.bounding import FULL
from discreet.privacy.budgets.individual_balances import ClassCosts

_MOST_KEPT: Final = 1 << 28
"""Bytes of shares that are kept for charges which ask the same again; of costs of one batch."""

_SAVED_EVERY, _WORTH_SAVING = 1000, 16
"""Charges after which balances are saved; of fewer than the second it is not worth the writing."""

_MANY, _WINDOW, _WORTH_CLASSES = 32, 1024, 8
"""Entries that are folded in batches, at most at once; charges that are worth finding classes."""

_MOST_ROWS: Final = 1 << 24
"""Rows of a table whose people are put into classes; charges about larger ones are read alone."""

_MASKS: Final = 256
"""Charges of which it is remembered who was left out; of others it is computed again."""


@dataclass(frozen=True, slots=True)
class PersonCharge:
    """One charge as it was for one account of a person: its number, what it took in units.

    `took_part` is False where the account could not pay: then nothing of it was in the charge.
    """

    sequence: int
    account: int
    units: int
    took_part: bool


class PersonAccounts:
    """The balances of one population, up to some entry of the ledger.

    Guarantee:
        Nobody takes part in charges of more than their limit in all, in any dataset of the
        population, whatever was asked, cancelled, failed or killed: every charge is folded in, at
        least at what it cost that person.
    Neighbours:
        One person added or removed, in all datasets of the population.
    Edge cases:
        People are known by the keyed hash of their name, from the first charge they are in. Where
        the unit is a person in a period, each period of a person is an account of its own, and a
        limit of the person holds in each.
        Charges that failed count: data may have been read for them. A charge for data that is not
        there any more is an error, and nobody is asked about until it is back.
    """

    def __init__(
        self,
        ledger: Ledger,
        data_store: DataStore,
        population: Population,
        key: str,
        table: BalanceTable | None = None,
    ) -> None:
        self._ledger, self._data_store = ledger, data_store
        self.population, self._key = population, key
        self.name_kind, self.every = naming_of(data_store, population.datasets)
        self._opened = OpenedAccounts(population.limit, key, self.name_kind, self.every)
        self.balances, self.sequence = self._opened.balances, 0
        self._lock = threading.RLock()
        self._left: OrderedDict[int, NDArray[np.int64]] = OrderedDict()
        self._shares: OrderedDict[str, list[PeopleShares]] = OrderedDict()
        self._classes: OrderedDict[Batch, PersonClasses] = OrderedDict()
        self._watched: bytes | None = None
        self._found: list[PersonCharge] = []
        self._table, self._unsaved = table, 0
        self._load()

    # --- the table ------------------------------------------------------------------------------

    def _load(self) -> None:
        """Begin with the balances that were saved, whose names are learnt as they are met."""
        found = None if self._table is None else self._table.load(self._ledger)
        if found is None:
            return
        self._opened.restore(found)
        self.sequence = found.sequence
        for entry in limits_after(self._ledger, self.population.datasets, until=found.sequence):
            self._opened.limit(entry)

    def save(self) -> None:
        """Write down what is folded in, unless that is little."""
        with self._lock:
            if self._table is not None and self._unsaved >= _WORTH_SAVING:
                self._table.save(self._opened.stored(self.sequence), self._ledger)
                self._unsaved = 0

    # --- the fold -------------------------------------------------------------------------------

    def catch_up(self, until: int, deadline: Deadline | None = None) -> None:
        """Fold in all entries up to a number: very many in batches, few one by one."""
        with self._lock:
            entries = self._entries(until)
            while entries:
                some = entries[:_WINDOW]
                batch = self._try_batched(some, deadline) if len(entries) >= _MANY else None
                done = self._fold_each(some, deadline) if batch is None else self._fold(batch)
                entries = entries[done:]
            self.sequence = max(self.sequence, until)
            if self._unsaved >= _SAVED_EVERY:
                self.save()

    def behind(self, until: int) -> int:
        """How many charges are not folded in yet; a public number."""
        return len(self._ledger.charges(self.population.datasets, after=self.sequence, until=until))

    def history(self, hash_: str) -> tuple["PersonAccounts", list[PersonCharge]]:
        """The balances from the beginning up to now, and what became of one person."""
        again = PersonAccounts(self._ledger, self._data_store, self.population, self._key)
        again._watched = hash_.encode()
        again.catch_up(self._ledger.head().sequence)
        return again, again._found

    def hash_of(self, unit: object, engine: Engine) -> str:
        """The keyed hash of a person, whether or not they are in the data."""
        return hash_person(engine, unit, self.name_kind, self._key, written=self.every is not None)

    def _entries(self, until: int) -> list[Entry]:
        datasets, after = self.population.datasets, self.sequence
        charges = self._ledger.charges(datasets, after=after, until=until)
        limits = limits_after(self._ledger, datasets, after=after, until=until)
        return sorted([*charges, *limits], key=lambda entry: entry.sequence)

    def _take(self, entry: Entry, sets: Sequence[PeopleShares]) -> None:
        """Charge everybody who can pay for a question, in all its sets or in none."""
        places, costs = charge_costs(entry, sets)
        admitted = self.balances.charge(places, costs)
        self._unsaved += 1
        self._left[entry.sequence] = places[~admitted]
        _forget(self._left, lambda _: 1, _MASKS)
        if self._watched is not None:
            self._look(entry.sequence, places, costs, admitted)

    def _look(
        self,
        sequence: int,
        places: NDArray[np.int64],
        costs: NDArray[np.int64],
        admitted: NDArray[np.bool_],
    ) -> None:
        mine = self._opened.owners[places] == self._watched
        for at in np.flatnonzero(mine & (costs >= 0)):
            told = (int(places[at]), int(costs[at]), bool(admitted[at]))
            self._found.append(PersonCharge(sequence, *told))

    def _fold_each(self, entries: Sequence[Entry], until: Deadline | None) -> int:
        """Fold in entries one by one; how many."""
        for entry in entries:
            if entry.kind == "charged":
                self._take(entry, self._shares_of(self._read(entry), until))
            else:
                self._opened.limit(entry)
            self.sequence = entry.sequence
        return len(entries)

    # --- many charges ---------------------------------------------------------------------------

    def _try_batched(
        self, entries: Sequence[Entry], until: Deadline | None
    ) -> list[tuple[Entry, ClassCosts | None]] | None:
        """The costs of the first of some entries; None where they cannot be read in batches."""
        try:
            return self._batched(entries, until)
        except Exception:
            if until is not None and time.monotonic() >= until.moment:
                raise
            return None

    def _fold(self, batch: Sequence[tuple[Entry, ClassCosts | None]]) -> int:
        """Fold in entries whose costs are known, limits between them in their turn; how many."""
        for is_charge, some in groupby(batch, key=lambda one: one[1] is not None):
            run = list(some)
            if is_charge:
                self._charge_all([(entry, costs) for entry, costs in run if costs is not None])
            else:
                for entry, _ in run:
                    self._opened.limit(entry)
        self.sequence = batch[-1][0].sequence
        return len(batch)

    def _charge_all(self, run: Sequence[tuple[Entry, ClassCosts]]) -> None:
        charges = [costs for _, costs in run]
        if self._watched is not None:
            mine = np.flatnonzero(self._opened.owners == self._watched)
            turns = self.balances.turns(mine, self.balances.spent[mine], charges)
            for (entry, _), (asked, admitted) in zip(run, turns, strict=True):
                self._look(entry.sequence, mine, asked, admitted)
        self.balances.charge_all(charges)
        self._unsaved += len(run)

    def _batched(
        self, entries: Sequence[Entry], until: Deadline | None
    ) -> list[tuple[Entry, ClassCosts | None]]:
        """The costs of the first of some entries, as many as are held in memory; None of limits.

        Nothing is folded in yet, so that an engine may break off.
        """
        reads = {one.sequence: self._read(one) for one in entries if one.kind == "charged"}
        often = Counter(read.batch for read in reads.values())
        batches: dict[Batch, tuple[PersonClasses, list[ReadCharge]]] = {
            batch: (found, [])
            for batch, count in often.items()
            if batch is not None and count >= _WORTH_CLASSES
            if (found := self._classes_of(batch, until)) is not None
        }
        costs: dict[int, ClassCosts | None] = {}
        held = 0
        for entry in entries:
            costs[entry.sequence] = None
            if (read := reads.get(entry.sequence)) is None:
                continue
            if read.batch is not None and read.batch in batches:
                found, charges = batches[read.batch]
                charges.append(read)
                held += 8 * len(found.members)
            else:
                costs[entry.sequence] = alone = self._alone(read, until)
                held += alone.of.nbytes + alone.costs.nbytes
            if held > _MOST_KEPT:
                break
        for batch, (found, charges) in batches.items():
            if not charges:
                continue
            with self._engine_of(batch).snapshot(until) as session:
                names = self._opened.named(found.members).column(0)
                for read, costs_ in read_costs(charges, batch, names, session):
                    costs[read.entry.sequence] = ClassCosts(found.of, costs_)
        return [(one, costs[one.sequence]) for one in entries[: len(costs)]]

    def _alone(self, read: ReadCharge, until: Deadline | None) -> ClassCosts:
        """A charge that is read by itself: everybody in it is a class of their own."""
        places, costs = charge_costs(read.entry, self._shares_of(read, until))
        of = np.full(self.balances.people, -1, dtype=np.int32)
        of[places] = np.arange(len(places))
        return ClassCosts(of, np.append(costs, -1))

    def _classes_of(self, batch: Batch, until: Deadline | None) -> PersonClasses | None:
        """The classes of people for charges of a batch; None for very large tables."""
        if batch in self._classes:
            self._classes.move_to_end(batch)
            return self._classes[batch]
        engine = self._engine_of(batch)
        if engine.row_count(batch.table) > _MOST_ROWS:
            return None
        rows = render_rows(batch, engine.dialect)
        columns = [f"c{i}" for i in range(len(batch.columns))]
        with engine.snapshot(until) as session:
            read = self._opened.read_rows(rows, columns, engine.dialect, session)
        self._classes[batch] = found = PersonClasses.find(*read)
        _forget(self._classes, lambda one: one.of.nbytes, _MOST_KEPT // 2)
        return found

    def _engine_of(self, batch: Batch) -> Engine:
        return self._data_store.open_at(batch.tables, batch.dataset, batch.version)

    # --- one question ---------------------------------------------------------------------------

    def admission(self, sequence: int, until: Deadline | None) -> "ChargeAdmission":
        """The admission of a charge, decided once data is read for it."""
        return ChargeAdmission(self, sequence, charge_salt(self._key, sequence), until)

    def sets(
        self, asked: "ChargeAdmission", statements: SetStatements, session: Session
    ) -> list[PeopleShares]:
        """What people add to each set of a charge, of which the session has the pairs of the first.

        Most questions have one set, and what their own session has is all that is read.
        """
        [entry] = self._ledger.entries(after=asked.sequence - 1, limit=1)
        if len(charged_sets(entry)) == 1:
            return [self.shares(statements, session)]
        with self._lock:
            return list(self._shares_of(self._read(entry), asked.until))

    def left_out(self, asked: "ChargeAdmission", sets: Sequence[PeopleShares]) -> NDArray[np.int64]:
        """The accounts left out of a charge, which is folded in."""
        sequence = asked.sequence
        with self._lock:
            self.catch_up(sequence - 1, asked.until)
            if self.sequence < sequence:
                [entry] = self._entries(sequence)
                self._take(entry, sets)
                self.sequence = sequence
            if sequence in self._left:
                return self._left[sequence]
        again = PersonAccounts(self._ledger, self._data_store, self.population, self._key)
        for upto in (sequence - 1, sequence):  # the charge itself in no batch
            again.catch_up(upto, asked.until)
        left = again._opened.hashes[again._left[sequence]]  # other accounts, of the same people
        with self._lock:
            return np.flatnonzero(np.isin(self._opened.hashes, left))

    def weighed(self, set_: PeopleShares, left: NDArray[np.int64]) -> pa.Table:
        """The table of weights of a set, with the accounts that are left out."""
        with self._lock:
            weights = set_.of_rows.copy(), set_.of_person.copy()
            for one in weights:
                one[left[left < len(one)]] = 0  # whoever is new since is in another set
            less = np.flatnonzero(np.minimum(*weights) < FULL)
            of_rows, of_person = (pa.array(one[less]) for one in weights)
            table = self._opened.named(less).append_column("of_rows", of_rows)
            return table.append_column("of_person", of_person)

    # --- what people add ------------------------------------------------------------------------

    def _read(self, entry: Entry) -> ReadCharge:
        """A charge as it was planned, against the data that it was made for."""
        order = Order.from_dict(entry.by, entry.facts)
        asked, tables = StoredOrder.parse(order.plan), self._data_store.tables
        used = self._data_store.check(asked.tables, order.data_version)
        if registry.version(used) != order.version or order.decisions is None:
            raise LedgerError(
                "a charge was made for another version of the data",
                why="what each person has spent follows from the data that was read",
                fix="put that version of the data back",
            )
        query = asked.question(tables.schema)
        plan = MeasurementPlan.from_dict(order.decisions, query, asked.price, asked.neighbours)
        salt, dialect = charge_salt(self._key, entry.sequence), self._data_store.dialect(used)
        sets = [SetStatements.of(one, dialect, salt, participants=True) for one in plan.sets]
        return ReadCharge(entry, tuple(sets), asked.tables, order.data_version)

    def _shares_of(self, read: ReadCharge, until: Deadline | None) -> list[PeopleShares]:
        """The shares of a charge in sessions of its own, unless the same was asked lately.

        Why: what people add depends on the question and the limits, and not on the price; on the
        number of the charge only where a secret chooses rows.
        """
        name = share_signature(read.entry)
        if name in self._shares:
            self._shares.move_to_end(name)
            return self._shares[name]
        engine = self._data_store.open_at(read.tables, read.dataset, read.version)
        found = []
        for one in read.sets:
            with engine.snapshot(until) as session:
                put_domains(one.plan.query, session)
                for kept in one.people():
                    session.keep(*kept)
                found.append(self.shares(one, session))
        if not any(one.is_salted for one in read.sets):
            self._shares[name] = found
            size = lambda kept: sum(one.nbytes for set_ in kept for one in set_)  # noqa: E731
            _forget(self._shares, size, _MOST_KEPT)
        return found

    def shares(self, statements: SetStatements, session: Session) -> PeopleShares:
        """The shares of a set, of which the session has the pairs."""
        dialect, names = statements.compiled.dialect, statements.contribution_columns
        with self._lock:
            accounts, found = self._opened.read_rows(
                statements.contributions(), names, dialect, session
            )
            columns = [one.to_numpy() for one in found]
            return people_shares(statements, accounts, columns, self.balances.people)


@dataclass(slots=True)
class ChargeAdmission:
    """The participants of one charge, the same for all its grouping sets."""

    accounts: PersonAccounts
    sequence: int
    salt: str
    until: Deadline | None
    _left: NDArray[np.int64] | None = None
    _sets: list[PeopleShares] = field(default_factory=list)

    def weights(self, statements: SetStatements, session: Session) -> pa.Table:
        """The weights of the next set; who is left out is decided once, with the first."""
        if self._left is None:
            self._sets = self.accounts.sets(self, statements, session)
            self._left = self.accounts.left_out(self, self._sets)
        return self.accounts.weighed(self._sets.pop(0), self._left)


def _forget(kept: OrderedDict[Any, Any], size: Callable[[Any], int], most: int) -> None:
    """Drop the oldest of what is kept, but never the newest, until the rest has at most a size."""
    total = sum(map(size, kept.values()))
    while len(kept) > 1 and total > most:
        total -= size(kept.popitem(last=False)[1])
