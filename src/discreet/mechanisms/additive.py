"""Shared parts of mechanisms that add exact noise to numbers on a grid."""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.mechanisms.comparison_laws import Bins, ends
from discreet.mechanisms.grid import PowerOfTwoGrid, Steps, add
from discreet.mechanisms.mechanism import Claim, Law, Mechanism, Pair, View
from discreet.privacy import Neighbours
from discreet.privacy.numerics.rounding import Interval, total
from discreet.rationals import Real, failure, whole

_LISTED = 512
"""Sensitivity and half-width, in steps, up to which the output law is written down."""

_RARE = Fraction(1, 1000)
"""The probability of noise beyond all bins except the outermost, if bins represent the law."""

SEEN = 8
"""How many numbers of a vector an audit looks at: the first, and as many of the last, where a
release that stops short would show."""


@dataclass(frozen=True, slots=True, init=False)
class Additive(Mechanism):
    """A number or a vector, put on a public grid, plus independent exact noise.

    `steps` is the sensitivity on the grid; `dimension` how many numbers one release holds, or None
    where that changes nothing.
    """

    sensitivity: Fraction
    steps: int
    grid: PowerOfTwoGrid
    dimension: int | None
    neighbours: Neighbours

    def release(self, value: Any) -> Any:
        """The value on the grid with fresh noise on every coordinate.

        Ints come back as ints where grid steps are whole numbers, else floats; arrays keep their
        shape. A float result is rounded from the exact one, which gives nothing away.
        """
        steps = self.grid.index(value)
        self._check(1 if isinstance(steps, int) else steps.size)
        return self._answer(steps, () if isinstance(steps, int) else steps.shape)

    def error(self, confidence: Real = 0.95) -> float:
        """The half-width that holds each coordinate's noise, and its rounding to the grid.

        The smallest whole number of steps w with P(|noise| <= w) >= confidence, in units of the
        value, plus half a step where real values were rounded.
        """
        rounding, step = self.grid.rounding, self.grid.step
        return Interval.of(self._half_width(failure(confidence)) * step + rounding).upper

    def interval(self, answer: Any, confidence: Real = 0.95) -> tuple[Any, Any]:
        """The ends between which the value without noise lies, for each coordinate of an answer.

        Ends that are no doubles are rounded outward. Halves of steps are doubles up to 2^52 steps.
        """
        width, middle = self.error(confidence), np.asarray(answer, dtype=np.float64)
        rounded = np.abs(middle) + width >= float(self.grid.step) * 2.0**52
        sides = -np.inf, np.inf
        out = [np.nextafter(np.nextafter(middle, to) + np.copysign(width, to), to) for to in sides]
        low, high = np.where(rounded, out, [middle - width, middle + width])
        return low, high

    def loss(self, answer: Any, left: Any, right: Any) -> Interval:
        """The loss ln P(answer on left)/P(answer on right): a sum over independent coordinates."""
        seen_, one, other = (
            np.atleast_1d(np.asarray(self.grid.index(side), dtype=object)).ravel()
            for side in (answer, left, right)
        )
        self._check(seen_.size)
        ratios = [
            self._mass(int(k - a)).log() - self._mass(int(k - b)).log()
            for k, a, b in zip(seen_, one, other, strict=True)
        ]
        return total(ratios)

    def draw(self, value: Any, runs: int) -> Any:
        """Release `value` that many times, one row each: what an audit sees."""
        steps = self.grid.index(value)
        shape = () if isinstance(steps, int) else steps.shape
        return self._answer(steps, (runs, *shape))

    @property
    def claim(self) -> Claim:
        """The two values that one person can move furthest apart, as the release rounds them."""
        name = type(self).__name__
        numbers = all(np.ndim(pair.left) == 0 for pair in self._pairs())
        small = self.steps <= _LISTED and self._half_width(Fraction(1, 10**9)) <= _LISTED
        law = self._law if numbers and small else None
        views = () if law else self.views
        return Claim(name, self.guarantee, self._pairs(), self.draw_seen, law, seen, views)

    def draw_seen(self, value: Any, runs: int) -> Any:
        """The same of the first and last numbers alone; every number has independent noise."""
        return self.draw(seen(value, value), runs)

    @property
    def views(self) -> tuple[View, ...]:
        """Each of the numbers that `draw_seen` shows, by bins."""
        return tuple(map(self._view, range(min(self.dimension or 1, SEEN))))

    def _view(self, column: int) -> View:
        def centre(value: Any) -> int:
            return int(np.atleast_1d(np.asarray(self.grid.index(seen(value, value))))[column])

        bins = Bins.of(self._half_width(_RARE), self.grid.step)
        return bins.view(lambda rows: rows.reshape(len(rows), -1)[:, column], centre, self._tail)

    # --- what each noise fills in ---------------------------------------------------------------

    @abstractmethod
    def _noise(self, shape: tuple[int, ...]) -> Steps:
        """Fresh noise in steps; an int for the empty shape."""

    @abstractmethod
    def _half_width(self, probability: Fraction) -> int:
        """The smallest w for which surely P(|noise| > w) <= probability, in steps."""

    @abstractmethod
    def _mass(self, steps: int) -> Interval:
        """P(noise = steps)."""

    @abstractmethod
    def _tail(self, steps: int) -> Interval:
        """P(noise >= steps) for steps >= 1."""

    # --- the shared path ------------------------------------------------------------------------

    def _answer(self, steps: Steps, shape: tuple[int, ...]) -> Any:
        return self.grid.value(add(steps, self._noise(shape)))

    def _check(self, size: int) -> None:
        if self.dimension is None or size == self.dimension:
            return
        raise InputError(
            f"{size} numbers to release, and dimension is {self.dimension}",
            why="noise and guarantee were settled for that many at once",
            fix=f"pass dimension={size} and the sensitivity of the whole vector",
        )

    def _pairs(self) -> tuple[Pair, ...]:
        """Inputs on which one person weighs most: one number moved as far as allowed, or all.

        On both sides of 0, to detect a forgotten sign.
        """
        most = self.sensitivity
        if self.grid.integers:
            return (Pair(self._whole([-1]), self._whole([self.steps - 1])),)
        plain = Pair(self._whole([-most]), self._whole([Fraction(0)]))
        if self.dimension == 1:
            return self._moved([most]), plain
        return self._moved([most]), self._moved(self._shares(most)), plain

    def _shares(self, most: Fraction) -> list[Fraction]:
        """The first numbers moved, by `most` in l1: all but one so little that only rounding shows.

        Each takes less than its part of what `most` has beyond whole steps.
        """
        others = min(self.dimension or 1, SEEN) - 1
        little = (most % self.grid.step or self.grid.step) / (2 * others)
        return [most - others * little] + [little] * others

    def _moved(self, distances: list[Fraction]) -> Pair:
        """Numbers at that distance, placed where rounding to the grid separates them most."""
        starts = [_start(distance, self.grid.step) for distance in distances]
        ends = [start + distance for start, distance in zip(starts, distances, strict=True)]
        return Pair(self._whole(starts), self._whole(ends))

    def _whole(self, numbers: list[Any]) -> Any:
        if self.dimension in (None, 1):
            return numbers[0]
        front, back = numbers[: SEEN // 2], numbers[SEEN // 2 :]
        return front + [type(numbers[0])(0)] * ((self.dimension or 1) - len(numbers)) + back

    def _law(self, value: Any) -> Law:
        """The law of the answer; what is far outside is lumped into 'below' and 'above'."""
        centre = self.grid.index(value)
        assert isinstance(centre, int)  # noqa: S101 - narrowing: listed laws are of one number
        reach = 2 * self.steps + self._half_width(Fraction(1, 10**9))
        near = range(-reach, reach + 1)
        law: dict[Any, Interval] = {self.grid.value(k): self._mass(k - centre) for k in near}
        law["below"], law["above"] = self._tail(reach + 1 + centre), self._tail(reach + 1 - centre)
        return ends(law)


def _start(distance: Fraction, step: Fraction) -> Fraction:
    """A start from which a move over `distance` crosses one more half step than it has steps."""
    return (step - distance % step) / 2


def seen(value: Any, answer: Any) -> Any:
    """The first and last numbers of a vector; a single number is returned as such."""
    del value
    if np.ndim(answer) == 0 or len(answer) <= SEEN:
        return answer
    return [*answer[: SEEN // 2], *answer[-SEEN // 2 :]]


def read_dimension(dimension: int | None) -> int | None:
    """Read how many numbers are released at once."""
    return None if dimension is None else whole(dimension, "dimension", at_least=1)


def as_int64(noise: Any) -> Steps:
    """Noise as `add` takes it."""
    return noise if isinstance(noise, np.ndarray) else int(noise)
