"""Describing data: kinds from types alone, and what is left to state."""

import datetime as dt
import decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.default import describe
from discreet.errors import InputError
from discreet.plan.kinds import Kind, Type

TABLE = pa.table(
    {
        "who": pa.array([1], pa.int32()),
        "city": pa.array(["Haifa"]),
        "cost": pa.array([1.5]),
        "price": pa.array([decimal.Decimal("1.50")], pa.decimal128(10, 2)),
        "day": pa.array([dt.date(2020, 1, 1)]),
        "seen": pa.array([0], pa.timestamp("ns")),
        "urgent": pa.array([True]),
        "scan": pa.array([b"x"]),
    }
)
KINDS = [
    *(Kind.INTEGER, Kind.TEXT, Kind.REAL, Kind.REAL),
    *(Kind.DATE, Kind.TIMESTAMP, Kind.BOOLEAN, None),
]


def kinds(source):
    return [column.kind for column in describe(source).columns]


def test_arrow_polars_pandas_and_parquet_are_described_alike(tmp_path):
    pq.write_table(TABLE, tmp_path / "visits.parquet")
    assert kinds(TABLE) == KINDS
    assert kinds(pl.DataFrame(TABLE)) == KINDS
    assert kinds(str(tmp_path / "visits.parquet")) == KINDS
    assert kinds(tmp_path / "visits.parquet") == KINDS
    frame = pd.DataFrame({"a": [1], "b": ["x"], "c": [0.5], "d": [True]})
    assert kinds(frame) == [Kind.INTEGER, Kind.TEXT, Kind.REAL, Kind.BOOLEAN]


def test_values_have_no_say():
    full, empty = describe(TABLE), describe(TABLE.slice(0, 0))
    assert full == empty
    assert repr(full) == repr(empty)


def test_objects_of_pandas_are_text_whatever_they_hold():
    numbers, words = (pd.DataFrame({"x": pd.Series([v], dtype=object)}) for v in (5, "five"))
    assert kinds(numbers) == kinds(words)


def test_a_csv_file_is_text_until_somebody_says_otherwise(tmp_path):
    numbers, words = tmp_path / "a.csv", tmp_path / "b.csv"
    numbers.write_text("age,city\n41,Haifa\n")
    words.write_text("age,city\nold,Haifa\n")
    assert kinds(numbers) == kinds(words) == [Kind.TEXT, Kind.TEXT]
    assert [column.name for column in describe(numbers).columns] == ["age", "city"]
    assert "The format knows no types" in repr(describe(numbers))
    assert "The format knows no types" not in repr(describe(TABLE))


def test_the_text_says_what_to_state():
    text = repr(describe(TABLE))
    assert "8 columns, read from their types alone" in text
    assert "Bounds(low, high)" in text
    assert "Keys([...])" in text
    assert "cannot be read: leave it out" in text
    assert "State the unit" in text
    assert "Haifa" not in text


def test_proposed_types_have_no_bounds_and_no_keys():
    types = describe(TABLE).types()
    assert "scan" not in types
    assert types["city"] == Type(Kind.TEXT)
    assert all(of.nullable and of.range is None and of.keys is None for of in types.values())


def test_what_is_no_table_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(InputError, match="no Parquet or CSV file"):
        describe(tmp_path / "notes.txt")
    with pytest.raises(InputError, match="there is no such file"):
        describe(tmp_path / "absent.parquet")
    (tmp_path / "broken.parquet").write_text("x")
    with pytest.raises(InputError, match="cannot be described"):
        describe(tmp_path / "broken.parquet")
    with pytest.raises(InputError, match="cannot be described"):
        describe(object())
