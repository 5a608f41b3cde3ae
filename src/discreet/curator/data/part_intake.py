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
from discreet.engines.reading import Reading
from discreet.errors import InputError
from discreet.plan.schema import PART, EachRow, Schema, Table


def with_part(tables: Registry, name: str, part: Part) -> Registry:
    """Tables with one more part of one of them."""
    one = tables.tables[name]
    return tables.with_changed(replace(one, parts=(*one.parts, part), pending=None))


def incoming_part(table: Table, source: Any, reading: Reading) -> intake.Incoming:
    """Look at rows for a table, as values of the kinds that its columns have."""
    kinds = {name: of.kind for name, of in table.columns.items()}
    return intake.take(source, Stated(kinds=kinds), reading, name=table.name)


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
