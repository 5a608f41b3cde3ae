"""Describing data: kinds from types alone."""

import datetime as dt
import decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.default import describe
from discreet.errors import InputError
from discreet.plan.kinds import Kind

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
    assert describe(TABLE) == describe(TABLE.slice(0, 0))


def test_objects_of_pandas_are_text_whatever_they_hold():
    numbers, words = (pd.DataFrame({"x": pd.Series([v], dtype=object)}) for v in (5, "five"))
    assert kinds(numbers) == kinds(words)


def test_a_csv_file_is_text_until_somebody_says_otherwise(tmp_path):
    numbers, words = tmp_path / "a.csv", tmp_path / "b.csv"
    numbers.write_text("age,city\n41,Haifa\n")
    words.write_text("age,city\nold,Haifa\n")
    assert kinds(numbers) == kinds(words) == [Kind.TEXT, Kind.TEXT]
    assert [column.name for column in describe(numbers).columns] == ["age", "city"]


def test_columns_that_cannot_be_read_are_left_out():
    assert "scan" not in describe(TABLE).stored
    assert describe(TABLE).stored["city"] == "VARCHAR"


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
