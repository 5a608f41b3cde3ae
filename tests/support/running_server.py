"""A real server on a free port of this machine, in a thread or as a process of its own."""

import contextlib
import hashlib
import http.client
import itertools
import json as json_
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn

from discreet.noise.bits import Keystream, replaced
from discreet.server import tokens
from discreet.server.access import FILE, AccessStore
from discreet.server.app import build_app
from discreet.server.postgres.listener import PostgresAddress
from discreet.server.serving import options
from discreet.server.settings import Settings
from free_ports import free_port

QUICK = Settings(
    quantum=0.02, rate=10_000.0, burst=10_000, address_rate=10_000.0, address_burst=10_000
)
"""For tests that are about something else than time and rates."""


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: http.client.HTTPMessage = field(repr=False)
    body: bytes

    def json(self):
        return json_.loads(self.body)

    @property
    def error(self):
        """The body of a refusal."""
        return self.json()["error"]


@dataclass
class Server:
    """Where a server listens, and its store of tokens."""

    port: int
    access: AccessStore
    logs: list[str] = field(default_factory=list)
    process: subprocess.Popen | None = None
    app: object = None
    _seen: int = 0

    @property
    def postgres(self):
        """The port for Postgres clients."""
        return self.app.state.postgres.port

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def token(self, name="owner", role=None, *, datasets=None, days=1):
        """The text of a new token; a name is its own role unless you say."""
        return tokens.issue(self.access, name, role or name, datasets=datasets, days=days).text

    def record_tokens(self, ledger):
        """Let the ledger know of the tokens, as it does where people make them."""
        known = {one.facts["token"] for one in ledger.noted("token made")}
        for token in tokens.all_tokens(self.access):
            if token.id not in known:
                ledger.record("token made", by="owner", facts=token.said)

    def request(self, method, path, *, token=None, json=None, body=None, headers=None, timeout=60):
        """Send one request on a connection of its own."""
        sent = dict(headers or {})
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        if json is not None:
            body, sent["Content-Type"] = json_.dumps(json), "application/json"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body=body, headers=sent)
            found = connection.getresponse()
            return Answer(found.status, found.headers, found.read())
        finally:
            connection.close()

    def logged(self, count=1, *, about="", patience=60):
        """The newest lines of the log about something, once so many have come since the last look.

        The line of an earlier request may come after its reply was read.
        """
        end = time.monotonic() + patience
        while True:
            seen = len(self.logs)
            found = [one for one in self.logs[self._seen : seen] if about in one]
            if len(found) >= count or time.monotonic() >= end:
                self._seen = seen
                return found
            time.sleep(0.005)

    def get(self, path, **how):
        return self.request("GET", path, **how)

    def post(self, path, **how):
        return self.request("POST", path, **how)

    def delete(self, path, **how):
        return self.request("DELETE", path, **how)

    def raw(self, sent, *, timeout=60, replies=1, pause=None):
        """Send bytes as they are, and read so many replies, or until the server closes.

        After the first reply, further ones are waited for no longer than a `pause`.
        """
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as connection:
            with contextlib.suppress(ConnectionError):
                connection.sendall(sent)
            return read_all(connection, replies, pause)


def head(token, path="/v1/explain", *more, method="POST"):
    """The first lines of a request."""
    said = ["Host: localhost", f"Authorization: Bearer {token}", *more]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *said, "", ""]).encode()


def status(reply):
    """The status of the first reply in some bytes."""
    return int(reply.split(b" ", 2)[1]) if reply.startswith(b"HTTP/1.1 ") else None


def read_all(connection, replies=1, pause=None):
    """All bytes of so many replies, or of those that come before the end or a pause."""
    found = b""
    with contextlib.suppress(TimeoutError, ConnectionResetError):
        while (whole := _whole(found)) < replies and (part := connection.recv(65536)):
            found += part
            if pause is not None and not whole and _whole(found):
                connection.settimeout(pause)
    return found


def _whole(found):
    """How many replies with a stated length are there in full."""
    count = 0
    while found:
        head, blank, rest = found.partition(b"\r\n\r\n")
        stated = re.search(rb"content-length: (\d+)", head.lower())
        if not blank or stated is None or len(rest) < int(stated[1]):
            break
        count, found = count + 1, rest[int(stated[1]) :]
    return count


def _fixed_bits():
    """The bits of each draw: the same on every run of a test, whatever was asked before it."""
    asked = {}

    def opener():
        test = os.environ.get("PYTEST_CURRENT_TEST", "")
        count = next(asked.setdefault(test, itertools.count()))
        return Keystream(hashlib.sha256(f"{test} {count}".encode()).digest())

    return replaced(opener)


def _run(server, listening):
    with _fixed_bits():  # its threads for requests have the context of this one
        server.run(sockets=[listening])


@contextlib.contextmanager
def served(curator, *, settings=QUICK, folder=None, tls=None, postgres=False):
    """A server in a thread of this process; `tls` is the paths of a certificate and its key."""
    logs = []
    pair = () if tls is None else tuple(map(str, tls))
    where = PostgresAddress("127.0.0.1", 0, *pair) if postgres else None
    app = build_app(curator, settings, folder=folder, log=logs.append, postgres=where)
    secure = {} if tls is None else {"ssl_certfile": tls[0], "ssl_keyfile": tls[1]}
    server = uvicorn.Server(uvicorn.Config(app, **options(settings), **secure))
    server.install_signal_handlers = lambda: None
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=_run, args=(server, listening), daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.005)
    try:
        yield Server(listening.getsockname()[1], app.state.app_state.access, logs, app=app)
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()
        assert not thread.is_alive()


@contextlib.contextmanager
def serving(folder, *, workers=1, more=(), patience=120):
    """A server as a process: `discreet serve` over a curator's folder; killed at the end."""
    port = free_port()
    command = [sys.executable, "-c", "from discreet.cli import main; main()", "serve"]
    command += ["--curator", str(folder), "--port", str(port), "--workers", str(workers), *more]
    log = Path(folder).with_name(f"{Path(folder).name}-{port}.log")
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stderr=stream, stdout=stream, start_new_session=True)
    found = Server(port, AccessStore(Path(folder) / FILE), process=process)
    try:
        _await(found, patience, log)
        yield found
    finally:
        _end(process)
        found.logs += log.read_text().splitlines()
        found.access.close()


def _await(server, patience, log):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if server.process.poll() is not None:
            break
        with contextlib.suppress(OSError):
            if server.get("/v1/health", timeout=5).status == 200:
                return
        time.sleep(0.05)
    raise AssertionError(f"the server did not start: {log.read_text()}")


def _end(process):
    """Stop the process and its workers."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(5)
