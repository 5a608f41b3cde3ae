"""DuckDB, embedded: the default engine."""

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.errors import EngineError, InputError
from discreet.plan.schema import Path as KeyPath
from discreet.plan.schema import PublicTable, Schema, Table
from discreet.sql.duckdb import DuckDB
from discreet.sql.stored import render_view, stored_name

if TYPE_CHECKING:
    import duckdb

_BATCH = 1 << 17


class DuckDBEngine:
    """Tables in an embedded DuckDB: files by reference, frames and Arrow tables in memory.

    Once data is in, the database can read these files and nothing else, and its configuration is
    locked. Errors of the database are not passed on, since they may quote data.
    """

    dialect = DuckDB()

    def __init__(self, memory_limit: str = "4GB") -> None:
        import duckdb  # noqa: PLC0415 - heavy, and not everybody asks questions

        scratch = tempfile.mkdtemp(prefix="discreet-")
        self._database = duckdb.connect(
            config={
                "memory_limit": memory_limit,
                "temp_directory": scratch,
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "allow_community_extensions": "false",
            }
        )
        self._files: list[str] = []
        self._physical: dict[str, dict[str, str]] = {}
        self._locked = False
        self.close = weakref.finalize(self, _dispose, self._database, scratch)

    # --- data -----------------------------------------------------------------------------------

    def store(self, name: str, source: Any) -> dict[str, str]:
        """Put rows behind a table: a Parquet or CSV file, a data frame, an Arrow table.

        Returns the engine's types of its columns, which are public.
        """
        self._check_open()
        target = self.dialect.identifier(stored_name(name))
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
            self._check_keys(table)
            view = render_view(table, schema, self._physical, self.dialect)
            self._database.execute(f"CREATE VIEW {self.dialect.identifier(table.name)} AS {view}")
        paths = ", ".join(self.dialect.text(path) for path in self._files)
        self._database.execute(f"SET allowed_paths = [{paths}]")
        self._database.execute("SET enable_external_access = false")
        self._database.execute("SET lock_configuration = true")
        self._locked = True

    def _check_open(self) -> None:
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

    def _check_keys(self, table: Table | PublicTable) -> None:
        """Keys that joins rely on must be unique; this is the owner's business, not an answer."""
        if isinstance(table, PublicTable):
            self._check_unique(table.name, table.key)
        elif isinstance(table.unit, KeyPath):
            self._check_unique(table.unit.table, (table.unit.key,))

    def _check_unique(self, table: str, key: tuple[str, ...]) -> None:
        columns = ", ".join(self.dialect.identifier(column) for column in key)
        source = self.dialect.identifier(stored_name(table))
        statement = f"SELECT 1 FROM {source} GROUP BY {columns} HAVING COUNT(*) > 1 LIMIT 1"
        if self._database.execute(statement).fetchone() is not None:
            raise InputError(
                f"{table}.{', '.join(key)} is not unique",
                why="a key that names two rows would give one person the rows of another",
                fix="name a key that is unique in its table",
            )

    # --- questions ------------------------------------------------------------------------------

    @contextmanager
    def session(self) -> Iterator["DuckDBSession"]:
        """A connection of its own, whose temporary tables end with it."""
        cursor = self._database.cursor()
        try:
            cursor.execute("BEGIN TRANSACTION")  # all statements of a question see the same data
            yield DuckDBSession(cursor)
        finally:
            cursor.close()


def _dispose(database: "duckdb.DuckDBPyConnection", scratch: str) -> None:
    """Give memory and disk back, when the engine is closed or no longer needed."""
    database.close()
    shutil.rmtree(scratch, ignore_errors=True)


class DuckDBSession:
    """One question's conversation with DuckDB."""

    def __init__(self, connection: "duckdb.DuckDBPyConnection") -> None:
        self._connection = connection

    def run(self, statement: str) -> None:
        """Run a statement that returns nothing."""
        with _quiet():
            self._connection.execute(statement).fetchall()

    def stream(self, statement: str) -> Iterator[pa.RecordBatch]:
        """Run a statement and stream what it returns, batch by batch."""
        with _quiet():
            reader = self._connection.sql(statement).to_arrow_reader(_BATCH)
            yield from reader

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
        raise EngineError(
            "the engine could not finish",
            why="it ran out of memory or disk, or its files changed while they were read",
            fix="ask the owner of the data to look at the engine",
        ) from None
