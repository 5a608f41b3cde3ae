"""Exact laws of comparisons of noisy numbers, for audits."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.grid import PowerOfTwoGrid
from discreet.mechanisms.mechanism import Law, View
from discreet.mechanisms.noise_tails import laplace_tail
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

    def view(
        self,
        numbers: Callable[[NDArray[Any]], NDArray[Any]],
        centre: Callable[[Any], int],
        tail: Tail,
    ) -> View:
        """The bin of a noisy number, which `numbers` picks out of rows; `centre` is it in steps."""
        return View(
            lambda rows: self.code(numbers(rows)), lambda value: ends(self.law(centre(value), tail))
        )

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


WIDEST: Final = 512
"""Noise of larger scales than this, in steps, has no law that can be listed quickly."""

_DEVIATIONS: Final = 34
_BLOCKS: Final = 1024
"""Blocks to a scale of the threshold's noise, where it is wide."""

_OFF: Final = 1e-11
"""More than all relative errors of a product of forty tails, and of their sum over the bar."""

Marks = tuple[int, ...]


def law_of_marks(bars: list[int], scales: tuple[Fraction, Fraction], hits: int) -> Law:
    """The probability of each row of marks: 1 hit, 0 below, -1 not asked.

    `bars` is how far each value is below the threshold, `scales` those of the noise of the
    threshold and of a question, all in steps.

    Why: given the noise t of the threshold, questions are independent, each a hit with probability
    P(noise >= bar - t). Tails of both sides are computed as such, so nothing cancels; t beyond 34
    scales has probability at most 4 e^-34, which the upper ends allow for. Where scales are wide,
    t is taken a block at a time, and both ends of the block give both ends of a probability.

    Example:
        >>> law = law_of_marks([0, 0], (Fraction(2), Fraction(3)), 1)
        >>> sorted(law)
        [(0, 0), (0, 1), (1, -1)]
        >>> all(low <= high for low, high in law.values())
        True
    """
    block = max(1, int(scales[0]) // _BLOCKS)
    width = int(_DEVIATIONS * scales[0]) + block
    first = np.arange(-width, width + 1, block)
    last = first + (block - 1)
    mass = _mass(scales[0], first) if block == 1 else _between(scales[0], first, block)
    left_out = 4 * float(np.exp(-float(_DEVIATIONS)))
    found: dict[Marks, NDArray[np.float64]] = {(): np.stack([mass, mass])}
    for bar in bars:
        hit = np.stack([_tail(scales[1], bar - first), _tail(scales[1], bar - last)])
        below = np.stack([_tail(scales[1], last - bar + 1), _tail(scales[1], first - bar + 1)])
        found = dict(_asked(found, hit, below, hits))
    sums = {marks: weights.sum(axis=1) for marks, weights in found.items()}
    return {
        marks: (float(low) * (1 - _OFF), float(high) * (1 + _OFF) + left_out)
        for marks, (low, high) in sums.items()
    }


def _asked(
    found: dict[Marks, NDArray[np.float64]],
    hit: NDArray[np.float64],
    below: NDArray[np.float64],
    hits: int,
) -> list[tuple[Marks, NDArray[np.float64]]]:
    rows = []
    for marks, weights in found.items():
        if marks.count(1) == hits:
            rows.append(((*marks, -1), weights))
        else:
            rows += [((*marks, 1), weights * hit), ((*marks, 0), weights * below)]
    return rows


@dataclass(frozen=True, slots=True)
class PlacedAnswers:
    """Rows of marks with where the answer of a hit lies for its 1: low 1, between 2, high 3.

    Low is up to the first of the `edges`, high from the second on; answers have fresh Laplace noise
    of this scale. Edges and scale are in steps of the grid.

    Example:
        >>> said = PlacedAnswers((-1, 1), Fraction(2), PowerOfTwoGrid(Fraction(1)))
        >>> {row: round(p, 3) for row, (_, p) in said.law({(1,): (1.0, 1.0)}, [0]).items()}
        {(1,): 0.378, (2,): 0.245, (3,): 0.378}
    """

    edges: tuple[int, int]
    scale: Fraction
    grid: PowerOfTwoGrid

    def read(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Take rows of marks and then answers."""
        marks, answers = np.split(rows, 2, axis=1)
        low, high = (float(self.grid.value(edge)) for edge in self.edges)
        placed = 1 + (answers > low).astype(np.int64) + (answers >= high)
        return np.where(marks == 1, placed, marks.astype(np.int64))

    def law(self, marks: Law, centres: list[int]) -> Law:
        """The law of such rows, from that of the marks and the exact answers in steps."""
        law: dict[Any, Interval] = {}
        said = [self._places(centre) for centre in centres]
        row: Any
        for row, (low, high) in marks.items():
            parts: dict[Any, Interval] = {(): Interval.between(low, high)}
            for mark, places in zip(row, said, strict=True):
                seen = places if mark == 1 else {mark: Interval.of(1)}
                parts = {(*part, at): parts[part] * seen[at] for part, at in product(parts, seen)}
            law |= parts
        return ends(law)

    def _places(self, centre: int) -> dict[int, Interval]:
        tail, (low, high) = partial(laplace_tail, self.scale), self.edges
        above, reached = at_least(tail, low + 1 - centre), at_least(tail, high - centre)
        return {1: 1 - above, 2: above - reached, 3: reached}


def law_of_largest(scores: list[int], scale: Fraction) -> Law:
    """The probability that each score is the largest once it has noise; ties are shared out.

    Why: given its noisy value v, the integral over u from 0 to 1 of the product of P(other < v) + u
    P(other = v) is the chance to be the largest and to be drawn from the tied. It is a polynomial
    in u, which eight Gauss points integrate exactly.

    Example:
        >>> low, high = law_of_largest([0, 0], Fraction(2))[0]
        >>> bool(low <= 0.5 <= high)
        True
    """
    far = int(_DEVIATIONS * scale) + 1
    values = np.arange(min(scores) - far, max(scores) + far + 1)
    spans = [values - score for score in scores]
    masses = [_mass(scale, span) for span in spans]
    below = [_tail(scale, 1 - span) for span in spans]
    nodes, weights = np.polynomial.legendre.leggauss(8)
    law: dict[Any, tuple[float, float]] = {}
    for i, mass in enumerate(masses):
        p = 0.0
        for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
            others = [below[j] + node * masses[j] for j in range(len(scores)) if j != i]
            p += weight * float((mass * np.prod(others, axis=0)).sum())
        law[i] = (p * (1 - _OFF), p * (1 + _OFF) + 4 * float(np.exp(-float(_DEVIATIONS))))
    return law


def _mass(scale: Fraction, steps: NDArray[np.int64]) -> NDArray[np.float64]:
    rate = float(1 / scale)
    return np.asarray(np.exp(-rate * np.abs(steps)) * np.tanh(rate / 2))


def _between(scale: Fraction, first: NDArray[np.int64], block: int) -> NDArray[np.float64]:
    """P(first <= noise < first + block) of a discrete Laplace, each side of 0 by its own tails."""
    rate = float(1 / scale)
    near = np.where(first >= 0, first, 1 - first - block)
    one_side = np.exp(-rate * np.maximum(near, 0)) / (1 + np.exp(-rate)) * -np.expm1(-rate * block)
    across = 1 - _tail(scale, 1 - first) - _tail(scale, first + block)
    return np.asarray(np.where(near >= 0, one_side, across))


def _tail(scale: Fraction, steps: NDArray[np.int64]) -> NDArray[np.float64]:
    rate = float(1 / scale)
    upper = np.exp(-rate * np.maximum(steps, 1)) / (1 + np.exp(-rate))
    lower = np.exp(-rate * np.maximum(1 - steps, 1)) / (1 + np.exp(-rate))
    return np.asarray(np.where(steps >= 1, upper, 1 - lower))
