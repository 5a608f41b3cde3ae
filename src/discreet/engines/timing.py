"""When computing stops, and at which moments what came of it may be known.

An engine's statements are interrupted at their `Deadline`. A server reveals the end of a
computation at one of the moments of its `ReleaseSchedule`, which do not depend on data.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Final

from discreet.errors import EngineError


@dataclass(slots=True)
class Deadline:
    """A moment of the monotonic clock at which an engine stops; `cancel` brings it forward to now.

    `cancelled` is when that was done, None before.
    """

    moment: float
    cancelled: float | None = None
    _told: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)

    def cancel(self) -> None:
        """Let the engine stop within half a second."""
        self.moment = self.cancelled = time.monotonic()
        self._told.set()

    def wait(self, seconds: float) -> float | None:
        """Wait so long or until it is cancelled; when that was, None if it was not."""
        return self.cancelled if self._told.wait(seconds) else None


_AGAIN = 0.02
"""Seconds between interrupts."""

_LOOK = 0.5
"""Seconds between looks whether a question was cancelled."""


@contextmanager
def stopping(interrupt: Callable[[], object], until: Deadline | None) -> Iterator[None]:
    """Interrupt what runs from a moment of the monotonic clock on, again and again.

    Why: a statement that is about to begin forgets an interrupt.
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


@dataclass(frozen=True, slots=True)
class ReleaseSchedule:
    """How a server hides the time that reading data takes.

    Guarantee:
        Measuring is known to be over, with an answer or a failure, at one of the moments that
        `steps` gives for a bound on its work: seconds after it began, fixed before data is read.
        It is stopped shortly before the last of them.
    Edge cases:
        What overruns a step is known at the next one, and `late` is called then: the bound did not
        hold, or the machine is overloaded. What does not stop in time is known at a multiple of
        the last step. What is cancelled is known to be over a second after that, whether it was
        still being computed or not. Without steps nothing waits and nothing is stopped.

    `turn` is entered to compute what takes some seconds by its public bound, and left after the
    last wait: otherwise a caller waiting for the next turn would see the end of a computation.
    `settle` is called before an answer is stored. `engine` is entered while data is read; what
    waits there waits within its steps.
    """

    turn: Callable[[float], AbstractContextManager[object]] = nullcontext
    settle: Callable[[], None] = lambda: None
    steps: Callable[[float], tuple[float, ...]] = lambda _: ()
    late: Callable[[], None] = lambda: None
    longest: float = math.inf
    """Seconds; questions whose work may take longer are refused."""
    engine: Callable[[float], AbstractContextManager[object]] = nullcontext

    def stop(self, began: float, steps: tuple[float, ...]) -> Deadline | None:
        """When to stop what began, so that it has stopped by the last step."""
        return Deadline(began + steps[-1] - min(_STOPPING, steps[-1] / 10)) if steps else None

    def hold(self, began: float, steps: tuple[float, ...], until: Deadline | None) -> None:
        """Wait for the first of these steps that is not over; if cancelled, a second from then."""
        if not steps or until is None:
            return
        elapsed = time.monotonic() - began
        beyond = steps[-1] * math.ceil(elapsed / steps[-1])
        step = next((step for step in steps if step >= elapsed), beyond)
        cancelled = until.wait(step - elapsed)
        seen = elapsed if cancelled is None else cancelled - began
        stopped = cancelled is None or _let_go(cancelled)
        if seen > steps[0] or not stopped:  # told after waiting: it moves steps, and is counted
            self.late()


def _let_go(cancelled: float) -> bool:
    """Wait for a whole second after a cancellation; whether all had stopped by the first.

    Why: how long it takes to stop stays here, and whether there was anything to stop.
    """
    elapsed = time.monotonic() - cancelled
    time.sleep(max(1, math.ceil(elapsed)) - elapsed)
    return elapsed <= 1


_STOPPING: Final = 1.0
"""Seconds that an engine may take to stop."""

AT_ONCE: Final = ReleaseSchedule()
