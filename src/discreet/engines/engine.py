"""The engine interface: keep rows, and select exact integers from them.

An engine holds the tables of one schema. A question runs in one snapshot of them, in a session that
can keep the rows of a SELECT under a name. All SQL is written by this package, in the engine's
dialect. `discreet.engines.check_engine` checks an implementation against everything said here.

Statements are interrupted at their deadline (`stopping`).
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

import pyarrow as pa

from discreet.engines.stored_types import Description
from discreet.errors import EngineError
from discreet.plan.dummy import ARROW as ARROW  # noqa: PLC0414 - engines read and write it
from discreet.plan.schema import PublicTable, Schema, Table
from discreet.sql.writer.dialect import Dialect


@dataclass(frozen=True, slots=True)
class Parts:
    """A source in several parts with the same columns, each with its number in the column PART."""

    sources: tuple[Any, ...]
    numbers: tuple[int, ...]


class Session(Protocol):
    """One question's conversation with the data, which does not change meanwhile.

    Every method raises `EngineError`, which quotes no data, where the engine cannot go on or the
    session's time is over.
    """

    def keep(self, name: str, select: str) -> None:
        """Compute a SELECT once and keep its rows under a name, in place of what had that name.

        The SELECT may read what had the name before. The name is this session's alone and ends with
        it.
        """
        ...

    def stream(self, select: str, most: int | None = None) -> Iterator[pa.RecordBatch]:
        """Stream the rows of a SELECT, batch by batch, in its order, as the types of `ARROW`.

        `most` says that these are whole numbers and at most so many rows: few can be fetched at
        once. Nothing else is asked of the session until all batches are taken.
        """
        ...

    def put(self, name: str, table: pa.Table) -> None:
        """Lend a small public table to this session, in place of what had that name."""
        ...


Work: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""Batches in, batches out: a function that can be sent to other processes."""


@runtime_checkable
class WorkerSession(Session, Protocol):
    """A session whose engine runs Python where its rows are."""

    def has_workers(self) -> bool:
        """Whether its workers have this version of this package."""
        ...

    def map_parts(
        self, select: str, work: Work, columns: str, parts: Sequence[int]
    ) -> Iterator[pa.RecordBatch]:
        """Run `work` on the rows of each part, which the column `part` tells, in that order.

        A worker is given whole parts, one after another. `columns` names and types what `work`
        makes, `part` first. All of it is made once, and kept, before any of it is given.
        """
        ...


@dataclass(slots=True)
class Deadline:
    """A moment of the monotonic clock at which an engine stops; `cancel` brings it forward to now.

    `cancelled` is when that was done, None before.
    """

    moment: float
    cancelled: float | None = None
    _told: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)

    def cancel(self) -> None:
        """Let the engine stop within half a second."""
        self.moment = self.cancelled = time.monotonic()
        self._told.set()

    def wait(self, seconds: float) -> float | None:
        """Wait so long or until it is cancelled; when that was, None where it was not."""
        return self.cancelled if self._told.wait(seconds) else None


class Engine(Protocol):
    """Holds the data of a schema."""

    @property
    def dialect(self) -> Dialect:
        """How the engine writes SQL."""
        ...

    def describe(self, source: Any) -> Description:
        """The columns of a source of rows, from their types alone: no value is looked at.

        What a source is depends on the engine: a file, a frame, the name of a table.
        """
        ...

    def open(self, schema: Schema, sources: Mapping[str, Any] = ...) -> None:
        """Make the tables of a schema ready for questions, each with the source of its rows.

        A source may be `Parts` where the engine knows them.

        InputError where a key is not unique, EngineError where a source cannot be read.
        """
        ...

    def snapshot(self, until: Deadline | None = None) -> AbstractContextManager[Session]:
        """A session on the data as they are now; what it kept ends with it.

        At `until` what runs is stopped, and nothing runs after it.
        """
        ...

    def check_readable(self, table: Table | PublicTable) -> None:
        """Refuse a table that holds a value which would make a question fail; for the owner."""
        ...

    def row_count(self, name: str) -> int:
        """How many rows are stored behind a table; for the owner."""
        ...

    def close(self) -> object:
        """Let go of files, memory and connections; a second time does nothing."""
        ...


_AGAIN = 0.02
"""Seconds between interrupts."""

_LOOK = 0.5
"""Seconds between looks whether a question was cancelled."""


@contextmanager
def stopping(interrupt: Callable[[], object], until: Deadline | None) -> Iterator[None]:
    """Interrupt what runs from a moment of the monotonic clock on, again and again.

    Why: an interrupt that comes while a statement is about to begin is forgotten by it.
    """
    if until is None:
        yield
        return
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_until_looking(until)):
            if time.monotonic() >= until.moment:
                interrupt()

    alarm = threading.Thread(target=watch, daemon=True)
    alarm.start()
    try:
        yield
    finally:
        ended.set()
        alarm.join()


def _until_looking(until: Deadline) -> float:
    """Seconds until it is time to interrupt, or to look whether it was brought forward."""
    left = until.moment - time.monotonic()
    return _AGAIN if left <= 0 else min(left, _LOOK)


@contextmanager
def in_time(until: Deadline | None) -> Iterator[None]:
    """Refuse to begin, or to have ended, after a session's time: an interrupt may miss."""
    _check_time(until)
    yield
    _check_time(until)


def _check_time(until: Deadline | None) -> None:
    if until is not None and time.monotonic() > until.moment:
        raise unfinished()


def unfinished() -> EngineError:
    """The one error for every failure of an engine: it quotes nothing."""
    return EngineError(
        "the engine could not finish",
        why="it ran out of time, memory or disk, or its files changed while they were read",
        fix="ask the owner of the data to look at the engine",
    )
