"""Large answers: written to a file once, a few at a time, and sent from there part by part.

Memory is taken by the few that are being written, whatever their format. A reader has one part.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, Final

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from discreet.answer.present import release_json
from discreet.answer.present.release import Release

LARGE: Final = 1 << 20
"""Bytes of a stored answer that is not held in memory for each of its readers."""

_PART: Final = 1 << 18
_ROWS: Final = 4096


def send_file(
    write: Callable[[IO[bytes]], object], media: str, headers: Mapping[str, str] | None = None
) -> StreamingResponse:
    """A reply whose body `write` writes to a file that has no name and ends with the reply."""
    file = tempfile.TemporaryFile(prefix="discreet-")  # noqa: SIM115 - open until it is sent
    try:
        write(file)
        length = {"Content-Length": str(file.tell())}
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return _FileReply(file, media, {**(headers or {}), **length})


class _FileReply(StreamingResponse):
    """Closes its file at the end, also where the reader went away or does not take it."""

    def __init__(self, file: IO[bytes], media: str, headers: Mapping[str, str]) -> None:
        parts = iter(lambda: file.read(_PART), b"")
        super().__init__(parts, media_type=media, headers=headers)
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        with self._file:
            await super().__call__(scope, receive, send)


def write_json(release: Release, facts: Mapping[str, Any], file: IO[bytes]) -> None:
    """`facts` and a release, as `release_json.release_facts` has it, with a few rows in memory."""
    empty = release_json.release_facts(release, slice(0, 0))
    names = list(empty["half_widths"])
    rest = {k: v for k, v in empty.items() if k not in {"rows", "half_widths"}}
    file.write(json.dumps({**facts, **rest})[:-1].encode())
    file.write(b', "rows": ')
    _write_list(file, (release_json.release_rows(release, rows) for rows in _parts(release)))
    file.write(b', "half_widths": {')
    for n, name in enumerate(names):
        file.write(f"{', ' if n else ''}{json.dumps(name)}: ".encode())
        widths = (release_json.release_widths(release, name, rows) for rows in _parts(release))
        _write_list(file, widths)
    file.write(b"}}")


def _parts(release: Release) -> Iterator[slice]:
    for start in range(0, release.table.num_rows, _ROWS):
        yield slice(start, start + _ROWS)


def _write_list(file: IO[bytes], parts: Iterator[list[Any]]) -> None:
    file.write(b"[")
    between = b""
    for part in parts:
        file.write(between + json.dumps(part)[1:-1].encode())
        between = b", "
    file.write(b"]")
