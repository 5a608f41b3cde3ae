"""The store of tokens and sessions: a small database beside the ledger, shared by all workers."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.errors import LedgerError

FILE = "access.sqlite"
"""Its name in a curator's folder."""

_PATIENCE = 10.0
_APPLICATION = 0x64735F32
_TABLES = (
    """CREATE TABLE IF NOT EXISTS tokens (
    id TEXT PRIMARY KEY, digest BLOB NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL,
    datasets TEXT, made REAL NOT NULL, expires REAL NOT NULL, revoked REAL) STRICT""",
    """CREATE TABLE IF NOT EXISTS sessions (
    digest BLOB PRIMARY KEY, token TEXT NOT NULL REFERENCES tokens (id), made REAL NOT NULL,
    seen REAL NOT NULL) STRICT""",
    """CREATE TABLE IF NOT EXISTS saved (
    id INTEGER PRIMARY KEY, owner TEXT NOT NULL, scope TEXT NOT NULL, title TEXT NOT NULL,
    facts TEXT NOT NULL, time REAL NOT NULL, UNIQUE (owner, scope, title)) STRICT""",
    """CREATE TABLE IF NOT EXISTS scram (
    token TEXT PRIMARY KEY REFERENCES tokens (id), stored BLOB NOT NULL, server BLOB NOT NULL,
    epsilon TEXT) STRICT""",
)


class AccessStore:
    """Rows of tokens, what proves them, sessions and saved questions; secrets are hashes alone.

    Edge cases: without a path it is in memory and ends with the process. What is revoked is on disk
    before `write` returns, and every worker sees it at its next request.
    """

    def __init__(self, path: Path | None, *, clock: Callable[[], float] = time.time) -> None:
        self.now = clock
        self.revoked: Callable[[str], float | None] = lambda _: None
        """When a token was revoked by what another record says: an old file may not know."""
        self.recent: dict[bytes, tuple[int, Any]] = {}
        """What was found lately, by whom and at which `version`: see `tokens.recall`."""
        self._watching = threading.Lock()
        self._watch: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        with _refusing():
            self._connection = _open(":memory:" if path is None else path, _PATIENCE)
            self._prepare()
            if path is not None:
                path.chmod(0o600)
                self._watch = _open(path, 0)

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Current rows."""
        with self._lock, _refusing():
            return self._connection.execute(sql, values).fetchall()

    def version(self) -> int | None:
        """A number that every write changes, by whichever process; None where it is not at once.

        It waits for nobody and reads no page: the thread that has the sockets may ask.
        """
        if self._watch is None or not self._watching.acquire(blocking=False):
            return None
        try:
            [(number,)] = self._watch.execute("PRAGMA data_version").fetchall()
        except sqlite3.Error:
            return None
        else:
            return int(number)
        finally:
            self._watching.release()

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A transaction, durable when it ends; undone when anything is raised."""
        with self._lock, _refusing():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Let go of the file."""
        with self._lock, self._watching:
            self._connection.close()
            if self._watch is not None:
                self._watch.close()

    def _prepare(self) -> None:
        [(found,)] = self._connection.execute("PRAGMA application_id").fetchall()
        [(tables,)] = self._connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        if found != _APPLICATION and tables:
            raise sqlite3.DatabaseError("the file is another program's")
        for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            self._connection.execute(f"PRAGMA {setting}")
        self._connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        for table in _TABLES:
            self._connection.execute(table)


def _open(path: Path | str, patience: float) -> sqlite3.Connection:
    return sqlite3.connect(path, patience, isolation_level=None, check_same_thread=False)


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeError) as wrong:
        raise failure(wrong) from None


def failure(wrong: Exception) -> LedgerError:
    """The error for a file of tokens that is damaged or cannot be written."""
    said = type(wrong).__name__ if isinstance(wrong, ValueError) else wrong
    return LedgerError(
        f"{FILE} could not be read or written",
        why=f"the system says: {said}",
        fix="see that the curator's folder is writable, with room on the disk; if the file is "
        "damaged, put it aside and make new tokens",
    )
