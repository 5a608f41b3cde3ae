"""Intervals hold in groups that are small beside their noise, also of what is computed of numbers.

Each size has 100 intervals: of true 95 % intervals fewer than 85 cover with probability 2e-5.
"""

import numpy as np
import pyarrow as pa
import pytest

from discreet.answer.estimate import error_bars, tabulate
from discreet.answer.measurement_plan import answer
from discreet.answer.plan.price import Price
from discreet.engines.duckdb import DuckDBEngine
from discreet.plan.bounding import NoiseKind
from discreet.plan.kinds import Kind
from discreet.plan.schema import Bounds, Keys, Limits, Person, Schema, Table, column_type
from discreet.sql.reader.read import read

SIZES = (2, 3, 5, 50)
GROUPS = [f"{size} people, {i}" for size in SIZES for i in range(10)]
TEXT = """SELECT ward, AVG(cost) AS mean, VARIANCE(cost) AS variance, STDDEV(cost) AS deviation,
          ABS(AVG(cost) - 41) + COUNT(*) / 100.0 AS away, ROUND(AVG(cost)) AS near
          FROM visits GROUP BY ward"""


@pytest.fixture(scope="module", params=["in the middle", "near a bound", "all the same"])
def wards(request):
    """An engine with wards of few people, the question, and what is true."""
    rng = np.random.default_rng(7)
    ward = [group for group in GROUPS for _ in range(int(group.split()[0]))]
    cost = {
        "in the middle": rng.uniform(0, 100, len(ward)),
        "near a bound": rng.exponential(2, len(ward)).clip(0, 100),
        "all the same": np.full(len(ward), 30.0),
    }[request.param]
    columns = {
        "person": column_type("person", Kind.INTEGER),
        "ward": column_type("ward", Kind.TEXT, Keys(GROUPS)),
        "cost": column_type("cost", Kind.REAL, Bounds(0, 100)),
    }
    about = Schema({"visits": Table("visits", columns, Person("person"), Limits(1, 1))})
    engine = DuckDBEngine()
    engine.store("visits", pa.table({"person": range(len(ward)), "ward": ward, "cost": cost}))
    engine.open(about)
    truth = {}
    for group in GROUPS:
        values = cost[np.array(ward) == group]
        mean, spread = values.mean(), values.var(ddof=1)
        truth[group] = {"mean": mean, "variance": spread, "deviation": spread**0.5}
        truth[group] |= {"away": abs(mean - 41) + values.size / 100, "near": round(mean)}
    yield engine, read(TEXT, about), truth
    engine.close()


def covered(wards, law):
    """Which share of the intervals holds the truth, by column and size of the ward."""
    engine, query, truth = wards
    found = {}
    for _ in range(10):
        for row in answer(query, engine, Price(1, 1e-6), noise_kinds=(law,)).to_arrow().to_pylist():
            for name, true in truth[row["ward"]].items():
                inside = row[f"{name}_low"] - 1e-9 <= true <= row[f"{name}_high"] + 1e-9
                found.setdefault((name, row["ward"].split()[0]), []).append(inside)
    return {cell: np.mean(inside) for cell, inside in found.items()}


@pytest.mark.parametrize("law", list(NoiseKind))
def test_intervals_hold_in_small_groups(wards, law):
    shares = covered(wards, law)

    assert len(shares) == 5 * len(SIZES)
    assert min(shares.values()) >= 0.85


@pytest.mark.parametrize("wards", ["in the middle"], indirect=True)
def test_noise_simulated_around_what_is_shown_would_be_caught(wards, monkeypatch):
    monkeypatch.setattr(tabulate, "compute", tabulate.estimate)
    monkeypatch.setattr(tabulate, "confine", lambda _aggregate, computed, _scope: computed)

    assert min(covered(wards, NoiseKind.GAUSSIAN).values()) < 0.85


@pytest.mark.parametrize("wards", ["in the middle"], indirect=True)
def test_intervals_that_hold_most_of_what_is_simulated_would_be_caught(wards, monkeypatch):
    """Where ABS folds what was released, most of what is simulated around it is too near."""
    monkeypatch.setattr(
        tabulate, "furthest", lambda moved, _noises: error_bars.spread(moved, np.zeros(1))
    )

    assert covered(wards, NoiseKind.GAUSSIAN)["away", "2"] < 0.85
