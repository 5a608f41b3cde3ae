"""The application: routers behind the layers that each request passes.

logs -> shield (host) -> door (who) -> bodies (size) -> waits -> ticks (time) -> handler
"""

import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import anyio.to_thread
from fastapi import APIRouter, FastAPI

from discreet.curator.curator import Curator
from discreet.errors import DiscreetError
from discreet.server.access import FILE, AccessStore
from discreet.server.bodies import Bodies
from discreet.server.describe import describe
from discreet.server.door import Door, gates
from discreet.server.house import House
from discreet.server.limits import Slots
from discreet.server.logs import Logs, to_stderr
from discreet.server.metrics import Metrics
from discreet.server.protocol import HEADER_TIMEOUT
from discreet.server.replies import FAULTS, handle_errors
from discreet.server.revocations import Revocations
from discreet.server.routes import (
    access,
    budgets,
    datasets,
    grants,
    health,
    lab,
    ledger,
    pages,
    public,
    questions,
    releases,
    uploads,
)
from discreet.server.settings import Settings
from discreet.server.shield import Shield
from discreet.server.ticks import Ticks
from discreet.server.timetable import Timetable
from discreet.server.uploads import Uploads
from discreet.server.waits import Waits

CLAIM = 30.0
"""Seconds after which a charge whose worker is gone may be finished by another."""

_SPARE = 32
"""Threads for requests of nobody in particular: pages, health, logging in."""

_LOOK = 2.0
"""Seconds between looks whether a question was cancelled through another worker."""

_SWEEP = 300
"""Looks between those for files that a crash left."""

_SWITCH = 0.001
"""Seconds that a thread may keep the interpreter while others wait, the one with sockets too."""

_PARTS = (
    *(health, access, public, questions, releases, budgets),
    *(uploads, datasets, grants, ledger, lab),
)


def build_app(
    curator: Curator,
    settings: Settings | None = None,
    *,
    folder: Path | None = None,
    store: AccessStore | None = None,
    log: Callable[[str], None] = to_stderr,
) -> FastAPI:
    """The application over a curator.

    `folder` is where uploads and tokens are kept: the curator's own. Without one, or a `store`,
    tokens are in memory.
    """
    chosen = settings or Settings()
    metrics = Metrics()
    timetable = Timetable(chosen.steps, chosen.quantum, metrics.overrun)
    curator.keep_time(timetable.pace())
    house = House(
        curator,
        folder,
        store or AccessStore(None if folder is None else folder / FILE),
        chosen,
        metrics,
        Slots(
            chosen.computing,
            long=chosen.computing_long,
            room=timetable.room,
            processors=chosen.processors,
        ),
        Slots(chosen.planning, long=max(1, chosen.planning // 3), each=1),
        timetable,
        Uploads(folder),
        log,
    )
    app = FastAPI(
        title="discreet",
        description="Answers about people that give none of them away.",
        version="1",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
    )
    house.access.revoked = Revocations(curator.ledger)
    app.state.house = house
    app.state.gates = gates(_routers())
    for prefix, router in _routers():
        app.include_router(router, prefix=prefix, responses=FAULTS if prefix else None)
    handle_errors(app)
    app.openapi = partial(describe, app, app.openapi)  # type: ignore[method-assign]
    _add_layers(app, house)
    return app


def _routers() -> list[tuple[str, APIRouter]]:
    """All routers with their prefixes; those who come first are found first."""
    return [*(("/v1", part.router) for part in _PARTS), ("", pages.router)]


def _add_layers(app: FastAPI, house: House) -> None:
    """The innermost first."""
    app.add_middleware(Ticks, quantum=house.settings.quantum)
    app.add_middleware(Waits, patience=house.settings.patience)
    app.add_middleware(Bodies, settings=house.settings)
    app.add_middleware(Door, house=house, table=app.state.gates)
    app.add_middleware(Shield, hosts=house.settings.hosts)
    app.add_middleware(Logs, house=house)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[dict[str, float]]:
    house: House = app.state.house
    threads = house.settings.threads + _SPARE
    anyio.to_thread.current_default_thread_limiter().total_tokens = threads
    stopping = threading.Event()
    recovery = threading.Thread(target=_recover, args=(house, stopping), daemon=True)
    recovery.start()
    threading.Thread(target=_look_around, args=(house, stopping), daemon=True).start()
    sys.setswitchinterval(_SWITCH)
    yield {HEADER_TIMEOUT: house.settings.header_timeout}
    stopping.set()
    await anyio.to_thread.run_sync(_finish, house)


def _look_around(house: House, stopping: threading.Event) -> None:
    """Stop what was cancelled through another worker; remove what a crash left of uploads."""
    window, looks = house.curator.window(None), 0
    while not stopping.wait(_LOOK):
        if looks % _SWEEP == 0 and house.folder is not None:
            with suppress(OSError):
                house.uploads.sweep()
        looks += 1
        with suppress(DiscreetError):
            window.stop_cancelled()


def _recover(house: House, stopping: threading.Event) -> None:
    """Finish what a crash interrupted: at once, and when its worker's claim has lapsed."""
    for _ in range(2):
        with suppress(DiscreetError), house.work.taken(patience=house.settings.patience):
            house.curator.recover()
        if stopping.wait(CLAIM + 1):
            return


def _finish(house: House) -> None:
    """Wait for what is charged and being computed."""
    house.work.close(grace=house.settings.grace)
    house.uploads.close()
