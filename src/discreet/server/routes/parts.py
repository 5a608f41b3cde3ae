"""Data that grows: rows that are appended, versions, and standing questions."""

import datetime as dt
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from discreet.curator.ledger.orders import Entry
from discreet.server.app_state import app_state_of
from discreet.server.error_replies import missing
from discreet.server.permissions import Asker, Owner
from discreet.server.questions import async_session_of, charged_of_kind
from discreet.server.routes.questions import Charge
from discreet.server.table_models import Name, ReadingBody, StrictBody

router = APIRouter(tags=["parts"])


class PartBody(StrictBody):
    """Rows for a table: an upload, and the day through which the table is complete with them."""

    table: Name
    upload: Name
    through: Annotated[dt.date, Field(strict=False)] | None = None
    again: bool = False
    reading: ReadingBody | None = None


class VersionReply(BaseModel):
    """A version of a dataset."""

    version: int


class PartReply(BaseModel):
    """Rows that were appended: the version they began, and the day through which they are whole."""

    table: str
    version: int
    time: str
    through: str | None


class PartsReply(VersionReply):
    """The newest version of a dataset, and the parts that it grew by, in order."""

    parts: list[PartReply]


@router.post("/parts", status_code=201)
def append(said: PartBody, request: Request, caller: Owner) -> VersionReply:
    """Append rows to a private table; they begin a version of its dataset."""
    app_state = app_state_of(request)
    curator = app_state.curator.as_owner(caller.name)
    with app_state.computing, app_state.uploads.kept(said.upload) as path:
        reading = None if said.reading is None else said.reading.read()
        version = curator.append(
            said.table, path, through=said.through, again=said.again, reading=reading
        )
    return VersionReply(version=version)


@router.get("/parts/{dataset}")
def version(dataset: str, request: Request, caller: Asker) -> PartsReply:
    """The newest version of a dataset, and its parts."""
    seen = async_session_of(request, caller).curator
    if dataset not in seen.datasets():
        raise missing("dataset of this name")
    ledger, tables = app_state_of(request).curator.ledger, seen.datasets()[dataset]
    parts = [
        PartReply(time=one.time, through=one.facts.get("through"), **_known(one))
        for table in tables
        for one in ledger.appended(table)
    ]
    parts.sort(key=lambda one: one.version)
    return PartsReply(version=seen.version(dataset), parts=parts)


def _known(entry: Entry) -> dict[str, Any]:
    return {name: entry.facts[name] for name in ("table", "version")}


@router.get("/streams/{charge}", response_class=Response)
def stream(charge: Charge, request: Request, caller: Asker) -> Response:
    """A standing question as far as it is answered: the bytes of a release."""
    session = charged_of_kind(charge, "stream", request, caller)
    release = session.stream_release(charge, caller.name)
    return Response(release.to_bytes(), media_type=release.media_type)
