"""Laws that are written down so that an auditor can hold a mechanism against them."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.mechanism import Law
from discreet.privacy.numerics.rounding import Interval

Tail = Callable[[int], Interval]
"""P(noise >= steps) for steps >= 1, of noise that is symmetric about 0."""

_REACH: Final = 24
"""Bins to each side of 0."""


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins of numbers on a grid: what is below the first edge, between two edges, from the last on.

    Example:
        >>> bins = Bins.of(240, Fraction(1))
        >>> bins.code(np.array([-10**9, -1, 0, 9, 10, 10**9])).tolist()
        [0, 24, 25, 25, 26, 49]
    """

    edges: tuple[int, ...]
    step: Fraction

    @staticmethod
    def of(half_width: int, step: Fraction) -> "Bins":
        """Equally wide bins, so far to both sides of 0."""
        width = max(1, -(-half_width // _REACH))
        return Bins(tuple(width * at for at in range(-_REACH, _REACH + 1)), step)

    @staticmethod
    def growing(half_width: int, step: Fraction) -> "Bins":
        """Bins that grow with the distance from 0, by a sixteenth: for noise of any scale."""
        edges = [1]
        while edges[-1] < half_width:
            edges.append(edges[-1] + 1 + edges[-1] // 16)
        return Bins((*(1 - edge for edge in reversed(edges)), *edges), step)

    def code(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """The bin of each number."""
        steps = np.rint(np.asarray(values, dtype=np.float64) / float(self.step))
        return np.searchsorted(self.edges, steps, side="right").astype(np.int64)

    def law(self, centre: int, tail: Tail) -> dict[Any, Interval]:
        """The probability of each bin for noise about a centre, in steps."""
        above = [
            Interval.of(1),
            *(at_least(tail, edge - centre) for edge in self.edges),
            Interval.of(0),
        ]
        return {i: here - there for i, (here, there) in enumerate(pairwise(above))}


def at_least(tail: Tail, steps: int) -> Interval:
    """P(noise >= steps) for any steps, by symmetry."""
    return tail(steps) if steps >= 1 else 1 - tail(1 - steps)


def ends(law: dict[Any, Interval]) -> Law:
    """Both ends of every probability, as an auditor takes them."""
    return {outcome: (max(0.0, p.lower), min(1.0, p.upper)) for outcome, p in law.items()}
