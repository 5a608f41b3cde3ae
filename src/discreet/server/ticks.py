"""Replies to questions leave on a tick, so that how long an answer took to compute stays here.

Time is counted from the moment that the whole request was read: a client that sends its last byte
late does not choose where between two ticks a computation begins. No request waits for ever: a
caller whom a stuck ledger keeps waiting gets an error. A timetable has the public moments at which
an answer may leave, whatever the data.
"""

import asyncio
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.engines.timing import ReleaseSchedule
from discreet.errors import ServiceError
from discreet.server.error_replies import HttpError, reply
from discreet.server.limits import LONG

_TICKED = ("/v1/queries", "/v1/remeasure", "/v1/orders", "/v1/online", "/v1/streams")


def ticked(template: str) -> bool:
    """Whether the replies of a route leave on a tick."""
    return any(template == one or template.startswith(f"{one}/") for one in _TICKED)


def wait(elapsed: float, quantum: float) -> float:
    """Seconds from `elapsed` to the next tick, at least one tick after the start.

    Example:
        >>> wait(0.0, 0.25), wait(0.25, 0.25), round(wait(0.3, 0.25), 3)
        (0.25, 0.0, 0.2)
    """
    return max(1, math.ceil(elapsed / quantum)) * quantum - elapsed


AHEAD: Final = 0.2
"""The part of a quantum that is left to store an answer and send it before its tick."""


def until_tick(elapsed: float, quantum: float) -> float:
    """Seconds until shortly before the next tick, so that a reply still leaves on it.

    Example:
        >>> round(until_tick(0.0, 0.25), 3), round(until_tick(0.2, 0.25), 3), until_tick(0.21, 0.25)
        (0.2, 0.0, 0.24)
    """
    return round(-(elapsed - (1 - AHEAD) * quantum) % quantum, 9)


class TickMiddleware:
    """Holds each reply of a ticked route, whatever it is, until the next tick."""

    def __init__(
        self, app: ASGIApp, *, quantum: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._quantum = quantum
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or not ticked(scope["state"].get("template", "")):
            await self._app(scope, receive, send)
            return
        arrived = scope["state"]["arrived"] = self._clock()

        async def hold(message: Message) -> None:
            if message["type"] == "http.response.start":
                await asyncio.sleep(wait(self._clock() - arrived, self._quantum))
            await send(message)

        await self._app(scope, receive, hold)


_LONG: Final = (
    *("/v1/uploads", "/v1/parts", "/v1/datasets", "/v1/public-tables", "/v1/preview", "/v1/lab"),
    *("/v1/ledger/verify", "/v1/ledger/export"),
)
"""Routes whose work may take longer than a question is waited for, and is the owner's or small."""

SPARE: Final = 1 / 6
"""The part of the patience that is left, after a question was waited for, to tell that it is."""


_LEAST: Final = 5.0
"""Seconds that every handler has: a busy machine is not stuck."""


class TimeoutMiddleware:
    """Replies 503 where a handler has not begun to reply in time.

    The handler continues in its thread, and its reply is dropped: a charge that it makes is in the
    ledger, and a repeated question finds it.
    """

    def __init__(self, app: ASGIApp, *, patience: float) -> None:
        self._app = app
        self._limit = max(patience, _LEAST)
        self._left: set[asyncio.Task[Any]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["state"].get("template", "").startswith(_LONG):
            await self._app(scope, receive, send)
            return
        loop = asyncio.get_running_loop()
        begun: asyncio.Future[bool] = loop.create_future()  # whether that was in time

        def settle(*, in_time: bool) -> None:
            if not begun.done():
                begun.set_result(in_time)

        async def watched(message: Message) -> None:
            settle(in_time=True)
            if begun.result():
                await send(message)

        async def serve() -> None:
            try:
                await self._app(scope, receive, watched)
            finally:
                settle(in_time=True)

        task = asyncio.create_task(serve())
        alarm = loop.call_later(self._limit, partial(settle, in_time=False))
        try:
            if await begun:
                await task
                return
        finally:
            alarm.cancel()
            if not task.done():
                outlive(task, self._left)
        error = ServiceError(
            "there is no answer in time",
            why="the ledger or the machine does not answer; whether anything was charged is not "
            "known",
            fix="ask the same again later: it is charged once, and found if it was charged",
        )
        await reply(HttpError(503, error, {"Retry-After": "10"}))(scope, receive, send)


def outlive(task: "asyncio.Task[Any]", left: "set[asyncio.Task[Any]]") -> None:
    """Keep a running task until it is over; what it raises then is dropped."""

    def forget(done: "asyncio.Task[Any]") -> None:
        left.discard(done)
        if not done.cancelled():
            done.exception()

    left.add(task)
    task.add_done_callback(forget)


# --- the timetable -----------------------------------------------------------------------------

RESERVE: Final = 0.4
"""The part of a quantum that is left to store, present and send an answer on its tick."""


CALM: Final = 600.0
"""Seconds without a late answer after which a caller's questions begin one step earlier."""

_AT_ONCE: Final = 3
"""Short questions that read data at a time: more would only take turns on the processors."""

_LONGEST_WAIT: Final = 0.25
"""Seconds; a question that waited that long for the processors reads in parallel."""


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
        self._reading = threading.Semaphore(_AT_ONCE)

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
        held = seconds <= LONG and self._reading.acquire(timeout=_LONGEST_WAIT)
        try:
            yield
        finally:
            if held:
                self._reading.release()

    def steps(self, caller: str, seconds: float) -> tuple[float, ...]:
        """The moments for a question whose work takes at most that many seconds.

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
