"""Data on its way in: looked at, asked about, and turned into rows of the declared kinds.

Types come from a file's own header or from the owner; what values look like is used only where the
owner confirms it. Parquet files are read where they are, unless texts in them have to become values
of another kind; everything else is copied in.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.curator.data.load_report import LoadReport, Stated, confirmed, look, settled
from discreet.curator.data.sources import Source, open_source, refusing
from discreet.engines.default import StoredColumn, convert, may_not_fit, stored_kind
from discreet.engines.reading import Reading
from discreet.engines.remote_tables import RemoteTable, engine_at, find_remote
from discreet.errors import InputError
from discreet.plan.kinds import Kind, Type
from discreet.plan.schema import Bounds, Keys


@dataclass(frozen=True, slots=True)
class Incoming:
    """A source, the kinds of its columns, and rows to copy where it is not read in place.

    `columns` is what the owner says of columns, with what they confirmed; `reading` is how texts
    were read, for rows that come later.
    """

    kinds: Mapping[str, Kind]
    reference: Path | None = None
    rows: Any = None
    remote: RemoteTable | None = None
    columns: Mapping[str, Bounds | Keys] = field(default_factory=dict)
    reading: Reading = field(default_factory=Reading)


def take(
    source: Any,
    stated: Stated,
    reading: Reading,
    source_table: str | None = None,
    *,
    name: str = "",
    unit: str | None = None,
    exact: str | None = None,
) -> Incoming:
    """Take a source in: a file, a data frame, a relation, or the address of a server.

    Refuses what leaves a question open. `source_table` is the table to read where there are
    several, else it is the one called `name`. Texts of `exact` keep the blanks around them.
    """
    if (remote := find_remote(source, source_table or name)) is not None:
        found = engine_at(remote.address, remote.session).describe(remote.table)
        return Incoming(found.kinds | dict(stated.kinds), remote=remote, columns=stated.columns)
    opened = open_source(source, reading, source_table, name, exact)
    plain = opened.typed and not _converted(opened, stated)
    sure = not opened.questions and not any(map(may_not_fit, opened.stored.values()))
    if plain and sure and not stated.confirm:
        return _as_it_is(opened, stated)
    report = look(opened, stated, unit, propose=False)
    report.check()
    kinds, columns = settled(report, stated)
    if plain:
        return _as_it_is(opened, Stated(columns, stated.kinds))
    return _turned(opened, report, kinds, columns)


def _converted(source: Source, stated: Stated) -> list[str]:
    """The columns of text in a typed source that are declared to be something else."""
    said = stated.kinds.items()
    return [n for n, kind in said if source.stored.get(n) == "VARCHAR" and kind is not Kind.TEXT]


def _as_it_is(source: Source, stated: Stated) -> Incoming:
    kinds = {name: stored_kind(of) or Kind.TEXT for name, of in source.stored.items()}
    rows = None if source.reference is not None else source.open()
    kinds |= dict(stated.kinds)
    return Incoming(kinds, source.reference, rows, None, stated.columns, source.reading)


def _turned(
    source: Source, report: LoadReport, kinds: dict[str, Kind], columns: dict[str, Bounds | Keys]
) -> Incoming:
    """Texts as values of their kinds."""
    wanted = {name: StoredColumn(source.stored[name], Type(kind)) for name, kind in kinds.items()}
    with refusing(source.name):
        rows = convert(source.open(), wanted, report.reading)
    lost = {one.name: one.nulls + one.counts.unreadable for one in report.columns}
    if rows.num_rows != report.rows or any(rows[n].null_count != lost[n] for n in kinds):
        raise InputError(
            f"{source.name} has changed while it was read",
            why="what was checked would not be what is kept",
            fix="add it again once nobody writes to it",
        )
    return Incoming(kinds, rows=rows, columns=columns, reading=report.reading)


def describe(
    source: Any,
    *,
    unit: str | None = None,
    columns: Mapping[str, Bounds | Keys] | None = None,
    kinds: Mapping[str, Kind | str] | None = None,
    reading: Reading | Mapping[str, Any] | None = None,
    source_table: str | None = None,
    confirm: str | Collection[str] = (),
) -> LoadReport:
    """The load report of a source, for its owner alone; nothing is kept.

    Example:
        >>> import pyarrow as pa
        >>> describe(pa.table({"id": [1, 2, 2], "age": [30, None, 41]}), unit="id")
        Table: 3 rows, 2 people
          column       kind     known      NULL  unreadable  outside
          id (person)  integer             0
          age          integer  0 .. 50*  1
        * taken from the data: keep it only if it is public knowledge.
    """
    said = Stated(columns or {}, {n: Kind(k) for n, k in (kinds or {}).items()}, confirmed(confirm))
    name = Path(source).name.partition(".")[0] if isinstance(source, str | Path) else ""
    opened = open_source(source, Reading.from_dict(reading), source_table, name, unit)
    return look(opened, said, unit)
