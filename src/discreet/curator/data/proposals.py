"""Bounds and keys that data propose: used where their owner confirms that they are public."""

import datetime as dt
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from discreet.engines.default import ColumnCounts, StoredColumn, frequent
from discreet.engines.reading import Reading
from discreet.plan.kinds import Kind
from discreet.plan.schema import Bounds, Keys

_MOST_KEYS: Final = 30
_FEWEST_ROWS: Final = 10
"""Values that fewer rows have are not proposed as keys: they would point at somebody."""
_MOST_PUBLIC_KEYS: Final = 1024


def propose_known(
    rows: Callable[[], Any],
    columns: Mapping[str, StoredColumn],
    counts: Mapping[str, ColumnCounts],
    reading: Reading,
    said: Collection[str | None],
    public_rows: int | None,
) -> dict[str, Bounds | Keys]:
    """Bounds of numbers and dates, rounded outwards, and keys of texts with few values.

    All values of a table that has `public_rows` may be keys, NULL too: they point at nobody.
    """
    private = public_rows is None
    most, fewest = (_MOST_KEYS, _FEWEST_ROWS) if private else (_MOST_PUBLIC_KEYS, 1)
    open_ = {name: one for name, one in columns.items() if name not in said}
    few = {
        name: one
        for name, one in open_.items()
        if one.type.kind is Kind.TEXT and 0 < counts[name].distinct <= most
    }
    known: dict[str, Bounds | Keys] = {}
    for name, values in frequent(rows(), few, reading).items() if few else ():
        often = sorted(value for value, n in values.items() if n >= fewest)
        missing = not private and counts[name].values != public_rows
        if often:
            known[name] = Keys([*often, None] if missing else often)
    for name, one in open_.items():
        bounds = _bounds(counts[name].low, counts[name].high, one.type.kind)
        if bounds is not None:
            known[name] = bounds
    return known


def _bounds(low: str | None, high: str | None, kind: Kind) -> Bounds | None:
    """Wide round bounds: it reveals little more than the size of numbers.

    Example:
        >>> _bounds("17", "90", Kind.INTEGER), _bounds("-3.5", "12.25", Kind.REAL)
        (Bounds(low=0, high=100), Bounds(low=-5, high=20))
        >>> _bounds("2024-01-13", "2024-11-02", Kind.DATE).high
        datetime.date(2024, 12, 31)
    """
    if low is None or high is None or kind in (Kind.TEXT, Kind.BOOLEAN):
        return None
    if kind.is_time:
        first, last = int(low[:4]), int(high[:4])
        if kind is Kind.DATE:
            return Bounds(dt.date(first, 1, 1), dt.date(last, 12, 31))
        return Bounds(dt.datetime(first, 1, 1), dt.datetime(last, 12, 31, 23, 59, 59))  # noqa: DTZ001
    ends = float(low), float(high)
    down, up = -_rounded(-min(ends[0], 0)), _rounded(max(ends[1], 0))
    return Bounds(down, up) if down < up else Bounds(0, 1)


def _rounded(size: float) -> int | float:
    """The next of 1, 2, 5, 10, 20, 50, ...; 0 stays."""
    if size <= 0:
        return 0
    power = 10.0 ** math.floor(math.log10(size))
    found = next((step * power for step in (1, 2, 5) if step * power >= size), 10 * power)
    return int(found) if found >= 1 else found
