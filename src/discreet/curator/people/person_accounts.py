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
    read_new_people,
    read_table,
)
from discreet.answer.execute.measure_set import put_domains
from discreet.answer.measurement_plan import MeasurementPlan
from discreet.answer.plan.sql_statements import SetStatements
from discreet.curator.data import registry
from discreet.curator.data.data_store import DataStore
from discreet.curator.data.table_checks import unit_kind
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Entry, Order
from discreet.curator.orders.planned_orders import StoredOrder
from discreet.curator.people.balance_table import BalanceTable, StoredBalances
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
from discreet.curator.people.person_limits import Population, hash_person, limits_after
from discreet.engines.engine import ARROW, Engine, Session
from discreet.engines.timing import Deadline
from discreet.errors import InvariantBroken, LedgerError
from discreet.plan.bounding import FULL
from discreet.plan.kinds import Kind
from discreet.plan.schema import PERSON, EachRow, PersonPeriod, Table
from discreet.privacy.budgets.individual_balances import ClassCosts, IndividualBalances
from discreet.sql.writer.dialect import Dialect
from discreet.sql.writer.individual import ACCOUNTS, keyed_person, render_new_people, with_accounts
from discreet.sql.writer.stored_view import PERIOD_ENDS

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
        self.balances = IndividualBalances(population.limit)
        self.sequence = 0
        self._lock = threading.RLock()
        self.name_kind, self.every = _kind_of(data_store, population.datasets)
        self._kind = Kind.TEXT if self.every else self.name_kind
        known = Kind.INTEGER if self._kind in (Kind.REAL, Kind.TIMESTAMP) else self._kind
        self._names = pa.array([], ARROW[known])
        self._places = self._name_of = np.zeros(0, dtype=np.int64)
        self._hashes = self._owners = np.zeros(0, dtype="S32")
        self._stored = np.zeros(0, dtype=np.int64)
        self._limited: dict[str, int] = {}
        self._closed: set[str] = set()
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
        self.balances.join(len(found.spent))
        self.balances.spent[:] = found.spent
        self._hashes, self.sequence = found.hashes, found.sequence
        self._owners = found.owners if self.every else found.hashes
        self._stored = np.argsort(found.hashes)
        for entry in limits_after(self._ledger, self.population.datasets, until=found.sequence):
            self._limit(entry)

    def save(self) -> None:
        """Write down what is folded in, unless that is little."""
        with self._lock:
            if self._table is not None and self._unsaved >= _WORTH_SAVING:
                told = (self._hashes, self._owners, self.balances.spent)
                self._table.save(StoredBalances(self.sequence, *told), self._ledger)
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

    def _limit(self, entry: Entry) -> None:
        hash_, units = entry.facts["account"], int(entry.facts["units"])
        if hash_ in self._closed:
            return
        if entry.facts.get("final") is True:
            self._closed.add(hash_)
        self._limited[hash_] = units
        self.balances.limits[self._owners == hash_.encode()] = units

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
        mine = self._owners[places] == self._watched
        for at in np.flatnonzero(mine & (costs >= 0)):
            told = (int(places[at]), int(costs[at]), bool(admitted[at]))
            self._found.append(PersonCharge(sequence, *told))

    def _fold_each(self, entries: Sequence[Entry], until: Deadline | None) -> int:
        """Fold in entries one by one; how many."""
        for entry in entries:
            if entry.kind == "charged":
                self._take(entry, self._shares_of(self._read(entry), until))
            else:
                self._limit(entry)
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
                    self._limit(entry)
        self.sequence = batch[-1][0].sequence
        return len(batch)

    def _charge_all(self, run: Sequence[tuple[Entry, ClassCosts]]) -> None:
        charges = [costs for _, costs in run]
        if self._watched is not None:
            mine = np.flatnonzero(self._owners == self._watched)
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
                names = self._named(found.members).column(0)
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
            read = self._read_rows(rows, columns, engine.dialect, session)
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
        left = again._hashes[again._left[sequence]]  # other accounts, of the same people
        with self._lock:
            return np.flatnonzero(np.isin(self._hashes, left))

    def weighed(self, set_: PeopleShares, left: NDArray[np.int64]) -> pa.Table:
        """The table of weights of a set, with the accounts that are left out."""
        with self._lock:
            weights = set_.of_rows.copy(), set_.of_person.copy()
            for one in weights:
                one[left[left < len(one)]] = 0  # whoever is new since is in another set
            less = np.flatnonzero(np.minimum(*weights) < FULL)
            of_rows, of_person = (pa.array(one[less]) for one in weights)
            table = self._named(less).append_column("of_rows", of_rows)
            return table.append_column("of_person", of_person)

    def _named(self, places: NDArray[np.int64]) -> pa.Table:
        if len(self._name_of) < self.balances.people:
            self._name_of = np.full(self.balances.people, -1, dtype=np.int64)
            self._name_of[self._places] = np.arange(len(self._places))
        return pa.table({PERSON: self._names.take(pa.array(self._name_of[places]))})

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
            accounts, found = self._read_rows(statements.contributions(), names, dialect, session)
            columns = [one.to_numpy() for one in found]
            return people_shares(statements, accounts, columns, self.balances.people)

    def _read_rows(
        self, rows: str, columns: Sequence[str], dialect: Dialect, session: Session
    ) -> tuple[NDArray[np.int64], list[pa.ChunkedArray]]:
        """Columns of people's rows by account; whoever is new has an account from now on."""
        text = with_accounts(rows, columns, dialect)
        self._put_accounts(session)
        table = read_table(session, text) if len(self._names) else None
        if table is None or table.column(-1).null_count:
            self._join(render_new_people(rows, dialect, self._kind, self._key), session)
            self._put_accounts(session)
            table = read_table(session, text)
        if table is None:
            return np.zeros(0, dtype=np.int64), [pa.chunked_array([], pa.int64())] * len(columns)
        if table.column(-1).null_count:
            raise InvariantBroken(
                "somebody has no account",
                why="their name in the data is not the name under which their account was opened",
                fix="report it: nothing is answered where somebody would not be charged",
            )
        return table.column(-1).to_numpy(), table.columns[:-1]

    def _put_accounts(self, session: Session) -> None:
        session.put(ACCOUNTS, pa.table({PERSON: self._names, "account": self._places}))

    def _join(self, people: str, session: Session) -> None:
        """Give accounts to people whose names are new: those that were saved, or the next ones.

        The engine may break off: whatever it tells is read before any account is there, and a name
        is known once its account has its limit.
        """
        found, hashes = read_new_people(session, people)
        names = pa.concat_arrays([self._names[:0], *(one.cast(self._names.type) for one in found)])
        new = self._saved_places(hashes)
        fresh, first = new < 0, self.balances.people
        new[fresh] = first + np.arange(int(fresh.sum()))
        joined = hashes[fresh] if first else hashes
        owners = self._owners_of(names, session)[fresh] if self.every else joined
        self.balances.join(len(joined))
        self._hashes = np.concatenate([self._hashes, joined]) if first else joined
        self._owners = np.concatenate([self._owners, owners]) if self.every else self._hashes
        for hash_, units in self._limited.items():
            self.balances.limits[first:][owners == hash_.encode()] = units
        self._names = pa.concat_arrays([self._names, names])
        self._places, self._name_of = np.concatenate([self._places, new]), self._places[:0]

    def _saved_places(self, hashes: NDArray[np.bytes_]) -> NDArray[np.int64]:
        """The accounts of hashes among those that were saved; -1 where there is none."""
        places = np.full(len(hashes), -1, dtype=np.int64)
        if len(self._stored):
            order = np.argsort(hashes)  # to look up in order takes a fifth of the time
            saved = self._hashes[: len(self._stored)]  # those who joined since come after them
            at = np.searchsorted(saved, hashes[order], sorter=self._stored)
            found = self._stored[np.minimum(at, len(self._stored) - 1)]
            places[order] = np.where(self._hashes[found] == hashes[order], found, -1)
        return places

    def _owners_of(self, names: pa.Array, session: Session) -> NDArray[np.bytes_]:
        """The keyed hashes of the people behind accounts of periods."""
        people = [one.partition(PERIOD_ENDS)[2] for one in names.to_pylist()]
        session.put("owners", pa.table({"i": np.arange(len(people)), "who": people}))
        text = keyed_person(self._data_store.dialect(()), "who", Kind.TEXT, self._key)
        found = np.zeros(len(people), dtype="S32")
        for batch in session.stream(f"SELECT i, {text} AS h FROM owners"):  # noqa: S608 - a keyed hash
            at = batch.column(0).to_numpy()
            found[at] = [one.encode() for one in batch.column(1).to_pylist()]
        return found


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


def _kind_of(data_store: DataStore, datasets: Sequence[str]) -> tuple[Kind, str | None]:
    """The kind of the column that names people, and the period of an account; None for life."""
    tables, kinds = data_store.tables, set[tuple[Kind, str | None, str]]()
    for one in tables.tables.values():
        if one.dataset in datasets and isinstance(one.table, Table):
            hops, unit = tables.schema.path(one.table)
            owner = tables.schema.tables[hops[-1].table] if hops else one.table
            if not isinstance(unit, EachRow):
                every = unit.every if isinstance(unit, PersonPeriod) else None
                named = unit_kind(tables.schema, one.table)
                kinds.add((owner.columns[unit.column].kind, every, named))
    if len(kinds) == 1:
        return kinds.pop()[:2]
    raise LedgerError(
        "people with budgets of their own are named in several ways, or in none",
        why="an account is found by the name of the person, in one kind",
        fix="name people by one kind of column in all linked datasets",
    )
