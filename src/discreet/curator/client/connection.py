"""A client's connection to a server: one a thread, kept open, tried again where that is safe."""

import http.client
import ipaddress
import json
import selectors
import ssl
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from discreet.curator.client.wire import read_error
from discreet.curator.fork_safety import FORKS
from discreet.errors import AccessError, InputError, ServiceError

TRIES: Final = 5
"""How often something that changes nothing twice is sent."""

_PAUSE: Final = 0.1
_TIMEOUT: Final = 120.0
_BUSY: Final = 429
_LOST: Final = (http.client.HTTPException, OSError)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server said."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    def json(self) -> Any:
        """The body as JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise _unreadable() from None


class ServerConnection:
    """The way to one server with one token.

    Guarantee:
        The token goes to this server and nowhere else: redirects are not followed, proxies are not
        used, and over an unencrypted connection it is sent to this machine alone unless
        `allow_plain` says otherwise.
    """

    def __init__(self, address: str, token: str | None, *, allow_plain: bool) -> None:
        parts = urlsplit(address)
        self._secure = parts.scheme.lower() == "https"
        self._host, self._port = _host_and_port(parts, address)
        self._prefix = parts.path.rstrip("/")
        self._token = _checked_token(token)
        if not (self._secure or allow_plain or is_loopback(self._host)):
            raise InputError(
                f"a token would go to {self._host} unencrypted",
                why="whoever listens on the way could use it",
                fix="use an https:// address, or pass allow_plain=True on a network you trust",
            )
        self._context = ssl.create_default_context() if self._secure else None
        self.renew()
        FORKS.renew_in_child(self)

    def renew(self) -> None:
        """Begin without connections; those of a parent are not a forked child's."""
        self._mine = threading.local()
        self._lock = threading.Lock()
        self._open: set[http.client.HTTPConnection] = set()
        weakref.finalize(self, _close_all, self._open)

    # --- asking ---------------------------------------------------------------------------------

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Reply:
        """Read something; sent again when the connection is lost."""
        return self._settled("GET", path, None, headers or {}, tries=TRIES)

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        headers: Mapping[str, str] | None = None,
        *,
        safe: bool = False,
    ) -> Reply:
        """Send something; again, when the connection is lost, only if that is `safe`."""
        sent = {"Content-Type": "application/json", **(headers or {})}
        packed = json.dumps(body, allow_nan=False).encode()
        return self._settled("POST", path, packed, sent, tries=TRIES if safe else 1)

    def delete(self, path: str) -> Reply:
        """Take something back; sent again when the connection is lost."""
        return self._settled("DELETE", path, None, {}, tries=TRIES)

    def upload(self, path: str, file: Path) -> Reply:
        """Send a file; again, when the connection is lost: what came of the first is swept away."""
        with file.open("rb") as stream:
            length = {"Content-Length": str(file.stat().st_size)}
            return self._settled("POST", path, stream, length, tries=TRIES)

    @contextmanager
    def stream(self, path: str) -> Iterator[http.client.HTTPResponse]:
        """Read something long, as it comes."""
        try:
            response = self._sent("GET", path, None, {})
            if response.status != http.HTTPStatus.OK:
                raise _refusal(_reply(response))
            yield response
            response.read()
        except _LOST as wrong:
            self.drop()
            raise _lost(wrong, safe=True) from None

    def close(self) -> None:
        """Let go of all connections."""
        with self._lock:
            _close_all(self._open)
        self._mine = threading.local()

    # --- trying ---------------------------------------------------------------------------------

    def _settled(
        self, method: str, path: str, body: Any, headers: Mapping[str, str], *, tries: int
    ) -> Reply:
        """A reply that is a success; anything else is raised as the error that it is."""
        pause = _PAUSE
        for left in range(tries - 1, -1, -1):
            try:
                reply = _reply(self._sent(method, path, body, headers))
            except _LOST as wrong:
                self.drop()
                if not left or isinstance(wrong, ssl.SSLCertVerificationError):
                    raise _lost(wrong, safe=tries > 1) from None
            else:
                if reply.status != _BUSY or not left:
                    return _checked(reply)
                pause = max(pause, _wait(reply))
            time.sleep(pause)
            pause *= 2
        raise AssertionError  # pragma: no cover - the last try returns or raises

    def _sent(
        self, method: str, path: str, body: Any, headers: Mapping[str, str]
    ) -> http.client.HTTPResponse:
        connection = self._connection()
        if isinstance(body, BufferedReader):
            body.seek(0)
        known = {"Authorization": f"Bearer {self._token}", "User-Agent": "discreet"}
        connection.request(method, self._prefix + path, body, {**known, **headers})
        return connection.getresponse()

    def _connection(self) -> http.client.HTTPConnection:
        found: http.client.HTTPConnection | None = getattr(self._mine, "connection", None)
        if found is None or _is_stale(found):
            self.drop()
            found = self._connected()
            self._mine.connection = found
            with self._lock:
                self._open.add(found)
        return found

    def _connected(self) -> http.client.HTTPConnection:
        if self._context is not None:
            return http.client.HTTPSConnection(
                self._host, self._port, timeout=_TIMEOUT, context=self._context
            )
        return http.client.HTTPConnection(self._host, self._port, timeout=_TIMEOUT)

    def drop(self) -> None:
        """Let go of this thread's connection."""
        found = getattr(self._mine, "connection", None)
        self._mine.connection = None
        if found is not None:
            with self._lock:
                self._open.discard(found)
            found.close()


def _close_all(connections: set[http.client.HTTPConnection]) -> None:
    while connections:
        connections.pop().close()


def is_loopback(host: str) -> bool:
    """Whether a name is this machine's own.

    Example:
        >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("127.0.0.1.evil.org")
        (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _host_and_port(parts: Any, address: str) -> tuple[str, int | None]:
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if host and not (parts.query or parts.fragment or parts.username or parts.password):
        return host, port
    del address  # it may hold a secret
    raise InputError(
        "the address of a server cannot be read",
        why="it is a name, perhaps a port, and nothing that a secret could hide in",
        fix="pass https://dp.example.org, and the token as token=",
    )


def _checked_token(token: str | None) -> str:
    if isinstance(token, str) and token.isascii() and token.isprintable() and token.strip():
        return token.strip()
    raise InputError(
        "a curator behind a server without a token",
        why="a server has to know who asks",
        fix="pass token=..., which the owner gives out",
    )


def _is_stale(connection: http.client.HTTPConnection) -> bool:
    """Whether the server has closed an idle connection: what can be read from it is its end."""
    if connection.sock is None:
        return False
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return bool(selector.select(timeout=0))


def _reply(response: http.client.HTTPResponse) -> Reply:
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Reply(response.status, headers, response.read())


def _checked(reply: Reply) -> Reply:
    if 200 <= reply.status < 300:
        return reply
    raise _refusal(reply)


def _refusal(reply: Reply) -> Exception:
    try:
        facts = json.loads(reply.body)["error"]
    except (ValueError, LookupError, TypeError):
        facts = None
    return read_error(facts)


def _wait(reply: Reply) -> float:
    try:
        return min(10.0, max(0.0, float(reply.headers.get("retry-after", "1"))))
    except ValueError:
        return 1.0


def _lost(wrong: Exception, *, safe: bool) -> ServiceError | AccessError:
    if isinstance(wrong, ssl.SSLCertVerificationError):
        return AccessError(
            "the server is not who it says it is",
            why="its certificate is not for this name, or nobody known has signed it",
            fix="name a file with the right authority in SSL_CERT_FILE",
        )
    return ServiceError(
        "the server could not be reached, or broke off",
        why=type(wrong).__name__,
        fix="ask again, with the same request name if there was one: what was charged is charged "
        "once"
        if safe
        else "look first whether it was done, in budget() or the ledger, and send it again if not",
    )


def _unreadable() -> ServiceError:
    return ServiceError(
        "the server's reply cannot be read",
        why="it is not what a server of this version sends",
        fix="see that the address is that of a discreet server of this version",
    )
