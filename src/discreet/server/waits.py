"""No request waits for ever: whoever a stuck ledger keeps waiting is told so."""

import asyncio
from functools import partial
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import ServiceError
from discreet.server.error_replies import HttpError, reply

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
        self._left: set[asyncio.Task[None]] = set()

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
                self._left.add(task)
                task.add_done_callback(self._forget)
        error = ServiceError(
            "there is no answer in time",
            why="the ledger or the machine does not answer; whether anything was charged is not "
            "known",
            fix="ask the same again later: it is charged once, and found if it was charged",
        )
        await reply(HttpError(503, error, {"Retry-After": "10"}))(scope, receive, send)

    def _forget(self, task: "asyncio.Task[None]") -> None:
        self._left.discard(task)
        if not task.cancelled():
            task.exception()
