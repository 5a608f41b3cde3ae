"""Peers on the questions of `benchmarks.query`, each in an environment of its own.

`python -m benchmarks.peer_query` installs what can be installed into .bench/query/ and prints each
peer's figures; `python benchmarks/peer_query.py PEER` is what runs inside such an environment. Same
rows, same unit, epsilon 1 and delta 1e-6 in all; where a peer takes limits it gets 5 cities a user
and 10 rows in each, which is what these rows were made like. Nobody asks for its own best.
"""
# ruff: noqa: PLC0415 - each peer is installed in an environment of its own

import json
import os
import resource
import statistics
import subprocess
import sys
import time
import venv
from pathlib import Path

BENCH = Path(__file__).parents[1] / ".bench"
SMALL, LARGE = (BENCH / "data" / f"visits-{rows}.parquet" for rows in (10**6, 5 * 10**6))
CITIES = [f"city{i}" for i in range(100)]
GROUPS, ROWS = 5, 10
EPSILON, DELTA = 1.0, 1e-6
PATIENCE = 3600
TRUTH = """SELECT city, COUNT(*) AS n, SUM(amount) AS s, AVG(amount) AS m,
    COUNT(DISTINCT user_id) AS u, MEDIAN(amount) AS med FROM '{}' GROUP BY city"""

PACKAGES = {
    "opendp": ("opendp[polars]==0.16.0",),
    "opendp-rows": ("opendp[polars]==0.16.0",),
    "smartnoise": ("smartnoise-sql==1.0.10",),
    "pipelinedp": ("pipeline-dp==0.3.1",),
    "diffprivlib": ("diffprivlib==0.6.6", "scikit-learn==1.6.1"),
    "qrlew": ("pyqrlew==0.9.27", "pandas<3", "numpy<2", "pyarrow<19"),
    "tumult": ("tmlt.analytics==0.21.0",),
}


# --- inside a peer's environment ------------------------------------------------------------------


def bounded(path):
    """At most 10 rows of each of 5 cities of a user, chosen at random: for peers that cannot."""
    import duckdb

    return duckdb.sql(f"""SELECT user_id, city, amount FROM (
        SELECT *, dense_rank() OVER (PARTITION BY user_id ORDER BY hash(user_id, city)) AS place,
        row_number() OVER (PARTITION BY user_id, city ORDER BY hash(amount)) AS turn FROM '{path}')
        WHERE place <= {GROUPS} AND turn <= {ROWS}""").df()


def opendp(path=LARGE, *, by_row=False):
    """Three aggregates: neither a median of users' rows nor a count of users can be had in one."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    unit = {} if by_row else {"identifier": pl.col("user_id")}
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=dp.unit_of(contributions=1, **unit),
        privacy_loss=dp.loss_of(epsilon=EPSILON, delta=DELTA),
        split_evenly_over=1,
        margins=[
            dp.polars.Margin(max_length=10**7, max_groups=len(CITIES)),
            dp.polars.Margin(
                by=["city"], invariant="keys", max_length=10**6, max_groups=len(CITIES)
            ),
        ],
    )
    rows = context.query()
    if not by_row:
        # These users have 50 rows in up to 8 cities; of 9 groups it keeps 8.
        rows = rows.truncate_per_group(50, by=["city"])
        rows = rows.truncate_num_groups(9, by=["city"], keep="first")
    value = pl.col("amount").fill_null(0.0).fill_nan(0.0)
    asked = rows.group_by("city").agg(
        dp.len().alias("n"),
        value.dp.sum((0.0, 100.0)).alias("s"),
        value.dp.mean((0.0, 100.0)).alias("m"),
    )
    return asked.release().collect().to_dicts()


def smartnoise():
    """No median."""
    import pandas as pd
    import snsql

    meta = {
        "": {
            "": {
                "visits": {
                    "rows": 10**6,
                    "max_ids": GROUPS * ROWS,
                    "censor_dims": False,
                    "user_id": {"type": "int", "private_id": True},
                    "city": {"type": "string"},
                    "amount": {"type": "float", "lower": 0.0, "upper": 100.0},
                }
            }
        }
    }
    names = ("n", "s", "m", "u")
    privacy = snsql.Privacy(epsilon=EPSILON / len(names), delta=DELTA / len(names))
    reader = snsql.from_df(pd.read_parquet(SMALL), privacy=privacy, metadata=meta)
    rows = reader.execute(
        "SELECT city, COUNT(*) AS n, SUM(amount) AS s, AVG(amount) AS m, "
        "COUNT(DISTINCT user_id) AS u FROM visits GROUP BY city"
    )
    return [dict(zip(("city", *names), row, strict=True)) for row in rows[1:]]


def pipelinedp():
    """All five, in plain Python."""
    import pandas as pd
    import pipeline_dp as pdp

    rows = list(pd.read_parquet(SMALL).itertuples(index=False, name=None))
    accountant = pdp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=DELTA)
    engine = pdp.DPEngine(accountant, pdp.LocalBackend())
    metrics = pdp.Metrics
    asked = pdp.AggregateParams(
        metrics=[
            metrics.COUNT,
            metrics.SUM,
            metrics.MEAN,
            metrics.PRIVACY_ID_COUNT,
            metrics.PERCENTILE(50),
        ],
        max_partitions_contributed=GROUPS,
        max_contributions_per_partition=ROWS,
        min_value=0,
        max_value=100,
    )
    extractors = pdp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )
    found = engine.aggregate(rows, asked, extractors, public_partitions=CITIES)
    accountant.compute_budgets()
    return [
        {
            "city": city,
            "n": one.count,
            "s": one.sum,
            "m": one.mean,
            "u": one.privacy_id_count,
            "med": one.percentile_50,
        }
        for city, one in found
    ]


def diffprivlib():
    """Bounded by hand; every aggregate of a city pays for all rows and cities of a user."""
    from diffprivlib import tools

    rows = bounded(SMALL)
    rows = rows.assign(city=rows["city"].astype("category"))
    each = EPSILON / 5 / GROUPS
    inside = {"bounds": (0.0, 100.0), "epsilon": each / ROWS}
    answers = []
    for city, part in rows.groupby("city", observed=True):
        values = part["amount"].to_numpy()
        answers.append(
            {
                "city": city,
                "n": tools.count_nonzero(values >= 0, epsilon=each / ROWS),
                "s": tools.sum(values, **inside),
                "m": tools.mean(values, **inside),
                "u": tools.count_nonzero(part["user_id"].unique() >= 0, epsilon=each),
                "med": tools.median(values, **inside),
            }
        )
    return answers


def qrlew():
    """Rewrites SQL, which DuckDB runs; no median, and COUNT(DISTINCT) is COUNT."""
    import duckdb
    import pandas as pd
    import pyqrlew as qrl
    from sqlalchemy import create_engine

    frame = pd.read_parquet(SMALL)
    engine = create_engine("sqlite://")
    frame.astype({"city": object}).to_sql("visits", engine, index=False)
    dataset = qrl.Dataset.from_database("visits", engine)
    dataset = dataset.visits.amount.with_range(0.0, 100.0)
    dataset = dataset.visits.city.with_possible_values(CITIES)
    query = (
        "SELECT city, COUNT(*) AS n, SUM(amount) AS s, AVG(amount) AS m, "
        "COUNT(DISTINCT user_id) AS u FROM visits GROUP BY city"
    )
    relation = dataset.relation(query)
    private = relation.rewrite_with_differential_privacy(
        dataset, [("visits", [], "user_id")], {"epsilon": EPSILON, "delta": DELTA}
    )
    connection = duckdb.connect()
    connection.register("visits", frame)
    sql = private.relation().to_query()
    return connection.sql(sql).df().to_dict("records")


def tumult():
    """One evaluation for each aggregate, on Spark."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession
    from tmlt.analytics import (
        AddRowsWithID,
        KeySet,
        MaxGroupsPerID,
        MaxRowsPerGroupPerID,
        QueryBuilder,
        RhoZCDPBudget,
        Session,
    )

    spark = (
        SparkSession.builder.config("spark.driver.memory", "8g")
        .config("spark.sql.warehouse.dir", str(BENCH / "warehouse"))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    logs = 13.815510557964274  # ln(1/delta): the largest rho with rho + 2 sqrt(rho ln(1/delta)) = 1
    rho = ((logs + EPSILON) ** 0.5 - logs**0.5) ** 2
    session = Session.from_dataframe(
        privacy_budget=RhoZCDPBudget(rho),
        source_id="visits",
        dataframe=spark.read.parquet(str(SMALL)),
        protected_change=AddRowsWithID(id_column="user_id"),
    )
    base = (
        QueryBuilder("visits")
        .enforce(MaxGroupsPerID("city", GROUPS))
        .enforce(MaxRowsPerGroupPerID("city", ROWS))
        .groupby(KeySet.from_dict({"city": CITIES}))
    )
    asked = {
        "n": base.count(),
        "s": base.sum("amount", 0, 100),
        "m": base.average("amount", 0, 100),
        "u": base.count_distinct(columns=["user_id"]),
        "med": base.median("amount", 0, 100),
    }
    found = {city: {"city": city} for city in CITIES}
    for name, query in asked.items():
        rows = session.evaluate(query, RhoZCDPBudget(rho / len(asked))).collect()
        for row in rows:
            found[row["city"]][name] = next(v for k, v in row.asDict().items() if k != "city")
    return list(found.values())


PEERS = {
    "opendp": opendp,
    "opendp-rows": lambda: opendp(by_row=True),
    "smartnoise": smartnoise,
    "pipelinedp": pipelinedp,
    "diffprivlib": diffprivlib,
    "qrlew": qrlew,
    "tumult": tumult,
}


def errors(answers, path):
    """The median relative error over cities of each column, in percent; a missing city is all."""
    import duckdb

    cursor = duckdb.sql(TRUTH.format(path))
    names = cursor.columns
    truth = {row[0]: dict(zip(names, row, strict=True)) for row in cursor.fetchall()}
    found = {row["city"]: row for row in answers}
    columns = [name for name in names[1:] if any(name in row for row in answers)]
    return {
        name: 100
        * statistics.median(
            abs(float(found[city][name]) / float(row[name]) - 1) if city in found else 1.0
            for city, row in truth.items()
        )
        for name in columns
    }


def used():
    """CPU seconds of this process and its children, and the largest memory of one of them in MB."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    done = sum(one.ru_utime + one.ru_stime for one in both)
    living = list(descendants(os.getpid()))
    memory = [o.ru_maxrss / 1024 for o in both] + [mb for _, mb in living]
    return done + sum(cpu for cpu, _ in living), max(memory)


def descendants(parent):
    """CPU seconds and peak MB of each process below one that still runs (Spark's Java; Linux)."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            status = (folder / "status").read_text()
        except OSError:  # it ended while we looked
            continue
        if int(fields[1]) == parent:
            ticks = sum(int(field) for field in fields[11:15])
            peak = next((li.split()[1] for li in status.splitlines() if "VmHWM" in li), 0)
            yield ticks / os.sysconf("SC_CLK_TCK"), int(peak) / 1024
            yield from descendants(int(folder.name))


def work(peer):
    """Run one peer; imports and loading count, since whoever asks waits for them."""
    before = time.time()
    answers = PEERS[peer]()
    wall = time.time() - before
    cpu, mb = used()
    path = LARGE if peer.startswith("opendp") else SMALL
    return {"cpu": cpu, "mb": mb, "wall": wall, "errors": errors(answers, path)}


# --- outside --------------------------------------------------------------------------------------


def install(peer):
    """The interpreter of a peer's environment, made on first use; None where it cannot be had."""
    home = BENCH / "query" / peer.removesuffix("-rows")
    python, stamp = home / "bin" / "python", home / "peer.txt"
    wanted = "\n".join(PACKAGES[peer])
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"installing {peer} into {home} (once)", file=sys.stderr)
    if not python.exists():
        venv.create(home, symlinks=True, with_pip=True)
    command = [python, "-m", "pip", "install", "-q", "duckdb", "pandas", "pyarrow"]
    done = subprocess.run([*command, *PACKAGES[peer]], check=False, capture_output=True)
    if done.returncode:
        return None
    stamp.write_text(wanted)
    return python


def ask(peer):
    """What a peer used and how far it was off, or why there is nothing to show."""
    python = install(peer)
    if python is None:
        return {"why": "cannot be installed"}
    command = [python, "-P", __file__, peer]  # profile.py here is not the library's
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return {"why": f"is not done after {PATIENCE // 60} minutes"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"why": f"fails: {last[:120]}"}
    return json.loads(done.stdout.splitlines()[-1])


def main(peers=tuple(PEERS)):
    for peer in peers:
        print(peer, json.dumps(ask(peer)), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in PEERS and ".bench" in sys.executable:
        print(json.dumps(work(sys.argv[1])))
    else:
        main(sys.argv[1:] or tuple(PEERS))
