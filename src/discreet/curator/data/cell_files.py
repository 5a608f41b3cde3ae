"""Files of cells that may hold anything: sheets of Excel and tables of SQLite, as texts."""

import datetime as dt
import re
import zipfile
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from discreet.errors import InputError

_SAMPLE: Final = 1 << 20
_CELLS: Final = 1 << 25
_MOST_UNPACKED: Final = 1 << 31
_PLACE: Final = re.compile(rb"\br\s*=\s*[\"']([A-Za-z]{0,9})([0-9]{1,18})[\"']")
"""The stated position of a row or a cell of a workbook."""

Choose = Callable[[Path, Sequence[str]], str]


def read_workbook(
    path: Path, choose: Choose, *, titled: bool
) -> tuple[list[str], list[list[str | None]]]:
    """Names of all sheets, and the cells of the chosen one; `titled` skips lines above names."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook  # noqa: PLC0415 - an extra
    except ImportError:
        raise InputError(
            f"{path.name} is an Excel file",
            why="the package that reads them is not installed",
            fix="pip install 'discreet[files]', or save it as CSV",
        ) from None
    _check_size(path)
    try:
        book = CalamineWorkbook.from_path(str(path))
        names = list(book.sheet_names)
        rows = book.get_sheet_by_name(choose(path, names)).to_python(skip_empty_area=True)
    except CalamineError:
        raise ValueError from None
    while titled and len(rows) > 1 and sum(one != "" for one in rows[0]) <= 1 < len(rows[0]):
        rows = rows[1:]
    timed = {i for row in rows for i, cell in enumerate(row) if isinstance(cell, dt.datetime)}
    cells = [[_cell(cell, timed=i in timed) for i, cell in enumerate(row)] for row in rows]
    return names, cells


def _check_size(path: Path) -> None:
    """Refuse a workbook of more cells than fit: between two far ones there is a table too."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as packed:
        parts = packed.infolist()  # a sheet may have any name
        if sum(one.file_size for one in parts) <= _MOST_UNPACKED and all(
            _cells(packed, one) <= _CELLS for one in parts
        ):
            return
    raise InputError(
        f"{path.name} is too large to be opened",
        why=f"a sheet has at most {_CELLS:,} cells, empty ones between others too",
        fix="delete cells far from the table, or save it as CSV",
    )


def _cells(packed: zipfile.ZipFile, sheet: zipfile.ZipInfo) -> int:
    """How many cells the rectangle has in which all cells of a sheet lie."""
    last, wide, kept = 1, 1, b""
    with packed.open(sheet) as file:
        while part := file.read(_SAMPLE):
            for column, row in _PLACE.findall(kept + part):
                number = 0
                for letter in column.upper():
                    number = 26 * number + letter - 64
                last, wide = max(last, int(row)), max(wide, number)
            kept = part[-40:]
    return last * wide


def _cell(value: Any, *, timed: bool = False) -> str | None:
    """A cell as text; whole numbers have no fraction, and days none unless others are `timed`."""
    match value:
        case None | "":
            return None
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer():
            return str(int(value))
        case dt.date() if timed and not isinstance(value, dt.datetime):
            return f"{value} 00:00:00"
        case bytes():
            return None
    return str(value)


def read_sqlite(path: Path, choose: Choose) -> tuple[list[str], pa.Table, list[str]]:
    """A table of SQLite: any column may hold anything, so it is texts like a CSV file's.

    The last are the columns in which bytes were found. Views are left out: one that never ends
    can be written in a line.
    """
    import sqlite3  # noqa: PLC0415 - for those who have such files

    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as file:
            listed = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
            names = [name for (name,) in file.execute(listed) if not name.startswith("sqlite_")]
            chosen = choose(path, names).replace('"', '""')
            found = file.execute(f'SELECT * FROM "{chosen}"')  # noqa: S608 - a name of its own
            columns = [one[0] for one in found.description]
            rows = found.fetchall()
    except sqlite3.Error:
        raise ValueError from None
    made, lost = [], []
    for i, column in enumerate(columns):
        cells = [row[i] for row in rows]
        lost += [column] if any(isinstance(cell, bytes) for cell in cells) else []
        made.append(pa.array(["" if cell == "" else _cell(cell) for cell in cells], pa.string()))
    return names, pa.table(made, names=columns), lost
