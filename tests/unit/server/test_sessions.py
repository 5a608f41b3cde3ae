"""Sessions: bound to their token, ending idle and ending for good."""

import pytest

from discreet.server import sessions, tokens
from discreet.server.access import AccessStore
from discreet.server.settings import Settings

SHORT = Settings(session_idle=40, session_life=100)


@pytest.fixture
def clock():
    """The time, which a test may change."""
    return [1e9]


@pytest.fixture
def store(clock):
    def tick():
        clock[0] += 1e-3
        return clock[0]

    return AccessStore(None, clock=tick)


@pytest.fixture
def token(store):
    return tokens.issue(store, "ann", "analyst").token


def test_a_session_stands_for_its_token(store, token):
    cookie = sessions.begin(store, token, Settings())

    assert sessions.find(store, cookie, Settings()) == token
    assert sessions.find(store, cookie + "x", Settings()) is None
    assert sessions.find(store, "", Settings()) is None


def test_revoking_the_token_ends_its_sessions(store, token):
    cookie = sessions.begin(store, token, Settings())

    tokens.revoke(store, token.id)

    assert sessions.find(store, cookie, Settings()) is None


def test_no_session_outlives_its_token(store, clock):
    token = tokens.issue(store, "ben", "analyst", days=1).token
    cookie = sessions.begin(store, token, Settings())
    assert sessions.find(store, cookie, Settings()) == token

    clock[0] += tokens.DAY

    assert sessions.find(store, cookie, Settings()) is None


def test_an_idle_session_ends_and_one_in_use_does_not(store, token, clock):
    idle, used = (sessions.begin(store, token, SHORT) for _ in range(2))

    for _ in range(3):
        clock[0] += 20
        assert sessions.find(store, used, SHORT) == token

    assert sessions.find(store, idle, SHORT) is None


def test_no_session_outlives_its_life(store, token, clock):
    cookie = sessions.begin(store, token, SHORT)

    for _ in range(9):
        clock[0] += 10
        assert sessions.find(store, cookie, SHORT) == token
    clock[0] += 10

    assert sessions.find(store, cookie, SHORT) is None


def test_cookies_are_stored_as_hashes(tmp_path):
    store = AccessStore(tmp_path / "access.sqlite")
    token = tokens.issue(store, "ann", "analyst").token
    cookie = sessions.begin(store, token, Settings())
    store.close()

    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())

    assert cookie.encode() not in files
    assert sessions.csrf(cookie).encode() not in files


def test_one_token_has_a_bounded_number_of_sessions(store, token):
    cookies = [sessions.begin(store, token, Settings()) for _ in range(60)]

    [(count,)] = store.read("SELECT count(*) FROM sessions")
    assert count == 50
    assert sessions.find(store, cookies[0], Settings()) is None
    assert sessions.find(store, cookies[-1], Settings()) == token


def test_the_secret_of_a_session_is_its_own(store, token):
    one, other = (sessions.begin(store, token, Settings()) for _ in range(2))

    assert sessions.csrf(one) == sessions.csrf(one)
    assert sessions.csrf(one) != sessions.csrf(other)
    assert one not in sessions.csrf(one)
