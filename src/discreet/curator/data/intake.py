"""Data on its way in: types come from a file's own header or from the owner, never from values.

Parquet files are read where they are. Files whose format knows no types (CSV), tables of DuckDB
files, frames, and files whose names would be taken for patterns are copied in.
"""

import datetime as dt
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.curator.progress import open_watched
from discreet.engines.default import convert_texts, describe, read_database
from discreet.engines.describe import Description
from discreet.engines.remote_tables import RemoteTable, engine_at, find_remote
from discreet.errors import EngineError, InputError
from discreet.plan.constants import KINDS
from discreet.plan.kinds import Kind
from discreet.plan.schema import Bounds, Keys

_CSV = (".csv", ".csv.gz")
_DATABASES = (".duckdb", ".db")
_PATTERN = set("*?[]{}")


@dataclass(frozen=True, slots=True)
class Incoming:
    """A source, the kinds of its columns, and rows to copy where it is not read in place."""

    kinds: Mapping[str, Kind]
    reference: Path | None = None
    rows: Any = None
    remote: RemoteTable | None = None


def take(
    source: Any,
    stated: Mapping[str, Bounds | Keys],
    kinds: Mapping[str, Kind],
    source_table: str,
) -> Incoming:
    """Look at a source: a file, a data frame, columns as a dict, or the address of a server.

    `source_table` is the table to read where there are several. Columns of kinds that
    questions do not know (lists, blobs) are left out.
    """
    if (remote := find_remote(source, source_table)) is not None:
        found = engine_at(remote.address, remote.session).describe(remote.table)
        return Incoming(_named(found) | dict(kinds), remote=remote)
    if isinstance(source, str | Path):
        with _refusing(Path(source).name[:80]):
            return _file(Path(source).resolve(), stated, kinds, source_table)
    if source is None:
        raise InputError("no data", why="the source is None", fix="pass a file or a data frame")
    rows = _columns(source) if isinstance(source, Mapping) else source
    return Incoming(_known(rows) | dict(kinds), rows=rows)


def _columns(source: Mapping[str, Any]) -> pa.Table:
    """Lists of values by column as a table."""
    try:
        return pa.table(dict(source))
    except (pa.ArrowException, TypeError, ValueError):
        raise InputError(
            "a dict that is no table",
            why="its values are lists of one length and one kind each, under the columns' names",
            fix='pass {"id": [1, 2], "age": [30, 40]}, a data frame or a file',
        ) from None


def _file(
    path: Path, stated: Mapping[str, Bounds | Keys], kinds: Mapping[str, Kind], source_table: str
) -> Incoming:
    if path.name.lower().endswith(_CSV):
        return _csv(path, stated, kinds)
    if path.suffix.lower() in _DATABASES and path.is_file():
        with _refusing(f"{source_table} in {path.name}"):
            rows = read_database(path, source_table)
        return Incoming(_known(rows) | dict(kinds), rows=rows)
    if _PATTERN & set(str(path)):
        import pyarrow.parquet  # noqa: PLC0415 - odd names are rare

        rows = pyarrow.parquet.read_table(pa.OSFile(str(path)))
        return Incoming(_known(rows) | dict(kinds), rows=rows)
    return Incoming(_known(path) | dict(kinds), reference=path)


def kind_stated(spec: Bounds | Keys | None) -> Kind:
    """The kind that what is said about a column implies; text where nothing is.

    Example:
        >>> kind_stated(Bounds(0, 120)), kind_stated(Keys([1, 2])), kind_stated(None)
        (<Kind.REAL: 'real'>, <Kind.INTEGER: 'integer'>, <Kind.TEXT: 'text'>)
    """
    match spec:
        case Bounds(low=dt.datetime()) | Bounds(high=dt.datetime()):
            return Kind.TIMESTAMP
        case Bounds(low=dt.date()):
            return Kind.DATE
        case Bounds():
            return Kind.REAL
        case Keys(values=values):
            found = {KINDS.get(type(value), Kind.TEXT) for value in values if value is not None}
            return found.pop() if len(found) == 1 else Kind.TEXT
    return Kind.TEXT


def _known(source: Any) -> dict[str, Kind]:
    return _named(describe(source))


def _named(found: Description) -> dict[str, Kind]:
    return {one.name: one.kind for one in found.columns if one.kind is not None}


def _csv(path: Path, stated: Mapping[str, Bounds | Keys], kinds: Mapping[str, Kind]) -> Incoming:
    """Read every column of a CSV file as what the owner says it is.

    A comma parts fields, a double quote quotes them, the first line names columns. Rows with too
    few or too many fields are left out; an empty field is NULL, and so is what has another kind.
    """
    from pyarrow import csv  # noqa: PLC0415 - for those who have such files

    parse = csv.ParseOptions(newlines_in_values=True, invalid_row_handler=lambda _: "skip")
    read = csv.ReadOptions(encoding="utf8")
    names = _header(path)
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    found = {name: kinds.get(name) or kind_stated(stated.get(name)) for name in names}
    packed = "gzip" if path.suffix.lower() == ".gz" else None
    with open_watched(path, f"reading {path.name}") as file:
        rows = csv.open_csv(pa.input_stream(file, packed), read, parse, convert)
        return Incoming(found, rows=convert_texts(rows, found))


def _header(path: Path) -> list[str]:
    import csv  # noqa: PLC0415 - for those who have such files
    import io  # noqa: PLC0415 - likewise

    with pa.input_stream(str(path), compression="detect") as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        names = next(csv.reader(text), [])
    if names and len(set(names)) == len(names) and all(names):
        return names
    raise InputError(
        f"the first line of {path.name} does not name its columns",
        why="it has to give each column a name of its own",
        fix="add a line with the names of the columns",
    )


@contextmanager
def _refusing(name: str) -> Iterator[None]:
    """Turn errors of readers into one that quotes nothing."""
    try:
        yield
    except InputError:
        raise
    except (EngineError, pa.ArrowException, OSError, UnicodeError, ValueError):
        raise InputError(
            f"{name} cannot be read",
            why="there is no such file or table, it is damaged, not in UTF-8, or in use",
            fix="name a .parquet, .csv, .csv.gz or .duckdb file that is intact",
        ) from None
