"""Values as bounded integers, in an engine's SQL: on a grid, in a cell, in 64 bits."""

import math
import struct
from collections.abc import Callable
from functools import lru_cache

from discreet.plan.expressions import Function
from discreet.plan.kinds import Kind
from discreet.plan.statistics import Grid
from discreet.sql.writer.dialect import Dialect


def on_grid(text: str, grid: Grid, dialect: Dialect) -> str:
    """A finite double as grid steps from the centre, within -reach and reach; NULL for NULL.

    Dividing by the step, a power of two, is exact; the difference and the rounding (halves to even)
    are IEEE operations, the same on every engine.
    """
    return rounded(
        text, grid.centre, 1 / grid.step, dialect.nearest, -grid.reach, grid.reach, dialect
    )


def cell(text: str, low: float, high: float, cells: int, dialect: Dialect) -> str:
    """The cell of a double among equal cells of [low, high], the ends included; NULL for NULL."""
    scale = cells / (high - low) if cells > 1 else 0.0

    def floor(it: str) -> str:
        return dialect.nearest(dialect.whole(Function.FLOOR, it))

    return rounded(text, low, scale, floor, 0, cells - 1, dialect)


def rounded(
    text: str,
    start: float,
    factor: float,
    rounding: Callable[[str], str],
    low: int,
    high: int,
    dialect: Dialect,
) -> str:
    """(text - start) * factor as a whole number between two, both included.

    The product grows with the double, so it is judged by the doubles where it meets its ends.
    """
    first, last = (dialect.double(end) for end in _ends(start, factor, low, high))

    def body(it: str) -> str:
        # Most values lie inside: engines are fastest where all rows take the first branch.
        return dialect.choose(
            [
                (f"{it} BETWEEN {first} AND {last}", rounding(dialect.scaled(it, start, factor))),
                (f"{it} > {last}", dialect.literal(high, Kind.INTEGER)),
                (f"{it} < {first}", dialect.literal(low, Kind.INTEGER)),
            ]
        )

    return dialect.let([text], body)


@lru_cache(maxsize=1024)
def _ends(start: float, factor: float, low: int, high: int) -> tuple[float, float]:
    """The least and the greatest double x for which low <= (x - start) * factor <= high."""

    def scaled(place: int) -> float:
        return (_double(place) - start) * factor

    if not factor:
        return _double(-_TOP), _double(_TOP)
    return (
        _double(_first(lambda place: scaled(place) >= low)),
        _double(_first(lambda place: scaled(place) > high) - 1),
    )


_TOP = 0x7FEF_FFFF_FFFF_FFFF
"""The place of the largest double among all of them, in their order; 0 is at 0."""


def _first(holds: Callable[[int], bool]) -> int:
    """The place of the first double of which something holds that holds of all above it."""
    below, at = -_TOP - 1, _TOP + 1
    while at - below > 1:
        middle = (below + at) // 2
        below, at = (below, middle) if holds(middle) else (middle, at)
    return at


def _double(place: int) -> float:
    (found,) = struct.unpack("<d", struct.pack("<q", abs(place)))
    return math.copysign(found, place)
