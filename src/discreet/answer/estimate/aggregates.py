"""Aggregates from noisy statistics, for whole arrays of groups at once.

Everything here reads released numbers. The same functions serve answers and simulated answers,
whose spread is the error bar.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answer.plan.measure import LARGEST
from discreet.engines.default import DefaultEngine
from discreet.engines.default import compute as compute_released
from discreet.plan.expressions import Column
from discreet.plan.kinds import Type
from discreet.plan.query import Aggregate, AggregateFunction, Query, released_columns
from discreet.plan.relations import Named
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
            grid = grid_of(statistics_of(aggregate, scope)[1])
            return np.clip(computed, grid.low, grid.high)
        case AggregateFunction.VARIANCE:
            return np.clip(computed, 0.0, _most(aggregate, scope))
        case AggregateFunction.STDDEV:
            return np.sqrt(np.clip(computed, 0.0, _most(aggregate, scope)))
        case AggregateFunction.CORRELATION:
            return np.clip(computed, -1.0, 1.0)
        case _:
            return computed


def compute(
    aggregate: Aggregate, statistics: Mapping[Statistic, Floats], scope: Mapping[str, Type]
) -> Floats:
    """One aggregate, not confined to its range; for a standard deviation, the variance."""
    needs = statistics_of(aggregate, scope)
    if aggregate.measure is AggregateFunction.SUM:
        needs = (plain,) if (plain := plain_total(aggregate, scope)) in statistics else needs
    first = statistics[needs[0]]
    if len(needs) == 1:  # a count, a quantile, a sum of values as they are
        return first
    match aggregate.measure:
        case AggregateFunction.MEAN:
            grid = grid_of(needs[1])
            return grid.centre + statistics[needs[1]] / np.maximum(first, 1.0)
        case AggregateFunction.VARIANCE | AggregateFunction.STDDEV:
            x, xx = needs[1:]
            return moment((x, x), xx, statistics, first) * _bessel(first, aggregate)
        case AggregateFunction.COVARIANCE:
            x, y, xy = needs[1:]
            return moment((x, y), xy, statistics, first) * _bessel(first, aggregate)
        case AggregateFunction.CORRELATION:
            cross, deviations = correlated(aggregate, statistics, scope)
            return np.clip(cross / np.maximum(deviations, 1e-154), -1.0, 1.0)
    return _sum(needs[1], statistics, first)


def correlated(
    aggregate: Aggregate, statistics: Mapping[Statistic, Floats], scope: Mapping[str, Type]
) -> tuple[Floats, Floats]:
    """The covariance and the product of both deviations, whose quotient is a correlation."""
    rows, x, y, xx, yy, xy = statistics_of(aggregate, scope)
    ends = ((x, x), xx), ((y, y), yy), ((x, y), xy)
    left, right, cross = (moment(*end, statistics, statistics[rows]) for end in ends)
    return cross, np.sqrt(np.maximum(left, 0.0)) * np.sqrt(np.maximum(right, 0.0))


def centre_of(aggregate: Aggregate, scope: Mapping[str, Type]) -> float:
    """The value that a sum or a mean is measured relative to."""
    return grid_of(statistics_of(aggregate, scope)[1]).centre


def _sum(total: Statistic, statistics: Mapping[Statistic, Floats], rows: Floats) -> Floats:
    """A total is centred: give each row its centre back; at most the largest double."""
    centred, rest = statistics[total], np.clip(grid_of(total).centre * rows, -LARGEST, LARGEST)
    return np.clip(centred + rest, -LARGEST, LARGEST)


def moment(
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
    grid = grid_of(statistics_of(aggregate, scope)[1])
    return (grid.high - grid.low) ** 2 / (2 if aggregate.sample else 4)


def grid_of(statistic: Statistic) -> Grid:
    """The grid of a total."""
    assert isinstance(statistic, Total)  # noqa: S101 - narrowing: see plain_total, statistics_of
    return statistic.grid


# --- output expressions, HAVING, ORDER BY, LIMIT --------------------------------------------------
# They run in a database of its own that holds the released table and nothing else, in the same
# expression language and with the same meaning as everything else.

PLACE = "_place"


def outputs_of(query: Query) -> tuple[Named, ...]:
    """The columns that are shown; all keys and aggregates where none are listed."""
    names = [key.name for key in query.keys] + [one.name for one in query.aggregates]
    return query.outputs or tuple(Named(name, Column(name)) for name in names)


def evaluate(table: pa.Table, outputs: tuple[Named, ...], columns: Mapping[str, Type]) -> pa.Table:
    """Output expressions over a table of released columns, row by row, in order."""
    plain = [out.expression for out in outputs if isinstance(out.expression, Column)]
    if len(plain) == len(outputs):
        return pa.table([table.column(c.name) for c in plain], [out.name for out in outputs])
    dialect = DefaultEngine.dialect
    parts = [
        f"{dialect.render(out.expression, columns)} AS {dialect.identifier(out.name)}"
        for out in outputs
    ]
    return _run(table, f"SELECT {', '.join(parts)} FROM released ORDER BY {PLACE}")


def shows_all(query: Query) -> bool:
    """Whether all rows are shown, in the order they come in."""
    return query.having is None and not query.order and query.limit is None and not query.offset


def arrange(table: pa.Table, query: Query) -> pa.Array:
    """Indices of the rows to show, in order."""
    if shows_all(query):
        return pa.array(np.arange(table.num_rows, dtype=np.int64))
    dialect, columns = DefaultEngine.dialect, released_columns(query)
    text = f"SELECT {PLACE} FROM released"
    if query.having is not None:
        text += f" WHERE {dialect.render(query.having, columns)}"
    order = [
        f"{dialect.render(o.expression, columns)} {'DESC' if o.descending else 'ASC'} NULLS LAST"
        for o in query.order
    ]
    text += f" ORDER BY {', '.join([*order, PLACE])}"
    if query.limit is not None:
        text += f" LIMIT {query.limit}"
    if query.offset:
        text += f" OFFSET {query.offset}"
    return _run(table, text).column(PLACE).combine_chunks()


def _run(table: pa.Table, statement: str) -> pa.Table:
    placed = table.append_column(PLACE, pa.array(np.arange(table.num_rows, dtype=np.int64)))
    return compute_released({"released": placed}, statement)


_LIKELY = 0.99


def furthest(
    moved: Floats, noises: Sequence[Floats], confidence: float = 0.95
) -> NDArray[np.float64]:
    """How far likely noise moves a number at most, a row a draw of the noises.

    Why: what was released less its noise is the truth, so an interval holds as often as the noise
    is among the likely ones, however bent the function is: where ABS or a bound folds what was
    released, most of what is simulated around it may be near, and the truth is not. Likely noises
    are 99 in 100 by their size, less 4 in 100 that move the linear part of the number furthest:
    where it is, the interval is hardly wider than it must be. It is NaN where a value could not be
    computed in one of the likely draws.
    """
    sizes, straight = np.zeros_like(moved), np.zeros_like(moved)
    shape = _shape(moved)
    apart: list[Floats] = []
    for noise in noises:
        own = _scaled(noise)
        for other in apart:  # noises that share something are counted once
            own = own - np.mean(own * other, axis=0) * other
        own = np.where(own.std(axis=0) > 1e-6, _scaled(own), 0.0)
        apart.append(own)
        sizes += own**2
        straight += np.einsum("ij,ij->j", shape, own) * own
    likely = _lowest(sizes, _LIKELY) & _lowest(np.abs(straight), confidence + 1 - _LIKELY)
    return np.asarray(np.max(np.where(likely, np.abs(moved), 0.0), axis=0))


def furthest_of_pairs(
    moved: Floats, known: NDArray[np.bool_], sizes: Floats, confidence: float = 0.95
) -> NDArray[np.float64]:
    """The same for pairs of draws with opposite noise, the second halves below the first.

    Why: a pair moves a linear number equally in both directions, so half of their difference is how
    far it moves, for any computation and any number of noises; what is bent is in their sum. Rows
    that a draw does not have are not looked at in it.
    """
    there = np.where(known, moved, np.nan)
    first, second = np.split(there, 2)
    either = np.where(np.isnan(second), first, -second)
    odd = np.where(np.isnan(first + second), either, (first - second) / 2)
    straight = np.nan_to_num(np.abs(np.concatenate([odd, odd])))
    likely = _lowest(sizes[:, None], _LIKELY) & _lowest(straight, confidence + 1 - _LIKELY) & known
    return np.asarray(np.max(np.where(likely, np.abs(moved), 0.0), axis=0))


def quotient_width(
    tops: Floats,
    bottoms: Floats,
    centre: Floats,
    ends: tuple[float, float] = (-math.inf, math.inf),
    confidence: float = 0.95,
) -> NDArray[np.float64]:
    """How far from `centre` a true quotient within `ends` may be.

    Row 0 is what was released, the others are draws around it. It is infinite if the denominator
    may be 0 and there are no ends.

    Why: for the true quotient q, top - q bottom is 0 up to noise, and nearly linear in the noise
    where top / bottom is not. So q may be whatever moves it no further than 95 in 100 noises.

    Reference: Fieller 1954, Some Problems in Interval Estimation.
    """
    top_noise, bottom_noise = (np.ascontiguousarray((of[1:] - of[0]).T) for of in (tops, bottoms))
    place = math.ceil(confidence * (top_noise.shape[1] - 1))

    def reach(moved: Floats) -> Floats:
        return np.asarray(np.partition(np.abs(moved), place, axis=1)[:, place])

    def holds(quotient: Floats) -> NDArray[np.bool_]:
        noise = reach(top_noise - quotient[:, None] * bottom_noise)
        return np.asarray(np.abs(quotient - centre) * bottom <= noise)

    bottom = np.abs(bottoms[0])
    unit = reach(top_noise - centre[:, None] * bottom_noise)
    unit = np.where(unit < 1e200 * bottom, unit / np.where(bottom > 0, bottom, 1.0), 1e200)
    found = np.zeros_like(unit)
    for end in ends:
        way, whole = math.copysign(1, end), np.abs(end - centre)
        most = np.minimum(whole, 1e6 * unit)
        all_of_it = holds(centre + way * most) & (most > 0)  # 0: there is no noise
        inside, outside = np.zeros_like(unit), np.ones_like(unit)
        for _ in range(10):  # shares of the way: unit share / (1 - share), to 1 in 250
            share = (inside + outside) / 2
            held = holds(centre + way * np.minimum(unit * share / (1 - share), most))
            inside, outside = np.where(held, share, inside), np.where(held, outside, share)
        away = np.minimum(unit * outside / np.maximum(1 - outside, 2.0**-11), most)
        found = np.maximum(found, np.where(all_of_it, whole, away))
    return found


def _shape(moved: Floats) -> Floats:
    """The same within -1 and 1, so that no sum overflows; 0 if it could not be computed."""
    known = np.nan_to_num(moved)
    largest = np.max(np.abs(known), axis=0)
    return np.asarray(known / np.where(largest > 0, largest, 1.0))


def _scaled(noise: Floats) -> Floats:
    """Noise in deviations; of a noise that is too small to be seen there is none."""
    deviation = noise.std(axis=0)
    return np.asarray(noise / np.where(deviation > 0, deviation, 1.0))


def _lowest(sizes: Floats, share: float) -> NDArray[np.bool_]:
    """A share of the draws: those of the lowest sizes."""
    place = math.ceil(share * (sizes.shape[0] - 1))
    return np.asarray(sizes <= np.partition(sizes, place, axis=0)[place])
