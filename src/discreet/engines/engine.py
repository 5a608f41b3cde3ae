"""What the rest of the house asks of an engine: run SQL that we wrote, stream integers back."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from discreet.sql.duckdb import DuckDB


class Session(Protocol):
    """One question's conversation with the data: a consistent view, and temporary tables."""

    def run(self, statement: str) -> None:
        """Run a statement that returns nothing."""
        ...

    def stream(self, statement: str) -> Iterator[pa.RecordBatch]:
        """Run a statement and stream what it returns, batch by batch."""
        ...

    def put(self, name: str, table: pa.Table) -> None:
        """Make a small public table visible to this session."""
        ...


@dataclass(slots=True)
class Deadline:
    """A moment of the monotonic clock at which an engine stops; `cancel` brings it forward to now.

    `cancelled` is when that was done, None before.
    """

    moment: float
    cancelled: float | None = None

    def cancel(self) -> None:
        """Let the engine stop within half a second."""
        self.moment = self.cancelled = time.monotonic()


class Engine(Protocol):
    """Holds the data of a schema."""

    dialect: DuckDB

    def session(self, until: Deadline | None = None) -> AbstractContextManager[Session]:
        """Open a session; its temporary tables end with it.

        At `until` what runs is stopped, and nothing runs after it.
        """
        ...
