"""A proposal for a schema, from the types of columns alone: no value is looked at."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.engines.databases import scratchpad
from discreet.errors import InputError
from discreet.plan.kinds import Kind, Type
from discreet.sql.duckdb import DuckDB
from discreet.sql.duckdb_types import stored_kind

_STATE = {
    Kind.BOOLEAN: "Keys([False, True]) to group by it",
    Kind.INTEGER: "Bounds(low, high) to add it up or average it; Keys([...]) to group by it",
    Kind.REAL: "Bounds(low, high) to add it up or average it",
    Kind.TEXT: "Keys([...]) to group by it, where its values are public",
    Kind.DATE: "Bounds(first, last) to group by it",
    Kind.TIMESTAMP: "Bounds(first, last) to group by it",
}


@dataclass(frozen=True, slots=True)
class Described:
    """One column: its stored type and the kind it is read as, None where it cannot be read."""

    name: str
    stored: str
    kind: Kind | None

    @property
    def to_state(self) -> str:
        """What the owner has to say about it."""
        if self.kind is None:
            return "cannot be read: leave it out, or cast it first"
        return _STATE[self.kind]


@dataclass(frozen=True, slots=True, repr=False)
class Description:
    """The columns of a source, and what is left for the owner to state.

    `typed` is False for files whose format knows no types (CSV): everything in them is text until
    the owner says what it is.
    """

    columns: tuple[Described, ...]
    typed: bool = True

    def types(self) -> dict[str, Type]:
        """The proposed types, any of them nullable, without bounds and keys."""
        return {one.name: Type(one.kind) for one in self.columns if one.kind is not None}

    def __repr__(self) -> str:
        rows = [("column", "kind", "to state")]
        rows += [(_plain(c.name), _kind(c), c.to_state) for c in self.columns]
        widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
        table = [f"  {a.ljust(widths[0])}  {b.ljust(widths[1])}  {c}" for a, b, c in rows]
        head = f"{len(self.columns)} columns, read from their types alone (no value was looked at)"
        return "\n".join([head, *table, "", *self._still()])

    def _still(self) -> list[str]:
        lines = [] if self.typed else ["The format knows no types: say what is no text."]
        return [
            *lines,
            "State the unit: the column that names the person, or EachRow() for single rows.",
            "Bounds and keys have to come from what is known about the subject, not from the data.",
        ]


def describe(source: Any) -> Description:
    """Propose a schema for a Parquet or CSV file, a data frame or an Arrow table.

    Example:
        >>> import pyarrow as pa
        >>> [column.kind for column in describe(pa.table({"age": [1], "city": ["Haifa"]})).columns]
        [<Kind.INTEGER: 'integer'>, <Kind.TEXT: 'text'>]
    """
    import duckdb  # noqa: PLC0415 - heavy, and not everybody describes data

    is_file = isinstance(source, str | Path)
    text = _reader(Path(source)) if is_file else "incoming"
    with scratchpad(pandas_analyze_sample=0).cursor() as connection:
        try:
            if not is_file:
                connection.register("incoming", source)
            rows = connection.execute(f"DESCRIBE SELECT * FROM {text} LIMIT 0").fetchall()
        except duckdb.Error:  # its text may quote the file
            raise _unreadable(Path(source).name if is_file else type(source).__name__) from None
    columns = tuple(Described(str(row[0]), str(row[1]), stored_kind(str(row[1]))) for row in rows)
    return Description(columns, not (is_file and Path(source).suffix.lower() != ".parquet"))


def _reader(path: Path) -> str:
    """A reader that takes types from the file's own header, and guesses none from values."""
    name = DuckDB().text(str(path.resolve()))
    readers = {
        ".parquet": f"read_parquet({name})",
        ".csv": f"read_csv({name}, all_varchar = true, header = true)",
        ".gz": f"read_csv({name}, all_varchar = true, header = true)",
    }
    if path.is_file() and path.suffix.lower() in readers:
        return readers[path.suffix.lower()]
    raise InputError(
        f"{path.name} cannot be described",
        why="it is no Parquet or CSV file" if path.is_file() else "there is no such file",
        fix="name a .parquet, .csv or .csv.gz file",
    )


def _unreadable(name: str) -> InputError:
    return InputError(
        f"{name} cannot be described",
        why="it has no columns that DuckDB can read",
        fix="pass a Parquet or CSV file, a data frame or an Arrow table that is intact",
    )


def _kind(column: Described) -> str:
    return column.stored if column.kind is None else column.kind.value


def _plain(name: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)
