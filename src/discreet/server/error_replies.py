"""Errors as replies: one shape for all of them, and a status that says whose turn it is."""

from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from discreet.curator.client.wire import write_error
from discreet.errors import (
    AccessError,
    BudgetError,
    DiscreetError,
    EngineError,
    InputError,
    InvariantBroken,
    LedgerError,
    QueryRefused,
    ServiceError,
)


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
        self, status: int, error: DiscreetError, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(str(error))
        self.status = status
        self.error = error
        self.headers = dict(headers or {})


_STATUS: Final[dict[type[DiscreetError], int]] = {
    InputError: 422,
    QueryRefused: 422,
    BudgetError: 402,
    AccessError: 403,
    LedgerError: 503,
    EngineError: 503,
    InvariantBroken: 503,
    ServiceError: 503,
}
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


def body(error: DiscreetError) -> dict[str, Any]:
    """An error as JSON."""
    return {"error": write_error(error)}


def reply(refusal: HttpError) -> JSONResponse:
    """A refusal as a response."""
    return JSONResponse(body(refusal.error), refusal.status, refusal.headers)


def missing(what: str) -> HttpError:
    """There is no such thing, or not for this caller: the two read alike."""
    return HttpError(
        404,
        InputError(
            f"there is no {what}",
            why="nothing is known under this name",
            fix="look at the lists: /v1/datasets, /v1/releases",
        ),
    )


def refusal(error: DiscreetError) -> HttpError:
    """An error that was raised on purpose, with its status."""
    return HttpError(_STATUS.get(type(error), 503), error)


def broken() -> HttpError:
    """The reply to an unexpected exception; its text stays on the server."""
    return HttpError(
        500,
        InvariantBroken(
            "something went wrong inside the server",
            why="it came to a place that it should not reach, and released nothing",
            fix="ask again with the same request name; if it stays, tell whoever runs the server",
        ),
    )


def handle_errors(app: FastAPI) -> None:
    """Turn whatever handlers raise on purpose into replies."""

    @app.exception_handler(DiscreetError)
    async def ours(_: Request, error: DiscreetError) -> JSONResponse:
        return reply(refusal(error))

    @app.exception_handler(HttpError)
    async def told(_: Request, error: HttpError) -> JSONResponse:
        return reply(error)

    @app.exception_handler(RequestValidationError)
    async def misread(_: Request, error: RequestValidationError) -> JSONResponse:
        return reply(refusal(unreadable(error)))

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> JSONResponse:
        return reply(_other(error))


def unreadable(error: RequestValidationError) -> InputError:
    """Validation errors by the names of a request's parts; what was sent is not quoted."""
    first = error.errors()[0]
    where = ".".join(str(part)[:60] for part in first["loc"][:6])
    return InputError(
        f"{where} cannot be read",
        why=str(first["msg"]).rstrip(".")[:200] or "it is not of the right kind",
        fix="send what the description of this route says (/v1/openapi.json)",
    )


def _other(error: HTTPException) -> HttpError:
    headers = dict(error.headers or {})
    if error.status_code in {404, 405}:
        found = missing("such address or method")
        return HttpError(error.status_code, found.error, headers)
    wrong = InputError(
        "the request cannot be read",
        why="its body is not what this route takes",
        fix="send what the description of this route says (/v1/openapi.json)",
    )
    return HttpError(422, wrong, headers)
