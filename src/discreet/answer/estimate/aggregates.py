"""Aggregates from noisy statistics, for whole arrays of groups at once.

Everything here reads released numbers. The same functions serve answers and simulated answers,
whose spread is the error bar.
"""

from collections.abc import Mapping
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from discreet.plan.kinds import Type
from discreet.plan.query import Aggregate, AggregateFunction
from discreet.plan.statistics import Grid, Statistic, Total, plain_total, statistics_of

Floats = NDArray[np.float64]


def estimate(
    aggregate: Aggregate, statistics: Mapping[Statistic, Floats], scope: Mapping[str, Type]
) -> Floats:
    """One aggregate of every group, from statistics in their own units (rows, people, values).

    Edge cases: a mean of fewer than one value is a mean of one; means stay in the range of their
    values, variances between 0 and the largest that it allows, correlations stay within -1 and 1.
    """
    return confine(aggregate, compute(aggregate, statistics, scope), scope)


def confine(aggregate: Aggregate, computed: Floats, scope: Mapping[str, Type]) -> Floats:
    """An estimate clamped to the range that the truth can have; monotone in the estimate."""
    match aggregate.measure:
        case AggregateFunction.MEAN:
            grid = _grid(statistics_of(aggregate, scope)[1])
            return np.clip(computed, grid.low, grid.high)
        case AggregateFunction.VARIANCE:
            return np.clip(computed, 0.0, _most(aggregate, scope))
        case AggregateFunction.STDDEV:
            return np.sqrt(np.clip(computed, 0.0, _most(aggregate, scope)))
        case _:
            return computed


def compute(
    aggregate: Aggregate, statistics: Mapping[Statistic, Floats], scope: Mapping[str, Type]
) -> Floats:
    """One aggregate, wherever noise has led it; of a deviation the square."""
    if (
        aggregate.measure is AggregateFunction.SUM
        and (plain := plain_total(aggregate, scope)) in statistics
    ):
        return statistics[plain]
    needs = statistics_of(aggregate, scope)
    first = statistics[needs[0]]
    match aggregate.measure:
        case (
            AggregateFunction.COUNT
            | AggregateFunction.COUNT_PEOPLE
            | AggregateFunction.COUNT_DISTINCT
            | AggregateFunction.SUM_DISTINCT
            | AggregateFunction.QUANTILE
            | AggregateFunction.MIN
            | AggregateFunction.MAX
            | AggregateFunction.MODE
        ):
            return first
        case AggregateFunction.SUM:
            return _sum(needs[1], statistics, first)
        case AggregateFunction.MEAN:
            grid = _grid(needs[1])
            return grid.centre + statistics[needs[1]] / np.maximum(first, 1.0)
        case AggregateFunction.VARIANCE | AggregateFunction.STDDEV:
            x, xx = needs[1:]
            return _moment((x, x), xx, statistics, first) * _bessel(first, aggregate)
        case AggregateFunction.COVARIANCE:
            x, y, xy = needs[1:]
            return _moment((x, y), xy, statistics, first) * _bessel(first, aggregate)
        case AggregateFunction.CORRELATION:
            x, y, xx, yy, xy = needs[1:]
            spread = _moment((x, x), xx, statistics, first) * _moment((y, y), yy, statistics, first)
            tiny = np.finfo(np.float64).tiny
            cross = _moment((x, y), xy, statistics, first)
            return np.clip(cross / np.sqrt(np.maximum(spread, tiny)), -1.0, 1.0)
        case _:
            assert_never(aggregate.measure)


def centre_of(aggregate: Aggregate, scope: Mapping[str, Type]) -> float:
    """The value that a sum or a mean is measured relative to."""
    return _grid(statistics_of(aggregate, scope)[1]).centre


def _sum(total: Statistic, statistics: Mapping[Statistic, Floats], rows: Floats) -> Floats:
    """A total is centred: give each row its centre back."""
    return statistics[total] + _grid(total).centre * rows


def _moment(
    ends: tuple[Statistic, Statistic],
    product: Statistic,
    statistics: Mapping[Statistic, Floats],
    rows: Floats,
) -> Floats:
    """The mean product of two centred values less the product of their means."""
    n = np.maximum(rows, 1.0)
    x, y = (statistics[end] / n for end in ends)
    return _sum(product, statistics, rows) / n - x * y


def _bessel(rows: Floats, aggregate: Aggregate) -> Floats:
    n = np.maximum(rows, 2.0)
    return n / (n - 1) if aggregate.sample else np.ones_like(n)


def _most(aggregate: Aggregate, scope: Mapping[str, Type]) -> float:
    """No variance of values in a range is larger: half of them at each end; of two for a sample."""
    grid = _grid(statistics_of(aggregate, scope)[1])
    return (grid.high - grid.low) ** 2 / (2 if aggregate.sample else 4)


def _grid(statistic: Statistic) -> Grid:
    assert isinstance(statistic, Total)  # noqa: S101 - narrowing: see plain_total, statistics_of
    return statistic.grid
