"""A client's connection to a server: kept open, tried again where that is safe."""

import json
import ssl
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

import httpx

from discreet.curator.arguments import is_loopback
from discreet.curator.client.wire import read_error
from discreet.curator.fork_safety import FORKS
from discreet.errors import AccessError, InputError, ServiceError

TRIES: Final = 5
"""How often a request is sent that has the same effect once or twice."""

_PAUSE: Final = 0.1
_TIMEOUT: Final = 120.0
_NO_LIMITS: Final = httpx.Limits(max_connections=None)


class ServerConnection:
    """The way to one server with one token; threads may share it.

    Guarantee:
        The token goes to this server and nowhere else: redirects are not followed, proxies are not
        used, and over an unencrypted connection it is sent to this machine alone unless
        `allow_plain` says otherwise.
    """

    def __init__(self, address: str, token: str | None, *, allow_plain: bool) -> None:
        self._url = _checked_address(address)
        # No compression: the client never unpacks more than the server sent.
        self._headers = {
            "Authorization": f"Bearer {_checked_token(token)}",
            "User-Agent": "discreet",
            "Accept-Encoding": "identity",
        }
        if not (self._url.scheme == "https" or allow_plain or is_loopback(self._url.host)):
            raise InputError(
                f"a token would go to {self._url.host} unencrypted",
                why="anybody on the network path could use it",
                fix="use an https:// address, or pass allow_plain=True on a network you trust",
            )
        self._context = ssl.create_default_context()  # which reads SSL_CERT_FILE
        self._open()
        FORKS.renew_in_child(self)

    def _open(self) -> None:
        self._client = httpx.Client(
            base_url=self._url,
            headers=self._headers,
            timeout=_TIMEOUT,
            verify=self._context,
            limits=_NO_LIMITS,
            trust_env=False,
        )
        self._closing = weakref.finalize(self, self._client.close)

    def renew(self) -> None:
        """Begin without connections; those of a parent are not a forked child's to close."""
        self._closing.detach()
        self._inherited = self._client
        self._open()

    # --- asking ---------------------------------------------------------------------------------

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        """Read something; sent again when the connection is lost."""
        return self._settled("GET", path, None, headers or {}, tries=TRIES)

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        headers: Mapping[str, str] | None = None,
        *,
        safe: bool = False,
    ) -> httpx.Response:
        """Send something; again, when the connection is lost, only if that is `safe`."""
        sent = {"Content-Type": "application/json", **(headers or {})}
        packed = json.dumps(body, allow_nan=False).encode()
        return self._settled("POST", path, packed, sent, tries=TRIES if safe else 1)

    def delete(self, path: str) -> httpx.Response:
        """Take something back; sent again when the connection is lost."""
        return self._settled("DELETE", path, None, {}, tries=TRIES)

    def upload(self, path: str, file: Path) -> httpx.Response:
        """Send a file; again, when the connection is lost: what came of the first is swept away."""
        with file.open("rb") as stream:
            length = {"Content-Length": str(file.stat().st_size)}
            return self._settled("POST", path, stream, length, tries=TRIES)

    @contextmanager
    def stream(self, path: str) -> Iterator[Iterator[bytes]]:
        """Read the lines of something long, as they come."""
        try:
            with self._client.stream("GET", path) as response:
                if response.status_code != HTTPStatus.OK:
                    response.read()
                    raise _refusal(response)
                yield _lines(response.iter_bytes())
        except httpx.RequestError as wrong:
            raise _lost(wrong, safe=True) from None

    def close(self) -> None:
        """Let go of all connections; the next request opens a new one."""
        self._closing()
        self._open()

    # --- trying ---------------------------------------------------------------------------------

    def _settled(
        self,
        method: str,
        path: str,
        body: bytes | BufferedReader | None,
        headers: Mapping[str, str],
        *,
        tries: int,
    ) -> httpx.Response:
        """A reply that is a success; anything else is raised as the error that it is."""
        pause = _PAUSE
        for left in range(tries - 1, -1, -1):
            if isinstance(body, BufferedReader):
                body.seek(0)
            try:
                reply = self._client.request(method, path, content=body, headers=headers)
            except httpx.RequestError as wrong:
                if not left or _is_impostor(wrong):
                    raise _lost(wrong, safe=tries > 1) from None
            else:
                if reply.is_success:
                    return reply
                if reply.status_code != HTTPStatus.TOO_MANY_REQUESTS or not left:
                    raise _refusal(reply)
                pause = max(pause, _wait(reply))
            time.sleep(pause)
            pause *= 2
        raise AssertionError  # pragma: no cover - the last try returns or raises


def _checked_address(address: str) -> httpx.URL:
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL:
        url = httpx.URL()
    is_port = url.port is None or 0 < url.port < 1 << 16
    if url.host and is_port and not (url.query or url.fragment or url.userinfo):
        return url
    raise InputError(  # without the address, which may hold a secret
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


def _lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines of bytes, ends included, byte for byte as they came."""
    rest = b""
    for block in blocks:
        *whole, rest = (rest + block).split(b"\n")
        yield from (line + b"\n" for line in whole)
    if rest:
        yield rest


def _refusal(reply: httpx.Response) -> Exception:
    try:
        facts = reply.json()["error"]
    except (ValueError, LookupError, TypeError):
        facts = None
    return read_error(facts)


def _wait(reply: httpx.Response) -> float:
    try:
        return min(10.0, max(0.0, float(reply.headers.get("retry-after", "1"))))
    except ValueError:
        return 1.0


def _is_impostor(wrong: BaseException | None) -> bool:
    """Whether a certificate was refused, which the library wraps."""
    while wrong is not None and not isinstance(wrong, ssl.SSLCertVerificationError):
        wrong = wrong.__cause__ or wrong.__context__
    return wrong is not None


def _lost(wrong: Exception, *, safe: bool) -> ServiceError | AccessError:
    if _is_impostor(wrong):
        return AccessError(
            "the server is not who it says it is",
            why="its certificate is not for this name, or no known authority has signed it",
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
