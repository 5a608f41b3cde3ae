"""Questions in SQL: CPU seconds, peak memory and accuracy, beside plain DuckDB and peers.

`python -m benchmarks query` runs the jobs of one and five million rows, and peers on the same rows
(see `benchmarks.peer_query`; `python -m benchmarks.query ours` leaves them out); `python -m
benchmarks.query large` the one of a hundred million, and those of ten million groups. Each job runs
in a process of its own.
"""

import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pyarrow as pa

from benchmarks.clock import cpu_seconds
from benchmarks.peer_query import ask
from benchmarks.peers import BENCH
from discreet.answer.measurement_plan import answer
from discreet.answer.plan.price import Price
from discreet.engines.duckdb import DuckDBEngine
from discreet.plan.kinds import Kind
from discreet.plan.schema import Bounds, EachRow, Keys, Person, Schema, Table, column_type
from discreet.plan.statistics import needed
from discreet.sql.reader.read import read
from discreet.sql.writer.compile import CompiledQuery

DATA = BENCH / "data"
CITIES = [f"city{i}" for i in range(100)]
FIVE = """SELECT city, COUNT(*) AS n, SUM(amount) AS s, AVG(amount) AS m,
          COUNT(DISTINCT user_id) AS u, MEDIAN(amount) + 0 AS med FROM visits GROUP BY city"""
"""Peers tell no interval of a median, so none is bought here either: hence the 0."""

THREE = "SELECT city, COUNT(*) AS n, SUM(amount) AS s, AVG(amount) AS m FROM visits GROUP BY city"
COLUMNS = {"n": 0.7, "s": 1.2, "m": 0.8, "u": 0.9, "med": 1.3}


def make(rows: int, users: int) -> Path:
    """Visits: most users go to one to five cities, a few to eight; amounts from 0 to 100."""
    path = DATA / f"visits-{rows}.parquet"
    if not path.exists():
        DATA.mkdir(parents=True, exist_ok=True)
        draws = f"""SELECT CAST(floor(random() * {users}) AS BIGINT) AS user_id,
            random() AS slot, random() AS u1, random() AS u2 FROM range({rows})"""
        cities = "CASE WHEN hash(user_id) % 100 < 3 THEN 8 ELSE 1 + hash(user_id) % 5 END"
        city = f"hash(user_id * 8 + CAST(floor(slot * {cities}) AS BIGINT)) % 100"
        amount = "LEAST(100.0, -25.0 * ln(u1 * u2 + 1e-300))"
        visits = f"SELECT user_id, 'city' || ({city}) AS city, {amount} AS amount FROM ({draws})"
        duckdb.sql(f"COPY ({visits}) TO '{path}' (FORMAT parquet)")
    return path


def open_engine(path: Path, *, by_row: bool = False) -> tuple[DuckDBEngine, Schema]:
    columns = {
        "user_id": column_type("user_id", Kind.INTEGER),
        "city": column_type("city", Kind.TEXT, Keys(CITIES), nullable=False),
        "amount": column_type("amount", Kind.REAL, Bounds(0, 100), nullable=False),
    }
    table = Table("visits", columns, EachRow() if by_row else Person("user_id"))
    schema = Schema({"visits": table})
    engine = DuckDBEngine()
    engine.store("visits", path)
    engine.open(schema)
    return engine, schema


def ours(
    rows: int, users: int, text: str, *, by_row: bool = False, repeats: int = 3
) -> dict[str, object]:
    path = make(rows, users)
    engine, schema = open_engine(path, by_row=by_row)
    import_all(schema)
    before = time.process_time()
    release = answer(read(text, schema), engine, Price(1, 1e-6))
    first = time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    again = cpu_seconds(lambda: answer(read(text, schema), engine, Price(1, 1e-6)), repeats)
    found = errors(release.table.to_pylist(), path, text)
    return {"cpu": min(first, again), "first": first, "mb": peak, "errors": found}


def import_all(schema: Schema) -> None:
    """The parser, and pandas, which Arrow looks for when it is first asked for an array."""
    read("SELECT COUNT(*) FROM visits", schema)
    pa.array([0])


def errors(rows: list[dict[str, object]], path: Path, text: str) -> dict[str, float]:
    """The median relative error over cities of each column, in percent."""
    truth = duckdb.sql(text.replace("FROM visits", f"FROM '{path}'")).to_arrow_table().to_pylist()
    by_city = {row["city"]: row for row in truth}
    return {
        name: 100
        * statistics.median(abs(row[name] / by_city[row["city"]][name] - 1) for row in rows)
        for name in COLUMNS
        if name in rows[0]
    }


def plain(rows: int, users: int, text: str) -> dict[str, object]:
    path = make(rows, users)
    question = text.replace("FROM visits", f"FROM '{path}'")
    first = cpu_seconds(lambda: duckdb.sql(question).fetchall(), 1)
    again = cpu_seconds(lambda: duckdb.sql(question).fetchall(), 5)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"cpu": again, "first": first, "mb": peak, "errors": {}}


def grouped(rows: int, users: int, _: str) -> dict[str, object]:
    path = make(rows, users)
    question = f"SELECT user_id, city, COUNT(*), SUM(amount) FROM '{path}' GROUP BY 1, 2"
    seconds = cpu_seconds(lambda: duckdb.sql(f"SELECT COUNT(*) FROM ({question})").fetchall(), 1)
    return {"cpu": seconds, "first": seconds, "mb": 0, "errors": {}}


def many(groups: int, rows: int, kind: str) -> dict[str, object]:
    """Count and sum of very many groups: pairs of known keys, or groups that have to be found."""
    each = {"a": f"i // 3 % {groups}", "b": "0"}
    if kind == "known":
        each = {"a": "hash(i) % 1000", "b": f"hash(i + 1) % {groups // 1000}"}
    path = DATA / f"groups-{kind}-{groups}.parquet"
    if not path.exists():
        DATA.mkdir(parents=True, exist_ok=True)
        columns = ", ".join(f"CAST({text} AS BIGINT) AS {name}" for name, text in each.items())
        made = f"SELECT i // 10 AS user_id, {columns}, 1.0 AS x FROM range({rows}) AS r(i)"
        duckdb.sql(f"COPY ({made}) TO '{path}' (FORMAT parquet)")
    keys = {"a": Keys(range(1000)), "b": Keys(range(groups // 1000))} if kind == "known" else {}
    types = {
        "user_id": column_type("user_id", Kind.INTEGER),
        **{name: column_type(name, Kind.INTEGER, keys.get(name)) for name in ("a", "b")},
        "x": column_type("x", Kind.REAL, Bounds(0, 100), nullable=False),
    }
    unit = Person("user_id") if kind == "known" else EachRow()
    schema = Schema({"t": Table("t", types, unit)})
    engine = DuckDBEngine()
    engine.store("t", path)
    engine.open(schema)
    price = Price(1 if kind == "known" else 100, 1e-6)
    query = read("SELECT a, b, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY a, b", schema)
    before = time.process_time()
    shown = answer(query, engine, price).table.num_rows
    seconds = time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"cpu": seconds, "first": seconds, "mb": peak, "errors": {}, "rows": shown}


def planning() -> float:
    """Milliseconds from SQL text to compiled statements."""
    _, schema = open_engine(make(10**6, 10**5))

    def plan() -> str:
        query = read(FIVE, schema)
        return CompiledQuery(query, needed(query), DuckDBEngine.dialect).pairs.select

    return cpu_seconds(plan, 20) * 1000


JOBS = {
    "1M rows, five aggregates, by user": (ours, 10**6, 10**5, FIVE),
    "1M rows, plain DuckDB": (plain, 10**6, 10**5, FIVE),
    "5M rows, three aggregates, by user": (ours, 5 * 10**6, 10**5, THREE),
    "5M rows, three aggregates, by row": (
        lambda *job: ours(*job, by_row=True, repeats=7),
        5 * 10**6,
        10**5,
        THREE,
    ),
    "5M rows, plain DuckDB": (plain, 5 * 10**6, 10**5, THREE),
}
LARGE = {
    "100M rows, three aggregates, by user": (
        lambda *job: ours(*job, repeats=1),
        10**8,
        10**6,
        THREE,
    ),
    "100M rows, plain GROUP BY user, city": (grouped, 10**8, 10**6, THREE),
    "10M groups of known keys, by user": (many, 10**7, 10**6, "known"),
    "10M groups that are found, by row": (many, 10**7, 3 * 10**7, "found"),
}


BESIDE = {
    "5M rows, three aggregates, by row": ("opendp-rows",),
    "5M rows, three aggregates, by user": ("opendp",),
    "1M rows, five aggregates, by user": (
        "smartnoise",
        "qrlew",
        "pipelinedp",
        "diffprivlib",
        "tumult",
    ),
}
"""Which peers are asked what a job asks."""


def main(jobs: dict[str, tuple[object, ...]] = JOBS, *, peers: bool = True) -> None:
    print(f"{'':<40}{'CPU s':>8}{'first':>8}{'peak MB':>9}  median relative error, percent")
    found = {name: run(name) for name in jobs}
    for name, figures in found.items():
        print(f"{name:<40}{row(figures)}", flush=True)
    print(f"planning, SQL text to compiled statements: {planning():.1f} ms")
    if peers and jobs is JOBS:
        print("\nPeers on the same rows: CPU with imports and loading; beside it the ratio to ours")
        for name, names in BESIDE.items():
            for peer in names:
                compare(peer, ask(peer), found[name])


def run(name: str) -> dict[str, object]:
    """A job, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.query", "--job", name]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def row(found: dict[str, object]) -> str:
    listed = "  ".join(f"{k} {v:.2f}" for k, v in found["errors"].items())
    return f"{found['cpu']:>8.2f}{found['first']:>8.2f}{found['mb']:>9.0f}  {listed}"


def compare(peer: str, theirs: dict[str, object], ours_: dict[str, object]) -> None:
    """A peer's figures and how many times ours they are."""
    if "why" in theirs:
        print(f"{peer:<16}{theirs['why']}", flush=True)
        return
    listed = "  ".join(
        f"{name} {error:.2f} ({error / ours_['errors'][name]:.1f}x)"
        for name, error in theirs["errors"].items()
    )
    times = [theirs[of] / ours_[of] for of in ("cpu", "mb")]
    print(
        f"{peer:<16}{theirs['cpu']:>8.1f} ({times[0]:>4.0f}x){theirs['mb']:>7.0f} ({times[1]:.1f}x)"
        f"  {listed}",
        flush=True,
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--job"]:
        job, *arguments = (JOBS | LARGE)[sys.argv[2]]
        print(json.dumps(job(*arguments)))
    else:
        main(LARGE if sys.argv[1:] == ["large"] else JOBS, peers=sys.argv[1:] != ["ours"])
