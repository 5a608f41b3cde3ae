"""Intervals of numbers that are computed from released ones, row by row."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.answer.measurement_plan import MeasurementPlan
from discreet.answer.plan.price import Price
from discreet.engines.duckdb import DuckDBEngine
from discreet.noise.bits import Keystream, replaced
from discreet.plan.kinds import Kind
from discreet.plan.schema import Bounds, EachRow, Keys, Schema, Table, column_type
from discreet.sql.reader.read import read

SIZES = {"large": 2000, "middling": 60, "small": 12}
RELEASES = 12


@pytest.fixture(scope="module")
def released():
    """Answers to a question about groups of several sizes, each with the same bits."""
    columns = {"g": column_type("g", Kind.TEXT, Keys(list(SIZES)), nullable=False)}
    columns |= {n: column_type(n, Kind.REAL, Bounds(0, 100), nullable=False) for n in "xy"}
    about = Schema({"v": Table("v", columns, EachRow())})
    rng = np.random.default_rng(5)
    x = rng.uniform(0, 100, sum(SIZES.values()))
    y = np.clip(x + rng.normal(0, 30, x.size), 0, 100)
    engine = DuckDBEngine()
    group = np.repeat(list(SIZES), list(SIZES.values()))
    engine.store("v", pa.table({"g": group, "x": x, "y": y}))
    engine.open(about)

    def ask(shown):
        text = f"SELECT g, {shown} FROM v GROUP BY g"  # noqa: S608 - ours
        plan = MeasurementPlan.of(read(text, about), Price(1))
        stream = Keystream(b"computed row by row".ljust(32))
        with replaced(lambda: stream):
            tables = [plan.present(plan.measure(engine)).to_arrow() for _ in range(RELEASES)]
        return pa.concat_tables(tables).to_pandas()

    yield ask
    engine.close()


def width(told, name):
    """The half-widths of a number, NaN where it has none."""
    return ((told[f"{name}_high"] - told[f"{name}_low"]) / 2).to_numpy(dtype=float)


SPELLED = {
    "SUM(x) / COUNT(*) * 100": 100,
    "100 * (SUM(x) / COUNT(*))": 100,
    "SUM(x) * 100 / COUNT(*)": 100,
    "SUM(x) / COUNT(*) / 4": 0.25,
    "1 - SUM(x) / COUNT(*)": 1,
    "SUM(x) / COUNT(*) + 7": 1,
    "3 + 2 * (SUM(x) / NULLIF(COUNT(*), 0) - 5) / 2": 1,
}


def test_a_quotient_has_one_interval_however_it_is_written(released):
    asked = ", ".join(f"{text} AS a{i}" for i, text in enumerate(SPELLED))
    told = released(f"SUM(x) / COUNT(*) AS q, {asked}")
    one = width(told, "q")
    assert np.isfinite(one).sum() >= 30
    for i, times in enumerate(SPELLED.values()):
        assert width(told, f"a{i}") == pytest.approx(times * one, nan_ok=True, rel=0.005)


def test_a_function_of_one_number_holds_where_the_interval_of_that_one_does(released):
    """Variances of small groups come out at 0, and correlations at 1: draws around it would too."""
    told = released("CORR(y, x) AS r, REGR_R2(y, x) AS r2")
    ends = np.clip(told[["r_low", "r_high"]].to_numpy(), -1, 1)
    pairs = zip(ends, told["r2"], strict=True)
    least = [np.abs(np.linspace(*pair, 101) ** 2 - shown).max() for pair, shown in pairs]
    assert width(told, "r2") == pytest.approx(np.array(least), abs=0.01)
    assert (width(told, "r2")[told["g"] == "large"] < 0.04).all()


@pytest.mark.parametrize(("shown", "of"), [("2 * AVG(x)", "AVG(x)"), ("SUM(x) * 2", "SUM(x)")])
def test_a_multiple_of_a_number_has_that_multiple_of_its_interval(released, shown, of):
    told = released(f"{of} AS a, {shown} AS b")
    ends = (2 * told[f"a_{end}"].to_numpy() for end in ("low", "high"))
    low, high = np.clip(list(ends), *((0, 200) if "AVG" in of else (-1e9, 1e9)))
    least = np.maximum(told["b"] - low, high - told["b"])
    assert width(told, "b") == pytest.approx(least.to_numpy(), rel=1e-6)


def test_what_is_null_somewhere_in_an_interval_has_none(released):
    told = released("SUM(x) AS s, LN(SUM(x)) AS a").set_index("g")
    known = told["s_low"] > 0
    assert (told["a_low"].notna() == known).all()
    assert known["large"].all()
