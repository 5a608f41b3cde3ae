"""Create a ledger, whole or not at all and never over another file; find one and check it."""

import glob
import os
import secrets
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

from discreet.curator.fork_safety import FORKS
from discreet.curator.ledger.orders import NOTHING, Entry, digest
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
from discreet.curator.ledger.tables import VERSION, Dialect, Execute, check_version, make_tables
from discreet.curator.ledger.transaction import Transaction
from discreet.curator.ledger.verify import verify
from discreet.curator.ledger.witness import Sighting, Witness, sync_folder
from discreet.errors import LedgerError


def found(execute: Execute, dialect: Dialect) -> Sighting:
    """Make the tables and the first entry."""
    make_tables(execute, dialect)
    ledger = secrets.token_hex(16)
    execute("INSERT INTO ledger VALUES (1, ?, ?, 0, ?)", (ledger, VERSION, NOTHING))
    transaction = Transaction(execute)
    transaction.append("founded", "ledger", {"ledger": ledger, "version": VERSION})
    transaction.finish()
    return transaction.sighting


def make_file(path: Path, witness: Witness) -> None:
    """Make a ledger at `path`, unless another process just did.

    Why: it is built under another name and linked to its own when it is whole. The witness comes
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
            _give_name(building, path)
        finally:
            _sweep(path)
        sync_folder(path.parent)


def _give_name(building: Path, path: Path) -> None:
    """Give a file its name, and never take it from another."""
    try:
        os.link(building, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links; the lock keeps other processes out
        building.rename(path)


def check_not_lost(name: str, seen: Sighting | None) -> None:
    """Refuse to begin again where a ledger is known to have been used."""
    if seen is not None and seen.head.sequence > 1:
        raise LedgerError(
            f"{name} is gone",
            why=f"a ledger with {seen.head.sequence} entries was here, and its budgets are spent",
            fix="put back the newest copy; to begin anew, use a new folder",
        )


def _sweep(path: Path) -> None:
    """Remove what is being built here, and what somebody who was killed left of it."""
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
    """Make the ledger if there is none, and refuse a doubtful one."""
    _make(store, witness)
    store.snapshot(_check_version)
    seen = None if witness is None else witness.read()
    if witness is not None and seen is None:
        raise LedgerError(
            f"{witness.path.name} is missing",
            why="without it an old copy of the ledger would pass for the newest",
            fix="put it back; only if it is lost for good, and this is the newest copy of the "
            "ledger, adopt it with `discreet ledger adopt`",
        )
    store.snapshot(lambda execute: _check_end(execute, seen))


def believe(store: LedgerStore, witness: Witness | None) -> None:
    """Make the witness forget, if the ledger is whole in itself."""
    store.snapshot(_check_version)
    report = store.snapshot(lambda execute: verify(execute, store.dialect, None))
    if report.problem is not None:
        raise damaged(str(report.problem))
    if witness is not None:
        with witness.held() as file:
            sighting = store.snapshot(lambda execute: Transaction(execute).sighting)
            witness.renew(file, sighting)


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


def _check_version(execute: Execute) -> None:
    """Refuse a ledger of another version, and one whose first entries were of another."""
    [(written,)] = execute("SELECT version FROM ledger")
    check_version(written)
    for (body,) in execute("SELECT body FROM entries WHERE sequence = 1"):
        check_version(Entry.read(body).facts["version"])


def _check_end(execute: Execute, seen: Sighting | None) -> None:
    """Look at the newest entry and at the one the witness saw; the rest is for `verify`."""
    transaction = Transaction(execute)
    rows = execute("SELECT sequence, hash, body FROM entries ORDER BY sequence DESC LIMIT 1")
    [(sequence, hash_, body)] = rows or [(0, "", "")]
    head = transaction.head
    if (sequence, hash_, digest(body)) != (head.sequence, head.hash, head.hash):
        raise damaged("its newest entry is not the one it says it ends with")
    transaction.check(seen)
