"""Rows on their way in, by way of DuckDB: texts become values, and what is lost is counted.

None of it is for analysts: this is the owner's own data.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.engines.duckdb_files import DIALECT, OWN, connected, reader
from discreet.engines.reading import ABSENT, FALSE, TOTALS, TRUE, Reading, words
from discreet.plan.calendar import moment
from discreet.plan.kinds import Kind, Type
from discreet.sql.writer.stored_view import render_scan_column

TEXT = "VARCHAR"
_ISO = {Kind.DATE: "%Y-%m-%d", Kind.TIMESTAMP: "%Y-%m-%d %H:%M:%S.%f"}
_EXAMPLES = ("first", "min", "max")
_PLAIN = "regexp_replace(lower(trim(CAST({} AS VARCHAR))), '\\.0+$', '')"
"""A person's name as people write it in several ways."""

_BLOCK = 8
"""Columns that one statement measures."""


@dataclass(frozen=True, slots=True)
class ColumnCounts:
    """Counts of a column: `values` are not NULL; some are `unreadable` or `outside`.

    `absent` are words among its texts that often stand for NULL, and `codes` counts numbers that
    begin with a 0, which is lost. `totals` are texts that are a word for a sum of the other lines,
    and `alike` is how many people's names differ from others' in case, blanks or a `.0` alone.
    """

    values: int
    unreadable: int
    outside: int
    distinct: int
    low: Any
    high: Any
    examples: tuple[str, ...]
    outside_examples: tuple[str, ...]
    absent: tuple[str, ...] = ()
    codes: int = 0
    totals: int = 0
    alike: int = 0


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
    made: dict[str, pa.ChunkedArray] = {}
    with connected(pandas_analyze_sample=0) as connection:
        for some, source in _blocks(connection, rows, columns, reading):
            named = ", ".join(f"t{i} AS {DIALECT.identifier(name)}" for i, name in enumerate(some))
            found = connection.sql(f"SELECT {named} FROM ({source})").to_arrow_table()
            made |= zip(some, found.columns, strict=True)
    return pa.table(made)


def measure(
    rows: Any, columns: Mapping[str, StoredColumn], reading: Reading, unit: str | None
) -> tuple[int, int | None, dict[str, ColumnCounts]]:
    """How many rows and people there are, and what each column holds."""
    counts: dict[str, ColumnCounts] = {}
    total, people = 0, None
    with connected(OWN, pandas_analyze_sample=0) as connection:
        connection.execute("PRAGMA disable_optimizer")  # its time grows like columns cubed
        for some, source in _blocks(connection, rows, columns, reading):
            whose = list(some).index(unit) if unit in some else None
            names = "NULL" if whose is None else f"t{whose}"
            named = unit in some and some[unit].type.kind is Kind.TEXT
            plain = _PLAIN.format(names) if named else names
            parts = [
                "COUNT(*)",
                f"COUNT(DISTINCT {names})",
                f"COUNT(DISTINCT {plain})",
            ]
            parts += [part for i, one in enumerate(some.values()) for part in _counts(i, one)]
            select = f"SELECT {', '.join(parts)} FROM ({source})"
            [(total, persons, written, *found)] = connection.execute(select).fetchall()
            width = len(found) // len(some)
            cut = (found[i * width : (i + 1) * width] for i in range(len(some)))
            counts |= {name: _told(row) for name, row in zip(some, cut, strict=True)}
            if unit in some:
                people, alike = persons, persons - written
                counts[unit] = replace(counts[unit], alike=alike)
    return total, people, counts


def frequent(
    rows: Any, columns: Mapping[str, StoredColumn], reading: Reading, first: int | None = None
) -> dict[str, dict[Any, int]]:
    """How often each value of columns with few of them occurs, in all or some `first` rows."""
    told: dict[str, dict[Any, int]] = {}
    with connected(pandas_analyze_sample=0) as connection:
        for some, source in _blocks(connection, rows, columns, reading, first):
            parts = ", ".join(f"histogram(t{i})" for i in range(len(some)))
            [row] = connection.execute(f"SELECT {parts} FROM ({source})").fetchall()
            told |= {name: dict(one or {}) for name, one in zip(some, row, strict=True)}
    return told


def _blocks(
    connection: Any,
    rows: Any,
    columns: Mapping[str, StoredColumn],
    reading: Reading,
    first: int | None = None,
) -> Iterator[tuple[dict[str, StoredColumn], str]]:
    """Some columns at a time, and the SELECT that reads them; rows that come once are copied.

    One statement about all columns would take time and memory like their number squared.
    """
    source = _from(connection, rows)
    if isinstance(rows, pa.RecordBatchReader) and len(columns) > _BLOCK:
        connection.execute(f"CREATE TEMP TABLE copied AS SELECT * FROM {source}")
        source = "copied"
    source += "" if first is None else f" LIMIT {first}"
    listed = list(columns.items())
    for start in range(0, len(listed), _BLOCK):
        some = dict(listed[start : start + _BLOCK])
        yield some, _read(some, reading, source)


def _told(row: Sequence[Any]) -> ColumnCounts:
    values, unreadable, outside, distinct, low, high, words, codes, totals, *shown = row
    half = len(_EXAMPLES)
    lost, strange = (tuple(dict.fromkeys(filter(None, s))) for s in (shown[:half], shown[half:]))
    absent = tuple(word for word in ABSENT if word in (words or ()))
    return ColumnCounts(
        *(values, unreadable, outside, distinct, low, high, lost, strange, absent, codes, totals)
    )


def _counts(i: int, one: StoredColumn) -> Iterable[str]:
    lost, out = f"g{i} AND t{i} IS NULL", _outside(f"t{i}", one.type)
    yield from (f"COUNT(*) FILTER ({each})" for each in (f"g{i}", lost, out))
    yield f"approx_count_distinct(t{i})"
    yield from (f"CAST({end}(t{i}) AS VARCHAR)" for end in ("min", "max"))
    kind, is_text = one.type.kind, one.stored == TEXT
    absent = f"trim(r{i}) IN ({', '.join(map(DIALECT.text, ABSENT))})"
    words = f"list(DISTINCT trim(r{i})) FILTER ({absent})"
    yield words if is_text and kind is Kind.TEXT else "NULL"
    coded = f"COUNT(*) FILTER (t{i} IS NOT NULL AND regexp_matches(c{i}, '^[+-]?0[0-9]'))"
    yield coded if is_text and kind.is_number else "0"
    summed = f"lower(trim(r{i})) IN ({', '.join(map(DIALECT.text, TOTALS))})"
    yield f"COUNT(*) FILTER ({summed})" if is_text and kind is Kind.TEXT else "0"
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
        outer.append(f"r{i}, c{i}, {given} AS g{i}, {_value(f'c{i}', name, one, reading)} AS t{i}")
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
        formats = reading.dates[name].split("|")
        plain = f"COALESCE({', '.join(_plain_date(it, kind, one) for one in formats)})"
    else:
        plain = _plain_number(it, reading) if kind.is_number else it
    # Our own grammar has the last word: the engine's casts take many more texts.
    return render_scan_column("x", TEXT, Type(kind), DIALECT).replace('"x"', f"({plain})")


def _plain_date(it: str, kind: Kind, pattern: str) -> str:
    """A date of one format, as 2024-12-31; a year has four digits: the engine takes 24 for 24."""
    found = f"strftime(try_strptime({it}, {DIALECT.text(pattern)}), {DIALECT.text(_ISO[kind])})"
    whole = f"regexp_matches({it}, '[0-9]{{4}}')" if "%Y" in pattern else "TRUE"
    return f"CASE WHEN {whole} THEN {found} END"


def _plain_number(it: str, reading: Reading) -> str:
    """A number without marks for thousands, and with a point."""
    decimal, thousands = reading.decimal or ".", reading.thousands or ""
    if decimal == "." and not thousands:
        return it
    point = "\\" + decimal
    plain = rf"[+-]?[0-9]*({point}[0-9]*)?([eE][+-]?[0-9]+)?"
    whens = [(plain, it)]
    if thousands:
        grouped = rf"[+-]?[0-9]{{1,3}}([{thousands}][0-9]{{3}})+({point}[0-9]*)?"
        whens.append((grouped, f"replace({it}, {DIALECT.text(thousands)}, '')"))
    cases = "".join(
        f" WHEN regexp_full_match({it}, {DIALECT.text(pattern)}) "
        f"THEN replace({text}, {DIALECT.text(decimal)}, '.')"
        for pattern, text in whens
    )
    return f"CASE{cases} END"


def _from(connection: Any, rows: Any) -> str:
    """The FROM item for rows: a Parquet file, or anything the engine takes for a table."""
    if isinstance(rows, str | Path):
        return reader(Path(rows), "read")
    connection.register("incoming", rows)
    return "incoming"
