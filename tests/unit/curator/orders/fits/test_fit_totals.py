"""Sums of a fit in an engine: the very integers that streamed rows give, for every statistic."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from discreet.curator.orders.fits import fit_totals
from discreet.curator.orders.fits.fit_rows import NumberColumns, person_rows
from discreet.engines.duckdb import DuckDBEngine
from discreet.learn.binning import BinCounts, FeatureBins, Tree, equal_bins
from discreet.learn.design import FeatureTotals, NormCounts, RowTotals, Scaling
from discreet.learn.linear_sums import SecondMoments
from discreet.learn.rows import FULL
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.schema import EachRow, Person, Schema, Table
from discreet.sql.writer.dialect import view_name
from postgres_server import empty_database, start
from postgres_tables import load

COLUMNS = {
    "who": Type(Kind.INTEGER),
    "a": Type(Kind.REAL, range=Range(-3, 9)),
    "b": Type(Kind.INTEGER, range=Range(0, 1000)),
    "city": Type(Kind.TEXT, keys=("x", "y", "z")),
    "ill": Type(Kind.BOOLEAN),
    "cost": Type(Kind.REAL, range=Range(-50, 50)),
}
FEATURES = ["a", "b", "city", "ill"]
LOW, HIGH = np.array([-3.0, 0, 0, 0]), np.array([9.0, 1000, 2, 1])


def stored(n=3000):
    """People with 1 to 90 rows; NULL, NaN, infinity, ties of rounding and unknown labels."""
    rng = np.random.default_rng(4)
    a = np.round(rng.normal(2, 4, n) * 512) / 512  # halves of the grid's steps among them
    a[::97], a[1::97], a[2::97] = np.nan, np.inf, -np.inf
    edges = np.linspace(-3, 9, 257)
    a[3:260] = edges
    a[260:517] = np.nextafter(edges, -np.inf)
    b = [None if i % 31 == 0 else int(rng.integers(-5, 1100)) for i in range(n)]
    return pa.table(
        {
            "who": np.concatenate([np.arange(99), np.arange(n - 99) ** 2 // 9000 + 100]),
            "a": a,
            "b": pa.array(b, pa.int64()),
            "city": pa.array([[*"xyzq", None][i % 5] for i in range(n)], pa.string()),
            "ill": pa.array([[True, False, None][i % 3] for i in rng.integers(0, 9, n)]),
            "cost": pa.array([None if i % 13 == 0 else float(c) for i, c in enumerate(a * 3)]),
        }
    )


@pytest.fixture(scope="module", params=["people", "rows", "Postgres"])
def opened(request):
    unit = EachRow() if request.param == "rows" else Person("who")
    table = Table("visits", COLUMNS, unit=unit)
    schema = Schema({"visits": table})
    if request.param == "Postgres":
        engine = load(empty_database(start()), schema, {"visits": stored()})
    else:
        engine = DuckDBEngine()
        engine.store("visits", stored())
        engine.open(schema)
    with engine.snapshot() as session:
        yield session, table, engine.dialect
    engine.close()


def rows(opened, target=None, classes=None, most=2):
    session, table, dialect = opened
    full = 1 if isinstance(table.unit, EachRow) else FULL
    steps = [["GaussianNB", {} if classes is None else {"classes": classes}]]
    spec = {"steps": steps, "features": FEATURES, "target": target, "full": full}
    return person_rows(session, table, {**spec, "bound": full * (most if full > 1 else 1)}, dialect)


def scaling(norm, free=0, low=LOW, high=HIGH):
    centre, scale = low + (high - low) * 0.3, 3.7 / (high - low)
    return Scaling(low, high, centre, scale, norm, free=free)


TREE = Tree(np.array([0, 1, 2, 3, 0, 1, 2]), np.array([3, 2, 1, 0, 5, 8, 3]))
CELLS = equal_bins(LOW, HIGH, [256, 8, 3, 2])
BINS = FeatureBins((np.array([-1.0, 2.5, 2.75]), np.array([]), np.array([0.5]), np.array([0.5])))
PLAIN = {
    "feature totals": FeatureTotals(LOW, HIGH),
    "narrower bounds": FeatureTotals(LOW + 0.25, HIGH - 0.25),
    "row totals that are cut": RowTotals(scaling(1.3)),
    "row totals that are not": RowTotals(scaling(1e3)),
    "second moments that are cut": SecondMoments(scaling(1.7)),
    "second moments that are not": SecondMoments(scaling(1e3)),
    "norms": NormCounts(scaling(64.0), 3.0),
    "fine bins": BinCounts(CELLS),
    "joined bins": BinCounts(BINS),
}
BY_LABEL = {
    "class totals": FeatureTotals(LOW, HIGH, 2),
    "bins by label": BinCounts(CELLS, 2),
    "leaves": BinCounts(equal_bins(LOW, HIGH, [8, 8, 8, 8]), 2, (TREE, TREE), by_bin=False),
    "leaves by bin": BinCounts(CELLS, 2, (TREE,)),
}


def agree(found, statistic):
    streamed = dataclasses.replace(found, engine=None)
    exact = sum(statistic.sums(one).ravel().astype(np.int64) for one in streamed.chunks())
    return np.array_equal(found.engine.totals(statistic), exact) and np.abs(exact).sum() > 0


@pytest.mark.parametrize("name", PLAIN)
def test_an_engine_sums_what_streamed_rows_sum_to(opened, name):
    assert agree(rows(opened), PLAIN[name])


@pytest.mark.parametrize("name", BY_LABEL)
def test_by_label_rows_without_a_known_one_count_nowhere(opened, name):
    assert agree(rows(opened, "ill", [False, True]), BY_LABEL[name])


def test_labels_that_are_numbers_or_texts(opened):
    assert agree(rows(opened, "b", [7, 8, 9]), BinCounts(BINS, 3))
    assert agree(rows(opened, "city", ["z", "x"]), BinCounts(BINS, 2))


def test_places_in_long_lists_are_those_in_short_ones():
    """0 and -0 are equal, as in an engine; what is not listed is NaN."""
    table = Table("t", {"a": Type(Kind.REAL)}, unit=EachRow())
    stored = pa.table({"a": [0.0, -0.0, 1.0, None, 7.0, float("nan")]})
    told, engine = [], DuckDBEngine()
    engine.store("t", stored)
    engine.open(Schema({"t": table}))
    view = view_name("t", engine.dialect)
    for listed in ([0.0, 1.0], [0.0, 1.0, *map(float, range(100, 200))]):
        columns = NumberColumns(table, [("a", listed)], engine.dialect)
        with engine.snapshot() as session:
            (batch,) = session.stream(f"SELECT {columns.texts[0]} AS c FROM {view} AS d")  # noqa: S608
        told += columns.read(batch.columns)
    engine.close()

    short, long = told
    assert np.array_equal(short, [0, 0, 1, np.nan, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(short, long, equal_nan=True)


@pytest.mark.parametrize("norm", [2.0, 1e3])
def test_a_target_that_is_a_number_is_one_more_feature(opened, norm):
    low, high = np.append(LOW, -40.0), np.append(HIGH, 40.0)
    found = rows(opened, "cost").joined()

    for one in (FeatureTotals(low, high), SecondMoments(scaling(norm, 1, low, high))):
        assert agree(found, one)
    assert agree(found, NormCounts(scaling(norm, 1, low, high), 4.0))


def test_more_rows_than_doubles_count_are_summed_in_wide_numbers(opened, monkeypatch):
    monkeypatch.setattr(fit_totals, "_EXACT", 1)

    assert agree(rows(opened), SecondMoments(scaling(1.7)))
    assert agree(rows(opened, "ill", [False, True]), FeatureTotals(LOW, HIGH, 2))


def test_no_rows_sum_to_nothing():
    table = Table("visits", COLUMNS, unit=Person("who"))
    engine = DuckDBEngine()
    engine.store("visits", stored().slice(0, 0))
    engine.open(Schema({"visits": table}))
    with engine.snapshot() as session:
        found = rows((session, table, engine.dialect), "ill", [False, True])
        for one in (*PLAIN.values(), *BY_LABEL.values()):
            assert not found.engine.totals(one).any()
    engine.close()


def test_a_wrong_factor_in_the_last_digit_shows(opened):
    found = rows(opened)
    other = FeatureTotals(LOW, HIGH * (1 + 2.0**-9))
    exact = sum(other.sums(one).ravel().astype(np.int64) for one in found.chunks())

    assert not np.array_equal(found.engine.totals(PLAIN["feature totals"]), exact)
