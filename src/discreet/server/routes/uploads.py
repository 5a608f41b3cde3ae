"""Files on their way in, streamed to the curator's folder."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated

import anyio
import anyio.to_thread
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel

from discreet.engines.default import describe
from discreet.server.app_state import app_state_of
from discreet.server.permissions import Owner
from discreet.server.uploads import full

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
    """Keep a file (.parquet, .csv, .csv.gz) and tell the columns that its header names."""
    del caller
    uploads = app_state_of(request).uploads
    made, path = uploads.place(name)
    try:
        with uploads.arriving(path) as part:
            await _write(request.stream(), part)
        columns, typed = await anyio.to_thread.run_sync(_columns, path)
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


def _columns(path: Path) -> tuple[list[UploadedColumn], bool]:
    found = describe(path)
    columns = [
        UploadedColumn(name=one.name, kind=one.kind and one.kind.value, stored=one.stored)
        for one in found.columns
    ]
    return columns, found.typed
