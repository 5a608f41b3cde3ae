"""One line of JSON for each request, never what was in it; and counts of replies by route."""

import json
import logging
import math
import os
import secrets
import sys
import threading
import time
import traceback
from collections import Counter
from datetime import UTC, datetime
from typing import Any, Final

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.server.app_state import AppState
from discreet.server.error_replies import broken, reply

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_GONE: Final = 499
"""What is logged for a client that went away before it was answered."""


def to_stderr(line: str) -> None:
    """Write a line, whole."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


class LogMiddleware:
    """The outermost layer: logs and counts each request, and catches what nobody else did."""

    def __init__(self, app: ASGIApp, *, app_state: AppState) -> None:
        self._app = app
        self._app_state = app_state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # there are no web sockets here
        scope["state"] = dict(scope.get("state", {}))
        begun, status = time.monotonic(), 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        wrong: dict[str, str] = {}
        try:
            await self._app(scope, receive, watched)
        except ClientDisconnect:
            status = status or _GONE
        except Exception as error:  # noqa: BLE001 - whatever it says could quote data
            wrong = place(error)
            if not status:
                await reply(broken())(scope, receive, watched)
        state, took, status = scope["state"], time.monotonic() - begun, status or _GONE
        method = scope["method"] if scope["method"] in _METHODS else "other"
        template, caller = state.get("template", "-"), state.get("caller")
        self._app_state.metrics.count(template, method, status)
        token = None if caller is None else caller.token
        write_line(self._app_state, method, template, status, token, took, wrong)


def write_line(
    app_state: AppState,
    method: str,
    route: str,
    status: int | str,
    token: str | None,
    seconds: float,
    wrong: dict[str, str],
) -> None:
    """Log a request, by whichever protocol; times are whole quanta."""
    quantum = app_state.settings.quantum
    line = {"time": _now(), "id": secrets.token_hex(8), "method": method, "route": route}
    took = math.ceil(seconds / quantum) * round(quantum * 1000)
    app_state.log(json.dumps({**line, "status": status, "token": token, "ms": took, **wrong}))


def place(error: BaseException) -> dict[str, str]:
    """Class and location of an error; its text is left out."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    where = "-" if last is None else f"{last.name}:{last.lineno}"
    return {"error": type(error).__name__, "where": where}


class JsonFormatter(logging.Formatter):
    """Lines of other packages in the same form; of an exception its class and place alone."""

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON."""
        facts: dict[str, Any] = {"time": _now(), "level": record.levelname.lower()}
        if record.exc_info and record.exc_info[1] is not None:
            return json.dumps(facts | place(record.exc_info[1]))
        return json.dumps(facts | {"event": record.getMessage()[:200]})


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


_LOG = logging.getLogger("discreet")

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counters of one worker's answers.

    Example:
        >>> metrics = Metrics(worker=7)
        >>> metrics.count("/v1/health", "GET", 200)
        >>> print(metrics.text().splitlines()[2])
        discreet_requests_total{route="/v1/health",method="GET",status="2xx",worker="7"} 1
    """

    def __init__(self, worker: int | None = None) -> None:
        self._worker = os.getpid() if worker is None else worker
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._overruns = 0
        self._lock = threading.Lock()

    def count(self, route: str, method: str, status: int) -> None:
        """One more reply."""
        with self._lock:
            self._counts[route, method, f"{status // 100}xx"] += 1

    def overrun(self) -> None:
        """One more question that took longer than was foreseen for it."""
        with self._lock:
            self._overruns += 1
        _LOG.warning("a question overran its step; its caller's next ones begin one step later")

    def text(self) -> str:
        """The counts in the format that Prometheus reads."""
        with self._lock:
            counts, overruns = sorted(self._counts.items()), self._overruns
        lines = [
            "# HELP discreet_requests_total Replies by route, method and class of status.",
            "# TYPE discreet_requests_total counter",
        ]
        for (route, method, status), count in counts:
            labels = f'route="{route}",method="{method}",status="{status}",worker="{self._worker}"'
            lines.append(f"discreet_requests_total{{{labels}}} {count}")
        lines += [
            "# HELP discreet_overruns_total Questions that took longer than was foreseen.",
            "# TYPE discreet_overruns_total counter",
            f'discreet_overruns_total{{worker="{self._worker}"}} {overruns}',
        ]
        return "\n".join(lines) + "\n"
