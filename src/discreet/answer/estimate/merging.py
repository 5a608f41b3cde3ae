"""Several answers to one question, merged: measurements are averaged, and it is answered anew.

Noisy statistics err independently around the same truth. Their average, weighted by the inverse of
their variances, errs least; the question (means, variances, ratios, HAVING and all) is computed
from the averages as from one measurement. Only released numbers are read.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answer.estimate.aggregates import Floats, arrange, estimate, evaluate, outputs_of
from discreet.answer.estimate.consistency import Spread, consistent_values
from discreet.answer.estimate.error_bars import RANKED, simulated_noise, spread, wider_by
from discreet.answer.estimate.noisy_statistics import (
    CONFIDENCE,
    MeasuredSet,
    NoisyQuantile,
    NoisyStatistic,
    NoisyStatistics,
    noisy_in,
)
from discreet.answer.estimate.tabulate import Simulation, half_width, off_in_rows, tabulate
from discreet.answer.plan.planning import single_sets
from discreet.plan.bounding import ContributionBounds, NoiseKind, is_stated, limits_of
from discreet.plan.public_facts import picks
from discreet.plan.query import Aggregate, AggregateFunction, Query, released_columns
from discreet.plan.relations import JoinPerson, MatchPerson, columns_of, join_caps, nodes_of
from discreet.plan.statistics import Ranks, Statistic, needed, statistics_of

if TYPE_CHECKING:
    from discreet.answer.plan.measure import StatisticNoise

Places = NDArray[np.int64]

_MANY: Final = 20_000
"""Points at which noise of several laws added up is laid out."""

_POINTS, _FEWEST, _CELLS = 8000, 500, 2_000_000
"""Points, and points times groups, at which all that is computed from noise is computed again."""

_NAN: Final = object()
_SIMULATED: Final = "by merging and simulation"


class MergedColumns(NamedTuple):
    """The columns of a release that merging makes anew."""

    table: pa.Table
    half_widths: dict[str, pa.Array]
    how: dict[str, str]


def merge_parts(query: Query, answers: Sequence[Sequence[MeasuredSet]]) -> MergedColumns:
    """Answer a question from the parts of several answers to it, the newest first.

    Guarantee:
        Post-processing: as private as all of these answers together.
    Edge cases:
        A group is answered from the answers that have it, in the order of the newest; of quantiles,
        whose noise has no variance, the one whose ranks are surest is taken. The same parts give
        the same numbers: error bars are laid out by a fixed stream, not drawn.
    """
    sets = list(zip(single_sets(query), zip(*answers, strict=True), strict=True))
    blends = _consistent([(one, _bounds(one, parts), Blend.of(one, parts)) for one, parts in sets])
    measured = [blend.measured for blend in blends]
    central = pa.concat_tables([tabulate(query, one) for one in measured])
    rows = arrange(central, query)
    shown = evaluate(central, outputs_of(query), released_columns(query)).take(rows)
    noise = [part.contributions.noise_kind for parts in answers for part in parts]
    times = wider_by(len(rows), central.num_rows, noise, picked=picks(query))
    widths, how = _half_widths(query, blends, central, times)
    return MergedColumns(
        shown, {name: pa.array(one).take(rows) for name, one in widths.items()}, how
    )


def _consistent(sets: Sequence[tuple[Query, ContributionBounds | None, "Blend"]]) -> "list[Blend]":
    """Averages of all grouping sets, made consistent where the exact totals of all answers are."""
    blends = [blend for _, _, blend in sets]
    found = consistent_values(
        [(query, bounds) for query, bounds, _ in sets],
        [blend.measured.statistics for blend in blends],
        [{of: one.spread for of, one in blend.averages.items()} for blend in blends],
    )
    return [blend.moved(solved) for blend, solved in zip(blends, found, strict=True)]


def _bounds(query: Query, parts: Sequence[MeasuredSet]) -> ContributionBounds | None:
    """The bounds of all answers; None where their exact totals, or their groups, may differ.

    Why: bounds may be chosen anew for each answer, and a join keeps rows of a person by a secret of
    each. Averages of different totals add up only where all sets weigh the answers alike.
    """
    first, whole = parts[0], query.counts_whole
    joins = [
        one for one in nodes_of(query.relation)[0] if isinstance(one, JoinPerson | MatchPerson)
    ]
    capped = any(most is not None for join in joins for most in join_caps(join))
    stated = whole or is_stated(limits_of(query))
    same = all(
        (whole or one.contributions == first.contributions)
        and one.groups == first.groups == query.group_count
        and all(one.keys[name].equals(keys) for name, keys in first.keys.items())
        for one in parts
    )
    return first.contributions if stated and same and not capped else None


def fits(query: Query, answers: Sequence[Sequence[MeasuredSet]]) -> bool:
    """Whether answers hold everything that the question is made of today."""
    singles = single_sets(query)
    alike = (len(parts) == len(singles) and all(map(_holds, parts, singles)) for parts in answers)
    return query.then is None and all(alike)


def _holds(part: MeasuredSet, query: Query) -> bool:
    ranked = {one.name for one in query.aggregates if one.measure in RANKED}
    known = all(noisy_in(part, one) is not None for one in _wanted(query))
    return known and ranked <= part.quantiles.keys()


def _wanted(query: Query) -> list[Statistic]:
    """The statistics that are averaged."""
    return [one for one in needed(query) if not isinstance(one, Ranks)]


# --- one grouping set -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Average:
    """A statistic of all groups, averaged over answers: a row of `weights` for each answer."""

    values: Floats
    weights: Floats
    noises: tuple[NoisyStatistic, ...]
    excess: Floats
    shrunk: float = 1.0
    """The deviation relative to that of the average; less once grouping sets are consistent."""

    @staticmethod
    def of(noises: Sequence[NoisyStatistic], places: Places) -> "Average":
        """Weigh by inverse variance, among the answers that have a group."""
        there = places >= 0
        precision = np.array([1 / one.variance for one in noises])
        weights = np.where(there, precision[:, None], 0.0)
        weights /= weights.sum(axis=0)
        values = np.stack([_at(one.values, p) for one, p in zip(noises, places, strict=True)])
        wider = np.stack([_at(one.excess, p) for one, p in zip(noises, places, strict=True)])
        return Average(
            (weights * values).sum(axis=0), weights, tuple(noises), (weights * wider).sum(axis=0)
        )

    @property
    def is_normal(self) -> bool:
        """Whether all of its noise is Gaussian, so that the sum is too."""
        return all(one.noise_kind is NoiseKind.GAUSSIAN for one in self.noises)

    def noise(self, points: int) -> Floats:
        """Noise as it might have been, a row a point: the same for the same statistic."""
        each = np.stack([_laid_out(i, one, points) for i, one in enumerate(self.noises)], axis=1)
        return np.asarray(self.shrunk * (each @ self.weights), dtype=np.float64)

    @property
    def spread(self) -> Spread:
        """The deviation in groups that all answers have, and how each of them measured it."""
        deviations = self._deviations(self.weights)
        return Spread(
            float(deviations.max(initial=0.0)),
            tuple((one.signs, one.source) for one in self.noises),
        )

    def _deviations(self, weights: Floats) -> Floats:
        variances = np.array([one.variance for one in self.noises])
        return np.asarray(self.shrunk * np.sqrt((weights**2 * variances[:, None]).sum(axis=0)))

    def error(self, confidence: float = CONFIDENCE) -> Floats:
        """Half-widths: the effect of noise, and more if being shown implies high noise."""
        return self._plain(confidence) + self.excess

    def simulated(self, points: int) -> Floats:
        """Simulated values, wider where the interval is."""
        return self.values + self.noise(points) * (1 + self.excess / self._plain(CONFIDENCE))

    def sliced(self, first: int, size: int) -> "Average":
        """Some of the groups, with the same noise."""
        some = slice(first, first + size)
        return replace(
            self, values=self.values[some], weights=self.weights[:, some], excess=self.excess[some]
        )

    def _plain(self, confidence: float) -> Floats:
        """Error from noise alone; groups that come from the same answers share it."""
        patterns, which = np.unique(self.weights, axis=1, return_inverse=True)
        if self.is_normal:
            widths = NormalDist().inv_cdf((1 + confidence) / 2) * self._deviations(patterns)
        else:
            noise = replace(self, weights=patterns).noise(_MANY)
            widths = np.quantile(np.abs(noise), confidence, axis=0)
        return np.asarray(widths[which.ravel()], dtype=np.float64)


def _at(values: Floats | None, places: Places) -> Floats:
    """The values at some places; 0 where there is no place."""
    if values is None or not values.size:
        return np.zeros(places.size)
    return np.where(places >= 0, values[places], 0.0)


def _laid_out(place: int, noise: NoisyStatistic, points: int) -> Floats:
    """Noise of one answer, from streams that its place and source fix: statistics share them."""
    total = np.zeros(points)
    for term, sign in enumerate(noise.signs):
        if sign:
            seed = np.array([noise.source, term], dtype=np.float64)
            total += sign * simulated_noise(noise.noise_kind, noise.scale, (points,), (place, seed))
    return total


@dataclass(frozen=True, slots=True)
class Blend:
    """One grouping set of several answers: its averages, and what they are as one measurement."""

    averages: Mapping[Statistic, Average]
    ranked: Mapping[str, NoisyQuantile]
    measured: NoisyStatistics

    @staticmethod
    def of(query: Query, parts: Sequence[MeasuredSet]) -> "Blend":
        """Lay groups side by side, average statistics, and choose quantiles."""
        keys, places = _aligned(parts)
        averages = {
            one: Average.of([found for part in parts if (found := noisy_in(part, one))], places)
            for one in _wanted(query)
        }
        ranked = {
            name: _surest([part.quantiles[name] for part in parts], places)
            for name in parts[0].quantiles
        }
        measured = NoisyStatistics(
            query=query,
            keys=keys,
            groups=places.shape[1],
            statistics={one: average.values for one, average in averages.items()},
            quantiles={name: one.values for name, one in ranked.items()},
            measurements={},
            contributions=parts[0].contributions,
        )
        return Blend(averages, ranked, measured)

    def sliced(self, first: int, size: int) -> "Blend":
        """Some of the groups."""
        averages = {name: one.sliced(first, size) for name, one in self.averages.items()}
        ranked = {name: one.sliced(first, size) for name, one in self.ranked.items()}
        return Blend(averages, ranked, self.measured.sliced(first, size))

    def moved(self, solved: Mapping[Statistic, tuple[Floats, float]]) -> "Blend":
        """The same with other values of some statistics, and a multiple of their deviation."""
        averages = {
            of: replace(self.averages[of], values=values, shrunk=shrunk)
            for of, (values, shrunk) in solved.items()
        }
        own = {of: values for of, (values, _) in solved.items()}
        measured = replace(self.measured, statistics={**self.measured.statistics, **own})
        return replace(self, averages={**self.averages, **averages}, measured=measured)

    def simulated(self, points: int) -> NoisyStatistics:
        """A simulated measurement."""
        many = {one: average.simulated(points) for one, average in self.averages.items()}
        return replace(self.measured, statistics=many)


def _aligned(parts: Sequence[MeasuredSet]) -> tuple[dict[str, pa.Array], Places]:
    """The keys of all groups, and the place of each in each part; -1 where it has none."""
    first: dict[tuple[Any, ...], int] = {}
    new: list[list[int]] = [[] for _ in parts]
    for i, part in enumerate(parts):
        for place, key in enumerate(_keys(part)):
            if key not in first:
                first[key] = len(first)
                new[i].append(place)
    places = np.full((len(parts), len(first)), -1, dtype=np.int64)
    for i, part in enumerate(parts):
        for place, key in enumerate(_keys(part)):
            places[i, first[key]] = place
    names = parts[0].keys
    chunks = zip(parts, new, strict=True)
    taken = [{n: part.keys[n].take(pa.array(at, pa.int64())) for n in names} for part, at in chunks]
    return {name: pa.concat_arrays([one[name] for one in taken]) for name in names}, places


def _keys(part: MeasuredSet) -> Iterator[tuple[Any, ...]]:
    """The keys of each group; NaN, which is not equal to itself, as a thing that is."""
    columns = [array.to_pylist() for array in part.keys.values()]
    for row in zip(*columns, strict=True) if columns else [()] * part.groups:
        yield tuple(_NAN if isinstance(one, float) and math.isnan(one) else one for one in row)


def _surest(quantiles: Sequence[NoisyQuantile], places: Places) -> NoisyQuantile:
    """For each group, the quantile with the smallest rank error."""
    order = sorted(range(len(quantiles)), key=lambda i: quantiles[i].off, reverse=True)
    found, widths = np.zeros(places.shape[1]), np.full(places.shape[1], np.nan)
    off = 0.0
    for i in order:
        there, one = places[i] >= 0, quantiles[i]
        off = one.off if there.all() else max(off, one.off)
        found[there] = one.values[places[i][there]]
        widths[there] = np.nan if one.widths is None else one.widths[places[i][there]]
    return NoisyQuantile(found, off, None if np.isnan(widths).any() else widths)


# --- error bars -----------------------------------------------------------------------------------


def _half_widths(
    query: Query, blends: Sequence[Blend], central: pa.Table, times: float
) -> tuple[dict[str, Floats], dict[str, str]]:
    """Half-widths of shown numbers and how each was found, of some groups at a time; one noise."""
    points = max(_FEWEST, min(_POINTS, _CELLS // max(1, central.num_rows)))
    size, row = _CELLS // points, 0
    found: dict[str, list[Floats]] = {}
    how: dict[str, str] = {}
    for blend in blends:
        for first in range(0, blend.measured.groups, size):
            some = blend.sliced(first, size)
            rows, many = central.slice(row, some.measured.groups), some.simulated(points)
            simulation = Simulation(query, [some.measured], [many], points, times)
            plain = partial(_plain, some, many)
            widths, how = simulation.widths_of(rows, plain, _SIMULATED)
            row += rows.num_rows
            for name, width in widths.items():
                found.setdefault(name, []).append(width)
    whole = {name: np.concatenate(widths) for name, widths in found.items()}
    return {name: widths for name, widths in whole.items() if widths.size == row}, how


def _plain(blend: Blend, many: NoisyStatistics, aggregate: Aggregate) -> tuple[Floats | None, str]:
    """The error bar of an aggregate that is shown directly."""
    scope = columns_of(blend.measured.query.relation)
    if aggregate.measure in RANKED:
        one = blend.ranked[aggregate.name]
        return one.widths, f"the surest of several answers; {off_in_rows(aggregate, one.off)}"
    if aggregate.measure.is_count:
        average = blend.averages[statistics_of(aggregate, scope)[0]]
        # Counts are shown as whole numbers, which moves them by half of one at most.
        return average.error() + 0.5, "by merging" if average.is_normal else _SIMULATED
    if aggregate.measure is AggregateFunction.SUM:
        middle = estimate(aggregate, blend.measured.statistics, scope)
        return spread(estimate(aggregate, many.statistics, scope), middle), _SIMULATED
    errors = cast("Mapping[Statistic, StatisticNoise]", blend.averages)  # they have errors, too
    part = replace(blend.measured, measurements=errors)
    return half_width(aggregate, part, many.statistics)[0], _SIMULATED
