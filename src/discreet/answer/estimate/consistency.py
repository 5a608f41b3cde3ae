"""Grouping sets made consistent: what parts add up to is what their total says.

Parts and totals are measured with independent noise. Weighted least squares over all of them gives
numbers that add up, each with less noise than it was measured with.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import NamedTuple, TypeAlias

import numpy as np

from discreet.answer.estimate.aggregates import Floats
from discreet.answer.estimate.noisy_statistics import NoisyStatistics
from discreet.answer.plan.measure import StatisticNoise
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.public_facts import incomplete_keys
from discreet.plan.query import Query
from discreet.plan.statistics import People, Rows, Statistic, Total

_MOST, _MOST_CELLS = 1 << 13, 1 << 25
"""Sets with more margins, or more groups that all margins of all aggregates read, are left as
measured. A CUBE over eight keys has 6,561 margins; to read 10^8 groups takes about a second."""

Margin: TypeAlias = frozenset[int]
"""Keys, by their places: those that a sum over all others is left with."""


@dataclass(frozen=True, slots=True)
class ConsistentSets:
    """Grouping sets whose exact totals add up to each other, and least squares over them.

    `members` are their places among all sets of a question. `axes` are the keys of each member, as
    places in `sizes`, which says how many values each key has.

    Guarantee:
        Post-processing: numbers that were released, their variances and public facts are all that
        is read, so what was measured stays as private as it was. For any linear function of them
        no unbiased linear estimate has less variance than the one from these numbers.
    Why:
        Let y_s = x_s + e_s be what was measured of set s, with variance v_s in every group, and N_R
        the number of combinations of the keys R. Summed over all keys but T, the sets s that
        contain T all estimate the same margin. The part of a margin that is centred along each key
        of T has the noise of y_s with v_s N_(s-T) times one projection P_T, and is uncorrelated
        with the parts of all other T: these parts are an orthogonal decomposition. So least squares
        separates into one average for each T, with weights w_s in proportion to 1 / (v_s N_(s-T)).
        Put back, the part of T is spread over N_(s-T) groups, and the variance of a group becomes
        v_s times the sum over T of w_s d_T / N_(s-T), where d_T, the diagonal of P_T, is the
        product of 1 - 1/n over its keys.
    Edge cases:
        A margin that only one set has is not changed. A key with one value has no centred part.
        Exact totals must add up: see `consistent_sets`.

    Example:
        >>> rollup = ConsistentSets((0, 1), ((0,), ()), (3,))
        >>> parts, total = rollup.solve([np.array([1.0, 2, 3]), np.array([10.0])], [1, 1])
        >>> parts.tolist(), total.tolist()
        ([2.0, 3.0, 4.0], [9.0])
        >>> [round(ratio, 4) for ratio in rollup.variance_ratios([1, 1])]
        [0.75, 0.75]

    Reference:
        Hay et al., "Boosting the accuracy of differentially private histograms through
        consistency", VLDB 2010, Section 4 (one hierarchy); Barak et al., "Privacy, accuracy, and
        consistency too", PODS 2007 (margins by orthogonal components).
    """

    members: tuple[int, ...]
    axes: tuple[tuple[int, ...], ...]
    sizes: tuple[int, ...]

    @property
    def cells(self) -> int:
        """How many groups `solve` reads, for all margins together."""
        holders = chain.from_iterable(_shared(self.axes).values())
        return sum(self._rest(i, frozenset()) for i in holders)

    def solve(self, values: Sequence[Floats], variances: Sequence[float]) -> list[Floats]:
        """The least-squares estimate of all groups of all members."""
        tables = [self._shaped(one, own) for one, own in zip(values, self.axes, strict=True)]
        solved = [table.copy() for table in tables]
        for margin, weights in self._weights(variances):
            sums = {i: self._margin(tables[i], margin) for i in weights}
            best = sum((weight * sums[i] for i, weight in weights.items()), np.zeros(1))
            for i in weights:
                moved = best - sums[i]
                for axis in margin:
                    moved = moved - moved.mean(axis=axis, keepdims=True)
                solved[i] += moved / self._rest(i, margin)
        return [self._flat(table, own) for table, own in zip(solved, self.axes, strict=True)]

    def variance_ratios(self, variances: Sequence[float]) -> list[float]:
        """The variance of each member's groups, relative to what it was measured with."""
        ratios = [1.0] * len(self.members)
        for margin, weights in self._weights(variances):
            diagonal = math.prod(1 - 1 / self.sizes[axis] for axis in margin)
            for i, weight in weights.items():
                ratios[i] -= (1 - weight) * diagonal / self._rest(i, margin)
        return ratios

    def _weights(self, variances: Sequence[float]) -> Iterator[tuple[Margin, dict[int, float]]]:
        """Each margin that several members have, and the weight of each of them there."""
        for margin, holders in _shared(self.axes).items():
            precisions = [1 / (variances[i] * self._rest(i, margin)) for i in holders]
            whole = sum(precisions)
            yield margin, {i: p / whole for i, p in zip(holders, precisions, strict=True)}

    def _rest(self, member: int, margin: Margin) -> int:
        """How many groups of a member one of a margin has."""
        return math.prod(self.sizes[axis] for axis in self.axes[member] if axis not in margin)

    def _margin(self, table: Floats, margin: Margin) -> Floats:
        others = tuple(axis for axis in range(len(self.sizes)) if axis not in margin)
        return np.asarray(table.sum(axis=others, keepdims=True))

    def _shaped(self, values: Floats, own: tuple[int, ...]) -> Floats:
        """A set's groups with an axis for each key, of length 1 for those it does not have."""
        shaped = values.reshape([self.sizes[axis] for axis in own]).transpose(np.argsort(own))
        return shaped.reshape([n if axis in own else 1 for axis, n in enumerate(self.sizes)])

    def _flat(self, table: Floats, own: tuple[int, ...]) -> Floats:
        """The groups of a set in their order, from `_shaped`."""
        held = table.reshape([self.sizes[axis] for axis in sorted(own)])
        return np.ravel(held.transpose(np.argsort(np.argsort(own))))


def _shared(axes: Sequence[tuple[int, ...]]) -> dict[Margin, list[int]]:
    """The margins that several sets have, and which have them."""
    holders: dict[Margin, list[int]] = {}
    for i, own in enumerate(axes):
        for margin in chain.from_iterable(combinations(own, size) for size in range(len(own) + 1)):
            holders.setdefault(frozenset(margin), []).append(i)
    return {margin: found for margin, found in holders.items() if len(found) > 1}


def consistent_sets(
    sets: Iterable[tuple[Query, ContributionBounds | None]],
) -> list[ConsistentSets]:
    """The grouping sets whose exact totals add up on all data.

    Each is a question and its bounds, None where those were chosen from the data.

    Why: totals add up if every row is in a group of one set exactly where it is in one of the
    other, with one weight. A row is outside if one of its keys is not in its list: so lists that
    rows may be outside of have to be the same. Groups that were found are not all groups. All
    weights are FULL where people have one row; under Laplace noise a weight depends on how many
    rows a person has in all, and on the bound. Under Gaussian noise it depends on how the rows fall
    into groups, and bounds that are chosen differ: such sets are left as they were measured. Joins
    keep the same rows of a person in all sets, because these share one secret.
    """
    alike: dict[object, list[tuple[int, Query]]] = {}
    for i, (query, bounds) in enumerate(sets):
        whole = query.counts_whole
        added = whole or (bounds is not None and bounds.noise_kind is NoiseKind.LAPLACE)
        if added and bounds is not None and query.has_known_keys:
            kind = (frozenset(incomplete_keys(query)), None if whole else bounds.rows)
            alike.setdefault(kind, []).append((i, query))
    return [
        joint
        for found in alike.values()
        if len(found) > 1 and sum(1 << len(query.keys) for _, query in found) <= _MOST
        if (joint := _joined(found)).cells * len(found[0][1].aggregates) <= _MOST_CELLS
    ]


def _joined(found: Sequence[tuple[int, Query]]) -> ConsistentSets:
    sizes = {
        key.name: len(of.keys or ())
        for _, query in found
        for key, of in zip(query.keys, query.key_types, strict=True)
    }
    places = {name: place for place, name in enumerate(sizes)}
    axes = tuple(tuple(places[key.name] for key in query.keys) for _, query in found)
    return ConsistentSets(tuple(i for i, _ in found), axes, tuple(sizes.values()))


Sets: TypeAlias = Sequence[tuple[Query, ContributionBounds | None]]
Noises: TypeAlias = Mapping[Statistic, StatisticNoise]


class Spread(NamedTuple):
    """Noise of a statistic: its standard deviation, and the strategy that it is measured by."""

    deviation: float
    strategy: object


def shrunk_noises(sets: Sets, noises: Sequence[Noises]) -> list[Noises]:
    """The noise of each statistic of each set once sets are made consistent: public facts alone."""
    found = [dict(one) for one in noises]
    for joint, statistic, variances in _additive(sets, list(map(_spreads, noises))):
        ratios = joint.variance_ratios(variances)
        for i, ratio in zip(joint.members, ratios, strict=True):
            found[i][statistic] = replace(noises[i][statistic], shrunk=math.sqrt(ratio))
    return list(found)


def make_consistent(parts: Sequence[NoisyStatistics]) -> list[NoisyStatistics]:
    """Noisy statistics of all grouping sets, made consistent where their exact totals are."""
    sets = [(part.query, None if part.learnt else part.contributions) for part in parts]
    found = consistent_values(
        sets, [part.statistics for part in parts], [_spreads(part.measurements) for part in parts]
    )
    consistent = []
    for part, solved in zip(parts, found, strict=True):
        less = {of: replace(part.measurements[of], shrunk=by) for of, (_, by) in solved.items()}
        own = {of: values for of, (values, _) in solved.items()}
        consistent.append(
            replace(
                part,
                statistics={**part.statistics, **own},
                measurements={**part.measurements, **less},
            )
        )
    return consistent


def consistent_values(
    sets: Sets,
    values: Sequence[Mapping[Statistic, Floats]],
    spreads: Sequence[Mapping[Statistic, Spread]],
) -> list[dict[Statistic, tuple[Floats, float]]]:
    """The statistics of each set that are moved: new values, and how many times the deviation.

    A statistic that overflowed to infinity in one group stays as measured.
    """
    found: list[dict[Statistic, tuple[Floats, float]]] = [{} for _ in sets]
    for joint, statistic, variances in _additive(sets, spreads):
        unit = spreads[joint.members[0]][statistic].deviation  # sums of 1e300 leave the doubles
        steps = [values[i][statistic] / unit for i in joint.members]
        if all(np.isfinite(one).all() for one in steps):
            solved = zip(
                joint.solve(steps, variances), joint.variance_ratios(variances), strict=True
            )
            for i, (one, ratio) in zip(joint.members, solved, strict=True):
                found[i][statistic] = unit * one, math.sqrt(ratio)
    return found


def _spreads(noises: Noises) -> dict[Statistic, Spread]:
    spreads = {}
    for of, one in noises.items():
        terms = one.terms * (2 if one.noise_kind is NoiseKind.LAPLACE else 1)
        spreads[of] = Spread(one.scale * math.sqrt(terms), one.measurement.strategy)
    return spreads


def _additive(
    sets: Sets, spreads: Sequence[Mapping[Statistic, Spread]]
) -> Iterator[tuple[ConsistentSets, Statistic, list[float]]]:
    """Statistics of which the parts of a group add up to it, and their variances in each set.

    Variances are relative to that of the first, which may be no double.

    Why: a person who is in one group counts there and in what it is a part of; others count once in
    each. Noises that statistics share stay shared where all sets have the same strategies.
    """
    for joint in consistent_sets(sets) if len(sets) > 1 else []:
        kinds = Rows | Total | People if sets[joint.members[0]][0].counts_whole else Rows | Total
        for statistic in spreads[joint.members[0]]:
            own = [spreads[i][statistic] for i in joint.members if isinstance(statistic, kinds)]
            sizes = [one.deviation for one in own if 0 < one.deviation < math.inf]
            if len(sizes) == len(joint.members) and len({one.strategy for one in own}) == 1:
                yield joint, statistic, [(size / sizes[0]) ** 2 for size in sizes]
