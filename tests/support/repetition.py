"""Fresh randomness: no process may repeat what its parent or its sibling drew."""

import hashlib
import os
import warnings
from collections.abc import Callable
from typing import Any, Final

from discreet.audit.trace import picture

_CHILDREN: Final = 3
_DIGEST: Final = 32


def repeats(draw: Callable[[], Any]) -> bool:
    """Whether two of a process and its forked children give the same answer.

    `draw` has to be random enough never to do so by chance: noise on a hundred numbers is.

    Why: a generator that keeps state in memory is copied by fork, and every copy goes on alike; a
    warm-up draw fills such state, if there is any.
    """
    draw()
    readers = [_child(draw) for _ in range(_CHILDREN)]
    digests = [_read(reader, process) for reader, process in readers]
    return len({*digests, _digest(draw)}) < 1 + _CHILDREN


def _child(draw: Callable[[], Any]) -> tuple[int, int]:
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Forking beside threads is warned of; this child draws once, writes and is gone.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process:
        os.close(writer)
        return reader, process
    try:  # pragma: no cover - lines of the child are not traced
        os.write(writer, _digest(draw))
    finally:
        os._exit(0)


def _read(reader: int, process: int) -> bytes:
    with os.fdopen(reader, "rb") as stream:
        digest = stream.read(_DIGEST)
    os.waitpid(process, 0)
    # A child that failed says nothing; its number stands for it, so that it equals no other.
    return digest or str(process).encode()


def _digest(draw: Callable[[], Any]) -> bytes:
    return hashlib.sha256(repr(picture(draw())).encode()).digest()
