"""The database interface of the ledger, and the ledger in one SQLite file.

SQLite: WAL, synchronous=FULL, one writer at a time.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection
from typing import Any, Final, Protocol, TypeVar

from discreet.curator.fork_safety import FORKS
from discreet.curator.ledger.migrations import Change, Dialect, Execute, Statement
from discreet.errors import DiscreetError, LedgerError

T = TypeVar("T")

PATIENCE: Final = 25.0
"""Seconds that a caller waits for other writers: with the work itself it is less than 30."""


class Refused(Exception):  # noqa: N818 - a sentence reads better than a suffix
    """A constraint of the database refused a statement; the transaction was rolled back."""


def overtaken() -> LedgerError:
    """The error for a statement that did not find the rows it was meant for."""
    return LedgerError(
        "a row of the ledger changed under a transaction",
        why="transactions did not happen one after another",
        fix="run `discreet ledger verify`",
    )


@contextmanager
def reading() -> Iterator[None]:
    """Turn what readers stumble over into the error for a ledger that is damaged."""
    try:
        yield
    except DiscreetError:
        raise
    except (LookupError, TypeError, ValueError) as wrong:
        raise damaged("something in it is not what this package writes") from wrong


def damaged(why: str) -> LedgerError:
    """The error for a ledger that was changed by others, or by its disk."""
    return LedgerError(
        "the ledger was changed from outside",
        why=why,
        fix="stop all that use it and copy its whole folder to a safe place, the -wal file too; "
        "then put back the newest copy that `discreet ledger verify` finds whole",
    )


def too_busy(why: str) -> LedgerError:
    """The error for a ledger that others did not release in time."""
    return LedgerError(
        "the ledger is too busy",
        why=why,
        fix="ask again: a charge that was made is found, not made twice; if it stays so, look for "
        "a process that was stopped while it was writing, and end it",
    )


@contextmanager
def held(lock: threading.RLock, patience: float) -> Iterator[Callable[[], float]]:
    """Hold a lock; the argument is how much of the patience is left."""
    until = time.monotonic() + patience
    if not lock.acquire(timeout=max(0.0, patience)):
        raise too_busy(f"another thread has been writing for {patience:g} seconds")
    try:
        yield lambda: max(0.0, until - time.monotonic())
    finally:
        lock.release()


class LedgerStore(Protocol):
    """A database that holds one ledger.

    Guarantee:
        When `transact` returns, what `work` did and everything it read is on disk; when it raises,
        what `work` did is undone, or, after LedgerError only, it may have been done. Transactions
        of all threads, processes and machines happen one after another.
    Edge cases:
        `work` may be run again from the start and must not have other effects. Errors of the
        database become LedgerError, violated constraints Refused. Nothing waits longer than
        `patience` seconds for others, be they frozen or cut off; then it is LedgerError.
    """

    @property
    def dialect(self) -> Dialect:
        """The SQL it speaks."""

    def transact(self, work: Callable[[Execute], T], *, patience: float = PATIENCE) -> T:
        """Run `work` alone and durably."""

    def snapshot(self, work: Callable[[Execute], T]) -> T:
        """Run `work`, which only reads, on one moment's state, without stopping writers."""

    def close(self) -> None:
        """Let go of connections; a later call opens them again."""


APPLICATION: Final = 0x64735F31
"""What the header of our files says they are."""

_READERS: Final = 16
"""Connections that are kept for the next to read: opening one takes longer than most reading."""


def connect(path: Path, *, options: str = "mode=rw") -> Connection:
    """Open a file that is there; it is never created by being opened."""
    address = f"{path.absolute().as_uri()}?{options}"
    return sqlite3.connect(
        address, uri=True, isolation_level=None, timeout=PATIENCE, check_same_thread=False
    )


class SQLiteStore:
    """A ledger's store in one file.

    Guarantee:
        As `Store` says: FULL syncs the log before a commit returns, and no reader sees a commit
        before it is synced.
    Edge cases:
        No connection is open while the process forks: parent and child open theirs anew. A file
        that was replaced while open is refused. After an I/O error the connection is dropped and
        opened anew.
    """

    dialect: Dialect = "sqlite"

    def __init__(self, path: Path, *, connect: Callable[[Path], Connection] = connect) -> None:
        self.path = path
        self._connect = connect
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._identity = (0, 0)
        self._readers: list[tuple[tuple[int, int], Connection]] = []

    def transact(self, work: Callable[[Execute], T], *, patience: float = PATIENCE) -> T:
        """Run `work` between BEGIN IMMEDIATE and COMMIT."""
        with FORKS.use(kept_open=self), held(self._lock, patience) as left:
            try:
                connection = self._opened()
                connection.execute(f"PRAGMA busy_timeout = {int(left() * 1000)}")
                return within(connection, "BEGIN IMMEDIATE", work)
            except (LedgerError, OSError):
                self.close()
                raise

    def snapshot(self, work: Callable[[Execute], T]) -> T:
        """Run `work` on its own connection, which stays open for the next reader."""
        with FORKS.use(kept_open=self):
            kept = identity(self.path)
            connection = self._reader(kept)
            try:
                found = within(connection, "BEGIN", work)
            except BaseException:
                connection.close()
                raise
            if len(self._readers) < _READERS:
                self._readers.append((kept, connection))
            else:
                connection.close()
            return found

    def _reader(self, kept: tuple[int, int]) -> Connection:
        """An unused connection to the file that now has its name."""
        while True:
            try:
                of, connection = self._readers.pop()
            except IndexError:
                return self._ready()
            if of == kept:
                return connection
            connection.close()

    def close(self) -> None:
        """Close unused connections."""
        if FORKS.spoiled:
            return
        while self._readers:
            self._readers.pop()[1].close()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _opened(self) -> Connection:
        if self._connection is None:
            self._connection = self._ready()
            self._identity = identity(self.path)
        elif identity(self.path) != self._identity:
            raise LedgerError(
                f"{self.path.name} was replaced while it was in use",
                why="another file has its name now",
                fix="keep both files; put the one that was in use back, with its -wal file, and "
                "start again",
            )
        return self._connection

    def _ready(self) -> Connection:
        try:
            with reading():
                connection = self._connect(self.path)
                try:
                    self._recognise(connection)
                    prepare(connection)
                except BaseException:
                    connection.close()
                    raise
        except sqlite3.Error as wrong:
            foreign = self.path.is_dir() or _code(wrong) == sqlite3.SQLITE_NOTADB
            raise (_not_ours(self.path) if foreign else failure(wrong)) from wrong
        return connection

    def _recognise(self, connection: Connection) -> None:
        """Refuse a file that is not a ledger, before anything in it is changed.

        Why: SQLite itself has to read the mark. In the middle of a checkpoint, or after one that
        was killed, the file alone is neither old nor new; with its log it is whole.
        """
        [(mark,)] = connection.execute("PRAGMA application_id").fetchall()
        if mark != APPLICATION:
            raise _not_ours(self.path)


class MemoryStore:
    """A ledger's store that ends with the process; for notebooks and tests."""

    dialect: Dialect = "sqlite"

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._connection: Connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False
        )
        self._connection.execute("PRAGMA foreign_keys = ON")

    def transact(self, work: Callable[[Execute], T], *, patience: float = PATIENCE) -> T:
        """Run `work` alone."""
        if self._pid != os.getpid():
            raise LedgerError(
                "a ledger in memory was carried into another process",
                why="each process would spend the same budget",
                fix="use a curator in a folder",
            )
        with held(self._lock, patience):
            return within(self._connection, "BEGIN IMMEDIATE", work)

    def snapshot(self, work: Callable[[Execute], T]) -> T:
        """Run `work` alone."""
        return self.transact(work)

    def close(self) -> None:
        """Do nothing: closing would forget what was spent."""


def prepare(connection: Connection) -> None:
    """Make every commit durable before it returns."""
    [(journal,)] = connection.execute("PRAGMA journal_mode = WAL").fetchall()
    for setting in ("synchronous = FULL", "fullfsync = ON", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {setting}")
    [(synchronous,)] = connection.execute("PRAGMA synchronous").fetchall()
    if (journal, synchronous) != ("wal", 2):
        raise LedgerError(
            "the file system cannot keep a ledger",
            why=f"SQLite offers journal mode {journal} and synchronous {synchronous} there",
            fix="use a local disk, or Postgres",
        )


class SQLiteSession:
    """Statements on one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __call__(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement and give its rows."""
        rows: list[tuple[Any, ...]] = self._connection.execute(sql, values).fetchall()
        return rows

    def ask_all(self, statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
        """Run several and give the rows of each."""
        return [self(sql, values) for sql, values in statements]

    def change(self, changes: Sequence[Change]) -> None:
        """Run several, each of which must change that many rows."""
        for sql, values, rows in changes:
            if self._connection.execute(sql, values).rowcount != rows:
                raise overtaken()


def within(connection: Connection, begin: str, work: Callable[[Execute], T]) -> T:
    """Run `work` in a transaction; undo it when anything is raised."""
    execute = SQLiteSession(connection)
    try:
        execute(begin)
        with reading():
            answer = work(execute)
        execute("COMMIT")
    except sqlite3.IntegrityError as wrong:
        raise Refused from wrong
    except sqlite3.Error as wrong:
        raise failure(wrong) from wrong
    finally:
        _undo(connection)
    return answer


def _undo(connection: Connection) -> None:
    if connection.in_transaction:
        try:
            connection.execute("ROLLBACK")
        except sqlite3.Error:
            connection.close()  # the log is rolled back by the next to open it


def identity(path: Path) -> tuple[int, int]:
    """Device and inode of the file with this name."""
    try:
        found = path.stat()
    except OSError as wrong:  # it is not there, or not ours to read
        raise LedgerError(
            f"{path.name} cannot be opened",
            why=type(wrong).__name__,
            fix="see that its disk is there and can be read; if the file is lost, put back its "
            "newest copy together with the -wal file that belongs to it",
        ) from wrong
    return found.st_dev, found.st_ino


def _code(wrong: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 where there is none."""
    return getattr(wrong, "sqlite_errorcode", 0) & 0xFF


def failure(wrong: sqlite3.Error) -> LedgerError:
    """An SQLite error as a LedgerError; it mentions files, never data."""
    match _code(wrong):
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return damaged(f"SQLite says: {wrong}")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_PROTOCOL:
            return too_busy(f"SQLite says: {wrong}")
    return LedgerError(
        "the ledger could not be read or written",
        why=f"SQLite says: {wrong}",
        fix="see that its folder is writable, with room on the disk, and ask again: a charge that "
        "was made is found, not made twice",
    )


def _not_ours(path: Path) -> LedgerError:
    return LedgerError(
        f"{path.name} is not a ledger",
        why="it is something else, or its first page is damaged",
        fix="name another folder if it is something else; if a ledger was here, copy the whole "
        "folder to a safe place, the -wal file too, before you put the newest copy in its place",
    )
