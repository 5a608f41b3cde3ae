"""Released tables as other tools take them: with columns of intervals, and as files."""

from collections.abc import Mapping
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc


def with_intervals(table: pa.Table, half_widths: Mapping[str, pa.Array]) -> pa.Table:
    """Each number with its interval, in columns `_low` and `_high`."""
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


def free(name: str, taken: set[str]) -> str:
    """A name that no other column has."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def write_rows(table: pa.Table, to: Any, form: Literal["csv", "parquet"]) -> None:
    """Write a table to a file or a sink; the texts of a CSV file are `inert`."""
    if form == "csv":
        import pyarrow.csv  # noqa: PLC0415 - for those who want a file

        pyarrow.csv.write_csv(inert(table), to)
    else:
        import pyarrow.parquet  # noqa: PLC0415 - likewise

        pyarrow.parquet.write_table(table, to)


def inert(table: pa.Table) -> pa.Table:
    """The same table with texts that no spreadsheet takes for a formula.

    Texts and names that begin with = + - @, a tab or a carriage return get an apostrophe in front.

    Example:
        >>> inert(pa.table({"x": ["=1+1", "a"], "-n": [-1, 2]})).to_pydict()
        {'x': ["'=1+1", 'a'], "'-n": [-1, 2]}
    """
    columns = [_inert(one) if pa.types.is_string(one.type) else one for one in table.columns]
    return pa.table(columns, names=_inert(pa.array(table.column_names, pa.string())).to_pylist())


def _inert(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    odd = pc.match_substring_regex(column, "^[=+\\-@\t\r]")
    return pc.if_else(odd, pc.binary_join_element_wise("'", column, ""), column)
