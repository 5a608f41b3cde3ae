import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.curator.orders.histogram_orders import HistogramQuery
from discreet.errors import InputError
from discreet.plan.kinds import Kind, Range, Type
from discreet.workload.domain import Attribute, Domain
from discreet.workload.histogram import JointHistogram
from small_tables import domain, people


def test_values_come_back_from_their_cells_with_their_types_and_nulls():
    rows, cells = people(300), domain(bins=4)
    codes = cells.encode(rows)
    back = cells.decode(codes.T, np.full(codes.shape, 0.5))
    assert back.schema == rows.schema
    assert (cells.encode(back) == codes).all()
    for name in rows.column_names:
        assert back[name].null_count == rows[name].null_count
    assert back["city"].to_pylist() == rows["city"].to_pylist()


@pytest.mark.parametrize("within", [0.0, 0.5, 1 - 2.0**-53])
def test_a_number_drawn_inside_a_bin_stays_inside(within):
    cells = domain(bins=4)
    for one in cells:
        codes = np.arange(one.size)
        assert (one.encode(one.decode(codes, np.full(one.size, within))) == codes).all()


def test_timestamps_far_from_1970_are_exact():
    ends = [dt.datetime(1900, 1, 1), dt.datetime(2024, 5, 6, 7, 8, 9, 10)]  # noqa: DTZ001
    micro = [(one - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1) for one in ends]  # noqa: DTZ001
    one = Attribute("t", Kind.TIMESTAMP, edges=(micro[0], micro[1], micro[1] + 1))
    assert one.encode(pa.array(ends)).tolist() == [0, 1]
    assert one.decode(np.array([1, 2]), np.zeros(2)).to_pylist() == [ends[1], None]


def test_what_has_no_cell_is_null_or_left_out():
    listed = Attribute("c", Kind.TEXT, ("a", "b"))
    assert listed.encode(["a", "z", None]).tolist() == [0, 2, 2]
    needed = Attribute("c", Kind.TEXT, ("a", "b"), nullable=False)
    assert needed.encode(["b", "z", None]).tolist() == [1, -1, -1]
    number = Attribute("x", Kind.REAL, edges=(0.0, 1.0))
    assert number.encode([float("nan"), float("inf"), -5.0]).tolist() == [1, 0, 0]
    rows = {"c": ["a", "z", None, "b"]}
    assert JointHistogram.of(rows, Domain((needed,))).total == 2


@pytest.mark.parametrize(
    ("of", "cells"),
    [
        (Type(Kind.INTEGER, range=Range(0, 9)), 11),
        (Type(Kind.INTEGER, nullable=False, range=Range(0, 999)), 32),
        (Type(Kind.REAL, range=Range(0, 1)), 33),
        (Type(Kind.BOOLEAN), 3),
        (Type(Kind.TEXT, keys=("x", "y", None)), 3),
    ],
)
def test_public_facts_make_cells(of, cells):
    assert Attribute.of("c", of).size == cells


def test_a_text_without_keys_is_refused():
    with pytest.raises(InputError, match="neither keys nor bounds"):
        Attribute.of("note", Type(Kind.TEXT))


def test_a_domain_is_stored_and_read():
    assert Domain.from_dict(domain().to_dict()) == domain()


@pytest.mark.parametrize("unit", ["id", dp.EachRow()])
def test_engine_and_arrays_count_the_same(unit):
    rows = people(400)
    owners = np.arange(400) % 90
    with dp.Curator.in_memory() as curator:
        curator.add(
            "people",
            rows.append_column("id", pa.array(owners)),
            unit=unit,
            budget=dp.Budget(epsilon=1, delta=1e-6),
        )
        query = HistogramQuery(curator.schema.tables["people"], domain(), max_rows=2)
        engine = curator._data_store.open(())
        with engine.snapshot() as session:
            read = query.read(session, engine.dialect)
    person = owners if unit == "id" else None
    made = JointHistogram.of(rows, domain(), person=person, max_rows=2)
    scale = read.row_weight // made.row_weight
    order, other = (np.lexsort(one.codes.T) for one in (read, made))
    assert (read.codes[order] == made.codes[other]).all()
    assert (read.weights[order] == made.weights[other] * scale).all()
    assert read.person_weight == made.person_weight * scale


def test_bins_without_number_are_refused_before_they_are_made():
    of = Type(Kind.REAL, range=Range(0, 1))
    with pytest.raises(InputError, match="cells"):
        Attribute.of("x", of, bins=10**15)
