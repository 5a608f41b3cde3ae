"""The rows that a fit learns from: summed in their engine where it can, else streamed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.engines.engine import Session
from discreet.plan.kinds import Kind, Type
from discreet.plan.schema import PERSON, EachRow, Table
from discreet.sql.writer.dialect import Dialect, view_name

if TYPE_CHECKING:
    from discreet.curator.orders.fits.fit_totals import FitTotals
    from discreet.learn.rows import Chunk, PersonRows

PLAIN: Final = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INTEGER: pa.int64(),
    Kind.REAL: pa.float64(),
    Kind.TEXT: pa.string(),
}
"""Labels as they are compared, by the kind of their column."""

_LISTED: Final = 64
"""Values of a list that are written into a statement; rows with longer lists are streamed."""


def person_rows(
    session: Session, table: Table, spec: Mapping[str, Any], dialect: Dialect
) -> "PersonRows":
    """The rows of a table as an estimator sums them, as often as it asks."""
    learn, select = import_module("discreet.learn.rows"), select_rows(table, spec, dialect)
    types = [table.columns[name] for name in spec["features"]]
    wanted = None if spec["target"] is None else table.columns[spec["target"]]
    full, bound = spec["full"], spec["bound"]

    def chunks() -> "Iterator[Chunk]":
        for batch in session.stream(select):
            for at in range(0, max(batch.num_rows, 1), learn.SIZE):
                part = batch.slice(at, learn.SIZE)
                x = np.empty((len(types), part.num_rows)).T  # whole columns lie together
                for i, one in enumerate(types):
                    x[:, i] = numbers(part.column(i), one)
                y = np.zeros(len(x))
                if wanted is not None:
                    y = _targets(part.column(len(types)), wanted, _classes(spec))
                many = part.column(part.num_columns - 1).to_numpy(zero_copy_only=False)
                weight = learn.weights_of(many, bound // full) if full > 1 else np.ones(len(x))
                yield learn.Chunk(x, y, weight)

    totals = _totals(session, table, spec, dialect)
    found: PersonRows = learn.PersonRows(chunks, full, bound, totals)
    return found


def _classes(spec: Mapping[str, Any]) -> list[Any] | None:
    found: list[Any] | None = spec["steps"][-1][1].get("classes")
    return found


def select_rows(table: Table, spec: Mapping[str, Any], dialect: Dialect) -> str:
    """Features, the target and how many rows the person has."""
    names = [*spec["features"], *([] if spec["target"] is None else [spec["target"]])]
    shown = [f"{dialect.identifier(name)} AS c{i}" for i, name in enumerate(names)]
    person = dialect.identifier(PERSON)
    by_row = isinstance(table.unit, EachRow)
    many = "1" if by_row else f"COUNT(*) OVER (PARTITION BY {person})"
    rows = view_name(table.name, dialect)
    return f"SELECT {', '.join(shown)}, CAST({many} AS BIGINT) AS many FROM {rows}"  # noqa: S608 - quoted by the dialect


# --- in the engine ------------------------------------------------------------------------------


def _totals(
    session: Session, table: Table, spec: Mapping[str, Any], dialect: Dialect
) -> "FitTotals | None":
    """The same rows as SQL, people weighed as streamed ones are; None where lists are long."""
    types = {name: table.columns[name] for name in spec["features"]}
    target, classes = spec["target"], _classes(spec)
    lists = [values_of(one) for one in types.values() if is_coded(one)]
    if any(len(one) > _LISTED for one in (*lists, classes or ())):
        return None
    features = [_number(name, of, dialect) for name, of in types.items()]
    wanted = None
    if target is not None:
        of = replace(table.columns[target], keys=None)
        listed = None if classes is None else sorted(classes)
        wanted = (
            _number(target, of, dialect) if listed is None else _code(target, of, listed, dialect)
        )
    source, weight = f"{view_name(table.name, dialect)} AS d", None
    if spec["full"] > 1:
        session.keep("busy", _busy(table, spec, dialect))
        person = dialect.identifier(PERSON)
        source += f" LEFT JOIN busy AS b ON d.{person} = b.p"
        weight = f"COALESCE(b.weight, {dialect.literal(spec['full'], Kind.INTEGER)})"
    found: FitTotals = import_module("discreet.curator.orders.fits.fit_totals").FitTotals(
        session,
        dialect,
        source,
        tuple(features),
        tuple(map(_range, types.values())),
        wanted,
        weight,
    )
    return found


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


def _number(name: str, of: Type, dialect: Dialect) -> str:
    """A column as `numbers` reads it: a double, NULL for what is none."""
    if is_coded(of):
        return dialect.as_double(_code(name, of, values_of(of), dialect))
    text = f"d.{dialect.identifier(name)}"
    return text if of.kind is Kind.REAL else dialect.cast(text, Kind.REAL, of.kind)


def _range(of: Type) -> tuple[float, float] | None:
    """Bounds of every value that is read as a number."""
    if of.kind is Kind.BOOLEAN or is_coded(of):
        return 0.0, float(max(len(values_of(of)) - 1, 1))
    return None if of.range is None else (float(of.range.low), float(of.range.high))


def _code(name: str, of: Type, values: Sequence[Any], dialect: Dialect) -> str:
    """The place of a value among listed ones, NULL for all others."""
    text = f"d.{dialect.identifier(name)}"
    places = [
        (f"{text} = {dialect.literal(one, of.kind)}", dialect.literal(i, Kind.INTEGER))
        for i, one in enumerate(values)
    ]
    return dialect.choose(places, dialect.literal(None, Kind.INTEGER))


# --- streamed -----------------------------------------------------------------------------------


def is_coded(of: Type) -> bool:
    """Whether values are told by their place in a list."""
    return of.keys is not None and of.kind is not Kind.BOOLEAN


def values_of(of: Type) -> list[Any]:
    """Listed values but for NULL."""
    return [one for one in of.keys or () if one is not None]


def numbers(column: pa.Array, of: Type) -> NDArray[np.float64]:
    """Numbers as they are, listed values by their place; NaN for NULL and all other values."""
    if is_coded(of):
        column = _places(column, values_of(of))
    found: NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy(
        zero_copy_only=False
    )
    return found


def _targets(column: pa.Array, of: Type, classes: Any) -> NDArray[np.float64]:
    """Targets as numbers, or labels by their place among the sorted classes."""
    if classes is None:
        return numbers(column, replace(of, keys=None))
    column = column.cast(PLAIN[of.kind], safe=False)
    return numbers(_places(column, sorted(classes)), _ANY)


def _places(column: pa.Array, values: Sequence[Any]) -> pa.Array:
    """Index of each value in the listed ones; 0 and -0 are equal, as in an engine."""
    listed = pa.array(values, type=column.type)
    if pa.types.is_floating(column.type):
        column, listed = pc.add(column, 0.0), pc.add(listed, 0.0)
    return pc.index_in(column, value_set=listed)


_ANY: Final = Type(Kind.INTEGER)
