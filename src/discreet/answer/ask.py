"""From a question to noisy statistics: price, engine, noise.

Nothing flows backwards: the budget is split before data is touched, and what the engine returns
goes through a mechanism before anything else sees it.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answer.budget import KEYS, LEAST_KEYS, Budget, Price, split
from discreet.answer.choosing import choose, clipped, typical, unit_scale
from discreet.answer.drawn import Drawn
from discreet.answer.feasible import check_feasible, widest
from discreet.answer.limits import (
    Clipped,
    GroupNorm,
    Law,
    Norm,
    RowNorm,
    Weighing,
    by_row,
    stated,
)
from discreet.answer.measure import (
    Measurement,
    histogram,
    measurements,
    quantile_cells,
    quantile_scale,
)
from discreet.answer.showing import Showing, shared_count
from discreet.answer.spread import Spread
from discreet.answer.totals import counted, found_totals, known_keys, known_totals, put_domains
from discreet.engines.engine import Deadline, Engine, Session
from discreet.errors import InputError
from discreet.mechanisms import KeySelection, Laplace
from discreet.mechanisms.unknown_keys import read_delta
from discreet.plan.query import Aggregate, Query, key_types, level_of
from discreet.plan.relations import columns_of, has_one_row_each, tables_of
from discreet.plan.schema import Limits
from discreet.plan.statistics import (
    Distinct,
    People,
    Ranks,
    Statistic,
    needed,
    statistics_of,
)
from discreet.plan.work import MOST_ROWS_EACH, bound_work, check_work
from discreet.privacy import Guarantee, Neighbours
from discreet.sql.compile import Compiled
from discreet.sql.duckdb import DuckDB

_TYPICAL_GROUPS = 100
"""How many groups are reckoned with where their number is not public."""

ROWS, GROUPS = "rows", "groups"
"""What histograms count people by."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What measuring gave: the groups, noisy statistics in their own units, and what it cost.

    `clipped` is what the limits on rows and on groups cut off, where the system chose them.
    """

    query: Query
    keys: Mapping[str, pa.Array]
    groups: int
    statistics: Mapping[Statistic, NDArray[np.float64]]
    quantiles: Mapping[str, NDArray[np.float64]]
    measurements: Mapping[Statistic, Measurement]
    choices: tuple[tuple[str, Guarantee], ...]
    weighing: Weighing
    showing: Showing | None = None
    clipped: Mapping[str, Clipped] = field(default_factory=dict)

    @property
    def finds_groups(self) -> bool:
        """Whether groups had to be found."""
        return any(of.keys is None for of in key_types(self.query))

    def sliced(self, first: int, count: int) -> "Measured":
        """The same of some of the groups."""
        some = slice(first, first + count)
        return replace(
            self,
            keys={name: column.slice(first, count) for name, column in self.keys.items()},
            groups=min(count, self.groups - first),
            statistics={of: values[some] for of, values in self.statistics.items()},
            quantiles={name: values[some] for name, values in self.quantiles.items()},
        )


# --- before data is touched ---------------------------------------------------------------------


def limits_of(query: Query) -> Limits:
    """The limits that are stated: by the question, else by all its tables.

    Nobody is in more groups than there are, or has more rows than a subquery leaves them.
    """
    if has_one_row_each(query.relation):
        return Limits(1, 1)
    limits = [table.limits for table in tables_of(query.relation)]
    groups = [limit.max_groups for limit in limits]
    rows = [limit.max_rows for limit in limits]
    stated = query.limits.max_groups or (max(g or 0 for g in groups) if all(groups) else None)
    return Limits(
        None if stated is None else within_groups(stated, query),
        query.limits.max_rows or (max(r or 0 for r in rows) if all(rows) else None),
    )


def is_stated(limits: Limits) -> bool:
    """Whether nothing has to be chosen."""
    return limits.max_groups is not None and limits.max_rows is not None


def histograms_of(compiled: Compiled) -> tuple[str, ...]:
    """What has to be learnt about people before limits can be chosen: by public facts alone.

    Nothing where limits are stated; nothing about rows where people alone are counted; nothing
    about groups where there is one, or where nobody is counted and all groups are public.
    """
    limits = limits_of(compiled.query)
    if compiled.by_row or is_stated(limits):
        return ()
    people = [isinstance(statistic, People) for statistic in compiled.statistics]
    several = not compiled.known or group_count(compiled.query) > 1
    wanted = several and limits.max_groups is None and (any(people) or not compiled.known)
    return (*([] if all(people) else [ROWS]), *([GROUPS] if wanted else []))


def norms_of(compiled: Compiled, law: Law) -> tuple[Norm, ...]:
    """The norms of people that histograms are made of, in the order of `histograms_of`."""
    count = group_count(compiled.query)
    norms: dict[str, Norm]
    norms = {ROWS: RowNorm(law, count), GROUPS: GroupNorm(law, count, not compiled.known)}
    return tuple(norms[name] for name in histograms_of(compiled))


def plan_budget(compiled: Compiled, price: Price) -> Budget:
    """Split the price of a query; public facts alone."""
    check_work(bound_work(compiled.query, MOST_ROWS_EACH))
    if not compiled.known and not price.delta:
        raise InputError(
            "the groups of this question are not public and delta is 0",
            why="which groups exist can only be told with a small probability of telling too much",
            fix="pass a delta such as 1e-6, or declare Keys for the columns that are grouped by",
        )
    if not compiled.known:
        read_delta(price.delta / 2)  # refused now where it is too small for any threshold
    shared = None if compiled.known else shared_count(compiled)
    if not compiled.known and shared is None and price.epsilon * KEYS < LEAST_KEYS:
        raise InputError(
            "the groups of this question are not public and epsilon is very small",
            why="nothing can be told about which groups exist for so little",
            fix=f"pass epsilon >= {float(LEAST_KEYS / KEYS):g}, or declare Keys for the columns",
        )
    return split(
        price,
        compiled.query,
        histograms=histograms_of(compiled),
        groups=group_count(compiled.query),
        find_keys=not compiled.known,
        shared=shared,
    )


def within_groups(limit: int, query: Query) -> int:
    """A limit on one person's groups, no higher than the number of groups where that is public."""
    public = all(of.keys is not None for of in key_types(query))
    return min(limit, group_count(query)) if public else limit


def group_count(query: Query) -> int:
    """How many groups there are, where that is public; else what is reckoned with."""
    count = 1
    for of in key_types(query):
        count *= len(of.keys) if of.keys is not None else _TYPICAL_GROUPS
    return count


# --- measuring ----------------------------------------------------------------------------------


def draw(
    query: Query,
    engine: Engine,
    price: Price,
    neighbours: Neighbours,
    laws: Sequence[Law] = tuple(Law),
    until: Deadline | None = None,
) -> Drawn:
    """Measure a query that has one grouping set: exact integers meet their noise, and no more."""
    salt = os.urandom(16).hex()
    compiled = Compiled(query, needed(query), engine.dialect, salt)
    budget = plan_budget(compiled, price)
    with engine.session(until) as session:
        put_domains(compiled, session)
        if not compiled.by_row:
            session.run(compiled.pairs())
            session.run(compiled.norms())
        weighed = weigh(compiled, budget, session, neighbours, laws)
        weighing, choices = weighed.weighing, list(weighed.costs)
        check_feasible(budget, weighing, neighbours)
        plan = measurements(budget, weighing, neighbours)
        selection = selecting(budget, plan, weighing, neighbours)
        _settle(compiled, budget, weighing, session, salt)
        if selection is None:
            totals = known_totals(compiled, plan, session)
        else:
            totals = found_totals(compiled, plan, session, selection)
            choices.append(("which groups there are", selection.guarantee))
        if any(isinstance(statistic, Ranks | Distinct) for statistic in plan):
            places = pa.array(np.arange(totals.groups, dtype=np.int64))
            session.put("groups", pa.table({"place": places, **totals.keys}))
        distincts = _distincts(compiled, plan, session, totals.groups, salt)
        return Drawn(
            weighing,
            {} if compiled.known else totals.keys,  # what is public need not be stored
            totals.groups,
            (*totals.statistics.values(), *distincts),
            _cells(compiled, plan, session, totals.groups),
            tuple(choices),
            weighed.clipped,
        )


def interpret(query: Query, drawn: Drawn, price: Price, neighbours: Neighbours) -> Measured:
    """What was drawn for a query, with the units and the noise of each number; reads no data."""
    compiled = Compiled(query, needed(query), DuckDB())
    budget = plan_budget(compiled, price)
    plan = measurements(budget, drawn.weighing, neighbours)
    selection = selecting(budget, plan, drawn.weighing, neighbours)
    names = [*counted(compiled), *_distinct(compiled)]
    return Measured(
        query,
        known_keys(compiled)[0] if compiled.known else drawn.keys,
        drawn.groups,
        {one: plan[one].scaled(noisy) for one, noisy in zip(names, drawn.statistics, strict=True)},
        {name: _middles(query, name, cells) for name, cells in drawn.cells.items()},
        plan,
        drawn.choices,
        drawn.weighing,
        selection if isinstance(selection, Showing) else None,
        drawn.clipped,
    )


@dataclass(frozen=True, slots=True)
class Weighed:
    """Limits and a law of noise; what learning them cost, and what they cut off."""

    weighing: Weighing
    costs: tuple[tuple[str, Guarantee], ...] = ()
    clipped: Mapping[str, Clipped] = field(default_factory=dict)


def weigh(
    compiled: Compiled,
    budget: Budget,
    session: Session,
    neighbours: Neighbours,
    laws: Sequence[Law],
) -> Weighed:
    """Settle the limits: those that are stated, else what noisy histograms of people suggest."""
    law = pick_law(compiled, budget, laws)
    if not budget.histograms:
        return Weighed(_public(compiled, law))
    mechanism = histogram(budget, neighbours)
    most, count = widest(budget, law, neighbours), group_count(compiled.query)
    found, told = {}, {}
    for name, norm in zip(budget.histograms, norms_of(compiled, law), strict=True):
        spread = _spread(session, compiled.spread(norm.name, norm.bounds), mechanism, norm)
        limit = choose(spread, norm, unit_scale(budget, law, norm), count)
        found[name] = min(limit, most if name == ROWS else _findable(budget, most))
        told[name] = clipped(spread, norm, found[name])
    public = _public(compiled, law)
    return Weighed(
        Weighing(law, found.get(ROWS, public.rows), found.get(GROUPS, public.groups)),
        tuple((f"people by {name}", mechanism.guarantee) for name in budget.histograms),
        {name: one for name, one in told.items() if one is not None},
    )


def pick_law(compiled: Compiled, budget: Budget, laws: Sequence[Law]) -> Law:
    """The law that is expected to err least, by public facts alone."""
    possible = [law for law in laws if law is Law.LAPLACE or budget.rho]
    if not possible:
        raise InputError(
            "Gaussian noise alone is allowed and delta is 0",
            why="Gaussian noise always leaves a small probability of telling more",
            fix="pass a delta such as 1e-6",
        )
    count = group_count(compiled.query)
    if budget.histograms:
        options = [typical(law, count) for law in possible]
    else:
        options = [_public(compiled, law) for law in possible]
    return min(options, key=lambda option: _expected(option, budget)).law


def _public(compiled: Compiled, law: Law) -> Weighing:
    """Limits as far as public facts have them; 1 for what no statistic depends on."""
    return by_row(law) if compiled.by_row else stated(limits_of(compiled.query), law)


def _expected(weighing: Weighing, budget: Budget) -> float:
    """How far noise moves all aggregates, relative to what one row or person adds."""
    plan = measurements(budget, weighing, Neighbours.ADD_REMOVE)
    sizes = {statistic: measurement.typical() for statistic, measurement in plan.items()}
    return sum(one.weight * one.error(sizes) for one in budget.influences[weighing.law])


def _spread(session: Session, statement: str, mechanism: Laplace, norm: Norm) -> Spread:
    people = np.zeros(len(norm.bounds) + 1, dtype=np.int64)
    for batch in session.stream(statement):
        people[batch.column(0).to_numpy()] = batch.column(1).to_numpy()
    noisy = np.asarray(mechanism.release(people), dtype=np.float64)
    top = norm.groups if isinstance(norm, GroupNorm) and not norm.found else None
    return Spread(noisy, float(mechanism.scale), norm.steps, top)


def selecting(
    budget: Budget,
    plan: Mapping[Statistic, Measurement],
    weighing: Weighing,
    neighbours: Neighbours,
) -> KeySelection | Showing | None:
    """How groups are found; None where all of them are public."""
    if budget.shared is not None:
        return Showing(plan[budget.shared], budget.hidden, weighing.groups)
    if budget.keys is None:
        return None
    return KeySelection(
        epsilon=budget.keys.epsilon,
        delta=budget.keys.delta,
        max_groups_per_unit=_findable(budget, weighing.groups),
        neighbours=neighbours,
    )


def _findable(budget: Budget, groups: int) -> int:
    """How many groups one person can help to find; more would leave too little for each."""
    if budget.keys is None:
        return groups
    return min(groups, int(budget.keys.epsilon / LEAST_KEYS))


def _settle(
    compiled: Compiled, budget: Budget, weighing: Weighing, session: Session, salt: str
) -> None:
    """Write down who is over the limits, and leave them as many groups as may be found."""
    if compiled.by_row:
        return
    square = weighing.law is Law.GAUSSIAN
    rows = weighing.rows**2 if square else weighing.rows
    if budget.finds_keys:  # first, so that nobody is weighed by groups that they do not count in
        for statement in compiled.few_groups(_findable(budget, weighing.groups), salt):
            session.run(statement)
    session.run(compiled.weights("heavy", "l2" if square else "l1", rows, square=square))
    session.run(compiled.weights("roaming", "l0", weighing.groups, square=square))


def _distinct(compiled: Compiled) -> list[Distinct]:
    return [one for one in compiled.statistics if isinstance(one, Distinct)]


def _distincts(
    compiled: Compiled,
    plan: Mapping[Statistic, Measurement],
    session: Session,
    groups: int,
    salt: str,
) -> Iterator[NDArray[Any]]:
    """Noisy numbers of different values."""
    for statistic in _distinct(compiled):
        measurement = plan[statistic]
        totals = np.zeros(groups, dtype=np.int64)
        statement = compiled.distincts(statistic, measurement.weighing.rows, salt)
        for batch in session.stream(statement):
            totals[batch.column(0).to_numpy()] = batch.column(1).to_numpy()
        yield measurement.release(totals)


# --- quantiles ----------------------------------------------------------------------------------


def _cells(
    compiled: Compiled, plan: Mapping[Statistic, Measurement], session: Session, groups: int
) -> dict[str, NDArray[np.int64]]:
    """The cell of each private quantile of every group, by aggregate."""
    wanted: dict[Ranks, list[Aggregate]] = {}
    for aggregate in compiled.query.aggregates:
        if (ranks := _ranks(compiled.query, aggregate)) is not None:
            wanted.setdefault(ranks, []).append(aggregate)
    found = {a.name: np.empty(groups, dtype=np.int64) for some in wanted.values() for a in some}
    for statistic, aggregates in wanted.items():
        scales = [quantile_scale(plan[statistic], level_of(a), len(aggregates)) for a in aggregates]
        for place, ranked in enumerate(_ranked(compiled.ranks(statistic), session, groups)):
            for aggregate, scale in zip(aggregates, scales, strict=True):
                level = level_of(aggregate)
                cell = quantile_cells(*ranked, statistic.cells, level, scale)
                found[aggregate.name][place] = cell
    return found


def _ranks(query: Query, aggregate: Aggregate) -> Ranks | None:
    """The statistic of a quantile; None for other aggregates."""
    first = statistics_of(aggregate, columns_of(query.relation))[0]
    return first if isinstance(first, Ranks) else None


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


def _middles(query: Query, name: str, cells: NDArray[np.int64]) -> NDArray[np.float64]:
    """The middle of each cell that was chosen for a quantile."""
    (ranks,) = (_ranks(query, one) for one in query.aggregates if one.name == name)
    assert ranks is not None  # noqa: S101 - narrowing: cells are of quantiles
    width = (ranks.high - ranks.low) / ranks.cells
    return np.asarray(ranks.low + (cells + 0.5) * width, dtype=np.float64)
