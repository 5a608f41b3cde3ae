"""A cosigner behind HTTP: what `discreet witness` runs, on another machine than the curator.

GET  /key                       the key that it signs with
GET  /ledgers/{id}?nonce=...    the head that was signed last, signed with the nonce
POST /ledgers/{id}              sign a head that continues it; 409 if it does not
"""

import json
import re
import socket
import ssl
import threading
from contextlib import suppress
from dataclasses import asdict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from discreet.curator.ledger.cosigner import Cosigner
from discreet.curator.ledger.merkle import TreeHead
from discreet.curator.ledger.remote_witness import SECRET
from discreet.errors import AccessError, DiscreetError, LedgerError

_LEDGER: Final = re.compile(r"/ledgers/([0-9a-f]{32})")
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_BYTES: Final = 1 << 16
_STEPS: Final = 128
_PATIENCE: Final = 10.0
"""Seconds that a client may take for a request."""

_AT_ONCE: Final = 64


class WitnessService(ThreadingHTTPServer):
    """Listens, and has heads signed; few requests at a time, each of a bounded size."""

    daemon_threads = True
    request_queue_size = _AT_ONCE

    def __init__(
        self, cosigner: Cosigner, host: str, port: int, certificate: tuple[Path, Path] | None = None
    ) -> None:
        super().__init__((host, port), _Handler)
        self.cosigner = cosigner
        self._room = threading.Semaphore(_AT_ONCE)
        self._context: ssl.SSLContext | None = None
        if certificate is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(*certificate)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread, or close it where there are many."""
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one connection."""
        late = threading.Timer(_PATIENCE, _hang_up, [request])
        try:
            request.settimeout(_PATIENCE)
            if self._context is not None:
                request = self._context.wrap_socket(
                    request, server_side=True, do_handshake_on_connect=False
                )
                late.args = [request]
            late.start()
            if self._context is not None:
                request.do_handshake()
            super().process_request_thread(request, client_address)
        except OSError:
            self.shutdown_request(request)
        finally:
            late.cancel()
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that disconnects is not logged."""


def _hang_up(request: socket.socket) -> None:
    """End what takes too long as a whole, however little each part takes."""
    with suppress(OSError):
        socket.socket.shutdown(request, socket.SHUT_RDWR)  # of TLS too, without a farewell


class _Handler(BaseHTTPRequestHandler):
    server: WitnessService
    timeout = _PATIENCE
    server_version = "discreet-witness"
    sys_version = ""

    def do_GET(self) -> None:
        self._serve(self._get)

    def do_POST(self) -> None:
        self._serve(self._post)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
        """Say nothing of single requests."""

    def _serve(self, work: Any) -> None:
        try:
            status, facts = work()
        except AccessError as wrong:
            status, facts = HTTPStatus.FORBIDDEN, {"what": str(wrong)}
        except LedgerError as wrong:
            status, facts = HTTPStatus.CONFLICT, {"what": str(wrong)}
        except (DiscreetError, ValueError, TypeError, KeyError):
            status, facts = HTTPStatus.BAD_REQUEST, {"what": "this is no request for a witness"}
        body = json.dumps(facts).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _get(self) -> tuple[int, dict[str, Any]]:
        parts, cosigner = urlsplit(self.path), self.server.cosigner
        if parts.path == "/key":
            return HTTPStatus.OK, {"key": cosigner.public_key}
        [nonce] = parse_qs(parts.query, max_num_fields=1)["nonce"]
        head, signature = cosigner.newest_signed(self._named(), self._secret, nonce[:100])
        return HTTPStatus.OK, {"head": head and asdict(head), "signature": signature}

    def _post(self) -> tuple[int, dict[str, Any]]:
        size = int(self.headers["Content-Length"] or 0)
        if not 0 < size <= _BYTES:
            raise ValueError(size)
        asked = json.loads(self.rfile.read(size))
        head, proof = TreeHead(**asked["head"]), [str(one) for one in asked["proof"]]
        named = (head.ledger, type(head.size)) == (self._named(), int)
        if (
            not (named and 0 < head.size < 2**63 and _HASH.fullmatch(head.root))
            or len(proof) > _STEPS
        ):
            raise ValueError(head)
        signature = self.server.cosigner.cosign(head, proof, secret=self._secret)
        return HTTPStatus.OK, {"signature": signature}

    def _named(self) -> str:
        found = _LEDGER.fullmatch(urlsplit(self.path).path)
        if found is None:
            raise ValueError(self.path)
        return found[1]

    @property
    def _secret(self) -> str:
        return str(self.headers[SECRET] or "")
