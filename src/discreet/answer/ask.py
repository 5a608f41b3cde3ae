"""From a question to noisy statistics: price, engine, noise.

Nothing flows backwards: the budget is split before data is touched, and what the engine returns
goes through a mechanism before anything else sees it.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answer.budget import KEYS, LEAST_KEYS, Budget, Price, split
from discreet.answer.limits import LADDER, Law, Spread, Weighing, by_row, chosen, stated
from discreet.answer.measure import Measurement, measurements, quantile_cells, quantile_scale
from discreet.answer.showing import Showing, shared_count
from discreet.engines.engine import Engine, Session
from discreet.errors import InputError
from discreet.mechanisms import KeySelection, Laplace
from discreet.mechanisms.unknown_keys import read_delta
from discreet.plan.kinds import Kind, Value
from discreet.plan.query import Aggregate, Query, key_types
from discreet.plan.relations import columns_of, tables_of
from discreet.plan.schema import Limits
from discreet.plan.statistics import Distinct, Ranks, Statistic, needed, statistics_of
from discreet.privacy import Guarantee, Neighbours
from discreet.sql.compile import Compiled

_TYPICAL_GROUPS = 100
"""How many groups are reckoned with where their number is not public."""

ARROW = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INTEGER: pa.int64(),
    Kind.REAL: pa.float64(),
    Kind.TEXT: pa.string(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
}


@dataclass(frozen=True, slots=True)
class Measured:
    """What measuring gave: the groups, noisy statistics in their own units, and what it cost.

    `beyond` is about the share of people with more rows than count in full, where that was bought.
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
    beyond: float | None = None


# --- before data is touched ---------------------------------------------------------------------


def limits_of(query: Query) -> Limits:
    """The limits that are stated: by the question, else by all its tables."""
    limits = [table.limits for table in tables_of(query.relation)]
    groups = [limit.max_groups for limit in limits]
    rows = [limit.max_rows for limit in limits]
    return Limits(
        query.limits.max_groups or (max(g or 0 for g in groups) if all(groups) else None),
        query.limits.max_rows or (max(r or 0 for r in rows) if all(rows) else None),
    )


def is_stated(limits: Limits) -> bool:
    """Whether nothing has to be chosen."""
    return limits.max_groups is not None and limits.max_rows is not None


def plan_budget(compiled: Compiled, price: Price) -> Budget:
    """Split the price of a query; public facts alone."""
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
        needed(compiled.query),
        choose_limits=not compiled.by_row and not is_stated(limits_of(compiled.query)),
        find_keys=not compiled.known,
        shared=shared,
    )


def group_count(query: Query) -> int:
    """How many groups there are, where that is public; else what is reckoned with."""
    count = 1
    for of in key_types(query):
        count *= len(of.keys) if of.keys is not None else _TYPICAL_GROUPS
    return count


# --- measuring ----------------------------------------------------------------------------------


def measure(
    query: Query,
    engine: Engine,
    price: Price,
    neighbours: Neighbours,
    laws: Sequence[Law] = tuple(Law),
) -> Measured:
    """Measure a query that has one grouping set."""
    compiled = Compiled(query, tuple(needed(query)), engine.dialect)
    budget = plan_budget(compiled, price)
    salt = os.urandom(16).hex()
    with engine.session() as session:
        if not compiled.by_row:
            session.run(compiled.pairs())
            session.run(compiled.norms())
        weighing, choices, beyond = weigh(compiled, budget, session, neighbours, laws)
        plan = measurements(budget, weighing, neighbours)
        selection = selecting(budget, plan, weighing, neighbours)
        _settle(compiled, budget, weighing, session, salt)
        keys, noisy, groups = _totals(compiled, plan, session, selection)
        names = {"place": pa.array(np.arange(groups, dtype=np.int64)), **keys}
        session.put("groups", pa.table(names))
        noisy |= _distincts(compiled, plan, session, groups, salt)
        quantiles = _quantiles(compiled, plan, session, groups)
    if selection is not None:
        choices.append(("which groups there are", selection.guarantee))
    showing = selection if isinstance(selection, Showing) else None
    costs = tuple(choices)
    return Measured(query, keys, groups, noisy, quantiles, plan, costs, weighing, showing, beyond)


def weigh(
    compiled: Compiled,
    budget: Budget,
    session: Session,
    neighbours: Neighbours,
    laws: Sequence[Law],
) -> tuple[Weighing, list[tuple[str, Guarantee]], float | None]:
    """Settle the limits and the law of the noise: what is expected to err least.

    Also what that costs, and about how many people are over the limit on rows, where it is bought.
    """
    laws = [law for law in laws if law is Law.LAPLACE or budget.rho]
    if not laws:
        raise InputError(
            "Gaussian noise alone is allowed and delta is 0",
            why="Gaussian noise always leaves a small probability of telling more",
            fix="pass a delta such as 1e-6",
        )
    limits = limits_of(compiled.query)
    if compiled.by_row or is_stated(limits):
        options = [by_row(law) if compiled.by_row else stated(limits, law) for law in laws]
        return min(options, key=lambda option: _expected(option, budget)), [], None
    buckets = 1 if neighbours is Neighbours.ADD_REMOVE else 2
    histogram = Laplace(epsilon=budget.choice / 3, sensitivity=buckets, neighbours=neighbours)
    norms = {"l1": LADDER, "l2": tuple(step * step for step in LADDER), "l0": LADDER}
    spreads = {
        name: _spread(session, compiled.spread(name, steps), histogram)
        for name, steps in norms.items()
    }
    count = group_count(compiled.query)
    rows = {Law.LAPLACE: spreads["l1"], Law.GAUSSIAN: spreads["l2"]}
    best = min(
        (chosen(law, rows[law], spreads["l0"], budget, count) for law in laws),
        key=lambda option: option[1],
    )
    weighing, _ = best
    costs: list[tuple[str, Guarantee]]
    costs = [(f"people by {name}", histogram.guarantee) for name in norms]
    return weighing, costs, rows[weighing.law].beyond(weighing.rows)


def _expected(weighing: Weighing, budget: Budget) -> float:
    """The size of the noise, each relative to what one row or person adds."""
    plan = measurements(budget, weighing, Neighbours.ADD_REMOVE)
    return sum(m.typical() for m in plan.values())


def _spread(session: Session, statement: str, histogram: Laplace) -> Spread:
    people = np.zeros(len(LADDER) + 1, dtype=np.int64)
    for batch in session.stream(statement):
        people[batch.column(0).to_numpy()] = batch.column(1).to_numpy()
    return Spread(np.asarray(histogram.release(people), dtype=np.float64), float(histogram.scale))


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
        max_groups_per_unit=_findable(budget, weighing),
        neighbours=neighbours,
    )


def _findable(budget: Budget, weighing: Weighing) -> int:
    """How many groups one person can help to find; more would leave too little for each."""
    if budget.keys is None:
        return weighing.groups
    return min(weighing.groups, int(budget.keys.epsilon / LEAST_KEYS))


def _settle(
    compiled: Compiled, budget: Budget, weighing: Weighing, session: Session, salt: str
) -> None:
    """Write down who is over the limits, and leave them as many groups as may be found."""
    if compiled.by_row:
        return
    square = weighing.law is Law.GAUSSIAN
    rows = weighing.rows**2 if square else weighing.rows
    if budget.finds_keys:  # first, so that nobody is weighed by groups that they do not count in
        for statement in compiled.few_groups(_findable(budget, weighing), salt):
            session.run(statement)
    session.run(compiled.weights("heavy", "l2" if square else "l1", rows, square=square))
    session.run(compiled.weights("roaming", "l0", weighing.groups, square=square))


def _totals(
    compiled: Compiled,
    plan: Mapping[Statistic, Measurement],
    session: Session,
    selection: KeySelection | Showing | None,
) -> tuple[dict[str, pa.Array], dict[Statistic, NDArray[np.float64]], int]:
    """Stream the exact totals, batch by batch through their mechanisms."""
    counted = [
        (i, s) for i, s in enumerate(compiled.statistics) if not isinstance(s, Ranks | Distinct)
    ]
    statement = compiled.totals()
    if selection is None:
        for i, of in enumerate(key_types(compiled.query)):
            session.put(f"d{i}", _domain(of.keys or (), of.kind))
        statement = compiled.everywhere(statement, ["people", *(f"t{i}" for i, _ in counted)])
    batches = []
    noisy: dict[Statistic, list[NDArray[np.float64]]] = {s: [] for _, s in counted}
    for whole in session.stream(statement):
        batch = whole
        measured = {}
        match selection:
            case Showing():
                shared = selection.measurement.statistic
                counts = selection.measurement.release(_column(whole, compiled, shared))
                shown = selection.shows(counts)
                measured[shared] = counts[shown]
                batch = whole.filter(pa.array(shown))
            case KeySelection():
                batch = whole.filter(pa.array(selection.keeps(whole.column("people").to_numpy())))
        batches.append(batch.select(compiled.keys))
        for _, statistic in counted:
            if statistic not in measured:
                totals = _column(batch, compiled, statistic)
                measured[statistic] = plan[statistic].release(totals)
            noisy[statistic].append(plan[statistic].scaled(measured[statistic]))
    groups = sum(batch.num_rows for batch in batches)
    # A chunked array of no chunks still has a type: there may be no groups at all.
    kinds = [ARROW[of.kind] for of in key_types(compiled.query)]
    keys = {
        name: pa.chunked_array([batch.column(name) for batch in batches], kind).combine_chunks()
        for name, kind in zip(compiled.keys, kinds, strict=True)
    }
    empty = np.empty(0)
    return keys, {s: np.concatenate([empty, *parts]) for s, parts in noisy.items()}, groups


def _column(batch: pa.RecordBatch, compiled: Compiled, statistic: Statistic) -> NDArray[np.int64]:
    """The exact totals of a statistic."""
    name = f"t{compiled.statistics.index(statistic)}"
    totals: NDArray[np.int64] = batch.column(name).to_numpy(zero_copy_only=False)
    return totals


def _distincts(
    compiled: Compiled,
    plan: Mapping[Statistic, Measurement],
    session: Session,
    groups: int,
    salt: str,
) -> dict[Statistic, NDArray[np.float64]]:
    """Noisy numbers of different values."""
    found: dict[Statistic, NDArray[np.float64]] = {}
    for statistic in compiled.statistics:
        if isinstance(statistic, Distinct):
            measurement = plan[statistic]
            totals = np.zeros(groups, dtype=np.int64)
            statement = compiled.distincts(statistic, measurement.weighing.rows, salt)
            for batch in session.stream(statement):
                totals[batch.column(0).to_numpy()] = batch.column(1).to_numpy()
            found[statistic] = measurement.scaled(measurement.release(totals))
    return found


# --- quantiles ----------------------------------------------------------------------------------


def level_of(aggregate: Aggregate) -> Fraction:
    """The quantile that an aggregate asks for; MIN and MAX are the ends of the middle 99.9 %."""
    if aggregate.level is not None:
        return aggregate.level
    return {"min": Fraction(1, 2000), "max": Fraction(1999, 2000)}[aggregate.measure.value]


def _quantiles(
    compiled: Compiled, plan: Mapping[Statistic, Measurement], session: Session, groups: int
) -> dict[str, NDArray[np.float64]]:
    """Private quantiles of every group, by aggregate."""
    scope = columns_of(compiled.query.relation)
    wanted: dict[Ranks, list[Aggregate]] = {}
    for aggregate in compiled.query.aggregates:
        (first, *_) = statistics_of(aggregate, scope)
        if isinstance(first, Ranks):
            wanted.setdefault(first, []).append(aggregate)
    answers: dict[str, NDArray[np.float64]] = {}
    for statistic, aggregates in wanted.items():
        ranked = _ranked(compiled.ranks(statistic), session, groups)
        for aggregate in aggregates:
            scale = quantile_scale(plan[statistic], level_of(aggregate), len(aggregates))
            answers[aggregate.name] = np.array(
                [_quantile(statistic, aggregate, cells, scale) for cells in ranked]
            )
    return answers


def _ranked(
    statement: str, session: Session, groups: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The occupied cells of every group and the weight in each, in the order of the groups."""
    columns: list[list[NDArray[np.int64]]] = [[], [], []]
    for batch in session.stream(statement):
        for column, part in zip(columns, batch.columns, strict=True):
            column.append(part.to_numpy())
    empty = np.empty(0, dtype=np.int64)
    places, cells, weights = (np.concatenate([empty, *column]) for column in columns)
    if not groups:
        return []
    ends = np.searchsorted(places, np.arange(1, groups))
    return list(zip(np.split(cells, ends), np.split(weights, ends), strict=True))


def _quantile(
    statistic: Ranks,
    aggregate: Aggregate,
    group: tuple[NDArray[np.int64], NDArray[np.int64]],
    scale: Fraction,
) -> float:
    """The middle of the cell that was chosen."""
    cell = quantile_cells(*group, statistic.cells, level_of(aggregate), scale)
    width = (statistic.high - statistic.low) / statistic.cells
    return statistic.low + (cell + 0.5) * width


def _domain(values: tuple[Value, ...], kind: Kind) -> pa.Table:
    """The known values of one key and their places."""
    return pa.table(
        {"c": pa.array(range(len(values)), pa.int64()), "k": pa.array(values, ARROW[kind])}
    )
