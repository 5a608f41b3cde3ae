"""Asking: what it would cost, the question or order itself, its answer later, measuring again."""

import json
from functools import partial
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, Path
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt

from discreet.answer.present.base_release import BaseRelease
from discreet.answer.present.release import Release, as_table
from discreet.curator.async_session import AsyncSession
from discreet.curator.client import wire
from discreet.curator.client.plan_json import read_plan
from discreet.curator.ledger.orders import NEWEST, Receipt, State, request_name
from discreet.curator.orders.online_epochs import MOST_QUERIES
from discreet.curator.orders.planned_orders import Offer, PlannedOrder
from discreet.curator.orders.query_orders import QueryOrder
from discreet.curator.reports import json_views
from discreet.curator.workbook import read_share
from discreet.errors import InputError
from discreet.server.answer_replies import pending, tell, tell_public
from discreet.server.app_state import LARGE, ServerCall
from discreet.server.error_replies import missing
from discreet.server.permissions import Asker
from discreet.server.table_models import Name, StrictBody

router = APIRouter(tags=["questions"])

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=200,
        description="Names an attempt: the same name is never charged twice.",
    ),
]
Prefer = Annotated[
    str | None, Header(max_length=200, description="respond-async: do not wait for the answer.")
]
Charge = Annotated[int, Path(gt=0, lt=NEWEST)]
Number = StrictInt | StrictFloat | Annotated[str, Field(max_length=400)]
"""A number, or a text such as "0.1" or "1/3" that means it exactly."""


def _known(**example: Any) -> ConfigDict:
    """Known fields only, and an example of them."""
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [example]})


class AccuracyBody(BaseModel):
    """How far noise may move a number at most."""

    model_config = ConfigDict(extra="forbid")

    within: Number = Field(description='In the unit of the column, or a share of `of`: "2 %".')
    of: Number | dict[str, float] | None = Field(
        None, description="What a share is of: one size, or the smallest size of each column."
    )
    confidence: Number | None = Field(None, description="0.95 unless it is said.")
    columns: list[str] | None = Field(None, max_length=200)
    rows: StrictInt | None = Field(None, description="How many rows the smallest group has.")


class QuestionBody(BaseModel):
    """A question and what it is asked for: an epsilon, or an accuracy that decides it."""

    model_config = _known(sql="SELECT COUNT(*) AS n FROM visits", epsilon="0.1")

    sql: str | None = Field(None, max_length=60_000)
    plan: str | None = Field(
        None,
        min_length=1,
        max_length=60_000,
        description="Instead of SQL: a question of the fluent interface, as the client writes it.",
    )
    epsilon: Number | None = None
    delta: Number | None = None
    accuracy: AccuracyBody | None = None
    weights: dict[Annotated[str, Field(max_length=400)], Number] | None = Field(
        None,
        max_length=200,
        description="How much the error of columns matters; 1 for those that are not named.",
    )
    as_of: Annotated[int, Field(ge=1)] | None = Field(
        None, description="A version of the dataset; the newest where none is named."
    )
    intervals: StrictBool = Field(
        default=True, description="False: quantiles are chosen without intervals in values."
    )
    workbook: Annotated[str, Field(max_length=200)] | None = Field(
        None, description="One of the caller's workbooks, whose share pays too."
    )

    def offer(self, session: AsyncSession, analyst: str) -> Offer[QueryOrder]:
        """Price it: the SQL, or the plan against what may be asked about."""
        if (self.sql is None) is (self.plan is None):
            raise InputError(
                "a question with neither or both of sql and plan",
                why="one of them is asked",
                fix='send {"sql": "SELECT ...", "epsilon": "0.1"}',
            )
        terms = wire.read_terms(self.model_dump(exclude_none=True))
        asked = self.sql if self.plan is None else read_plan(self.plan, session.schema)
        return session.offer(asked, terms, analyst)  # type: ignore[arg-type]

    @property
    def size(self) -> int:
        """The characters that are asked."""
        return len(self.sql or self.plan or "")


class ReleasedColumn(BaseModel):
    """A released column."""

    name: str
    kind: Literal["boolean", "integer", "real", "text", "date", "timestamp"]
    key: bool


class PriceReply(BaseModel):
    """The price that was paid."""

    epsilon: float
    delta: float


class AnswerReply(BaseModel):
    """An answer of any kind: whose it is, of what, and what it cost."""

    id: int = Field(description="The number of its charge in the ledger; 0 where it was free.")
    time: str
    analyst: str
    dataset: str
    charged: bool = Field(description="Whether it was bought now; false where it was found.")
    price: PriceReply
    budget_share: float | None = Field(description="The share of the cap that was charged for it.")
    neighbours: str


class ReleaseReply(AnswerReply):
    """A release: noisy numbers, and how far noise has moved each, 95 times in 100."""

    sql: str | None
    columns: list[ReleasedColumn]
    rows: list[list[Any]]
    half_widths: dict[str, list[float | None]]
    confidence: float
    how: dict[str, str]
    protects: str | None
    notes: list[str]
    clamps: list[str]


class OrderReply(AnswerReply):
    """A release that is not a table: what it says is for its kind of order to describe."""

    kind: str
    release: dict[str, Any]
    statement: str


class Pending(BaseModel):
    """The charge is made and its answer is being computed: come again."""

    id: int
    state: Literal["pending"] = "pending"


_BINARY: Final = {"schema": {"type": "string", "format": "binary"}}
TELLS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "model": ReleaseReply | OrderReply,
        "content": {Release.media_type: _BINARY, BaseRelease.media_type: _BINARY},
        "description": "The answer.",
    },
    202: {
        "model": Pending,
        "description": "It is charged and not computed yet; ask for it under Location.",
        "headers": {"Location": {"schema": {"type": "string"}}},
    },
}
"""Replies of routes that answer questions."""


class Explained(BaseModel):
    """Cost and expected error of a question; nothing was charged."""

    facts: dict[str, Any]
    text: str
    explanation: dict[str, Any]
    bill: list[dict[str, Any]]


@router.post("/explain", response_model=Explained)
def explain(question: QuestionBody, call: Asker) -> JSONResponse:
    """Tell price and error of a question; no data is read."""
    session = call.session
    with call.planning(question.size):
        offer = question.offer(session, call.caller.name)
        told, bill = session.explain(offer), offer.bill()
    facts = {**json_views.explanation_facts(told, bill), "before": session.before(offer)}
    return JSONResponse(
        {
            "facts": facts,
            "text": repr(told),
            "explanation": wire.write_explanation(told),
            "bill": wire.write_bill(bill),
        }
    )


@router.post("/queries", responses=TELLS, response_class=Response)
def ask(question: QuestionBody, call: Asker, key: Key = None, prefer: Prefer = None) -> Response:
    """Ask: charge durably, then compute; the same question again finds the same answer.

    The reply is 202 where it was asked for by `Prefer: respond-async`, or took too long. What is
    about public tables alone is answered at once, for nothing.
    """
    session = call.session
    offer = call.offered(
        lambda: (
            (None if question.plan else session.public(question.sql or ""))
            or question.offer(session, call.caller.name)
        ),
        question.size,
    )
    if isinstance(offer, Release):
        return tell_public(call, offer, question.sql or "")
    return _place(call, offer, key, prefer)


def _place(
    call: ServerCall, offer: Offer[PlannedOrder], key: str | None, prefer: str | None
) -> Response:
    """Charge an offer of any kind, wait a while for its answer, and tell it or 202."""
    receipt = call.session.service.charge(offer, request_name(call.caller.name, key))
    if receipt.release is not None and len(receipt.release) > LARGE:
        sequence = receipt.sequence
        del receipt  # and the answer with it: it is read again when it is its turn
        return look(sequence, call)
    release = call.pursued(receipt, waits="respond-async" not in (prefer or "").lower())
    return _told(call, receipt, release, offer, stored=receipt.release)


def _told(
    call: ServerCall,
    receipt: Receipt,
    release: BaseRelease | None,
    offer: Offer[PlannedOrder],
    *,
    stored: bytes | None = None,
) -> Response:
    if release is None:  # and the ledger, which may be stuck, is not asked
        return pending(receipt.sequence)
    filed, session = receipt.filed, call.session
    small = isinstance(release, Release) and release.table.nbytes <= LARGE // 8
    if filed is None or not (filed.answered or small):  # the ledger knows its size
        filed = session.find(receipt.sequence)
    if filed is None:
        return pending(receipt.sequence)
    new, filed = receipt.state is State.CHARGED, session.seen(filed, offer.asked)
    return tell(call, release, filed, charged=new, share=offer.share, stored=stored)


class WorkbookBody(StrictBody):
    """A workbook by its name: a share of what is left of the caller's budget of a dataset."""

    dataset: Name
    name: Name
    share: Number


class WorkbookReply(BaseModel):
    """The questions that a workbook has paid for, oldest first."""

    asked: list[dict[str, Any]]


@router.post("/workbooks", response_model=WorkbookReply)
def workbook(body: WorkbookBody, call: Asker) -> JSONResponse:
    """Open a workbook of the caller, or find it again; questions name it in `workbook`."""
    share = read_share(wire.read_number(body.share, "share"))
    asked = call.session.workbook(body.dataset, body.name, share, call.caller.name)
    return JSONResponse({"asked": wire.write_asked(asked)})


@router.get("/queries/{charge}", responses=TELLS, response_class=Response)
def look(charge: Charge, call: Asker) -> Response:
    """Look whether an answer is there; the next request finishes what a stopped worker left."""
    session, filed = call.session, call.charged(charge, "question")
    with call.reading(filed.size):
        release = session.resume(charge, schedule=call.schedule)
        if release is None:
            return pending(charge)
        return tell(call, release, filed, share=session.share(filed))


@router.post("/remeasure", responses=TELLS, response_class=Response)
def remeasure(question: QuestionBody, call: Asker) -> Response:
    """Ask again for a further price, and merge with the caller's earlier answer.

    After 202, wait for the answer under Location and send the same again: it is charged once.
    """
    session, name = call.session, call.caller.name
    offer = call.offered(lambda: question.offer(session, name), question.size)
    receipt = session.service.charge(offer)
    fresh = call.pursued(receipt, waits=True)
    merged = None if fresh is None else session.merged(receipt.order, as_table(fresh), name)
    return _told(call, receipt, merged, offer)


@router.delete("/queries/{charge}", status_code=204, response_class=Response)
def cancel(charge: Charge, call: Asker) -> Response:
    """Give up a question that is not measured yet, for ever; the charge stays.

    The analyst who asked it first may, for themselves: it continues if others have asked it since.
    Owners may for all.
    """
    filed, caller = call.charged(charge, "question"), call.caller
    if caller.role != "owner" and filed.order.analyst != caller.name:
        raise missing(f"question {charge}")
    call.session.cancel(charge, by=caller.name, for_all=caller.role == "owner")
    return Response(status_code=204)


# --- orders of any kind --------------------------------------------------------------------------

orders_router = APIRouter(tags=["orders"])


class OrderBody(BaseModel):
    """An order: its kind, and what the kind reads, the price too."""

    model_config = _known(
        kind="query", spec={"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.1"}
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


@orders_router.post("/orders/explain", response_model=OrderExplained)
def explain_order(order: OrderBody, call: Asker) -> JSONResponse:
    """Tell price and quality of an order; no data is read."""
    session = call.session
    with call.planning(order.size):
        offer = session.offer_order(order.kind, order.spec, call.caller.name)
        told, bill = offer.explanation, offer.bill()
        said = {
            **wire.write_order_explanation(told),
            "bill": wire.write_bill(bill),
            "charges": [json_views.charge_facts(*one) for one in bill.items()],
            "odds": json_views.write_odds(told.price.epsilon, told.price.delta, told.neighbours),
            "before": session.before(offer),
        }
    return JSONResponse(said)


@orders_router.post("/orders", responses=TELLS, response_class=Response)
def place_order(order: OrderBody, call: Asker, key: Key = None, prefer: Prefer = None) -> Response:
    """Place an order: charge durably, then compute; the same order again finds the same release.

    The reply is 202 where it was asked for by `Prefer: respond-async`, or took too long.
    """
    session, name = call.session, call.caller.name
    offer = call.offered(lambda: session.offer_order(order.kind, order.spec, name), order.size)
    return _place(call, offer, key, prefer)


@orders_router.get("/streams/{charge}", response_class=Response)
def stream(charge: Charge, call: Asker) -> Response:
    """A standing question as far as it is answered: the bytes of a release."""
    call.charged(charge, "stream order", "stream")
    release = call.session.stream_release(charge, call.caller.name)
    return Response(release.to_bytes(), media_type=release.media_type)


online_router = APIRouter(tags=["online"])


class OnlineBody(BaseModel):
    """Counting queries: for each, the values that count, column by column."""

    model_config = _known(queries=[{"sex": ["female"], "age": {"low": 30, "high": 39}}])

    queries: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MOST_QUERIES)]
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95


class OnlineTold(BaseModel):
    """Answers in order, with intervals; what is left of the epoch; whether it is held here."""

    answers: list[dict[str, Any]]
    updates_left: int
    runs_left: int
    held: bool


@online_router.post("/online/{charge}/ask", response_model=OnlineTold)
def ask_online(charge: Charge, body: OnlineBody, call: Asker) -> JSONResponse:
    """Answer counting queries from an epoch's hypothesis; those that are hard are measured."""
    call.charged(charge, "online order", "online")
    planning = partial(call.planning, len(json.dumps(body.queries)))
    asked = (body.queries, body.confidence, call.caller.name, planning)
    return JSONResponse(call.session.ask_online(charge, *asked).to_dict())


@online_router.get(
    "/online/{charge}",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}},
)
def online_state(charge: Charge, call: Asker) -> Response:
    """The public state of an epoch: its measurements, free to query anywhere."""
    call.charged(charge, "online order", "online")
    stored = call.session.online_state(charge).to_bytes()
    return Response(stored, media_type="application/octet-stream")
