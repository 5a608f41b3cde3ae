"""Orders of any kind: their price and placing; epochs of online queries under such a charge.

`/v1/queries/N` has the answer later.
"""

import json
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from discreet.curator.client import wire
from discreet.curator.ledger.orders import request_name
from discreet.curator.orders.online_epochs import MOST_QUERIES
from discreet.curator.reports import json_views
from discreet.server.permissions import Asker
from discreet.server.question_models import TELLS
from discreet.server.questions import asking_of, async_session_of, charged_of_kind
from discreet.server.routes.questions import Accept, Charge, Key, Prefer, place

router = APIRouter(tags=["orders"])


class OrderBody(BaseModel):
    """An order: its kind, and what the kind reads, the price too."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "kind": "query",
                    "spec": {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.1"},
                }
            ]
        },
    )

    kind: Annotated[str, Field(min_length=1, max_length=100)]
    spec: dict[str, Any]

    @property
    def size(self) -> int:
        """The characters of the spec."""
        return len(json.dumps(self.spec))


class ExactPrice(BaseModel):
    """A price as texts that mean it exactly."""

    epsilon: str
    delta: str


class OrderExplained(BaseModel):
    """Cost and expected quality of an order; nothing was charged."""

    price: ExactPrice
    neighbours: str
    text: str
    facts: dict[str, Any]
    bill: list[dict[str, Any]]
    charges: list[dict[str, Any]] = Field(description="The bill, as shares of budgets.")
    odds: dict[str, Any] = Field(description="What the price means for one person.")
    before: int | None = Field(description="The charge under which it was placed before.")


@router.post("/orders/explain", response_model=OrderExplained)
def explain_order(order: OrderBody, request: Request, caller: Asker) -> JSONResponse:
    """Tell price and quality of an order; no data is read."""
    session = async_session_of(request, caller)
    with asking_of(request, caller).planning(order.size):
        offer = session.offer_order(order.kind, order.spec, caller.name)
        told = wire.write_order_explanation(offer.explanation)
        bill, price = offer.bill(), offer.explanation.price
        about = offer.explanation.neighbours
        said = {
            "bill": wire.write_bill(bill),
            "charges": [json_views.charge_facts(*one) for one in bill.items()],
            "odds": json_views.write_odds(price.epsilon, price.delta, about),
            "before": session.before(offer),
        }
    return JSONResponse({**told, **said})


@router.post("/orders", responses=TELLS, response_class=Response)
def place_order(
    order: OrderBody,
    request: Request,
    caller: Asker,
    key: Key = None,
    prefer: Prefer = None,
    accept: Accept = None,
) -> Response:
    """Place an order: charge durably, then compute; the same order again finds the same release.

    The reply is 202 where it was asked for by `Prefer: respond-async`, or took too long.
    """
    session = async_session_of(request, caller)
    offer = asking_of(request, caller).offered(
        lambda: session.offer_order(order.kind, order.spec, caller.name), order.size
    )
    receipt = session.charge(offer, request_name(caller.name, key))
    return place(session, offer, receipt, request, caller, prefer, accept)


online_router = APIRouter(tags=["online"])


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


@online_router.post("/online/{charge}/ask", response_model=OnlineTold)
def ask_online(charge: Charge, body: OnlineBody, request: Request, caller: Asker) -> JSONResponse:
    """Answer counting queries from an epoch's hypothesis; those that are hard are measured."""
    session = charged_of_kind(charge, "online", request, caller)
    planning = partial(asking_of(request, caller).planning, len(json.dumps(body.queries)))
    told = session.ask_online(charge, body.queries, body.confidence, caller.name, planning)
    return JSONResponse(told.to_dict())


@online_router.get(
    "/online/{charge}",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}},
)
def online_state(charge: Charge, request: Request, caller: Asker) -> Response:
    """The public state of an epoch: its measurements, free to query anywhere."""
    session = charged_of_kind(charge, "online", request, caller)
    stored = session.online_state(charge).to_bytes()
    return Response(stored, media_type="application/octet-stream")
