"""Ports for servers that are started later, by another process."""

import itertools
import os
import socket
from contextlib import suppress

_FIRST, _COUNT, _EACH = 10_000, 20_000, 100
"""Below what systems give to connections: none of those takes a port before its server does."""

_tried = itertools.count(os.getpid() * _EACH)  # workers begin a hundred ports apart


def free_port():
    """A port that nobody listens on, and that this process has not named before."""
    while True:
        port = _FIRST + next(_tried) % _COUNT
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
