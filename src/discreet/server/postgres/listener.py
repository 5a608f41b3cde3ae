"""The listener for Postgres clients: beside HTTP, in the same process and event loop."""

import asyncio
import secrets
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from discreet.server.app_state import AppState, Caller
from discreet.server.error_replies import HttpError
from discreet.server.limits import address
from discreet.server.postgres.catalogue import Catalogues
from discreet.server.postgres.connection import PostgresConnection
from discreet.server.postgres.messages import PostgresError
from discreet.server.postgres.scram import end_point
from discreet.server.protocol import Waiting

MOST_OF_NAME: Final = 64
"""Connections of one name, with however many tokens."""

MOST: Final = 500
"""Connections of all names in one process."""


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """The address to listen on; `shared` with other processes.

    With a certificate every connection is encrypted; without one none is.
    """

    host: str
    port: int
    certificate: str | None = None
    key: str | None = None
    shared: bool = False


class PostgresListener:
    """Accepts clients within limits, and finds the one that a request to cancel is about."""

    def __init__(self, app_state: AppState, where: PostgresAddress) -> None:
        self.app_state = app_state
        self.catalogues = Catalogues(app_state)
        self._where = where
        self.tls: ssl.SSLContext | None = None
        self.binding: bytes | None = None
        if where.certificate is not None:
            self.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self.tls.load_cert_chain(where.certificate, where.key)
            self.binding = end_point(Path(where.certificate).read_bytes())
        self._by_key: dict[tuple[int, int], PostgresConnection] = {}
        self._names: Counter[str] = Counter()
        self._waiting: Waiting[PostgresConnection] = Waiting()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """The port it listens on."""
        assert self._server is not None  # noqa: S101 - narrowing: it was started
        return int(self._server.sockets[0].getsockname()[1])

    async def start(self) -> None:
        """Begin to listen."""
        self._server = await asyncio.start_server(
            self._accept,
            self._where.host,
            self._where.port,
            limit=1 << 16,
            reuse_port=self._where.shared or None,
        )

    async def stop(self) -> None:
        """Let nobody else in, and close what is open: what is charged is finished all the same."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - streams run this as one
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        connection = PostgresConnection(self, reader, writer)
        end: socket.socket = writer.get_extra_info("socket")
        end.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # who vanished frees their place
        who = address(connection.peer)
        try:
            self.app_state.limits.addresses.check(who)
            gone = self._waiting.add(who, connection)
            if gone is not None:
                gone.abort()
            await connection.serve()
        except (HttpError, asyncio.CancelledError):
            connection.abort()
        finally:
            self._waiting.remove(who, connection)
            with suppress(ConnectionError, RuntimeError, OSError):
                writer.close()

    @asynccontextmanager
    async def joined(
        self, caller: Caller, connection: PostgresConnection
    ) -> AsyncIterator[tuple[int, int]]:
        """Serve somebody who was let in; the reply has the key of their requests to cancel."""
        if self._names[caller.name] >= MOST_OF_NAME or self._names.total() >= MOST:
            raise PostgresError("53300", "too many connections", hint="close some")
        self._waiting.remove(address(connection.peer), connection)
        key = 1 + secrets.randbelow((1 << 31) - 1), secrets.randbelow(1 << 32) - (1 << 31)
        self._by_key[key] = connection
        self._names[caller.name] += 1
        try:
            yield key
        finally:
            del self._by_key[key]
            self._names[caller.name] -= 1
            self._names += Counter()

    def cancel(self, process: int, secret: int) -> None:
        """Give up what one connection waits for; nothing happens for a key that nobody has."""
        connection = self._by_key.get((process, secret))
        if connection is not None:
            connection.cancel()
