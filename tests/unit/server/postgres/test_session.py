"""Settings, transactions and cursors of a connection."""

import pyarrow as pa
import pytest

from discreet.server.postgres.messages import PostgresError, ResultColumn
from discreet.server.postgres.session import MOST_OPEN, ConnectionState, ResultRows, declared
from discreet.server.postgres.session_settings import SessionSettings
from discreet.server.postgres.statements import split


def session(epsilon=None, **sent):
    return ConnectionState(SessionSettings("ann", sent, epsilon))


def say(one, text):
    """What comes of some statements, the last of them."""
    found = None
    for statement in split(text):
        found = one.control(statement)
    return found


def shown(one, name):
    return say(one, f"SHOW {name}").rows.table.column(0)[0].as_py()


@pytest.mark.parametrize(
    "said",
    [
        "SET discreet.epsilon = 0.1",
        "SET discreet.epsilon TO '0.1'",
        "set session DISCREET.Epsilon = 0.1",
        "SET discreet.epsilon = 5; RESET discreet.epsilon; SET discreet.epsilon = 0.1",
        "BEGIN; SET discreet.epsilon = 0.1; COMMIT",
        "SET discreet.epsilon = 0.1; BEGIN; SET discreet.epsilon = 5; ROLLBACK",
        "SET discreet.epsilon = 0.1; BEGIN; SET LOCAL discreet.epsilon = 5; COMMIT",
        "SET discreet.epsilon = 0.1; SET LOCAL discreet.epsilon = 5",
        "BEGIN; SET LOCAL discreet.epsilon = 5; SET discreet.epsilon = 0.1; COMMIT",
    ],
)
def test_an_epsilon_is_set(said):
    one = session()
    say(one, said)
    assert shown(one, "discreet.epsilon") == "0.1"
    assert str(one.settings.terms().epsilon) == "1/10"


@pytest.mark.parametrize(
    "options", ["-c discreet.epsilon=0.1", "-cdiscreet.epsilon=0.1", "--discreet.epsilon=0.1"]
)
def test_options_of_a_connection_are_its_defaults(options):
    one = session(options=options + r" -c search_path=a,\ b")
    assert one.settings["discreet.epsilon"] == "0.1"
    assert one.settings["search_path"] == "a, b"
    say(one, "SET discreet.epsilon = 2; RESET ALL")
    assert one.settings["discreet.epsilon"] == "0.1"


def test_a_token_has_a_default_that_the_client_overrides():
    assert str(session("1/3").settings.terms().epsilon) == "1/3"
    one = session("1/3", options="-c discreet.epsilon=0.5")
    assert str(one.settings.terms().epsilon) == "1/2"


def test_without_an_epsilon_nothing_is_asked():
    with pytest.raises(PostgresError) as told:
        session().settings.terms()
    assert "SET discreet.epsilon" in told.value.hint


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ("SET discreet.epsilon = 0", "22023"),
        ("SET discreet.epsilon = -1", "22023"),
        ("SET discreet.epsilon = 'a lot'", "22023"),
        ("SET discreet.epsilon = 1e999999999", "22023"),
        ("SET discreet.delta = 'x'", "22023"),
        ("SET discreet.intervals = perhaps", "22023"),
        ("SET discreet.noise = off", "42704"),
        ("SET client_encoding = 'LATIN1'", "22023"),
        ("SET DateStyle = German", "22023"),
        ("SET standard_conforming_strings = off", "22023"),
        ("SET server_version = 9", "55P02"),
        ("SET ROLE owner", "42501"),
        ("SET x", "42601"),
        ("SHOW nothing_of_the_kind", "42704"),
        ("FETCH 1 FROM nowhere", "34000"),
        ("CLOSE nowhere", "34000"),
    ],
)
def test_what_cannot_be_set_is_refused(said, state):
    with pytest.raises(PostgresError) as told:
        say(session(), said)
    assert told.value.state == state


@pytest.mark.parametrize(
    "said",
    [
        *("SET TIME ZONE 'UTC'", "SET NAMES 'UTF8'", "SET extra_float_digits = 3"),
        *("SET TRANSACTION READ ONLY", "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"),
        *("SET SESSION AUTHORIZATION DEFAULT", "SET ROLE NONE", "DISCARD ALL", "UNLISTEN *"),
        *("DEALLOCATE ALL", "DEALLOCATE x", "SAVEPOINT a", "RELEASE a", "CLOSE ALL", "RESET ALL"),
    ],
)
def test_what_clients_say_in_passing_is_accepted(said):
    assert say(session(), said) is not None


def test_a_failed_transaction_is_over_with_its_end():
    one = session()
    say(one, "BEGIN")
    one.status = "E"
    assert say(one, "COMMIT").tag == "ROLLBACK"
    assert one.status == "I"


def test_a_cursor_goes_forward():
    one = session()
    name, inner = declared(split('DECLARE "c 1" NO SCROLL CURSOR WITH HOLD FOR SELECT 1 FOR ME')[0])
    assert (name, inner.text) == ("c 1", "SELECT 1 FOR ME")
    one.cursors[name] = ResultRows((ResultColumn("n", 20),), pa.table({"0": [1, 2, 3, 4, 5]}))
    assert say(one, 'FETCH FORWARD 2 FROM "c 1"').rows.table.to_pydict() == {"0": [1, 2]}
    assert say(one, 'MOVE 1 IN "c 1"').tag == "MOVE 1"
    assert say(one, 'FETCH "c 1"').rows.table.to_pydict() == {"0": [4]}
    assert say(one, 'FETCH ALL FROM "c 1"').rows.table.to_pydict() == {"0": [5]}
    with pytest.raises(PostgresError, match="forward"):
        say(one, 'FETCH BACKWARD 1 FROM "c 1"')
    say(one, 'CLOSE "c 1"')
    assert not one.cursors


def test_nobody_keeps_more_open_than_there_is_room_for():
    one = session()
    rows = ResultRows((), pa.table({"0": [0]}))
    one.cursors |= {str(n): rows for n in range(MOST_OPEN)}
    with pytest.raises(PostgresError, match="too much"):
        one.check_room(one.cursors, "another")
    one.check_room(one.cursors, "7")
    one.cursors = {
        "large": ResultRows((), pa.table({"0": pa.array([0] * 2**23 + [0], pa.int64())}))
    }
    with pytest.raises(PostgresError, match="too much"):
        one.check_room(one.portals, "")
    one.check_room(one.cursors, "large")


def test_settings_are_shown_and_bounded():
    one = session()
    assert say(one, "SHOW ALL").rows.table.num_rows > 20
    assert shown(one, "TRANSACTION ISOLATION LEVEL") == "read committed"
    said = "; ".join(f"SET my.setting{n} = 1" for n in range(1000))
    with pytest.raises(PostgresError):
        say(one, said)
