"""Rows on their way to a table that is there already: looked at, compared, and never changed."""

import hashlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import pyarrow as pa

from discreet.curator.data import intake
from discreet.curator.data.load_report import Stated
from discreet.curator.data.registry import Part, Registration, Registry
from discreet.engines.default import DefaultEngine, as_arrow, describe
from discreet.engines.reading import NEWER, Reading
from discreet.errors import InputError
from discreet.plan.kinds import Kind
from discreet.plan.schema import PART, EachRow, KeyPath, Schema, Table, Unit


def with_part(tables: Registry, name: str, part: Part) -> Registry:
    """Tables with one more part of one of them."""
    one = tables.tables[name]
    return tables.with_changed(replace(one, parts=(*one.parts, part), pending=None))


def incoming_part(
    tables: Registry, one: Registration, source: Any, said: Reading | None
) -> intake.Incoming:
    """Look at rows for a table, as values of the kinds that its columns have.

    Tables of earlier versions kept all blanks, and took the newer words for NULL as texts.
    """
    table, older = one.table, "blanks" not in one.reading
    reading = Reading.from_dict(one.reading) if said is None else said
    blanks = reading.blanks or one.reading.get("blanks", "keep")
    kinds = {name: of.kind for name, of in table.columns.items()}
    stated = Stated(kinds=kinds, themselves=NEWER if older else ())
    exact = exact_column(tables, getattr(table, "unit", None))
    return intake.take(
        source, stated, replace(reading, blanks=blanks), name=table.name, exact=exact
    )


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
    known, new = ({c.name: c.stored for c in describe(each).columns} for each in (first, rows))
    other = [name for name in table.columns if new.get(name) != known[name]]
    if other or PART in {**known, **new}:
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
