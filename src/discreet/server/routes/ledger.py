"""The record of every charge, for those who check it, and the dossier to print."""

import io
from typing import IO, Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from discreet.curator.client import wire
from discreet.curator.ledger.orders import Head
from discreet.curator.ledger.verify import Problem
from discreet.curator.reports.dossier import Dossier
from discreet.curator.reports.ledger_words import entry_words
from discreet.server.answer_replies import send_file
from discreet.server.permissions import Reader
from discreet.server.tokens import verify_all

router = APIRouter(tags=["ledger"])

_MOST = 1000
_LINES = "application/x-ndjson"


class EntryReply(BaseModel):
    """One entry of the chain, and a sentence about it: a sentence, and rounded facts."""

    sequence: int
    previous: str
    time: str
    kind: str
    by: str
    facts: dict[str, Any]
    sentence: str
    told: list[tuple[str, str]]


class Entries(BaseModel):
    """Entries in order, and where the chain ends."""

    entries: list[EntryReply]
    head: Head


class Verified(BaseModel):
    """The result of a verification."""

    ok: bool
    entries: int
    head: Head
    pending: int
    problem: Problem | None


@router.get("/ledger")
def entries(
    call: Reader,
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=_MOST)] = 100,
) -> Entries:
    """Read entries in order, those that follow number `after`."""
    ledger = call.app_state.curator.ledger
    head, found = ledger.head(), ledger.entries(after=after, limit=limit)
    told = [(wire.write_entry(one), entry_words(one)) for one in found]
    listed = [EntryReply(**e, sentence=w.sentence, told=list(w.facts)) for e, w in told]
    return Entries(entries=listed, head=head)


@router.post("/ledger/verify")
def verify(call: Reader) -> Verified:
    """Read everything and compare, files of data and tokens too; names what is wrong first."""
    with call.app_state.computing:
        report = verify_all(call.app_state.curator, call.app_state.access)
    return Verified(**wire.write_report(report))


@router.get(
    "/ledger/export",
    response_class=StreamingResponse,
    responses={200: {"content": {_LINES: {"schema": {"type": "string"}}}}},
)
def export(call: Reader) -> StreamingResponse:
    """Write every entry as a line of JSON with its hash."""
    app_state = call.app_state

    def write(file: IO[bytes]) -> None:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        with app_state.computing:
            app_state.curator.ledger.export(text)
        text.detach()

    # Kept in a file of no name first: a reader who is slow holds no transaction.
    headers = {"Content-Disposition": 'attachment; filename="ledger.jsonl"'}
    return send_file(write, _LINES, headers)


@router.get("/dossier")
def dossier(call: Reader) -> Dossier:
    """Collect datasets, units, budgets and charges, by what laws ask; data are not read."""
    with call.app_state.computing:
        return call.app_state.curator.dossier()
