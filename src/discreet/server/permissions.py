"""Authentication and permissions: declared beside each handler, enforced before it.

A handler says who is allowed with `call: Owner` (or Asker, Reader, Member), or that everybody is
with `dependencies=[Depends(anyone)]`. The middleware reads that before the body of
the request; a handler that says nothing is not served at all.
"""

import hmac
import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias

import anyio
import anyio.to_thread
from fastapi import APIRouter, Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.routing import compile_path
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.errors import AccessError, DiscreetError, InputError
from discreet.server import sessions, tokens
from discreet.server.access import AccessStore
from discreet.server.app_state import AppState, Caller, ServerCall, app_state_of
from discreet.server.error_replies import HttpError, missing, reply
from discreet.server.limits import address
from discreet.server.settings import LOOPBACK, Settings
from discreet.server.tokens import ROLES, Role, Token

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
COOKIE: Final = "discreet"
SECURE_COOKIE: Final = "__Host-discreet"
_LONGEST: Final = 300
_THREADS: Final = 8


@dataclass(frozen=True, slots=True)
class Allowed:
    """The roles that a handler serves; none for a handler that serves everybody."""

    roles: frozenset[Role]

    async def __call__(self, request: Request) -> ServerCall:
        """The call; the middleware has authenticated its caller, and this checks again."""
        state = request.state
        caller: Caller | None = getattr(state, "caller", None)
        if caller is None:
            raise unknown()
        self.check(caller)
        arrived: float = getattr(state, "arrived", time.monotonic())
        return ServerCall(app_state_of(request), caller, arrived, request.headers.get("accept", ""))

    def check(self, caller: Caller) -> None:
        """Refuse another role."""
        if caller.role not in self.roles:
            raise HttpError(
                403,
                AccessError(
                    f"this is not for the role {caller.role}",
                    why=f"it is for: {', '.join(sorted(self.roles))}",
                    fix="use a token of such a role",
                ),
            )


def allowed(*roles: Role) -> Allowed:
    """Serve these roles alone."""
    if not roles or not set(roles) <= set(ROLES):
        raise InputError(
            f"a handler for {roles}", why=f"roles are {', '.join(ROLES)}", fix="name some of them"
        )
    return Allowed(frozenset(roles))


Owner: TypeAlias = Annotated[ServerCall, Depends(allowed("owner"))]
Asker: TypeAlias = Annotated[ServerCall, Depends(allowed("owner", "analyst"))]
Reader: TypeAlias = Annotated[ServerCall, Depends(allowed("owner", "auditor"))]
Member: TypeAlias = Annotated[ServerCall, Depends(allowed(*ROLES))]


async def anyone() -> None:
    """Serve everybody, known or not."""


def guard_of(dependant: Dependant) -> Allowed | None:
    """The permission that a handler declares, None for everybody; InputError if it has none."""
    calls = [one.call for one in dependant.dependencies]
    guards = [one for one in calls if isinstance(one, Allowed)]
    found: list[Allowed | None] = [*guards, *(None for one in calls if one is anyone)]
    if len(found) != 1:
        raise InputError(
            f"{dependant.path} has {len(found)} guards",
            why="each handler says once who may call it",
            fix="depend on allowed(...) or on anyone",
        )
    return found[0]


# --- finding out who it is ----------------------------------------------------------------------


def identify(headers: Headers, method: str, store: AccessStore, settings: Settings) -> Caller:
    """The caller of a request; Refusal 401 without a token, 403 for a forged request."""
    sent = headers.getlist("authorization")
    if sent:
        token = _by_header(sent, store, tokens.find)
        if token is None:
            raise unknown()
        return Caller.of(token)
    cookie = session_cookie(headers)
    found = None if cookie is None else sessions.find(store, cookie, settings)
    if found is None or cookie is None:
        raise unknown()
    if method not in SAFE:
        sent_back = headers.get("x-csrf-token", "").encode()
        if not hmac.compare_digest(sent_back, sessions.csrf(cookie).encode()):
            raise forged()
    return Caller.of(found, cookie)


def recall(headers: Headers, store: AccessStore) -> Caller | None:
    """The caller of a request by a token that was found lately; None says nothing."""
    token = _by_header(headers.getlist("authorization"), store, tokens.recall)
    return None if token is None else Caller.of(token)


def _by_header(
    sent: Sequence[str], store: AccessStore, find: Callable[[AccessStore, str], Token | None]
) -> Token | None:
    """The token of exactly one Authorization header."""
    scheme, _, text = sent[0].partition(" ") if len(sent) == 1 else ("", "", "")
    if scheme.lower() != "bearer" or len(text) > _LONGEST:
        return None
    return find(store, text.strip())


def session_cookie(headers: Headers) -> str | None:
    """The cookie of the page, under the one name that fits how the request came."""
    found = cookie_parser(headers.get("cookie", "")).get(cookie_terms(headers)["key"])
    return found if found and len(found) <= _LONGEST else None


def cookie_terms(headers: Headers) -> dict[str, Any]:
    """How the cookie is set: for encrypted connections only, everywhere but on this machine."""
    secure = split_host(headers.get("host", ""))[0] not in LOOPBACK
    name = SECURE_COOKIE if secure else COOKIE
    return {"key": name, "path": "/", "secure": secure, "httponly": True, "samesite": "strict"}


def split_host(host: str) -> tuple[str, str]:
    """The name of a Host header, in lower case, and its port, "" where it has none.

    Example:
        >>> split_host("LocalHost:8000"), split_host("[::1]:80"), split_host("[::1]")
        (('localhost', '8000'), ('[::1]', '80'), ('[::1]', ''))
    """
    name, colon, port = host.rpartition(":")
    return (name.lower(), port) if colon and not port.endswith("]") else (host.lower(), "")


def check_origin(headers: Headers) -> None:
    """Refuse a request that a page of somebody else makes a browser send."""
    host = headers.get("host", "").lower()
    own = {f"http://{host}", f"https://{host}"}  # which of them, the proxy in front knows alone
    same = all(one.lower() in own for one in headers.getlist("origin"))
    site = headers.get("sec-fetch-site", "same-origin")
    if not same or site not in {"same-origin", "none"}:
        raise forged()


def unknown() -> HttpError:
    """One text for all reasons: whether a token ever existed is nobody's business."""
    error = AccessError(
        "nobody was let in",
        why="there is no token, or it is unknown, expired or revoked",
        fix="send a token that works as 'Authorization: Bearer ...', or log in to the page",
    )
    return HttpError(401, error, {"WWW-Authenticate": "Bearer"})


def forged() -> HttpError:
    """A browser was made to send it."""
    error = AccessError(
        "this request did not come from the page",
        why="with a cookie alone, another site could have made the browser send it",
        fix="send the header X-CSRF-Token with the value that GET /v1/me tells",
    )
    return HttpError(403, error)


# --- before a handler -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RouteAccess:
    """One handler and its permission; `guard` None allows everybody."""

    template: str
    methods: frozenset[str]
    pattern: re.Pattern[str]
    guard: Allowed | None


def route_accesses(routers: Iterable[tuple[str, APIRouter]]) -> tuple[RouteAccess, ...]:
    """The handlers of routers with their prefixes, in the order in which they are found."""
    found = []
    for prefix, route in ((prefix, one) for prefix, router in routers for one in router.routes):
        if not isinstance(route, APIRoute):
            raise InputError(
                f"a {type(route).__name__} in a router",
                why="permissions are declared by handlers",
                fix="write it as a handler",
            )
        pattern, template, _ = compile_path(prefix + route.path)
        methods, guard = frozenset(route.methods or ()), guard_of(route.dependant)
        found.append(RouteAccess(template, methods, pattern, guard))
    return tuple(found)


class AuthMiddleware:
    """Lets requests through to the handler they are for, from those whom it serves."""

    def __init__(self, app: ASGIApp, *, app_state: AppState, table: Sequence[RouteAccess]) -> None:
        self._app = app
        self._app_state = app_state
        self._table = table
        self._limits = app_state.limits
        self._threads: anyio.CapacityLimiter | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        async with AsyncExitStack() as inside:
            try:
                await self._admit(scope)
                if caller := scope["state"].get("caller"):
                    await inside.enter_async_context(self._limits.concurrency.joined(caller.name))
            except (HttpError, DiscreetError) as wrong:
                await reply(wrong)(scope, receive, send)
            else:
                await self._app(scope, receive, send)

    async def _admit(self, scope: Scope) -> None:
        client = address(scope.get("client"))
        try:
            route = self._find(scope["path"], scope["method"])
        except HttpError:
            self._limits.addresses.check(client)
            raise
        scope["state"]["template"] = route.template
        headers = Headers(scope=scope)
        if route.guard is None:
            self._limits.addresses.check(client)
        if scope["method"] not in SAFE and "authorization" not in headers:
            check_origin(headers)
        if route.guard is not None:
            await self._let_in(scope, route.guard, headers, client)

    async def _let_in(self, scope: Scope, guard: Allowed, headers: Headers, client: str) -> None:
        app_state = self._app_state
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(_THREADS)
        caller = recall(headers, app_state.access)
        try:
            if caller is None:
                caller = await anyio.to_thread.run_sync(
                    identify,
                    headers,
                    scope["method"],
                    app_state.access,
                    app_state.settings,
                    limiter=self._threads,
                )
        except HttpError:
            self._limits.addresses.check(client)
            raise
        scope["state"]["caller"] = caller
        self._limits.names.check(caller.name)
        guard.check(caller)

    def _find(self, path: str, method: str) -> RouteAccess:
        others: set[str] = set()
        for route in self._table:
            if route.pattern.fullmatch(path):  # match would let a line feed stand at the end
                if method in route.methods:
                    return route
                others |= route.methods
        if not others:
            raise missing("such address")
        usual = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}  # others are not quoted
        error = missing(f"method {method if method in usual else 'like this'} here").error
        raise HttpError(405, error, {"Allow": ", ".join(sorted(others))})
