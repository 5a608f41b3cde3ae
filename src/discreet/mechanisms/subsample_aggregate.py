"""Subsample and aggregate: any statistic, made private by the agreement of its values on blocks."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import DiscreetError, InputError
from discreet.mechanisms.comparison_laws import ends
from discreet.mechanisms.grid import PowerOfTwoGrid, as_numbers
from discreet.mechanisms.mechanism import Claim, Law, Pair, RowMechanism, fill
from discreet.mechanisms.quantile import Quantile
from discreet.privacy import Composed, Guarantee, Neighbours, compose
from discreet.privacy.guarantees.guarantee import about
from discreet.privacy.numerics.rounding import Interval, total
from discreet.rationals import Real, rational, whole

Rows: TypeAlias = Sequence[Any] | NDArray[Any]
Statistic: TypeAlias = Callable[[Any], Real]
Blocks: TypeAlias = tuple[tuple[int, ...], ...]

_ROWS: Final = 3
"""The most rows of an audit."""

_LISTED: Final = 1 << 12
"""The most ways of dealing rows into blocks for which the law is enumerated."""

_NEVER: Final = (0.0, 0.0)


@dataclass(frozen=True, slots=True, init=False)
class SubsampleAggregate(RowMechanism):
    """A statistic on random disjoint blocks of rows, and one private answer about its values.

    Guarantee:
        That of `aggregate`, a mechanism for a list of `blocks` numbers of which one may become any
        other, such as `Quantile(0.5, ..., neighbours=Neighbours.CHANGE_ONE)`. Nothing is asked of
        the statistic, so noise for a sensitivity will not do: one row can move a value without
        limit.
    Neighbours:
        Add-remove and change-one of a row, both: rows go to blocks by coins of their own, so one
        row more, less or other changes one block, and so one of the values.
    Why:
        The coins have the same law on both sides and say nothing of the rows. Given all of them,
        two lists of values differ in one, and `aggregate` keeps what it promises; what holds given
        public coins holds without them.
    Edge cases:
        Where the statistic fails, or is not one finite number, the block counts as `default`; a
        block may be empty. One row is one person. The statistic must not keep state between blocks,
        nor use randomness of its own.

    Example:
        >>> from discreet.mechanisms.quantile import Quantile
        >>> middle = Quantile(0.5, 0, 100, epsilon=2, neighbours=Neighbours.CHANGE_ONE)
        >>> robust = SubsampleAggregate(max, blocks=200, aggregate=middle, default=0)
        >>> robust.release([30] * 100_000)
        30

    Reference: Nissim, Raskhodnikova, Smith 2007, Smooth Sensitivity and Sampling in Private Data
    Analysis (sample and aggregate).
    """

    statistic: Statistic
    blocks: int
    aggregate: RowMechanism
    default: Fraction
    neighbours: Neighbours

    def __init__(
        self,
        statistic: Statistic,
        *,
        blocks: int,
        aggregate: RowMechanism,
        default: Real,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        if not callable(statistic):
            raise InputError(
                f"a statistic of type {type(statistic).__name__}",
                why="it is computed on every block",
                fix="pass a function of a list of rows that gives one number",
            )
        fill(
            self,
            statistic=statistic,
            blocks=whole(blocks, "blocks", at_least=1),
            aggregate=_read_aggregate(aggregate),
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
        rows = _read_rows(value)
        return self.aggregate.release(self._values(rows, self._toss(rows, 1)[0]))

    def error(self, confidence: Real = 0.95) -> float:
        """That of the aggregate, about the values on the blocks."""
        return self.aggregate.error(confidence)

    @property
    def claim(self) -> Claim:
        """One row comes, or becomes another: from rows through blocks and statistic to answers.

        Rows are the numbers on which the aggregate itself is hardest to keep private, so that a
        statistic that passes them on, as a maximum does, puts the aggregate to the test.
        """
        own = self.aggregate.claim
        law = self._law if own.law and self.blocks**_ROWS <= _LISTED else None
        pairs = row_pairs(_numbers(own), self.neighbours)
        return Claim("SubsampleAggregate", self.guarantee, pairs, self._draw, law, own.code)

    def _draw(self, rows: Rows, runs: int) -> NDArray[Any]:
        """The whole path: what is drawn once for each way that rows fall is the aggregate alone."""
        tosses = self._toss(rows, runs)
        ways = _numbered(tosses, self.blocks)
        _, first, way = np.unique(ways, return_index=True, return_inverse=True)
        draw = self.aggregate.claim.draw
        drawn = [
            np.asarray(draw(self._values(rows, tosses[at]), int(count)))
            for at, count in zip(first, np.bincount(way), strict=True)
        ]
        return np.concatenate(drawn)[np.argsort(np.argsort(way, kind="stable"), kind="stable")]

    def _law(self, rows: Rows) -> Law:
        """The mean of the aggregate's laws over all the ways that rows fall."""
        own = self.aggregate.claim.law
        assert own is not None  # noqa: S101 - narrowing: `claim` has looked
        ways = self._ways(rows)
        laws = [(own(self._values(rows, np.array(way, dtype=np.int64))), n) for way, n in ways]
        outcomes = dict.fromkeys(outcome for law, _ in laws for outcome in law)
        mixed = {
            outcome: total(Interval.between(*law.get(outcome, _NEVER)) * n for law, n in laws)
            / self.blocks ** len(rows)
            for outcome in outcomes
        }
        return ends(mixed)

    def _ways(self, rows: Rows) -> list[tuple[tuple[int, ...], int]]:
        """The blocks of the rows, and how many ways are like it: equal rows, blocks swapped."""
        same = range(len(rows)) if isinstance(rows, np.ndarray) else map(list(rows).index, rows)
        empty: Blocks = ((),) * self.blocks
        ways: dict[Blocks, tuple[Blocks, tuple[int, ...], int]] = {empty: (empty, (), 1)}
        for row in same:
            longer: dict[Blocks, tuple[Blocks, tuple[int, ...], int]] = {}
            for blocks, way, times in ways.values():
                for at, block in enumerate(blocks):
                    after = (*blocks[:at], (*block, row), *blocks[at + 1 :])
                    like = tuple(sorted(after))
                    first, its_way, before = longer.get(like, (after, (*way, at), 0))
                    longer[like] = first, its_way, before + times
            ways = longer
        return [(way, times) for _, way, times in ways.values()]

    def _toss(self, rows: Rows, runs: int) -> NDArray[np.int64]:
        """The block of every row, drawn for it alone; a row of them a run."""
        return np.asarray(noise.below(self.blocks, size=(runs, len(rows))), dtype=np.int64)

    def _values(self, rows: Rows, block: NDArray[np.int64]) -> list[Real]:
        return [self._on(part) for part in self._parts(rows, block)]

    def _parts(self, rows: Rows, block: NDArray[np.int64]) -> list[Rows]:
        places = np.split(
            np.argsort(block, kind="stable"),
            np.cumsum(np.bincount(block, minlength=self.blocks))[:-1],
        )
        if isinstance(rows, np.ndarray):
            return [rows[place] for place in places]
        return [[rows[i] for i in place] for place in places]

    def _on(self, block: Rows) -> Real:
        try:
            value = as_numbers(self.statistic(block))
            one = not isinstance(value, np.ndarray) and isfinite(value)
        except Exception:  # noqa: BLE001 - whatever goes wrong on one block must not be seen outside
            return self.default
        return value if one else self.default


def _read_aggregate(aggregate: Any) -> RowMechanism:
    """Refuse what does not keep its promise for any numbers whatever, or does not take them."""
    if not isinstance(aggregate, RowMechanism):
        raise InputError(
            f"an aggregate of type {type(aggregate).__name__}",
            why="one row can change a block's value to any number, beyond every sensitivity",
            fix="pass a mechanism that takes rows as they come, such as a Quantile of them",
        )
    if aggregate.guarantee.neighbours is not Neighbours.CHANGE_ONE:
        raise InputError(
            "the aggregate is not stated for change-one neighbours",
            why="there are always as many values as blocks, and one person changes one of them",
            fix="build the aggregate with neighbours=Neighbours.CHANGE_ONE",
        )
    try:
        aggregate.release([Fraction(1, 3)])
    except DiscreetError:
        raise InputError(
            "the aggregate does not take fractions",
            why="which numbers a statistic gives depends on the rows, and so would a refusal",
            fix="build the aggregate with grid= a power of two, to which numbers are rounded",
        ) from None
    return aggregate


def _read_rows(value: Any) -> Rows:
    if isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim):
        return value
    raise InputError(
        "data is not a list of rows",
        why="each row goes to a block of its own choosing, by its place",
        fix="pass a list, or an array whose first axis is the rows",
    )


def _numbered(tosses: NDArray[np.int64], blocks: int) -> NDArray[np.int64]:
    """One number for each way that rows fall; for very many rows each run deals its own way."""
    runs, rows = tosses.shape
    if blocks**rows >= 1 << 62:
        return np.arange(runs)
    return tosses @ np.array([blocks**row for row in range(rows)], dtype=np.int64)


def _numbers(claim: Claim) -> tuple[Any, Any]:
    """The least and the largest number in what a claim is about."""
    sides = [side for pair in claim.pairs for side in (pair.left, pair.right)]
    listed = [number for side in sides for number in np.ravel(np.asarray(side, dtype=object))]
    return min(listed), max(listed)


def row_pairs(ends: tuple[Any, Any], neighbours: Neighbours) -> tuple[Pair, ...]:
    """A few rows at two ends, with one row more or another one in its place."""
    low, high = ends
    if neighbours is Neighbours.ADD_REMOVE:
        return (
            Pair((), (high,)),
            Pair((low, high), (high, low, high)),  # others stay where they are, whoever comes
            Pair((high, high), (high, high, low)),
        )
    return Pair((low,), (high,)), Pair((low, low, high), (high, low, high))


_RANKS = 6
"""Blocks for each rank that the private median may miss: so it stays in the middle third."""


def heavy_tailed_mean(
    lower: Real,
    upper: Real,
    *,
    epsilon: Real,
    grid: Real | PowerOfTwoGrid = 1,
    blocks: int | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> SubsampleAggregate:
    """The mechanism that releases about the mean, by a private median of the means of blocks.

    `lower` and `upper` bound the mean, not the values: wide ones cost little, since the error grows
    with their logarithm, and one value however large moves one block.

    Guarantee:
        epsilon-bounded range, as `SubsampleAggregate` with `Quantile(0.5)` has it.
    Neighbours:
        One row more, less or other: it is in one block.
    Why:
        Of values with variance s^2 in blocks of m rows, a block's mean is within 2 s/sqrt(m) of the
        true mean with probability 3/4, so the middle third of them nearly always is, and the
        private median is in it where `blocks` is large enough, as it is if it is not given.
    Edge cases:
        The mean of a skewed law is above the median of its blocks' means, by O(s/sqrt(m)). Blocks
        without rows count as `lower`; have many more rows than blocks.

    Example:
        >>> incomes = heavy_tailed_mean(0, 2**20, epsilon=1)
        >>> incomes.blocks
        203
        >>> incomes.release([40_000] * 100_000 + [10**12])
        40000

    Reference: Lugosi, Mendelson, Mean Estimation and Regression under Heavy-Tailed Distributions, a
    Survey (the median of means); Nissim, Raskhodnikova, Smith 2007 (sample and aggregate).
    """
    middle = Quantile(
        0.5, lower, upper, epsilon=epsilon, grid=grid, neighbours=Neighbours.CHANGE_ONE
    )
    enough = math.ceil(_RANKS * middle.error())
    return SubsampleAggregate(
        _mean,
        blocks=enough if blocks is None else whole(blocks, "blocks", at_least=1),
        aggregate=middle,
        default=lower,
        neighbours=neighbours,
    )


def _mean(rows: Sequence[Any]) -> float:
    return math.fsum(rows) / len(rows)
