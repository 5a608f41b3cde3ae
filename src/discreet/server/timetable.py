"""The public moments at which the answer to a question may leave, whatever the data."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Final

from discreet.engines.timing import ReleaseSchedule
from discreet.server.slots import LONG

RESERVE: Final = 0.4
"""The part of a quantum that is left to store, present and send an answer on its tick."""


CALM: Final = 600.0
"""Seconds without a late answer after which a caller's questions begin one step earlier."""

_AT_ONCE: Final = 3
"""Short questions that read data at a time: more would only take turns on the processors."""

_LONGEST_WAIT: Final = 0.25
"""Seconds; whoever waited that long for the processors reads beside the others."""


class Timetable:
    """Coarse steps in time, one of which is chosen for each question before data is read.

    Guarantee:
        The step follows from a bound on the work of a question and from how often earlier questions
        of the same caller were late. Each late answer moves all their later questions one step up,
        and every ten minutes without one move them one down: asking one at a time, a caller sees
        at most as many as there are steps, and one more in ten minutes. Each process counts for
        itself: of n workers a caller sees n times as many.
    Edge cases:
        Questions that are computed at the same time may all be late. Steps go up also where it was
        others who kept the machine busy.
    """

    def __init__(
        self,
        steps: Sequence[float],
        quantum: float,
        overrun: Callable[[], None] = lambda: None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._steps = tuple(steps)
        self._reserve = RESERVE * quantum
        self._overrun = overrun
        self._floors: dict[str, tuple[int, float]] = {}
        self._clock = clock
        self._lock = threading.Lock()
        self._gate = threading.Semaphore(_AT_ONCE)

    @property
    def room(self) -> float:
        """Seconds in which all short questions that are computed at a time should be over."""
        return max(self._steps[0] - self._reserve, self._reserve)

    def schedule(
        self,
        caller: str = "",
        turn: Callable[[float], AbstractContextManager[object]] = nullcontext,
        settle: Callable[[], None] = lambda: None,
    ) -> ReleaseSchedule:
        """The schedule of one caller's questions."""
        steps, late = partial(self.steps, caller), partial(self.late, caller)
        return ReleaseSchedule(
            turn, settle, steps, late, self._steps[-1] - self._reserve, self._engine
        )

    @contextmanager
    def _engine(self, seconds: float) -> Iterator[None]:
        """Let few short questions use the processors at a time; none waits long for another."""
        held = seconds <= LONG and self._gate.acquire(timeout=_LONGEST_WAIT)
        try:
            yield
        finally:
            if held:
                self._gate.release()

    def steps(self, caller: str, seconds: float) -> tuple[float, ...]:
        """The moments for a question whose work takes at most so many seconds.

        Example:
            >>> timetable = Timetable([0.25, 1, 4], quantum=0.25)
            >>> timetable.steps("ann", 0.01), timetable.steps("ann", 2.0)
            ((0.15, 0.9, 3.9), (3.9,))
            >>> timetable.late("ann")
            >>> timetable.steps("ann", 0.01), timetable.steps("bob", 0.01)
            ((0.9, 3.9), (0.15, 0.9, 3.9))
        """
        fitting = sum(step - self._reserve < seconds for step in self._steps)
        first = min(max(fitting, self._floor(caller)), len(self._steps) - 1)
        return tuple(round(step - self._reserve, 6) for step in self._steps[first:])

    def late(self, caller: str) -> None:
        """A question overran its step: the next ones of this caller begin one step further up."""
        with self._lock:
            floor = min(self._floor(caller) + 1, len(self._steps) - 1)
            self._floors[caller] = floor, self._clock()
        self._overrun()

    def _floor(self, caller: str) -> int:
        """How many steps a caller's questions are moved up."""
        steps, since = self._floors.get(caller, (0, 0.0))
        return max(0, steps - int((self._clock() - since) / CALM)) if steps else 0
