"""Security headers of every reply, and the allowed host names."""

from collections.abc import Mapping
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import InputError
from discreet.server.error_replies import HttpError, reply
from discreet.server.permissions import split_host

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
HEADER_LIMIT: Final = 16 * 1024
_MANY: Final = 100


class SecurityHeadersMiddleware:
    """Adds the headers, and refuses names that are not the server's (DNS rebinding).

    Whatever two servers could read as different requests (RFC 9112, 6.1) is refused, too.
    """

    def __init__(self, app: ASGIApp, *, hosts: tuple[str, ...]) -> None:
        self._app = app
        self._hosts = frozenset(one.lower() for one in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return

        async def shielded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                if scope["path"].startswith("/v1"):
                    headers["Cache-Control"] = "no-store"
            await send(message)

        wrong = self._wrong(scope)
        if wrong is None:
            await self._app(scope, receive, shielded)
        else:
            await reply(wrong)(scope, receive, shielded)

    def _wrong(self, scope: Scope) -> HttpError | None:
        sent = scope["headers"]
        if len(sent) > _MANY or sum(len(name) + len(value) for name, value in sent) > HEADER_LIMIT:
            error = InputError(
                "the headers are too long",
                why=f"{HEADER_LIMIT} bytes in {_MANY} lines are enough for every request",
                fix="send fewer of them",
            )
            return HttpError(431, error, {"Connection": "close"})
        headers = Headers(scope=scope)
        if "transfer-encoding" in headers and (
            "content-length" in headers or scope["http_version"] != "1.1"
        ):
            error = InputError(
                "a body of which two lengths are said",
                why="a proxy in front could take its end for another request, of somebody else",
                fix="send Content-Length alone, or Transfer-Encoding over HTTP/1.1",
            )
            return HttpError(400, error, {"Connection": "close"})
        names = headers.getlist("host")
        if len(names) == 1 and self._is_own(names[0], scope):
            return None
        error = InputError(
            "this server does not answer to that name and port",
            why="a page of somebody else could reach it by a name of theirs",
            fix="use a name it was started with (discreet serve --name); a proxy's port is part of "
            "it",
        )
        return HttpError(400, error)

    def _is_own(self, host: str, scope: Scope) -> bool:
        """Whether a name is the server's, with no port, the one it listens on, or a stated one."""
        if host.lower() in self._hosts:
            return True
        (name, port), server = split_host(host), scope.get("server")
        listens = "" if server is None else str(server[1])
        return name in self._hosts and port in {"", listens} and not host.endswith(":")
