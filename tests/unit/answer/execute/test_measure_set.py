"""Exact totals meet noise slice by slice, and nothing else is held of them."""

import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import fresh_process
from discreet.answer.estimate import tabulate
from discreet.answer.execute import measure_set
from discreet.answer.execute.measure_set import dense
from discreet.answer.measurement_plan import answer
from discreet.answer.plan.price import Price
from discreet.engines.duckdb import DuckDBEngine
from discreet.plan.kinds import Kind
from discreet.plan.schema import Bounds, EachRow, Keys, Limits, Person, Schema, Table, column_type
from discreet.sql.reader.read import read

ALL = "SELECT a, b, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY a, b"


def batches(places, *, size):
    """Places and, for each, its number and ten times its number."""
    table = pa.table({"place": places, "n": places, "ten": [10 * p for p in places]})
    return iter(table.to_batches(max_chunksize=size))


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("places", [[], [0], [9], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [3, 4, 8]])
def test_every_place_has_a_number_however_rows_are_cut(monkeypatch, places, size):
    monkeypatch.setattr(measure_set, "SLICE", 4)

    slices = list(dense(batches(places, size=size), 10, 2))

    assert [numbers.shape for numbers in slices] == [(2, 4), (2, 4), (2, 2)]
    whole = np.concatenate(slices, axis=1)
    expected = [p if p in places else 0 for p in range(10)]
    assert whole.tolist() == [expected, [10 * p for p in expected]]


@pytest.mark.parametrize("size", [1, 100])
def test_slices_end_where_they_are_told_to(size):
    slices = list(dense(batches([0, 2, 3, 9], size=size), 10, 2, [3, 4, 10]))

    assert [one[0].tolist() for one in slices] == [[0, 0, 2], [3], [0, 0, 0, 0, 0, 9]]


def test_batches_without_rows_are_passed_over():
    nothing = pa.RecordBatch.from_pydict(
        {"place": pa.array([], pa.int64()), "n": pa.array([], pa.int64())}
    )
    (some,) = pa.table({"place": [1], "n": [7]}).to_batches()

    (slice_,) = dense(iter([nothing, some, nothing, nothing]), 3, 1)

    assert slice_.tolist() == [[0, 7, 0]]


# --- many groups ----------------------------------------------------------------------------------


def listed(first, second):
    """All pairs of keys are public; hardly any is there."""
    keys = {"a": Keys([*range(first - 1), None]), "b": Keys(map(str, range(second)))}
    types = {
        "who": column_type("who", Kind.INTEGER),
        "a": column_type("a", Kind.INTEGER, keys["a"]),
        "b": column_type("b", Kind.TEXT, keys["b"]),
        "x": column_type("x", Kind.REAL, Bounds(0, 8), nullable=False),
    }
    rows = {
        "who": [1, 1, 2, 3],
        "a": [0, 1, None, 10**6],
        "b": ["0", "7", "7", "0"],
        "x": [1.0] * 4,
    }
    return Schema({"t": Table("t", types, Person("who"), Limits(2, 2))}), pa.table(rows)


def unlisted(groups):
    """Nobody has listed the groups; each has three rows."""
    types = {
        "a": column_type("a", Kind.INTEGER),
        "b": column_type("b", Kind.TEXT),
        "x": column_type("x", Kind.REAL, Bounds(0, 8), nullable=False),
    }
    each = np.repeat(np.arange(groups), 3)
    rows = {"a": each, "b": pa.array(["b"] * each.size), "x": np.ones(each.size)}
    return Schema({"t": Table("t", types, EachRow())}), pa.table(rows)


def ask(made, epsilon, text=ALL):
    schema, rows = made
    engine = DuckDBEngine()
    engine.store("t", rows)
    engine.open(schema)
    release = answer(read(text, schema), engine, Price(epsilon, 1e-6))
    engine.close()
    return release


def test_long_lists_of_keys_are_looked_up_and_mean_the_same():
    made = listed(40, 1500)
    table = ask(made, 10**6).table

    assert table.num_rows == 40 * 1500
    assert table["a"].to_pylist()[:1500] == [0] * 1500
    assert table["b"].to_pylist()[:1500] == [str(i) for i in range(1500)]
    there = {(row["a"], row["b"]): row["s"] for row in table.to_pylist() if row["n"]}
    assert {key: round(s, 1) for key, s in there.items()} == {
        (0, "0"): 1.0,
        (1, "7"): 1.0,
        (None, "7"): 1.0,
    }


def peak(work):
    """The most memory that Python and numpy held at once, and what Arrow holds afterwards."""
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        release = work()
        return release, tracemalloc.get_traced_memory()[1] + pa.total_allocated_bytes() - before
    finally:
        tracemalloc.stop()


BYTES = 200
"""For a group: two keys, two numbers and their error bars, each held up to three times."""


@pytest.mark.parametrize(
    ("made", "groups", "epsilon"),
    [(lambda: listed(200, 200), 40_000, 1), (lambda: unlisted(25_000), 25_000, 100)],
    ids=["known", "found"],
)
def test_many_groups_take_no_more_memory_than_their_numbers(made, groups, epsilon):
    made = made()
    release, held = peak(lambda: ask(made, epsilon))

    assert release.table.num_rows == groups
    assert held < BYTES * groups + 50e6
    assert release.how == {"n": "exact", "s": "by simulation"}
    assert all(width.null_count == 0 for width in release.half_widths.values())


def test_error_bars_of_all_groups_at_once_are_caught(monkeypatch):
    monkeypatch.setattr("discreet.answer.estimate.tabulate.SLICE", 1 << 30)
    monkeypatch.setattr(tabulate, "_CELLS", 1)
    made = listed(80, 100)
    _, held = peak(lambda: ask(made, 1, ALL.replace("SUM", "AVG")))

    assert held > BYTES * 8_000 + 50e6


def test_error_bars_of_many_groups_are_those_of_few(monkeypatch):
    """Laid out over 1,024 points, within 7 %, or drawn 1,000 times, within 5 standard errors."""
    text = ALL.replace("SUM(x) AS s", "SUM(x) AS s, AVG(x) AS m, SUM(x) / COUNT(*) AS r")
    made = listed(3, 4)
    drawn = ask(made, 1, text)
    monkeypatch.setattr(tabulate, "_CELLS", 1)
    laid = ask(made, 1, text)

    few, many = (np.median(release.half_widths["s"]) for release in (drawn, laid))
    assert abs(many / few - 1) < 0.2
    assert laid.how == drawn.how
    assert laid.half_widths.keys() == drawn.half_widths.keys()


SCRIPT = """
import resource, sys
import numpy as np, pyarrow as pa
sys.path.insert(0, sys.argv[1])
import test_measure_set as room
kind, *sizes = sys.argv[2:]
for size in map(int, sizes):
    made = room.listed(1000, size // 1000) if kind == "known" else room.unlisted(size)
    release = room.ask(made, 1 if kind == "known" else 100)
    assert release.table.num_rows == size
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10)
"""


def most_memory(kind, *sizes):
    """The most memory of a process after each of some questions of so many groups."""
    done = fresh_process.run(SCRIPT, Path(__file__).parent, kind, *sizes, timeout=600)
    assert done.returncode == 0, done.stderr
    return [int(line) for line in done.stdout.split()]


@pytest.mark.parametrize(
    ("kind", "few", "many"), [("known", 50_000, 1_000_000), ("found", 50_000, 150_000)]
)
def test_a_process_grows_by_a_few_numbers_for_each_further_group(kind, few, many):
    small, large = most_memory(kind, few, many)
    assert large - small < 300 * (many - few) + 50e6


@pytest.mark.audit
@pytest.mark.parametrize("kind", ["known", "found"])
def test_ten_million_groups_fit_into_three_gigabytes(kind):
    assert most_memory(kind, 10**7)[0] < 3 << 30


def test_sums_of_equal_answers_have_the_same_error_bars():
    text = ALL.replace("COUNT(*)", "COUNT(x)")
    widths = [ask(listed(3, 4), 1, text).half_widths["s"].to_pylist() for _ in range(2)]

    assert widths[0] == widths[1]
    assert len(set(widths[0])) == 1
