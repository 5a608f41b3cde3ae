# ruff: noqa: S608 - the questions are made here, of fixed parts
"""Intervals of what is computed from released numbers hold what they say.

With 150 releases and fixed bits: a true 95 % interval covers fewer than 127 of them with
probability below 1e-6.
"""

import math

import duckdb
import pyarrow as pa
import pytest

from discreet.answer.measurement_plan import MeasurementPlan
from discreet.answer.plan.price import Price
from discreet.curator.budget import Budget
from discreet.curator.opening import Curator
from discreet.noise.bits import Keystream, replaced
from discreet.plan.schema import Keys, Limits
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
