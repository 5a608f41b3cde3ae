"""Authentication: finds the handler and the caller of a request before its body is read."""

import re
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

import anyio
import anyio.to_thread
from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.routing import compile_path
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.errors import DiscreetError, InputError
from discreet.server.app_state import AppState
from discreet.server.error_replies import HttpError, missing, refusal, reply
from discreet.server.permissions import SAFE, Allowed, check_origin, guard_of, identify, recall
from discreet.server.rate_limits import address

_THREADS: Final = 8


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
                    await inside.enter_async_context(self._limits.crowd.joined(caller.name))
            except HttpError as wrong:
                await reply(wrong)(scope, receive, send)
            except DiscreetError as wrong:
                await reply(refusal(wrong))(scope, receive, send)
            else:
                await self._app(scope, receive, send)

    async def _admit(self, scope: Scope) -> None:
        client = address(scope.get("client"))
        try:
            gate = self._find(scope["path"], scope["method"])
        except HttpError:
            self._limits.addresses.check(client)
            raise
        scope["state"]["template"] = gate.template
        headers = Headers(scope=scope)
        if gate.guard is None:
            self._limits.addresses.check(client)
        if scope["method"] not in SAFE and "authorization" not in headers:
            check_origin(headers)
        if gate.guard is not None:
            await self._let_in(scope, gate.guard, headers, client)

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
        for gate in self._table:
            if gate.pattern.fullmatch(path):  # match would let a line feed stand at the end
                if method in gate.methods:
                    return gate
                others |= gate.methods
        if not others:
            raise missing("such address")
        usual = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}  # others are not quoted
        error = missing(f"method {method if method in usual else 'like this'} here").error
        raise HttpError(405, error, {"Allow": ", ".join(sorted(others))})
