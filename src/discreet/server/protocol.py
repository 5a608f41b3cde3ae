"""HTTP/1.1 as uvicorn speaks it, with an end to the patience for headers."""

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_TIMEOUT: Final = "header_timeout"
"""Where the application tells how long the headers of a request may take."""

_DEFAULT: Final = 10.0


class Protocol(H11Protocol):
    """Closes a connection whose next request does not come to the end of its headers in time."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read on; whoever has begun a request has to come to its end."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._relax()
        elif self._patience is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._relax()
        super().connection_lost(exc)

    def _should_upgrade(self) -> bool:
        """Tell that there are no web sockets here."""
        return False

    def _wait(self) -> None:
        seconds: Any = self.app_state.get(HEADER_TIMEOUT, _DEFAULT)
        self._patience = self.loop.call_later(seconds, self._close)

    def _relax(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _close(self) -> None:
        self._patience = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()
