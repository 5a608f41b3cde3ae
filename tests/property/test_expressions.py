"""Every engine text means what the reference interpreter says, row by row, poison included."""

import datetime as dt
from functools import cache

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from strategies import expressions

from discreet.engines.duckdb_dialect import DuckDBDialect
from discreet.plan.kinds import Kind
from discreet.plan.typing import _infer, infer
from discreet.sql.writer.stored_view import render_scan_column
from reference.growth import COLUMNS, Seeded, grow, stored_values
from reference.interpreter import meaning, read, value_to_place

STORED = {
    Kind.BOOLEAN: ("BOOLEAN", pa.bool_()),
    Kind.INTEGER: ("BIGINT", pa.int64()),
    Kind.REAL: ("DOUBLE", pa.float64()),
    Kind.TEXT: ("VARCHAR", pa.string()),
    Kind.DATE: ("DATE", pa.date32()),
    Kind.TIMESTAMP: ("TIMESTAMP", pa.timestamp("us")),
}
PYTHON = dict(zip(Kind, (bool, int, float, str, dt.date, dt.datetime), strict=True))
DIALECT = DuckDBDialect()
ROWS = 90


@cache
def table():
    """An engine with poison rows, some of them twice, and the same rows as values."""
    stored = {name: stored_values(name, ROWS, name) for name in COLUMNS}
    stored = {name: values + values[:5] for name, values in stored.items()}
    arrow = pa.table(
        {name: pa.array(values, STORED[COLUMNS[name].kind][1]) for name, values in stored.items()}
    ).append_column("id", pa.array(range(ROWS + 5)))
    engine = duckdb.connect(config={"threads": 1})
    engine.register("arrow", arrow)
    engine.execute("CREATE TABLE stored AS SELECT * FROM arrow")
    columns = [
        f"{render_scan_column(name, STORED[of.kind][0], of, DIALECT)} AS {DIALECT.identifier(name)}"
        for name, of in COLUMNS.items()
    ]
    engine.execute(f"CREATE VIEW clean AS SELECT id, {', '.join(columns)} FROM stored")  # noqa: S608
    rows = [
        {name: read(value, COLUMNS[name]) for name, value in zip(stored, row, strict=True)}
        for row in zip(*stored.values(), strict=True)
    ]
    return engine, rows


def select(engine, texts, where=""):
    return engine.execute(f"SELECT {texts} FROM clean {where} ORDER BY id").fetchall()  # noqa: S608


def check(batch):
    """The engine agrees with the meaning, and the meaning with the type."""
    engine, rows = table()
    texts = [DIALECT.render(expression, COLUMNS) for expression in batch]
    answered = select(engine, ", ".join(texts))
    assert [str(column[1]) for column in engine.description] == [
        DIALECT.types[infer(expression, COLUMNS).kind] for expression in batch
    ]
    for position, expression in enumerate(batch):
        value_of = meaning(expression, COLUMNS)
        values = [value_of(row) for row in rows]
        assert [row[position] for row in answered] == values, (expression, texts[position])
        check_type(expression, values)
        if infer(expression, COLUMNS).kind is Kind.BOOLEAN:
            kept = select(engine, "id", f"WHERE {texts[position]}")
            assert kept == [(row,) for row, value in enumerate(values) if value is True]


def check_type(expression, values):
    of = infer(expression, COLUMNS)
    open_range = _infer(expression, COLUMNS, 0).range
    for value in values:
        if value is None:
            assert of.nullable
            continue
        assert type(value) is PYTHON[of.kind]
        assert of.keys is None or value in of.keys
        assert open_range is None or open_range.low <= value_to_place(value) <= open_range.high
        assert of.range is None or of.range.low <= value_to_place(value) <= of.range.high


def seeded(seed, depth, count):
    choose = Seeded(seed)
    return [grow(choose, choose.one(list(Kind)), depth) for _ in range(count)]


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_the_engine_agrees_with_the_meaning_on_every_row(seed, depth):
    check(seeded(seed, depth, 40 if depth < 3 else 20))


@settings(max_examples=300)
@given(expressions())
def test_the_engine_agrees_with_the_meaning_of_what_hypothesis_finds(expression):
    check([expression])


def test_stored_columns_read_as_the_meaning_says():
    engine, rows = table()
    names = ", ".join(map(DIALECT.identifier, COLUMNS))

    assert select(engine, names) == [tuple(row.values()) for row in rows]


@pytest.mark.audit
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5, 6])
def test_the_engine_agrees_with_the_meaning_of_fresh_expressions(depth):
    for _ in range(400):
        check(seeded(None, depth, 20))


@pytest.mark.audit
@settings(max_examples=5000)
@given(expressions(5))
def test_the_engine_agrees_with_the_meaning_of_what_hypothesis_finds_at_length(expression):
    check([expression])
