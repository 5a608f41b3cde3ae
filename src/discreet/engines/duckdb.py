"""DuckDB, embedded: the default engine.

What does not fit into memory goes to a folder; those of processes that were killed are swept.
"""

import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from discreet.engines.duckdb_dialect import DuckDBDialect
from discreet.engines.duckdb_files import close, connect, describe_source, reader
from discreet.engines.engine import Parts
from discreet.engines.owner_checks import check_keys, check_lengths
from discreet.engines.timing import Deadline, in_time, stopping, unfinished
from discreet.errors import EngineError, InputError
from discreet.plan.schema import PART, PublicTable, Schema, Table
from discreet.sql.writer.dialect import SCHEMAS, stored_name, view_name
from discreet.sql.writer.stored_view import render_values, render_view

if TYPE_CHECKING:
    import duckdb


PREFIX: Final = "discreet-scratch-"
_LOCK: Final = "in-use"


def make_scratch() -> tuple[str, int | None]:
    """A new folder and the lock that says it is in use; both end with `drop_scratch`.

    Why a lock: it ends with the process, however that ends, in every container that sees it.
    """
    made = Path(tempfile.mkdtemp(prefix="discreet-"))
    if sys.platform == "win32":  # pragma: no cover - there, open files cannot be removed
        return str(made), None
    file = os.open(made / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    _is_free(file)
    folder = made.with_name(made.name.replace("discreet-", PREFIX))
    made.rename(folder)  # it is locked before anybody who sweeps can find it
    _sweep(folder)
    return str(folder), file


def drop_scratch(folder: str, lock: int | None) -> None:
    """Remove a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)


def _sweep(own: Path) -> None:
    """Remove unused folders."""
    for folder in own.parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder != own and folder.stat().st_uid == os.getuid():
                file = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
                try:
                    if _is_free(file):
                        shutil.rmtree(folder, ignore_errors=True)
                finally:
                    os.close(file)


def _is_free(file: int) -> bool:
    """Take a lock if it is free."""
    import fcntl  # noqa: PLC0415 - Windows has none

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


T = TypeVar("T")

_BATCH = 1 << 15  # rows of an Arrow batch: small enough for the cache
_FEW = 1 << 12
_MOST_SCRATCH = "64GB"
"""What questions may write to disk: a public number, not what happens to be free."""

_NOT_SOUND = "compressed_materialization"
"""Narrowed columns end some joins in an internal error, and the database with it (DuckDB 2.0.0)."""

_AT_ONCE = 1000
"""Columns that are looked through in one pass."""


class DuckDBEngine:
    """Tables in an embedded DuckDB: files by reference, frames and Arrow tables in memory.

    Once data is in, the database can read these files and nothing else, and its configuration is
    locked. Errors of the database are not passed on, since they may quote data.
    """

    dialect = DuckDBDialect()
    describe = staticmethod(describe_source)

    def __init__(self, memory_limit: str = "3GB") -> None:
        scratch, lock = make_scratch()
        self._process = os.getpid()
        self._database = connect(
            {
                "memory_limit": memory_limit,
                "temp_directory": scratch,
                "max_temp_directory_size": _MOST_SCRATCH,
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "allow_community_extensions": "false",
                "disabled_optimizers": _NOT_SOUND,
                "allocator_background_threads": "true",  # give back what a scan freed
            }
        )
        for place in SCHEMAS:
            self._database.execute(f"CREATE SCHEMA {place}")
        self._files: list[str] = []
        self._physical: dict[str, dict[str, str]] = {}
        self._locked = False
        self._doubted = False
        self.close = weakref.finalize(self, _dispose, self._process, self._database, scratch, lock)

    # --- data -----------------------------------------------------------------------------------

    def store(self, name: str, source: Any) -> dict[str, str]:
        """Put rows behind a table: a Parquet or CSV file, a data frame, an Arrow table.

        Returns the engine's types of its columns, which are public.
        """
        self._check_open()
        target = stored_name(name, self.dialect)
        if isinstance(source, Parts) and isinstance(source.sources[0], str | Path):
            self._store_files(target, source)
        elif isinstance(source, str | Path):
            file = reader(Path(source), "read")
            self._files.append(str(Path(source).resolve()))
            self._database.execute(f"CREATE VIEW {target} AS SELECT * FROM {file}")
        elif isinstance(source, Parts):
            for i, (one, number) in enumerate(zip(source.sources, source.numbers, strict=True)):
                verb = f"INSERT INTO {target} BY NAME" if i else f"CREATE TABLE {target} AS"
                self._copy(f"{verb} SELECT *, {number}::BIGINT AS {PART} FROM incoming", one)
        else:
            self._copy(f"CREATE TABLE {target} AS SELECT * FROM incoming", source)
        rows = self._database.execute(f"DESCRIBE {target}").fetchall()
        self._physical[name] = {str(row[0]): str(row[1]) for row in rows}
        return dict(self._physical[name])

    def _copy(self, statement: str, rows: Any) -> None:
        self._database.register("incoming", rows)
        self._database.execute(statement)
        self._database.unregister("incoming")

    def _store_files(self, target: str, parts: Parts) -> None:
        """All Parquet files of a table in one scan, with the types of the first."""
        paths = [str(Path(one).resolve()) for one in parts.sources]
        if missing := [Path(one).name for one in paths if not Path(one).is_file()]:
            raise InputError(
                f"{missing[0]} cannot be read", why="there is no such file", fix="put it back"
            )
        self._files += paths
        listed = f"[{', '.join(map(self.dialect.text, paths))}]"
        number = f"list_extract({list(parts.numbers)}::BIGINT[], list_position({listed}, {PART}))"
        self._database.execute(
            f"CREATE VIEW {target} AS SELECT * REPLACE ({number} AS {PART}) "
            f"FROM read_parquet({listed}, filename = '{PART}')"
        )

    def open(self, schema: Schema, sources: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Make the tables of a schema ready for questions, and lock the database."""
        import duckdb  # noqa: PLC0415 - heavy, and not everybody asks questions

        self._check_open()
        try:
            for name, source in sources.items():
                self.store(name, source)
            self._make_views(schema)
        except duckdb.Error:  # its text may quote data
            raise EngineError(
                "the data cannot be opened",
                why="one of its files is gone, damaged, or has other columns than were added; or a "
                "frame has values of several types in one column",
                fix="put back the files that were added, or give each column one type",
            ) from None

    def _make_views(self, schema: Schema) -> None:
        for table in schema.tables.values():
            view = render_view(table, schema, self._physical, self.dialect)
            self._database.execute(f"CREATE VIEW {view_name(table.name, self.dialect)} AS {view}")
        run = self._database.execute
        check_keys(
            schema, self._physical, lambda one: run(one).fetchone() is not None, self.dialect
        )
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
        values = render_values(table, self._physical, self.dialect)
        parts = [dict(part) for part in _parts(list(values.items()), _AT_ONCE)]
        odd = [column for part in parts for column in self._unreadable(table.name, part)]
        if odd:
            raise InputError(
                f"{table.name} holds a value that cannot be read ({', '.join(odd)})",
                why="a question about it would fail or not, depending on one row",
                fix="repair the file, or leave the column out",
            )
        run = self._database.execute
        check_lengths(
            table,
            self._physical,
            lambda one: [size or 0 for size in run(one).fetchone() or ()],
            self.dialect,
        )

    def row_count(self, name: str) -> int:
        """How many rows are stored behind a table; for the owner."""
        stored = stored_name(name, self.dialect)
        found = self._database.execute(f"SELECT COUNT(*) FROM {stored}").fetchone()
        return int(found[0]) if found else 0

    def _unreadable(self, table: str, values: dict[str, str]) -> list[str]:
        """Columns that cannot be read: many in one pass, and by halves where that fails."""
        if self._is_readable(table, values.values()):
            return []
        if len(values) == 1:
            return list(values)
        halves = _parts(list(values.items()), (len(values) + 1) // 2)
        return [one for half in halves for one in self._unreadable(table, dict(half))]

    def _is_readable(self, table: str, values: Iterable[str]) -> bool:
        import duckdb  # noqa: PLC0415 - heavy, and not everybody asks questions

        looks = ", ".join(f"MAX(hash({one}))" for one in values)
        try:  # not through the view: planning that takes the square of its columns
            self._database.execute(f"SELECT {looks} FROM {stored_name(table, self.dialect)} AS s")
        except duckdb.Error:
            self._doubt()
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

    # --- questions ------------------------------------------------------------------------------

    @property
    def is_sound(self) -> bool:
        """Whether the database still answers: after an internal error of its own it never does.

        It is asked where a statement has failed since, which is seldom.
        """
        import duckdb  # noqa: PLC0415 - heavy, and not everybody asks questions

        if self._doubted:
            self._doubted = False
            try:
                with self._database.cursor() as cursor:
                    cursor.execute("SELECT 1")
            except duckdb.FatalException:
                self._doubt()
        return not self._doubted

    def _doubt(self) -> None:
        self._doubted = True

    @contextmanager
    def snapshot(self, until: Deadline | None = None) -> Iterator["DuckDBSession"]:
        """A separate transaction, whose temporary tables end with it; stopped at `until`."""
        self._check_here()
        cursor = self._database.cursor()
        try:
            with _quiet(self._doubt):
                cursor.execute("BEGIN TRANSACTION")  # all statements see the same data
            with stopping(cursor.interrupt, until):
                yield DuckDBSession(cursor, until, self._doubt)
        finally:
            cursor.close()


def _parts(whole: Sequence[T], size: int) -> list[Sequence[T]]:
    return [whole[start : start + size] for start in range(0, len(whole), size)]


def _dispose(
    process: int, database: "duckdb.DuckDBPyConnection", scratch: str, lock: int | None
) -> None:
    """Give memory and disk back, when the engine is closed or no longer needed."""
    if process == os.getpid():  # a fork's copy still needs neither, and the parent both
        close(database)
        drop_scratch(scratch, lock)


class DuckDBSession:
    """One question's conversation with DuckDB."""

    def __init__(
        self,
        connection: "duckdb.DuckDBPyConnection",
        until: Deadline | None,
        doubt: Callable[[], None],
    ) -> None:
        self._connection, self._until, self._doubt = connection, until, doubt
        self._kept: set[str] = set()

    def keep(self, name: str, select: str) -> None:
        """Keep a select in a temporary table."""
        run, fresh = self._connection.execute, f"fresh_{name}" if name in self._kept else name
        with self._in_time():
            run(f"CREATE TEMP TABLE {fresh} AS {select}").fetchall()
            if fresh != name:  # which the select may have read
                run(f"DROP TABLE {name}")
                run(f"ALTER TABLE {fresh} RENAME TO {name}")
        self._kept.add(name)

    def stream(self, select: str, most: int | None = None) -> Iterator[pa.RecordBatch]:
        """Stream Arrow batches (a SELECT is then planned twice); fetch few rows directly."""
        with self._in_time():
            if most is None or most > _FEW:
                yield from self._connection.sql(select).to_arrow_reader(_BATCH)
            else:
                yield pa.RecordBatch.from_pydict(self._connection.execute(select).fetchnumpy())

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        with _quiet(self._doubt), in_time(self._until):
            yield

    def put(self, name: str, table: pa.Table) -> None:
        """Register Arrow data by reference."""
        with _quiet(self._doubt):
            self._connection.register(name, table)


@contextmanager
def _quiet(doubt: Callable[[], None]) -> Iterator[None]:
    """Turn any error of the database into one that says nothing about data; `doubt` it from now."""
    import duckdb  # noqa: PLC0415 - heavy, and not everybody asks questions

    try:
        yield
    except duckdb.Error:
        doubt()
        raise unfinished() from None
