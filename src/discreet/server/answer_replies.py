"""Answers as replies: bytes or JSON, as was asked for; large ones written to a file once.

A large one is sent from there part by part, and few are written at a time: memory is taken by
those that are being written, whatever their format. A reader has one part.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import IO, Any, Final

from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from discreet.answer.present import release_json
from discreet.answer.present.base_release import BaseRelease
from discreet.answer.present.release import Release
from discreet.curator.client import wire
from discreet.curator.ledger.orders import ChargedOrder
from discreet.server.app_state import LARGE, ServerCall

_PART: Final = 1 << 18
_ROWS: Final = 4096


def pending(sequence: int) -> JSONResponse:
    """Come again."""
    place = {"Location": f"/v1/queries/{sequence}", "Retry-After": "1"}
    return JSONResponse({"id": sequence, "state": "pending"}, 202, place)


def tell(
    call: ServerCall,
    release: BaseRelease,
    filed: ChargedOrder,
    *,
    charged: bool = False,
    share: float | None,
    stored: bytes | None = None,
) -> Response:
    """A release in the form that was asked for: its bytes, or JSON; `share` is of the budget.

    `stored` are its bytes where they are at hand: making them again takes longer than to find it.
    """
    media = release.media_type
    if media in call.accept:
        headers = {"Discreet-Charge": str(filed.sequence)}
        headers |= {} if share is None else {wire.SHARE: f"{share:.6g}"}
        if filed.size > LARGE:
            return send_file(lambda file: file.write(release.to_bytes()), media, headers)
        return Response(stored or release.to_bytes(), media_type=media, headers=headers)
    order, caller = filed.order, call.caller
    who = order.analyst if caller.role == "owner" else caller.name  # they see nobody else's name
    facts: dict[str, Any] = {"id": filed.sequence, "time": filed.time, "analyst": who}
    facts |= {"dataset": order.dataset, "charged": charged}
    if isinstance(release, Release):
        return _tell_table(release, {**facts, "sql": order.asked}, share)
    price = {"epsilon": float(release.price.epsilon), "delta": float(release.price.delta)}
    return JSONResponse(
        {
            **facts,
            "kind": order.kind,
            "budget_share": share,
            "release": release.json_facts(),
            "price": price,
            "neighbours": release.guarantee.neighbours.value,
            "statement": release.statement(),
        }
    )


def tell_public(call: ServerCall, release: Release, text: str) -> Response:
    """An answer that nobody was charged for: its number is 0, and nothing of it is kept."""
    if release.media_type in call.accept:
        return Response(release.to_bytes(), media_type=release.media_type)
    facts: dict[str, Any] = {"id": 0, "time": datetime.now(UTC).isoformat(timespec="seconds")}
    facts |= {"analyst": call.caller.name, "dataset": "", "sql": text, "charged": False}
    return _tell_table(release, facts, None)


def _tell_table(release: Release, facts: dict[str, Any], share: float | None) -> Response:
    if release.table.nbytes > LARGE:
        told = replace(release, share=share)
        return send_file(partial(_write_json, told, facts), "application/json")
    return JSONResponse({**facts, **release.json_facts(), "budget_share": share})


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


def _write_json(release: Release, facts: Mapping[str, Any], file: IO[bytes]) -> None:
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
