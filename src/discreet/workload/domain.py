"""The public cells of columns: how a value is encoded before it is counted, and decoded.

A column is divided into cells without looking at the data: listed values, or bins between rising
edges, and NULL as a last cell. Rows become tuples of cells, and marginals are counts of those.
"""

import datetime as dt
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.plan.calendar import DAY, moment, position
from discreet.plan.dummy import ARROW
from discreet.plan.expressions import Call, Case, Column, Expression, Function, IsIn, Literal
from discreet.plan.kinds import Kind, Type, Value
from discreet.plan.schema import distinct
from discreet.rationals import whole

Codes = NDArray[np.int64]

BINS = 32
"""The bins of a bounded column that names no number of them."""

MOST_CELLS = 1 << 16
"""Cells of one column."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column and its public cells: `values`, or bins between `edges`; NULL is the last cell.

    Bin i holds the values from edge i on and before edge i + 1. Values below all edges are in the
    first bin, values above in the last; `open_ended` says that the edges bound nothing, so that
    both may hold values of any size. Edges of dates are days, of timestamps microseconds, since
    1970; of everything but REAL they are ints.

    Edge cases:
        A value that is not listed, NaN and NULL are in the cell of NULL; where `nullable` is False
        there is none, and rows with such values are left out.

    Example:
        >>> from discreet.plan.kinds import Range
        >>> age = Attribute.of("age", Type(Kind.INTEGER, range=Range(0, 99)), bins=10)
        >>> age.size, age.encode([0, 25, 300, None]).tolist()
        (11, [0, 2, 9, 10])
        >>> age.decode(np.array([2, 10]), np.array([0.5, 0.5])).to_pylist()
        [25, None]
    """

    name: str
    kind: Kind
    values: tuple[Value, ...] = ()
    edges: tuple[float, ...] = ()
    nullable: bool = True
    open_ended: bool = False

    def __post_init__(self) -> None:
        rising = all(low < high for low, high in zip(self.edges, self.edges[1:], strict=False))
        if bool(self.values) is bool(self.edges) or len(self.edges) == 1 or not rising:
            raise InputError(
                f"cells of {self.name} are not said",
                why="a column has listed values, or bins between rising edges",
                fix="declare Keys([...]) or Bounds(low, high) for it",
            )
        if None in self.values or len(set(self.values)) < len(self.values):
            raise InputError(
                f"values of {self.name} are listed twice",
                why="each value is one cell, and NULL has a cell of its own",
                fix="list each value once",
            )
        if self.size > MOST_CELLS:
            raise InputError(
                f"{self.name} has {self.size:,} cells",
                why=f"counts of more than {MOST_CELLS:,} cells of one column are mostly noise",
                fix="use fewer bins, or list fewer values",
            )

    @staticmethod
    def of(name: str, of: Type, *, bins: int = BINS) -> "Attribute":
        """The cells of a column by what is publicly known of it: keys, else bounds."""
        count = min(whole(bins, "bins", at_least=1), MOST_CELLS + 1)  # so many are refused below
        if of.keys is not None or of.kind is Kind.BOOLEAN:
            keys = (False, True) if of.keys is None else of.keys
            known = tuple(key for key in keys if key is not None)
            return Attribute(name, of.kind, known, nullable=of.nullable or None in keys)
        if of.range is None or of.kind is Kind.TEXT:
            raise InputError(
                f"{name} has neither keys nor bounds",
                why="synthetic rows and marginals need public cells",
                fix="declare Keys([...]) or Bounds(low, high) for it, or leave the column out",
            )
        low, high = of.range.low, of.range.high
        if of.kind is Kind.REAL:
            edges = tuple(float(low + (high - low) * i / count) for i in range(count + 1))
            return Attribute(name, of.kind, edges=edges, nullable=of.nullable)
        first, steps = int(low), int(high) - int(low) + 1
        count = min(count, steps)
        cuts = tuple(first + steps * i // count for i in range(count + 1))
        return Attribute(name, of.kind, edges=cuts, nullable=of.nullable)

    @property
    def size(self) -> int:
        """How many cells there are, NULL among them."""
        return (len(self.values) or len(self.edges) - 1) + self.nullable

    @property
    def is_ordered(self) -> bool:
        """Whether neighbouring cells are alike: bins, or listed numbers and times."""
        return bool(self.edges) or self.kind.is_number or self.kind.is_time

    def labels(self) -> list[str]:
        """A short name for each cell."""
        texts = [str(value) for value in self.values]
        ends = list(zip(self.edges, self.edges[1:], strict=False))
        if self.kind is Kind.REAL:
            texts += [f"{low:.6g} to {high:.6g}" for low, high in ends]
        else:  # the last value that is in the bin
            pairs = [(self._value(low), self._value(high - 1)) for low, high in ends]
            texts += [f"{low}" if low == high else f"{low} to {high}" for low, high in pairs]
        return [*texts, "NULL"] if self.nullable else texts

    def midpoints(self) -> NDArray[np.float64]:
        """The middle of each cell as a number; NaN for NULL and anything that is not a number."""
        if self.edges:
            edges = np.array(self.edges, dtype=np.float64)
            inner = 0.0 if self.kind is Kind.REAL else 1.0  # the last value is one before the edge
            found = (edges[:-1] + edges[1:] - inner) / 2
        elif self.kind.is_number or self.kind is Kind.BOOLEAN:
            found = np.array(self.values, dtype=np.float64)
        else:
            found = np.full(len(self.values), np.nan)
        return np.append(found, np.nan) if self.nullable else found

    def half_widths(self) -> NDArray[np.float64]:
        """How far a value may be from the middle of its cell: 0 outside of bins."""
        found = np.zeros(self.size)
        if self.edges:
            ends, inner = np.array(self.edges, dtype=np.float64), float(self.kind is not Kind.REAL)
            found[: ends.size - 1] = (np.diff(ends) - inner) / 2
            if self.open_ended:
                found[[0, ends.size - 2]] = np.inf
        return found

    # --- rows in, rows out ----------------------------------------------------------------------

    def encode(self, column: Any) -> Codes:
        """The cell of each value of an Arrow, pandas, polars or numpy column; -1 for none."""
        array = _as_arrow(column, self.kind)
        if self.values:
            listed = _as_arrow(pa.array(self.values, ARROW[self.kind]), self.kind)
            found = pc.index_in(array, listed)
            missing = found.is_null().to_numpy(zero_copy_only=False)
            places = pc.fill_null(found, 0).to_numpy(zero_copy_only=False)
            codes: Codes = places.astype(np.int64)
        else:
            missing = array.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
            numbers = pc.fill_null(array, pa.scalar(0, array.type)).to_numpy(zero_copy_only=False)
            inner = np.array(self.edges[1:-1], dtype=numbers.dtype)
            codes = np.searchsorted(inner, numbers, side="right").astype(np.int64)
        codes[missing] = self.size - 1 if self.nullable else -1
        return codes

    def decode(self, codes: Codes, within: NDArray[np.float64]) -> pa.Array:
        """A value of each cell; inside a bin, `within` from 0 to 1 says where."""
        null = codes == self.size - 1 if self.nullable else np.zeros(codes.size, dtype=bool)
        if self.values:
            places = pa.array(np.where(null, 0, codes), mask=null)
            return pa.array(self.values, ARROW[self.kind]).take(places)
        safe = np.where(null, 0, codes)
        if self.kind is Kind.REAL:
            edges = np.array(self.edges, dtype=np.float64)
            low, high = edges[safe], edges[safe + 1]
            below = np.nextafter(high, low)
            return pa.array(np.clip(low + within * (high - low), low, below), mask=null)
        cuts = np.array(self.edges, dtype=np.int64)
        start, width = cuts[safe], cuts[safe + 1] - cuts[safe]
        whole_numbers = start + np.minimum((within * width).astype(np.int64), width - 1)
        bits = pa.int32() if self.kind is Kind.DATE else pa.int64()
        return pa.array(whole_numbers, mask=null).cast(bits).cast(ARROW[self.kind])

    def cell_of(self, value: Value) -> int:
        """The cell of one value; InputError if it has none."""
        if value is None and self.nullable:
            return self.size - 1
        if isinstance(value, str) and self.kind.is_time:
            value = _read(value, self.kind)
        if self.values and value in self.values:
            return self.values.index(value)
        if self.edges and value is not None and not isinstance(value, str):
            before = bisect_right(self.edges, self._position(value)) - 1
            return min(max(before, 0), len(self.edges) - 2)
        raise InputError(
            f"{self.name} has no such value",
            why="it is not among the public values of the column",
            fix="name one that is listed",
        )

    def is_within(self, cell: int, low: Value, high: Value) -> bool:
        """Whether all values of a bin, also those beyond an open end, are from low to high."""
        edges = (-math.inf, *self.edges[1:-1], math.inf) if self.open_ended else self.edges
        end = self._position(high)
        after = math.nextafter(end, math.inf) if self.kind is Kind.REAL else end + 1
        return self._position(low) <= edges[cell] and edges[cell + 1] <= after

    # --- for engines ----------------------------------------------------------------------------

    def expression(self) -> Expression:
        """The cell as an expression over a row: an INTEGER, never NULL."""
        column = Column(self.name)
        null = Literal(self.size - 1, Kind.INTEGER) if self.nullable else _ZERO
        if self.values:
            same = [Call(Function.EQUAL, (column, Literal(v, self.kind))) for v in self.values]
            cells = [Literal(i, Kind.INTEGER) for i in range(len(self.values))]
            return Case(tuple(zip(same, cells, strict=True)), null)
        missing = Call(Function.IS_NULL, (column,))
        return Case(((missing, null),), self._bin(column, 0, len(self.edges) - 1))

    def is_placed(self) -> Expression | None:
        """Whether a row has a cell, as a condition; None where every row has one."""
        if self.nullable:
            return None
        if self.values:
            return IsIn(Column(self.name), tuple(Literal(v, self.kind) for v in self.values))
        return Call(Function.NOT, (Call(Function.IS_NULL, (Column(self.name),)),))

    def _bin(self, column: Column, first: int, end: int) -> Expression:
        """The bin among first ... end - 1, by halving."""
        if end - first == 1:
            return Literal(first, Kind.INTEGER)
        middle = (first + end) // 2
        edge = Literal(self._value(self.edges[middle]), self.kind)
        below = Call(Function.LESS, (column, edge))
        return Case(((below, self._bin(column, first, middle)),), self._bin(column, middle, end))

    def _value(self, place: float) -> Value:
        if self.kind.is_time:
            return moment(place, self.kind)
        return float(place) if self.kind is Kind.REAL else place

    def _position(self, value: Value) -> float:
        value = value.item() if isinstance(value, np.generic) else value
        value = _read(value, self.kind) if isinstance(value, str) else value
        if isinstance(value, dt.datetime) and self.kind is not Kind.DATE:
            return position(value)
        if isinstance(value, dt.date):
            days = value.toordinal() - _DAY_0
            return days if self.kind is Kind.DATE else days * DAY
        assert isinstance(value, (int, float))  # noqa: S101 - narrowing: texts are not binned
        return value

    # --- stored ---------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON; `from_dict` reads it back."""
        values = [v.isoformat() if isinstance(v, dt.date) else v for v in self.values]
        return {
            "name": self.name,
            "kind": self.kind.value,
            "nullable": self.nullable,
            **({"values": values} if values else {"edges": list(self.edges)}),
            **({"open_ended": True} if self.open_ended else {}),
        }

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> "Attribute":
        """Read what `to_dict` wrote."""
        kind = Kind(stored["kind"])
        values = tuple(_read(value, kind) for value in stored.get("values", ()))
        cells = values, tuple(stored.get("edges", ())), bool(stored["nullable"])
        return Attribute(stored["name"], kind, *cells, bool(stored.get("open_ended")))


_ZERO = Literal(0, Kind.INTEGER)
_DAY_0 = dt.date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class Domain:
    """The columns of a joint histogram and their cells, in order.

    Example:
        >>> city = Attribute("city", Kind.TEXT, ("Austin", "Haifa"), nullable=False)
        >>> domain = Domain((city, Attribute("old", Kind.BOOLEAN, (False, True))))
        >>> domain.shape(), domain["old"].labels()
        ((2, 3), ['False', 'True', 'NULL'])
    """

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        if not self.attributes:
            raise InputError("no columns", why="there is nothing to count", fix="name some")
        distinct(one.name for one in self.attributes)

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def __getitem__(self, name: str) -> Attribute:
        return self.attributes[self.place(name)]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(one.name for one in self.attributes)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The number of cells of each column."""
        return {one.name: one.size for one in self.attributes}

    def place(self, name: str) -> int:
        """Index of a column; InputError if there is none of this name."""
        if name in self.names:
            return self.names.index(name)
        raise InputError(
            f"there is no column {name}",
            why=f"columns are {', '.join(self.names)}",
            fix="name one of them",
        )

    def shape(self, names: Iterable[str] | None = None) -> tuple[int, ...]:
        """The sizes of some columns, or of all."""
        return tuple(self.sizes[name] for name in (self.names if names is None else names))

    def encode(self, table: Any) -> Codes:
        """Rows of an Arrow table, a frame or a mapping of columns as cells; -1 where there is none.

        Rows are the first axis and columns, in the order of the domain, the second.
        """
        columns = [one.encode(table[one.name]) for one in self.attributes]
        return np.stack(columns, axis=1) if columns[0].size else np.empty((0, len(self)), np.int64)

    def decode(self, columns: Iterable[Codes], within: NDArray[np.float64]) -> pa.Table:
        """Columns of cells as a table with the original names and types."""
        pairs = zip(self.attributes, columns, within.T, strict=True)
        return pa.table({one.name: one.decode(*cells) for one, *cells in pairs})

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain JSON; `from_dict` reads it back."""
        return [one.to_dict() for one in self.attributes]

    @staticmethod
    def from_dict(stored: Sequence[Mapping[str, Any]]) -> "Domain":
        """Read what `to_dict` wrote."""
        return Domain(tuple(Attribute.from_dict(one) for one in stored))


def _as_arrow(column: Any, kind: Kind) -> pa.Array:
    """A column as an Arrow array of its kind; times become whole numbers."""
    array = column.to_arrow() if hasattr(column, "to_arrow") else column
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    elif not isinstance(array, pa.Array):
        array = pa.array(array, from_pandas=True)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if kind.is_time and not pa.types.is_integer(array.type):
        return array.cast(ARROW[kind]).cast(pa.int32() if kind is Kind.DATE else pa.int64())
    return array.cast(ARROW[kind])


def _read(value: Any, kind: Kind) -> Value:
    try:
        match kind:
            case Kind.DATE:
                return dt.date.fromisoformat(value)
            case Kind.TIMESTAMP:
                return dt.datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise InputError(
            f"a {kind.value} that cannot be read",
            why="it is written as 2024-12-31, or 2024-12-31T23:59:59",
            fix="write it like this",
        ) from None
    found: Value = value
    return found
