"""A stream of vectors, measured step by step; it may have begun elsewhere."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.mechanisms.continual import FactorizedCount, Stream
from discreet.mechanisms.grid import INTEGERS, add
from discreet.mechanisms.prefix_sums import ROOM, right_factor
from discreet.noise import rounded_gaussian


class VectorStream(Stream):
    """The noisy numbers of a `FactorizedCount` whose increments are vectors: R x + noise.

    Guarantee:
        That of `rule` for the numbers of all steps together, those measured before included.
    Neighbours:
        Streams that differ in at most `rule.steps_per_unit` vectors, by at most `rule.sensitivity`
        in l2 norm each.
    Edge cases:
        `past` holds the increments of steps that were measured before, each of them once: to
        continue a stream, its numbers must have been stored. After `rule.horizon` steps no more are
        taken. Sums that do not fit int64 are made of Python's integers.

    Example:
        >>> counter = FactorizedCount(horizon=10, rho=0.5, sensitivity=3, steps_per_unit=2)
        >>> VectorStream(counter, [[4, 0]]).release([1, 2]).shape
        (2,)
    """

    __slots__ = ("_steps", "past")

    rule: FactorizedCount

    def __init__(self, rule: FactorizedCount, past: Any = ()) -> None:
        self.past = [self._read(one) for one in past]
        self._steps = list(self.past)
        super().__init__(rule, self._measure, len(self.past))

    def release(self, increment: Any) -> NDArray[Any]:
        """Take the vector of the next step and give its noisy numbers."""
        return np.asarray(self._next(increment))

    def asked(self, values: Sequence[Any]) -> list[Any]:
        """All increments, in their order."""
        return [*self.past, *map(self._read, values)]

    def _measure(self, time: int, increment: NDArray[Any]) -> NDArray[Any]:
        self._steps[time - 1 :] = [increment]
        steps = np.array(self._steps, dtype=object)
        fits = np.abs(steps).sum(axis=0).max(initial=0) < ROOM
        exact = right_factor(self.rule.horizon)[time - 1 :: -1] @ (
            steps.astype(np.int64) if fits else steps
        )
        return np.asarray(add(exact, rounded_gaussian(self.rule.variance, exact.shape)))

    def _read(self, value: Any) -> NDArray[Any]:
        found = INTEGERS.index(value)
        if isinstance(found, int) or found.ndim != 1:
            raise InputError(
                "an increment is not a flat list of integers",
                why="a stream of vectors takes one vector a step",
                fix="pass a list of ints, one for each group",
            )
        return found
