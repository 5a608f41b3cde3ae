"""Many known queries at once: predict every strategy's error, take the best, and say why."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final

import numpy as np

from discreet.errors import InputError
from discreet.privacy import GDP, MU_SQUARED
from discreet.privacy.budgets.filters import amount_within
from discreet.rationals import Real, positive
from discreet.workload.counting_query import CountingQuery
from discreet.workload.domain import Domain
from discreet.workload.histogram import Clique, Floats, JointHistogram, with_noise
from discreet.workload.matrix import MOST_CELLS, MatrixMechanism, RangeBlocks, best_strategy
from discreet.workload.mwem import predicted_error
from discreet.workload.residual import ResidualPlan

_IDENTITY_CELLS: Final = 10**7
_RESIDUAL_CELLS: Final = 10**8
_MATRIX_CELLS: Final = 2 * 10**7
_FEW: Final = 64
_MOST_BLOCKED: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class WorkloadAnswers:
    """Answers to a workload: one number of rows a query, with its error.

    `deviations` are the standard deviations of the answers, which err like Gaussian noise.
    """

    values: Floats
    deviations: Floats
    choice: "StrategyChoice"
    guarantee: GDP

    def half_widths(self, confidence: float = 0.95) -> Floats:
        """How far each answer may be off."""
        return self.deviations * NormalDist().inv_cdf((1 + confidence) / 2)


@dataclass(frozen=True, slots=True)
class WorkloadStrategy:
    """A way to answer a workload whose error is known before data is read.

    `deviations` are the standard deviations of all answers, in rows; `answer` gives noisy answers
    for the mu^2 that the strategy was made for.
    """

    name: str
    deviations: Floats
    answer: Callable[[JointHistogram], Floats]


@dataclass(frozen=True, slots=True)
class StrategyChoice:
    """The predicted error of every strategy, and the chosen one.

    `errors` are root mean squared errors in rows; None if public facts do not determine it, or the
    strategy is too large; see `notes`.
    """

    chosen: str
    errors: dict[str, float | None]
    notes: dict[str, str]

    def __str__(self) -> str:
        lines = [f"{self.chosen}: least root mean squared error of those that can be predicted"]
        for name, error in self.errors.items():
            told = "not predicted" if error is None else f"{error:,.1f} rows"
            lines.append(
                f"  {name}: {told}{' - ' + self.notes[name] if name in self.notes else ''}"
            )
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Setting:
    """Public facts about a workload and its price."""

    domain: Domain
    queries: tuple[CountingQuery, ...]
    mu_squared: Fraction
    histogram: JointHistogram  # for its weights and neighbours alone; nothing of its rows


def _independent(at: _Setting) -> WorkloadStrategy:
    """Noise on every single answer: a person may be counted by all."""
    count = len(at.queries)

    def answer(histogram: JointHistogram) -> Floats:
        cliques = {q.clique: histogram.marginal(q.clique) for q in at.queries}
        exact = np.array([int(q.total(cliques[q.clique])) for q in at.queries])
        noise = histogram.noise(count, at.mu_squared, marginals=count)
        return np.asarray(noise.release(exact) / histogram.row_weight)

    deviation = count**0.5 * at.histogram.sigma(at.mu_squared)
    return WorkloadStrategy("independent", np.full(count, deviation), answer)


def _identity(at: _Setting, columns: Clique) -> WorkloadStrategy:
    """Noise on every cell of the product of all columns that are asked about."""
    rest = [[n for n in columns if n not in q.clique] for q in at.queries]
    cells = [
        q.size * math.prod(at.domain.shape(others))
        for q, others in zip(at.queries, rest, strict=True)
    ]

    def answer(histogram: JointHistogram) -> Floats:
        exact = histogram.marginal(columns)
        noise = histogram.noise(exact.size, at.mu_squared)
        rows = with_noise(exact, noise) / histogram.row_weight
        return np.array([query.over(columns, at.domain).total(rows) for query in at.queries])

    deviations = np.sqrt(np.array(cells, dtype=np.float64)) * at.histogram.sigma(at.mu_squared)
    return WorkloadStrategy("identity", deviations, answer)


def _residual(at: _Setting, cliques: Sequence[Clique]) -> WorkloadStrategy:
    """The marginals of all queries, by residual planning."""
    plan = ResidualPlan.of(at.domain, cliques, mu_squared=at.mu_squared, **at.histogram.terms)
    variances = [plan.sum_variance(q.clique, [len(one) for one in q.cells]) for q in at.queries]

    def answer(histogram: JointHistogram) -> Floats:
        found = plan.measure(histogram).marginals
        return np.array([q.total(found[q.clique]) for q in at.queries])

    return WorkloadStrategy("residual marginals", np.sqrt(variances), answer)


def _matrix(at: _Setting, columns: Clique) -> WorkloadStrategy:
    """The best strategy for a workload over one short list of cells."""
    part = Domain(tuple(at.domain[name] for name in columns))
    rows = np.stack([query.vector(part) for query in at.queries]).astype(np.float64)
    best = MatrixMechanism(best_strategy(rows), mu_squared=at.mu_squared, **at.histogram.terms)

    def answer(histogram: JointHistogram) -> Floats:
        return rows @ best.estimate(best.measure(histogram.marginal(columns).reshape(-1)))

    return WorkloadStrategy("matrix mechanism", np.sqrt(best.query_variance(rows)), answer)


def _range_blocks(
    at: _Setting, column: str, cells: int, ranges: Sequence[tuple[int, int]]
) -> WorkloadStrategy:
    """Ranges of one long column, by blocks and the cells within them."""
    blocks = RangeBlocks.of(cells, ranges, mu_squared=at.mu_squared, **at.histogram.terms)

    def answer(histogram: JointHistogram) -> Floats:
        rows = blocks.estimate(blocks.measure(histogram.marginal((column,))))
        first, end = np.array(ranges).T
        upto = np.concatenate([[0.0], np.cumsum(rows)])
        return np.asarray(upto[end] - upto[first])

    return WorkloadStrategy("range blocks", np.sqrt(blocks.variances(ranges)), answer)


def answer(
    workload: Sequence[CountingQuery],
    histogram: JointHistogram,
    *,
    epsilon: Real,
    delta: Real,
    rows: float | None = None,
) -> WorkloadAnswers:
    """Answer many known queries for one (epsilon, delta), by the strategy that errs least.

    Guarantee:
        sqrt(mu^2)-Gaussian differential privacy for the largest mu that implies (epsilon, delta).
        The choice of the strategy depends only on the queries and public facts.
    Neighbours:
        Those of the histogram.
    Edge cases:
        `rows` is a public guess of the number of rows, for the bounds of strategies whose error
        depends on the data; these are reported and never chosen.
    """
    mu_squared = amount_within(positive(epsilon, "epsilon"), positive(delta, "delta"), MU_SQUARED)
    found, choice = plan_workload(workload, histogram, mu_squared, rows=rows)
    values = found.answer(histogram)
    spent = GDP.of_square(mu_squared, neighbours=histogram.neighbours)
    return WorkloadAnswers(values, found.deviations, choice, spent)


def plan_workload(
    workload: Sequence[CountingQuery],
    histogram: JointHistogram,
    mu_squared: Fraction,
    *,
    rows: float | None = None,
    only: str = "",
) -> tuple[WorkloadStrategy, StrategyChoice]:
    """The strategy that errs least, and the errors of the others; no row is read.

    `only` names the one to use, whatever the errors of the others.
    """
    queries = tuple(workload)
    if not queries:
        raise InputError("no queries", why="there is nothing to answer", fix="name some")
    at = _Setting(histogram.domain, queries, mu_squared, histogram)
    strategies, notes = _strategies(at)
    errors: dict[str, float | None] = {
        one.name: float(np.sqrt((one.deviations**2).mean())) for one in strategies
    }
    best = min(strategies, key=lambda one: (one.name != only, errors[one.name] or 0.0))
    errors.update({name: None for name in notes if name not in errors})
    errors["mwem"] = None
    notes["mwem"] = "its error depends on the data"
    if rows is not None:
        bound = predicted_error(at.domain, queries, rows, float(at.mu_squared) / 2)
        notes["mwem"] += f"; its largest error is below {bound:,.0f} rows"
    return best, StrategyChoice(best.name, errors, notes)


def _strategies(at: _Setting) -> tuple[list[WorkloadStrategy], dict[str, str]]:
    domain, queries = at.domain, at.queries
    found: list[WorkloadStrategy] = [_independent(at)]
    notes: dict[str, str] = {}
    asked = {name for query in queries for name in query.clique}
    columns = tuple(name for name in domain.names if name in asked)
    cells = int(np.prod(domain.shape(columns), dtype=object))
    if cells <= _IDENTITY_CELLS:
        found.append(_identity(at, columns))
    else:
        notes["identity"] = f"{cells:,} cells are too many"
    if columns and cells <= MOST_CELLS and cells * len(queries) <= _MATRIX_CELLS:
        found.append(_matrix(at, columns))
    cliques = list(dict.fromkeys(query.clique for query in queries))
    measured = sum(int(np.prod(domain.shape(one), dtype=object)) for one in cliques)
    if measured <= _RESIDUAL_CELLS:
        found.append(_residual(at, cliques))
    else:
        notes["residual marginals"] = f"{measured:,} cells are too many"
    ranges = _ranges(queries) if len(columns) == 1 and cells > _FEW else None
    if ranges is not None and cells <= _MOST_BLOCKED:
        found.append(_range_blocks(at, columns[0], cells, ranges))
    return found, notes


def _ranges(queries: Sequence[CountingQuery]) -> tuple[tuple[int, int], ...] | None:
    """First cells and ends, where every query is a range of one column."""
    found = []
    for query in queries:
        if len(query.clique) != 1 or not query.cells[0]:
            return None
        first, last = query.cells[0][0], query.cells[0][-1]
        if last - first + 1 != len(query.cells[0]):
            return None
        found.append((first, last + 1))
    return tuple(found)
