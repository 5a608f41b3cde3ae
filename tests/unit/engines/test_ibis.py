"""Ibis carries our SQL and brings rows back: all of the checks pass on DuckDB by way of it."""

import ibis
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines import check_engine, conformance
from discreet.engines.ibis import IbisEngine
from discreet.errors import InputError

TEXT = "SELECT city, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY city"


def connected(tables):
    connection = ibis.duckdb.connect()
    for name, rows in tables.items():
        connection.con.register("incoming", rows)
        quoted = IbisEngine(connection).dialect.identifier(name)
        connection.raw_sql(f"CREATE TABLE {quoted} AS SELECT * FROM incoming")  # noqa: S608 - the test's own
    return connection


def load(schema, tables):
    engine = IbisEngine(connected(tables))
    engine.open(schema, {name: engine.locate(name) for name in tables})
    return engine


@pytest.mark.audit
def test_ibis_over_duckdb_passes_every_check():
    check_engine(load)


def test_ibis_over_duckdb_gives_the_integers_of_the_reference():
    with conformance.opened(load) as engine:
        conformance.check_values(engine)
        conformance.check_questions(engine, slice(0, None, 16))
        conformance.check_sessions(engine)
        conformance.check_failures(engine)
        conformance.check_owner(engine)


@pytest.mark.parametrize("engine", [False, True])
def test_a_table_of_ibis_is_asked_about_and_refused_when_it_changed(engine):
    rows = {"who": [i // 2 for i in range(600)], "cost": [float(i * 7 % 10) for i in range(600)]}
    rows["city"] = ["Austin" if i % 3 else "Haifa" for i in range(600)]
    connection, curator = connected({"visits": pa.table(rows)}), dp.Curator.in_memory()
    curator.add(
        "visits",
        IbisEngine(connection) if engine else connection,
        unit="who",
        budget=dp.Budget(epsilon=10**7, delta=1e-6),
        columns={"city": dp.Keys(["Austin", "Haifa"]), "cost": dp.Bounds(0, 10)},
        limits=dp.Limits(max_groups=2, max_rows=2),
    )
    found = curator.sql(TEXT, epsilon=10**6).table.to_pylist()
    told = {row["city"]: (round(row["n"]), round(row["s"])) for row in found}
    assert told == {"Austin": (400, 1800), "Haifa": (200, 900)}
    connection.raw_sql("DELETE FROM visits WHERE who = 3")
    with pytest.raises(InputError, match="has changed or is gone"):
        curator.sql(TEXT, epsilon=2)


def test_a_warehouse_without_a_tested_dialect_is_refused_and_says_so(tmp_path):
    engine = IbisEngine(ibis.duckdb.connect())
    assert "changes while a question runs" in engine.untested
    with pytest.raises(InputError, match="there is no table"):
        engine.locate("nowhere")
    other = ibis.sqlite.connect(tmp_path / "other.db")
    with pytest.raises(InputError, match="no dialect that was tested"):
        dp.Curator.in_memory().add("t", other, unit="who", budget=dp.Budget(epsilon=1))
    assert "everything on sqlite" in IbisEngine(other, engine.dialect).untested
