"""Whose account is which: names, keyed hashes, and what each has spent and may."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answer.execute.individual import read_new_people, read_table
from discreet.curator.data.data_store import DataStore
from discreet.curator.data.table_checks import unit_kind
from discreet.curator.ledger.orders import Entry
from discreet.curator.people.balance_table import StoredBalances
from discreet.engines.engine import ARROW, Session
from discreet.errors import InvariantBroken, LedgerError
from discreet.plan.kinds import Kind
from discreet.plan.schema import PERSON, EachRow, PersonPeriod, Table
from discreet.privacy.budgets.individual_balances import IndividualBalances
from discreet.sql.writer.dialect import Dialect
from discreet.sql.writer.individual import ACCOUNTS, keyed_person, render_new_people, with_accounts
from discreet.sql.writer.stored_view import PERIOD_ENDS


class OpenedAccounts:
    """The accounts of one population by their place, in the order in which they were opened.

    Guarantee:
        One account for each name, from the first charge it is in on, with the limit that its person
        has at that moment; also where an engine breaks off.
    """

    def __init__(self, limit: int, key: str, name_kind: Kind, every: str | None) -> None:
        self.balances = IndividualBalances(limit)
        self._key, self._every = key, every
        self._kind = Kind.TEXT if every else name_kind
        known = Kind.INTEGER if self._kind in (Kind.REAL, Kind.TIMESTAMP) else self._kind
        self._names = pa.array([], ARROW[known])
        self._places = self._name_of = np.zeros(0, dtype=np.int64)
        self.hashes = self.owners = np.zeros(0, dtype="S32")
        self._stored = np.zeros(0, dtype=np.int64)
        self._limited: dict[str, int] = {}
        self._closed: set[str] = set()

    def restore(self, found: StoredBalances) -> None:
        """Begin with balances that were saved, whose names are learnt as they are met."""
        self.balances.join(len(found.spent))
        self.balances.spent[:] = found.spent
        self.hashes = found.hashes
        self.owners = found.owners if self._every else found.hashes
        self._stored = np.argsort(found.hashes)

    def stored(self, sequence: int) -> StoredBalances:
        """What every account has spent, up to an entry of the ledger."""
        return StoredBalances(sequence, self.hashes, self.owners, self.balances.spent)

    def limit(self, entry: Entry) -> None:
        """Change the limit of one person, in all their accounts, for good where it is final."""
        hash_, units = entry.facts["account"], int(entry.facts["units"])
        if hash_ in self._closed:
            return
        if entry.facts.get("final") is True:
            self._closed.add(hash_)
        self._limited[hash_] = units
        self.balances.limits[self.owners == hash_.encode()] = units

    def named(self, places: NDArray[np.int64]) -> pa.Table:
        """The names of accounts that were met since the curator was opened."""
        if len(self._name_of) < self.balances.people:
            self._name_of = np.full(self.balances.people, -1, dtype=np.int64)
            self._name_of[self._places] = np.arange(len(self._places))
        return pa.table({PERSON: self._names.take(pa.array(self._name_of[places]))})

    def read_rows(
        self, rows: str, columns: Sequence[str], dialect: Dialect, session: Session
    ) -> tuple[NDArray[np.int64], list[pa.ChunkedArray]]:
        """Columns of people's rows by account; new people have an account from now on."""
        text = with_accounts(rows, columns, dialect)
        self._put_accounts(session)
        table = read_table(session, text) if len(self._names) else None
        if table is None or table.column(-1).null_count:
            self._join(rows, dialect, session)
            self._put_accounts(session)
            table = read_table(session, text)
        if table is None:
            return np.zeros(0, dtype=np.int64), [pa.chunked_array([], pa.int64())] * len(columns)
        if table.column(-1).null_count:
            raise InvariantBroken(
                "a person has no account",
                why="their name in the data is not the name under which their account was opened",
                fix="report it: no question is answered unless every person is charged",
            )
        return table.column(-1).to_numpy(), table.columns[:-1]

    def _put_accounts(self, session: Session) -> None:
        session.put(ACCOUNTS, pa.table({PERSON: self._names, "account": self._places}))

    def _join(self, rows: str, dialect: Dialect, session: Session) -> None:
        """Give accounts to people whose names are new: those that were saved, or the next ones.

        The engine may break off: whatever it tells is read before any account is there, and a name
        is known once its account has its limit.
        """
        people = render_new_people(rows, dialect, self._kind, self._key)
        found, hashes = read_new_people(session, people)
        names = pa.concat_arrays([self._names[:0], *(one.cast(self._names.type) for one in found)])
        new = self._saved_places(hashes)
        fresh, first = new < 0, self.balances.people
        new[fresh] = first + np.arange(int(fresh.sum()))
        joined = hashes[fresh] if first else hashes
        owners = self._owners_of(names, dialect, session)[fresh] if self._every else joined
        self.balances.join(len(joined))
        self.hashes = np.concatenate([self.hashes, joined]) if first else joined
        self.owners = np.concatenate([self.owners, owners]) if self._every else self.hashes
        for hash_, units in self._limited.items():
            self.balances.limits[first:][owners == hash_.encode()] = units
        self._names = pa.concat_arrays([self._names, names])
        self._places, self._name_of = np.concatenate([self._places, new]), self._places[:0]

    def _saved_places(self, hashes: NDArray[np.bytes_]) -> NDArray[np.int64]:
        """The accounts of hashes among those that were saved; -1 where there is none."""
        places = np.full(len(hashes), -1, dtype=np.int64)
        if len(self._stored):
            order = np.argsort(hashes)  # to look up in order takes a fifth of the time
            saved = self.hashes[: len(self._stored)]  # those who joined since come after them
            at = np.searchsorted(saved, hashes[order], sorter=self._stored)
            found = self._stored[np.minimum(at, len(self._stored) - 1)]
            places[order] = np.where(self.hashes[found] == hashes[order], found, -1)
        return places

    def _owners_of(self, names: pa.Array, dialect: Dialect, session: Session) -> NDArray[np.bytes_]:
        """The keyed hashes of the people behind accounts of periods."""
        people = [one.partition(PERIOD_ENDS)[2] for one in names.to_pylist()]
        session.put("owners", pa.table({"i": np.arange(len(people)), "who": people}))
        text = keyed_person(dialect, "who", Kind.TEXT, self._key)
        found = np.zeros(len(people), dtype="S32")
        for batch in session.stream(f"SELECT i, {text} AS h FROM owners"):  # noqa: S608 - a keyed hash
            at = batch.column(0).to_numpy()
            found[at] = [one.encode() for one in batch.column(1).to_pylist()]
        return found


def naming_of(data_store: DataStore, datasets: Sequence[str]) -> tuple[Kind, str | None]:
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
