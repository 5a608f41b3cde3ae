"""A number that is known from both sides, with the safe side named."""

import math
from dataclasses import dataclass
from functools import total_ordering

from discreet.errors import InvariantBroken


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """An interval that holds the truth; as a number it is the upper, the safe end.

    Guarantee:
        lower <= truth <= upper. `method` names the theorem or algorithm of the upper end.
    Edge cases:
        An upper end may be infinity; NaN, a negative lower end and lower > upper cannot be built.
        Two bounds, or a bound and a number, are compared by their upper ends.

    Example:
        >>> spent = Bound(0.9, 1.0, "basic")
        >>> float(spent), spent <= 1, spent < 0.95
        (1.0, True, False)
    """

    lower: float
    upper: float
    method: str

    def __post_init__(self) -> None:
        # NaN fails every comparison, so this one refuses it as well.
        if not 0 <= self.lower <= self.upper:
            raise InvariantBroken(
                f"a bound [{self.lower}, {self.upper}] by {self.method}",
                why="its ends are not in order, so it cannot be trusted",
                fix="report the parameters that led here",
            )

    def __float__(self) -> float:
        return self.upper

    def __eq__(self, other: object) -> bool:
        theirs = _upper(other)
        return NotImplemented if theirs is None else self.upper == theirs

    def __lt__(self, other: object) -> bool:
        theirs = _upper(other)
        return NotImplemented if theirs is None else self.upper < theirs

    def __hash__(self) -> int:
        return hash(self.upper)

    @property
    def width(self) -> float:
        """How far the upper end can be above the truth."""
        return 0.0 if math.isinf(self.lower) else self.upper - self.lower


def _upper(value: object) -> float | None:
    if isinstance(value, Bound):
        return value.upper
    return float(value) if isinstance(value, (int, float)) else None
