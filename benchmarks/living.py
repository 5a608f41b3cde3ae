"""Data that grows: appending to a large table, and a year of daily totals for one price.

`python -m benchmarks living` appends 10^6 rows to 10^6 and to 10^8.
"""

import datetime as dt
import tempfile
import time
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet

import discreet as dp
from discreet.curator.ledger.orders import Receipt, State
from discreet.plan.bounding import FULL

ROWS = 10**8
NEW = 10**6
COUNT = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
CITIES = 100
DAYS = 365


def timed(work):
    began, cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, time.perf_counter() - began, time.process_time() - cpu


def written(path, first, count):
    """People, days and cities, as a Parquet file."""
    select = f"""SELECT (i * 7919) % 10000000 AS who, DATE '2026-01-01' + (i % 365)::INTEGER AS day,
    'city ' || (i % {CITIES}) AS city FROM range({first}, {first + count}) AS t(i)"""
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    return path


def appending(folder, rows):
    """Seconds that appending takes, to few rows and to many."""
    for size in (rows // 100, rows):
        with dp.Curator(folder / f"c{size}") as curator:
            base = written(folder / f"base{size}.parquet", 0, size)
            about = {"city": dp.Keys([f"city {i}" for i in range(CITIES)])}
            budget = dp.Budget(epsilon=100, delta=1e-6)
            said = {"columns": about, "limits": dp.Limits(1, 1)}
            add = partial(curator.add, "visits", base, unit="who", budget=budget, **said)
            _, wall, cpu = timed(add)
            print(f"adding {size:,} rows: {wall:.2f} s, {cpu:.2f} s of CPU")
            for n in range(3):
                part = written(folder / f"part{size}-{n}.parquet", size + n * NEW, NEW)
                frame = pa.parquet.read_table(part) if n == 2 else part
                kind = "a frame" if n == 2 else "a file"
                _, wall, cpu = timed(partial(curator.append, "visits", frame))
                print(f"  appending {NEW:,} rows ({kind}): {wall:.2f} s, {cpu:.2f} s of CPU")


def a_year():
    """The error of the last of 365 running totals of 100 cities, over that of one release."""
    keys = dp.Keys([f"city {i}" for i in range(CITIES)])
    rng = np.random.default_rng(7)
    for bound in (1, 5, 20, 365):
        with dp.Curator.in_memory() as curator:
            empty = pa.table(
                {
                    "who": pa.array([], pa.int64()),
                    "day": pa.array([], pa.date32()),
                    "city": pa.array([], pa.string()),
                }
            )
            budget = dp.Budget(epsilon=10, delta=1e-5)
            curator.add("visits", empty, unit="who", budget=budget, columns={"city": keys})
            first, last = dt.date(2026, 1, 1), dt.date(2026, 12, 31)
            terms = {"every": "day", "since": first, "until": last, "epsilon": 1, "delta": 1e-6}
            watched = curator.watch(COUNT, max_periods=bound, **terms)
            size = 20_000
            rows = pa.table(
                {
                    "who": pa.array(rng.permutation(10**6)[:size], pa.int64()),
                    "day": pa.array(rng.integers(20454, 20819, size), pa.int32()).cast(pa.date32()),
                    "city": pa.array([f"city {i}" for i in rng.integers(0, CITIES, size)]),
                }
            )
            curator.append("visits", rows, through=last)
            release, wall, cpu = timed(watched.release)
            told = release.table
            exact = np.zeros((DAYS, CITIES), dtype=np.int64)
            days = rows.column("day").cast(pa.int32()).to_numpy() - 20454
            place = [int(one.removeprefix("city ")) for one in rows.column("city").to_pylist()]
            np.add.at(exact, (days, np.array(place)), 1)
            error = told.column("n").to_numpy().reshape(DAYS, CITIES) - exact.cumsum(axis=0)
            planned = curator._streams._planned(  # noqa: SLF001 - to look at its noise
                _receipt(curator, watched.charge)
            )
            mu = float(2 * planned.counter.rho) ** 0.5
            stated = planned.counter.error() / FULL
            print(
                f"at most {bound} days a person: deviation of the last day's totals "
                f"{error[-1].std():.1f}, of all {error.std():.1f}; stated ± {stated:.1f}; at the "
                f"same price, over one release of the last totals: "
                f"{stated / (1.96 * bound / mu):.2f}; over one of each day by itself: "
                f"{stated / (1.96 * bound**0.5 / mu):.2f}, of 3 sqrt(d) = {3 * bound**0.5:.2f}; "
                f"{wall:.1f} s, {cpu:.1f} s of CPU for {DAYS} periods"
            )


def _receipt(curator, charge):
    return Receipt(charge, curator.ledger.find(charge).order, State.RELEASED)


def main():
    """A year first; then the appending."""
    a_year()
    with tempfile.TemporaryDirectory() as folder:
        appending(Path(folder), ROWS)


if __name__ == "__main__":
    main()
