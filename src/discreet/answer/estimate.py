"""From noisy statistics to what was asked, for whole arrays of groups at once.

Everything here reads released numbers. The same functions serve answers and simulated answers,
whose spread is the error bar.
"""

from collections.abc import Mapping
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from discreet.plan.kinds import Type
from discreet.plan.query import Aggregate, Measure
from discreet.plan.statistics import Grid, Statistic, Total, statistics_of

Floats = NDArray[np.float64]


def estimate(
    aggregate: Aggregate, statistics: Mapping[Statistic, Floats], scope: Mapping[str, Type]
) -> Floats:
    """One aggregate of every group, from statistics in their own units (rows, people, values).

    Edge cases: a mean of fewer than one value is a mean of one; means stay in the range of their
    values, variances are not negative, correlations stay within -1 and 1.
    """
    needs = statistics_of(aggregate, scope)
    first = statistics[needs[0]]
    match aggregate.measure:
        case Measure.COUNT | Measure.COUNT_PEOPLE | Measure.COUNT_DISTINCT:
            return first
        case Measure.QUANTILE | Measure.MIN | Measure.MAX:
            return first
        case Measure.SUM:
            return _sum(needs[1], statistics, first)
        case Measure.MEAN:
            grid = _grid(needs[1])
            mean = grid.centre + statistics[needs[1]] / np.maximum(first, 1.0)
            return np.clip(mean, grid.low, grid.high)
        case Measure.VARIANCE | Measure.STDDEV:
            x, xx = needs[1:]
            variance = _moment((x, x), xx, statistics, first) * _bessel(first, aggregate)
            variance = np.maximum(variance, 0.0)
            return np.sqrt(variance) if aggregate.measure is Measure.STDDEV else variance
        case Measure.COVARIANCE:
            x, y, xy = needs[1:]
            return _moment((x, y), xy, statistics, first) * _bessel(first, aggregate)
        case Measure.CORRELATION:
            x, y, xx, yy, xy = needs[1:]
            spread = _moment((x, x), xx, statistics, first) * _moment((y, y), yy, statistics, first)
            tiny = np.finfo(np.float64).tiny
            cross = _moment((x, y), xy, statistics, first)
            return np.clip(cross / np.sqrt(np.maximum(spread, tiny)), -1.0, 1.0)
        case _:
            assert_never(aggregate.measure)


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


def _grid(statistic: Statistic) -> Grid:
    assert isinstance(statistic, Total)  # noqa: S101 - narrowing: see statistics_of
    return statistic.grid
