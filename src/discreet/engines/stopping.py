"""Interrupt statements at their deadline, on any engine."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from discreet.engines.engine import Deadline
from discreet.errors import EngineError

_AGAIN = 0.02
"""Seconds between interrupts."""

_LOOK = 0.5
"""Seconds between looks whether a question was cancelled."""


@contextmanager
def stopping(interrupt: Callable[[], object], until: Deadline | None) -> Iterator[None]:
    """Interrupt what runs from a moment of the monotonic clock on, again and again.

    Why: an interrupt that comes while a statement is about to begin is forgotten by it.
    """
    if until is None:
        yield
        return
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_until_looking(until)):
            if time.monotonic() >= until.moment:
                interrupt()

    alarm = threading.Thread(target=watch, daemon=True)
    alarm.start()
    try:
        yield
    finally:
        ended.set()
        alarm.join()


def _until_looking(until: Deadline) -> float:
    """Seconds until it is time to interrupt, or to look whether it was brought forward."""
    left = until.moment - time.monotonic()
    return _AGAIN if left <= 0 else min(left, _LOOK)


@contextmanager
def in_time(until: Deadline | None) -> Iterator[None]:
    """Refuse to begin, or to have ended, after a session's time: an interrupt may miss."""
    _check_time(until)
    yield
    _check_time(until)


def _check_time(until: Deadline | None) -> None:
    if until is not None and time.monotonic() > until.moment:
        raise unfinished()


def unfinished() -> EngineError:
    """The one error for every failure of an engine: it quotes nothing."""
    return EngineError(
        "the engine could not finish",
        why="it ran out of time, memory or disk, or its files changed while they were read",
        fix="ask the owner of the data to look at the engine",
    )
