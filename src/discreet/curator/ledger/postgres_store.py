"""The ledger in Postgres, for several processes and machines; needs the extra `postgres`.

Transactions take the ledger in turn, so that the chain has one order. Holding the turn while the
disk syncs would allow one charge a sync; so the commit itself does not wait, and its caller then
waits until the log is on disk up to there. All waiting callers share one sync. The log keeps its
order, so a crash loses only what nobody was told.

The turn is short because little is said in it: one message takes it and brings what has to be read,
another writes, passes it on and waits for the disk.
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, LiteralString, TypeAlias, TypeVar

from discreet.curator.fork_safety import FORKS
from discreet.curator.ledger.migrations import Change, Dialect, Execute, Statement
from discreet.curator.ledger.store import PATIENCE, Refused, held, overtaken, reading, too_busy
from discreet.curator.ledger.witness import Sighting
from discreet.errors import LedgerError

if TYPE_CHECKING:
    import psycopg

    Link: TypeAlias = psycopg.Connection[tuple[Any, ...]]

T = TypeVar("T")

BEGIN: Final = (
    "BEGIN ISOLATION LEVEL SERIALIZABLE",
    "SET LOCAL synchronous_commit TO off",
    "LOCK TABLE ledger IN EXCLUSIVE MODE",
)
"""The lock is taken before the snapshot, so a read sees what the last transaction left."""

COMMIT: Final = ("COMMIT", "SELECT pg_logical_emit_message(true, 'discreet', '')")
"""A transaction that writes to the log and waits for it: then everything before it is on disk."""

PLANS: Final = "SET plan_cache_mode TO force_generic_plan; SET enable_seqscan TO off"
"""Statements are planned once, by their indexes: a table that is small now will not be later."""

SHAPES: Final = 100
VALUES: Final = 60
"""At most this many statements, of at most this many values each, have a prepared plan."""

IDLE: Final = 8
"""Seconds after which the server ends a turn whose client was frozen or cut off in it."""

WRITER: Final = f"{PLANS}; SET idle_in_transaction_session_timeout TO '{IDLE}s'"

CONNECT: Final = 10
"""Seconds to wait for a connection, unless the address itself says less."""

STEP: Final = 1.0
"""Seconds to wait for the server to undo a transaction; it undoes it too when the client leaves."""

TRIES: Final = 20
TURN: Final = 0x64735F31
"""Whose turn it is to make the tables."""


LOOK: Final = 0.2
"""Seconds between two looks at what waits for the server."""


class Cutoff:
    """Ends conversations with a server that does not answer.

    Why: a driver waits for a reply as long as the connection stands, and it stands while the server
    is frozen or its network swallows everything. One thread looks at the conversations of the
    process and shuts down the socket of each that lasts too long; its driver then says that it was
    lost. The thread ends when there are none.
    """

    def __init__(self) -> None:
        self.renew()
        FORKS.renew_in_child(self)

    def renew(self) -> None:
        """Begin anew in a forked child, where the thread is not."""
        self._lock = threading.Lock()
        self._ends: dict[object, tuple[Link, float]] = {}
        self._watching = False

    @contextmanager
    def after(self, seconds: float, connection: "Link") -> Iterator[None]:
        """Cut a connection unless what is done with it ends in time."""
        key = object()
        with self._lock:
            self._ends[key] = connection, time.monotonic() + seconds
            if not self._watching:
                self._watching = True
                threading.Thread(target=self._watch, name="discreet-cutoff", daemon=True).start()
        try:
            yield
        finally:
            with self._lock:
                self._ends.pop(key, None)

    def _watch(self) -> None:
        watching = True
        while watching:
            time.sleep(LOOK)
            with self._lock:
                now = time.monotonic()
                for key in [key for key, (_, end) in self._ends.items() if now > end]:
                    _shut(self._ends.pop(key)[0])
                watching = self._watching = bool(self._ends)


def _shut(connection: "Link") -> None:
    # It may be closed by now.
    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as wire:
        wire.shutdown(socket.SHUT_RDWR)


CUTOFF: Final = Cutoff()


class PostgresStore:
    """A ledger's store in the schema `discreet` of a database.

    Guarantee:
        As `Store` says. Commits are not waited for one by one: after each, and before anything it
        did or read is told, the log is synced (and sent to synchronous standbys).
    Edge cases:
        A server with fsync off is refused. Serialisation failures and deadlocks are tried again. A
        connection that was lost is opened anew by the next call; it does not survive fork. A client
        that is frozen in its turn loses it; a server that does not answer is given up.
    """

    dialect: Dialect = "postgres"

    def __init__(self, url: str) -> None:
        self._url = url
        self._abandoned: list[object] = []
        self._renew()

    def _renew(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._connection: Link | None = None
        self._prepared: dict[str, str] = {}

    def found(self, make: Callable[[Execute], Sighting]) -> Sighting | None:
        """Make the tables if there are none; None if there are."""
        with self._lock:
            connection = self._opened()

            def work(execute: Execute) -> Sighting | None:
                execute("SELECT pg_advisory_xact_lock(?)", (TURN,))
                if execute("SELECT to_regclass('discreet.ledger')") != [(None,)]:
                    return None
                execute("CREATE SCHEMA IF NOT EXISTS discreet")
                return make(execute)

            return self._within(connection, ("BEGIN", _limit(PATIENCE)), work, ("COMMIT",))

    def transact(self, work: Callable[[Execute], T], *, patience: float = PATIENCE) -> T:
        """Run `work` in its turn."""
        if self._pid != os.getpid():
            self._abandoned.append(self._connection)  # closing it would end the parent's session
            self._renew()
        with held(self._lock, patience) as left:
            for _ in range(TRIES):
                wait = left()
                begin = (BEGIN[0], _limit(wait), *BEGIN[1:])
                try:
                    return self._within(self._opened(), begin, work, COMMIT, wait)
                except _Conflict:
                    if not left():
                        break
                except LedgerError:
                    self.close()
                    raise
        raise too_busy("transactions were in conflict with others all the time")

    def snapshot(self, work: Callable[[Execute], T]) -> T:
        """Run `work` on its own connection."""
        connection = self._connected()
        try:
            begin = ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",)
            return self._within(connection, begin, work, ("COMMIT",))
        finally:
            connection.close()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None and self._pid == os.getpid():
            self._connection.close()
        self._connection = None

    def _opened(self) -> "Link":
        if self._connection is None or self._connection.closed:
            self._connection, self._prepared = self._connected(WRITER), {}
        return self._connection

    def _connected(self, settings: LiteralString = "") -> "Link":
        psycopg = _psycopg()
        try:
            stated = psycopg.conninfo.conninfo_to_dict(self._url).get("connect_timeout")
            connection: Link = psycopg.connect(
                self._url, autocommit=True, connect_timeout=min(CONNECT, int(stated or CONNECT))
            )
            with CUTOFF.after(CONNECT, connection):
                connection.execute("SET search_path TO discreet")
                [(fsync,)] = connection.execute("SHOW fsync").fetchall()
                [(waits,)] = connection.execute("SHOW synchronous_commit").fetchall()
                if waits == "off":
                    connection.execute("SET synchronous_commit TO on")
                if settings:
                    connection.execute(settings)
        except psycopg.Error as wrong:
            raise _failure(wrong) from None
        if fsync != "on":
            connection.close()
            raise LedgerError(
                "the server does not keep a ledger",
                why="its setting fsync is off, so a power cut would forget charges",
                fix="set fsync = on in the server's configuration",
            )
        return connection

    def _within(
        self,
        connection: "Link",
        begin: Sequence[str],
        work: Callable[[Execute], T],
        commit: Sequence[str],
        patience: float = PATIENCE,
    ) -> T:
        psycopg = _psycopg()
        own = connection is self._connection
        session = PostgresSession(connection, begin, self._prepared if own else None, patience)
        try:
            with reading():
                answer = work(session)
            session.ask_all([(sql, ()) for sql in commit])
        except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected) as wrong:
            raise _Conflict from wrong
        except psycopg.IntegrityError as wrong:
            raise Refused from wrong
        except psycopg.errors.DivisionByZero as wrong:
            raise overtaken() from wrong
        except psycopg.errors.LockNotAvailable:
            raise too_busy("another client has been writing all the time") from None
        except psycopg.Error as wrong:
            # Its text may hold the address, which may hold a password.
            raise _failure(wrong) from None
        finally:
            with CUTOFF.after(STEP, connection):
                _undo(connection)
        return answer


class PostgresSession:
    """Statements on one connection; what need not be answered waits for the next that does."""

    def __init__(
        self,
        connection: "Link",
        begin: Sequence[str],
        prepared: dict[str, str] | None,
        patience: float,
    ) -> None:
        self._connection = connection
        self._prepared = prepared
        self._patience = patience + 1  # the server itself ends what waits for a lock
        self._waiting: list[Statement] = [(sql, ()) for sql in begin]

    def __call__(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement and give its rows."""
        if self._waiting:
            return self.ask_all([(sql, values)])[0]
        asked: Any = sql.replace("?", "%s") if values else sql
        with CUTOFF.after(self._patience, self._connection):
            cursor = self._connection.execute(asked, values or None)
        return cursor.fetchall() if cursor.description else []

    def change(self, changes: Sequence[Change]) -> None:
        """Run several, each of which must change that many rows, with the next query."""
        self._waiting += [(_checked(sql, rows), values) for sql, values, rows in changes]

    def ask_all(self, statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
        """Send what waits and these in one message; the rows of these."""
        sent, self._waiting = [*self._waiting, *statements], []
        # Values are quoted by libpq here, because a message with parameters holds one statement.
        cursor = _psycopg().ClientCursor(self._connection)
        with CUTOFF.after(self._patience, self._connection):
            self._prepare(sent)
            text: Any = ";".join(self._called(sql, values) for sql, values in sent)
            cursor.execute(text, [value for _, values in sent for value in values])
        answers = []
        for _ in sent:
            answers.append(cursor.fetchall() if cursor.description else [])
            cursor.nextset()
        return answers[len(sent) - len(statements) :]

    def _prepare(self, statements: Sequence[Statement]) -> None:
        """Have the server plan statements when they are first used."""
        for sql, values in statements:
            if self._prepared is None or len(self._prepared) >= SHAPES:
                return
            if sql not in self._prepared and 0 < len(values) <= VALUES:
                name = f"ledger_{len(self._prepared)}"
                first, *rest = sql.split("?")
                numbered = first + "".join(f"${n}{part}" for n, part in enumerate(rest, start=1))
                asked: Any = f"PREPARE {name} AS {numbered}"
                self._connection.execute(asked)
                self._prepared[sql] = name

    def _called(self, sql: str, values: Sequence[Any]) -> str:
        name = None if self._prepared is None else self._prepared.get(sql)
        if name is None or not values:
            plain = sql.replace("%", "%%")
            return plain.replace("?", "%s") if values else plain
        return f"EXECUTE {name} ({', '.join(['%s'] * len(values))})"


def _limit(patience: float) -> str:
    """How long the server lets a transaction wait for locks."""
    return f"SET LOCAL lock_timeout TO '{max(1, int(patience * 1000))}ms'"


def _checked(sql: str, rows: int) -> str:
    """The statement, made to fail if it does not change that many rows."""
    if sql.startswith("INSERT"):  # it adds all of its rows or fails
        return sql
    return f"""WITH changed AS ({sql} RETURNING 1)
    SELECT 1 / (count(*) = {rows})::integer FROM changed"""  # noqa: S608 - our own statement


class _Conflict(Exception):  # noqa: N818 - an event, not a fault
    """The transaction has to be tried again."""


def _psycopg() -> Any:
    try:
        import psycopg  # noqa: PLC0415 - an extra
    except ImportError as wrong:
        raise LedgerError(
            "the ledger is in Postgres and its driver is not installed",
            why="psycopg is an extra",
            fix="pip install 'discreet[postgres]'",
        ) from wrong
    return psycopg


def _undo(connection: "Link") -> None:
    idle = _psycopg().pq.TransactionStatus.IDLE
    if connection.closed or connection.info.transaction_status == idle:
        return
    try:
        connection.execute("ROLLBACK")
    except _psycopg().Error:
        connection.close()


def _failure(wrong: "psycopg.Error") -> LedgerError:
    code = f" ({wrong.sqlstate})" if wrong.sqlstate else ""
    return LedgerError(
        "the ledger could not be read or written",
        why=f"Postgres says: {type(wrong).__name__}{code}",
        fix="see that the server runs and has room, and ask again: a charge that was made is "
        "found, not made twice",
    )
