"""Errors as replies: one shape for all of them, and a status that says whose turn it is."""

from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from discreet import errors
from discreet.curator.client.wire import write_error


class ErrorFacts(BaseModel):
    """What happened, why, and what to do; the rest where it exists."""

    model_config = ConfigDict(extra="forbid")

    kind: str = Field(description="The class of `discreet.errors` that the Python client raises.")
    what: str
    why: str
    fix: str
    code: str | None = Field(None, description="Names the reason a question is refused.")
    start: int | None = Field(None, description="Where the refused part of the SQL begins.")
    end: int | None = Field(None, description="Where it ends.")
    asked: float | None = Field(None, description="The price, in the unit of the budget.")
    left: float | None = Field(None, description="What is left of the budget that refused.")


class ErrorReply(BaseModel):
    """The body of every reply that is not a success."""

    model_config = ConfigDict(extra="forbid")

    error: ErrorFacts


class HttpError(Exception):
    """An error of ours, and the status to tell it under."""

    def __init__(
        self, status: int, error: errors.DiscreetError, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(str(error))
        self.status = status
        self.error = error
        self.headers = dict(headers or {})


_STATUS: Final[dict[type[errors.DiscreetError], int]] = {
    errors.InputError: 422,
    errors.QueryRefused: 422,
    errors.BudgetError: 402,
    errors.AccessError: 403,
}
"""All others are 503."""

_MEANINGS: Final = {
    401: "There is no token, or it is unknown, expired or revoked.",
    402: "The price does not fit what is left; nothing was charged.",
    403: "The token is for another role or other datasets, or a request of the page was forged.",
    404: "There is nothing under this name.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    422: "The input is wrong, or the question is refused; nothing was charged.",
    429: "There were too many requests; Retry-After says when to come again.",
    503: "The ledger or the engine failed, or the server is busy or stopping.",
}
FAULTS: Final[dict[int | str, dict[str, Any]]] = {
    status: {"model": ErrorReply, "description": text} for status, text in _MEANINGS.items()
}
"""Replies that any route may give, for its description."""


def reply(error: Exception) -> JSONResponse:
    """An error as a response."""
    told = as_http(error)
    return JSONResponse({"error": write_error(told.error)}, told.status, told.headers)


def missing(what: str) -> HttpError:
    """There is no such thing, or not for this caller: the two read alike."""
    return HttpError(
        404,
        errors.InputError(
            f"there is no {what}",
            why="nothing is known under this name",
            fix="look at the lists: /v1/datasets, /v1/releases",
        ),
    )


def as_http(error: Exception) -> HttpError:
    """Any exception as an error to tell; an unexpected exception reveals nothing."""
    match error:
        case HttpError():
            return error
        case errors.DiscreetError():
            return HttpError(_STATUS.get(type(error), 503), error)
        case RequestValidationError():
            return HttpError(422, _unreadable(error))
        case HTTPException(status_code=404 | 405):
            found = missing("such address or method").error
            return HttpError(error.status_code, found, error.headers)
        case HTTPException():
            wrong = errors.InputError(
                "the request cannot be read", why="its body is not what this route takes", fix=_FIX
            )
            return HttpError(422, wrong, error.headers)
        case _:
            return broken()


def broken() -> HttpError:
    """The reply to an unexpected exception; its text stays on the server."""
    return HttpError(
        500,
        errors.InvariantBroken(
            "something went wrong inside the server",
            why="it met an unexpected error, and released nothing",
            fix="ask again with the same request name; if it stays, tell whoever runs the server",
        ),
    )


_FIX: Final = "send what the description of this route says (/v1/openapi.json)"


def _unreadable(error: RequestValidationError) -> errors.InputError:
    """Validation errors by the names of a request's parts; what was sent is not quoted."""
    first = error.errors()[0]
    where = ".".join(str(part)[:60] for part in first["loc"][:6])
    return errors.InputError(
        f"{where} cannot be read",
        why=str(first["msg"]).rstrip(".")[:200] or "it is not of the right kind",
        fix=_FIX,
    )


def handle_errors(app: FastAPI) -> None:
    """Turn whatever handlers raise on purpose into replies."""

    async def told(_: Request, error: Exception) -> JSONResponse:
        return reply(error)

    for kind in (errors.DiscreetError, HttpError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, told)
