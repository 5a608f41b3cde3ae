"""The progress of a long job, reported to a callback.

It reports bytes of files and numbers of entries: never what is in them. Nothing is reported unless
requested, and no result depends on it.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

Watcher: TypeAlias = Callable[[str, int, int], None]
"""Receives what is being done, how much of it is done, and out of how much."""

_WATCHER: Final[ContextVar[Watcher | None]] = ContextVar("watcher", default=None)


@contextmanager
def watched(by: Watcher) -> Iterator[None]:
    """Report the progress of jobs to `by` meanwhile.

    Example:
        >>> with watched(lambda what, done, total: print(f"{what}: {done} of {total}")):
        ...     tell("entries", 3, 4)
        entries: 3 of 4
    """
    before = _WATCHER.set(by)
    try:
        yield
    finally:
        _WATCHER.reset(before)


def tell(what: str, done: int, total: int) -> None:
    """Say how far a job has come."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher(what, done, total)


def open_watched(path: Path, what: str) -> io.BufferedReader:
    """Open a file to be read; reports how many of its bytes are read."""
    watcher = _WATCHER.get()
    return path.open("rb") if watcher is None else io.BufferedReader(_Watched(path, what, watcher))


class _Watched(io.FileIO):
    """A file that counts what is read of it, in whichever thread that happens."""

    def __init__(self, path: Path, what: str, watcher: Watcher) -> None:
        super().__init__(path)
        self._size, self._tell = path.stat().st_size, partial(watcher, what)

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer, and report."""
        count = super().readinto(buffer)
        self._tell(self.tell(), self._size)
        return count
