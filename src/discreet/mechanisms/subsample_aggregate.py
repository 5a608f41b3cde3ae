"""Subsample and aggregate: any statistic, made private by the agreement of its values on blocks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import InputError
from discreet.mechanisms.claim import Claim
from discreet.mechanisms.mechanism import Mechanism, fill
from discreet.privacy import Composed, Guarantee, Neighbours, compose
from discreet.privacy.guarantee import about
from discreet.rationals import Real, rational, whole

Rows: TypeAlias = Sequence[Any] | NDArray[Any]
Statistic: TypeAlias = Callable[[Any], Real]


@dataclass(frozen=True, slots=True, init=False)
class SubsampleAggregate(Mechanism):
    """A statistic on random disjoint blocks of rows, and one private answer about its values.

    Guarantee:
        That of `aggregate`, a mechanism for a list of `blocks` numbers of which one may change,
        such as `Quantile(0.5, ..., neighbours=Neighbours.CHANGE_ONE)`. Nothing is asked of the
        statistic.
    Neighbours:
        Add-remove and change-one of a row, both: rows go to blocks by coins of their own, so one
        row more, less or other changes one block, and so one of the values.
    Why:
        Fix the coins of all other rows and of the row itself; the laws are mixtures over them of
        laws that `aggregate` keeps close.
    Edge cases:
        Where the statistic fails, or is not a finite number, the block counts as `default`; a block
        may be empty. One row is one person. The statistic must not keep state between blocks.

    Example:
        >>> from discreet.mechanisms.quantile import Quantile
        >>> middle = Quantile(0.5, 0, 100, epsilon=2, neighbours=Neighbours.CHANGE_ONE)
        >>> robust = SubsampleAggregate(max, blocks=200, aggregate=middle, default=0)
        >>> robust.release([30] * 100_000)
        30

    Reference: Nissim, Raskhodnikova, Smith 2007, Smooth Sensitivity and Sampling in Private Data
    Analysis, Section 4 (sample and aggregate).
    """

    statistic: Statistic
    blocks: int
    aggregate: Mechanism
    default: Fraction
    neighbours: Neighbours

    def __init__(
        self,
        statistic: Statistic,
        *,
        blocks: int,
        aggregate: Mechanism,
        default: Real,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        if aggregate.guarantee.neighbours is not Neighbours.CHANGE_ONE:
            raise InputError(
                "the aggregate is not stated for change-one neighbours",
                why="there are always as many values as blocks, and one person changes one of them",
                fix="build the aggregate with neighbours=Neighbours.CHANGE_ONE",
            )
        fill(
            self,
            statistic=statistic,
            blocks=whole(blocks, "blocks", at_least=1),
            aggregate=aggregate,
            default=rational(default, "default"),
            neighbours=Neighbours(neighbours),
        )

    @property
    def guarantee(self) -> Guarantee:
        """That of the aggregate, about rows."""
        own = self.aggregate.guarantee
        if isinstance(own, Composed):
            return compose((about(one, self.neighbours), count) for one, count in own.parts)
        return about(own, self.neighbours)

    def release(self, value: Rows) -> Any:
        """A private aggregate of the statistic's values on the blocks."""
        return self.aggregate.release([self._on(block) for block in self._parts(value)])

    def error(self, confidence: Real = 0.95) -> float:
        """That of the aggregate, about the values on the blocks."""
        return self.aggregate.error(confidence)

    @property
    def claim(self) -> Claim:
        """That of the aggregate, on values of blocks."""
        return replace(self.aggregate.claim, name="SubsampleAggregate", guarantee=self.guarantee)

    def _parts(self, rows: Rows) -> list[Rows]:
        """Rows by block, each row in a block drawn for it alone."""
        block = noise.below(self.blocks, size=len(rows))
        places = np.split(
            np.argsort(block, kind="stable"),
            np.cumsum(np.bincount(block, minlength=self.blocks))[:-1],
        )
        if isinstance(rows, np.ndarray):
            return [rows[place] for place in places]
        return [[rows[i] for i in place] for place in places]

    def _on(self, block: Rows) -> Real:
        try:
            value = self.statistic(block)
            return value if isfinite(value) else self.default
        except Exception:  # noqa: BLE001 - whatever goes wrong on one block must not be seen outside
            return self.default
