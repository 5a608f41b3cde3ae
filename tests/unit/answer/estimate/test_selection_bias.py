"""Rows that are picked by noisy numbers: their intervals hold although they were picked."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.answer.estimate.merging import merge_parts
from discreet.answer.measurement_plan import answer
from discreet.answer.plan.price import Price
from discreet.answer.present import release
from discreet.engines.duckdb import DuckDBEngine
from discreet.plan.bounding import NoiseKind
from discreet.plan.kinds import Kind
from discreet.plan.public_facts import PICKED, picks
from discreet.plan.schema import Bounds, Keys, Limits, Person, Schema, Table, column_type
from discreet.sql.reader.read import read

COLUMNS = {
    "person": column_type("person", Kind.INTEGER),
    "ward": column_type("ward", Kind.INTEGER, Keys(range(1000))),
    "cost": column_type("cost", Kind.REAL, Bounds(0, 100), nullable=False),
}
SCHEMA = Schema({"visits": Table("visits", COLUMNS, Person("person"), Limits(1, 1))})
HIGH = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > 25"
TOP = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 40"
TOTAL = "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY ward HAVING s > 2500"


@pytest.fixture(scope="module")
def empty():
    """Wards in which nobody is: every true number is 0."""
    engine = DuckDBEngine()
    kinds = [pa.int64(), pa.int64(), pa.float64()]
    columns = {name: pa.array([], kind) for name, kind in zip(COLUMNS, kinds, strict=True)}
    engine.store("visits", pa.table(columns))
    engine.open(SCHEMA)
    yield engine
    engine.close()


def ask(text, engine, law):
    return answer(read(text, SCHEMA), engine, Price(0.1, 1e-6), noise_kinds=(law,))


def held(releases, name):
    """The share of the shown intervals that hold 0."""
    inside = [
        abs(value) <= width
        for one in releases
        for value, width in zip(
            one.table.column(name).to_pylist(), one.half_widths[name].to_pylist(), strict=True
        )
    ]
    assert len(inside) > 100
    return np.mean(inside)


@pytest.mark.parametrize("law", list(NoiseKind))
@pytest.mark.parametrize(("text", "name"), [(HIGH, "n"), (TOP, "n"), (TOTAL, "s")])
def test_intervals_of_rows_that_were_picked_hold(empty, text, name, law):
    """Of more than 100 true 95 % intervals fewer than 85 % hold once in 10,000 times."""
    assert held([ask(text, empty, law) for _ in range(4)], name) >= 0.85


def test_intervals_that_forget_that_rows_were_picked_would_be_caught(empty, monkeypatch):
    monkeypatch.setattr(release, "wider_by", lambda *_, **__: 1.0)

    assert held([ask(TOP, empty, NoiseKind.LAPLACE) for _ in range(4)], "n") < 0.5


def test_rows_of_merged_answers_are_picked_too(empty):
    query = read(TOP, SCHEMA)
    merged = [
        merge_parts(query, [ask(TOP, empty, NoiseKind.GAUSSIAN).parts for _ in range(2)])
        for _ in range(4)
    ]
    assert held(merged, "n") >= 0.85


def test_numbers_that_share_no_noise_with_what_picks_are_as_certain_as_before(empty):
    text = "SELECT ward, COUNT(*) AS n, COUNT(DISTINCT person) AS p FROM visits GROUP BY ward"
    plain, picked = (ask(t, empty, NoiseKind.LAPLACE) for t in (text, f"{text} HAVING n > 25"))
    (people,) = set(plain.half_widths["p"].to_pylist())
    assert set(picked.half_widths["p"].to_pylist()) == {people}
    assert max(plain.half_widths["n"].to_pylist()) < min(picked.half_widths["n"].to_pylist())


@pytest.mark.parametrize(
    ("measure", "range_"), [("AVG", 100), ("VAR_SAMP", 5000), ("STDDEV_POP", 50)]
)
def test_no_interval_is_wider_than_what_public_bounds_allow(empty, measure, range_):
    text = TOP.replace("COUNT(*)", f"{measure}(cost)")
    for law in NoiseKind:
        assert max(ask(text, empty, law).half_widths["n"].to_pylist()) == range_


@pytest.mark.parametrize(
    ("rest", "noisy"),
    [
        ("HAVING n > 3", True),
        ("HAVING ward > 3", False),
        ("ORDER BY n", False),
        ("ORDER BY n LIMIT 3", True),
        ("ORDER BY ward LIMIT 3", False),
        ("ORDER BY n OFFSET 3", True),
        ("LIMIT 3", False),
    ],
)
def test_whether_noise_picks_is_told(rest, noisy, empty):
    text = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    query = read(f"{text} {rest}", SCHEMA)
    assert picks(query) is noisy
    told = answer(query, empty, Price(1)).statement()
    assert (PICKED.split(":")[0] in told.replace("\n", " ")) is noisy
