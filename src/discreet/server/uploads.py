"""Files that an owner sends: streamed to the curator's folder, under names of ours.

They are kept until a dataset is made of them.
"""

import gzip
import re
import secrets
import tempfile
import threading
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import anyio
import anyio.to_thread
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel

from discreet.curator.data.load_report import look, proposed_kinds
from discreet.curator.data.owner_questions import About
from discreet.curator.data.sources import ENDINGS, open_source
from discreet.engines.default import stored_kind
from discreet.engines.reading import Reading
from discreet.errors import InputError
from discreet.plan.kinds import Kind
from discreet.server.app_state import AppState
from discreet.server.error_replies import HttpError, missing
from discreet.server.permissions import Owner
from discreet.server.table_models import KindName, ReportBody

_UNSAFE: Final = {".duckdb", ".db", ".ods", ".xlsb"}
"""Views in a database of somebody else's could read files here; sheets that repeat cells grow."""

_ENDINGS: Final = tuple(sorted(set(ENDINGS) - _UNSAFE, key=len, reverse=True))

_NAME: Final = re.compile(r"[0-9a-f]{32}\Z")
_UNUSED: Final = 86_400.0
"""Seconds after which a file that nothing was made of is removed."""

UNPACKED: Final = 8
"""How much larger than the largest upload a packed file may be when it is unpacked."""

_AT_ONCE: Final = 1 << 20
_PART: Final = ".part"
_UNFINISHED: Final = 900.0
"""Seconds without a byte after which the beginning of a file is removed."""


class Uploads:
    """A folder of files whose names say nothing; what people call them is not kept.

    Edge cases: without a folder of the curator's they are in a temporary one.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._lock = threading.Lock()

    def place(self, name: str) -> tuple[str, Path]:
        """A new name, and a path of which it is a part; the given name tells the format alone."""
        ending = next((one for one in _ENDINGS if name.lower().endswith(one)), None)
        if ending is None:
            raise InputError(
                "a file of a format that is not read here",
                why=f"files end in {', '.join(_ENDINGS)}",
                fix="send one of these",
            )
        self.sweep()
        made = secrets.token_hex(16)
        return made, self._here("uploads") / f"{made}{ending}"

    @contextmanager
    def arriving(self, path: Path) -> Iterator[Path]:
        """The path of a file until it is whole; it is removed if it never is."""
        part = path.with_name(path.name + _PART)
        try:
            yield part
            part.rename(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise

    def find(self, name: str) -> Path:
        """The file with this name; 404 if there is none."""
        paths = list(self._here("uploads").glob(f"{name}.*")) if _NAME.match(name) else []
        paths = [path for path in paths if not path.name.endswith(_PART)]
        if len(paths) != 1:
            raise missing("upload of this name")
        return paths[0]

    @contextmanager
    def kept(self, name: str, is_named: Callable[[Path], bool]) -> Iterator[Path]:
        """The file where it will stay; it goes back if what is done with it fails.

        Not if a table is made of it: what failed may have come after that. Sent twice, because the
        reply to the first was lost, it is found where it stays.
        """
        used = self.used(name)
        if used is not None:
            yield used
            return
        found = self.find(name)
        place = self._here("data") / f"upload-{found.name}"
        try:
            found.rename(place)
        except FileNotFoundError:
            raise missing("upload of this name") from None
        try:
            yield place
        except BaseException:
            if not is_named(place):
                place.rename(found)
            raise

    def used(self, name: str) -> Path | None:
        """The file that a table was made of, or is being made, or would be but for a crash."""
        if not _NAME.match(name):
            return None
        return next(iter(self._here("data").glob(f"upload-{name}.*")), None)

    def close(self) -> None:
        """Remove what was temporary."""
        with self._lock:
            if self._temporary is not None:
                self._temporary.cleanup()
                self._temporary = None

    def _here(self, part: str) -> Path:
        with self._lock:
            if self._folder is None and self._temporary is None:
                self._temporary = tempfile.TemporaryDirectory(prefix="discreet-")
            base = self._folder or Path(self._temporary.name if self._temporary else "")
        made = base / part
        made.mkdir(mode=0o700, exist_ok=True)
        return made

    def sweep(self) -> None:
        """Remove what nothing was made of in a day, and what is only the beginning of a file.

        A file that is being sent is written to all the time; one that is not was left by a crash.
        """
        for path in self._here("uploads").iterdir():
            with suppress(OSError):
                old = _UNFINISHED if path.name.endswith(_PART) else _UNUSED
                if path.stat().st_mtime < time.time() - old:
                    path.unlink()


def check_unpacked(path: Path, most: int) -> None:
    """Refuse a packed file that unpacks to more than `most` bytes: gzip packs a thousandfold."""
    if path.suffix.lower() != ".gz":
        return
    size = 0
    with suppress(gzip.BadGzipFile, EOFError, zlib.error), gzip.open(path) as file:
        while part := file.read(_AT_ONCE):  # what is no gzip is refused by whoever reads it
            size += len(part)
            if size > most:
                why = f"it unpacks to more than {most:,} bytes"
                error = InputError("a packed file", why=why, fix="send it in parts, or as Parquet")
                raise HttpError(413, error)


router = APIRouter(tags=["owner"])

BYTES: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string"}}},
    }
}
"""The OpenAPI description of a body that is not JSON."""


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


@router.post("/uploads", status_code=201, openapi_extra=BYTES)
async def upload(
    request: Request, call: Owner, name: Annotated[str, Query(min_length=1, max_length=255)]
) -> Upload:
    """Keep a file (.csv, .parquet, .xlsx, .jsonl, ...) and tell the columns that it names."""
    uploads = call.app_state.uploads
    made, path = uploads.place(name)
    try:
        with uploads.arriving(path) as part:
            await _write(request.stream(), part)
        columns, typed = await anyio.to_thread.run_sync(_columns, path, call.app_state)
    except BaseException as wrong:
        path.unlink(missing_ok=True)
        if not isinstance(wrong, OSError):
            raise
        error = InputError(
            "the file could not be kept",
            why=wrong.strerror or type(wrong).__name__,
            fix="make room on the server's disk",
        )
        raise HttpError(413, error) from None
    return Upload(upload=made, columns=columns, typed=typed)


async def _write(parts: AsyncIterator[bytes], path: Path) -> None:
    async with await anyio.open_file(path, "xb") as file:
        held = bytearray()
        async for part in parts:
            held += part
            if len(held) >= _AT_ONCE:
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

    about: About
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
def report(upload: str, said: ReportBody, call: Owner) -> LoadReportReply:
    """Read an uploaded file through and tell its owner what adding it would keep, lose and ask."""
    path = call.app_state.uploads.find(upload)
    with call.app_state.computing:
        source = said.source(path)
        kinds = proposed_kinds(source, said.stated({}))
        found = look(source, said.stated(kinds), said.unit_column())
    return LoadReportReply.model_validate(found.to_dict())
