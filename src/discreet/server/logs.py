"""One line of JSON for each request: who, which route, what became of it. Never what was in it."""

import json
import logging
import math
import secrets
import sys
import time
import traceback
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


class Logs:
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
        self._write(scope, status or _GONE, time.monotonic() - begun, wrong)

    def _write(self, scope: Scope, status: int, seconds: float, wrong: dict[str, str]) -> None:
        state, quantum = scope["state"], self._app_state.settings.quantum
        method = scope["method"] if scope["method"] in _METHODS else "other"
        template, caller = state.get("template", "-"), state.get("caller")
        self._app_state.metrics.count(template, method, status)
        line = {
            "time": _now(),
            "id": secrets.token_hex(8),
            "method": method,
            "route": template,
            "status": status,
            "token": None if caller is None else caller.token,
            "ms": math.ceil(seconds / quantum) * round(quantum * 1000),
            **wrong,
        }
        self._app_state.log(json.dumps(line))


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
