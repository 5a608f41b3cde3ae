"""The application: routers behind the layers that each request passes.

logs -> host check -> authentication -> body limits -> timeout -> ticks -> handler
"""

import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
from fastapi import FastAPI

from discreet.curator.curator import Curator
from discreet.errors import DiscreetError
from discreet.local.campaigns import CampaignStore
from discreet.server import uploads
from discreet.server.access import FILE, AccessStore
from discreet.server.app_state import AppState
from discreet.server.body_limits import BodyLimitMiddleware
from discreet.server.error_replies import FAULTS, handle_errors
from discreet.server.limits import CallerLimits, Slots
from discreet.server.logs import LogMiddleware, Metrics, to_stderr
from discreet.server.permissions import AuthMiddleware, route_accesses
from discreet.server.postgres.listener import PostgresAddress, PostgresListener
from discreet.server.protocol import HEADER_TIMEOUT, SEND_TIMEOUT
from discreet.server.routes import (
    access,
    budgets,
    campaigns,
    datasets,
    health,
    lab,
    ledger,
    pages,
    public,
    questions,
    releases,
    saved,
)
from discreet.server.security_headers import SecurityHeadersMiddleware
from discreet.server.settings import Settings
from discreet.server.ticks import TickMiddleware, TimeoutMiddleware, Timetable
from discreet.server.tokens import Revocations
from discreet.server.uploads import Uploads

CLAIM = 30.0
"""Seconds after which a charge whose worker is gone may be finished by another."""

_SPARE = 32
"""Threads for requests of nobody in particular: pages, health, logging in."""

_COLLECTING = 4
"""Threads for reports of campaigns, which anybody may send: they wait for each other alone."""

_LOOK = 2.0
"""Seconds between looks whether a question was cancelled through another worker."""

_SWEEP = 300
"""Looks between those for files that a crash left."""

_SWITCH = 0.001
"""Seconds that a thread may keep the interpreter while others wait, the one with sockets too."""

_ROUTERS = (
    *(questions.router, health.router, access.router, public.router, questions.orders_router),
    *(questions.online_router, releases.router, saved.router, budgets.router, uploads.router),
    *(datasets.router, datasets.parts_router, budgets.owner_router, ledger.router),
    *(campaigns.router, lab.router),
)
"""Those below /v1; those that come first are found first."""


def build_app(
    curator: Curator,
    settings: Settings | None = None,
    *,
    folder: Path | None = None,
    log: Callable[[str], None] = to_stderr,
    postgres: PostgresAddress | None = None,
) -> FastAPI:
    """The application over a curator, and where Postgres clients are let in, if anywhere.

    `folder` is the curator's own, where uploads and tokens are kept; None keeps them in memory.
    """
    chosen = settings or Settings()
    metrics = Metrics()
    timetable = Timetable(chosen.steps, chosen.quantum, metrics.overrun)
    app_state = AppState(
        curator,
        folder,
        AccessStore(None if folder is None else folder / FILE),
        chosen,
        metrics,
        Slots(
            chosen.computing,
            long=chosen.computing_long,
            room=timetable.room,
            processors=chosen.processors,
        ),
        Slots(chosen.planning, long=max(1, chosen.planning // 3), each=1),
        Slots(2),
        timetable,
        Uploads(folder),
        CampaignStore(None if folder is None else folder / "campaigns"),
        CallerLimits(chosen),
        log,
    )
    app = FastAPI(
        title="discreet",
        description="Answers about people, with a limit on what they reveal about anyone.",
        version="1",
        openapi_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
    )
    curator.set_schedule(app_state.step_schedule)
    app_state.access.revoked = Revocations(curator.ledger)
    app.state.app_state = app_state
    app.state.postgres = None if postgres is None else PostgresListener(app_state, postgres)
    routers = [*(("/v1", one) for one in _ROUTERS), ("", pages.router)]
    app.state.route_accesses = route_accesses(routers)
    for prefix, router in routers:
        app.include_router(router, prefix=prefix, responses=FAULTS if prefix else None)
    handle_errors(app)
    app.openapi = partial(describe, app, app.openapi)  # type: ignore[method-assign]
    # The innermost layer first.
    app.add_middleware(TickMiddleware, quantum=chosen.quantum)
    app.add_middleware(TimeoutMiddleware, patience=chosen.patience)
    app.add_middleware(BodyLimitMiddleware, settings=chosen)
    app.add_middleware(AuthMiddleware, app_state=app_state, table=app.state.route_accesses)
    app.add_middleware(SecurityHeadersMiddleware, hosts=chosen.hosts)
    app.add_middleware(LogMiddleware, app_state=app_state)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[dict[str, float]]:
    app_state: AppState = app.state.app_state
    threads = app_state.settings.threads + _SPARE
    anyio.to_thread.current_default_thread_limiter().total_tokens = threads
    app.state.collecting = anyio.CapacityLimiter(_COLLECTING)
    stopping = threading.Event()
    recovery = threading.Thread(target=_recover, args=(app_state, stopping), daemon=True)
    recovery.start()
    threading.Thread(target=_maintain, args=(app_state, stopping), daemon=True).start()
    sys.setswitchinterval(_SWITCH)
    settings = app_state.settings
    listener: PostgresListener | None = app.state.postgres
    if listener is not None:
        await listener.start()
    yield {HEADER_TIMEOUT: settings.header_timeout, SEND_TIMEOUT: settings.send_timeout}
    stopping.set()
    if listener is not None:
        await listener.stop()
    # What is charged and being computed is waited for.
    await anyio.to_thread.run_sync(lambda: app_state.work.close(grace=settings.grace))
    app_state.uploads.close()
    app_state.campaigns.close()


def _maintain(app_state: AppState, stopping: threading.Event) -> None:
    """Stop what was cancelled through another worker; remove what a crash left of uploads."""
    session, looks = app_state.curator.async_session(None), 0
    while not stopping.wait(_LOOK):
        if looks % _SWEEP == 0 and app_state.folder is not None:
            with suppress(OSError):
                app_state.uploads.sweep()
        looks += 1
        with suppress(DiscreetError):
            session.service.stop_cancelled()


def _recover(app_state: AppState, stopping: threading.Event) -> None:
    """Finish what a crash interrupted: at once, and when its worker's claim has lapsed."""
    for _ in range(2):
        with suppress(DiscreetError), app_state.computing:
            app_state.curator.recover()
        if stopping.wait(CLAIM + 1):
            return


_SCHEMES = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token that an owner made, dpt_...; the first comes from "
        "`discreet serve --init`.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "discreet",
        "description": "The cookie of the page, from POST /v1/session (__Host-discreet away from "
        "this machine); what changes something needs X-CSRF-Token as well.",
    },
}


def describe(app: FastAPI, plain: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The OpenAPI document with who is allowed; made once."""
    if app.openapi_schema is not None:
        return app.openapi_schema
    found = plain()
    found.setdefault("components", {})["securitySchemes"] = _SCHEMES
    for route in app.state.route_accesses:
        for method in route.methods & {
            one.upper() for one in found["paths"].get(route.template, {})
        }:
            operation = found["paths"][route.template][method.lower()]
            if route.guard is None:
                operation["security"] = []
            else:
                operation["security"] = [{name: []} for name in _SCHEMES]
                who = ", ".join(sorted(route.guard.roles))
                operation["description"] = f"{operation.get('description', '')}\n\nFor: {who}."
    return found
