"""Sources of rows (files, frames, relations), opened but not yet read."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from glob import iglob
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa

from discreet.curator.data.cell_files import read_sqlite, read_workbook
from discreet.curator.data.delimited_files import (
    check_quotes,
    check_title,
    delimiter_of,
    encoding_of,
    head_of,
    parts_of,
    text_batches,
    without_blanks,
)
from discreet.curator.data.owner_questions import OwnerQuestion
from discreet.curator.data.sniffing import is_record
from discreet.engines.default import check_names, describe, list_tables, read_database, read_json
from discreet.engines.reading import Reading
from discreet.errors import EngineError, InputError

_DELIMITED: Final = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
_JSON: Final = (".json", ".jsonl", ".ndjson")
_EXCEL: Final = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_ARROW: Final = (".feather", ".arrow", ".ipc")
_DATABASES: Final = (".duckdb", ".db", ".sqlite", ".sqlite3")
ENDINGS: Final = (*_DELIMITED, ".parquet", *_JSON, *_EXCEL, *_ARROW, *_DATABASES)
"""How the names of files end that can be read."""

LOOKED_AT: Final = 20_000
"""Rows from which kinds and formats are guessed; all rows are then read by the guess."""

_DISTINCT: Final = 2_000
_PATTERN: Final = set("*?[]{}")

Choice: TypeAlias = "partial[str]"
"""Chooses one of the sheets or tables of a file."""


@dataclass(slots=True)
class Source:
    """Rows that can be read again and again; `stored` has the types of columns, of text if untyped.

    `skipped` counts lines with too few or too many fields, once rows were read; `tables` are the
    sheets or tables to choose from; `left_out` are columns of no kind.
    """

    name: str
    stored: Mapping[str, str]
    open: Callable[[], Any]
    typed: bool = True
    reference: Path | None = None
    reading: Reading = field(default_factory=Reading)
    questions: list[OwnerQuestion] = field(default_factory=list)
    skipped: list[int] = field(default_factory=lambda: [0])
    left_out: tuple[str, ...] = ()
    tables: Sequence[str] = ()

    def sample(self) -> dict[str, dict[str, int]]:
        """How often texts occur among the first rows, by column."""
        rows = self.open()
        batches = rows.to_batches() if isinstance(rows, pa.Table) else rows
        seen: dict[str, Counter[str]] = {name: Counter() for name in self.stored}
        left = LOOKED_AT
        for batch in batches:
            for name, counter in seen.items():
                counter.update(batch.slice(0, left).column(name).drop_null().to_pylist())
            left -= batch.num_rows
            if left <= 0:
                break
        return {name: dict(islice(one.items(), _DISTINCT)) for name, one in seen.items()}


def open_source(
    source: Any,
    reading: Reading,
    source_table: str | None = None,
    name: str = "",
    exact: str | None = None,
) -> Source:
    """Look at a source without reading its values; InputError where it cannot be read.

    `source_table` is the sheet or table to read; else it is the one called `name`, or the only one.
    Blanks around texts of the column `exact` are kept.

    Why: frames and Parquet files keep them, and one person would have two names.
    """
    if source is None:
        raise InputError("no data", why="the source is None", fix="pass a file or a data frame")
    if not isinstance(source, str | Path):
        return _table(type(source).__name__, _as_rows(source), reading)
    choose = partial(_choose, said=source_table, name=name)
    with refusing(Path(source).name[:80]):
        path = Path(source).expanduser()
        if _PATTERN & set(str(path)) and not path.is_file():
            return _glob(path, reading, choose, exact)
        found = _open_file(path.resolve(), reading, choose, exact)
    check_names(found.stored)
    return found


def _open_file(path: Path, reading: Reading, choose: Choice, exact: str | None) -> Source:
    name = path.name.lower()
    if path.is_file():
        if name.endswith(_DELIMITED):
            return _delimited(path, reading, exact)
        if name.endswith(_JSON):
            return _texts(path.name, read_json(path), reading)
        if name.endswith(_EXCEL):
            return _workbook(path, reading, choose, exact)
        if name.endswith(_DATABASES):
            return _database(path, reading, choose)
        if name.endswith(_ARROW):
            return _table(path.name, _read_arrow(path), reading)
        if _PATTERN & set(str(path)):
            return _table(path.name, _read_parquet(path), reading)
        if not name.endswith((".parquet", ".gz")):
            raise InputError(
                f"{path.name[:80]} cannot be read",
                why="what it holds is known by how its name ends, and this ending is not known",
                fix=f"unpack archives; name a file that ends in {', '.join(ENDINGS)}",
            )
    return replace(_table(path.name, path, reading), reference=path)


def _table(name: str, rows: Any, reading: Reading) -> Source:
    told = describe(rows)
    other = tuple(one.name for one in told.columns if one.kind is None)
    kept = replace(reading, blanks=None)
    return Source(name, told.stored, lambda: rows, reading=kept, left_out=other)


def _texts(name: str, rows: pa.Table, reading: Reading) -> Source:
    stored = dict.fromkeys(rows.column_names, "VARCHAR")
    return Source(name, stored, lambda: rows, typed=False, reading=replace(reading, blanks=None))


def _as_rows(source: Any) -> Any:
    """A source that an engine can read more than once."""
    if isinstance(source, pa.RecordBatchReader):
        return source.read_all()
    if type(source).__name__ == "LazyFrame" and hasattr(source, "collect"):
        return source.collect()
    if type(source).__module__.startswith(("duckdb", "_duckdb")):
        return source.to_arrow_table()
    if isinstance(source, Mapping):
        try:
            return pa.table(dict(source))
        except (pa.ArrowException, TypeError, ValueError):
            raise InputError(
                "a dict that is no table",
                why="its values are lists of one length and one kind each, by names of columns",
                fix='pass {"id": [1, 2], "age": [30, 40]}, a data frame or a file',
            ) from None
    return source


def _glob(path: Path, reading: Reading, choose: Choice, exact: str | None) -> Source:
    """All files that a pattern names, in order, read alike: as the first one is."""
    parts = sorted(Path(one) for one in iglob(str(path), recursive=True) if Path(one).is_file())  # noqa: PTH207 - of an absolute path too
    if not parts:
        raise InputError(
            f"no file is called {path.name}", why="the pattern fits none", fix="name another one"
        )
    opened = [_open_file(parts[0].resolve(), reading, choose, exact)]
    for part in parts[1:]:
        opened.append(_open_file(part.resolve(), opened[0].reading, choose, exact))
    first = opened[0]
    wanted = _shape(first)
    if other := [one.name for one in opened if _shape(one) != wanted]:
        raise InputError(
            f"{other[0]} has other columns than {first.name}, or another format",
            why="files that a pattern names are parts of one table",
            fix="name files of one format with the same columns, in the same order",
        )

    def rows() -> pa.Table:
        found = [_as_table(one.open(), list(first.stored)) for one in opened]
        joined.skipped[0] = sum(one.skipped[0] for one in opened)
        return pa.concat_tables(found, promote_options="permissive")

    joined = replace(first, name=path.name, open=rows, reference=None, skipped=[0])
    joined.questions = [question for one in opened for question in one.questions]
    return joined


def _shape(source: Source) -> tuple[Any, ...]:
    return source.reading.blanks, *source.stored.items()


def _as_table(rows: Any, names: list[str]) -> pa.Table:
    if isinstance(rows, Path):
        rows = _read_parquet(rows)
    elif isinstance(rows, pa.RecordBatchReader):
        rows = rows.read_all()
    return rows.select(names)


def _read_parquet(path: Path) -> pa.Table:
    import pyarrow.parquet  # noqa: PLC0415 - most are read where they are

    return pyarrow.parquet.read_table(pa.OSFile(str(path)))


def _read_arrow(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as file:
        try:
            rows = pa.ipc.open_file(file).read_all()
        except pa.ArrowInvalid:
            file.seek(0)
            rows = pa.ipc.open_stream(file).read_all()
    rows.validate(full=True)  # places outside the file would end the process when they are read
    return rows


# --- delimited text -----------------------------------------------------------------------------


def _delimited(path: Path, said: Reading, exact: str | None) -> Source:
    """A CSV file: encoding, separator and header as the owner says, else as they look."""
    encoding = said.encoding or encoding_of(parts_of(path))
    head = "".join(io.StringIO(head_of(path, encoding), newline="").readlines()[said.skip_lines :])
    if "\r" in head.replace("\r\n", "") and "\n" not in head:
        raise InputError(
            f"the lines of {path.name} end as those of old Macs did",
            why="with a carriage return alone, which would make one line of all",
            fix="save it again with line ends of Unix or Windows",
        )
    delimiter = said.delimiter or delimiter_of(head, path)
    lines = list(csv.reader(io.StringIO(head), delimiter=delimiter, quotechar=said.quote))
    if said.header is None and said.names is None:
        check_title(path.name, lines, said)
    blank = next((at for at, line in enumerate(lines) if line), 0)  # lines above the first
    first = lines[blank] if lines else []
    reading = replace(said, encoding=encoding, delimiter=delimiter)
    check_quotes(path, reading)
    found = _with_header(path.name, first, reading, partial(text_batches, path, exact, blank))
    if said.encoding is None and encoding in (codes := ("cp1252", "latin-1")):
        answers = tuple((f"it is in {code}", {"encoding": code}) for code in codes)
        text = f"{path.name} is not in UTF-8. Is it in {encoding}, as Windows writes files?"
        found.questions.append(OwnerQuestion("encoding", text, None, answers))
    return found


def _with_header(
    name: str, first: list[str], said: Reading, rows: Callable[[list[str], Reading, list[int]], Any]
) -> Source:
    """A file of texts whose first line may name its columns; a doubt is asked about."""
    skipped, said = [0], replace(said, blanks=said.blanks or "trim")
    if not first:
        raise InputError(
            f"{name} is empty",
            why="it has neither columns nor rows",
            fix="pass a file whose first line names its columns",
        )
    if said.blanks == "trim":
        first = [one.strip() for one in first]

    def source(names: Sequence[str], *, header: bool) -> Source:
        reading, stored = replace(said, header=header), dict.fromkeys(names, "VARCHAR")
        read = partial(rows, list(names), reading, skipped)
        return Source(name, stored, read, typed=False, reading=reading, skipped=skipped)

    numbered = [f"column{i + 1}" for i in range(len(first))]
    header, doubt = said.header, False
    if header is None:
        looks = is_record(first, source(numbered, header=True).sample())
        header, doubt = not looks, looks if said.names is None else not looks
    if first[1:] and not first[-1] and not source(numbered, header=True).sample()[numbered[-1]]:
        first = [*first[:-1], numbered[-1]]  # lines end with a separator
    if said.names is not None and list(said.names) == first:
        header, doubt = True, False
    names = said.names if said.names is not None else first
    if said.names is None and (not header or doubt):
        names = first if doubt and _are_names(first) else numbered
        header = names is first
    if not _are_names(names) or len(names) != len(first):
        bare = [f"column {at} has none" for at, one in enumerate(names, start=1) if not one]
        twice = [f"{one} stands twice" for one, n in Counter(names).items() if one and n > 1]
        count = f"there are {len(first)} columns and {len(names)} names"
        raise InputError(
            f"{name} does not name its columns",
            why=f"names must be unique; {', '.join([*bare, *twice][:5]) or count}",
            fix="pass their names: Reading(header=True, names=[...]), or --header --names a,b,c"
            if header
            else "pass their names: Reading(names=[...]), or --names a,b,c",
        )
    found = source(names, header=header)
    if doubt:
        text = "Does the first line name the columns, or is it a record?"
        answers = (("it names the columns", {"header": True}), ("a record", {"header": False}))
        found.questions.append(OwnerQuestion("header", text, None, answers))
    return found


def _are_names(names: Sequence[str]) -> bool:
    return bool(names) and len(set(names)) == len(names) and all(names)


# --- workbooks and databases --------------------------------------------------------------------


def _workbook(path: Path, reading: Reading, choose: Choice, exact: str | None) -> Source:
    """A sheet of an Excel file."""
    titled = reading.header is not False and reading.names is None
    names, cells = read_workbook(path, choose, titled=titled)
    cells = cells[reading.skip_lines :]
    first = [cell or "" for cell in cells[0]] if cells else []

    def table(columns: list[str], now: Reading, _: list[int]) -> pa.Table:
        body = cells[1:] if now.header else cells
        made = [pa.array([row[i] for row in body], pa.string()) for i in range(len(columns))]
        return pa.table(without_blanks(columns, made, now, exact), names=columns)

    return _among(names, choose, _with_header(path.name, first, reading, table))


def _database(path: Path, reading: Reading, choose: Choice) -> Source:
    with path.open("rb") as file:
        is_sqlite = file.read(16) == b"SQLite format 3\0"
    if is_sqlite:
        names, rows, lost = read_sqlite(path, choose)
        source = _texts(path.name, rows, reading)
        for column in lost if reading.is_strict else ():
            text = f"{column} holds bytes, which are no values. Make them NULL?"
            answers = (("make them NULL", {"unreadable": "null"}),)
            source.questions.append(OwnerQuestion("unreadable", text, column, answers))
    elif path.suffix.lower().startswith(".sqlite"):
        raise ValueError  # views of DuckDB read files: only what is called a DuckDB file is one
    else:
        names = list_tables(path)
        source = _table(path.name, read_database(path, choose(path, names)), reading)
    return _among(names, choose, source)


def _choose(path: Path, names: Sequence[str], *, said: str | None, name: str) -> str:
    """The sheet or table to read: the one that is named, or the first."""
    if (said or name) in names:
        return said or name
    if names and said is None:
        return names[0]
    raise InputError(
        f"there is no {said or 'table'} in {path.name}",
        why=f"it has: {', '.join(names) or 'none'}",
        fix="name one of them: source_table='...', or --source-table",
    )


def _among(names: Sequence[str], choose: Choice, source: Source) -> Source:
    """A source with the tables beside it; which one is meant is asked where nobody named it."""
    wanted = choose.keywords
    source.tables = names
    if len(names) > 1 and (wanted["said"] or wanted["name"]) not in names:
        text = f"Which table of {source.name} is meant: {', '.join(names)}?"
        source.questions.append(OwnerQuestion("table", text))
    return source


@contextmanager
def refusing(name: str) -> Iterator[None]:
    """Turn errors of readers into one that quotes nothing."""
    try:
        yield
    except InputError:
        raise
    except (EngineError, pa.ArrowException, OSError, UnicodeError, ValueError, csv.Error):
        raise InputError(
            f"{name} cannot be read",
            why="there is no such file or table, it is damaged, in another encoding, or in use",
            fix=f"name an intact file that ends in {', '.join(ENDINGS)}",
        ) from None
