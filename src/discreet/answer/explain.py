"""What a question will cost and how well it will be answered, told before it is asked.

The query, the schema and the price are read, and nothing else: there is no way from here to a row.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import pyarrow as pa

from discreet.answer.ask import (
    ROWS,
    group_count,
    is_stated,
    limits_of,
    pick_law,
    plan_budget,
    weigh,
    within_groups,
)
from discreet.answer.budget import Budget, Price, largest_rho
from discreet.answer.expected import Expected, expect, scale_of
from discreet.answer.explained import render_explanation
from discreet.answer.facts import Facts, facts_of
from discreet.answer.figures import cost, counted, plain
from discreet.answer.limits import Law, Weighing
from discreet.answer.measure import Measurement, measurements
from discreet.answer.parts import Part as Answered
from discreet.answer.release import Release
from discreet.answer.sets import single_sets
from discreet.answer.showing import Showing
from discreet.answer.statements import statements
from discreet.engines.engine import Engine
from discreet.errors import InvariantBroken
from discreet.mechanisms import KeySelection
from discreet.plan.query import Aggregate, Query
from discreet.plan.relations import columns_of, has_one_row_each, tables_of
from discreet.plan.schema import Limits, Person
from discreet.plan.statistics import Ranks, Rows, Statistic, needed, statistics_in
from discreet.privacy import Neighbours
from discreet.sql.compile import Compiled
from discreet.sql.dialect import Dialect

EXAMPLES = (1, 10, 100)
"""Limits for which noise is told where they are to be chosen."""


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement: what, for which columns, its share of the price and its noise.

    `moves` is how far one person moves it at most, `scale` the scale of its noise, both in rows,
    people or values.
    """

    what: str
    columns: tuple[str, ...]
    share: Fraction
    law: Law
    cost: Fraction
    moves: float
    scale: float


@dataclass(frozen=True, slots=True)
class Finding:
    """How groups that nobody listed will be found.

    A group with `people` people is shown with probability 95 % or more; a single person shows one
    with probability `delta` at most. Both hold for a person in one group. `epsilon` is 0 where a
    count that is measured anyway decides; `people` then holds for the limits of the first option.
    """

    epsilon: Fraction
    delta: Fraction
    people: int


@dataclass(frozen=True, slots=True)
class Option:
    """A law of noise with limits, and what to expect of each column under them."""

    weighing: Weighing
    lines: tuple[Line, ...]
    expected: Mapping[str, Expected]


@dataclass(frozen=True, slots=True)
class Part:
    """One grouping set: its groups, limits and noise.

    `groups` is None where groups have to be found. There is one option where the limits are stated,
    and several, for examples, where they are chosen: `choice` of epsilon then buys what is `learnt`
    about people, their rows, their groups, or both. `clipped` is the share of people who are
    expected to have more than the limits: 0 where public facts prove it, else what an earlier
    answer told, off by `clipped_error` at most, None where nothing is known. `hints` tell what
    would make the question cheaper, or tell more.
    """

    keys: tuple[str, ...]
    groups: int | None
    finding: Finding | None
    limits: Limits | None
    choice: Fraction
    options: tuple[Option, ...]
    sql: tuple[str, ...]
    clipped: float | None = None
    hints: tuple[str, ...] = ()
    clipped_error: float | None = None
    learnt: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """A question's plan and price, in public facts alone."""

    price: Price
    neighbours: Neighbours
    facts: Facts
    parts: tuple[Part, ...]

    @property
    def sql(self) -> tuple[str, ...]:
        """All statements that will run."""
        return tuple(statement for part in self.parts for statement in part.sql)

    def half_width(self, column: str) -> float | None:
        """The half-width to expect of a column; None where limits have yet to be chosen."""
        found = [part.options[0].expected.get(column) for part in self.parts]
        if any(len(part.options) > 1 for part in self.parts):
            return None
        return max((one.half_width for one in found if one is not None), default=None)

    def __repr__(self) -> str:
        return render_explanation(self)


def explain(
    query: Query,
    engine: Engine | Dialect,
    price: Price,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    laws: Sequence[Law] = tuple(Law),
) -> Explanation:
    """Explain a query for a price; the engine is asked for its dialect and for nothing else."""
    dialect = engine if isinstance(engine, Dialect) else engine.dialect
    share = price.over(len(query.sets))
    parts = tuple(_part(one, dialect, share, neighbours, laws) for one in single_sets(query))
    return Explanation(price, neighbours, facts_of(query), parts)


def recall(explanation: Explanation, earlier: Sequence[Release]) -> Explanation:
    """The same, with what earlier answers to the question told of how many people are clipped.

    The newest comes first. Only limits that are chosen again are like those of an earlier answer.
    """
    told = [one.parts for one in earlier if len(one.parts) == len(explanation.parts)]
    parts = (
        _recalled(part, [parts[i] for parts in told]) if part.choice else part
        for i, part in enumerate(explanation.parts)
    )
    return replace(explanation, parts=tuple(parts))


def _recalled(part: Part, earlier: Sequence[Answered]) -> Part:
    for one in earlier:
        if one.beyond is not None:
            error = one.clipped[ROWS].error if ROWS in one.clipped else None
            return replace(part, clipped=one.beyond, clipped_error=error)
    return part


class Sealed:
    """A session that holds no data and gives none; public facts get by without."""

    def keep(self, name: str, select: str) -> None:
        """Refuse."""
        del name, select
        raise _touched()

    def stream(self, select: str) -> Iterator[pa.RecordBatch]:
        """Refuse."""
        del select
        raise _touched()

    def put(self, name: str, table: pa.Table) -> None:
        """Refuse."""
        del name, table
        raise _touched()


def _touched() -> InvariantBroken:
    return InvariantBroken(
        "an explanation tried to read data",
        why="it is made of public facts alone",
        fix="report this as a fault",
    )


def _part(
    query: Query, dialect: Dialect, price: Price, neighbours: Neighbours, laws: Sequence[Law]
) -> Part:
    compiled = Compiled(query, needed(query), dialect)
    budget = plan_budget(compiled, price)
    limits = limits_of(query)
    law = pick_law(compiled, budget, laws)
    if budget.histograms:
        weighings = [Weighing(law, limit, within_groups(limit, query)) for limit in EXAMPLES]
    else:
        weighings = [weigh(compiled, budget, Sealed(), neighbours, laws).weighing]
    return Part(
        tuple(key.name for key in query.keys),
        group_count(query) if compiled.known else None,
        _finding(budget, weighings[0], neighbours),
        None if compiled.by_row or budget.histograms else limits,
        budget.choice,
        _options(query, budget, weighings, neighbours),
        tuple(statements(compiled, weighings[1 % len(weighings)])),
        _clipped(compiled, budget),
        (*_hints(query), *_offers(compiled, budget, price, weighings[0])),
        learnt=budget.histograms,
    )


def _clipped(compiled: Compiled, budget: Budget) -> float | None:
    """The share of people who are clipped, where public facts prove that nobody is."""
    limits = limits_of(compiled.query)
    once = not budget.histograms and not is_stated(limits)  # people count once, whatever they have
    nobody = compiled.by_row or once or has_one_row_each(compiled.query.relation)
    return 0.0 if nobody else None


def _offers(compiled: Compiled, budget: Budget, price: Price, one: Weighing) -> Iterator[str]:
    """Where limits are stated: a question that tells how many people have more, and its price."""
    tables = tables_of(compiled.query.relation)
    if budget.histograms or _clipped(compiled, budget) == 0 or len(tables) != 1:
        return
    if isinstance(tables[0].unit, Person):
        limits, dialect = limits_of(compiled.query), compiled.dialect
        most = (limits.max_groups or 1) * (limits.max_rows or 1)
        column, table = map(dialect.identifier, (tables[0].unit.column, tables[0].name))
        each = " ".join(
            ["SELECT", column, "FROM", table, "GROUP BY", column, f"HAVING COUNT(*) > {most}"]
        )
        question = f"COUNT(*) AS n FROM ({each}) AS p"
        yield (
            f"how many people have more than {counted(most, 'row')} in all is told by"
            f" SELECT {question}, {_offer(price, one)}"
        )


def _offer(price: Price, one: Weighing) -> str:
    """How well a count of people is told for a tenth of a price, where noise is made for that."""
    epsilon = price.epsilon / 10
    paid = epsilon if one.law is Law.LAPLACE else largest_rho(epsilon, price.delta)
    if not paid:
        return "the more is paid, the better"
    count = Measurement(Rows(None), Weighing(one.law, 1, 1), paid, Neighbours.ADD_REMOVE)
    width = math.ceil(count.error())
    return f"for epsilon {cost(epsilon)} to within {width:,}"


def _hints(query: Query) -> Iterator[str]:
    """Where rows and values are both counted: one count would do if no value were NULL."""
    needs = statistics_in(query)
    counted = {one for all_ in needs.values() for one in all_ if isinstance(one, Rows)}
    users: dict[Rows, list[Aggregate]] = {}
    for aggregate, (first, *_) in needs.items():
        if isinstance(first, Rows) and first.where != aggregate.where:
            users.setdefault(first, []).append(aggregate)
    for all_of_one in users.values():
        if Rows(all_of_one[0].where) in counted:
            names = ", ".join(plain(one.name) for one in all_of_one)
            yield (
                f"rows are counted, and values that are not NULL for {names}: two counts are paid"
                " for. One would do with COUNT(x) of those values in place of COUNT(*), or with"
                " columns that the owner declares required"
            )


def _finding(budget: Budget, weighing: Weighing, neighbours: Neighbours) -> Finding | None:
    if budget.shared is not None:
        count = measurements(budget, weighing, neighbours)[budget.shared]
        people = Showing(count, budget.hidden, weighing.groups).certain_people(Fraction(19, 20))
        return Finding(Fraction(0), budget.hidden, people)
    if budget.keys is None:
        return None
    selection = KeySelection(
        epsilon=budget.keys.epsilon, delta=budget.keys.delta, neighbours=neighbours
    )
    return Finding(budget.keys.epsilon, budget.keys.delta, int(selection.error(0.95)) + 1)


def _options(
    query: Query, budget: Budget, weighings: list[Weighing], neighbours: Neighbours
) -> tuple[Option, ...]:
    scope = columns_of(query.relation)
    needs = statistics_in(query)
    users: dict[Statistic, list[str]] = {}
    for aggregate, statistics in needs.items():
        for statistic in statistics:
            users.setdefault(statistic, []).append(aggregate.name)
    options = []
    for weighing in weighings:
        plan = measurements(budget, weighing, neighbours)
        expected = {
            one.name: expect(one, plan, scope, all_, sharing=len(users[all_[0]]))
            for one, all_ in needs.items()
        }
        lines = tuple(
            _line(one, budget.shares[weighing.law][s], users[s]) for s, one in plan.items()
        )
        options.append(Option(weighing, lines, expected))
    return tuple(options)


def _line(measurement: Measurement, share: Fraction, users: list[str]) -> Line:
    statistic = measurement.statistic
    return Line(
        type(statistic).__name__.lower(),
        tuple(users),
        share,
        measurement.law,
        measurement.cost,
        float(measurement.reach) / measurement.unit,
        0.0 if isinstance(statistic, Ranks) else scale_of(measurement),
    )
