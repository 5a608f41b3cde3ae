"""Epochs of online queries: asked under the charge of an order of kind `online`."""

import json
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from discreet.curator.orders.online_epochs import MOST_QUERIES
from discreet.server.permissions import Asker
from discreet.server.questions import asking_of, charged_of_kind
from discreet.server.routes.questions import Charge

router = APIRouter(tags=["online"])


class OnlineBody(BaseModel):
    """Counting queries: for each, the values that count, column by column."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"queries": [{"sex": ["female"], "age": {"low": 30, "high": 39}}]}]
        },
    )

    queries: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MOST_QUERIES)]
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95


class OnlineTold(BaseModel):
    """Answers in order, with intervals; what is left of the epoch; whether it is held here."""

    answers: list[dict[str, Any]]
    updates_left: int
    runs_left: int
    held: bool


@router.post("/online/{charge}/ask", response_model=OnlineTold)
def ask_online(charge: Charge, body: OnlineBody, request: Request, caller: Asker) -> JSONResponse:
    """Answer counting queries from an epoch's hypothesis; those that are hard are measured."""
    window = charged_of_kind(charge, "online", request, caller)
    planning = partial(asking_of(request, caller).planning, len(json.dumps(body.queries)))
    told = window.ask_online(charge, body.queries, body.confidence, caller.name, planning)
    return JSONResponse(told.to_dict())


@router.get(
    "/online/{charge}",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}},
)
def online_state(charge: Charge, request: Request, caller: Asker) -> Response:
    """The public state of an epoch: its measurements, free to query anywhere."""
    window = charged_of_kind(charge, "online", request, caller)
    stored = window.online_state(charge).to_bytes()
    return Response(stored, media_type="application/octet-stream")
