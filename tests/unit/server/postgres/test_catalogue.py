"""The catalogue tells what was declared, and is closed."""

import re
from pathlib import Path

import pytest

import discreet as dp
from clinic_curator import add_cities, add_visits
from discreet.server.postgres.catalogue import Catalogue
from discreet.server.postgres.messages import PostgresError

QUERIES = Path(__file__).with_name("catalogue_queries.sql").read_text("utf-8")
"""What clients ask when they connect and when people look around, as they were seen to."""


@pytest.fixture(scope="module")
def catalogue():
    with dp.Curator.in_memory() as curator:
        add_cities(add_visits(curator))
        yield Catalogue(curator.schema, "ann")


def run(catalogue, sql):
    return catalogue.run(sql, {"search_path": "public"}.__getitem__)


@pytest.mark.parametrize("part", re.split(r"(?m)^-- ", QUERIES)[1:], ids=lambda p: p.split("\n")[0])
def test_what_clients_ask_is_answered(catalogue, part):
    title, sql = part.split("\n", 1)
    found = run(catalogue, sql)
    assert found.num_columns
    if "visits" in title:
        assert "visits" in str(found.to_pydict())


def test_only_what_was_declared_is_told(catalogue):
    tables = run(catalogue, "SELECT table_name FROM information_schema.tables ORDER BY 1")
    assert tables.column(0).to_pylist() == ["cities", "visits"]
    columns = run(
        catalogue,
        "SELECT column_name, data_type, is_nullable, col_description(16385, ordinal_position) AS d"
        " FROM information_schema.columns WHERE table_name = 'visits' ORDER BY ordinal_position",
    )
    assert columns.to_pylist()[1] == {
        "column_name": "city",
        "data_type": "text",
        "is_nullable": "NO",
        "d": "one of 3 declared keys",
    }


def test_columns_are_called_as_postgres_calls_them(catalogue):
    said = "SELECT version(), current_schema(), current_user, 1, relname::text, now() FROM pg_class"
    found = run(catalogue, said)
    names = ["version", "current_schema", "current_user", "?column?", "relname", "now"]
    assert found.column_names == names
    assert [row[:3] for row in zip(*found.to_pydict().values(), strict=False)]
    assert found.column(0)[0].as_py() == "PostgreSQL 16.0 (discreet)"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT read_text('/etc/passwd')",
        "SELECT * FROM glob('/*')",
        "SELECT getenv('HOME')",
        "SELECT * FROM duckdb_settings()",
        "SELECT * FROM pg_read_file('/etc/passwd')",
        "SELECT repeat('x', 1000000000)",
        "SELECT lpad('x', 1000000000, 'x')",
        "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT * FROM t",
        "COPY pg_class TO '/tmp/x'",
        "ATTACH '/tmp/x.db'",
        "SET enable_external_access = true",
        "CREATE TABLE t (a int)",
        "INSERT INTO declared VALUES (1, 'x', 'y')",
        "SELECT 1; SELECT 2",
        "SELECT",
        "SELECT nosuch FROM pg_class",
        "SELECT " + "(" * 3000 + "1" + ")" * 3000,
    ],
)
def test_nothing_else_can_be_done_with_it(catalogue, sql):
    with pytest.raises(PostgresError) as told:
        run(catalogue, sql)
    assert told.value.state in {"0A000", "42883"}
    assert "passwd" not in str(told.value)


def test_texts_do_not_grow_without_end(catalogue):
    sql = "SELECT 'aaaaaaaaaa' AS x"
    for depth in range(12):
        sql = f"SELECT x || x || x || x || x AS x FROM ({sql}) AS t{depth}"  # noqa: S608
    assert len(run(catalogue, sql).column(0)[0].as_py()) == 2000


def test_texts_do_not_grow_by_what_is_replaced(catalogue):
    sql = f"'{'a' * 1000}'"
    for _ in range(3):  # 10^12 letters, if nothing bounds them
        sql = f"regexp_replace(replace({sql}, 'a', '{'a' * 1000}'), 'a', '{'a' * 1000}', 'g')"
    assert len(run(catalogue, f"SELECT {sql} AS x").column(0)[0].as_py()) == 2000


@pytest.mark.parametrize(
    "sql",
    [
        " UNION ALL ".join(["SELECT 1"] * 200),
        "SELECT 1 FROM pg_am AS t " + "JOIN pg_type AS u USING (oid) " * 150,
        "SELECT concat(" + "relname, " * 50 + "'') FROM pg_class",
        "SELECT " + " || ".join(["'a'"] * 100),
        "SELECT " + "*, " * 50 + "* FROM pg_class",
        f"SELECT length('{'a' * 9000}')",
    ],
    ids=["unions", "joins", "parts", "texts", "stars", "literal"],
)
def test_what_could_not_be_planned_in_time_is_not_begun(catalogue, sql):
    with pytest.raises(PostgresError) as told:
        run(catalogue, sql)
    assert told.value.state == "54001"


@pytest.mark.parametrize(
    "sql",
    [
        "WITH x AS (INSERT INTO declared VALUES (1, 'a', 'b') RETURNING *) SELECT * FROM x",
        "WITH x AS (DELETE FROM pg_catalog.pg_type RETURNING oid) SELECT * FROM x",
        "WITH x AS (UPDATE session SET usr = 'eve' RETURNING usr) SELECT * FROM x",
        "SELECT oid INTO kept FROM pg_type",
        "SELECT * FROM pg_am, (DESCRIBE declared) AS t",
    ],
)
def test_nothing_in_it_can_be_changed(catalogue, sql):
    with pytest.raises(PostgresError) as told:
        run(catalogue, sql)
    assert told.value.state == "25006"
    assert run(catalogue, "SELECT count(*) FROM pg_type").column(0)[0].as_py() > 0
    assert run(catalogue, "SELECT count(*) FROM pg_tables").column(0)[0].as_py() == 2


@pytest.mark.parametrize("sql", ["'discreet.epsilon', '0.5', false", "'a'"])
def test_no_price_is_said_to_be_set_that_is_not(catalogue, sql):
    with pytest.raises(PostgresError) as told:
        run(catalogue, f"SELECT set_config({sql})")
    assert told.value.state == "0A000"
    assert run(catalogue, "SELECT set_config('search_path', '', false)").num_rows == 1


def test_what_takes_too_long_is_stopped(catalogue, monkeypatch):
    monkeypatch.setattr("discreet.server.postgres.catalogue.SECONDS", 0.2)
    many = ", ".join(f"pg_type AS t{n}" for n in range(9))
    with pytest.raises(PostgresError) as told:
        run(catalogue, f"SELECT count(*) FROM {many}")  # noqa: S608
    assert told.value.state == "57014"


def test_many_rows_are_cut(catalogue):
    found = run(catalogue, "SELECT * FROM pg_type AS a, pg_type AS b, pg_type AS c, pg_type AS d")
    assert found.num_rows == 50_000
