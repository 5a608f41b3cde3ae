"""A census-style release: CPU, memory and accuracy by size, and the cost model of the docs.

python -m benchmarks release; each size runs in a process of its own. One size by itself:
python -m benchmarks.release CELLS PEOPLE_A_LEAF [SHARES], where shares of the price are 3,3,3,1.
"""

import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp

SIZES = ((1_000_000, 10), (3_000_000, 10), (10_000_000, 10), (1_000_000, 100), (3_000_000, 100))
HELD_OUT = (5_000_000, 40)
"""Cells of leaves, and people a leaf; the last size checks the model that the others make."""

CELLS = 100
STATES, COUNTIES = 50, 60
LEVELS = ("nation", "state", "county", "block")


def make(folder: Path, cells: int, people_a_leaf: int) -> int:
    """A table of people and a geography with so many cells of leaves; how many people."""
    leaves = max(cells // CELLS, STATES * COUNTIES)
    at, dice = np.arange(leaves), np.random.default_rng(2030)
    county = at * STATES * COUNTIES // leaves
    geography = {"state": county // COUNTIES, "county": county, "block": at}
    pq.write_table(pa.table(geography), folder / "places.parquet")
    sizes = dice.gamma(0.6, people_a_leaf / 0.6, leaves)  # most blocks are small, some are large
    people = int(sizes.sum())
    block = dice.choice(leaves, people, p=sizes / sizes.sum())
    race = dice.choice(5, people, p=[0.6, 0.2, 0.1, 0.07, 0.03])
    rows = {"id": np.arange(people), "block": block, "sex": dice.integers(0, 2, people)}
    rows |= {"age": dice.integers(0, 100, people), "race": race}
    pq.write_table(pa.table(rows), folder / "people.parquet")
    return people


def measure(cells: int, people_a_leaf: int, shares: Sequence[float] = ()) -> dict[str, Any]:
    """One release: CPU seconds by stage, peak memory, and the error of each level."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made_by = [sys.executable, "-m", "benchmarks.release", str(cells), str(people_a_leaf), name]
        made = subprocess.run(made_by, check=True, capture_output=True, text=True)  # its own memory
        people = int(made.stdout)
        base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        curator = dp.Curator(folder / "c")
        few = {"sex": dp.Keys([0, 1]), "age": dp.Bounds(0, 99), "race": dp.Keys(range(5))}
        curator.add(
            "people",
            folder / "people.parquet",
            unit="id",
            budget=dp.Budget(epsilon=3, delta=1e-6),
            columns=few,
            required=list(few),
            limits=dp.Limits(1, 1),
        )
        curator.add_public("places", folder / "places.parquet", key="block")
        plan = dp.releases(
            {"detail": ["sex", "age", "race"]},
            table="people",
            geography="places",
            levels=["state", "county", "block"],
            bins={"age": 10},
            epsilon=1,
            delta=1e-6,
            shares=by_level(shares),
        )
        noise = curator.explain_order("release", plan.spec).facts["noise"]
        start, wall = time.process_time(), time.perf_counter()
        told = curator.release(plan, folder / "out")
        facts = {
            "cells": told.release.cells,
            "rows": people,
            "cpu_seconds": round(time.process_time() - start, 1),
            "seconds": round(time.perf_counter() - wall, 1),
            "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
            "base_mb": round(base / 1024),
            "random_bytes": told.random_bytes,
            "part_bytes": size_of(folder.glob("c/releases/*/*.part")),
            "file_bytes": size_of(folder.glob("out/*")),
            "levels": errors(folder, alone(noise, shares)),
        }
        curator.close()
    return facts


def size_of(files: Iterable[Path]) -> int:
    """Bytes of all of them."""
    return sum(file.stat().st_size for file in files)


def by_level(shares: Sequence[float]) -> dict[str, float] | None:
    """Shares of the price by the name of the level; equal ones where none are said."""
    return dict(zip(LEVELS, shares, strict=True)) if shares else None


def alone(noise: dict[str, float], shares: Sequence[float]) -> float:
    """The noise of any level where each has a quarter of the price: its variance is 4 / mu^2."""
    part = shares[-1] / sum(shares) if shares else 1 / 4
    return noise["block"] * (part * 4) ** 0.5


def bound(mu: float, levels: int) -> float:
    """The least error that unbiased counts of so many upper levels can have, all at once.

    Why: see docs/how-to/census-releases.md.
    """
    units = [STATES, COUNTIES][: levels - 1]
    pairs = [math.prod(units[i:j]) for i in range(levels) for j in range(i + 1, levels)]
    share = (levels + 2 * sum(1 / one for one in pairs)) / levels**2
    return (share * math.expm1(mu**2)) ** -0.5


def errors(folder: Path, independent: float) -> dict[str, dict[str, float]]:
    """Root mean squared error of each level: ours, its own noise alone, and leaves added up.

    Of very many blocks some ten thousand are looked at.
    """
    sql, found = duckdb.connect(), {}
    leaves = pq.read_metadata(folder / "places.parquet").num_rows
    keys = {"nation": "1", "state": "state", "county": "county", "block": "block"}
    for level, key in keys.items():
        told = folder / "out" / f"detail-{level}.parquet"
        units = pq.read_metadata(told).num_rows // CELLS
        some = f"{key} % {max(units // 10_000, 1)} = 0" if level == "block" else "true"
        size = sql.execute(
            f"""
            WITH exact AS (
                SELECT {key} AS unit, sex || '/' || (age // 10) || '/' || race AS cell,
                    COUNT(*) AS n
                FROM '{folder}/people.parquet' JOIN '{folder}/places.parquet' USING (block)
                WHERE {some} GROUP BY 1, 2),
            told AS (
                SELECT {key} AS unit,
                    sex || '/' || (split_part(age, ' ', 1)::INT // 10) || '/' || race AS cell,
                    count AS m FROM '{told}' WHERE {some})
            SELECT SUM((m - COALESCE(n, 0))::DOUBLE ** 2) / COUNT(*)
            FROM told LEFT JOIN exact USING (unit, cell)"""
        ).fetchall()[0][0]
        summed = independent / 2 * (leaves / units) ** 0.5  # all of the price, at the leaves
        found[level] = {
            "error": round(size**0.5, 2),
            "alone": round(independent, 2),
            "leaves_added_up": round(summed, 2),
        }
    return found


def main() -> None:
    """Every size in a process of its own, so that each has its own peak of memory."""
    found = []
    for size in (*SIZES, HELD_OUT):
        command = [sys.executable, "-m", "benchmarks.release", *map(str, size)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        print(told.strip())
        found.append(json.loads(told))
    facts = np.array([[one["cells"], one["rows"], one["cpu_seconds"]] for one in found])
    relative = facts[:-1, :2] / facts[:-1, 2:]  # so that every size counts alike
    each_cell, each_row = np.linalg.lstsq(relative, np.ones(len(relative)), rcond=None)[0]
    cells, rows, seconds = facts[-1]
    guess = each_cell * cells + each_row * rows
    print(f"CPU seconds = {each_cell:.2e} cells + {each_row:.2e} rows")
    print(f"held out: {guess:.1f} s by the model, {seconds:.1f} s measured")
    mu = 2 / found[0]["levels"]["nation"]["alone"]
    for levels in (1, 3):
        print(f"least error of unbiased counts, {levels} upper levels: {bound(mu, levels):.2f}")
    for cells, rows in ((3.3e8, 3.3e7), (3e9, 3.1e8), (3e9, 1e12)):
        hours = (each_cell * cells + each_row * rows) / 3600
        print(f"{cells:.1e} cells, {rows:.1e} rows: {hours:,.2f} hours of CPU")


if __name__ == "__main__":
    wanted = int(sys.argv[1]), int(sys.argv[2])
    last = sys.argv[3] if sys.argv[3:] else ""
    if Path(last).is_absolute():
        print(make(Path(last), *wanted))
    else:
        print(json.dumps(measure(*wanted, [float(one) for one in last.split(",") if one])))
