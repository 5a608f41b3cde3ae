"""Made-up rows for a schema: to try questions on, at no cost, before real ones are asked.

Types, bounds and keys are all that goes in. The same schema always gives the same rows, drawn by a
counter through a mixing function: whatever they show is about the schema, not about anybody.
"""

import hashlib
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.plan.calendar import DAY, moment
from discreet.plan.kinds import Kind, Range, Type, Value
from discreet.plan.schema import KeyPath, Person, PersonPeriod, PublicTable, Schema, Table
from discreet.rationals import whole

ROWS = 1000
_PUBLIC = 50
_EACH = 5
"""Rows a person has on average."""

_NULLS = 50
"""One value in so many is NULL, where that may be."""

_WORDS = 12
ARROW = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INTEGER: pa.int64(),
    Kind.REAL: pa.float64(),
    Kind.TEXT: pa.string(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
}
"""Values of each kind, as they travel to and from an engine."""
_USUAL = {
    Kind.INTEGER: Range(0, 99),
    Kind.REAL: Range(0.0, 100.0),
    Kind.DATE: Range(18_262, 20_088),
    Kind.TIMESTAMP: Range(18_262 * DAY, 20_088 * DAY),
}
"""Where no bounds are stated: small numbers, and the years from 2020 to 2024."""


def dummy(
    schema: Schema, rows: int = ROWS, *, only: Collection[str] | None = None
) -> dict[str, pa.Table]:
    """A table of made-up rows for every table of a schema; private ones have `rows` rows.

    With `only`, the same rows for these tables alone.

    People, and keys that tables are joined by, are the same in all tables, so that joins find
    partners. Keys that have to be unique are, even where that leaves fewer rows.

    Example:
        >>> from discreet.plan.schema import Bounds, column_type
        >>> age = column_type("age", Kind.INTEGER, Bounds(0, 120))
        >>> columns = {"who": Type(Kind.INTEGER), "age": age}
        >>> made = dummy(Schema({"visits": Table("visits", columns, Person("who"))}), rows=3)
        >>> made["visits"].column_names, made["visits"].num_rows
        (['who', 'age'], 3)
    """
    count = whole(rows, "rows", at_least=0)
    unique: dict[str, tuple[str, ...]] = {}  # the columns of a table that name one row together
    for name, table in schema.tables.items():
        if isinstance(table, PublicTable):
            unique[name] = table.key
        elif isinstance(table.unit, KeyPath):
            unique[table.unit.table] = (table.unit.key,)
    sizes = {
        name: _size(table, unique.get(name, ()), count) for name, table in schema.tables.items()
    }
    return {
        name: _made(table, unique.get(name, ()), sizes)
        for name, table in schema.tables.items()
        if only is None or name in only
    }


def _size(table: Table | PublicTable, unique: tuple[str, ...], rows: int) -> int:
    """How many rows a table gets: no more than its unique keys allow."""
    wanted = rows if isinstance(table, Table) else min(rows, _PUBLIC)
    room = math.prod(_room(table.columns[column]) for column in unique)
    return min(wanted, room) if unique else wanted


def _room(of: Type) -> int:
    """How many different values a column has."""
    if of.keys is not None:
        return len([key for key in of.keys if key is not None])
    if of.kind is Kind.BOOLEAN:
        return 2
    if of.range is not None and of.kind is not Kind.TEXT:
        return int(of.range.high - of.range.low) + 1
    return 1 << 31


@dataclass(frozen=True, slots=True)
class DummyDraws:
    """Whole numbers that look random and are always the same, for one column of a table."""

    name: str

    def below(self, limit: int, count: int) -> NDArray[np.int64]:
        """`count` numbers from 0 to `limit` - 1.

        Each is a counter that is multiplied and folded until its bits are mixed.
        """
        start = int.from_bytes(
            hashlib.blake2b(self.name.encode(), digest_size=8).digest(), "little"
        )
        mixed = np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(start)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
        return (mixed % np.uint64(limit)).astype(np.int64)


def _made(
    table: Table | PublicTable, unique: tuple[str, ...], sizes: Mapping[str, int]
) -> pa.Table:
    rows, columns = sizes[table.name], {}
    for name, of in table.columns.items():
        values = _column(table, name, unique, sizes)
        columns[name] = pa.array(values, ARROW[of.kind], size=rows)
    return pa.table(columns)


def _column(
    table: Table | PublicTable, name: str, unique: tuple[str, ...], sizes: Mapping[str, int]
) -> list[Value]:
    of, rows, draws = table.columns[name], sizes[table.name], DummyDraws(f"{table.name}\0{name}")
    if name in unique:  # a unique key counts up; of several columns the last one goes fastest
        after = (table.columns[column] for column in unique[unique.index(name) + 1 :])
        each = math.prod(min(_room(one), 1 << 31) for one in after)
        return [nth(of, i // each % _room(of)) for i in range(rows)]
    paths = (Person, PersonPeriod, KeyPath)  # whose column leads to the person
    if isinstance(table, Table) and isinstance(table.unit, paths) and name == table.unit.column:
        others = sizes[table.unit.table] if isinstance(table.unit, KeyPath) else (-(-rows // _EACH))
        return [nth(of, int(i)) for i in draws.below(max(1, others), rows)]
    values = _values(of, rows, draws)
    if of.nullable:
        blank = DummyDraws(f"{draws.name}\0null").below(_NULLS, rows) == 0
        values = [None if gone else value for gone, value in zip(blank, values, strict=True)]
    return values


def nth(of: Type, place: int) -> Value:
    """The value at a place among all values of a type, counted from 0; places go round."""
    at = place % _room(of)
    if of.keys is not None:
        return [key for key in of.keys if key is not None][at]
    low = 0 if of.range is None else of.range.low
    match of.kind:
        case Kind.BOOLEAN:
            return bool(at)
        case Kind.TEXT:
            return f"id{at:06d}"
        case Kind.REAL:
            return float(low) + at
        case Kind.INTEGER:
            return int(low) + at
        case Kind.DATE | Kind.TIMESTAMP:
            return moment(int(low) + at, of.kind)


def _values(of: Type, rows: int, draws: DummyDraws) -> list[Any]:
    if of.keys is not None:
        return [of.keys[i] for i in draws.below(len(of.keys), rows)]
    match of.kind:
        case Kind.BOOLEAN:
            return [bool(i) for i in draws.below(2, rows)]
        case Kind.TEXT:
            return [f"text {i}" for i in draws.below(_WORDS, rows)]
    bounds = of.range or _USUAL[of.kind]
    low, high = bounds.low, bounds.high
    if of.kind is Kind.REAL:
        shares = draws.below(1001, rows)
        return [low * (1 - i / 1000) + high * (i / 1000) for i in shares.tolist()]
    limit = int(high) - int(low) + 1  # far ends of a wide range are reached in large steps
    steps, scale = draws.below(min(limit, 1 << 40), rows).tolist(), max(1, limit >> 40)
    places = [int(low) + step * scale for step in steps]
    return [moment(i, of.kind) for i in places] if of.kind.is_time else places
