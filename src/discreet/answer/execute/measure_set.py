"""Run the plan of a grouping set: exact integers of the engine meet their noise, and no more.

Nothing flows backwards: everything was decided before data is touched, and what the engine returns
goes through a mechanism before anything else sees it. Totals are streamed and meet noise slice
by slice: what is held for a group is its key and one noisy number for each statistic. The exact
totals of one slice are all that is held of those, however many groups there are.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answer.execute.individual import Admission
from discreet.answer.execute.noisy_measurements import NoisyMeasurements
from discreet.answer.plan.contribution_histogram import (
    ROWS,
    ClippedShare,
    ContributionHistogram,
    choose,
    clipped_share,
    lost_rows,
    raise_limit,
)
from discreet.answer.plan.measure import Measurement, quantile_guarantee, quantile_scale
from discreet.answer.plan.planning import check_feasible, public_bounds, unit_scale, widest
from discreet.answer.plan.quantile_draws import distances, quantile_draws
from discreet.answer.plan.set_plan import EXACT, FINDING, SetPlan, histogram_of, words
from discreet.answer.plan.sql_statements import SetStatements
from discreet.answer.plan.thresholded_count import ThresholdedCount
from discreet.answer.present.base_release import Cost
from discreet.engines.engine import ARROW, Engine, Session
from discreet.engines.timing import Deadline
from discreet.mechanisms import KeySelection
from discreet.plan.bounding import ContributionBounds
from discreet.plan.expressions import remember
from discreet.plan.kinds import Kind, Value
from discreet.plan.query import Aggregate, Query
from discreet.plan.statistics import Distinct, Ranks, Statistic, ranks_of
from discreet.privacy import Guarantee
from discreet.sql.writer.compile import FEW_KEYS
from discreet.sql.writer.individual import WEIGHTS


def measure_set(
    plan: SetPlan,
    engine: Engine,
    salt: str,
    until: Deadline | None = None,
    admission: Admission | None = None,
) -> NoisyMeasurements:
    """Measure one grouping set; at `until` the engine is stopped.

    `salt` is the question's secret. With an `admission`, only those whom it lets take part are in
    the totals.
    """
    asked = admission is not None
    statements = SetStatements.of(plan, engine.dialect, salt, participants=asked)
    with engine.snapshot(until) as session:
        put_domains(plan.query, session, FEW_KEYS)
        for kept in statements.people():
            session.keep(*kept)
        contributions, spent, clipped = bound_contributions(plan, statements, session)
        check_feasible(plan, contributions)
        if admission is not None:
            session.put(WEIGHTS, admission.weights(statements, session))
        else:
            for kept in statements.bounding(contributions):
                session.keep(*kept)
        measuring = _Measuring(statements, session, contributions)
        selection = plan.selection(contributions)
        if selection is None:
            keys, groups, numbers = measuring.known_totals()
        else:
            keys, groups, numbers = measuring.found_totals(selection)
            spent.append(Cost(FINDING, EXACT, selection.guarantee))
        if any(isinstance(one, _APART) for one in statements.compiled.statistics):
            places = pa.array(np.arange(groups, dtype=np.int64))
            session.put("groups", pa.table({"place": places, **keys}))
        cells, brackets, chosen = measuring.cells(groups, clipped)
        return NoisyMeasurements(
            contributions,
            {} if selection is None else keys,  # what is public need not be stored
            groups,
            (*numbers, *measuring.distincts(groups)),
            cells,
            (*spent, *(_paid(one, chosen) for one in measuring.measurements)),
            clipped,
            brackets,
        )


# --- bounds -------------------------------------------------------------------------------------


def bound_contributions(
    plan: SetPlan, statements: SetStatements, session: Session
) -> tuple[ContributionBounds, list[Cost], dict[str, ClippedShare]]:
    """The bounds of the plan, else what noisy histograms of people suggest.

    Beside them, what learning them cost, and what they cut off.
    """
    if plan.contributions is not None:
        return plan.contributions, [], {}
    mechanism, most, told = plan.histogram, widest(plan), dict[str, ClippedShare]()
    bounds, groups = public_bounds(plan.query, plan.noise_kind), plan.query.group_count
    sizes = [len(norm.bounds) + 1 for norm in plan.norms.values()]
    every = np.zeros(sum(sizes), dtype=np.int64)
    for select in statements.histograms():
        for batch in session.stream(select, every.size):
            every[batch.column(0).to_numpy()] = batch.column(1).to_numpy()
    split = np.split(every, np.cumsum(sizes)[:-1])
    for (name, norm), people in zip(plan.norms.items(), split, strict=False):
        noisy = np.asarray(mechanism.release(people), dtype=np.float64)
        looks = 2 if plan.second and name == ROWS else 1
        spread = ContributionHistogram(
            noisy, plan.histogram_scale, norm.steps, norm.top, plan.histogram_noise, looks
        )
        limit = choose(spread, norm, unit_scale(plan, norm), groups)
        if name == ROWS:
            bounds = plan.bounds(min(limit, most), bounds.groups)
            bounds, spread = look_again(plan, spread, bounds, people)
            limit = bounds.full_rows
        else:
            limit = min(limit, plan.findable(most))
            bounds = replace(bounds, groups=limit)
        if (share := clipped_share(spread, replace(norm, rows=bounds), limit)) is not None:
            told[name] = share
    noise, paid = plan.histogram_noise.value, mechanism.guarantee
    spent = [Cost(histogram_of(name), noise, paid) for name in plan.histograms]
    return bounds, spent, told


def look_again(
    plan: SetPlan,
    spread: ContributionHistogram,
    bounds: ContributionBounds,
    people: NDArray[np.int64],
) -> tuple[ContributionBounds, ContributionHistogram]:
    """Count people far beyond the limit once more, and raise the limit if that shows any.

    Guarantee:
        See `SetPlan.second`: those people alone are counted, and weigh less for it.
    """
    if bounds.far is None:
        return bounds, spread
    norm = plan.norms[ROWS]
    far_out = people[norm.steps.index(bounds.far) + 1 :]
    both = spread.with_second(np.asarray(plan.histogram.release(far_out), dtype=np.float64))
    raised = raise_limit(both, norm, bounds, unit_scale(plan, norm), plan.query.group_count)
    if raised is None:
        return bounds, spread
    return replace(raised, rows=min(raised.rows, widest(plan))), both


# --- numbers --------------------------------------------------------------------------------------

Cells: TypeAlias = NDArray[np.int64]

Totals: TypeAlias = tuple[dict[str, pa.Array], int, tuple[NDArray[Any], ...]]
"""The groups of an answer, k0, k1 and so on, how many, and the noisy numbers of each strategy."""

SLICE = 1 << 17
"""Groups that meet noise at once."""

_APART = Ranks | Distinct


@dataclass(frozen=True, slots=True)
class _Measuring:
    """One grouping set whose people are bounded."""

    statements: SetStatements
    session: Session
    contributions: ContributionBounds

    @property
    def measurements(self) -> list[Measurement]:
        """How each strategy is measured."""
        return self.statements.plan.measurements(self.contributions)

    @property
    def counted(self) -> list[Measurement]:
        """Those of totals over rows or people, in order."""
        firsts = ((one, one.strategy.statistics[0]) for one in self.measurements)
        return [one for one, first in firsts if not isinstance(first, _APART)]

    def known_totals(self) -> Totals:
        """Noisy numbers of every combination of known keys, present or not, in their order."""
        keys, groups = known_keys(self.statements.plan.query)
        every, counted = self.statements.compiled.statistics, self.counted
        statistics = [one for one in every if not isinstance(one, _APART)]
        noisy: list[list[list[NDArray[Any]]]] = [[] for _ in counted]
        stream = self.session.stream(self.statements.totals(self.contributions), groups)
        for slice_ in dense(stream, groups, len(statistics)):
            exact: dict[Statistic, NDArray[np.int64]] = dict(zip(statistics, slice_, strict=True))
            for slices, one in zip(noisy, counted, strict=True):
                slices.append(one.release([exact[of] for of in one.strategy.statistics]))
        return keys, groups, _joined(noisy, counted)

    def found_totals(self, selection: KeySelection | ThresholdedCount) -> Totals:
        """Noisy numbers of the groups that are found, in the order of their keys."""
        compiled, counted, batches = self.statements.compiled, self.counted, []
        noisy: list[list[list[NDArray[Any]]]] = [[] for _ in counted]
        for whole in self.session.stream(self.statements.totals(self.contributions)):
            if isinstance(selection, ThresholdedCount):
                count = selection.count.measurement
                [counts] = count.release(self.columns(whole, count))
                shown = selection.shows(counts)
            else:
                shown = selection.keeps(whole.column("people").to_numpy())
            batch = whole.filter(pa.array(shown))
            batches.append(batch.select(compiled.keys))
            for slices, one in zip(noisy, counted, strict=True):
                if isinstance(selection, ThresholdedCount) and one == count:
                    slices.append([counts[shown]])
                else:
                    slices.append(one.release(self.columns(batch, one)))
        groups = sum(batch.num_rows for batch in batches)
        # A chunked array of no chunks still has a type: there may be no groups at all.
        kinds = [ARROW[of.kind] for of in compiled.query.key_types]
        keys = {
            name: pa.chunked_array([batch.column(name) for batch in batches], kind).combine_chunks()
            for name, kind in zip(compiled.keys, kinds, strict=True)
        }
        return keys, groups, _joined(noisy, counted)

    def columns(self, batch: pa.RecordBatch, measurement: Measurement) -> list[NDArray[np.int64]]:
        """The exact totals of the statistics of a strategy."""
        places = map(self.statements.compiled.statistics.index, measurement.strategy.statistics)
        return [batch.column(f"t{place}").to_numpy(zero_copy_only=False) for place in places]

    def distincts(self, groups: int) -> Iterator[NDArray[Any]]:
        """Noisy numbers of different values."""
        for one in self.measurements:
            statistic = one.strategy.statistics[0]
            if isinstance(statistic, Distinct):
                totals = np.zeros(groups, dtype=np.int64)
                counted = self.statements.distincts(statistic, self.contributions)
                for batch in self.session.stream(counted, groups):
                    totals[batch.column(0).to_numpy()] = batch.column(1).to_numpy()
                yield from one.release([totals])

    def cells(
        self, groups: int, clipped: Mapping[str, ClippedShare]
    ) -> tuple[dict[str, Cells], dict[str, tuple[Cells, Cells]], dict[Statistic, Guarantee]]:
        """The cells of every group, by quantile; both ends of its interval; what each gave away."""
        plan = self.statements.plan
        wanted: dict[Ranks, list[Aggregate]] = {}
        for aggregate in plan.query.aggregates:
            if (ranks := ranks_of(plan.query, aggregate)) is not None:
                wanted.setdefault(ranks, []).append(aggregate)
        found: dict[str, Cells] = {}
        brackets: dict[str, tuple[Cells, Cells]] = {}
        plans = {one.strategy.statistics[0]: one for one in self.measurements}
        spent: dict[Statistic, Guarantee] = {}
        for statistic, quantiles in wanted.items():
            lost = lost_rows(clipped, found=plan.finds_keys)
            draws = quantile_draws(quantiles, plan.brackets, lost, plan.noise_kind)
            scales = [quantile_scale(plans[statistic], one.apart, one.levels) for one in draws]
            ranges = [(one.apart, scale) for one, scale in zip(draws, scales, strict=True)]
            spent[statistic] = quantile_guarantee(plans[statistic], ranges)
            drawn = {one: np.empty(groups, dtype=np.int64) for one in draws}
            for place, ranked in enumerate(self.ranked(statistic, groups)):
                for (one, chosen), scale in zip(drawn.items(), scales, strict=True):
                    chosen[place] = one.cell(*ranked, statistic.cells, scale)
            for one, chosen in drawn.items():
                steps, middle = np.divmod(chosen, statistic.cells)
                found[one.aggregate.name] = middle
                if one.ends is not None:
                    away, last = distances(statistic.cells)[steps], statistic.cells - 1
                    ends = np.maximum(middle - away, 0), np.minimum(middle + away, last)
                    brackets[one.aggregate.name] = ends
        return found, brackets, spent

    def ranked(self, statistic: Ranks, groups: int) -> Iterator[tuple[Cells, Cells]]:
        """The occupied cells of every group and the weight in each, in the order of the groups."""
        columns: list[list[NDArray[np.int64]]] = [[], [], []]
        for batch in self.session.stream(self.statements.ranks(statistic)):
            for column, part in zip(columns, batch.columns, strict=True):
                column.append(part.to_numpy())
        empty = np.empty(0, dtype=np.int64)
        places, cells, weights = (np.concatenate([empty, *column]) for column in columns)
        ends = np.searchsorted(places, np.arange(groups + 1))
        for first, end in pairwise(ends):
            yield cells[first:end], weights[first:end]


def _paid(one: Measurement, chosen: Mapping[Statistic, Guarantee]) -> Cost:
    """The guarantee of the mechanism that made a measurement."""
    first = one.strategy.statistics[0]
    paid = chosen.get(first) or one.mechanism.guarantee
    return Cost(words(one.strategy), one.noise_kind.value, paid)


def put_domains(query: Query, session: Session, longer_than: int = -1) -> None:
    """Lend the engine the known values of each key and their places, those of long lists alone."""
    for i, of in enumerate(query.key_types):
        if of.keys is not None and (len(of.keys) > longer_than or not of.keys):
            session.put(f"d{i}", _domain(of.keys, of.kind))


def known_keys(query: Query) -> tuple[dict[str, pa.Array], int]:
    """Every combination of known keys, in their order, and how many there are."""
    domains = [_domain(of.keys or (), of.kind).column("k") for of in query.key_types]
    sizes = [len(domain) for domain in domains]
    groups, keys = math.prod(sizes), {}
    places = np.arange(groups if len(sizes) > 1 else 0, dtype=np.int64)
    for i, domain in enumerate(domains):
        after = math.prod(sizes[i + 1 :])  # the last key changes fastest
        taken = domain.take(pa.array(places // after % sizes[i])) if len(sizes) > 1 else domain
        keys[f"k{i}"] = taken.combine_chunks()
    return keys, groups


def _joined(
    noisy: list[list[list[NDArray[Any]]]], measurements: Sequence[Measurement]
) -> tuple[NDArray[Any], ...]:
    """Slices of all numbers of all strategies, one after another."""
    empty = np.empty(0, dtype=np.int64)
    return tuple(
        np.concatenate([empty, *(slice_[i] for slice_ in slices)])
        for slices, one in zip(noisy, measurements, strict=True)
        for i in range(len(one.strategy.combinations))
    )


def dense(
    stream: Iterator[pa.RecordBatch], groups: int, columns: int, ends: Iterable[int] | None = None
) -> Iterator[NDArray[np.int64]]:
    """Columns by place, in rising order, as slices in which every place has a number; 0 if none.

    How many slices there are depends on the number of places alone, or on where they are to end.
    """
    rows: list[NDArray[np.int64]] = []
    first = 0
    for end in ends or (min(at + SLICE, groups) for at in range(0, groups, SLICE)):
        slice_ = np.zeros((columns, end - first), dtype=np.int64)
        while rows or (rows := _next(stream)):
            cut = int(np.searchsorted(rows[0], end))
            for target, column in zip(slice_, rows[1:], strict=True):
                target[rows[0][:cut] - first] = column[:cut]
            rows = [column[cut:] for column in rows] if cut < rows[0].size else []
            if rows:
                break
        yield slice_
        first = end


def _next(stream: Iterator[pa.RecordBatch]) -> list[NDArray[np.int64]]:
    """The columns of the next batch that has rows; none at the end."""
    for batch in stream:
        if batch.num_rows:
            return [column.to_numpy(zero_copy_only=False) for column in batch.columns]
    return []


@remember(16)  # by identity: a table's public keys are one value, whoever asks
def _domain(values: tuple[Value, ...], kind: Kind) -> pa.Table:
    return pa.table(
        {"c": pa.array(np.arange(len(values), dtype=np.int64)), "k": pa.array(values, ARROW[kind])}
    )
