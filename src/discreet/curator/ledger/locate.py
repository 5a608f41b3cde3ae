"""Find and check the ledger at an address, or say why it cannot be used."""

import os
from pathlib import Path
from typing import Final

from discreet.curator.ledger import create
from discreet.curator.ledger.migrations import Execute, version
from discreet.curator.ledger.orders import digest
from discreet.curator.ledger.postgres_store import PostgresStore
from discreet.curator.ledger.store import LedgerStore, SQLiteStore, damaged
from discreet.curator.ledger.transaction import Transaction
from discreet.curator.ledger.verify import verify
from discreet.curator.ledger.witness import Sighting, Witness
from discreet.errors import LedgerError

Place = str | os.PathLike[str]

MIGRATION: Final = 3600.0
"""Seconds that bringing an old ledger up to date may take."""


def find_place(place: Place, witness: Place | None) -> tuple[LedgerStore, Witness | None]:
    """The store at an address and the witness that goes with it; nothing is opened yet."""
    seer = None if witness is None else Witness(Path(witness))
    if str(place).startswith(("postgresql://", "postgres://")):
        return PostgresStore(str(place)), seer
    path = Path(place)
    return SQLiteStore(path), seer or Witness(path.with_name(f"{path.name}.head"))


def make_whole(store: LedgerStore, witness: Witness | None) -> None:
    """Make the ledger if there is none, bring an old one up to date, and refuse a doubtful one."""
    _make(store, witness)
    [(written,)] = store.snapshot(lambda execute: execute("SELECT version FROM ledger"))
    create.check_version(written)
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
    def work(execute: Execute) -> None:
        create.bring_up_to_date(execute, store.dialect)

    store.transact(work, patience=MIGRATION)


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
            create.make_file(store.path, witness)
    elif isinstance(store, PostgresStore):
        _make_tables(store, witness)


def _make_tables(store: PostgresStore, witness: Witness | None) -> None:
    if witness is None:
        store.found(lambda execute: create.found(execute, "postgres"))
        return
    with witness.held() as file:

        def make(execute: Execute) -> Sighting:
            create.check_not_lost("the ledger", witness.read())
            sighting = create.found(execute, "postgres")
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
