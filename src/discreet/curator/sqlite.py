"""The ledger in one SQLite file: WAL, synchronous=FULL, one writer at a time."""

import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from discreet.curator.forks import FORKS
from discreet.curator.schema import Change, Dialect, Execute, Statement
from discreet.curator.store import Refused, overtaken, reading
from discreet.errors import LedgerError

T = TypeVar("T")

APPLICATION: Final = 0x64735F31
"""What the header of our files says they are."""

PATIENCE: Final = 30.0
"""Seconds to wait for another process that is writing."""


class Connection(Protocol):
    """The part of a SQLite connection that the ledger uses."""

    @property
    def in_transaction(self) -> bool:
        """Whether BEGIN was said and neither COMMIT nor ROLLBACK."""

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Any:
        """Run a statement; the answer has `fetchall` and `rowcount`."""

    def close(self) -> None:
        """Let go of the file."""


def connect(path: Path, *, options: str = "mode=rw") -> Connection:
    """Open a file that is there; it is never created by being opened."""
    address = f"{path.absolute().as_uri()}?{options}"
    return sqlite3.connect(
        address, uri=True, isolation_level=None, timeout=PATIENCE, check_same_thread=False
    )


class SQLite:
    """A ledger's store in one file.

    Guarantee:
        As `Store` says: FULL syncs the log before a commit returns, and a commit is seen by nobody
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

    def transact(self, work: Callable[[Execute], T]) -> T:
        """Run `work` between BEGIN IMMEDIATE and COMMIT."""
        with FORKS.use(kept_open=self), self._lock:
            try:
                return within(self._opened(), "BEGIN IMMEDIATE", work)
            except (LedgerError, OSError):
                self.close()
                raise

    def snapshot(self, work: Callable[[Execute], T]) -> T:
        """Run `work` on a connection of its own."""
        with FORKS.use(), closing(self._ready()) as connection:
            return within(connection, "BEGIN", work)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None and not FORKS.spoiled:
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
                fix="put the newest copy in its place and start again",
            )
        return self._connection

    def _ready(self) -> Connection:
        try:
            with reading():
                connection = self._connect(self.path)
                prepare(connection)
        except sqlite3.Error as wrong:
            raise failure(wrong) from wrong
        return connection


class Memory:
    """A ledger's store that ends with the process; for notebooks and tests."""

    dialect: Dialect = "sqlite"

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._connection: Connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False
        )
        self._connection.execute("PRAGMA foreign_keys = ON")

    def transact(self, work: Callable[[Execute], T]) -> T:
        """Run `work` alone."""
        if self._pid != os.getpid():
            raise LedgerError(
                "a ledger in memory was carried into another process",
                why="each process would spend the same budget",
                fix="use a curator in a folder",
            )
        with self._lock:
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


class Session:
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
        """Run several, each of which has to change so many rows."""
        for sql, values, rows in changes:
            if self._connection.execute(sql, values).rowcount != rows:
                raise overtaken()


def within(connection: Connection, begin: str, work: Callable[[Execute], T]) -> T:
    """Run `work` in a transaction; undo it when anything is raised."""
    execute = Session(connection)
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
    """Which file has this name."""
    try:
        found = path.stat()
    except OSError as wrong:
        raise missing(path, wrong) from wrong
    return found.st_dev, found.st_ino


def missing(path: Path, wrong: OSError) -> LedgerError:
    """The error for a file that is not there or not ours to read."""
    return LedgerError(
        f"{path.name} cannot be opened",
        why=type(wrong).__name__,
        fix="put the newest copy in its place",
    )


def failure(wrong: sqlite3.Error) -> LedgerError:
    """What SQLite says, as an error of the ledger; it speaks of files, never of data."""
    return LedgerError(
        "the ledger could not be read or written",
        why=f"SQLite says: {wrong}",
        fix="see that its folder is writable, with room on the disk, and ask again: a charge that "
        "was made is found, not made twice",
    )
