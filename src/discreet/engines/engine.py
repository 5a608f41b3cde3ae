"""The engine interface: keep rows, and select exact integers from them.

An engine holds the tables of one schema. A question runs in one snapshot of them, in a session that
can keep the rows of a SELECT under a name. All SQL is written by this package, in the engine's
dialect. `discreet.engines.check_engine` checks an implementation against everything said here.

Statements are interrupted at their deadline (`discreet.engines.timing`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import pyarrow as pa

from discreet.engines.stored_types import Description
from discreet.engines.timing import Deadline
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

    Every method raises `EngineError`, which quotes no data, if the engine cannot continue or the
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
        """Run `work` on the rows of each part, given by the column `part`, in that order.

        A worker is given whole parts, one after another. `columns` names and types what `work`
        makes, `part` first. All of it is made once, and kept, before any of it is given.
        """
        ...


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
