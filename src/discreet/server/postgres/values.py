"""Values as Postgres clients send and read them: as text or binary, out as rows, in as literals."""

import datetime as dt
import json
import math
import re
import struct
import uuid
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, Final

import pyarrow as pa

from discreet.plan.kinds import Kind
from discreet.server.postgres.messages import Fields, Malformed, PostgresError

BOOL, INT8, INT2, INT4, TEXT, OID, FLOAT4, FLOAT8 = 16, 20, 21, 23, 25, 26, 700, 701
DATE, TIMESTAMP, TIMESTAMPTZ, NUMERIC, TEXTS = 1082, 1114, 1184, 1700, 1009

OIDS: Final = {
    Kind.BOOLEAN: BOOL,
    Kind.INTEGER: INT8,
    Kind.REAL: FLOAT8,
    Kind.TEXT: TEXT,
    Kind.DATE: DATE,
    Kind.TIMESTAMP: TIMESTAMP,
}
"""The type of each kind of value."""

_DAY, _MOMENT = dt.date(2000, 1, 1), dt.datetime(2000, 1, 1)  # noqa: DTZ001 - there are no zones
_INTS: Final = {INT2: "!h", INT4: "!i", INT8: "!q", OID: "!I"}
_ARRAYS: Final = {1000: BOOL, 1005: INT2, 1007: INT4, 1016: INT8, 1009: TEXT, 1015: TEXT, 1028: OID}
_STRINGS: Final = {0, 18, 19, TEXT, 705, 1042, 1043}
MOST_TERMS: Final = 10_000
"""Elements of an array that is a parameter."""


def oid_of(of: pa.DataType) -> int:
    """The type of a column."""
    if pa.types.is_boolean(of):
        return BOOL
    if pa.types.is_integer(of):
        return {8: INT2, 16: INT2, 32: INT4}.get(of.bit_width, INT8)
    if pa.types.is_floating(of):
        return FLOAT8
    if pa.types.is_decimal(of):
        return NUMERIC
    if pa.types.is_date(of):
        return DATE
    if pa.types.is_timestamp(of):
        return TIMESTAMP if of.tz is None else TIMESTAMPTZ
    return TEXTS if pa.types.is_list(of) else TEXT


# --- out ----------------------------------------------------------------------------------------


def write_rows(
    table: pa.Table, oids: Sequence[int], formats: Sequence[int]
) -> Iterator[list[bytes | None]]:
    """The rows of a table, each value in the format that was asked for."""
    writers = [_writer(oid, form) for oid, form in zip(oids, formats, strict=True)]
    for batch in table.to_batches(max_chunksize=1024):
        columns = [column.to_pylist() for column in batch.columns]
        for row in zip(*columns, strict=True):
            yield [
                None if value is None else write(value)
                for value, write in zip(row, writers, strict=True)
            ]


def _writer(oid: int, form: int) -> Callable[[Any], bytes]:
    if form == 0:
        return lambda value: _text(value).encode("utf-8", "replace")
    found = _BINARY.get(oid)
    if found is None:
        raise PostgresError(
            "0A000", f"type {oid} has no binary format here", hint="ask for the text format"
        )
    return found


def _text(value: Any) -> str:
    match value:
        case bool():
            return "t" if value else "f"
        case float() if math.isfinite(value):
            return repr(value).removesuffix(".0")
        case float():
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case dt.datetime():
            return value.isoformat(" ")
        case list():
            return "{" + ",".join(map(_element, value)) + "}"
        case dict():
            return json.dumps(value, default=str)
        case _:
            return str(value)


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    said = _text(value)
    if re.fullmatch(r"[\w.:+-]+", said) and said.upper() != "NULL":
        return said
    escaped = said.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _microseconds(value: dt.datetime) -> bytes:
    plain = value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
    return struct.pack("!q", (plain - _MOMENT) // dt.timedelta(microseconds=1))


def _numeric(value: Any) -> bytes:
    """Digits to the base of 10,000, and where among them the point is."""
    sign, digits, exponent = Decimal(value).as_tuple()
    if not isinstance(exponent, int):
        return struct.pack("!hhHh", 0, 0, 0xC000, 0)
    scale = max(0, -exponent)
    whole = "".join(map(str, digits)) + "0" * (exponent if exponent > 0 else (-scale) % 4)
    padded = whole.rjust(-(-len(whole) // 4) * 4, "0")
    groups = [int(padded[i : i + 4]) for i in range(0, len(padded), 4)]
    weight = len(groups) - 1 - -(-scale // 4)
    return struct.pack(f"!hhHh{len(groups)}h", len(groups), weight, 0x4000 * sign, scale, *groups)


_BINARY: Final[dict[int, Callable[[Any], bytes]]] = {
    BOOL: lambda value: b"\x01" if value else b"\0",
    **{oid: partial(struct.pack, form) for oid, form in _INTS.items()},
    FLOAT8: lambda value: struct.pack("!d", value),
    TEXT: lambda value: _text(value).encode("utf-8", "replace"),
    DATE: lambda value: struct.pack("!i", (value - _DAY).days),
    TIMESTAMP: _microseconds,
    TIMESTAMPTZ: _microseconds,
    NUMERIC: _numeric,
}


# --- in -----------------------------------------------------------------------------------------


def literal(raw: bytes | None, oid: int, form: int) -> str:
    """A parameter as a literal of SQL that means it; what a client sent is never pasted.

    Example:
        >>> literal(b"O'Brien", TEXT, 0), literal(b"-5", INT4, 0), literal(None, TEXT, 0)
        ("'O''Brien'", '(-5)', 'NULL')
    """
    if raw is None:
        return "NULL"
    try:
        return write_literal(_read(raw, oid, form))
    except (ValueError, InvalidOperation, struct.error, OverflowError, Malformed):
        raise PostgresError(
            "22P02", f"a parameter of type {oid} cannot be read", hint="send a value of its type"
        ) from None


def sample(oid: int) -> str:
    """Some literal of a type, to find out what a statement with parameters returns."""
    return write_literal(_SAMPLES.get(oid, ["a"] if oid in _ARRAYS else "a"))


_SAMPLES: Final[dict[int, Any]] = {
    BOOL: True,
    **dict.fromkeys((INT2, INT4, INT8, OID, NUMERIC), 1),
    **dict.fromkeys((FLOAT4, FLOAT8), 1.5),
    DATE: _DAY,
    **dict.fromkeys((TIMESTAMP, TIMESTAMPTZ), _MOMENT),
    **{array: [1] for array, of in _ARRAYS.items() if of in _INTS},
}


def write_literal(value: Any) -> str:
    """A value as a literal."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int() | float() | Decimal():
            return _number(value)
        case dt.datetime():
            return f"TIMESTAMP '{value.isoformat(' ')}'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
        case list():
            return f"ARRAY[{', '.join(write_literal(one) for one in value)}]"
        case _:
            if "\0" in value:
                raise ValueError
            said = str(value).replace("'", "''")
            return f"'{said}'"


def _number(value: float | Decimal) -> str:
    if not math.isfinite(value):
        raise ValueError
    if isinstance(value, Decimal) and not -400 < int(value.as_tuple().exponent) < 400:
        raise ValueError  # 1e-999999999 has a billion digits
    said = f"{value:f}" if isinstance(value, Decimal) else repr(value)
    if len(said) > 400:
        raise ValueError
    return f"({said})" if said.startswith("-") else said


def _read(raw: bytes, oid: int, form: int) -> Any:
    if oid in _ARRAYS:
        return (_binary_array if form else _text_array)(raw, _ARRAYS[oid])
    reader = (_BINARY_READERS if form else _TEXT_READERS).get(oid)
    if oid in _STRINGS or (oid == 2950 and not form):  # a uuid
        return _dated(raw.decode()) if oid == 0 else raw.decode()
    if reader is None:
        raise PostgresError(
            "0A000", f"parameters of type {oid} are not taken", hint="cast it to text or a number"
        )
    return reader(raw)


def _dated(said: str) -> str:
    """A text of unknown type; drivers write dates with a zone, of which days have none."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)(?: ?[+-]\d\d(?::?\d\d)?)", said)
    return said if found is None else found[1]


def _truth(raw: bytes) -> bool:
    word = raw.decode("latin-1").strip().lower()
    if word in {"t", "true", "1", "on", "yes", "\1"}:
        return True
    if word in {"f", "false", "0", "off", "no", "\0"}:
        return False
    raise ValueError


def _day(raw: bytes) -> dt.date:
    """A day, or the day of a moment; a day before Christ is none that can be written here."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)([ T][\d:.]+)?( ?[+-][\d:]+)?", raw.decode().strip())
    if found is None:
        raise ValueError
    return dt.date.fromisoformat(found[1])


def _moment(raw: bytes) -> dt.datetime:
    found = dt.datetime.fromisoformat(raw.decode().strip())
    return found.astimezone(dt.UTC).replace(tzinfo=None) if found.tzinfo else found


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError
    return value


def _read_numeric(raw: bytes) -> Decimal:
    count, weight, sign, _ = struct.unpack_from("!hhHh", raw)
    groups = struct.unpack_from(f"!{count}h", raw, 8)
    if sign not in {0, 0x4000} or len(raw) != 8 + 2 * count:
        raise ValueError
    digits = tuple(int(d) for group in groups for d in f"{group:04d}")
    return Decimal((sign // 0x4000, digits or (0,), 4 * (weight - count + 1)))


_ELEMENT: Final = re.compile(r'("(?:[^"\\]|\\.)*"|[^",{}\s\\]+)(,|$)')


def _text_array(raw: bytes, of: int) -> list[Any]:
    said, place = raw.decode(), 1
    found: list[str] = []
    if not (said.startswith("{") and said.endswith("}")):
        raise ValueError
    while place < len(said) - 1:
        one = _ELEMENT.match(said, place, len(said) - 1)
        if one is None or len(found) >= MOST_TERMS:
            raise ValueError
        found.append(one[1])
        place = one.end()
    plain = [re.sub(r"\\(.)", r"\1", one[1:-1]) if one[0] == '"' else one for one in found]
    terms = zip(found, plain, strict=True)
    return [None if one == "NULL" else _read(text.encode(), of, 0) for one, text in terms]


def _binary_array(raw: bytes, of: int) -> list[Any]:
    fields = Fields(raw)
    dimensions, _, oid = fields.int32(), fields.int32(), fields.int32()
    if dimensions == 0:
        return []
    count, _ = fields.int32(), fields.int32()
    if dimensions != 1 or not 0 <= count <= MOST_TERMS:
        raise ValueError
    parts = [fields.value() for _ in range(count)]
    return [None if one is None else _read(one, oid or of, 1) for one in parts]


def _unpacked(form: str, raw: bytes) -> Any:
    return struct.unpack(form, raw)[0]


_TEXT_READERS: Final[dict[int, Callable[[bytes], Any]]] = {
    BOOL: _truth,
    **{oid: lambda raw: int(raw.decode()) for oid in _INTS},
    **{oid: lambda raw: _finite(float(raw.decode())) for oid in (FLOAT4, FLOAT8)},
    NUMERIC: lambda raw: Decimal(raw.decode()),
    DATE: _day,
    TIMESTAMP: _moment,
    TIMESTAMPTZ: _moment,
}
_BINARY_READERS: Final[dict[int, Callable[[bytes], Any]]] = {
    BOOL: _truth,
    **{oid: partial(_unpacked, form) for oid, form in _INTS.items()},
    FLOAT4: lambda raw: _finite(_unpacked("!f", raw)),
    FLOAT8: lambda raw: _finite(_unpacked("!d", raw)),
    NUMERIC: _read_numeric,
    DATE: lambda raw: _DAY + dt.timedelta(days=_unpacked("!i", raw)),
    **dict.fromkeys(
        (TIMESTAMP, TIMESTAMPTZ),
        lambda raw: _MOMENT + dt.timedelta(microseconds=_unpacked("!q", raw)),
    ),
    2950: lambda raw: str(uuid.UUID(bytes=raw)),
}
