"""Asking: what it would cost, the question itself, its answer later, and measuring again."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from discreet.answer.present.base_release import BaseRelease
from discreet.answer.present.release import Release, as_table
from discreet.curator.async_session import AsyncSession
from discreet.curator.client import wire
from discreet.curator.client.wire import write_explanation
from discreet.curator.kept_workbooks import read_share
from discreet.curator.ledger.charge_index import NEWEST
from discreet.curator.ledger.orders import Receipt, State, request_name
from discreet.curator.orders.planned_orders import Offer, PlannedOrder
from discreet.curator.reports import json_views
from discreet.server.app_state import app_state_of
from discreet.server.error_replies import missing
from discreet.server.permissions import Asker, Caller
from discreet.server.question_models import TELLS, Number, QuestionBody
from discreet.server.questions import asking_of, async_session_of, pending, tell, tell_public
from discreet.server.sending import LARGE
from discreet.server.table_models import StrictBody

router = APIRouter(tags=["questions"])

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=200,
        description="Names an attempt: the same name is never charged twice.",
    ),
]
Accept = Annotated[str | None, Header(include_in_schema=False)]
Prefer = Annotated[
    str | None, Header(max_length=200, description="respond-async: do not wait for the answer.")
]
Charge = Annotated[int, Path(gt=0, lt=NEWEST)]


class Explained(BaseModel):
    """Cost and expected error of a question; nothing was charged."""

    facts: dict[str, Any]
    text: str
    explanation: dict[str, Any]
    bill: list[dict[str, Any]]


@router.post("/explain", response_model=Explained)
def explain(question: QuestionBody, request: Request, caller: Asker) -> JSONResponse:
    """Tell price and error of a question; no data is read."""
    session = async_session_of(request, caller)
    with asking_of(request, caller).planning(question.size):
        offer = question.offer(session, caller.name)
        told, bill = session.explain(offer), offer.bill()
    facts = {**json_views.explanation_facts(told, bill), "before": session.before(offer)}
    return JSONResponse(
        {
            "facts": facts,
            "text": repr(told),
            "explanation": write_explanation(told),
            "bill": wire.write_bill(bill),
        }
    )


@router.post("/queries", responses=TELLS, response_class=Response)
def ask(
    question: QuestionBody,
    request: Request,
    caller: Asker,
    key: Key = None,
    prefer: Prefer = None,
    accept: Accept = None,
) -> Response:
    """Ask: charge durably, then compute; the same question again finds the same answer.

    The reply is 202 where it was asked for by `Prefer: respond-async`, or took too long. What is
    about public tables alone is answered at once, for nothing.
    """
    session = async_session_of(request, caller)
    offer = asking_of(request, caller).offered(
        lambda: (
            (None if question.plan else session.public(question.sql or ""))
            or question.offer(session, caller.name)
        ),
        question.size,
    )
    if isinstance(offer, Release):
        return tell_public(offer, question.sql or "", caller, accept)
    receipt = session.charge(offer, request_name(caller.name, key))
    return place(session, offer, receipt, request, caller, prefer, accept)


def place(
    session: AsyncSession,
    offer: Offer[PlannedOrder],
    receipt: Receipt,
    request: Request,
    caller: Caller,
    prefer: str | None,
    accept: str | None,
) -> Response:
    """Wait a while for what was charged, whatever its kind, and tell it or 202."""
    waits = "respond-async" not in (prefer or "").lower()
    if receipt.release is not None and len(receipt.release) > LARGE:
        sequence = receipt.sequence
        del receipt  # and the answer with it: it is read again when it is its turn
        return look(sequence, request, caller, accept)
    release = asking_of(request, caller).pursued(receipt, waits=waits)
    return _told(session, receipt, release, caller, accept, offer, stored=receipt.release)


class WorkbookBody(StrictBody):
    """A workbook by its name: a share of what is left of the caller's budget of a dataset."""

    dataset: Annotated[str, Field(min_length=1, max_length=200)]
    name: Annotated[str, Field(min_length=1, max_length=200)]
    share: Number


class WorkbookReply(BaseModel):
    """The questions that a workbook has paid for, oldest first."""

    asked: list[dict[str, Any]]


@router.post("/workbooks", response_model=WorkbookReply)
def workbook(body: WorkbookBody, request: Request, caller: Asker) -> JSONResponse:
    """Open a workbook of the caller, or find it again; questions name it in `workbook`."""
    share = read_share(wire.read_number(body.share, "share"))
    session = async_session_of(request, caller)
    asked = session.workbook(body.dataset, body.name, share, caller.name)
    return JSONResponse({"asked": wire.write_asked(asked)})


@router.get("/queries/{charge}", responses=TELLS, response_class=Response)
def look(charge: Charge, request: Request, caller: Asker, accept: Accept = None) -> Response:
    """Look whether an answer is there; whoever asks finishes what a stopped worker left."""
    session = async_session_of(request, caller)
    filed = session.find(charge)
    if filed is None:
        raise missing(f"question {charge}")
    with app_state_of(request).reading(filed.size, caller.name):
        release = session.resume(charge, schedule=asking_of(request, caller).schedule)
        if release is None:
            return pending(charge)
        return tell(release, filed, caller, accept, charged=False, share=session.share(filed))


@router.post("/remeasure", responses=TELLS, response_class=Response)
def remeasure(
    question: QuestionBody, request: Request, caller: Asker, accept: Accept = None
) -> Response:
    """Ask again for a further price, and merge with what the caller was told before.

    After 202, wait for the answer under Location and send the same again: it is charged once.
    """
    session, asking = async_session_of(request, caller), asking_of(request, caller)
    offer = asking.offered(lambda: question.offer(session, caller.name), question.size)
    receipt = session.charge(offer)
    fresh = asking.pursued(receipt, waits=True)
    merged = None if fresh is None else session.merged(receipt.order, as_table(fresh), caller.name)
    return _told(session, receipt, merged, caller, accept, offer)


@router.delete("/queries/{charge}", status_code=204, response_class=Response)
def cancel(charge: Charge, request: Request, caller: Asker) -> Response:
    """Give up a question that is not measured yet, for ever; the charge stays.

    Whoever asked it first may, for themselves: it goes on where others asked it since. Owners may
    for all.
    """
    session = async_session_of(request, caller)
    filed = session.find(charge)
    if filed is None or (caller.role != "owner" and filed.order.analyst != caller.name):
        raise missing(f"question {charge}")
    session.cancel(charge, by=caller.name, for_all=caller.role == "owner")
    return Response(status_code=204)


def _told(
    session: AsyncSession,
    receipt: Receipt,
    release: BaseRelease | None,
    caller: Caller,
    accept: str | None,
    offer: Offer[PlannedOrder],
    *,
    stored: bytes | None = None,
) -> Response:
    if release is None:  # and the ledger, which may be stuck, is not asked
        return pending(receipt.sequence)
    filed = receipt.filed
    small = isinstance(release, Release) and release.table.nbytes <= LARGE // 8
    if filed is None or not (filed.answered or small):  # the ledger knows its size
        filed = session.find(receipt.sequence)
    if filed is None:
        return pending(receipt.sequence)
    new, filed = receipt.state is State.CHARGED, session.seen(filed, offer.asked)
    return tell(release, filed, caller, accept, charged=new, share=offer.share, stored=stored)
