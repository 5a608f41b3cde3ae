"""The record of every charge, for those who check it, and the dossier to print."""

import io
from dataclasses import replace
from typing import IO, Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from discreet.curator.client import wire
from discreet.curator.ledger.orders import Entry
from discreet.curator.ledger.verify import Problem
from discreet.curator.reports.dossier import Dossier
from discreet.curator.reports.ledger_words import entry_words
from discreet.errors import LedgerError
from discreet.server.app_state import app_state_of
from discreet.server.permissions import Reader
from discreet.server.sending import send_file
from discreet.server.tokens import check_tokens

router = APIRouter(tags=["ledger"])

_MOST = 1000
_LINES = "application/x-ndjson"


class HeadReply(BaseModel):
    """The newest entry."""

    sequence: int
    hash: str


class EntryReply(BaseModel):
    """One entry of the chain, and what it says in words: a sentence, and rounded facts."""

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
    head: HeadReply


class ProblemReply(BaseModel):
    """The first problem and its entry; 0 if it belongs to no single entry."""

    sequence: int
    what: str


class Verified(BaseModel):
    """The result of a verification."""

    ok: bool
    entries: int
    head: HeadReply
    pending: int
    problem: ProblemReply | None


@router.get("/ledger")
def entries(
    request: Request,
    caller: Reader,
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=_MOST)] = 100,
) -> Entries:
    """Read entries in order, those that follow number `after`."""
    del caller
    ledger = app_state_of(request).curator.ledger
    head = ledger.head()
    found = ledger.entries(after=after, limit=limit)
    return Entries(
        entries=[_told(one) for one in found],
        head=HeadReply(sequence=head.sequence, hash=head.hash),
    )


def _told(entry: Entry) -> EntryReply:
    words = entry_words(entry)
    return EntryReply(**wire.write_entry(entry), sentence=words.sentence, told=list(words.facts))


@router.post("/ledger/verify")
def verify(request: Request, caller: Reader) -> Verified:
    """Read everything and compare, files of data and tokens too; names what is wrong first."""
    del caller
    app_state = app_state_of(request)
    with app_state.computing:
        report = app_state.curator.ledger.verify()
        try:
            if report.ok:  # then tables, their data and tokens, which are stored beside it
                app_state.curator.check_tables()
                check_tokens(app_state.access, app_state.curator.ledger)
        except LedgerError as wrong:
            report = replace(report, problem=Problem(0, str(wrong)))
    return Verified(**wire.write_report(report))


@router.get(
    "/ledger/export",
    response_class=StreamingResponse,
    responses={200: {"content": {_LINES: {"schema": {"type": "string"}}}}},
)
def export(request: Request, caller: Reader) -> StreamingResponse:
    """Write every entry as a line of JSON with its hash."""
    del caller
    app_state = app_state_of(request)

    def write(file: IO[bytes]) -> None:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        with app_state.computing:
            app_state.curator.ledger.export(text)
        text.detach()

    # Kept in a file of no name first: a reader who is slow holds no transaction.
    headers = {"Content-Disposition": 'attachment; filename="ledger.jsonl"'}
    return send_file(write, _LINES, headers)


@router.get("/dossier")
def dossier(request: Request, caller: Reader) -> Dossier:
    """Collect datasets, units, budgets and charges, by what laws ask; data are not read."""
    del caller
    app_state = app_state_of(request)
    with app_state.computing:
        return app_state.curator.dossier()
