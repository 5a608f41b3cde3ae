"""Fits through the curator beside plain SQL totals: 10^7 rows, 20 features, CPU seconds.

    python -m benchmarks.fit_totals linear [ROWS]

One estimator (linear, bayes or additive) a process, so that memory is its own. Plain totals are one
pass over the same file with as many threads: all sums of products, sums and squares by label, or
counts by label and bin. The additive model reads rows once, and sums its 60 gradients from codes in
memory. A fit of few rows goes before, so that imports are not in it; runs take turns.

    python -m benchmarks.fit_totals gradients [ROWS]

The same 60 gradients as totals inside the engine, the fastest of four ways to group them: bins as
bytes in a table of its own, curves as lists, grouping sets. Rows are dealt to batches likewise.
"""

import math
import resource
import sys
import tempfile
import time
from pathlib import Path

import duckdb

import discreet as dp

FEATURES = [f"x{i}" for i in range(20)]


def write(path, rows):
    """Made-up rows; a line and a label that follow from the features."""
    numbers = ", ".join(f"(random() + random() + random()) * 33.3 AS {x}" for x in FEATURES)
    line = " + ".join(f"({i % 5 - 2}) * {x} / 50" for i, x in enumerate(FEATURES))
    shown = f"*, ({line}) * 5 + random() * 12 AS y, ({line}) + random() * 3 > 1 AS label"
    duckdb.sql(
        f"COPY (SELECT {shown} FROM (SELECT {numbers} FROM range({rows}))) TO '{path}' "
        "(FORMAT parquet)"
    )


def plain(name, path):
    columns = [*FEATURES, "y"]
    products = [f"SUM({a} * {b})" for i, a in enumerate(columns) for b in columns[i:]]
    squares = [f"SUM({x}), SUM({x} * {x})" for x in FEATURES]
    bins = [
        f"SELECT {i}, label, floor({x} * 2.56), COUNT(*) FROM t" for i, x in enumerate(FEATURES)
    ]
    select = {
        "linear": f"SELECT COUNT(*), {', '.join(products)} FROM t",
        "bayes": f"SELECT label, COUNT(*), {', '.join(squares)} FROM t GROUP BY 1",
        "additive": " UNION ALL ".join(f"{one} GROUP BY 2, 3" for one in bins),
    }[name]
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW t AS SELECT * FROM '{path}'")
        before = time.process_time()
        connection.execute(select).fetchall()
        return time.process_time() - before


def ours(name, path):
    said = {"epsilon": 1, "delta": 1e-6}
    model, target = {
        "linear": (dp.learn.LinearRegression(**said), "y"),
        "bayes": (dp.learn.GaussianNB(**said), "label"),
        "additive": (dp.learn.AdditiveClassifier(**said), "label"),
    }[name]
    columns = {x: dp.Bounds(0, 100) for x in FEATURES} | {"y": dp.Bounds(-300, 300)}
    with dp.Curator.in_memory() as curator:
        budget = dp.Budget(epsilon=10, delta=1e-4)
        curator.add("t", path, unit=dp.EachRow(), budget=budget, columns=columns)
        before = time.process_time()
        curator.fit(model, "t", features=FEATURES, target=target)
        return time.process_time() - before


def gradients(path, rows):
    """CPU seconds of what a fit would take if the engine summed its gradients."""
    codes = [f"c{i}" for i in range(len(FEATURES))]
    binned = [
        f"CAST(floor({x} * 0.12) AS UTINYINT) AS {c}" for x, c in zip(FEATURES, codes, strict=True)
    ]
    curve = [(37 * i) % 200 - 100 for i in range(13)]
    link = [round(1024 / (1 + math.exp(-m / 256))) for m in range(-4096, 4097)]
    margin = " + ".join(f"{curve}[{c} + 1]" for c in codes)
    slope = f"{link}[LEAST(GREATEST(({margin}) * (1 - 2 * y), -4096), 4096) + 4097] * (1 - 2 * y)"
    many = max(1, min(rows // 500_000, 60))
    with duckdb.connect() as connection:
        before = time.process_time()
        connection.execute(
            f"CREATE TEMP TABLE k AS SELECT {', '.join(binned)}, CAST(label AS INTEGER) AS y, "
            f"CAST(floor(random() * {many}) AS UTINYINT) AS b FROM '{path}'"
        )
        for step in range(60):
            some = f"SELECT {', '.join(codes)}, {slope} AS r FROM k WHERE b = {step % many}"
            sets = ", ".join(f"({c})" for c in codes)
            connection.execute(
                f"SELECT {', '.join(codes)}, SUM(r) FROM ({some}) GROUP BY GROUPING SETS ({sets})"
            ).fetchall()
        return time.process_time() - before


def main():
    name, rows = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10**7
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        path, few = Path(folder) / "rows.parquet", Path(folder) / "few.parquet"
        write(path, rows)
        write(few, 1000)
        if name == "gradients":
            took, base = gradients(path, rows), plain("additive", path)
            print(f"gradients in SQL: {took:.2f} s, {took / base:.2f} times plain totals")
            return
        ours(name, few)
        taken = [(ours(name, path), plain(name, path)) for _ in range(2)]
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    took, base = (min(one) for one in zip(*taken, strict=True))
    print(
        f"{name}: {took:.2f} s, {took / base:.2f} times plain totals ({base:.2f} s), {most:.0f} MB"
    )


if __name__ == "__main__":
    main()
