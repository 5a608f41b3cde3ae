# ruff: noqa: S608 - the questions are made here, of fixed parts
"""Intervals of what is computed from released numbers hold what they say.

With 150 releases and fixed bits: a true 95 % interval covers fewer than 127 of them with
probability below 1e-6.
"""

import math

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from discreet.answer.measurement_plan import MeasurementPlan
from discreet.answer.plan.price import Price
from discreet.curator.budget import Budget
from discreet.curator.opening import Curator
from discreet.engines.duckdb import DuckDBEngine
from discreet.noise.bits import Keystream, replaced
from discreet.plan.kinds import Kind
from discreet.plan.schema import Bounds, EachRow, Keys, Limits, Schema, Table, column_type
from discreet.sql.reader.read import read
from visits import clinic, engine_of, schema

RELEASES, FEWEST = 150, 127
GROUPED = "SELECT city, COUNT(*) AS n, SUM(amount) AS s FROM visits GROUP BY city"
WINDOWS = "n / SUM(n) OVER () AS a, n - LAG(n) OVER (ORDER BY city) AS c"
SHAPES = [
    f"SELECT MAX(n) AS a, AVG(s) AS b, STDDEV(n) AS c FROM ({GROUPED}) g",
    f"SELECT a, c FROM (SELECT {WINDOWS}, city FROM ({GROUPED}) g) t WHERE city = 'Haifa'",
    f"SELECT COUNT(*) / (SELECT MAX(s) FROM ({GROUPED}) g) AS a, SKEWNESS(amount) AS b FROM visits",
]


@pytest.mark.audit
@pytest.mark.parametrize("question", SHAPES, ids=range(len(SHAPES)))
def test_intervals_of_computed_numbers_cover_the_truth(question):
    about, rows = schema(limits=Limits(3, 2)), clinic(people=200)
    engine = engine_of(rows, about)
    connection = duckdb.connect()
    connection.register("visits", rows)
    (truth,) = connection.sql(question).fetchall()
    plan = MeasurementPlan.of(read(question, about), Price(2, 1e-6))
    stream = Keystream(b"coverage of tables".ljust(32))
    with replaced(lambda: stream):
        releases = [plan.present(plan.measure(engine)).to_arrow() for _ in range(RELEASES)]
    engine.close()
    names = list(plan.query.then.columns)
    for name, true in zip(names, truth, strict=True):
        held = [
            table[f"{name}_low"][0].as_py() <= true <= table[f"{name}_high"][0].as_py()
            for table in releases
        ]
        assert sum(held) >= FEWEST, (name, sum(held))


BENT = {
    "SUM(LN(1 + GREATEST(n, 0)))": lambda n: np.log1p(n).sum(),
    "SUM(SQRT(GREATEST(n, 0)))": lambda n: np.sqrt(n).sum(),
    "SUM(ABS(n))": np.sum,
    "SUM(CASE WHEN n > 0 THEN n ELSE 0 END)": np.sum,
    "SUM(n) FILTER (WHERE n > 0)": np.sum,
    "MAX(n)": np.max,
    "MIN(n)": np.min,
    "STDDEV_POP(n)": np.std,
}
COUNTS = {"one": [300, *[0] * 49], "alike": [4] * 50, "few": [*[40] * 10, *[0] * 40]}


@pytest.mark.parametrize("counts", COUNTS.values(), ids=COUNTS)
@pytest.mark.parametrize("epsilon", [0.3, 1])
def test_intervals_hold_where_groups_are_added_up_after_a_bent_function(counts, epsilon):
    """Of 15 at 95 % more than 4 are missed with probability 6e-4, for each of 8 numbers."""
    keys = [f"k{i}" for i in range(len(counts))]
    column = {"k": column_type("k", Kind.TEXT, Keys(keys), nullable=False)}
    about = Schema({"v": Table("v", column, EachRow())})
    engine = DuckDBEngine()
    engine.store("v", pa.table({"k": np.repeat(keys, counts)}))
    engine.open(about)
    asked = ", ".join(f"{text} AS a{i}" for i, text in enumerate(BENT))
    text = f"SELECT {asked}, SUM(n) AS whole FROM (SELECT k, COUNT(*) AS n FROM v GROUP BY k) t"
    plan = MeasurementPlan.of(read(text, about), Price(epsilon))
    stream = Keystream(b"bent".ljust(32))
    with replaced(lambda: stream):
        releases = [plan.present(plan.measure(engine)) for _ in range(15)]
    engine.close()
    for i, truth in enumerate(one(np.array(counts)) for one in BENT.values()):
        found = [
            (one.table.column(f"a{i}")[0].as_py(), one.half_widths[f"a{i}"][0].as_py())
            for one in releases
        ]
        assert sum(abs(value - truth) <= width for value, width in found) >= 11, (i, truth, found)
        assert max(width for _, width in found) < sum(counts) + 10 * len(counts) / epsilon


@pytest.mark.parametrize(("epsilon", "middle"), [(0.02, 40), (0.1, 5), (0.3, 90)])
def test_intervals_hold_where_groups_of_few_rows_have_their_means_compared(epsilon, middle):
    """Of 25 at 95 % more than 6 are missed with probability 2e-4, for each of 6 numbers."""
    keys = [f"k{i}" for i in range(10)]
    columns = {
        "k": column_type("k", Kind.TEXT, Keys(keys), nullable=False),
        "x": column_type("x", Kind.REAL, Bounds(0, 100), nullable=False),
    }
    about = Schema({"v": Table("v", columns, EachRow())})
    rows = pa.table(
        {"k": keys * 30, "x": [middle + 3.0 * (i % 3) - 3 + i % 10 / 5 for i in range(300)]}
    )
    text = (
        "SELECT MAX(m) AS a, MIN(m) AS b, AVG(m) AS c, MAX(m) - MIN(m) AS d, MAX(s) AS e,"
        " MIN(s) AS f FROM (SELECT k, AVG(x) AS m, STDDEV(x) AS s FROM v GROUP BY k) t"
    )
    connection, engine = duckdb.connect(), DuckDBEngine()
    connection.register("v", rows)
    (truth,) = connection.sql(text).fetchall()
    engine.store("v", rows)
    engine.open(about)
    plan = MeasurementPlan.of(read(text, about), Price(epsilon))
    stream = Keystream(b"means".ljust(32))
    with replaced(lambda: stream):
        releases = [plan.present(plan.measure(engine)) for _ in range(25)]
    engine.close()
    for name, true in zip("abcdef", truth, strict=True):
        found = [
            (one.table.column(name)[0].as_py(), one.half_widths[name][0].as_py())
            for one in releases
        ]
        assert sum(abs(value - true) <= width for value, width in found) >= 19, (name, true, found)
        assert max(width for _, width in found) <= 100 + 1e-6


def test_an_interval_of_how_far_groups_are_apart_is_no_wider_than_noise_around_some_truth():
    """In half-widths of one of ten alike means: 2.4, and 2.7 by all that likely noise may do."""
    keys = [f"k{i}" for i in range(10)]
    columns = {
        "k": column_type("k", Kind.TEXT, Keys(keys), nullable=False),
        "x": column_type("x", Kind.REAL, Bounds(0, 100), nullable=False),
    }
    about = Schema({"v": Table("v", columns, EachRow())})
    engine = DuckDBEngine()
    values = [45.0 + i % 11 + i % 10 / 10 for i in range(5000)]
    engine.store("v", pa.table({"k": keys * 500, "x": values}))
    engine.open(about)
    grouped = "SELECT k, AVG(x) AS m FROM v GROUP BY k"
    text = f"SELECT MAX(m) - MIN(m) AS a FROM ({grouped}) t"
    stream = Keystream(b"apart".ljust(32))
    with replaced(lambda: stream):
        plan = MeasurementPlan.of(read(text, about), Price(1))
        apart = [plan.present(plan.measure(engine)).half_widths["a"][0].as_py() for _ in range(10)]
        one = MeasurementPlan.of(read(grouped, about), Price(1))
        each = [one.present(one.measure(engine)).half_widths["m"].to_numpy() for _ in range(3)]
    engine.close()
    assert np.median(apart) < 2.5 * np.median(each)


@pytest.mark.parametrize("epsilon", [0.1, 1])
def test_intervals_hold_where_correlations_of_small_groups_are_compared(epsilon):
    """All correlations are 0.8; of 20 at 95 % more than 5 are missed with probability 3e-4."""
    keys, rng = ["a", "b", "c", "d"], np.random.default_rng(2)
    columns = {"k": column_type("k", Kind.TEXT, Keys(keys), nullable=False)}
    columns |= {n: column_type(n, Kind.REAL, Bounds(0, 100), nullable=False) for n in "xy"}
    about = Schema({"v": Table("v", columns, EachRow())})
    x = rng.uniform(10, 90, 400)
    rows = pa.table({"k": keys * 100, "x": x, "y": np.clip(x + rng.normal(0, 17, 400), 0, 100)})
    text = (
        "SELECT MAX(r) AS a, MIN(r) AS b, AVG(r) AS c FROM"
        " (SELECT k, CORR(x, y) AS r FROM v GROUP BY k) t"
    )
    connection, engine = duckdb.connect(), DuckDBEngine()
    connection.register("v", rows)
    (truth,) = connection.sql(text).fetchall()
    engine.store("v", rows)
    engine.open(about)
    plan = MeasurementPlan.of(read(text, about), Price(epsilon))
    stream = Keystream(b"correlations".ljust(32))
    with replaced(lambda: stream):
        releases = [plan.present(plan.measure(engine)) for _ in range(20)]
    engine.close()
    for name, true in zip("abc", truth, strict=True):
        found = [
            (one.table.column(name)[0].as_py(), one.half_widths[name][0].as_py())
            for one in releases
        ]
        assert sum(abs(value - true) <= width for value, width in found) >= 15, (name, true, found)
        assert max(width for _, width in found) <= 2 + 1e-6


def test_intervals_of_an_entropy_hold_where_counts_are_near_their_noise():
    """Of 20 values with 40 rows each; a 95 % interval misses 7 of 40 with probability 0.003."""
    about, limits = {"unit": "id", "columns": {"k": Keys(list("abcdefghijklmnopqrst"))}}, 3
    rows = pa.table(
        {"id": [i // limits for i in range(800)], "k": list("abcdefghijklmnopqrst") * 40}
    )
    held, stream = 0, Keystream(b"entropy".ljust(32))
    with Curator.in_memory() as curator, replaced(lambda: stream):
        curator.add("t", rows, budget=Budget(epsilon=100), limits=Limits(limits, limits), **about)
        for i in range(40):
            text = f"SELECT ENTROPY(k) AS h FROM t WHERE id <> -{i + 1}"
            found = curator.sql(text, epsilon=0.3).to_arrow()
            low, high = (found[name][0].as_py() for name in ("h_low", "h_high"))
            held += low <= math.log2(20) + 1e-9 and math.log2(20) - 1e-9 <= high
    assert held >= 34
