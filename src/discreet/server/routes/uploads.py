"""Files on their way in, streamed to the curator's folder."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
import anyio.to_thread
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel

from discreet.curator.data.load_report import look, proposed_kinds
from discreet.curator.data.sources import open_source
from discreet.engines.default import stored_kind
from discreet.engines.reading import Reading
from discreet.plan.kinds import Kind
from discreet.server.app_state import AppState, app_state_of
from discreet.server.permissions import Owner
from discreet.server.table_models import KindName, ReportBody
from discreet.server.uploads import UNPACKED, check_unpacked, full

router = APIRouter(tags=["owner"])

_PART = 1 << 20


class UploadedColumn(BaseModel):
    """A column by its name; `kind` is null where its values cannot be read or the file has none."""

    name: str
    kind: str | None
    stored: str


class Upload(BaseModel):
    """A file that was kept, and what its header says."""

    upload: str
    columns: list[UploadedColumn]
    typed: bool


@router.post(
    "/uploads",
    status_code=201,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string"}}},
        }
    },
)
async def upload(
    request: Request, caller: Owner, name: Annotated[str, Query(min_length=1, max_length=255)]
) -> Upload:
    """Keep a file (.csv, .parquet, .xlsx, .jsonl, ...) and tell the columns that it names."""
    del caller
    app_state = app_state_of(request)
    uploads = app_state.uploads
    made, path = uploads.place(name)
    try:
        with uploads.arriving(path) as part:
            await _write(request.stream(), part)
        columns, typed = await anyio.to_thread.run_sync(_columns, path, app_state)
    except OSError as wrong:
        path.unlink(missing_ok=True)
        raise full(wrong) from None
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return Upload(upload=made, columns=columns, typed=typed)


async def _write(parts: AsyncIterator[bytes], path: Path) -> None:
    async with await anyio.open_file(path, "xb") as file:
        held = bytearray()
        async for part in parts:
            held += part
            if len(held) >= _PART:
                await file.write(bytes(held))
                held.clear()
        await file.write(bytes(held))


def _columns(path: Path, app_state: AppState) -> tuple[list[UploadedColumn], bool]:
    with app_state.computing:
        check_unpacked(path, UNPACKED * app_state.settings.upload_limit)
        found = open_source(path, Reading())
    columns = [
        UploadedColumn(name=name, kind=(stored_kind(of) or Kind.TEXT).value, stored=of)
        for name, of in found.stored.items()
    ]
    return columns, found.typed


class ColumnFacts(BaseModel):
    """A column: its kind and what is known of it, from whom, and what it holds."""

    name: str
    kind: KindName
    kind_from: Literal["owner", "file", "data"]
    known: dict[Literal["bounds", "keys"], list[Any]] | None
    known_from: Literal["owner", "data"] | None
    values: int
    nulls: int
    unreadable: int
    examples: list[str]
    outside: int
    outside_examples: list[str]
    low: str | None
    high: str | None
    distinct: int


class QuestionAnswer(BaseModel):
    """An answer, and what it adds to the reading."""

    label: str
    reading: dict[str, Any]


class OpenQuestion(BaseModel):
    """A decision that the owner has to make before the file is loaded."""

    about: Literal[
        "header",
        "encoding",
        "dates",
        "numbers",
        "nulls",
        "unreadable",
        "table",
        "words",
        "text",
    ]
    column: str | None
    text: str
    answers: list[QuestionAnswer]


class LoadReportReply(BaseModel):
    """The load report of a file; for its owner alone."""

    rows: int
    people: int | None
    skipped: int
    typed: bool
    tables: list[str]
    reading: dict[str, Any]
    columns: list[ColumnFacts]
    questions: list[OpenQuestion]
    unconfirmed: list[str]
    ready: bool


@router.post("/uploads/{upload}/report")
def report(upload: str, said: ReportBody, request: Request, caller: Owner) -> LoadReportReply:
    """Read an uploaded file through and tell its owner what adding it would keep, lose and ask."""
    del caller
    app_state = app_state_of(request)
    path = app_state.uploads.find(upload)
    with app_state.computing:
        unit = said.unit_column()
        source = open_source(path, said.read_reading(), said.source_table, exact=unit)
        kinds = proposed_kinds(source, said.stated({}))
        found = look(source, said.stated(kinds), unit)
    return LoadReportReply.model_validate(found.to_dict())
