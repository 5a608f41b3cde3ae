"""Clients that send too much, too slowly, or too often."""

import contextlib
import gzip
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from discreet.answer.measurement_plan import MeasurementPlan
from discreet.server.settings import Settings
from running_server import QUICK, head, read_all, served, status

SLOW = Settings(
    quantum=0.02, header_timeout=0.5, body_timeout=0.5, upload_timeout=1.0, send_timeout=0.5
)
COUNT = {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 0.1}


@pytest.fixture(scope="module")
def slow(curator, folder):
    with served(curator, settings=SLOW, folder=folder) as server:
        yield server


def test_a_body_that_says_it_is_too_large_is_not_read(server, owner):
    reply = server.raw(head(owner, "/v1/explain", f"Content-Length: {QUICK.body_limit + 1}"))

    assert status(reply) == 413  # though nothing of it was sent


@pytest.mark.parametrize(
    "length", ["99999999999999999999999", "-1", "+5", "1e3", "0x10", "5, 6", "٣"]
)
def test_senseless_lengths_are_refused(server, owner, length):
    reply = server.raw(head(owner, "/v1/explain", f"Content-Length: {length}"), timeout=60)

    assert status(reply) in {400, 413}


def test_a_chunked_body_ends_at_the_limit(server, owner):
    chunk = b"1000\r\n" + b" " * 0x1000 + b"\r\n"
    sent = head(owner, "/v1/explain", "Transfer-Encoding: chunked") + chunk * 17

    assert status(server.raw(sent, timeout=60)) == 413


def test_a_body_of_just_the_limit_is_read(server, owner):
    for size, found in ((QUICK.body_limit, 422), (QUICK.body_limit + 1, 413)):
        body = json.dumps({"sql": "x", "epsilon": 1}).ljust(size)
        headers = {"Content-Type": "application/json"}
        answer = server.post("/v1/explain", token=owner, body=body, headers=headers)
        assert answer.status == found


def test_strangers_are_refused_before_their_body_is_read(server):
    for token in ("x", server.token("an auditor", "auditor")):
        reply = server.raw(head(token, "/v1/uploads?name=a.csv", "Content-Length: 1000000"))
        assert status(reply) in {401, 403}  # without a byte of it


def test_uploads_have_a_limit_of_their_own(curator, folder):
    settings = Settings(quantum=0.02, upload_limit=10_000)
    with served(curator, settings=settings, folder=folder) as server:
        owner = server.token("another owner", "owner")
        said = head(owner, "/v1/uploads?name=a.csv", "Content-Length: 10001")
        assert status(server.raw(said)) == 413
        chunk = b"1000\r\n" + b"a" * 0x1000 + b"\r\n"
        said = head(owner, "/v1/uploads?name=a.csv", "Transfer-Encoding: chunked")
        assert status(server.raw(said + chunk * 3, timeout=60)) == 413
        packed = gzip.compress(b"a,b\n" + b"1,2\n" * 100_000)  # it unpacks to a hundredfold
        said = server.post("/v1/uploads?name=a.csv.gz", body=packed, token=owner)
        assert (said.status, "unpacks to more than 80,000" in said.error["why"]) == (413, True)

    assert list((folder / "uploads").iterdir()) == []


def test_deep_and_wide_json_is_an_input_error(server, owner):
    headers = {"Content-Type": "application/json"}
    for body in (
        "[" * 60_000,
        '{"a":' * 10_000,
        '{"sql": ' + "9" * 60_000 + "}",
        '{"sql": "\\ud800", "epsilon": 1}',
        '{"sql": "SELECT 1", "epsilon": NaN}',
        '{"sql": "SELECT 1", "epsilon": 1e999}',
        '{"sql": "SELECT 1", "epsilon": "1e999999999"}',
        '{"sql": "SELECT 1", "epsilon": "' + "9" * 50_000 + '"}',
        '{"sql": "SELECT 1", "epsilon": 1, "epsilon": 2, "extra": 3}',
        '{"sql": ["SELECT 1"], "epsilon": {"a": 1}}',
        "null",
        '""',
        "\x00",
        "\ufeff{}",
    ):
        answer = server.post("/v1/explain", token=owner, body=body.encode(), headers=headers)
        assert (answer.status, answer.error["kind"]) in {(422, "InputError"), (422, "QueryRefused")}


def test_bytes_that_are_no_text_are_an_input_error(server, owner):
    for kind in ("application/json", "text/plain", "application/x-www-form-urlencoded", ""):
        headers = {"Content-Type": kind}
        answer = server.post("/v1/explain", token=owner, body=b"\xff\xfe\x00", headers=headers)
        assert answer.status == 422


@pytest.mark.timed
def test_headers_that_never_end_close_the_connection(slow):
    with socket.create_connection(("127.0.0.1", slow.port), timeout=5) as connection:
        begun = time.monotonic()
        connection.sendall(b"GET /v1/health HTTP/1.1\r\n")
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < begun + 4:
                connection.sendall(b"X-Slow: 1\r\n")
                time.sleep(0.1)
        assert time.monotonic() - begun < 3
        assert status(read_all(connection)) is None


def test_half_open_connections_of_one_address_shut_out_nobody(server):
    """A thousand and ten of them gave everybody 503 for ten seconds."""
    with contextlib.ExitStack() as open_:
        for n in range(1010):
            one = socket.create_connection(("127.0.0.1", server.port), timeout=5)
            open_.enter_context(one)
            if n % 2:
                one.sendall(b"GET /v1/health HTTP/1.1\r\n")
        assert server.get("/v1/health").status == 200


@pytest.mark.timed
def test_a_connection_without_a_request_is_closed(slow):
    with socket.create_connection(("127.0.0.1", slow.port), timeout=5) as connection:
        begun = time.monotonic()
        assert connection.recv(1) == b""
        assert 0.3 < time.monotonic() - begun < 3


@pytest.mark.timed
def test_a_second_request_has_no_more_patience_than_the_first(slow):
    with socket.create_connection(("127.0.0.1", slow.port), timeout=5) as connection:
        connection.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert status(connection.recv(65536)) == 200
        begun = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < begun + 4:
                connection.sendall(b"G" if time.monotonic() == begun else b"E")
                time.sleep(0.1)
        assert time.monotonic() - begun < 3


@pytest.mark.timed
def test_a_body_that_never_ends_is_a_timeout(slow):
    owner = slow.token("slow owner", "owner")
    with socket.create_connection(("127.0.0.1", slow.port), timeout=5) as connection:
        connection.sendall(head(owner, "/v1/explain", "Content-Length: 100") + b"{")
        begun = time.monotonic()
        assert status(read_all(connection)) == 408
        assert time.monotonic() - begun < 3


@pytest.mark.timed
def test_an_upload_that_dribbles_is_a_timeout_and_leaves_no_file(slow, folder):
    owner = slow.token("slow owner", "owner")
    said = head(owner, "/v1/uploads?name=a.csv", "Content-Length: 100000")
    with socket.create_connection(("127.0.0.1", slow.port), timeout=5) as connection:
        connection.sendall(said)
        begun = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < begun + 1.3:
                connection.sendall(b"a")
                time.sleep(0.1)
        assert status(read_all(connection)) == 408
        assert time.monotonic() - begun < 4

    assert list((folder / "uploads").iterdir()) == []


def test_an_upload_that_breaks_off_leaves_no_file(server, owner, folder):
    said = head(owner, "/v1/uploads?name=a.csv", "Content-Length: 100000")
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(said + b"a,b\n")
        assert comes(lambda: list(folder.glob("uploads/*")))

    assert comes(lambda: not list(folder.glob("uploads/*")))


def comes(what, patience=60):
    """Whether something becomes true while one waits."""
    end = time.monotonic() + patience
    while not (found := what()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


@pytest.mark.timed
def test_slow_clients_do_not_keep_others_waiting(slow):
    held = [socket.create_connection(("127.0.0.1", slow.port)) for _ in range(100)]
    for one in held:
        one.sendall(b"POST /v1/explain HTTP/1.1\r\nHost: localhost\r\n")
    begun = time.monotonic()

    assert slow.get("/v1/health").status == 200
    assert time.monotonic() - begun < 2
    for one in held:
        one.close()


def test_each_token_has_a_rate_of_its_own(curator, folder):
    settings = Settings(quantum=0.02, rate=0.5, burst=5)
    with served(curator, settings=settings, folder=folder) as server:
        ann, ben = (server.token(name, "analyst") for name in ("ann", "ben"))

        found = [server.get("/v1/me", token=ann).status for _ in range(8)]
        refused = server.get("/v1/me", token=ann)

        assert found == [200] * 5 + [429] * 3
        assert int(refused.headers["Retry-After"]) >= 1
        assert refused.error["kind"] == "ServiceError"
        assert server.get("/v1/me", token=ben).status == 200
        assert server.get("/v1/health").status == 200


def test_strangers_share_the_rate_of_their_address_whatever_they_say(curator, folder):
    settings = Settings(quantum=0.02, address_rate=0.5, address_burst=5)
    with served(curator, settings=settings, folder=folder) as server:
        member = server.token("ann", "analyst")

        found = [
            server.get(
                "/v1/me", token=f"dpt_{i}_x", headers={"X-Forwarded-For": f"10.0.0.{i}"}
            ).status
            for i in range(8)
        ]

        assert found == [401] * 5 + [429] * 3
        assert server.get("/nothing").status == 429
        assert server.post("/v1/session", json={"token": "x"}).status == 429
        assert server.get("/v1/me", token=member).status == 200


def test_one_token_does_not_take_every_thread(curator, folder, monkeypatch):
    measure, others_came = MeasurementPlan.measure, threading.Event()

    def held_up(*question):
        assert others_came.wait(60)
        return measure(*question)

    monkeypatch.setattr(MeasurementPlan, "measure", held_up)
    new = {**COUNT, "epsilon": 0.0123}
    with served(curator, settings=replace(QUICK, at_once=2), folder=folder) as server:
        ann, ben = (server.token(name, "analyst") for name in ("ann", "ben"))
        with ThreadPoolExecutor(6) as pool:
            sent = [pool.submit(server.post, "/v1/queries", token=ann, json=new) for _ in range(6)]
            refused = comes(lambda: len(done := [one for one in sent if one.done()]) == 4 and done)
            other = server.get("/v1/me", token=ben).status
            others_came.set()
            found = sorted(one.result().status for one in sent)

        assert [one.result().status for one in refused] == [429] * 4
        assert found == [200, 200, 429, 429, 429, 429]
        assert other == 200
        assert server.get("/v1/me", token=ann).status == 200
