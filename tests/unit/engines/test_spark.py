"""Spark: the same integers as everywhere.

To start it takes as long as a hundred questions of others: all that needs it is one test, which no
second worker can begin. `make audit` checks all of it again in several partitions, with the code
that Spark generates.
"""

# ruff: noqa: S608 - the statements are the tests' own

import datetime as dt
import hashlib
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

import discreet as dp
import remote_orders
import small_census
import spark_tables
from discreet.curator.orders.census import census_orders, census_runs
from discreet.engines import check_engine
from discreet.engines.spark import SparkEngine, SparkSnapshot
from discreet.errors import InputError
from discreet.plan.kinds import Kind, Type
from discreet.plan.schema import EachRow, Schema, Table
from discreet.sql.writer.dialect import view_name

TEXT = "SELECT city, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY city"
TASK = "discreet.tests.task"
TRUTH = {"Austin": (400, 1800), "Haifa": (200, 900)}


def test_spark_gives_the_integers_of_the_reference(tmp_path, monkeypatch):
    """Every check; of shuffled and missing rows a quarter of what other engines are asked."""
    check_engine(spark_tables.load_as_one_partition, thinned=4)
    a_release_has_one_noise_however_often_its_tasks_run(tmp_path, monkeypatch)
    stored_types_are_read_as_our_kinds()
    a_question_survives_a_task_that_is_killed()
    curator = asked_about()
    questions_run_side_by_side(curator, curator, curator)
    rows_that_changed_are_refused(curator)


@pytest.mark.audit
def test_spark_passes_every_check_and_runs_every_kind_of_order(tmp_path):
    check_engine(spark_tables.load)
    a_release_counts_the_same_as_in_memory(tmp_path, spark_tables.CONNECT)
    models_and_synthetic_tables_are_the_same_bytes_as_in_memory()
    curator = asked_about()
    remote = asked_about(spark_tables.CONNECT)
    questions_run_side_by_side(curator, remote, curator, remote)


@pytest.mark.audit
def test_spark_gives_the_same_in_several_partitions_with_the_code_that_it_generates():
    check_engine(spark_tables.load_compiled)


def models_and_synthetic_tables_are_the_same_bytes_as_in_memory():
    spark_tables.save("visits", remote_orders.visits())
    place = spark_tables.place("visits")
    found = remote_orders.outcomes(spark_tables.session(), source_table=place)
    assert found == remote_orders.outcomes(remote_orders.visits())


def stored_types_are_read_as_our_kinds():
    moment = dt.datetime(2024, 3, 31, 1, 30, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    rows = pa.table(
        {
            "a": pa.array(["1.25", "-0.01", None]).cast(pa.decimal128(12, 2)),
            "b": pa.array([2**40, 7, None], pa.int64()).cast(pa.decimal128(30, 0)),
            "c": pa.array([0.1, float("nan"), float("-inf")], pa.float32()),
            "d": pa.array([moment, None, None], pa.timestamp("us", "UTC")),
            "O'Brien \\ ${x} `é": pa.array(["a\\'b", "${y}", "é"]),
        }
    )
    spark_tables.save("typed", rows)
    made = SparkEngine("spark://session", spark_tables.session())
    described = made.describe(spark_tables.place("typed")).kinds
    types = {name: Type(kind) for name, kind in described.items()}
    kinds = [Kind.REAL, Kind.INTEGER, Kind.REAL, Kind.TIMESTAMP, Kind.TEXT]
    assert [of.kind for of in types.values()] == kinds
    made.open(
        Schema({"typed": Table("typed", types, EachRow())}), {"typed": spark_tables.place("typed")}
    )
    with made.snapshot() as session:
        found = pa.Table.from_batches(
            session.stream(f"SELECT * FROM {view_name('typed', made.dialect)}")
        )
    values = [column.to_pylist() for column in found.columns]
    assert values[0] == [1.25, -0.01, None]
    assert values[1] == [2**40, 7, None]
    assert values[2] == [0.10000000149011612, None, None]
    assert values[3][0] == dt.datetime(2024, 3, 30, 23, 30)  # noqa: DTZ001 - timestamps have none
    assert values[4] == ["a\\'b", "${y}", "é"]


def test_tokens_in_addresses_are_refused():
    with pytest.raises(InputError, match="AUTHENTICATE_TOKEN") as refused:
        SparkEngine("sc://host:15002/;token=secret")
    assert "secret" not in str(refused.value)


# --- the curator ----------------------------------------------------------------------------------


def asked_about(source=None, place="visits", **said):
    if place == "visits":
        spark_tables.save(place, visits())
    made = dp.Curator.in_memory()
    made.add(
        "visits",
        source or spark_tables.session(),
        source_table=spark_tables.place(place),
        unit="who",
        budget=dp.Budget(epsilon=10**7, delta=1e-6),
        columns={"city": dp.Keys(["Austin", "Haifa"]), "cost": dp.Bounds(0, 10)},
        limits=dp.Limits(max_groups=2, max_rows=2),
        **said,
    )
    return made


def visits():
    places = range(600)
    return pa.table(
        {
            "who": [i // 2 for i in places],
            "city": ["Austin" if i % 3 else "Haifa" for i in places],
            "cost": [float(i * 7 % 10) for i in places],
        }
    )


def rounded(answer):
    return {row["city"]: (round(row["n"]), round(row["s"])) for row in answer.table.to_pylist()}


def a_question_survives_a_task_that_is_killed():
    """Its first task waits until it is killed; the next attempt reads the same rows."""
    spark_tables.save("visits", visits())
    java = spark_tables.session().sparkContext._jvm.java.lang.System
    begins = f"reflect('java.lang.System', 'setProperty', '{TASK}', 'begun') = 'armed'"
    waits = "reflect('java.lang.Thread', 'sleep', 600000L) IS NULL"
    spark_tables.session().sql(
        f"CREATE OR REPLACE VIEW {spark_tables.place('slow')} AS "
        f"SELECT * FROM {spark_tables.place('visits')} WHERE NOT {begins} OR {waits}"
    )
    java.setProperty(TASK, "none")
    curator = asked_about(place="slow", version_label="1")
    java.setProperty(TASK, "armed")
    with ThreadPoolExecutor(1) as pool:
        killed = pool.submit(kill_task, java)
        answer = curator.sql(TEXT, epsilon=10**6)
    assert killed.result() == 1
    assert rounded(answer) == TRUTH
    spent = curator.budget("visits").spent
    assert curator.sql(TEXT, epsilon=10**6).to_bytes() == answer.to_bytes()
    assert curator.budget("visits").spent == spent


def kill_task(java):
    """Kill the newest task, once it has begun; how many were killed."""
    while java.getProperty(TASK) != "begun":
        time.sleep(0.01)
    scheduler = spark_tables.session().sparkContext._jsc.sc().taskScheduler()
    newest = scheduler.newTaskId()
    recent = range(newest - 1, newest - 6, -1)
    return sum(scheduler.killTaskAttempt(n, True, "test") for n in recent)  # noqa: FBT003 - Java's own


def questions_run_side_by_side(*curators):
    """Each begins to measure when all have come; another's rows would give other integers."""
    snapshot, together = SparkEngine.snapshot, threading.Barrier(len(curators), timeout=60)

    def at_once(*said):
        together.wait()
        return snapshot(*said)

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(len(curators)) as pool:
        patch.setattr(SparkEngine, "snapshot", at_once)
        text = TEXT.replace(" GROUP", " WHERE cost < {} GROUP")
        asked = [
            pool.submit(one.sql, text.format(9 - i), epsilon=10**5)
            for i, one in enumerate(curators)
        ]
        found = [rounded(one.result()) for one in asked]
    rows = visits().to_pylist()
    for i, cities in enumerate(found):
        counted = {
            city: [row["cost"] for row in rows if row["city"] == city and row["cost"] < 9 - i]
            for city in TRUTH
        }
        assert cities == {city: (len(costs), sum(costs)) for city, costs in counted.items()}


def a_release_has_one_noise_however_often_its_tasks_run(folder, monkeypatch):
    """Workers draw it; one that dies after it drew some parts draws them again, all the same."""
    monkeypatch.setattr(census_orders, "CHUNK", 64)
    map_parts, tries = SparkSnapshot.map_parts, folder / "tries"
    tries.mkdir()

    def watched(session, select, work, columns, parts):
        assert work.key.hex() not in repr(work)
        assert repr(work.key) not in repr(work)
        return map_parts(session, select, dying(work, tries), columns, parts)

    monkeypatch.setattr(SparkSnapshot, "map_parts", watched)
    with dp.Curator(folder / "c") as curator:
        counted(curator, spark_tables.session())
        made = curator.release(small_census.plan(), folder / "out")
        assert made.random_bytes > 8 * made.release.cells
    stored = {int(p.name[:6]): p.stem[7:] for p in folder.glob("c/releases/*/*.part")}
    drawn = {part: {p.read_text() for p in tries.glob(f"{part}-*")} for part in stored}
    assert drawn == {part: {digest} for part, digest in stored.items()}
    assert len({*stored.values()}) == len(stored) > 8
    assert len(list(tries.glob("1-*"))) > 1  # it was drawn again
    a_release_counts_the_same_as_in_memory(folder, spark_tables.session())

    def refused(*_):
        pytest.fail("work for workers")

    monkeypatch.setattr(census_runs, "_LARGEST_ROW", 1)
    monkeypatch.setattr(SparkSnapshot, "map_parts", refused)  # too large for workers
    (folder / "here").mkdir()
    a_release_counts_the_same_as_in_memory(folder / "here", spark_tables.session())


def a_release_counts_the_same_as_in_memory(folder, where):
    """With hardly any noise; the workers draw it."""
    with dp.Curator.in_memory() as there, small_census.census(dp.Curator.in_memory()) as here:
        counted(there, where)
        for one in (here, there):
            one.raise_budget("people", dp.Budget(epsilon=10**6, delta=1e-5), reason="a test")
        exact = small_census.plan(epsilon=40_000)
        found, wanted = there.release(exact, folder / "a"), here.release(exact, folder / "b")
        assert [found.read(*key) for key in found.files] == [
            wanted.read(*key) for key in wanted.files
        ]


def counted(curator, where):
    """The small census on Spark."""
    tables = {"people": small_census.people(), "places": small_census.GEOGRAPHY}
    for name, rows in tables.items():
        spark_tables.save(name, rows)
    place = spark_tables.place("people")
    small_census.census(curator, where, source_table=place, places=where)


def dying(work, folder):
    """Two parts kill their worker when they are drawn for the first time."""

    def run(batches):
        for batch in work(batches):
            part = batch.column("part")[0].as_py()
            digest = hashlib.sha256(batch.column("counts")[0].as_py()).hexdigest()
            tried = len(list(folder.glob(f"{part}-*")))
            (folder / f"{part}-{tried}").write_text(digest)
            if part in {1, 3} and not tried:
                os._exit(1)
            yield batch

    return run


def rows_that_changed_are_refused(curator):
    spark_tables.save("visits", visits().slice(1))
    with pytest.raises(InputError, match="has changed or is gone"):
        curator.sql(TEXT, epsilon=2)
