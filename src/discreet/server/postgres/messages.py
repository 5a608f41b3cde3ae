"""Messages of the Postgres wire protocol, version 3: how they are framed, written and read."""

import asyncio
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from discreet import errors
from discreet.server.error_replies import HttpError

PROTOCOL: Final = 3 << 16
CANCEL: Final = (1234 << 16) + 5678
TLS: Final = (1234 << 16) + 5679
GSS: Final = (1234 << 16) + 5680

STARTUP_LIMIT: Final = 10_000
"""Bytes of a message from somebody who is not let in yet."""

_INT: Final = struct.Struct("!i")
_SHORT: Final = struct.Struct("!h")


class Malformed(Exception):  # noqa: N818 - the connection ends with it
    """A message that breaks the protocol; whatever follows cannot be read."""


class Slow(Exception):  # noqa: N818 - likewise
    """A message that does not come to its end in time, or none that comes at all."""


class Gone(Exception):  # noqa: N818 - nobody is left to tell
    """The client closed the connection."""


class MessageReader:
    """Reads whole messages: bounded in size before their body is read, and in time."""

    def __init__(self, reader: asyncio.StreamReader, *, patience: float) -> None:
        self._reader = reader
        self._patience = patience

    async def startup(self) -> bytes:
        """A message without a type, as a connection begins."""
        return await self._body(await self._exactly(4, self._patience), STARTUP_LIMIT)

    async def message(self, *, limit: int, idle: float) -> tuple[bytes, bytes]:
        """The type and the body of the next message, which may begin within `idle` seconds."""
        kind = await self._exactly(1, idle)
        return kind, await self._body(await self._exactly(4, self._patience), limit)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was sent ahead: what came before TLS began is not believed after."""
        return not self._reader._buffer  # type: ignore[attr-defined] # noqa: SLF001 - no other way

    async def _body(self, size: bytes, limit: int) -> bytes:
        [length] = _INT.unpack(size)
        if not 4 <= length <= limit + 4:
            raise Malformed
        return await self._exactly(length - 4, self._patience)

    async def _exactly(self, count: int, patience: float) -> bytes:
        try:
            async with asyncio.timeout(patience):
                return await self._reader.readexactly(count)
        except TimeoutError:
            raise Slow from None
        except (asyncio.IncompleteReadError, ConnectionError, OSError):
            raise Gone from None


class Fields:
    """Reads the fields of one body; Malformed where it is too short or too long."""

    def __init__(self, body: bytes) -> None:
        self._body, self._place = body, 0

    def raw(self, count: int) -> bytes:
        """Read `count` bytes."""
        part = self._body[self._place : self._place + count]
        if count < 0 or len(part) < count:
            raise Malformed
        self._place += count
        return part

    def int32(self) -> int:
        """Four bytes."""
        return int(_INT.unpack(self.raw(4))[0])

    def shorts(self) -> list[int]:
        """A count and as many numbers of two bytes."""
        return [self.int16() for _ in range(self.int16())]

    def int16(self) -> int:
        """Two bytes."""
        return int(_SHORT.unpack(self.raw(2))[0])

    def text(self) -> str:
        """A text up to a zero byte."""
        end = self._body.find(b"\0", self._place)
        try:
            found = self.raw(end - self._place).decode() if end >= 0 else None
        except UnicodeDecodeError:
            raise Malformed from None
        if found is None:
            raise Malformed
        self._place += 1
        return found

    def value(self) -> bytes | None:
        """A length and as many bytes; None for NULL."""
        length = self.int32()
        return None if length == -1 else self.raw(length)

    def end(self) -> None:
        """Check that nothing is left."""
        if self._place != len(self._body):
            raise Malformed


# --- what the server says -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a result: its name and the number of its Postgres type."""

    name: str
    oid: int


SIZES: Final = {16: 1, 21: 2, 23: 4, 26: 4, 20: 8, 700: 4, 701: 8, 1082: 4, 1114: 8, 1184: 8}
"""Bytes of the types that have a fixed size."""


def write(kind: bytes, *parts: bytes) -> bytes:
    """One message."""
    body = b"".join(parts)
    return kind + _INT.pack(len(body) + 4) + body


int16 = _SHORT.pack


def int32(*values: int) -> bytes:
    """Numbers of four bytes."""
    return b"".join(map(_INT.pack, values))


def text(value: str) -> bytes:
    """A text and a zero byte, which it cannot hold."""
    return value.replace("\0", "").encode("utf-8", "replace") + b"\0"


def row_description(columns: Sequence[ResultColumn], formats: Sequence[int]) -> bytes:
    """The columns of the rows that follow."""
    parts = [_SHORT.pack(len(columns))]
    for column, form in zip(columns, formats, strict=True):
        size = SIZES.get(column.oid, -1)
        parts.append(text(column.name) + struct.pack("!ihihih", 0, 0, column.oid, size, -1, form))
    return write(b"T", *parts)


def data_row(values: Iterable[bytes | None]) -> bytes:
    """One row."""
    parts = [b"\xff\xff\xff\xff" if one is None else _INT.pack(len(one)) + one for one in values]
    return write(b"D", _SHORT.pack(len(parts)), *parts)


def report(kind: bytes, severity: str, fields: dict[str, str]) -> bytes:
    """A notice ("N") or an error ("E"): its fields by their letters."""
    said = {"S": severity, "V": severity, **fields}
    return write(kind, *(k.encode() + text(v) for k, v in said.items() if v), b"\0")


_STATES: Final[dict[type[errors.DiscreetError], str]] = {
    errors.InputError: "22023",
    errors.BudgetError: "53400",
    errors.AccessError: "42501",
    errors.QueryRefused: "0A000",
    errors.InvariantBroken: "XX000",
}
_CODES: Final = {
    "unknown_table": "42P01",
    "unknown_column": "42703",
    "ambiguous_column": "42702",
    "syntax": "42601",
    "statement": "42601",
    "type": "42804",
    "argument": "22023",
}


class PostgresError(Exception):
    """An error to tell: its SQLSTATE, what happened, and what to do."""

    def __init__(
        self, state: str, message: str, *, hint: str = "", position: int | None = None
    ) -> None:
        super().__init__(message)
        self.state = state
        self.hint = hint
        self.position = position

    @property
    def fields(self) -> dict[str, str]:
        """The fields of the message."""
        place = "" if self.position is None else str(self.position)
        return {"C": self.state, "M": str(self), "H": self.hint, "P": place}


def as_reply(error: Exception) -> PostgresError:
    """Any exception as an error to tell; an unexpected exception reveals nothing."""
    match error:
        case PostgresError():
            return error
        case HttpError():
            state = "53300" if error.status == 429 else _STATES.get(type(error.error), "58000")
            return _told(error.error, state)
        case errors.QueryRefused():
            place = None if error.start is None else error.start + 1
            return _told(error, _CODES.get(error.code, "0A000"), place)
        case errors.DiscreetError():
            return _told(error, _STATES.get(type(error), "58000"))
        case _:
            return PostgresError(
                "XX000",
                "something went wrong inside the server, and it released nothing",
                hint="ask the same again: it is charged once; if it stays, tell who runs it",
            )


def _told(error: errors.DiscreetError, state: str, position: int | None = None) -> PostgresError:
    return PostgresError(state, f"{error.what}: {error.why}", hint=error.fix, position=position)
