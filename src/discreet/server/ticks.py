"""Replies to questions leave on a tick, so that how long an answer took to compute stays here.

Time is counted from the moment that the whole request was read: a client that sends its last byte
late does not choose where between two ticks a computation begins. No request waits for ever:
whoever a stuck ledger keeps waiting is told so.
"""

import asyncio
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import ServiceError
from discreet.server.error_replies import HttpError, reply

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


class Ticks:
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


class Waits:
    """Replies 503 where a handler has not begun to reply in time.

    The handler goes on in its thread, and what it says is dropped: a charge that it makes is in the
    ledger, and whoever asks again finds it.
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
    """Keep a task that goes on until it is over; what it raises then is dropped."""

    def forget(done: "asyncio.Task[Any]") -> None:
        left.discard(done)
        if not done.cancelled():
            done.exception()

    left.add(task)
    task.add_done_callback(forget)
