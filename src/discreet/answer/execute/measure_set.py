"""Run the plan of a grouping set: exact integers of the engine meet their noise, and no more.

Nothing flows backwards: everything was decided before data is touched, and what the engine returns
goes through a mechanism before anything else sees it. Totals are streamed and meet noise slice
by slice: what is held for a group is its key and one noisy number for each statistic. The exact
totals of one slice are all that is held of those, however many groups there are.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answer.execute.individual import Admission
from discreet.answer.execute.noisy_measurements import NoisyMeasurements
from discreet.answer.plan.contribution_histogram import (
    GROUPS,
    ROWS,
    ClippedShare,
    ContributionHistogram,
    GroupNorm,
    Norm,
    choose,
    clipped,
    lost_rows,
)
from discreet.answer.plan.measure import Measurement, quantile_guarantee, quantile_scale
from discreet.answer.plan.planning import check_feasible, public_bounds, unit_scale, widest
from discreet.answer.plan.quantile_draws import quantile_draws
from discreet.answer.plan.set_plan import EXACT, FINDING, SetPlan, histogram_of, words
from discreet.answer.plan.sql_statements import SetStatements
from discreet.answer.plan.thresholded_count import ThresholdedCount
from discreet.answer.present.base_release import Cost
from discreet.engines.engine import ARROW, Engine, Session
from discreet.engines.timing import Deadline
from discreet.mechanisms import KeySelection
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.kinds import Kind, Value
from discreet.plan.query import AggregateFunction, Query, level_of
from discreet.plan.remembered import remember
from discreet.plan.statistics import Distinct, Ranks, Statistic, ranks_of
from discreet.privacy import Guarantee
from discreet.sql.writer.compile import FEW_KEYS
from discreet.sql.writer.individual import WEIGHTS

if TYPE_CHECKING:
    from fractions import Fraction


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
        bounded = bound_contributions(plan, statements, session)
        contributions, spent = bounded.contributions, list(bounded.spent)
        check_feasible(plan, contributions)
        if admission is not None:
            session.put(WEIGHTS, admission.weights(statements, session))
        else:
            for kept in statements.bounding(contributions):
                session.keep(*kept)
        measurements, selection = plan.measurements(contributions), plan.selection(contributions)
        if selection is None:
            totals = known_totals(statements, contributions, measurements, session)
        else:
            totals = found_totals(statements, contributions, measurements, session, selection)
            spent.append(Cost(FINDING, EXACT, selection.guarantee))
        if any(isinstance(one, Ranks | Distinct) for one in statements.compiled.statistics):
            places = pa.array(np.arange(totals.groups, dtype=np.int64))
            session.put("groups", pa.table({"place": places, **totals.keys}))
        lost = lost_rows(bounded.clipped, found=plan.finds_keys)
        cells, brackets, chosen = _cells(statements, measurements, session, totals.groups, lost)
        return NoisyMeasurements(
            contributions,
            {} if selection is None else totals.keys,  # what is public need not be stored
            totals.groups,
            (*totals.numbers, *_distincts(statements, measurements, session, totals.groups)),
            cells,
            (*spent, *(_paid(one, chosen) for one in measurements)),
            bounded.clipped,
            brackets,
        )


# --- bounds -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BoundedContributions:
    """Bounds on people; what learning them cost, and what they cut off."""

    contributions: ContributionBounds
    spent: tuple[Cost, ...] = ()
    clipped: Mapping[str, ClippedShare] = field(default_factory=dict)


def bound_contributions(
    plan: SetPlan, statements: SetStatements, session: Session
) -> BoundedContributions:
    """The bounds of the plan, else what noisy histograms of people suggest."""
    if plan.contributions is not None:
        return BoundedContributions(plan.contributions)
    mechanism, most, found, told = plan.histogram, widest(plan), {}, {}
    sizes = [len(norm.bounds) + 1 for norm in plan.norms.values()]
    every = np.zeros(sum(sizes), dtype=np.int64)
    for select in statements.histograms():
        for batch in session.stream(select, every.size):
            every[batch.column(0).to_numpy()] = batch.column(1).to_numpy()
    split = np.split(every, np.cumsum(sizes)[:-1])
    for (name, norm), people in zip(plan.norms.items(), split, strict=False):
        noisy = np.asarray(mechanism.release(people), dtype=np.float64)
        spread = ContributionHistogram(
            noisy, plan.histogram_scale, norm.steps, _top(norm), plan.histogram_noise
        )
        limit = choose(spread, norm, unit_scale(plan, norm), plan.query.group_count)
        found[name] = min(limit, most if name == ROWS else plan.findable(most))
        told[name] = clipped(spread, norm, found[name])
    public = public_bounds(plan.query, plan.noise_kind)
    return BoundedContributions(
        ContributionBounds(
            plan.noise_kind, found.get(ROWS, public.rows), found.get(GROUPS, public.groups)
        ),
        tuple(
            Cost(histogram_of(name), plan.histogram_noise.value, mechanism.guarantee)
            for name in plan.histograms
        ),
        {name: one for name, one in told.items() if one is not None},
    )


def _top(norm: Norm) -> int | None:
    """The highest norm that a person can have, where it is public."""
    return norm.groups if isinstance(norm, GroupNorm) and not norm.found else None


# --- different values, and quantiles ------------------------------------------------------------


def _distincts(
    statements: SetStatements, measurements: list[Measurement], session: Session, groups: int
) -> Iterator[NDArray[Any]]:
    """Noisy numbers of different values."""
    for one in measurements:
        statistic = one.strategy.statistics[0]
        if isinstance(statistic, Distinct):
            totals = np.zeros(groups, dtype=np.int64)
            counted = statements.distincts(statistic, one.contributions)
            for batch in session.stream(counted, groups):
                totals[batch.column(0).to_numpy()] = batch.column(1).to_numpy()
            yield from one.release([totals])


Cells: TypeAlias = NDArray[np.int64]


def _cells(
    statements: SetStatements,
    measurements: list[Measurement],
    session: Session,
    groups: int,
    lost: float,
) -> tuple[dict[str, Cells], dict[str, tuple[Cells, Cells]], dict[Statistic, Guarantee]]:
    """The cells of every group, by quantile; both ends of its interval; what each gave away."""
    plan = statements.plan
    wanted: dict[Ranks, list[tuple[str, Fraction]]] = {}
    for aggregate in plan.query.aggregates:
        if (ranks := ranks_of(plan.query, aggregate)) is not None:
            wanted.setdefault(ranks, []).append((aggregate.name, level_of(aggregate)))
    modes = [a.name for a in plan.query.aggregates if a.measure is AggregateFunction.MODE]
    found: dict[str, Cells] = {}
    brackets: dict[str, tuple[Cells, Cells]] = {}
    plans = {one.strategy.statistics[0]: one for one in measurements}
    spent: dict[Statistic, Guarantee] = {}
    for statistic, quantiles in wanted.items():
        flips = plan.noise_kind is NoiseKind.LAPLACE
        draws = quantile_draws(quantiles, plan.brackets, lost, modes, flips=flips)
        scales = [quantile_scale(plans[statistic], one.level, one.levels) for one in draws]
        levels = [(one.level, scale) for one, scale in zip(draws, scales, strict=True)]
        spent[statistic] = quantile_guarantee(plans[statistic], levels)
        drawn = {one: np.empty(groups, dtype=np.int64) for one in draws}
        for place, ranked in enumerate(_ranked(statements.ranks(statistic), session, groups)):
            middle = 0
            for (one, chosen), scale in zip(drawn.items(), scales, strict=True):
                chosen[place] = middle = one.cell(*ranked, statistic.cells, scale, middle)
        found |= {one.name: chosen for one, chosen in drawn.items() if one.ends is None}
        for one, away in drawn.items():
            if one.ends is not None:
                ends = found[one.name] - away, found[one.name] + away
                last = statistic.cells - 1
                brackets[one.name] = np.maximum(ends[0], 0), np.minimum(ends[1], last)
    return found, brackets, spent


def _paid(one: Measurement, chosen: Mapping[Statistic, Guarantee]) -> Cost:
    """The guarantee of the mechanism that made a measurement."""
    first = one.strategy.statistics[0]
    paid = chosen.get(first) or one.mechanism.guarantee
    return Cost(words(one.strategy), one.noise_kind.value, paid)


def _ranked(
    statement: str, session: Session, groups: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The occupied cells of every group and the weight in each, in the order of the groups."""
    columns: list[list[NDArray[np.int64]]] = [[], [], []]
    for batch in session.stream(statement):
        for column, part in zip(columns, batch.columns, strict=True):
            column.append(part.to_numpy())
    empty = np.empty(0, dtype=np.int64)
    places, cells, weights = (np.concatenate([empty, *column]) for column in columns)
    ends = np.searchsorted(places, np.arange(groups + 1))
    for first, end in pairwise(ends):
        yield cells[first:end], weights[first:end]


SLICE = 1 << 17
"""Groups that meet noise at once."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The groups of an answer, k0, k1 and so on, and the noisy numbers of each strategy."""

    keys: Mapping[str, pa.Array]
    groups: int
    numbers: tuple[NDArray[Any], ...]


def _counted(measurements: Sequence[Measurement]) -> list[Measurement]:
    """The statistics that are totals over rows or people, in order."""
    apart = Ranks | Distinct
    return [one for one in measurements if not isinstance(one.strategy.statistics[0], apart)]


def put_domains(query: Query, session: Session, longer_than: int = -1) -> None:
    """Lend the engine the known values of each key and their places, those of long lists alone."""
    for i, of in enumerate(query.key_types):
        if of.keys is not None and (len(of.keys) > longer_than or not of.keys):
            session.put(f"d{i}", _domain(of.keys, of.kind))


def known_totals(
    statements: SetStatements,
    contributions: ContributionBounds,
    measurements: Sequence[Measurement],
    session: Session,
) -> Totals:
    """Noisy numbers of every combination of known keys, present or not, in their order."""
    keys, groups = known_keys(statements.plan.query)
    places = [
        i
        for i, one in enumerate(statements.compiled.statistics)
        if not isinstance(one, Ranks | Distinct)
    ]
    noisy: list[list[list[NDArray[Any]]]] = [[] for _ in _counted(measurements)]
    stream = session.stream(statements.totals(contributions), groups)
    for exact in dense(stream, groups, len(places)):
        by_place = dict(zip(places, exact, strict=True))
        for slices, one in zip(noisy, _counted(measurements), strict=True):
            slices.append(one.release([by_place[i] for i in _places(statements, one)]))
    return Totals(keys, groups, _joined(noisy, _counted(measurements)))


def _places(statements: SetStatements, measurement: Measurement) -> list[int]:
    """Positions of a strategy's totals among the totals of the question."""
    return [statements.compiled.statistics.index(one) for one in measurement.strategy.statistics]


def known_keys(query: Query) -> tuple[dict[str, pa.Array], int]:
    """Every combination of known keys, in their order, and how many there are."""
    domains = [_domain(of.keys or (), of.kind).column("k") for of in query.key_types]
    sizes = [len(domain) for domain in domains]
    groups = math.prod(sizes)
    return _combined(domains, sizes, groups), groups


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


def found_totals(
    statements: SetStatements,
    contributions: ContributionBounds,
    measurements: Sequence[Measurement],
    session: Session,
    selection: KeySelection | ThresholdedCount,
) -> Totals:
    """Noisy numbers of the groups that are found, in the order of their keys."""
    compiled, counted, batches = statements.compiled, _counted(measurements), []
    noisy: list[list[list[NDArray[Any]]]] = [[] for _ in counted]
    for whole in session.stream(statements.totals(contributions)):
        if isinstance(selection, ThresholdedCount):
            [counts] = selection.count.measurement.release(
                _columns(whole, statements, selection.count.measurement)
            )
            shown = selection.shows(counts)
        else:
            shown = selection.keeps(whole.column("people").to_numpy())
        batch = whole.filter(pa.array(shown))
        batches.append(batch.select(compiled.keys))
        for slices, one in zip(noisy, counted, strict=True):
            if isinstance(selection, ThresholdedCount) and one == selection.count.measurement:
                slices.append([counts[shown]])
            else:
                slices.append(one.release(_columns(batch, statements, one)))
    groups = sum(batch.num_rows for batch in batches)
    # A chunked array of no chunks still has a type: there may be no groups at all.
    kinds = [ARROW[of.kind] for of in compiled.query.key_types]
    keys = {
        name: pa.chunked_array([batch.column(name) for batch in batches], kind).combine_chunks()
        for name, kind in zip(compiled.keys, kinds, strict=True)
    }
    return Totals(keys, groups, _joined(noisy, counted))


def _columns(
    batch: pa.RecordBatch, statements: SetStatements, measurement: Measurement
) -> list[NDArray[np.int64]]:
    """The exact totals of the statistics of a strategy."""
    names = [f"t{place}" for place in _places(statements, measurement)]
    return [batch.column(name).to_numpy(zero_copy_only=False) for name in names]


def _combined(domains: list[pa.ChunkedArray], sizes: list[int], groups: int) -> dict[str, pa.Array]:
    """Every combination of values, the last key changing fastest."""
    if len(domains) == 1:
        return {"k0": domains[0].combine_chunks()}
    keys = {}
    places = np.arange(groups, dtype=np.int64)
    for i, domain in enumerate(domains):
        after = math.prod(sizes[i + 1 :])
        taken = domain.take(pa.array(places // after % sizes[i]))
        keys[f"k{i}"] = taken.combine_chunks()
    return keys


@remember(16)  # by identity: a table's public keys are one value, whoever asks
def _domain(values: tuple[Value, ...], kind: Kind) -> pa.Table:
    return pa.table(
        {"c": pa.array(np.arange(len(values), dtype=np.int64)), "k": pa.array(values, ARROW[kind])}
    )
