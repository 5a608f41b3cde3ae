"""Noise drawn by workers: a part is a function of the key, its number and its exact weights."""

import pickle
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.answer.plan.measure import Measurement
from discreet.curator.orders.census import census_runs
from discreet.curator.orders.census.census_workers import PartNoise
from discreet.plan.bounding import FULL, ContributionBounds, NoiseKind
from discreet.plan.sensitivity import Strategy
from discreet.plan.statistics import Rows
from discreet.privacy import Neighbours

SIZES = {4: 40, 5: 20, 6: 12}
"""Two parts of leaves, and one of three units of four cells above them."""

ROWS = [(4, 0, 0), (4, 7, 3 * FULL), (4, 39, FULL), (5, 0, 0), (6, 1, 3 * FULL), (6, 11, FULL)]


def law(cost):
    bounds = ContributionBounds(NoiseKind.LAPLACE, 1, 1)
    return Measurement(
        Strategy.of((Rows(None),)), bounds, Fraction(cost), Neighbours.ADD_REMOVE, whole=True
    )


def work(key, cost="1/10"):
    return PartNoise(
        key, law(cost), (law(cost), law(cost)), (np.array([0]),), SIZES, above=6, cells=4
    )


def parts(work, sizes=(6,)):
    """What a worker gives for the rows, in batches of these sizes."""
    columns = [pa.array(column, pa.int64()) for column in zip(*ROWS, strict=True)]
    table = pa.table(dict(zip(("part", "place", "t0"), columns, strict=True)))
    starts = np.cumsum([0, *sizes])
    batches = [
        pa.RecordBatch.from_arrays([c.chunk(0) for c in piece.columns], names=piece.column_names)
        if piece.num_rows
        else pa.RecordBatch.from_pylist([], schema=table.schema)
        for piece in (table.slice(a, n) for a, n in zip(starts, sizes, strict=False))
    ]
    made = [row for batch in work(iter(batches)) for row in batch.to_pylist()]
    return {row["part"]: (np.frombuffer(row["counts"], "<i8"), row["drawn"]) for row in made}


def test_a_part_is_the_same_however_its_rows_arrive_and_however_often_it_is_made():
    first = parts(work(b"a" * 32))
    for sizes in ((6,), (1, 1, 1, 1, 1, 1), (2, 0, 3, 1)):
        again = parts(work(b"a" * 32), sizes)
        assert again.keys() == first.keys() == SIZES.keys()
        assert all(np.array_equal(again[n][0], first[n][0]) for n in first)
        assert [again[n][1] for n in first] == [first[n][1] for n in first]
    assert all(drawn > 0 for _, drawn in first.values())


def test_work_that_is_sent_is_far_from_what_pyspark_writes_to_a_file():
    units = census_runs._LARGEST_WORK // 8
    large = PartNoise(
        b"a" * 32, law(1), (law(1),) * 3, (np.arange(units),), SIZES, above=6, cells=4
    )
    assert len(pickle.dumps(large)) < 1 << 20


def test_parts_and_keys_have_noise_of_their_own():
    one, other = parts(work(b"a" * 32)), parts(work(b"b" * 32))
    noise = [found[n][0] for found in (one, other) for n in SIZES]
    firsts = [tuple(each[8:12].tolist()) for each in noise]  # places without rows in every part
    assert len(set(firsts)) == len(firsts)


def test_every_place_has_its_exact_weight_and_levels_add_up_before_noise():
    found = {n: counts for n, (counts, _) in parts(work(b"a" * 32, cost=30)).items()}
    assert np.flatnonzero(found[4]).tolist() == [7, 39]
    assert found[4][[7, 39]].tolist() == [3, 1]
    assert not found[5].any()
    assert found[6].tolist() == [0, 3, 0, 1, *[0, 3, 0, 0], *[0, 0, 0, 0], *[0, 0, 0, 1]]


def test_the_key_is_in_no_text_of_the_work():
    key = bytes(range(32))
    told = f"{work(key)} {work(key)!r}"
    assert key.hex() not in told
    assert repr(key)[2:-1] not in told


def test_a_part_that_is_not_of_the_table_is_refused():
    with pytest.raises(KeyError):
        list(work(b"a" * 32)(iter([pa.RecordBatch.from_pydict({"p": [9], "q": [0], "t": [0]})])))
