"""Run the plan of a grouping set: exact integers of the engine meet their noise, and no more.

Nothing flows backwards: everything was decided before data is touched, and what the engine returns
goes through a mechanism before anything else sees it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answer.estimate.noisy_statistics import ranks_of
from discreet.answer.execute.individual import Admission
from discreet.answer.execute.noisy_measurements import NoisyMeasurements
from discreet.answer.execute.totals import found_totals, known_totals, put_domains
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
from discreet.answer.plan.measure import (
    Measurement,
    quantile_guarantee,
    quantile_scale,
)
from discreet.answer.plan.planning import check_feasible, public_bounds, unit_scale, widest
from discreet.answer.plan.quantile_draws import quantile_draws
from discreet.answer.plan.set_plan import EXACT, FINDING, SetPlan, histogram_of, words
from discreet.answer.plan.sql_statements import SetStatements
from discreet.answer.present.base_release import Cost
from discreet.engines.engine import Deadline, Engine, Session
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.query import AggregateFunction, level_of
from discreet.plan.statistics import Distinct, Ranks, Statistic
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
        cells, chosen = _cells(statements, measurements, session, totals.groups, lost)
        return NoisyMeasurements(
            contributions,
            {} if selection is None else totals.keys,  # what is public need not be stored
            totals.groups,
            (*totals.numbers, *_distincts(statements, measurements, session, totals.groups)),
            {name: chosen_cells for (name, side), chosen_cells in cells.items() if not side},
            (*spent, *(_paid(one, chosen) for one in measurements)),
            bounded.clipped,
            {name: (cells[name, -1], cells[name, 1]) for name in plan.brackets},
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
        spread = ContributionHistogram(noisy, float(mechanism.scale), norm.steps, _top(norm))
        limit = choose(spread, norm, unit_scale(plan, norm), plan.query.group_count)
        found[name] = min(limit, most if name == ROWS else plan.findable(most))
        told[name] = clipped(spread, norm, found[name])
    public = public_bounds(plan.query, plan.noise_kind)
    return BoundedContributions(
        ContributionBounds(
            plan.noise_kind, found.get(ROWS, public.rows), found.get(GROUPS, public.groups)
        ),
        tuple(Cost(histogram_of(name), EXACT, mechanism.guarantee) for name in plan.histograms),
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


def _cells(
    statements: SetStatements,
    measurements: list[Measurement],
    session: Session,
    groups: int,
    lost: float,
) -> tuple[dict[tuple[str, int], NDArray[np.int64]], dict[Statistic, Guarantee]]:
    """The cells of every group, by quantile and side of its interval; what each gave away."""
    plan = statements.plan
    wanted: dict[Ranks, list[tuple[str, Fraction]]] = {}
    for aggregate in plan.query.aggregates:
        if (ranks := ranks_of(plan.query, aggregate)) is not None:
            wanted.setdefault(ranks, []).append((aggregate.name, level_of(aggregate)))
    modes = [a.name for a in plan.query.aggregates if a.measure is AggregateFunction.MODE]
    found: dict[tuple[str, int], NDArray[np.int64]] = {}
    plans = {one.strategy.statistics[0]: one for one in measurements}
    spent: dict[Statistic, Guarantee] = {}
    for statistic, quantiles in wanted.items():
        flips = plan.noise_kind is NoiseKind.LAPLACE
        draws = quantile_draws(quantiles, plan.brackets, lost, modes, flips=flips)
        scales = [quantile_scale(plans[statistic], one.level, one.levels) for one in draws]
        levels = [(one.level, scale) for one, scale in zip(draws, scales, strict=True)]
        spent[statistic] = quantile_guarantee(plans[statistic], levels)
        found |= {(one.name, one.side): np.empty(groups, dtype=np.int64) for one in draws}
        for place, ranked in enumerate(_ranked(statements.ranks(statistic), session, groups)):
            for one, scale in zip(draws, scales, strict=True):
                found[one.name, one.side][place] = one.cell(*ranked, statistic.cells, scale)
    return found, spent


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
