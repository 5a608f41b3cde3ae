"""HTTP/1.1 as uvicorn speaks it, with an end to the patience for headers and for readers."""

import asyncio
from typing import Any, Final, Generic, TypeVar
from weakref import WeakKeyDictionary

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from discreet.server.limits import address

HEADER_TIMEOUT: Final = "header_timeout"
"""Where the application tells how long the headers of a request may take."""

SEND_TIMEOUT: Final = "send_timeout"
"""Where it tells how long what was sent may wait for its reader."""

_DEFAULT: Final = 10.0
_UNREAD: Final = 30.0


MOST_WAITING: Final = 128
"""Connections of one address that may wait with no whole request; the oldest is closed for more."""

MOST_WAITING_IN_ALL: Final = 512
"""The same of everybody; the address with the most loses its oldest."""


C = TypeVar("C")


class Waiting(Generic[C]):
    """Connections without a whole request, by address, the oldest first; in one event loop."""

    def __init__(self) -> None:
        self._by_address: dict[str, dict[C, None]] = {}

    def add(self, who: str, one: C) -> C | None:
        """One more; returns the one that has to go for it."""
        self._by_address.setdefault(who, {})[one] = None
        if len(self._by_address[who]) > MOST_WAITING:
            return next(iter(self._by_address[who]))
        if sum(map(len, self._by_address.values())) > MOST_WAITING_IN_ALL:
            most = max(self._by_address, key=lambda one: len(self._by_address[one]))
            return next(iter(self._by_address[most]))
        return None

    def remove(self, who: str, one: C) -> None:
        """One has sent its request, or is gone."""
        some = self._by_address.get(who, {})
        some.pop(one, None)
        if not some:
            self._by_address.pop(who, None)


class Protocol(H11Protocol):
    """Closes a connection whose next request does not come to the end of its headers in time.

    One whose reader takes nothing is cut off: it would stay open to tell the rest for ever.
    """

    _patience: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _all: Final = WeakKeyDictionary[asyncio.AbstractEventLoop, "Waiting[Protocol]"]()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        # Whatever waits for its reader is noticed; 0 would stop TLS before anything waits.
        transport.set_write_buffer_limits(high=1)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read on; a started request must be completed."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._relax()
        elif self._patience is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._relax()
        self._taken()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait for the reader, but not for ever."""
        super().pause_writing()
        seconds: Any = self.app_state.get(SEND_TIMEOUT, _UNREAD)
        self._unread = self.loop.call_later(seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """All was taken."""
        self._taken()
        super().resume_writing()

    def _taken(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _should_upgrade(self) -> bool:
        """Reply that there are no web sockets here."""
        return False

    def _wait(self) -> None:
        seconds: Any = self.app_state.get(HEADER_TIMEOUT, _DEFAULT)
        self._patience = self.loop.call_later(seconds, self._give_up)
        gone = self._waiting().add(address(self.client), self)
        if gone is not None:
            gone._relax()  # noqa: SLF001 - of the same class
            gone.transport.close()

    def _relax(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
            self._waiting().remove(address(self.client), self)

    def _waiting(self) -> "Waiting[Protocol]":
        return self._all.setdefault(self.loop, Waiting())

    def _give_up(self) -> None:
        self._relax()
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()
