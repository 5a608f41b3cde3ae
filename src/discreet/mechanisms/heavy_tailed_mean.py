"""A mean of values that no useful bounds are known for: the median of many blocks' means."""

import math
from collections.abc import Sequence
from typing import Any

from discreet.mechanisms.grid import PowerOfTwoGrid
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.subsample_aggregate import SubsampleAggregate
from discreet.privacy import Neighbours
from discreet.rationals import Real, whole

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
