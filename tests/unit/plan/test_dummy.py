"""Made-up rows: they fit their schema, always come out the same, and join."""

import datetime as dt
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from clinic import CLINIC
from discreet.answer.measurement_plan import answer
from discreet.answer.plan.price import Price
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import InputError
from discreet.plan.calendar import position
from discreet.plan.dummy import DummyDraws, dummy, nth
from discreet.plan.kinds import INT64, Kind, Range, Type
from discreet.plan.schema import (
    Bounds,
    EachRow,
    Keys,
    Limits,
    PublicTable,
    Schema,
    Table,
    column_type,
)
from discreet.sql.reader.read import read

MADE = dummy(CLINIC, rows=500)


def alone(kind, spec=None, *, nullable=True, rows=2000):
    of = column_type("x", kind, spec, nullable=nullable)
    return dummy(Schema({"t": Table("t", {"x": of}, EachRow())}), rows)["t"].column("x")


def test_every_table_has_its_columns_and_rows():
    assert set(MADE) == set(CLINIC.tables)
    for name, table in CLINIC.tables.items():
        assert MADE[name].column_names == list(table.columns)
        rows = 50 if isinstance(table, PublicTable) else 500
        assert MADE[name].num_rows == rows


def test_the_same_schema_gives_the_same_rows_and_others_differ():
    again = dummy(CLINIC, rows=500)
    assert all(again[name].equals(MADE[name]) for name in MADE)
    assert not MADE["visits"].column("cost").equals(MADE["patients"].column("income"))


def test_these_very_rows_never_change():
    assert DummyDraws("t\0x").below(1000, 5).tolist() == [557, 352, 309, 217, 844]


def test_values_lie_in_their_bounds_and_among_their_keys():
    for name, table in CLINIC.tables.items():
        for column, of in table.columns.items():
            values = [v for v in MADE[name].column(column).to_pylist() if v is not None]
            if of.keys is not None:
                assert set(values) <= set(of.keys)
            elif of.range is not None:
                places = [position(v) if of.kind.is_time else v for v in values]
                assert of.range.low <= min(places)
                assert max(places) <= of.range.high


def test_values_are_spread_over_their_bounds():
    for kind, bounds in ((Kind.INTEGER, Bounds(0, 120)), (Kind.REAL, Bounds(-1, 3))):
        column, width = alone(kind, bounds), bounds.high - bounds.low
        assert pc.mean(column).as_py() == pytest.approx(bounds.low + width / 2, abs=0.05 * width)
        assert len(column.unique()) > 100


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        (Kind.INTEGER, Bounds(*INT64)),
        (Kind.INTEGER, Bounds(5, 6)),
        (Kind.REAL, Bounds(-1e308, 1e308)),
        (Kind.REAL, Bounds(0, 1e-300)),
        (Kind.DATE, Bounds(dt.date.min, dt.date.max)),
        (Kind.TIMESTAMP, Bounds(dt.date(1, 1, 1), dt.date(9999, 12, 31))),
        (Kind.TEXT, Keys(["", "'; DROP TABLE t; --", "\x00"])),
        (Kind.BOOLEAN, None),
    ],
)
def test_odd_bounds_and_keys_are_filled_too(kind, spec):
    assert len(alone(kind, spec, rows=100)) == 100


def test_nulls_come_only_where_they_may():
    assert 0 < alone(Kind.REAL).null_count < 200
    assert alone(Kind.REAL, nullable=False).null_count == 0
    assert alone(Kind.TEXT, Keys(["a"]), nullable=False).null_count == 0


def test_keys_that_name_rows_are_unique():
    assert len(MADE["cities"].column("name").unique()) == 50
    assert len(MADE["patients"].column("id").unique()) == 500
    pairs = MADE["rates"].select(["year", "month"]).group_by(["year", "month"]).aggregate([])
    assert pairs.num_rows == 50


def test_unique_keys_with_little_room_leave_fewer_rows():
    key = {
        "year": column_type("year", Kind.INTEGER, Bounds(2020, 2021)),
        "half": column_type("half", Kind.TEXT, Keys(["a", "b", "c"])),
    }
    made = dummy(Schema({"p": PublicTable("p", key, ("year", "half"))}))["p"]
    assert made.num_rows == 6
    assert made.group_by(["year", "half"]).aggregate([]).num_rows == 6


def test_people_have_several_rows_and_paths_lead_to_somebody():
    visits = MADE["visits"].column("patient_id")
    assert visits.null_count == 0
    assert 50 < len(visits.unique()) <= 100
    ids = set(MADE["patients"].column("id").to_pylist())
    assert set(MADE["tests"].column("patient").to_pylist()) <= ids
    assert set(visits.to_pylist()) <= ids


def test_places_go_round():
    assert nth(Type(Kind.TEXT, keys=("a", None, "b")), 3) == "b"
    assert nth(Type(Kind.INTEGER, range=Range(5, 6)), 3) == 6


def test_no_rows_are_a_table_too():
    assert dummy(CLINIC, rows=0)["visits"].num_rows == 0
    with pytest.raises(InputError, match="rows"):
        dummy(CLINIC, rows=-1)


def test_questions_can_be_tried_on_them():
    engine = DuckDBEngine()
    for name, table in dummy(CLINIC, rows=800).items():
        engine.store(name, table)
    engine.open(CLINIC)
    text = (
        "SELECT sex, COUNT(*) AS n, AVG(cost) AS mean FROM visits JOIN patients"
        " ON visits.patient_id = patients.id GROUP BY sex"
    )
    release = answer(replace(read(text, CLINIC), limits=Limits(1, 40)), engine, Price(100))
    engine.close()
    table = release.to_arrow()
    assert isinstance(table, pa.Table)
    assert set(table.column("sex").to_pylist()) == set(
        CLINIC.tables["patients"].columns["sex"].keys
    )
    assert sum(table.column("n").to_pylist()) == pytest.approx(800, abs=60)
