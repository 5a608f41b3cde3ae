"""Postgres: the same integers as everywhere, from tables that are read where they are."""

# ruff: noqa: S608 - the statements are the tests' own

import datetime as dt
import threading
import time

import psycopg
import pyarrow as pa
import pytest

import discreet as dp
import postgres_tables
import remote_orders
from discreet.engines import check_engine
from discreet.engines.postgres import PostgresEngine, PostgresSnapshot, check_address
from discreet.engines.postgres_arithmetic import double, guarded
from discreet.engines.timing import Deadline
from discreet.errors import EngineError, InputError, LedgerError, QueryRefused, ServiceError
from discreet.plan.expressions import Function
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.schema import EachRow, Schema, Table
from discreet.sql.writer.dialect import view_name
from postgres_server import empty_database, start

TEXT = "SELECT city, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY city"


@pytest.fixture(scope="module")
def address():
    return empty_database(start())


@pytest.fixture
def owner(address):
    """Somebody who may change tables, in a schema that ends with the test."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        connection.execute("DROP SCHEMA IF EXISTS clinic CASCADE")
        connection.execute("CREATE SCHEMA clinic")
        yield connection
        connection.execute("DROP SCHEMA clinic CASCADE")


@pytest.fixture
def visits(owner):
    owner.execute("CREATE TABLE clinic.visits (who bigint, city text, cost double precision)")
    owner.execute(
        "INSERT INTO clinic.visits SELECT i / 2, CASE WHEN i % 3 = 0 THEN 'Haifa' ELSE 'Austin' "
        "END, i % 10 FROM generate_series(0, 999) AS g(i)"
    )
    return owner


def add(curator, address, **said):
    curator.add(
        "visits",
        address,
        source_table="clinic.visits",
        unit="who",
        budget=dp.Budget(epsilon=10**7, delta=1e-6),
        columns={"city": dp.Keys(["Austin", "Haifa"]), "cost": dp.Bounds(0, 10)},
        limits=dp.Limits(max_groups=2, max_rows=2),
        **said,
    )


def rounded(answer):
    return {row["city"]: (round(row["n"]), round(row["s"])) for row in answer.table.to_pylist()}


TRUTH = {"Austin": (666, 2997), "Haifa": (334, 1503)}


def test_postgres_passes_every_check(address):
    def change(_, name):
        with psycopg.connect(address) as other:
            other.execute(f"DELETE FROM {postgres_tables.place(name)}")

    check_engine(lambda *tables: postgres_tables.load(address, *tables), change)


# --- values ---------------------------------------------------------------------------------------

STORED = {
    "a numeric(12,2)": (["1.25", "-0.01", "NaN"], Kind.REAL, [1.25, -0.01, None]),
    "b numeric": (["1e400", "1e-400", "0.1"], Kind.REAL, [None, 0.0, 0.1]),
    "c numeric(30,0)": ([str(2**63), "7", "-1"], Kind.INTEGER, [None, 7, -1]),
    "d real": (["0.1", "NaN", "-Infinity"], Kind.REAL, [0.10000000149011612, None, None]),
    "e smallint": (["-32768", "0", "32767"], Kind.INTEGER, [-32768, 0, 32767]),
    "f char(4)": (["ab", "", "é"], Kind.TEXT, ["ab", "", "é"]),
    "g uuid": (["0" * 32] * 3, Kind.TEXT, ["00000000-0000-0000-0000-000000000000"] * 3),
    "h clinic.mood": (["sad", "ok", None], Kind.TEXT, ["sad", "ok", None]),
    "i clinic.age": (["1", "2", "3"], Kind.INTEGER, [1, 2, 3]),
    "j date": (
        ["infinity", "0044-03-15 BC", "1969-12-31"],
        Kind.DATE,
        [None, None, dt.date(1969, 12, 31)],
    ),
    "k timestamp": (
        ["-infinity", "9999-12-31 23:59:59.999999", "10000-01-01"],
        Kind.TIMESTAMP,
        [None, dt.datetime(9999, 12, 31, 23, 59, 59, 999_999), None],  # noqa: DTZ001
    ),
    "l timestamptz": (
        ["2024-03-31 01:30:00+02", "2024-03-31 12:00:00 America/New_York", "infinity"],
        Kind.TIMESTAMP,
        [dt.datetime(2024, 3, 30, 23, 30), dt.datetime(2024, 3, 31, 16), None],  # noqa: DTZ001
    ),
}


def test_every_stored_type_is_read_as_one_of_our_kinds(address, owner):
    owner.execute("CREATE TYPE clinic.mood AS ENUM ('sad', 'ok')")
    owner.execute("CREATE DOMAIN clinic.age AS integer")
    owner.execute(f"CREATE TABLE clinic.typed ({', '.join(STORED)}, blob bytea)")
    columns = {said.split()[0]: Type(kind) for said, (_, kind, _) in STORED.items()}
    for row in range(3):
        values = [stored[row] for stored, _, _ in STORED.values()]
        marks = ", ".join(f"CAST(%s AS {said.split(' ', 1)[1]})" for said in STORED)
        owner.execute(f"INSERT INTO clinic.typed VALUES ({marks})", values)
    engine = PostgresEngine(address)
    kinds = engine.describe("clinic.typed").kinds
    assert {name: Type(kind) for name, kind in kinds.items()} == columns
    schema = Schema({"typed": Table("typed", columns, EachRow())})
    engine.open(schema, {"typed": "clinic.typed"})
    with engine.snapshot() as session:
        shown = ", ".join(columns)
        found = list(session.stream(f"SELECT {shown} FROM {view_name('typed', engine.dialect)}"))
    for name, (_, _, meant) in zip(columns, STORED.values(), strict=True):
        values = pa.Table.from_batches(found).column(name).to_pylist()
        assert sorted(values, key=repr) == sorted(meant, key=repr), name


@pytest.mark.parametrize("function", [Function.ADD, Function.MULTIPLY, Function.DIVIDE])
def test_arithmetic_at_the_ends_of_the_doubles_is_that_of_ieee(address, function):
    top, least = 1.7976931348623157e308, 5e-324
    sizes = [0.0, least, 2.0**-1022, 2.0**-538, 2.0**-537, 0.5, 1.0, 1 + 2**-52, 3.0]
    sizes += [2.0**512, 2.0**969, 2.0**970, 2.0**971, 2.0**1023, top / 2, top]
    values = [*sizes, *(-x for x in sizes)]
    forms = {"y": guarded(function, "x", "y")}
    forms |= {repr(y): guarded(function, "x", double(y)) for y in values}
    rows = ", ".join(f"({double(x)}, {double(y)})" for x in values for y in values)
    with psycopg.connect(address) as connection:
        for form, text in forms.items():
            select = f"SELECT x, y, {text} FROM (VALUES {rows} OFFSET 0) AS t(x, y)"
            for x, y, found in connection.execute(select):
                meant = ieee(function, x, y if form == "y" else float(form))
                assert found == meant or not (abs(found) <= top or abs(meant) <= top), (x, y, form)


def ieee(function, x, y):
    if function is Function.DIVIDE:
        with pytest.MonkeyPatch.context():
            import numpy as np

            with np.errstate(all="ignore"):
                return float(np.float64(x) / np.float64(y)) if y else float("nan")
    return x + y if function is Function.ADD else x * y


def test_texts_are_compared_by_code_point_whatever_the_collation(address, owner):
    owner.execute('CREATE TABLE clinic.named (who int, t text COLLATE "unicode")')
    texts = ["a", "B", "Z", "é", "e\u0301", "ß", "😀", "\uffff"]
    owner.cursor().executemany("INSERT INTO clinic.named VALUES (1, %s)", [(t,) for t in texts])
    engine = PostgresEngine(address)
    columns = {"who": Type(Kind.INTEGER), "t": Type(Kind.TEXT)}
    engine.open(Schema({"named": Table("named", columns, EachRow())}), {"named": "clinic.named"})
    with engine.snapshot() as session:
        view = view_name("named", engine.dialect)
        (batch,) = session.stream(f"SELECT t FROM {view} ORDER BY 1")
    assert batch.column(0).to_pylist() == sorted(texts)


def test_names_that_the_engine_would_cut_stay_apart():
    names = {PostgresEngine.dialect.identifier("x" * 70 + end) for end in "abc"}
    assert len(names) == 3
    assert PostgresEngine.dialect.identifier("x" * 63) == f'"{"x" * 63}"'
    assert max(map(len, names)) <= 63


# --- sessions -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("visits")
def test_a_session_can_write_nothing(address):
    engine = PostgresEngine(address)
    for statement in ("DELETE FROM clinic.visits", "CREATE TEMP TABLE t (i int)"):
        with engine.snapshot() as session, pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            session._connection.execute(statement)


def test_a_statement_is_stopped_in_time(address):
    until = Deadline(time.monotonic() + 600)
    threading.Timer(0.3, until.cancel).start()
    began = time.monotonic()
    endless = "SELECT COUNT(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b"
    with PostgresEngine(address).snapshot(until) as session, pytest.raises(EngineError):
        list(session.stream(endless))
    assert time.monotonic() < began + 60


def test_many_groups_come_a_batch_at_a_time(address):
    with PostgresEngine(address).snapshot() as session:
        found = session.stream("SELECT n FROM generate_series(1, 50000) AS n")
        sizes = [one.num_rows for one in found]
    assert sum(sizes) == 50_000
    assert max(sizes) <= 1 << 14


def test_a_database_that_is_not_there_is_a_service_that_cannot_be_reached():
    with pytest.raises(ServiceError, match="ask the same again"):
        PostgresEngine("postgresql://127.0.0.1:1/nowhere").describe("visits")


# --- the curator ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("visits")
def test_a_table_is_asked_about_where_it_is(address, tmp_path):
    curator = dp.Curator(tmp_path / "c")
    add(curator, address)
    answer = curator.sql(TEXT, epsilon=10**6)
    assert rounded(answer) == TRUTH
    again = dp.Curator(tmp_path / "c")
    assert again.sql(TEXT, epsilon=10**6).to_bytes() == answer.to_bytes()
    assert "float8" not in repr(curator.explain(TEXT, epsilon=1))
    assert rounded(again.sql(TEXT, epsilon=10**6 - 1)) == TRUTH


def test_the_same_rows_are_the_same_version_and_others_are_refused(address, visits, tmp_path):
    curator = dp.Curator(tmp_path / "c")
    add(curator, address)
    visits.execute("UPDATE clinic.visits SET cost = cost")
    settle(visits)
    assert rounded(curator.sql(TEXT, epsilon=10**6)) == TRUTH
    visits.execute("UPDATE clinic.visits SET cost = cost + 1 WHERE who = 7")
    settle(visits)
    with pytest.raises(InputError, match="has changed or is gone"):
        curator.sql(TEXT, epsilon=2)
    visits.execute("UPDATE clinic.visits SET cost = cost - 1 WHERE who = 7")
    settle(visits)
    assert rounded(curator.sql(TEXT, epsilon=10**6 - 1)) == TRUTH


def test_rows_are_digested_when_the_counters_of_the_server_move_and_not_before(
    address, visits, monkeypatch
):
    curator, plain, made = dp.Curator.in_memory(), PostgresEngine.digest, []
    add(curator, address)
    settle(visits)
    curator.sql(TEXT, epsilon=1)

    def digest(engine, name):
        made.append(plain(engine, name))
        return made[-1]

    monkeypatch.setattr(PostgresEngine, "digest", digest)
    for epsilon in (2, 3, 4):
        curator.sql(TEXT, epsilon=epsilon)
    assert made == []
    visits.execute("UPDATE clinic.visits SET cost = cost")
    settle(visits)
    for epsilon in (5, 6):
        curator.sql(TEXT, epsilon=epsilon)
    assert len(made) == 1


def ask_before_and_after(address, owner, change, **columns):
    """What is said about the table clinic.t once a statement has changed it."""
    curator = dp.Curator.in_memory()
    curator.add(
        "t",
        address,
        source_table="clinic.t",
        unit="who",
        budget=dp.Budget(epsilon=10**7, delta=1e-6),
        columns=columns,
    )
    settle(owner)
    assert round(curator.sql("SELECT COUNT(*) AS n FROM t", epsilon=10**5).table["n"][0].as_py())
    owner.execute(change)
    settle(owner)
    with pytest.raises(InputError, match="has changed or is gone"):
        curator.sql("SELECT COUNT(*) AS n FROM t", epsilon=2)


def test_rows_that_pass_to_other_people_are_other_rows(address, owner):
    owner.execute("CREATE TABLE clinic.t AS SELECT i AS who FROM generate_series(1, 50) AS g(i)")
    ask_before_and_after(address, owner, "UPDATE clinic.t SET who = 50", who=dp.Bounds(0, 10))
    owner.execute("DROP TABLE clinic.t")
    owner.execute("CREATE TABLE clinic.t AS SELECT repeat('a', 50000) || 'b' AS who")
    ask_before_and_after(address, owner, "UPDATE clinic.t SET who = repeat('a', 50000) || 'c'")


def test_rows_of_partitions_heirs_and_views_are_looked_at(address, owner):
    owner.execute("CREATE TABLE clinic.t (who int)")
    owner.execute("CREATE TABLE clinic.heir () INHERITS (clinic.t)")
    owner.execute("INSERT INTO clinic.heir VALUES (1)")
    ask_before_and_after(address, owner, "INSERT INTO clinic.heir VALUES (2)")
    owner.execute("DROP TABLE clinic.t CASCADE")
    owner.execute("CREATE TABLE clinic.t (who int) PARTITION BY LIST (who)")
    owner.execute("CREATE TABLE clinic.one PARTITION OF clinic.t DEFAULT")
    owner.execute("INSERT INTO clinic.one VALUES (1)")
    ask_before_and_after(address, owner, "INSERT INTO clinic.one VALUES (2)")
    owner.execute("DROP TABLE clinic.t CASCADE")
    owner.execute("CREATE SEQUENCE clinic.clock")
    owner.execute("CREATE VIEW clinic.t AS SELECT last_value::int AS who FROM clinic.clock")
    ask_before_and_after(address, owner, "SELECT setval('clinic.clock', 2)")  # is no transaction


def test_a_table_that_is_gone_or_lost_a_column_stops_no_other(address, visits, tmp_path):
    curator = dp.Curator(tmp_path / "c")
    add(curator, address)
    visits.execute("CREATE TABLE clinic.odd AS SELECT 1 AS who, 1 AS x")
    curator.add("odd", address, source_table="clinic.odd", unit="who", budget=dp.Budget(epsilon=9))
    for statement in ("ALTER TABLE clinic.odd DROP COLUMN x", "DROP TABLE clinic.odd"):
        visits.execute(statement)
        again = dp.Curator(tmp_path / "c")
        assert rounded(again.sql(TEXT, epsilon=10**6)) == TRUTH
        with pytest.raises(InputError, match=r"no column x|no table 'clinic\.odd'"):
            again.sql("SELECT COUNT(*) AS n FROM odd", epsilon=1)
        with pytest.raises(LedgerError, match="not what was added"):
            again.check_tables()


def test_the_ledger_is_not_told_how_many_rows_there_are(address, visits):
    engine = PostgresEngine(address)
    columns = {"who": Type(Kind.INTEGER)}
    engine.open(
        Schema({"visits": Table("visits", columns, EachRow())}), {"visits": "clinic.visits"}
    )
    assert len(engine.digest("visits")) == 32
    before = engine.digest("visits")
    visits.execute("INSERT INTO clinic.visits SELECT * FROM clinic.visits")
    assert engine.digest("visits") != before


def settle(connection):
    """Counters are published with a delay, and at once where the connection asks for it."""
    connection.execute("SELECT pg_stat_force_next_flush()")
    connection.execute("SELECT 1")


def test_a_label_stands_for_rows(address, visits):
    curator = dp.Curator.in_memory()
    add(curator, address, version_label="2026-11")
    visits.execute("UPDATE clinic.visits SET cost = cost")
    settle(visits)
    assert rounded(curator.sql(TEXT, epsilon=10**6)) == TRUTH
    with pytest.raises(InputError, match="version label"):
        curator.add(
            "other",
            pa.table({"who": [1]}),
            unit="who",
            budget=dp.Budget(epsilon=1),
            version_label="1",
        )


def test_a_connection_that_is_dropped_in_mid_question_costs_one_charge(
    address, visits, monkeypatch
):
    curator = dp.Curator.in_memory()
    add(curator, address)
    streamed, plain = [], PostgresSnapshot.stream

    def drop(session, select, most=None):
        streamed.append(select)
        if len(streamed) == 1:
            visits.execute(
                "SELECT pg_terminate_backend(%s)", (session._connection.info.backend_pid,)
            )
        return plain(session, select, most)

    monkeypatch.setattr(PostgresSnapshot, "stream", drop)
    with pytest.raises(ServiceError) as lost:
        curator.sql(TEXT, epsilon=10**6)
    assert lost.value.__context__ is None
    spent = curator.budget("visits").spent
    assert spent[0] > 0
    answer = curator.sql(TEXT, epsilon=10**6)
    assert rounded(answer) == TRUTH
    assert curator.sql(TEXT, epsilon=10**6).to_bytes() == answer.to_bytes()
    assert curator.budget("visits").spent == spent
    assert len(streamed) > 1


@pytest.mark.usefixtures("visits")
def test_questions_run_side_by_side(address):
    curator = dp.Curator.in_memory()
    add(curator, address)
    found = [None] * 6

    def ask(i):
        found[i] = rounded(curator.sql(TEXT, epsilon=10**6 - i))

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(found))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == [TRUTH] * len(found)


@pytest.mark.usefixtures("visits")
def test_passwords_are_refused_and_never_kept(address, tmp_path, monkeypatch):
    for said in ("postgresql://ann:secret@h/d", "postgresql://h/d?password=secret"):
        with pytest.raises(InputError, match="PGPASSWORD") as refused:
            check_address(said)
        assert "secret" not in str(refused.value)
    with pytest.raises(InputError, match="cannot be read"):
        check_address("postgresql://[h/d")
    monkeypatch.setenv("PGPASSWORD", "canary-7777")
    curator = dp.Curator(tmp_path / "c")
    add(curator, address)
    curator.sql(TEXT, epsilon=1)
    kept = [one.read_bytes() for one in (tmp_path / "c").rglob("*") if one.is_file()]
    assert kept
    assert not any(b"canary-7777" in one for one in kept)


@pytest.mark.usefixtures("visits")
def test_one_dataset_lives_on_one_engine(address):
    curator = dp.Curator.in_memory()
    add(curator, address)
    rows = pa.table({"who": [1], "x": [1]})
    with pytest.raises(InputError, match="lives on one engine"):
        curator.add("more", rows, unit="who", dataset="visits")
    curator.add_public("places", pa.table({"city": ["Haifa"], "size": [3]}), key="city")
    with pytest.raises(QueryRefused, match="several engines"):
        curator.sql("SELECT COUNT(*) FROM visits JOIN places USING (city)", epsilon=1)
    with pytest.raises(QueryRefused, match="character 0"):
        curator.sql("SELECT COUNT(*) FROM visits WHERE CAST(city AS TEXT) = 'a\0'", epsilon=1)
    runs = "SELECT COUNT(*) FROM visits WHERE REGEXP_EXTRACT(city::TEXT, '[A-Z]+9') = 'A9'"
    for asked in (curator.explain, curator.sql):
        with pytest.raises(QueryRefused, match="Postgres may try it from every character"):
            asked(runs, epsilon=1)
    assert curator.budget("visits").spent == (0, 0)
    with pytest.raises(InputError, match="there is no table"):
        curator.add(
            "gone",
            address,
            source_table="clinic.gone",
            unit="who",
            budget=dp.Budget(epsilon=1),
        )


def test_a_standing_question_about_a_server_is_refused_before_it_is_charged(address, owner):
    owner.execute("CREATE TABLE clinic.days (who int, day date)")
    curator = dp.Curator.in_memory()
    curator.add(
        "days",
        address,
        source_table="clinic.days",
        unit="who",
        budget=dp.Budget(epsilon=9, delta=1e-6),
        columns={"day": dp.Bounds(dt.date(2026, 1, 1), dt.date(2026, 1, 31))},
    )
    text, until = "SELECT COUNT(*) AS n FROM days", dt.date(2026, 1, 20)
    with pytest.raises(QueryRefused, match="table on a server"):
        curator.watch(text, every="day", until=until, epsilon=5, max_periods=2)
    assert curator.budget("days").spent[0] == 0


def test_numbers_are_clamped_as_they_are_declared(address, owner):
    owner.execute("CREATE TABLE clinic.wild (who int, x double precision, y numeric(9,0))")
    rows = "(1, 1e300, 7), (2, 'NaN', 'NaN'), (3, 5e-324, NULL), (4, NULL, -7)"
    owner.execute(f"INSERT INTO clinic.wild VALUES {rows}")
    engine = PostgresEngine(address)
    bounded = Type(Kind.REAL, range=Range(-1, 1))
    columns = {"who": Type(Kind.INTEGER), "x": bounded, "y": bounded}
    engine.open(Schema({"wild": Table("wild", columns, EachRow())}), {"wild": "clinic.wild"})
    with engine.snapshot() as session:
        view = view_name("wild", engine.dialect)
        (batch,) = session.stream(f"SELECT x, y FROM {view} ORDER BY who")
    assert batch.column(0).to_pylist() == [1.0, None, 5e-324, None]
    assert batch.column(1).to_pylist() == [1.0, None, None, -1.0]


def test_models_and_synthetic_tables_are_the_same_bytes_as_in_memory(address):
    postgres_tables.copy_in(address, {"visits": remote_orders.visits()})
    found = remote_orders.outcomes(address, source_table=postgres_tables.place("visits"))
    assert found == remote_orders.outcomes(remote_orders.visits())
