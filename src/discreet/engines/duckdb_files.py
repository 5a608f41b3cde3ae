"""Files, frames and Arrow tables, by way of DuckDB: described, read, converted, written.

None of it asks a question; it is what happens to rows on their way in, and to released numbers.
Errors of the database are not passed on, since they may quote data.

Embedded databases belong to the process that opened them: DuckDB's threads do not survive a fork.
In the child a statement waits for them for ever, and letting go of the database crashes. So a child
opens its own, and keeps those of its parent untouched until it ends.
"""

import ctypes
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.engines.duckdb_dialect import DuckDBDialect
from discreet.engines.stored_types import DUCKDB, ColumnDescription, Description
from discreet.errors import EngineError, InputError

if TYPE_CHECKING:
    import duckdb


_opened: dict[int, "duckdb.DuckDBPyConnection"] = {}


def connect(config: Mapping[str, str | int]) -> "duckdb.DuckDBPyConnection":
    """Open an empty database in memory; `close` it when it is no longer needed."""
    import duckdb  # noqa: PLC0415 - heavy, and not everybody asks questions

    database = duckdb.connect(config=dict(config))
    _opened[id(database)] = database
    return database


def close(database: "duckdb.DuckDBPyConnection") -> None:
    """Give a database's memory back."""
    if _opened.pop(id(database), None) is not None:  # otherwise it is the parent's
        database.close()


@lru_cache(maxsize=4)
def scratchpad(**config: str | int) -> "duckdb.DuckDBPyConnection":
    """An empty database for small things, one a process: opening one takes longer than they do."""
    database = connect(config)
    database.execute("SET lock_configuration = true")
    return database


def _keep_for_ever() -> None:
    """In a forked child: leak one reference, so that nothing is closed."""
    for database in _opened.values():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(database))
    _opened.clear()
    scratchpad.cache_clear()


if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows has none
    os.register_at_fork(after_in_child=_keep_for_ever)


DIALECT = DuckDBDialect()
OWN = ":memory:"


def describe_source(source: Any) -> Description:
    """Propose a schema for a Parquet or CSV file, a data frame or an Arrow table.

    Example:
        >>> import pyarrow as pa
        >>> table = pa.table({"age": [1], "city": ["Haifa"]})
        >>> [column.kind for column in describe_source(table).columns]
        [<Kind.INTEGER: 'integer'>, <Kind.TEXT: 'text'>]
    """
    import duckdb  # noqa: PLC0415 - heavy, and not everybody describes data

    is_file = isinstance(source, str | Path)
    text = reader(Path(source), "described") if is_file else "incoming"
    with scratchpad(pandas_analyze_sample=0).cursor() as connection:
        try:
            if not is_file:
                connection.register("incoming", source)
            rows = connection.execute(f"DESCRIBE SELECT * FROM {text} LIMIT 0").fetchall()
        except duckdb.Error:  # its text may quote the file
            raise InputError(
                f"{(Path(source).name if is_file else type(source).__name__)} cannot be described",
                why="it has no columns that can be read",
                fix="pass a Parquet or CSV file, a data frame or an Arrow table that is intact",
            ) from None
    columns = tuple(
        ColumnDescription(str(row[0]), str(row[1]), DUCKDB.kind(str(row[1]))) for row in rows
    )
    return Description(columns)


def reader(path: Path, verb: str) -> str:
    """The function that reads a file, with its header's types; `verb` is for the refusal."""
    name = DIALECT.text(str(path.resolve()))
    # A CSV file has no types: guessing them from values would tell something about values.
    plain = f"read_csv({name}, all_varchar = true, header = true)"
    readers = {".parquet": f"read_parquet({name})", ".csv": plain, ".gz": plain}
    if path.is_file() and path.suffix.lower() in readers:
        return readers[path.suffix.lower()]
    raise InputError(
        f"{path.name} cannot be {verb}",
        why="it is no Parquet or CSV file" if path.is_file() else "there is no such file",
        fix="name a .parquet, .csv or .csv.gz file",
    )


def list_tables(path: Path) -> list[str]:
    """The tables and views of a DuckDB file."""
    with connected(str(path)) as found:
        return [str(row[0]) for row in found.execute("SHOW TABLES").fetchall()]


def sniff_delimiter(sample: Path) -> str:
    """DuckDB's guess of a CSV file's separator; "" if unknown."""
    with suppress(EngineError), connected() as connection:
        asked = f"SELECT Delimiter FROM sniff_csv({DIALECT.text(str(sample))}, all_varchar = true)"
        return str(connection.execute(asked).fetchall()[0][0])
    return ""


def read_json(path: Path) -> pa.Table:
    """Objects of a JSON file, one a line or in one list; every value is a text."""
    file = DIALECT.text(str(path))
    with connected() as connection:
        shape = f"read_json({file}, sample_size = -1, maximum_depth = 1)"
        names = [str(row[0]) for row in connection.execute(f"DESCRIBE FROM {shape}").fetchall()]
        keys = f"SELECT DISTINCT unnest(json_keys(json)) FROM read_json_objects({file})"
        check_names([str(row[0]) for row in connection.execute(keys).fetchall()])
        columns = ", ".join(f"{DIALECT.identifier(name)}: 'VARCHAR'" for name in names)
        rows = connection.sql(f"FROM read_json({file}, columns = {{{columns}}})")
        return rows.to_arrow_table()


def check_names(names: Iterable[str]) -> None:
    """Refuse columns that are one name to an engine: the values of the second would be lost."""
    known: dict[str, str] = {}
    for key in sorted(names):
        if (other := known.setdefault(key.lower(), key)) != key:
            raise InputError(
                f"the columns {other} and {key} differ in upper and lower case alone",
                why="a name has to mean one column",
                fix="rename one of them in the file, or pass other names",
            )


def read_database(path: Path, table: str) -> pa.Table:
    """A table of a DuckDB file, without the columns of unsupported types."""
    with connected(str(path)) as found:
        types = found.execute(f"DESCRIBE {DIALECT.identifier(table)}").fetchall()
        known = [row[0] for row in types if DUCKDB.kind(str(row[1])) is not None]
        columns = ", ".join(map(DIALECT.identifier, known))
        return found.sql(f"SELECT {columns} FROM {DIALECT.identifier(table)}").to_arrow_table()


def as_arrow(source: Any, columns: Sequence[str]) -> pa.Table:
    """Some columns of a file, a data frame or an Arrow table; InputError where one is missing."""
    known = {one.name for one in describe_source(source).columns}
    if missing := [name for name in columns if name not in known]:
        raise InputError(
            f"there is no column {missing[0]}",
            why="rows that are appended have the columns of their table",
            fix="give them all of its columns",
        )
    names = ", ".join(map(DIALECT.identifier, columns))
    with connected() as connection:
        rows = "incoming"
        if isinstance(source, str | Path):
            rows = reader(Path(source), "read")
        else:
            connection.register("incoming", source)
        return connection.sql(f"SELECT {names} FROM {rows}").to_arrow_table()


def save(source: Any, path: Path) -> None:
    """Write a data frame or an Arrow table as a Parquet file."""
    with connected() as connection:
        connection.register("incoming", source)
        target = DIALECT.text(str(path))
        connection.execute(f"COPY (SELECT * FROM incoming) TO {target} (FORMAT parquet)")


def compute(tables: Mapping[str, pa.Table], select: str) -> pa.Table:
    """The rows of a SELECT over Arrow tables with these names; nothing else."""
    with scratchpad(enable_external_access="false").cursor() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        return connection.sql(select).to_arrow_table()


@contextmanager
def connected(path: str = "", **config: int) -> "Iterator[duckdb.DuckDBPyConnection]":
    """A file to read, a database of one's own, or the scratchpad; EngineError if it fails."""
    import duckdb  # noqa: PLC0415 - heavy, and not everybody asks questions

    try:
        own = duckdb.connect(path, path != OWN, dict(config)) if path else None
        with own or scratchpad(**config).cursor() as connection:
            yield connection
    except duckdb.Error:
        raise EngineError(
            "the rows cannot be read or written",
            why="a source is damaged or in use, has values of several types, or the disk is full",
            fix="name a source that is intact, and give each column one type",
        ) from None
