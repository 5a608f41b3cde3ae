"""Ends conversations with a server that does not answer.

A driver waits for a reply as long as the connection stands, and it stands while the server is
frozen or its network swallows everything. One thread looks at the conversations of the process
and shuts down the socket of each that lasts too long; its driver then says that it was lost.
"""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, Protocol

from discreet.curator.fork_safety import FORKS

STEP: Final = 0.2
"""Seconds between two looks."""

IDLE: Final = 50
"""Looks at nothing, after which the thread ends until it is needed again."""


class SocketConnection(Protocol):
    """A connection that has a socket."""

    def fileno(self) -> int:
        """The number of its socket."""


class Cutoff:
    """Conversations of this process, each with the moment at which it is cut."""

    def __init__(self) -> None:
        self.renew()
        FORKS.renew_in_child(self)

    def renew(self) -> None:
        """Begin anew in a forked child, where the thread is not."""
        self._lock = threading.Lock()
        self._ends: dict[object, tuple[SocketConnection, float]] = {}
        self._watching = False

    @contextmanager
    def after(self, seconds: float, connection: SocketConnection) -> Iterator[None]:
        """Cut a connection unless what is done with it ends in time."""
        key = object()
        with self._lock:
            self._ends[key] = connection, time.monotonic() + seconds
            if not self._watching:
                self._watching = True
                threading.Thread(target=self._watch, name="discreet-cutoff", daemon=True).start()
        try:
            yield
        finally:
            with self._lock:
                self._ends.pop(key, None)

    def _watch(self) -> None:
        idle = 0
        while idle < IDLE:
            time.sleep(STEP)
            idle = self._look(idle)

    def _look(self, idle: int) -> int:
        with self._lock:
            now = time.monotonic()
            for key, (connection, end) in list(self._ends.items()):
                if now > end:
                    del self._ends[key]
                    _shut(connection)
            idle = 0 if self._ends else idle + 1
            self._watching = idle < IDLE
        return idle


def _shut(connection: SocketConnection) -> None:
    # It may be closed by now.
    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as wire:
        wire.shutdown(socket.SHUT_RDWR)


CUTOFF: Final = Cutoff()
