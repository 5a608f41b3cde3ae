"""Time zones: what clocks of one zone show when those of another show a time.

Timestamps have no zone here. `t AT TIME ZONE 'UTC'` says that t is in UTC: it is an *instant*, and
becomes a timestamp again with AT TIME ZONE 'Europe/Berlin', or is compared with another instant.
Both are the same for every row on every engine and in every session: an offset that changes on days
that are written into the question when it is asked. An instant by itself would be shown in the zone
of whoever asks; it is refused.

Where clocks are set forward, a time that they skip is read as before the change; where they are set
back, a time that they show twice is the later one. So have it Postgres and DuckDB.
"""

import datetime as dt
import re
import zoneinfo
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plan.calendar import moment
from discreet.plan.expressions import Case, Cast, Expression, Function, Literal, call
from discreet.plan.kinds import Kind
from discreet.sql.reader.literals import read_moment
from discreet.sql.reader.refusals import said
from discreet.sql.reader.syntax import Node, bare

if TYPE_CHECKING:
    from discreet.sql.reader.expressions import ExpressionReader

LONGEST = 60
"""Years of which the changes of a zone are written into a question."""
_INSTANT_TYPES = {exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ}
_OFFSET = re.compile(r"(.*?)\s*(Z|[+-]\d{2}(?::?\d{2})?)", re.ASCII | re.IGNORECASE)
_DAY = dt.timedelta(days=1)


def is_instant(node: Node) -> bool:
    """Whether a value is a moment in time, whatever clocks show."""
    node = node.unnest()
    if isinstance(node, exp.AtTimeZone):
        return not (is_instant(node.this) or _is_clock(node.this))
    return isinstance(node, exp.Cast) and node.to.this in _INSTANT_TYPES


def _is_clock(node: Node) -> bool:
    return node.find(exp.CurrentTimestamp) is not None


def read_instants(reader: "ExpressionReader", nodes: Sequence[Node]) -> list[Expression] | None:
    """Instants that are compared, as timestamps in UTC; None where none is one.

    Beside one, a text is an instant, and so is what is computed from NOW().
    """
    if not any(map(is_instant, nodes)):
        return None
    return [_instant(reader, node) for node in nodes]


def _instant(reader: "ExpressionReader", node: Node) -> Expression:
    """An instant as a timestamp in UTC."""
    syntax, node = reader.syntax, bare(reader.syntax, node)
    if isinstance(node, exp.Literal) and node.args.get("is_string"):
        return syntax.remember(_written(reader, node), node)
    if not is_instant(node):
        if not _is_clock(node):
            raise syntax.refuse(node, _MIXED)
        return Cast(reader.read(node), Kind.TIMESTAMP)
    inner = syntax.part(node, "this")
    if isinstance(node, exp.AtTimeZone):
        return _shifted(reader, node, _timestamp(reader, inner), to_utc=True)
    syntax.part(node, "to", "this")
    syntax.part(node, "safe")
    if isinstance(inner, exp.Literal) and inner.args.get("is_string"):
        return syntax.remember(_written(reader, inner), node)
    return _instant(reader, inner) if is_instant(inner) else _timestamp(reader, inner)


def read_local(reader: "ExpressionReader", node: Node) -> Expression:
    """What clocks of a zone show at an instant: t AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Tokyo'."""
    inner = reader.syntax.part(node, "this")
    if is_instant(node):
        raise reader.syntax.refuse(node, ALONE)
    at = bare(reader.syntax, inner)
    if not is_instant(at) and not isinstance(at, exp.CurrentTimestamp):
        raise reader.syntax.refuse(node, ALONE)
    return _shifted(reader, node, _instant(reader, at), to_utc=False)


def _timestamp(reader: "ExpressionReader", node: Node) -> Expression:
    """A timestamp; a date would be an instant in the zone of the session first."""
    value = reader.read(node)
    if isinstance(value, Literal) and isinstance(value.value, str):
        return read_moment(reader.syntax, value.value, Kind.TIMESTAMP, node)
    if reader.check(value, node).kind is not Kind.TIMESTAMP:
        raise reader.syntax.refuse(node, _OF_TIMES)
    return value


def _written(reader: "ExpressionReader", node: Node) -> Expression:
    """'2026-03-01 12:00:00+02' as a timestamp in UTC, which it is in where it has no offset."""
    text = str(reader.syntax.part(node, "this"))
    reader.syntax.part(node, "is_string")
    found = _OFFSET.fullmatch(text) if ":" in text else None
    if found is None:
        return read_moment(reader.syntax, text, Kind.TIMESTAMP, node)
    local = read_moment(reader.syntax, found[1], Kind.TIMESTAMP, node).value
    digits = found[2].upper().replace("Z", "+00").replace(":", "")
    ahead = dt.timedelta(hours=int(digits[1:3]), minutes=int(digits[3:] or 0))
    assert isinstance(local, dt.datetime)  # noqa: S101 - narrowing: a timestamp was read
    try:
        moved = local + (ahead if digits[0] == "-" else -ahead)
    except OverflowError:
        raise reader.syntax.refuse(node, _OF_TIMES) from None
    return Literal(moved, Kind.TIMESTAMP)


def _shifted(
    reader: "ExpressionReader", node: Node, value: Expression, *, to_utc: bool
) -> Expression:
    """A timestamp in UTC that is one of a zone's clocks, or the other way round."""
    name = reader.syntax.part(node, "zone")
    zone = _zone(reader, name)
    if zone is None:
        return value
    within = reader.check(value, node).range
    if within is None:
        raise reader.syntax.refuse(node, _UNBOUNDED)
    first, last = (moment(end, Kind.TIMESTAMP) for end in (within.low, within.high))
    if last.year - first.year > LONGEST or first.year < 2 or last.year > 9990:
        raise reader.syntax.refuse(node, _UNBOUNDED)
    offset, changes = offsets(zone, first.year, last.year)
    found = Literal(-offset if to_utc else offset, Kind.INTEGER)
    branches = list[tuple[Expression, Expression]]()
    for at, after in changes:
        # Clocks show this at a change, after it: skipped times are before, doubled ones later.
        shown = at + dt.timedelta(seconds=after) if to_utc else at
        branches.append((value < Literal(shown, Kind.TIMESTAMP), found))
        found = Literal(-after if to_utc else after, Kind.INTEGER)
    apart = Case(tuple(branches), found) if branches else found
    return reader.syntax.remember(call(Function.ADD_SECONDS, value, apart), node)


def _zone(reader: "ExpressionReader", node: Node) -> str | None:
    """The name of a zone; None for UTC."""
    name = reader.text(node, "a time zone")
    if name.upper() in {"UTC", "GMT", "Z", "ETC/UTC"}:
        return None
    try:
        known = "/" in name and zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        known = False
    if not known:
        raise reader.syntax.refuse(node, _ZONE)
    return name


@lru_cache(maxsize=64)
def offsets(name: str, first: int, last: int) -> tuple[int, list[tuple[dt.datetime, int]]]:
    """The seconds that clocks of a zone are ahead of UTC in the years around some.

    Those at the beginning, and the changes: when, in UTC, and to what.
    """
    zone = zoneinfo.ZoneInfo(name)

    def ahead(at: dt.datetime) -> int:
        found = at.replace(tzinfo=dt.UTC).astimezone(zone).utcoffset()
        return round((found or dt.timedelta()).total_seconds())

    at = dt.datetime(first - 1, 12, 30)  # noqa: DTZ001 - in UTC, as all timestamps
    begins = now = ahead(at)
    changes = []
    while at.year <= last + 1:
        if (then := ahead(at + _DAY)) != now:
            low, high = 0, 86_400
            while high - low > 1:
                middle = (low + high) // 2
                same = ahead(at + dt.timedelta(seconds=middle)) == now
                low, high = (middle, high) if same else (low, middle)
            changes.append((at + dt.timedelta(seconds=high), then))
            now = then
        at += _DAY
    return begins, changes


ALONE = said("""zone: an instant stands where a timestamp belongs
    AT TIME ZONE says which zone a timestamp is in; what it shows by itself depends on the session
    write t AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin' for what clocks in Berlin show when it \
    is t in UTC, and the other way round for what they show in UTC""")
_MIXED = said("""zone: an instant is compared with a timestamp that has no zone
    which instant it is depends on the zone of the session
    say its zone: t AT TIME ZONE 'UTC'""")
_OF_TIMES = said("""zone: a zone of something else than a timestamp
    a date begins at another moment in each zone
    write CAST(d AS TIMESTAMP) AT TIME ZONE 'UTC'""")
_UNBOUNDED = said(f"""zone: a zone of a timestamp without bounds, or of more than {LONGEST} years
    the days on which its clocks change are written into the question
    declare Bounds for the column, or hold t between two times: LEAST(GREATEST(t, TIMESTAMP \
    '2020-01-01'), TIMESTAMP '2030-01-01'); a fixed shift is t + INTERVAL 2 HOUR""")
_ZONE = said("""zone: a time zone that is not known here
    offsets and abbreviations mean different zones on different engines; others are those of the \
    IANA database, which this machine needs (pip install tzdata)
    write its name, as in 'Europe/Berlin' or 'UTC'; a fixed shift is t + INTERVAL 2 HOUR""")
