"""Parameters become literals that mean them, and results the bytes that clients read."""

import datetime as dt
import struct
import tracemalloc
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.adapt import PyFormat, Transformer

from discreet.server.postgres import values
from discreet.server.postgres.messages import PostgresError
from discreet.server.postgres.values import literal, oid_of, sample, write_rows

NOW = dt.datetime(2024, 2, 29, 12, 30, 15, 250)  # noqa: DTZ001 - there are no zones


def meaning(text):
    """What a literal means to a database."""
    return duckdb.sql(f"SELECT {text}").fetchall()[0][0]


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60))
def test_a_text_stays_itself_whatever_is_in_it(said):
    assert meaning(literal(said.encode(), values.TEXT, 0)) == said


@pytest.mark.parametrize("form", [PyFormat.TEXT, PyFormat.BINARY])
@pytest.mark.parametrize(
    "value",
    [
        *(True, False, 0, 1, -7, 2**31 - 1, -(2**62), 1.5, -2.25e-9, 1e300),
        *(Decimal("12345.678"), Decimal("-0.0001"), Decimal(10000), "O'Brien; --", ""),
        *(dt.date(2024, 2, 29), NOW, [1, 2, 3]),
    ],
)
def test_what_a_driver_sends_is_read_as_it_was_meant(value, form):
    transformer = Transformer()
    dumper = transformer.get_dumper(value, form)
    raw = bytes(dumper.dump(value))
    found = meaning(literal(raw, dumper.oid, int(form is PyFormat.BINARY)))
    assert found == (pytest.approx(value) if isinstance(value, float | Decimal) else value)


def test_arrays_of_texts_are_read():
    assert meaning(literal(b'{a,"b \\"c","d,e",NULL}', 1009, 0)) == ["a", 'b "c', "d,e", None]
    assert literal(b"{}", 1009, 0) == "ARRAY[]"


@pytest.mark.parametrize(
    ("raw", "oid", "form"),
    [
        (b"1 OR 1=1", values.INT4, 0),
        (b"nan", values.FLOAT8, 0),
        (b"NaN", values.NUMERIC, 0),
        (b"1e999999", values.NUMERIC, 0),
        (b"maybe", values.BOOL, 0),
        (b"2024-13-01", values.DATE, 0),
        (b"\xff\xfe", values.TEXT, 0),
        (b"a\0b", values.TEXT, 0),
        (b"\0\0\0", values.INT4, 1),
        (b"\0\0\0\x05", values.NUMERIC, 1),
        (struct.pack("!i", 2**31 - 1), values.DATE, 1),
        (b"{1,{2}}", 1007, 0),
        (b"{a", 1009, 0),
        (b"\0", 1009, 1),
        (b"x", 600, 0),  # a point
        (b"0044-03-15 BC", values.DATE, 0),
        (b"2020-01-019", values.DATE, 0),
    ],
)
def test_what_is_not_of_its_type_is_refused_without_being_quoted(raw, oid, form):
    with pytest.raises(PostgresError) as told:
        literal(raw, oid, form)
    assert told.value.state in {"22P02", "0A000"}
    assert "1=1" not in str(told.value)


@pytest.mark.parametrize("raw", [b"1e-20000000", b"1e20000000", b"0e-20000000", b"-1e-20000000"])
def test_a_number_of_many_digits_is_refused_before_they_are_written(raw):
    tracemalloc.start()
    try:
        with pytest.raises(PostgresError):
            literal(raw, values.NUMERIC, 0)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("raw", [b"2020-02-29", b"2020-02-29 +00", b"2020-02-29 23:59:59.5+02:00"])
def test_a_day_is_read_from_what_drivers_write_after_it(raw):
    assert literal(raw, values.DATE, 0) == "DATE '2020-02-29'"


def test_null_is_null_and_a_date_of_a_driver_loses_its_zone():
    assert literal(None, values.INT4, 1) == "NULL"
    assert literal(b"2024-02-29 +00", 0, 0) == "'2024-02-29'"


@pytest.mark.parametrize("oid", [0, *values.OIDS.values(), values.NUMERIC, 1007, 1009, 12345])
def test_every_type_has_a_sample(oid):
    meaning(sample(oid))


COLUMNS = {
    "b": pa.array([True, None]),
    "i": pa.array([2**40, -1]),
    "r": pa.array([1.5, None]),
    "t": pa.array(["ä", ""]),
    "d": pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
    "s": pa.array([NOW, dt.datetime(1, 1, 1)]),  # noqa: DTZ001
    "n": pa.array([Decimal("-12.50"), Decimal("0.00")]),
    "small": pa.array([3, None], pa.int16()),
}


@pytest.mark.parametrize("form", [0, 1])
def test_a_driver_reads_back_what_was_written(form):
    table = pa.table(COLUMNS)
    oids = [oid_of(one.type) for one in table.schema]
    rows = list(write_rows(table, oids, [form] * len(oids)))
    transformer = Transformer()
    for place, (oid, column) in enumerate(zip(oids, COLUMNS.values(), strict=True)):
        loader = transformer.get_loader(oid, form)
        read = [None if row[place] is None else loader.load(row[place]) for row in rows]
        assert read == column.to_pylist()


def test_arrays_are_texts_that_drivers_read():
    table = pa.table({"a": pa.array([["x", 'y "z"', None], []], pa.list_(pa.string()))})
    rows = list(write_rows(table, [values.TEXTS], [0]))
    assert rows == [[b'{x,"y \\"z\\"",NULL}'], [b"{}"]]
    with pytest.raises(PostgresError, match="binary"):
        list(write_rows(table, [values.TEXTS], [1]))
