"""Values as bounded integers, in an engine's SQL: on a grid, in a cell, in 64 bits."""

from discreet.plan.expressions import Function
from discreet.plan.kinds import INT64, Kind
from discreet.plan.statistics import Grid
from discreet.sql.dialect import Dialect


def on_grid(text: str, grid: Grid, dialect: Dialect) -> str:
    """A double as grid steps from the centre, within -reach and reach; NULL for NULL.

    Dividing by the step, a power of two, is exact; the difference and the rounding (halves to even)
    are IEEE operations, the same on every engine.
    """
    inverse = dialect.double(1 / grid.step)
    steps = dialect.to_integer(f"(({text}) - {dialect.double(grid.centre)}) * {inverse}")
    return dialect.let([steps], lambda it: clamped(it, -grid.reach, grid.reach, dialect))


def cell(text: str, low: float, high: float, cells: int, dialect: Dialect) -> str:
    """The cell of a double among equal cells of [low, high], the ends included; NULL for NULL."""
    scale = dialect.double(cells / (high - low))
    share = dialect.whole(Function.FLOOR, f"(({text}) - {dialect.double(low)}) * {scale}")
    return dialect.let([dialect.to_integer(share)], lambda it: clamped(it, 0, cells - 1, dialect))


def saturated(text: str, dialect: Dialect) -> str:
    """A wide sum in 64 bits; what does not fit stays at the end."""
    low, high = INT64
    inside = dialect.let([text], lambda it: clamped(it, low, high, dialect))
    return dialect.cast(inside, Kind.INTEGER)


def clamped(text: str, low: int, high: int, dialect: Dialect) -> str:
    """A whole number, no lower than `low` and no higher than `high`; NULL for NULL."""
    bottom, top = (dialect.literal(end, Kind.INTEGER) for end in (low, high))
    return dialect.choose([(f"{text} > {top}", top), (f"{text} < {bottom}", bottom)], text)
