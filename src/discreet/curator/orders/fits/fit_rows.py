"""The rows that a fit learns from, as SQL reads them: summed in their engine, or streamed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.engines.engine import ARROW, Session
from discreet.plan.kinds import Kind, Type
from discreet.plan.schema import PERSON, Table
from discreet.sql.writer.dialect import Dialect, view_name

if TYPE_CHECKING:
    from discreet.learn.rows import Chunk, PersonRows

_LISTED: Final = 64
"""Values of a list that are written into a statement; places in longer ones are found here."""


@dataclass(frozen=True)
class NumberColumns:
    """Columns of a table d as doubles: numbers as they are, listed values by their place.

    A column is a name and the list that encodes its values, or None. What is NULL, or not in the
    list, is NULL.
    """

    table: Table
    columns: Sequence[tuple[str, Sequence[Any] | None]]
    dialect: Dialect

    @property
    def is_written(self) -> bool:
        """Whether all lists are short, so that texts alone tell places."""
        return not any(map(_is_long, self.columns))

    @property
    def texts(self) -> list[str]:
        """Each column as a double; one with a long list as it is."""
        return [self._text(self.table.columns[one[0]], *one) for one in self.columns]

    def _text(self, of: Type, name: str, values: Sequence[Any] | None) -> str:
        text = f"d.{self.dialect.identifier(name)}"
        if values is None:
            return text if of.kind is Kind.REAL else self.dialect.cast(text, Kind.REAL, of.kind)
        if _is_long((name, values)):
            return text
        places = [
            (f"{text} = {self.dialect.literal(one, of.kind)}", self.dialect.double(at))
            for at, one in enumerate(values)
        ]
        return self.dialect.choose(places, self.dialect.literal(None, Kind.REAL))

    def read(self, streamed: Sequence[pa.Array]) -> list[NDArray[np.float64]]:
        """Columns as numbers, NaN for NULL; places in long lists are found here."""
        pairs = zip(streamed, self.columns, strict=True)
        places = [self._places(one, *named) if _is_long(named) else one for one, named in pairs]
        cast = (one.cast(pa.float64(), safe=False) for one in places)
        return [one.to_numpy(zero_copy_only=False) for one in cast]

    def _places(self, column: pa.Array, name: str, values: Any) -> pa.Array:
        kind = ARROW[self.table.columns[name].kind]
        both = column.cast(kind, safe=False), pa.array(values, type=kind)
        if kind == pa.float64():  # 0 and -0 are equal, as in an engine
            both = pc.add(both[0], 0.0), pc.add(both[1], 0.0)
        return pc.index_in(both[0], value_set=both[1])


def _is_long(column: tuple[str, Sequence[Any] | None]) -> bool:
    return len(column[1] or ()) > _LISTED


def person_rows(
    session: Session, table: Table, spec: Mapping[str, Any], dialect: Dialect
) -> "PersonRows":
    """The rows of a table as an estimator sums them, as often as it asks."""
    learn, columns = import_module("discreet.learn.rows"), _columns(table, spec, dialect)
    if spec["full"] > 1:
        session.keep("busy", _busy(table, spec, dialect))
    select, many = select_rows(table, spec, dialect), len(spec["features"])
    target = spec["target"] is not None

    def chunks() -> "Iterator[Chunk]":
        for batch in session.stream(select):
            for at in range(0, max(batch.num_rows, 1), learn.SIZE):
                *some, weight = batch.slice(at, learn.SIZE).columns
                read = columns.read(some)
                x, y = read[:many], read[many] if target else np.zeros(len(weight))
                # Whole columns lie together:
                yield learn.Chunk(np.array(x).T, y, weight.to_numpy(zero_copy_only=False))

    totals = None
    if columns.is_written:
        ranges = tuple(number_range(table.columns[name]) for name in spec["features"])
        totals = import_module("discreet.curator.orders.fits.fit_totals").FitTotals(
            session,
            dialect,
            *_weighed(table, spec, dialect),
            tuple(columns.texts[:many]),
            ranges,
            columns.texts[many] if target else None,
        )
    found: PersonRows = learn.PersonRows(chunks, spec["full"], spec["bound"], totals)
    return found


def select_rows(table: Table, spec: Mapping[str, Any], dialect: Dialect) -> str:
    """Features, the target and the weight of a row, as doubles."""
    rows, weight = _weighed(table, spec, dialect)
    weight = dialect.double(1) if weight is None else dialect.as_double(weight)
    shown = [f"{text} AS c{i}" for i, text in enumerate(_columns(table, spec, dialect).texts)]
    return f"SELECT {', '.join(shown)}, {weight} AS weight FROM {rows}"  # noqa: S608 - quoted by the dialect


def values_of(of: Type) -> list[Any] | None:
    """Listed values except NULL; None if a column has no list, or its values are numbers."""
    if of.keys is None or of.kind is Kind.BOOLEAN:
        return None
    return [one for one in of.keys if one is not None]


def _columns(table: Table, spec: Mapping[str, Any], dialect: Dialect) -> NumberColumns:
    """Features, and a target: a number, or a label by its place among the sorted classes."""
    named: list[tuple[str, Any]] = [
        (name, values_of(table.columns[name])) for name in spec["features"]
    ]
    if spec["target"] is not None:
        classes = spec["steps"][-1][1].get("classes")
        named.append((spec["target"], None if classes is None else sorted(classes)))
    return NumberColumns(table, named, dialect)


def _weighed(table: Table, spec: Mapping[str, Any], dialect: Dialect) -> tuple[str, str | None]:
    """Rows as d beside people who have too many, and what a row weighs; None for 1 each."""
    rows = f"{view_name(table.name, dialect)} AS d"
    if spec["full"] == 1:
        return rows, None
    whole = dialect.literal(spec["full"], Kind.INTEGER)
    joined = f"{rows} LEFT JOIN busy AS b ON d.{dialect.identifier(PERSON)} = b.p"
    return joined, f"COALESCE(b.weight, {whole})"


def _busy(table: Table, spec: Mapping[str, Any], dialect: Dialect) -> str:
    """People with more rows than count whole, and what each of these weighs: `weights_of`."""
    person, most = dialect.identifier(PERSON), spec["bound"] // spec["full"]
    rows = dialect.cast("COUNT(*)", Kind.INTEGER)
    whole = dialect.literal(spec["bound"], Kind.INTEGER)
    weight = dialect.whole_quotient(whole, rows, wide=False)
    return (
        f"SELECT {person} AS p, {weight} AS weight FROM {view_name(table.name, dialect)} "  # noqa: S608 - quoted by the dialect
        f"GROUP BY 1 HAVING COUNT(*) > {most}"
    )


def number_range(of: Type) -> tuple[float, float] | None:
    """Bounds of every value that is read as a number: listed values are numbered from 0."""
    listed = values_of(of)
    if of.kind is Kind.BOOLEAN or listed is not None:
        return 0.0, float(max(len(listed or ()) - 1, 1))
    return None if of.range is None else (float(of.range.low), float(of.range.high))
