"""DuckDB, embedded: the default engine."""

import os
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.engines.databases import close, connect
from discreet.engines.engine import Deadline
from discreet.errors import EngineError, InputError
from discreet.plan.schema import Path as KeyPath
from discreet.plan.schema import PublicTable, Schema, Table
from discreet.sql.duckdb import DuckDB
from discreet.sql.stored import (
    SCHEMAS,
    render_repeated,
    render_view,
    stored_name,
    view_name,
)

if TYPE_CHECKING:
    import duckdb

_BATCH = 1 << 17
_MOST_SCRATCH = "64GB"
"""What questions may write to disk: a public number, not what happens to be free."""

_AGAIN = 0.02
"""Seconds between interrupts."""

_LOOK = 0.5
"""Seconds between looks whether a question was cancelled."""

LONGEST_STORED = 1 << 16
"""Bytes of a stored text; longer ones would take time to fetch whatever is read of them."""


class DuckDBEngine:
    """Tables in an embedded DuckDB: files by reference, frames and Arrow tables in memory.

    Once data is in, the database can read these files and nothing else, and its configuration is
    locked. Errors of the database are not passed on, since they may quote data.
    """

    dialect = DuckDB()

    def __init__(self, memory_limit: str = "4GB") -> None:
        scratch = tempfile.mkdtemp(prefix="discreet-")
        self._process = os.getpid()
        self._database = connect(
            {
                "memory_limit": memory_limit,
                "temp_directory": scratch,
                "max_temp_directory_size": _MOST_SCRATCH,
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "allow_community_extensions": "false",
            }
        )
        for place in SCHEMAS:
            self._database.execute(f"CREATE SCHEMA {place}")
        self._files: list[str] = []
        self._physical: dict[str, dict[str, str]] = {}
        self._locked = False
        self.close = weakref.finalize(self, _dispose, self._process, self._database, scratch)

    # --- data -----------------------------------------------------------------------------------

    def store(self, name: str, source: Any) -> dict[str, str]:
        """Put rows behind a table: a Parquet or CSV file, a data frame, an Arrow table.

        Returns the engine's types of its columns, which are public.
        """
        self._check_open()
        target = stored_name(name, self.dialect)
        if isinstance(source, str | Path):
            self._database.execute(f"CREATE VIEW {target} AS SELECT * FROM {self._file(source)}")
        else:
            self._database.register("incoming", source)
            self._database.execute(f"CREATE TABLE {target} AS SELECT * FROM incoming")
            self._database.unregister("incoming")
        rows = self._database.execute(f"DESCRIBE {target}").fetchall()
        self._physical[name] = {str(row[0]): str(row[1]) for row in rows}
        return dict(self._physical[name])

    @staticmethod
    def save(source: Any, path: Path) -> None:
        """Write a data frame or an Arrow table as a Parquet file."""
        import duckdb  # noqa: PLC0415 - heavy, and not everybody asks questions

        with duckdb.connect() as connection:
            connection.register("incoming", source)
            target = DuckDBEngine.dialect.text(str(path))
            connection.execute(f"COPY (SELECT * FROM incoming) TO {target} (FORMAT parquet)")

    def open(self, schema: Schema) -> None:
        """Make the tables of a schema ready for questions, and lock the database."""
        self._check_open()
        for table in schema.tables.values():
            view = render_view(table, schema, self._physical, self.dialect)
            self._database.execute(f"CREATE VIEW {view_name(table.name, self.dialect)} AS {view}")
            self._check_keys(table, schema)
        paths = ", ".join(self.dialect.text(path) for path in self._files)
        self._database.execute(f"SET allowed_paths = [{paths}]")
        self._database.execute("SET enable_external_access = false")
        self._database.execute("SET lock_configuration = true")
        self._locked = True

    def check_readable(self, table: Table | PublicTable) -> None:
        """Read every value of a table once, so that none makes a question fail later.

        A file is not read when it is stored, and some values in it (texts that are no UTF-8, times
        that the engine has none of) are errors and not values: a question would fail, or not,
        depending on one row. This is the owner's business, before anybody asks.
        """
        odd = [column for column in table.columns if not self._is_readable(table.name, column)]
        if odd:
            raise InputError(
                f"{table.name} holds a value that cannot be read ({', '.join(odd)})",
                why="a question about it would fail or not, depending on one row",
                fix="mend the file, or leave the column out",
            )
        long = [column for column in table.columns if self._is_long(table.name, column)]
        if long:
            raise InputError(
                f"{table.name} holds a text of over {LONGEST_STORED} bytes ({', '.join(long)})",
                why="how long a question takes would depend on one row",
                fix="shorten the texts, or leave the column out",
            )

    def row_count(self, name: str) -> int:
        """How many rows are stored behind a table; for the owner."""
        stored = stored_name(name, self.dialect)
        found = self._database.execute(f"SELECT COUNT(*) FROM {stored}").fetchone()
        return int(found[0]) if found else 0

    def _is_long(self, table: str, column: str) -> bool:
        if self._physical[table][column] != "VARCHAR":
            return False
        name, stored = self.dialect.identifier(column), stored_name(table, self.dialect)
        found = self._database.execute(f"SELECT MAX(strlen({name})) FROM {stored}").fetchone()
        return found is not None and (found[0] or 0) > LONGEST_STORED

    def _is_readable(self, table: str, column: str) -> bool:
        import duckdb  # noqa: PLC0415 - heavy, and not everybody asks questions

        name, view = self.dialect.identifier(column), view_name(table, self.dialect)
        try:
            self._database.execute(f"SELECT MAX(hash({name})) FROM {view}").fetchall()
        except duckdb.Error:
            return False
        return True

    def _check_here(self) -> None:
        if self._process != os.getpid():
            raise EngineError(
                "an engine was carried into a forked process",
                why="its threads do not survive a fork, and a question would wait for them",
                fix="open the data again in this process",
            )

    def _check_open(self) -> None:
        self._check_here()
        if self._locked:
            raise InputError(
                "the data of this engine is complete",
                why="its configuration was locked when the first question could be asked",
                fix="make a new engine with all tables",
            )

    def _file(self, source: str | Path) -> str:
        path = str(Path(source).resolve())
        # A CSV file has no types: guessing them from values would tell something about values.
        plain = ", all_varchar = true, header = true"
        readers = {".parquet": ("read_parquet", ""), ".csv": ("read_csv", plain)}
        readers[".gz"] = readers[".csv"]
        reader = readers.get(Path(path).suffix.lower())
        if reader is None or not Path(path).is_file():
            raise InputError(
                f"{Path(path).name} cannot be read",
                why="it is no Parquet or CSV file"
                if Path(path).is_file()
                else "there is no such file",
                fix="name a .parquet, .csv or .csv.gz file",
            )
        self._files.append(path)
        function, options = reader
        return f"{function}({self.dialect.text(path)}{options})"

    def _check_keys(self, table: Table | PublicTable, schema: Schema) -> None:
        """Keys that joins rely on must be unique; this is the owner's business, not an answer.

        They are looked at as joins see them: what is stored may differ and be read as one.
        """
        if isinstance(table, PublicTable):
            columns = [self.dialect.identifier(column) for column in table.key]
            listed, known = ", ".join(columns), " AND ".join(f"{c} IS NOT NULL" for c in columns)
            self._check_unique(
                f"SELECT 1 FROM {view_name(table.name, self.dialect)} WHERE {known} "
                f"GROUP BY {listed} HAVING COUNT(*) > 1 LIMIT 1",
                f"{table.name}.{', '.join(table.key)}",
            )
        elif isinstance(table.unit, KeyPath):
            target, key = schema.tables[table.unit.table], table.unit.key
            statement = render_repeated(target, key, self._physical, self.dialect)
            self._check_unique(statement, f"{target.name}.{key}")

    def _check_unique(self, statement: str, what: str) -> None:
        if self._database.execute(statement).fetchone() is not None:
            raise InputError(
                f"{what} is not unique",
                why="a key that names two rows would give one person the rows of another",
                fix="name a key that is unique in its table, as values of its kind and bounds",
            )

    # --- questions ------------------------------------------------------------------------------

    @contextmanager
    def session(self, until: Deadline | None = None) -> Iterator["DuckDBSession"]:
        """A connection of its own, whose temporary tables end with it; stopped at `until`."""
        self._check_here()
        cursor = self._database.cursor()
        try:
            cursor.execute("BEGIN TRANSACTION")  # all statements of a question see the same data
            with _stopping(cursor, until):
                yield DuckDBSession(cursor, until)
        finally:
            cursor.close()


@contextmanager
def _stopping(cursor: "duckdb.DuckDBPyConnection", until: Deadline | None) -> Iterator[None]:
    """Interrupt what runs from a moment of the monotonic clock on, again and again.

    Why: an interrupt that comes while a statement is about to begin is forgotten by it.
    """
    if until is None:
        yield
        return
    ended = threading.Event()

    def interrupt() -> None:
        while not ended.wait(_until_looking(until)):
            if time.monotonic() >= until.moment:
                cursor.interrupt()

    alarm = threading.Thread(target=interrupt, daemon=True)
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


def _dispose(process: int, database: "duckdb.DuckDBPyConnection", scratch: str) -> None:
    """Give memory and disk back, when the engine is closed or no longer needed."""
    if process == os.getpid():  # a fork's copy still needs neither, and the parent both
        close(database)
        shutil.rmtree(scratch, ignore_errors=True)


class DuckDBSession:
    """One question's conversation with DuckDB."""

    def __init__(
        self, connection: "duckdb.DuckDBPyConnection", until: Deadline | None = None
    ) -> None:
        self._connection = connection
        self._until = until

    def run(self, statement: str) -> None:
        """Run a statement that returns nothing."""
        with self._in_time():
            self._connection.execute(statement).fetchall()

    def stream(self, statement: str) -> Iterator[pa.RecordBatch]:
        """Run a statement and stream what it returns, batch by batch."""
        with self._in_time():
            reader = self._connection.sql(statement).to_arrow_reader(_BATCH)
            yield from reader

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        """Refuse to begin, or to have ended, after the session's time: an interrupt may miss."""
        with _quiet():
            self._check_time()
            yield
            self._check_time()

    def _check_time(self) -> None:
        if self._until is not None and time.monotonic() > self._until.moment:
            raise _unfinished()

    def put(self, name: str, table: pa.Table) -> None:
        """Make a small public table visible to this session."""
        with _quiet():
            self._connection.register(name, table)


@contextmanager
def _quiet() -> Iterator[None]:
    """Turn any error of the database into one that says nothing about data."""
    import duckdb  # noqa: PLC0415 - heavy, and not everybody asks questions

    try:
        yield
    except duckdb.Error:
        raise _unfinished() from None


def _unfinished() -> EngineError:
    return EngineError(
        "the engine could not finish",
        why="it ran out of time, memory or disk, or its files changed while they were read",
        fix="ask the owner of the data to look at the engine",
    )
