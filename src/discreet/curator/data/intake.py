"""Data on its way in: looked at, asked about, and turned into rows of the declared kinds."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.curator.arguments import unknown
from discreet.curator.budget import Budget
from discreet.curator.data.load_report import LoadReport, Stated, check_columns, confirmed, look
from discreet.curator.data.registry import Part, Registration, Registry
from discreet.curator.data.sources import Source, open_source, refusing
from discreet.curator.ledger.orders import named
from discreet.engines import default as engine_default
from discreet.engines.default import (
    DefaultEngine,
    StoredColumn,
    as_arrow,
    convert,
    may_not_fit,
    stored_kind,
)
from discreet.engines.reading import NEWER, Reading
from discreet.engines.remote_engine import RemoteTable, engine_at, find_remote
from discreet.errors import InputError
from discreet.plan.kinds import Kind, Type
from discreet.plan.schema import (
    PART,
    Bounds,
    EachRow,
    KeyPath,
    Keys,
    Limits,
    PublicTable,
    Schema,
    Table,
    Unit,
    column_type,
)


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

    def types(self, said: Stated) -> dict[str, Type]:
        """The types of all columns; InputError if something is said of none of them."""
        check_columns(self.kinds, (*said.columns, *said.kinds, *said.required))
        known = {**said.columns, **self.columns}
        return {
            name: column_type(name, kind, known.get(name), nullable=name not in said.required)
            for name, kind in self.kinds.items()
        }


@dataclass(frozen=True, slots=True)
class NewTable:
    """A table to be added, in the words of its owner; a public one has a `key` and no `unit`."""

    name: str
    columns: Stated
    unit: Unit | None = None
    budget: Budget | None = None
    dataset: str | None = None
    limits: Limits | None = None
    source_table: str | None = None
    max_table_rows: int | None = None
    version_label: str | None = None
    key: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if named(self.name, "table") in (".", ".."):
            raise InputError(
                f"a table called {self.name}",
                why="in addresses and paths that is another place",
                fix="give it a name with a letter in it",
            )
        if self.unit is not None and (self.budget is None) is (self.dataset is None):
            has = "neither a budget nor a dataset" if self.budget is None else "both"
            raise InputError(
                f"{self.name} has {has}",
                why="a table either starts a dataset with a budget of its own or shares another's",
                fix="pass budget=Budget(epsilon=..., delta=...) or dataset='name'",
            )

    def take(self, source: Any, tables: Registry) -> Incoming:
        """Take its rows in, beside the `tables` that are there."""
        unit, exact = getattr(self.unit, "column", None), exact_column(tables, self.unit)
        about = (source, self.columns, self.source_table)
        return take(*about, name=self.name, unit=unit, exact=exact)

    def table(self, incoming: Incoming) -> Table | PublicTable:
        """The table, with the types that its columns have."""
        types = incoming.types(self.columns)
        if self.unit is None:
            return PublicTable(self.name, types, self.key)
        return Table(self.name, types, self.unit, self.limits or Limits())


def read_kinds(said: Mapping[str, Kind | str] | None) -> dict[str, Kind]:
    """Kinds of columns, by their names too."""
    known = [kind.value for kind in Kind]
    for name, kind in (said or {}).items():
        if not isinstance(kind, Kind) and kind not in known:
            raise unknown(f"kind for {name} called", str(kind), known)
    return {name: Kind(kind) for name, kind in (said or {}).items()}


def take(
    source: Any,
    stated: Stated,
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
    opened = open_source(source, stated.reading, source_table, name, exact)
    texts = [name for name, kind in stated.kinds.items() if kind is not Kind.TEXT]
    plain = opened.typed and not any(opened.stored.get(name) == "VARCHAR" for name in texts)
    sure = not opened.questions and not any(map(may_not_fit, opened.stored.values()))
    if plain and sure and not stated.confirm:
        return _as_it_is(opened, stated)
    report = look(opened, stated, unit, propose=False)
    report.check()
    columns = {
        one.name: one.known
        for one in report.columns
        if one.known is not None
        and (one.known_from == "owner" or stated.confirms(one.name, kind=False))
    }
    if plain:
        return _as_it_is(opened, Stated(columns, stated.kinds))
    return _turned(opened, report, columns)


def _as_it_is(source: Source, stated: Stated) -> Incoming:
    kinds = {name: stored_kind(of) or Kind.TEXT for name, of in source.stored.items()}
    rows = None if source.reference is not None else source.open()
    kinds |= dict(stated.kinds)
    return Incoming(kinds, source.reference, rows, None, stated.columns, source.reading)


def _turned(source: Source, report: LoadReport, columns: dict[str, Bounds | Keys]) -> Incoming:
    """Texts as values of their kinds."""
    kinds = report.kinds
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
    read = Reading.from_dict(reading)
    said = Stated(columns or {}, read_kinds(kinds), confirmed(confirm), reading=read)
    name = Path(source).name.partition(".")[0] if isinstance(source, str | Path) else ""
    opened = open_source(source, read, source_table, name, unit)
    return look(opened, said, unit)


def with_part(tables: Registry, name: str, part: Part) -> Registry:
    """Tables with one more part of one of them."""
    one = tables.tables[name]
    return tables.with_changed(replace(one, parts=(*one.parts, part), pending=None))


def incoming_part(
    tables: Registry, one: Registration, source: Any, said: Reading | Mapping[str, Any] | None
) -> Incoming:
    """Look at rows for a table, as values of the kinds that its columns have.

    Tables of earlier versions kept all blanks, and took the newer words for NULL as texts.
    """
    table, older = one.table, "blanks" not in one.reading
    reading = Reading.from_dict(one.reading if said is None else said)
    stated = Stated(
        kinds={name: of.kind for name, of in table.columns.items()},
        reading=replace(reading, blanks=reading.blanks or one.reading.get("blanks", "keep")),
        themselves=NEWER if older else (),
    )
    exact = exact_column(tables, getattr(table, "unit", None))
    return take(source, stated, name=table.name, exact=exact)


def trims(tables: Registry, one: Registration | None, column: str) -> bool:
    """Whether blanks around texts of a column were left out when its table was added."""
    if one is None or one.reading.get("blanks") != "trim":
        return False
    unit = getattr(one.table, "unit", None)
    return column != getattr(unit, "column", None) or exact_column(tables, unit) is None


def exact_column(tables: Registry, unit: Unit | None) -> str | None:
    """The column whose texts keep their blanks: it names the person, or a key that has its own."""
    if isinstance(unit, KeyPath) and trims(tables, tables.tables.get(unit.table), unit.key):
        return None
    return getattr(unit, "column", None)


def trimmed_keys(tables: Registry, name: str) -> list[str]:
    """The columns of a table that key paths lead to and whose blanks were left out."""
    units = (getattr(one.table, "unit", None) for one in tables.tables.values())
    keys = {unit.key for unit in units if isinstance(unit, KeyPath) and unit.table == name}
    return [key for key in keys if trims(tables, tables.tables[name], key)]


def check_keys(one: Registration, keys: Sequence[str], parts: Sequence[Any]) -> None:
    """Refuse keys with blanks around them where others lost theirs: ' 1' and '1' would be two."""
    from pyarrow import compute  # noqa: PLC0415 - for those who have such keys

    for key in keys:
        for rows in parts if one.table.columns[key].kind is Kind.TEXT else ():
            texts = as_arrow(rows, [key]).column(key).cast(pa.string())
            if compute.any(compute.not_equal(texts, compute.utf8_trim_whitespace(texts))).as_py():
                raise InputError(
                    f"blanks around values of {one.table.name}.{key}",
                    why="key paths lead there, and blanks were left out of its first rows",
                    fix="leave them out of all rows, or add all tables with Reading(blanks='keep')",
                )


def content_digest(rows: pa.Table) -> str:
    """A digest of rows in memory."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return hashlib.sha256(sink.getvalue()).hexdigest()


def check_part(table: Table, first: Any, rows: Any) -> int:
    """Refuse rows with other types than the table has, or that cannot be read; how many there are.

    Why: engines would convert values so that all parts have one type, and two people's names may
    become one.
    """
    known, new = (
        {c.name: c.stored for c in engine_default.describe(each).columns} for each in (first, rows)
    )
    other = [name for name in table.columns if new.get(name) != known[name]]
    if other or PART in map(str.casefold, {**known, **new}):
        column = other[0] if other else PART
        raise InputError(
            f"column {column} of what is appended to {table.name} is not what it was",
            why=f"it was {known.get(column, 'not there')}, and is {new.get(column, 'not there')}",
            fix="give it the same columns with the same types (no column is called _part)",
        )
    with closing(DefaultEngine()) as engine:
        alone = replace(table, unit=EachRow())
        engine.open(Schema({table.name: alone}), {table.name: rows})
        engine.check_readable(alone)
        return engine.row_count(table.name)


def check_new(one: Registration, part: Part, first: Sequence[Any]) -> None:
    """Refuse rows that are there already; `first` are those that were added, if in memory."""
    known = {content_digest(as_arrow(rows, list(one.table.columns))): 1 for rows in first}
    known |= {file.fingerprint: file.version for file in one.files}
    if part.fingerprint in known:
        raise InputError(
            f"these rows are part of {one.table.name} since version {known[part.fingerprint]}",
            why="everybody in them would count twice",
            fix="append other rows; to count them again, pass again=True (--again)",
        )
