"""Values as bounded integers, in an engine's SQL: on a grid, in a cell, in 64 bits."""

from collections.abc import Callable

from discreet.plan.expressions import Function
from discreet.plan.kinds import INT64, Kind
from discreet.plan.statistics import Grid
from discreet.sql.writer.dialect import Dialect


def on_grid(text: str, grid: Grid, dialect: Dialect) -> str:
    """A finite double as grid steps from the centre, within -reach and reach; NULL for NULL.

    Dividing by the step, a power of two, is exact; the difference and the rounding (halves to even)
    are IEEE operations, the same on every engine.
    """
    inverse = dialect.double(1 / grid.step)
    away = dialect.real(Function.SUBTRACT, text, dialect.double(grid.centre))
    steps = dialect.real(Function.MULTIPLY, away, inverse)
    return _rounded(steps, dialect.to_integer, -grid.reach, grid.reach, dialect)


def cell(text: str, low: float, high: float, cells: int, dialect: Dialect) -> str:
    """The cell of a double among equal cells of [low, high], the ends included; NULL for NULL."""
    scale = dialect.double(cells / (high - low) if cells > 1 else 0.0)
    above = dialect.real(Function.SUBTRACT, text, dialect.double(low))
    share = dialect.real(Function.MULTIPLY, above, scale)

    def floor(it: str) -> str:
        return dialect.to_integer(dialect.whole(Function.FLOOR, it))

    return _rounded(share, floor, 0, cells - 1, dialect)


def _rounded(
    text: str, rounding: Callable[[str], str], low: int, high: int, dialect: Dialect
) -> str:
    """A double as a whole number between two, both included; the rounding grows with it."""
    bottom, top = dialect.double(low), dialect.double(high)

    def body(it: str) -> str:
        # Most values lie inside: engines are fastest where all rows take the first branch.
        return dialect.choose(
            [
                (f"{it} BETWEEN {bottom} AND {top}", rounding(it)),
                (f"{it} > {top}", dialect.literal(high, Kind.INTEGER)),
                (f"{it} < {bottom}", dialect.literal(low, Kind.INTEGER)),
            ]
        )

    return dialect.let([text], body)


def saturated(text: str, dialect: Dialect) -> str:
    """A wide sum in 64 bits; what does not fit stays at the end."""
    low, high = INT64
    inside = dialect.let([text], lambda it: clamped(it, low, high, dialect))
    return dialect.cast(inside, Kind.INTEGER)


def clamped(text: str, low: int, high: int, dialect: Dialect) -> str:
    """A whole number, no lower than `low` and no higher than `high`; NULL for NULL."""
    bottom, top = (dialect.literal(end, Kind.INTEGER) for end in (low, high))
    inside = f"{text} BETWEEN {bottom} AND {top}"  # first, where it is fastest
    return dialect.choose(
        [(inside, text), (f"{text} > {top}", top), (f"{text} < {bottom}", bottom)]
    )
