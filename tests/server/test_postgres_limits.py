"""Postgres clients have the same permissions, limits and ticks as HTTP clients."""

import contextlib
import dataclasses
import socket
import ssl
import struct
import threading
import time

import psycopg
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

import discreet as dp
from clinic_curator import add_cities, add_visits
from discreet.answer.measurement_plan import MeasurementPlan
from discreet.cli import main
from discreet.errors import EngineError
from discreet.server import tokens
from discreet.server.postgres import answering
from free_ports import free_port
from postgres_client import WireClient, errors, fields, message, startup
from running_server import QUICK, served, serving
from visits_folder import CANARY, CANARY_TEXT, make

COUNT = "SELECT COUNT(*) AS n FROM visits"
BRIEF = dataclasses.replace(QUICK, body_timeout=3.0)
SCRAM = b"SCRAM-SHA-256\0"
OSLO = struct.pack("!i", 4) + b"Oslo" + struct.pack("!h", 0)


def curator_of(**other):
    return add_cities(
        add_visits(dp.Curator.in_memory(), budget=dp.Budget(epsilon=1000, delta=1e-3), **other)
    )


@pytest.fixture(scope="module")
def server():
    with curator_of() as curator, served(curator, settings=BRIEF, postgres=True) as server:
        yield server


@pytest.fixture(scope="module")
def password(server):
    return server.token("ann", "analyst")


def connect(server, password, user="ann", **more):
    said = {"host": "127.0.0.1", "port": server.postgres, "user": user, "dbname": "discreet"}
    more = {"options": "-c discreet.epsilon=0.1", "autocommit": True, **more}
    return psycopg.connect(**{**said, **more}, password=password)


def spent(server):
    return server.app.state.app_state.curator.budget("visits").spent


# --- who ----------------------------------------------------------------------------------------


def test_all_who_are_not_let_in_are_told_the_same(server, password):
    revoked = tokens.issue(server.access, "bob", "analyst")
    tokens.revoke(server.access, revoked.token.id)
    said = set()
    for user, text in (
        ("ann", password + "x"),
        ("ann", "dpt_x_y"),
        ("nobody", password),
        ("bob", revoked.text),
        ("ann", revoked.text),
    ):
        with pytest.raises(psycopg.OperationalError) as told:
            connect(server, text, user)
        said.add(str(told.value).partition("FATAL")[2])
    assert len(said) == 1
    assert "dpt_x_y" not in said.pop()


def test_a_token_that_is_revoked_ends_what_it_is_used_for(server):
    made = tokens.issue(server.access, "cyd", "analyst")
    with connect(server, made.text, "cyd") as connection:
        connection.execute(COUNT)
        tokens.revoke(server.access, made.token.id)
        for asked in (COUNT, "SELECT * FROM pg_class"):
            with pytest.raises(psycopg.errors.InvalidAuthorizationSpecification):
                connection.execute(asked)


def test_an_auditor_sees_the_catalogue_and_asks_nothing(server):
    with connect(server, server.token("eve", "auditor"), "eve") as connection:
        assert connection.execute("SELECT * FROM pg_tables").fetchall()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(COUNT)


def test_a_token_tells_and_answers_about_its_own_datasets_alone():
    with curator_of() as curator:
        people = {"unit": "id", "budget": dp.Budget(epsilon=3), "limits": dp.Limits(1, 1)}
        curator.add("secret", pd_table(), **people)
        with served(curator, postgres=True) as server:
            narrow = server.token("ann", "analyst", datasets=["visits"])
            with connect(server, narrow) as connection:
                found = connection.execute("SELECT tablename FROM pg_tables").fetchall()
                assert ("visits",) in found
                assert ("secret",) not in found
                with pytest.raises(psycopg.errors.UndefinedTable):
                    connection.execute("SELECT COUNT(*) FROM secret")


def pd_table():
    return pa.table({"id": range(50)})


def test_a_default_epsilon_comes_with_a_token(server):
    owner = server.token()
    wanted = {"name": "bi", "role": "analyst", "epsilon": "0.05"}
    made = server.post("/v1/tokens", token=owner, json=wanted).json()["token"]
    with connect(server, made, "bi", options="") as connection:
        assert connection.execute("SHOW discreet.epsilon").fetchone() == ("0.05",)
        assert connection.execute(COUNT).fetchone()
    with connect(server, server.token("dan", "analyst"), "dan", options="") as connection:
        with pytest.raises(psycopg.errors.InvalidParameterValue) as told:
            connection.execute(COUNT)
        assert told.value.diag.message_hint == "SET discreet.epsilon = 0.1"


# --- encryption ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def secure(certificate):
    how = {"settings": BRIEF, "tls": certificate, "postgres": True}
    with curator_of() as curator, served(curator, **how) as server:
        yield server


def test_encrypted_connections_are_bound_to_the_certificate(secure, certificate):
    password = secure.token("ann", "analyst")
    checked = {"host": "localhost", "sslmode": "verify-full", "sslrootcert": str(certificate[0])}
    for more in ({}, {"channel_binding": "require"}, {"channel_binding": "disable"}):
        with connect(secure, password, **checked, **more) as connection:
            assert connection.pgconn.ssl_in_use
            assert connection.execute(COUNT).fetchone()


def test_nothing_is_said_in_the_open_where_there_is_a_certificate(secure):
    with pytest.raises(psycopg.OperationalError, match="sslmode=require"):
        connect(secure, secure.token("bob", "analyst"), "bob", sslmode="disable")


def test_what_is_sent_ahead_of_encryption_is_not_believed(secure):
    """Whoever sits in between could put a statement there, which the client never sent."""
    with WireClient(secure.postgres) as client:
        client.send(struct.pack("!ii", 8, (1234 << 16) + 5679), startup("ann"))
        with contextlib.suppress(ConnectionError):
            assert client.exactly(1) == b"E"


def test_a_handshake_that_fails_ends_the_connection(secure):
    with WireClient(secure.postgres) as client:
        client.send(struct.pack("!ii", 8, (1234 << 16) + 5679))
        assert client.exactly(1) == b"S"
        client.send(b"this is no handshake" * 10)
        with contextlib.suppress(ConnectionError):
            while client.socket.recv(1024):
                pass
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with WireClient(secure.postgres) as client:
        client.send(struct.pack("!ii", 8, (1234 << 16) + 5679))
        assert client.exactly(1) == b"S"
        with context.wrap_socket(client.socket) as encrypted:
            client.socket = encrypted
            client.send(struct.pack("!ii", 8, (1234 << 16) + 5679))
            assert client.exactly(1) == b"N"  # once is enough


# --- the same service ---------------------------------------------------------------------------


def test_what_was_asked_over_http_is_free_here_and_the_other_way_round(server, password):
    asked = COUNT + " WHERE amount > 7"
    body = {"sql": asked, "epsilon": "0.1"}
    told = server.post("/v1/queries", token=password, json=body).json()["rows"]
    before = spent(server)
    with connect(server, password) as connection:
        assert [list(row) for row in connection.execute(asked).fetchall()] == told
        other = connection.execute(COUNT + " WHERE amount > 8").fetchall()
        after = spent(server)
        assert after > before
        body = {"sql": COUNT + " WHERE amount > 8", "epsilon": "0.1"}
        again = server.post("/v1/queries", token=password, json=body).json()
    assert again["rows"] == [list(row) for row in other]
    assert again["charged"] is False
    assert spent(server) == after


def test_describing_preparing_and_refusing_cost_nothing(server, password):
    before = spent(server)
    with WireClient(server.postgres).log_in(password, options="-c discreet.epsilon=0.1") as client:
        asked = COUNT.encode() + b" AS v WHERE v.city = $2 AND amount < $1\0"
        parse = message(b"P", b"s\0" + asked + struct.pack("!hi", 1, 23))
        bind = message(b"B", b"p\0s\0" + struct.pack("!hhi", 0, 2, 2) + b"42" + OSLO)
        client.send(parse, message(b"D", b"Ss\0"), bind, message(b"D", b"Pp\0"), message(b"S"))
        kinds = [kind for kind, _ in client.until(b"Z")]
        assert kinds == [b"1", b"t", b"T", b"2", b"T", b"Z"]
        assert errors(client.query("SELECT city FROM visits"))
    assert spent(server) == before


def test_answers_and_refusals_leave_on_a_tick():
    slow = dataclasses.replace(QUICK, quantum=0.5, steps=(0.5, 4.0))
    with (
        curator_of() as curator,
        served(curator, settings=slow, postgres=True) as server,
        connect(server, server.token("ann", "analyst")) as connection,
    ):
        connection.execute(COUNT)
        for asked in (COUNT, "SELECT nope FROM visits", "SELECT city FROM visits"):
            begun = time.monotonic()
            with contextlib.suppress(psycopg.Error):
                connection.execute(asked)
            assert time.monotonic() - begun >= 0.49


def test_the_rate_of_a_name_is_one_for_both_protocols_and_slows_clients_down():
    slow = dataclasses.replace(QUICK, rate=1.0, burst=4)
    with curator_of() as curator, served(curator, settings=slow, postgres=True) as server:
        token = server.token("ann", "analyst")
        with connect(server, token) as connection:
            begun = time.monotonic()
            for _ in range(6):
                connection.execute("SELECT 1")
            assert time.monotonic() - begun >= 1.5
            replies = [server.get("/v1/me", token=token).status for _ in range(5)]
        assert 429 in replies


# --- giving up ----------------------------------------------------------------------------------


def test_a_statement_is_cancelled_and_the_charge_stays(monkeypatch):
    begun, measure = threading.Event(), MeasurementPlan.measure

    def until_it_is_stopped(*question):
        begun.set()
        while time.monotonic() < question[-1].moment:
            time.sleep(0.01)
        raise EngineError("it was stopped", why="its time was over", fix="none")

    monkeypatch.setattr(MeasurementPlan, "measure", until_it_is_stopped)
    with (
        curator_of() as curator,
        served(curator, postgres=True) as server,
        connect(server, server.token("ann", "analyst")) as connection,
    ):
        before = spent(server)
        giving_up = threading.Thread(target=lambda: begun.wait(60) and connection.cancel_safe())
        giving_up.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute(COUNT)
        giving_up.join()
        once = spent(server)
        assert once > before
        work, end = server.app.state.app_state.work, time.monotonic() + 60
        while work._held and time.monotonic() < end:
            time.sleep(0.01)
        assert not work._held  # nobody computes it any longer
        monkeypatch.setattr(MeasurementPlan, "measure", measure)
        with pytest.raises(psycopg.errors.SystemError, match="cancelled"):
            connection.execute(COUNT)  # it was given up for ever
        assert spent(server) == once
        assert isinstance(connection.execute(f"{COUNT} WHERE amount > 1").fetchone()[0], int)


def test_what_is_about_public_tables_alone_is_exact_and_free(server, password):
    asked = "SELECT COUNT(*) AS n FROM cities"
    before = spent(server)
    with connect(server, password, options="") as connection:
        found = connection.execute(asked)
        assert [one.type_code for one in found.description] == [20]
        [[count]] = found.fetchall()
        assert count > 1
        assert connection.execute(asked, prepare=True).fetchone() == (count,)
        assert "free" in connection.execute(f"EXPLAIN {asked}").fetchone()[0]
        assert connection.execute(f"{asked} LIMIT 0").fetchall() == []
        with pytest.raises(psycopg.errors.UndefinedColumn) as told:
            connection.execute("SELECT nope FROM cities")
        assert told.value.diag.statement_position == "8"
    assert spent(server) == before


def test_a_large_answer_is_sent_from_a_file(monkeypatch):
    monkeypatch.setattr(answering, "LARGE", 8)
    table = pa.table({"0": list(range(9000)), "1": ["a"] * 9000})
    found = answering._spilled(table)
    assert found == table
    assert found["0"].num_chunks == 3
    assert answering._spilled(table.slice(0, 0)).num_rows == 0


def test_a_key_that_nobody_has_cancels_nothing(server):
    password = server.token("hal", "analyst")
    with WireClient(server.postgres).log_in(password, "hal") as client:
        process, secret = struct.unpack("!ii", client.key)
        for wrong in ((process, secret ^ 1), (process ^ 1, secret), (0, 0)):
            with WireClient(server.postgres) as other:
                other.send(struct.pack("!iiii", 16, (1234 << 16) + 5678, *wrong))
                with contextlib.suppress(ConnectionError):
                    assert other.socket.recv(1) == b""
        assert not errors(client.query("SELECT 1"))


def test_a_server_that_stops_lets_go_of_those_who_are_connected():
    with curator_of() as curator:
        with served(curator, postgres=True) as server:
            connection = connect(server, server.token("ann", "analyst"))
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
        connection.close()


@pytest.fixture(scope="module")
def hasty():
    """A server that waits for half a second."""
    brief = dataclasses.replace(QUICK, header_timeout=0.5, body_timeout=0.5)
    with curator_of() as curator, served(curator, settings=brief, postgres=True) as server:
        yield server


# --- limits -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\0",
        struct.pack("!i", 100),
        startup()[:20],
        struct.pack("!ii", 8, (1234 << 16) + 5680),
    ],
)
def test_whoever_does_not_go_on_is_let_go_of(hasty, sent):
    with WireClient(hasty.postgres) as client:
        client.send(sent)
        with contextlib.suppress(ConnectionError):
            while client.socket.recv(1024):
                pass


@pytest.mark.parametrize(
    "sent",
    [
        struct.pack("!ii", 1 << 30, 3 << 16),
        struct.pack("!ii", 10_005, 3 << 16),
        struct.pack("!ii", -1, 3 << 16),
        struct.pack("!ii", 8, 2 << 16),
        struct.pack("!i", 4),
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        startup() + message(b"Q", COUNT.encode() + b"\0"),
        startup() + message(b"p", SCRAM + struct.pack("!i", 1 << 30)),
        startup() + message(b"p", b"x" * 3000),
        startup() + message(b"p", b"OTHER\0" + struct.pack("!i", 1) + b"n"),
    ],
)
def test_what_breaks_the_protocol_before_the_login_is_told_and_closed(server, sent):
    with WireClient(server.postgres) as client:
        client.send(sent)
        last = b""
        with contextlib.suppress(ConnectionError):
            while True:
                last, body = client.receive()
        assert last == b"E"
        assert fields(body)["S"] == "FATAL"


def test_a_message_that_is_too_large_ends_the_connection(server, password):
    with WireClient(server.postgres).log_in(password) as client:
        client.send(b"Q" + struct.pack("!i", 1 << 20))
        assert errors(client.until(b"E"))[0]["C"] == "08P01"
    with WireClient(server.postgres).log_in(password) as client:
        client.send(b"Q" + struct.pack("!i", 100) + b"SELECT")  # and nothing more
        assert errors(client.until(b"E"))[0]["C"] == "57P05"


def test_connections_of_a_name_are_counted(server, monkeypatch):
    monkeypatch.setattr("discreet.server.postgres.listener.MOST_OF_NAME", 2)
    password = server.token("gus", "analyst")
    with (
        connect(server, password, "gus"),
        connect(server, password, "gus"),
        pytest.raises(psycopg.OperationalError, match="too many"),
    ):
        connect(server, password, "gus")
    end = time.monotonic() + 60
    while time.monotonic() < end:  # the server notices that they are gone when it does
        with contextlib.suppress(psycopg.OperationalError), connect(server, password, "gus"):
            return
        time.sleep(0.05)
    pytest.fail("places are not given back")


def test_no_message_and_no_line_of_the_log_holds_a_value(tmp_path):
    folder = make(tmp_path)
    with (
        dp.Curator(folder) as curator,
        served(curator, folder=folder, postgres=True) as server,
        WireClient(server.postgres).log_in(server.token("ann", "analyst")) as client,
    ):
        heard = client.query("SET discreet.epsilon = 5")
        for asked in (
            "SELECT MAX(cost) FROM visits",
            "SELECT note, COUNT(*) FROM visits GROUP BY note",
            "SELECT SUM(CAST(note AS BIGINT)) FROM visits",
            "SELECT cost FROM visits",
            "SELECT SUM(1 / (cost - 5)) FROM visits",
            "SELECT * FROM pg_stats",
            "EXPLAIN SELECT AVG(cost) FROM visits",
        ):
            heard += client.query(asked)
    told = b"".join(body for _, body in heard) + "".join(server.logs).encode()
    assert str(CANARY).encode() not in told
    assert CANARY_TEXT.encode() not in told


# --- transactions -------------------------------------------------------------------------------


def test_what_does_nothing_here_is_refused_and_said_to_be(server, password):
    with WireClient(server.postgres).log_in(password) as client:
        for sql, state in (
            ("LISTEN news", "25006"),
            ("DECLARE c CURSOR FOR SET application_name = 'x'", "42601"),
            ("SELECT set_config('discreet.epsilon', '5', false)", "0A000"),
            ("WITH x AS (DELETE FROM pg_catalog.pg_type RETURNING 1) SELECT * FROM x", "25006"),
        ):
            assert [one["C"] for one in errors(client.query(sql))] == [state]
        [shown] = [body for kind, body in client.query("SHOW application_name") if kind == b"D"]
        assert not shown.endswith(b"x")


def test_several_statements_end_with_the_first_that_fails(server, password):
    with WireClient(server.postgres).log_in(password) as client:
        found = client.query("SET discreet.epsilon = 0.1; SELECT nope FROM visits; SELECT 1")
        assert [kind for kind, _ in found] == [b"C", b"E", b"Z"]
        assert [kind for kind, _ in client.query(" -- nothing")] == [b"I", b"Z"]
        assert client.query("BEGIN; SELECT nope FROM visits")[-1] == (b"Z", b"E")
        assert errors(client.query("SELECT 1"))[0]["C"] == "25P02"
        assert client.query("ROLLBACK")[-1] == (b"Z", b"I")


# --- fuzzing ------------------------------------------------------------------------------------

TEXTS = st.sampled_from(
    [COUNT, "SELECT 1", "BEGIN", "SELECT $1", "FETCH 1 FROM c", "SHOW ALL", "", "x\0y", "'", "$a$"]
).map(lambda text: text.encode())
BODIES = st.one_of(
    st.binary(max_size=60),
    TEXTS.map(lambda text: text + b"\0"),
    st.tuples(st.sampled_from([b"", b"s", b"S", b"P", b"\xff"]), TEXTS, st.binary(max_size=12)).map(
        lambda parts: parts[0] + b"\0" + parts[1] + b"\0" + parts[2]
    ),
)
MESSAGES = st.builds(message, st.sampled_from([bytes([n]) for n in b"PBDECQHSpfXdcF?"]), BODIES)


def heard(client):
    """Whatever comes until the server closes, which it has to; all of it is well formed."""
    found = []
    with contextlib.suppress(ConnectionError):
        while True:
            found.append(client.receive())
    return found


@given(st.one_of(st.binary(max_size=80), st.binary(max_size=60).map(lambda b: startup() + b)))
@example(struct.pack("!ii", 8, 3 << 16))
@settings(max_examples=40)
def test_no_first_bytes_break_the_server(server, sent):
    with WireClient(server.postgres) as client:
        with contextlib.suppress(ConnectionError):
            client.send(sent)
            client.socket.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError, struct.error):
            while client.socket.recv(4096):
                pass
    assert server.get("/v1/health").status == 200


@given(st.lists(MESSAGES, max_size=6), st.integers(0, 3))
@settings(max_examples=40)
def test_no_messages_break_the_server(server, password, sent, cut):
    with WireClient(server.postgres).log_in(password, options="-c discreet.epsilon=0.1") as client:
        whole = b"".join(sent)
        with contextlib.suppress(ConnectionError):
            client.send(whole[: len(whole) - cut] if cut else whole + message(b"S"))
            client.socket.shutdown(socket.SHUT_WR)
        told = errors(heard(client))
    assert not [one for one in told if one["C"] == "XX000"], told
    assert server.get("/v1/health").status == 200


# --- the command line ---------------------------------------------------------------------------


def test_the_command_refuses_to_serve_other_machines_in_the_open(tmp_path):
    folder = make(tmp_path)
    said = ["serve", "--curator", str(folder), "--host", "0.0.0.0", "--behind-tls"]  # noqa: S104
    found = CliRunner().invoke(main, [*said, "--postgres", "5433"])
    assert found.exit_code == 2
    assert "--certificate" in found.output


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.audit)])
def test_processes_serve_and_share_the_port(tmp_path, workers):
    folder, port = make(tmp_path), free_port()
    with serving(folder, workers=workers, more=("--postgres", str(port))) as server:
        password = server.token("ann", "analyst")
        said = {"host": "127.0.0.1", "port": port, "user": "ann", "password": password}
        answers = set()
        for _ in range(4):
            with psycopg.connect(**said, options="-c discreet.epsilon=0.1") as connection:
                answers.add(connection.execute(COUNT).fetchone()[0])
        assert len(answers) == 1
