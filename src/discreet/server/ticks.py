"""Replies to questions leave on a tick, so that how long an answer took to compute stays here.

Time is counted from the moment that the whole request was read: a client that sends its last byte
late does not choose where between two ticks a computation begins.
"""

import asyncio
import math
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
