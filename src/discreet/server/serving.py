"""Serve a curator's folder, in one process or several."""

import gc
import json
import math
import os
import threading
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI

from discreet.curator.budget import Budget
from discreet.curator.curator import Curator
from discreet.errors import DiscreetError
from discreet.plan.schema import Bounds, Keys
from discreet.server.app import build_app
from discreet.server.postgres.listener import PostgresAddress
from discreet.server.protocol import Protocol
from discreet.server.security_headers import HEADER_LIMIT
from discreet.server.settings import Settings
from discreet.server.ticks import Timetable

_SERVED: Final = "DISCREET_SERVED"
"""The variable that tells workers what to serve, as JSON."""

_CONNECTIONS: Final = 1000
_KEEP_ALIVE: Final = 5
_HEALTH: Final = 20
"""Seconds in which a worker tells its supervisor that it lives; a frozen one is replaced then.

So is one that was killed while it was asked. With its start that ends a wait within 30 seconds.
"""

_NEW_OBJECTS: Final = 20_000
"""Objects between two looks for cycles among the newest; an answer makes thousands and few cycles.

Looking after every 700, as Python does by itself, took a twentieth of the time of an answer.
"""

LOGGING: Final[dict[str, Any]] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "discreet.server.logs.JsonFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {"uvicorn": {"level": "WARNING"}},
}
"""What other packages log, in our form."""


def options(settings: Settings) -> dict[str, Any]:
    """How uvicorn has to be set up for the limits to hold."""
    return {
        "http": Protocol,
        "ws": "none",
        "lifespan": "on",
        "loop": "asyncio",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "h11_max_incomplete_event_size": HEADER_LIMIT,
        "limit_concurrency": _CONNECTIONS,
        "timeout_keep_alive": _KEEP_ALIVE,
        "timeout_graceful_shutdown": math.ceil(settings.grace),
    }


def run(
    folder: Path,
    settings: Settings,
    *,
    host: str,
    port: int,
    workers: int = 1,
    proxies: tuple[str, ...] = (),
    certificate: Path | None = None,
    key: Path | None = None,
    postgres: int | None = None,
) -> None:
    """Serve a curator's folder until a signal says to stop; Postgres clients on a port of theirs.

    Every worker opens the folder for itself. `proxies` are addresses whose X-Forwarded-For is
    believed.
    """
    import uvicorn  # noqa: PLC0415 - whoever serves has it

    settings = replace(settings, processors=settings.processors / workers)
    threading.Thread(target=_recover, args=(folder, settings), daemon=True).start()
    served = {"folder": str(folder.resolve()), "settings": asdict(settings), "postgres": None}
    if postgres is not None:
        where = PostgresAddress(host, postgres, shared=workers > 1)
        if certificate and key:
            where = replace(where, certificate=str(certificate), key=str(key))
        served["postgres"] = asdict(where)
    os.environ[_SERVED] = json.dumps(served)
    uvicorn.run(
        "discreet.server.serving:served_app",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        timeout_worker_healthcheck=_HEALTH,
        **options(settings)
        | {
            "log_config": LOGGING,
            "proxy_headers": bool(proxies),
            "forwarded_allow_ips": list(proxies),
        },
    )


def _recover(folder: Path, settings: Settings) -> None:
    """Finish what the last server left; nobody else is taken to be at it, so it need not wait.

    It is stopped when a question is: what nobody could finish then fails now.
    """
    with suppress(DiscreetError), Curator(folder) as curator:
        curator.set_schedule(Timetable(settings.steps, settings.quantum).schedule)
        curator.recover(patience=0)


def warm_up() -> None:
    """Ask once about nobody: what is loaded and compiled by the first question is there then.

    Why: a question that waits for libraries is late, and its caller's later ones begin later.
    """
    curator = Curator.in_memory()
    curator.add(
        "people",
        {"id": [1], "n": [1], "k": ["a"]},
        unit="id",
        budget=Budget(epsilon=1),
        columns={"n": Bounds(0, 1), "k": Keys(["a"])},
    )
    curator.sql("SELECT k, COUNT(*) AS c, SUM(n) AS s FROM people GROUP BY k", epsilon=0.1)


def served_app() -> FastAPI:
    """The application of one worker."""
    served = json.loads(os.environ[_SERVED])
    folder, settings, where = Path(served["folder"]), served["settings"], served["postgres"]
    warm_up()
    postgres = None if where is None else PostgresAddress(**where)
    app = build_app(Curator(folder), Settings(**settings), folder=folder, postgres=postgres)
    gc.collect()
    gc.freeze()  # what is loaded by now stays, and need not be looked through again
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
    return app
