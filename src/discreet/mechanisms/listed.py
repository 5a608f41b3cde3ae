"""Laws that are written down so that an auditor can hold a mechanism against them."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.claim import Law
from discreet.privacy.rounding import Interval

Tail = Callable[[int], Interval]
"""P(noise >= steps) for steps >= 1, of noise that is symmetric about 0."""

_REACH: Final = 24
"""Bins to each side of 0."""


@dataclass(frozen=True, slots=True)
class Bins:
    """Equally wide bins about 0, in steps of a grid; the outermost take all that is beyond.

    Example:
        >>> Bins(10, Fraction(1)).code(np.array([-1, 0, 9, 10, 10**9])).tolist()
        [-1, 0, 0, 1, 24]
    """

    width: int
    step: Fraction

    @staticmethod
    def of(half_width: int, step: Fraction) -> "Bins":
        """Bins that reach so far to both sides."""
        return Bins(max(1, -(-half_width // _REACH)), step)

    def code(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """The bin of each number."""
        steps = np.rint(np.asarray(values, dtype=np.float64) / float(self.step))
        bins = np.floor(steps / self.width)
        return np.clip(bins, -_REACH - 1, _REACH).astype(np.int64)

    def law(self, centre: int, tail: Tail) -> dict[Any, Interval]:
        """The probability of each bin for noise about a centre, in steps."""
        edges = range(-_REACH, _REACH + 1)
        above = [1, *(at_least(tail, edge * self.width - centre) for edge in edges), 0]
        return {
            edge - 1: Interval.of(above[i]) - above[i + 1]
            for i, edge in enumerate([*edges, _REACH + 1])
        }


def at_least(tail: Tail, steps: int) -> Interval:
    """P(noise >= steps) for any steps, by symmetry."""
    return tail(steps) if steps >= 1 else 1 - tail(1 - steps)


def mass_at(tail: Tail, steps: int) -> Interval:
    """P(noise = steps)."""
    far = abs(steps)
    return at_least(tail, far) - at_least(tail, far + 1)


def ends(law: dict[Any, Interval]) -> Law:
    """Both ends of every probability, as an auditor takes them."""
    return {outcome: (max(0.0, p.lower), min(1.0, p.upper)) for outcome, p in law.items()}
