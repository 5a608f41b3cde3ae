"""Bodies are bounded in size and in time before anything reads them.

A body is read whole, within its limit, before a handler begins; uploads alone are streamed. A
client that does not read its reply is disconnected.
"""

import asyncio
from collections.abc import AsyncIterator

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import InputError
from discreet.server.error_replies import HttpError, reply
from discreet.server.settings import Settings

UPLOADS = "/v1/uploads"
_LISTING = frozenset({"/v1/datasets", "/v1/public-tables", "/v1/preview", "/v1/reports/{campaign}"})
_LISTS = 16
"""How much more the owner may send to describe a table: it may have thousands of public keys."""

_CLOSE = {"Connection": "close"}


class BodyLimitMiddleware:
    """Reads bodies, or refuses them with 413 and 408."""

    def __init__(self, app: ASGIApp, *, settings: Settings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def patient(message: Message) -> None:
            try:
                async with asyncio.timeout(self._settings.send_timeout):
                    await send(message)
            except TimeoutError:
                raise ClientDisconnect from None

        template, settings = scope["state"]["template"], self._settings
        streamed = template == UPLOADS
        try:
            more = _LISTS if template in _LISTING else 1
            limit = settings.upload_limit if streamed else settings.body_limit * more
            said = Headers(scope=scope).get("content-length", "0")
            if not said.isascii() or not said.isdigit() or int(said[:20]) > limit:
                raise _too_large(limit)
            source = self._bounded(receive, limit, streamed=streamed)
            replayed = (
                _streamed(source)
                if streamed
                else _whole(b"".join([part async for part in source]), receive)
            )
        except HttpError as wrong:
            await reply(wrong)(scope, receive, send)
            return
        await self._app(scope, replayed, patient)

    async def _bounded(
        self, receive: Receive, limit: int, *, streamed: bool
    ) -> AsyncIterator[bytes]:
        """The parts of a body, within its limits; ClientDisconnect if it never comes to its end."""
        settings, now, size, more = self._settings, asyncio.get_running_loop().time, 0, True
        end = now() + (settings.upload_timeout if streamed else settings.body_timeout)
        while more:
            try:
                async with asyncio.timeout_at(min(end, now() + settings.body_timeout)):
                    message = await receive()
            except TimeoutError:
                error = InputError(
                    "the body did not arrive in time",
                    why="idle connections are closed",
                    fix="send it again, without pauses",
                )
                raise HttpError(408, error, _CLOSE) from None
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            part, more = message.get("body", b""), message.get("more_body", False)
            size += len(part)
            if size > limit:
                raise _too_large(limit)
            yield part


def _whole(body: bytes, rest: Receive) -> Receive:
    """A receiver that has the whole body at hand; `rest` tells when the client goes away."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else await rest()

    return receive


def _streamed(source: AsyncIterator[bytes]) -> Receive:
    """A receiver that reads on as the handler does."""

    async def receive() -> Message:
        part = await anext(source, None)
        return {"type": "http.request", "body": part or b"", "more_body": part is not None}

    return receive


def _too_large(limit: int) -> HttpError:
    error = InputError(
        "the body is too large", why=f"this route takes {limit} bytes", fix="send less"
    )
    return HttpError(413, error, _CLOSE)
