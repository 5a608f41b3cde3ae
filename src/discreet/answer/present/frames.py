"""A released table as other tools take it: Arrow, pandas, polars, CSV."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from discreet.answer.present.release import Release


def cleaned(table: pa.Table) -> pa.Table:
    """The same values in one piece, with nothing left standing in memory under a NULL.

    Why: Arrow says which slots are NULL and leaves their bytes alone. Bytes that an engine left
    there were never released, and would make equal tables unequal once they are stored.
    """
    columns = [blanked(table.column(i)) for i in range(table.num_columns)]
    return pa.table(columns, schema=pa.schema([pa.field(f.name, f.type) for f in table.schema]))


def blanked(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column as one array that holds zeros wherever it is NULL."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if whole.offset:
        whole = pa.concat_arrays([whole, whole.slice(0, 0)])  # a copy, which begins at 0
    if not whole.null_count:
        return pa.Array.from_buffers(whole.type, len(whole), [None, *whole.buffers()[1:]])
    filled = pc.fill_null(whole, _zero(whole.type))
    valid = pc.is_valid(whole).buffers()[1]  # booleans are bits, as validity is
    return pa.Array.from_buffers(whole.type, len(whole), [valid, *filled.buffers()[1:]])


def _zero(kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_string(kind):
        return pa.scalar("", kind)
    if pa.types.is_boolean(kind):
        return pa.scalar(False)  # noqa: FBT003 - the value itself
    return pa.scalar(0, pa.int64()).cast(_whole(kind)).cast(kind)


def _whole(kind: pa.DataType) -> pa.DataType:
    return pa.int32() if pa.types.is_date32(kind) else pa.int64()


def known(width: pa.Array) -> pa.Array:
    """Half-widths, NULL where there is none."""
    return pc.if_else(pc.is_finite(width), width, pa.scalar(None, pa.float64()))


def with_intervals(table: pa.Table, half_widths: Mapping[str, pa.Array]) -> pa.Table:
    """Each number beside its interval, in columns `_low` and `_high`."""
    columns: dict[str, Any] = {}
    taken = set(table.column_names)
    for name in table.column_names:
        columns[name] = table.column(name)
        if name in half_widths:
            # Numbers past 2^53 are rounded: their noise is wider than that by far.
            middle = table.column(name).cast(pa.float64(), safe=False)
            for end, move in (("low", pc.subtract), ("high", pc.add)):
                columns[free(f"{name}_{end}", taken)] = move(middle, half_widths[name])
    return pa.table(columns)


def streamed(columns: Mapping[str, Any], about: Mapping[str, Any]) -> bytes:
    """Columns as an Arrow stream, with facts about them in its metadata."""
    metadata = {b"about": json.dumps(about).encode()}
    table = pa.table(dict(columns)).replace_schema_metadata(metadata)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def free(name: str, taken: set[str]) -> str:
    """A name that no other column has."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def to_csv(release: "Release", path: str | Path | None, *, intervals: bool) -> str:
    """The text of a CSV file; written to `path` where there is one."""
    import pyarrow.csv  # noqa: PLC0415 - for those who want a file

    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(inert(release.to_arrow(intervals=intervals)), sink)
    text: bytes = sink.getvalue().to_pybytes()
    if path is not None:
        Path(path).write_bytes(text)
    return text.decode()


def inert(table: pa.Table) -> pa.Table:
    """The same table with texts that no spreadsheet takes for a formula.

    Texts and names that begin with = + - @, a tab or a carriage return get an apostrophe in front.

    Example:
        >>> inert(pa.table({"x": ["=1+1", "a"], "-n": [-1, 2]})).to_pydict()
        {'x': ["'=1+1", 'a'], "'-n": [-1, 2]}
    """
    names = [f"'{name}" if name.startswith(_FORMULA) else name for name in table.column_names]
    texts = [pa.types.is_string(kind) for kind in table.schema.types]
    columns = [
        _inert(column) if text else column
        for column, text in zip(table.columns, texts, strict=True)
    ]
    return pa.table(columns, names=names)


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def _inert(column: pa.ChunkedArray) -> pa.ChunkedArray:
    odd = pc.match_substring_regex(column, "^[=+\\-@\t\r]")
    return pc.if_else(odd, pc.binary_join_element_wise("'", column, ""), column)
