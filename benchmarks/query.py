"""Questions in SQL: CPU seconds, peak memory and accuracy, beside plain DuckDB and OpenDP.

`python -m benchmarks query` runs the jobs of one and five million rows; `python -m benchmarks.query
large` the one of a hundred million. Each job runs in a process of its own.
"""

import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import duckdb

from benchmarks.clock import cpu_seconds
from benchmarks.peers import BENCH
from discreet.answer.answer import answer
from discreet.answer.budget import Price
from discreet.engines.duckdb import DuckDBEngine
from discreet.plan.kinds import Kind
from discreet.plan.schema import Bounds, EachRow, Keys, Person, Schema, Table, column_type
from discreet.plan.statistics import needed
from discreet.sql.compile import Compiled
from discreet.sql.read import read

DATA = BENCH / "data"
CITIES = [f"city{i}" for i in range(100)]
FIVE = """SELECT city, COUNT(*) AS n, SUM(amount) AS s, AVG(amount) AS m,
          COUNT(DISTINCT user_id) AS u, MEDIAN(amount) AS med FROM visits GROUP BY city"""
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


def ours(rows: int, users: int, text: str, *, by_row: bool = False) -> dict[str, object]:
    path = make(rows, users)
    engine, schema = open_engine(path, by_row=by_row)
    read("SELECT COUNT(*) FROM visits", schema)  # imports the parser
    before = time.process_time()
    release = answer(read(text, schema), engine, Price(1, 1e-6))
    spent = time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"cpu": spent, "mb": peak, "errors": errors(release.table.to_pylist(), path, text)}


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
    return {"cpu": cpu_seconds(lambda: duckdb.sql(question).fetchall(), 3), "mb": 0, "errors": {}}


def grouped(rows: int, users: int, _: str) -> dict[str, object]:
    path = make(rows, users)
    question = f"SELECT user_id, city, COUNT(*), SUM(amount) FROM '{path}' GROUP BY 1, 2"
    seconds = cpu_seconds(lambda: duckdb.sql(f"SELECT COUNT(*) FROM ({question})").fetchall(), 1)
    return {"cpu": seconds, "mb": 0, "errors": {}}


def planning() -> float:
    """Milliseconds from SQL text to compiled statements."""
    _, schema = open_engine(make(10**6, 10**5))

    def plan() -> str:
        query = read(FIVE, schema)
        return Compiled(query, tuple(needed(query)), DuckDBEngine.dialect).pairs()

    return cpu_seconds(plan, 20) * 1000


JOBS = {
    "1M rows, five aggregates, by user": (ours, 10**6, 10**5, FIVE),
    "1M rows, plain DuckDB": (plain, 10**6, 10**5, FIVE),
    "5M rows, three aggregates, by user": (ours, 5 * 10**6, 10**5, THREE),
    "5M rows, three aggregates, by row": (
        lambda *job: ours(*job, by_row=True),
        5 * 10**6,
        10**5,
        THREE,
    ),
    "5M rows, plain DuckDB": (plain, 5 * 10**6, 10**5, THREE),
}
LARGE = {
    "100M rows, three aggregates, by user": (ours, 10**8, 10**6, THREE),
    "100M rows, plain GROUP BY user, city": (grouped, 10**8, 10**6, THREE),
}


def main(jobs: dict[str, tuple[object, ...]] = JOBS) -> None:
    print(f"{'':<40}{'CPU s':>8}{'peak MB':>9}  median relative error over cities, percent")
    for name in jobs:
        command = [sys.executable, "-m", "benchmarks.query", "--job", name]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found = json.loads(done.stdout.splitlines()[-1])
        listed = "  ".join(f"{k} {v:.2f}" for k, v in found["errors"].items())
        print(f"{name:<40}{found['cpu']:>8.2f}{found['mb']:>9.0f}  {listed}")
    print(f"planning, SQL text to compiled statements: {planning():.1f} ms")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--job"]:
        job, *arguments = (JOBS | LARGE)[sys.argv[2]]
        print(json.dumps(job(*arguments)))
    else:
        main(LARGE if sys.argv[1:] == ["large"] else JOBS)
