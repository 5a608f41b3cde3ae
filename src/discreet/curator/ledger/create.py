"""Create a ledger, whole or not at all and never over another file; find one and check it."""

import glob
import os
import secrets
import sqlite3
from contextlib import closing
from itertools import accumulate, groupby
from pathlib import Path
from typing import Final, TypeAlias

from discreet.curator.fork_safety import FORKS
from discreet.curator.ledger.account_cache import COMMITTED, after, read_tables
from discreet.curator.ledger.accounts import COLUMNS, Account
from discreet.curator.ledger.migrations import Dialect, Execute, climb, version
from discreet.curator.ledger.orders import NOTHING, digest
from discreet.curator.ledger.postgres_store import PostgresStore
from discreet.curator.ledger.store import (
    APPLICATION,
    LedgerStore,
    SQLiteStore,
    connect,
    damaged,
    failure,
    prepare,
    within,
)
from discreet.curator.ledger.transaction import MOST_BYTES, Transaction
from discreet.curator.ledger.verify import verify
from discreet.curator.ledger.witness import Sighting, Witness, give_name, sync_folder
from discreet.errors import LedgerError


def found(execute: Execute, dialect: Dialect) -> Sighting:
    """Make the tables and the first entry."""
    climb(execute, dialect, start=0)
    ledger = secrets.token_hex(16)
    execute("INSERT INTO ledger VALUES (1, ?, ?, 0, ?)", (ledger, version(), NOTHING))
    transaction = Transaction(execute)
    transaction.append("founded", "ledger", {"ledger": ledger, "version": version()})
    transaction.finish()
    return transaction.sighting


def bring_up_to_date(execute: Execute, dialect: Dialect) -> None:
    """Run the steps that an older ledger lacks, and say so in it."""
    [(start,)] = execute("SELECT version FROM ledger")
    if start < version():
        climb(execute, dialect, start=start)
        execute("UPDATE ledger SET version = ?", (version(),))
        transaction = Transaction(execute)
        transaction.append("migrated", "ledger", {"from": start, "to": version()})
        if start < COMMITTED:
            transaction.tree, _ = read_tables(transaction)
            _attest(transaction)
        transaction.finish()


_AT_ONCE: Final = MOST_BYTES // 4
"""Bytes of names and digests in one such entry: within JSON they may take twice as many."""

_DIGEST: Final = 80


def _attest(transaction: Transaction) -> None:
    """Record the state of all accounts, as every entry that changes one does from now on."""
    rows = transaction.read(f"SELECT {COLUMNS} FROM accounts ORDER BY key")  # noqa: S608 - a constant
    accounts = [Account.read(row) for row in rows]
    ends = accumulate(len(one.holder.key.encode()) + _DIGEST for one in accounts)
    numbered = zip(ends, accounts, strict=True)
    for _, some in groupby(numbered, lambda one: one[0] // _AT_ONCE):
        counted = [one for _, one in some]
        entry = transaction.append("counted", "ledger", {"after": after(counted)})
        for one in counted:
            sql = "UPDATE accounts SET entry = ? WHERE key = ?"
            transaction.update(sql, (entry.sequence, one.holder.key))


def make_file(path: Path, witness: Witness) -> None:
    """Make a ledger at `path`, unless another process just did.

    Why: it is built under another name and linked to its own when it is complete. The witness comes
    first: a ledger without one would be refused, a witness of nothing but a beginning begins again.
    """
    with witness.held() as file:
        if path.exists():
            return
        check_not_lost(path.name, witness.read())
        _sweep(path)
        building = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
        try:
            witness.renew(file, _build(building))
            give_name(building, path)
        finally:
            _sweep(path)
        sync_folder(path.parent)


def check_not_lost(name: str, seen: Sighting | None) -> None:
    """Refuse to begin again where a ledger is known to have been used."""
    if seen is not None and seen.head.sequence > 1:
        raise LedgerError(
            f"{name} is gone",
            why=f"a ledger with {seen.head.sequence} entries was here, and its budgets are spent",
            fix="put back the newest copy; to begin anew, use a new folder",
        )


def _sweep(path: Path) -> None:
    """Remove what is being built here, and what a killed process left of it."""
    for left in path.parent.glob(f"{glob.escape(path.name)}.*.new*"):
        left.unlink(missing_ok=True)


def _build(path: Path) -> Sighting:
    try:
        with FORKS.use(), closing(connect(path, options="mode=rwc")) as connection:
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            prepare(connection)
            sighting = within(connection, "BEGIN EXCLUSIVE", lambda run: found(run, "sqlite"))
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as wrong:
        raise failure(wrong) from wrong
    return sighting


Place: TypeAlias = str | os.PathLike[str]

MIGRATION: Final = 3600.0
"""Seconds that bringing an old ledger up to date may take."""


def find_place(
    place: Place | LedgerStore, witness: Place | None
) -> tuple[LedgerStore, Witness | None]:
    """The store at an address and the witness that goes with it; nothing is opened yet."""
    seer = None if witness is None else Witness(Path(witness))
    if not isinstance(place, str | os.PathLike):
        return place, seer
    if str(place).startswith(("postgresql://", "postgres://")):
        return PostgresStore(str(place)), seer
    path = Path(place)
    return SQLiteStore(path), seer or Witness(path.with_name(f"{path.name}.head"))


def make_whole(store: LedgerStore, witness: Witness | None) -> None:
    """Make the ledger if there is none, bring an old one up to date, and refuse a doubtful one."""
    _make(store, witness)
    [(written,)] = store.snapshot(lambda execute: execute("SELECT version FROM ledger"))
    if written > version():
        raise LedgerError(
            f"the ledger is of version {written}",
            why=f"this package reads up to version {version()} and will not guess",
            fix="use the package that wrote it, or a later one",
        )
    seen = None if witness is None else witness.read()
    if witness is not None and seen is None:
        raise LedgerError(
            f"{witness.path.name} is missing",
            why="without it an old copy of the ledger would pass for the newest",
            fix="put it back; only if it is lost for good, and this is the newest copy of the "
            "ledger, adopt it with `discreet ledger adopt`",
        )
    store.snapshot(lambda execute: _check_end(execute, seen))
    if written < version():
        _bring_up_to_date(store)


def _bring_up_to_date(store: LedgerStore) -> None:
    store.transact(lambda run: bring_up_to_date(run, store.dialect), patience=MIGRATION)


def believe(store: LedgerStore, witness: Witness | None) -> None:
    """Make the witness forget, if the ledger is whole in itself."""
    report = store.snapshot(lambda execute: verify(execute, store.dialect, None))
    if report.problem is not None:
        raise damaged(str(report.problem))
    if witness is not None:
        with witness.held() as file:
            sighting = store.snapshot(lambda execute: Transaction(execute).sighting)
            witness.renew(file, sighting)
    _bring_up_to_date(store)


def _make(store: LedgerStore, witness: Witness | None) -> None:
    if isinstance(store, SQLiteStore) and witness is not None:
        if not store.path.exists():
            make_file(store.path, witness)
    elif isinstance(store, PostgresStore):
        _make_tables(store, witness)


def _make_tables(store: PostgresStore, witness: Witness | None) -> None:
    if witness is None:
        store.found(lambda execute: found(execute, "postgres"))
        return
    with witness.held() as file:

        def make(execute: Execute) -> Sighting:
            check_not_lost("the ledger", witness.read())
            sighting = found(execute, "postgres")
            witness.renew(file, sighting)
            return sighting

        store.found(make)


def _check_end(execute: Execute, seen: Sighting | None) -> None:
    """Look at the newest entry and at the one the witness saw; the rest is for `verify`."""
    transaction = Transaction(execute)
    rows = execute("SELECT sequence, hash, body FROM entries ORDER BY sequence DESC LIMIT 1")
    [(sequence, hash_, body)] = rows or [(0, "", "")]
    head = transaction.head
    if (sequence, hash_, digest(body)) != (head.sequence, head.hash, head.hash):
        raise damaged("its newest entry is not the one it says it ends with")
    transaction.check(seen)
