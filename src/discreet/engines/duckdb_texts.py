"""Rows on their way in, by way of DuckDB: texts become values, and what is lost is counted.

None of it is for analysts: what is told here is the owner's own data.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.engines.duckdb_files import DIALECT, connected, reader
from discreet.engines.reading import FALSE, TRUE, Reading, words
from discreet.plan.calendar import moment
from discreet.plan.kinds import Kind, Type
from discreet.sql.writer.scan import render_scan_column

TEXT = "VARCHAR"
_ISO = {Kind.DATE: "%Y-%m-%d", Kind.TIMESTAMP: "%Y-%m-%d %H:%M:%S.%f"}
_EXAMPLES = ("first", "min", "max")


@dataclass(frozen=True, slots=True)
class ColumnCounts:
    """What a column holds: `values` are no NULL, of which some are `unreadable` or `outside`."""

    values: int
    unreadable: int
    outside: int
    distinct: int
    low: Any
    high: Any
    examples: tuple[str, ...]
    outside_examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column as it is stored, and the type it is declared, or proposed, to have."""

    stored: str
    type: Type

    @property
    def is_converted(self) -> bool:
        """Whether texts have to become values of another kind."""
        return self.stored == TEXT and self.type.kind is not Kind.TEXT


def convert(rows: Any, columns: Mapping[str, StoredColumn], reading: Reading) -> pa.Table:
    """The rows as values of the kinds of their columns; NULL where one is none."""
    named = ", ".join(f"t{i} AS {DIALECT.identifier(name)}" for i, name in enumerate(columns))
    with connected(pandas_analyze_sample=0) as connection:
        source = _from(connection, rows)
        return connection.sql(
            f"SELECT {named} FROM ({_read(columns, reading, source)})"
        ).to_arrow_table()


def measure(
    rows: Any, columns: Mapping[str, StoredColumn], reading: Reading, unit: str | None
) -> tuple[int, int | None, dict[str, ColumnCounts]]:
    """How many rows and people there are, and what each column holds; in one pass."""
    parts = ["COUNT(*)"]
    people = None if unit is None else list(columns).index(unit)
    parts.append("0" if people is None else f"COUNT(DISTINCT t{people})")
    for i, one in enumerate(columns.values()):
        parts += _counts(i, one.type)
    with connected(pandas_analyze_sample=0) as connection:
        connection.execute("PRAGMA disable_optimizer")  # its time grows like columns cubed
        source = _from(connection, rows)
        found = connection.execute(
            f"SELECT {', '.join(parts)} FROM ({_read(columns, reading, source)})"
        ).fetchone()
    assert found is not None  # noqa: S101 - an aggregate has a row
    width = (len(found) - 2) // max(1, len(columns))
    cut = (found[2 + i * width : 2 + (i + 1) * width] for i in range(len(columns)))
    counts = {name: _told(row) for name, row in zip(columns, cut, strict=True)}
    return found[0], None if people is None else found[1], counts


def frequent(
    rows: Any, columns: Mapping[str, StoredColumn], reading: Reading, first: int | None = None
) -> dict[str, dict[Any, int]]:
    """How often each value of columns with few of them occurs, in all or some `first` rows."""
    if not columns:
        return {}
    parts = ", ".join(f"histogram(t{i})" for i in range(len(columns)))
    with connected(pandas_analyze_sample=0) as connection:
        source = _from(connection, rows)
        source += "" if first is None else f" LIMIT {first}"
        found = connection.execute(f"SELECT {parts} FROM ({_read(columns, reading, source)})")
        [row] = found.fetchall()
    return {name: dict(one or {}) for name, one in zip(columns, row, strict=True)}


def _told(row: tuple[Any, ...]) -> ColumnCounts:
    values, unreadable, outside, distinct, low, high, *shown = row
    half = len(_EXAMPLES)
    lost, strange = (tuple(dict.fromkeys(filter(None, s))) for s in (shown[:half], shown[half:]))
    return ColumnCounts(values, unreadable, outside, distinct, low, high, lost, strange)


def _counts(i: int, of: Type) -> Iterable[str]:
    lost, out = f"g{i} AND t{i} IS NULL", _outside(f"t{i}", of)
    yield from (f"COUNT(*) FILTER ({each})" for each in (f"g{i}", lost, out))
    yield f"approx_count_distinct(t{i})"
    yield from (f"CAST({end}(t{i}) AS VARCHAR)" for end in ("min", "max"))
    for which in (lost, out):
        yield from (f"{pick}(CAST(r{i} AS VARCHAR)) FILTER ({which})" for pick in _EXAMPLES)


def _outside(value: str, of: Type) -> str:
    """The condition that a value lies outside what is said of its column."""
    if of.range is not None:
        ends = (of.range.low, of.range.high)
        low, high = (moment(end, of.kind) if of.kind.is_time else end for end in ends)
        written = (DIALECT.literal(end, of.kind) for end in (low, high))
        return "{0} < {1} OR {0} > {2}".format(value, *written)
    if of.keys is not None:
        listed = [DIALECT.literal(key, of.kind) for key in of.keys if key is not None]
        return f"{value} NOT IN ({', '.join(listed)})" if listed else f"{value} IS NOT NULL"
    return "FALSE"


def _read(columns: Mapping[str, StoredColumn], reading: Reading, source: str) -> str:
    """The SELECT of stored values r, whether they are given g, and what they are read as t."""
    inner, outer = [], []
    for i, (name, one) in enumerate(columns.items()):
        stored = DIALECT.identifier(name)
        inner.append(f"{stored} AS r{i}")
        if one.stored != TEXT:
            given = f"r{i} IS NOT NULL"
            given += f" AND NOT isnan(r{i})" if one.stored in ("FLOAT", "DOUBLE") else ""
            inner.append(f"{stored} AS c{i}")
        else:
            given = f"c{i} IS NOT NULL"
            inner.append(f"{_without_absent(stored, one.type.kind, reading)} AS c{i}")
        outer.append(f"r{i}, {given} AS g{i}, {_value(f'c{i}', name, one, reading)} AS t{i}")
    return f"SELECT {', '.join(outer)} FROM (SELECT {', '.join(inner)} FROM {source})"


def _without_absent(text: str, kind: Kind, reading: Reading) -> str:
    trimmed = text if kind is Kind.TEXT else f"trim({text})"
    absent = ", ".join(map(DIALECT.text, reading.absent(kind)))
    return f"CASE WHEN trim({text}) IN ({absent}) THEN NULL ELSE {trimmed} END" if absent else text


def _value(it: str, name: str, one: StoredColumn, reading: Reading) -> str:
    kind = one.type.kind
    if not one.is_converted:
        return render_scan_column(it, one.stored, Type(kind), DIALECT)
    if kind is Kind.BOOLEAN:
        cases = (("TRUE", words(reading.true, TRUE)), ("FALSE", words(reading.false, FALSE)))
        whens = (
            f"WHEN lower({it}) IN ({', '.join(map(DIALECT.text, some))}) THEN {truth}"
            for truth, some in cases
        )
        return f"CASE {' '.join(whens)} END"
    if kind.is_time and name in reading.dates:
        pattern = reading.dates[name]
        found = f"strftime(try_strptime({it}, {DIALECT.text(pattern)}), {DIALECT.text(_ISO[kind])})"
        whole = f"regexp_matches({it}, '[0-9]{{4}}')" if "%Y" in pattern else "TRUE"
        plain = f"CASE WHEN {whole} THEN {found} END"  # the engine takes 24 for the year 24
    else:
        plain = _plain_number(it, reading) if kind.is_number else it
    # Our own grammar has the last word: the engine's casts take many more texts.
    return render_scan_column("x", TEXT, Type(kind), DIALECT).replace('"x"', f"({plain})")


def _plain_number(it: str, reading: Reading) -> str:
    """A number without marks for thousands, and with a point."""
    decimal, thousands = reading.decimal or ".", reading.thousands or ""
    if decimal == "." and not thousands:
        return it
    point = "\\" + decimal
    plain = rf"[+-]?[0-9]*({point}[0-9]*)?([eE][+-]?[0-9]+)?"
    whens = [(plain, it)]
    if thousands:
        mark = "\\" + thousands
        grouped = rf"[+-]?[0-9]{{1,3}}({mark}[0-9]{{3}})+({point}[0-9]*)?"
        whens.append((grouped, f"replace({it}, {DIALECT.text(thousands)}, '')"))
    cases = "".join(
        f" WHEN regexp_full_match({it}, {DIALECT.text(pattern)}) "
        f"THEN replace({text}, {DIALECT.text(decimal)}, '.')"
        for pattern, text in whens
    )
    return f"CASE{cases} END"


def _from(connection: Any, rows: Any) -> str:
    """What stands in FROM for rows: a Parquet file, or whatever the engine takes for a table."""
    if isinstance(rows, str | Path):
        return reader(Path(rows), "read")
    connection.register("incoming", rows)
    return "incoming"
