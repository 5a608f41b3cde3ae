"""Cost and expected error of a question, shown before it is charged.

The query, the schema and the price are read, and nothing else: this code has no access to rows.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.answer.estimate.consistency import Noises, shrunk_noises
from discreet.answer.estimate.error_bars import ExpectedError, expect
from discreet.answer.execute.individual import PARTICIPANTS
from discreet.answer.plan.contribution_histogram import ROWS
from discreet.answer.plan.measure import Measurement, StatisticNoise
from discreet.answer.plan.price import Price
from discreet.answer.plan.set_plan import SetPlan, amount_for
from discreet.answer.plan.sql_statements import example_statements, examples
from discreet.answer.plan.thresholded_count import ThresholdedCount
from discreet.answer.present.explanation_text import explanation_page, render_explanation
from discreet.answer.present.number_text import cost
from discreet.answer.present.release import Release
from discreet.plan.bounding import ContributionBounds, NoiseKind, is_stated, limits_of
from discreet.plan.public_facts import PublicFacts, facts_of, missing_rows
from discreet.plan.relations import JoinPerson, Union, columns_of, nodes_of
from discreet.plan.schema import Limits, Person, counted
from discreet.plan.sensitivity import Strategy
from discreet.plan.statistics import Ranks, Rows, Statistic, statistics_in
from discreet.privacy import Neighbours
from discreet.sql.writer.dialect import Dialect

if TYPE_CHECKING:
    from discreet.answer.measurement_plan import MeasurementPlan


@dataclass(frozen=True, slots=True)
class ExplainedMeasurement:
    """One statistic: what, for which columns, its share of the price and its noise.

    A share of 0 means that it is measured together with the one before it, at no extra cost.
    `moves` is how far one person moves it at most, `scale` the scale of its noise, both in rows,
    people or values.
    """

    what: str
    columns: tuple[str, ...]
    share: Fraction
    noise_kind: NoiseKind
    cost: Fraction
    moves: float
    scale: float


@dataclass(frozen=True, slots=True)
class Finding:
    """How groups without a list will be found.

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

    contributions: ContributionBounds
    lines: tuple[ExplainedMeasurement, ...]
    expected: Mapping[str, ExpectedError]


@dataclass(frozen=True, slots=True)
class ExplainedSet:
    """One grouping set: its groups, limits and noise.

    `groups` is None where groups have to be found. There is one option where the limits are stated,
    and several, for examples, where they are chosen: `choice` (epsilon, or rho of Gaussian
    `choice_noise`) then buys what is `learnt` about people, their rows, their groups, or both.
    `clipped` is the share of people who are expected to have more than the limits: 0 if public
    facts prove it, else from an earlier answer, off by at most `clipped_error`, None if unknown. Of
    what people far beyond the limit on rows pay for them, a share `second` pays for a second
    histogram of those people. `hints` say what would make the question cheaper or more accurate.
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
    choice_noise: NoiseKind = NoiseKind.LAPLACE
    second: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """A question's plan and price, in public facts alone."""

    price: Price
    neighbours: Neighbours
    facts: PublicFacts
    parts: tuple[ExplainedSet, ...]
    share: str | None = None
    """A sentence on how much of which budget it takes; None if there is no budget."""

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

    def _repr_html_(self) -> str:
        return explanation_page(self)


def explain(plan: "MeasurementPlan", dialect: Dialect) -> Explanation:
    """Explain the plan of a question; the dialect writes its SQL."""
    query, sets, people = plan.query, plan.sets, plan.participants
    bounds = [(one.query, one.contributions) for one in sets]
    noises = [{} if b is None else one.noises(b) for one, (_, b) in zip(sets, bounds, strict=True)]
    shrunk = noises if query.then or len(sets) == 1 else shrunk_noises(bounds, noises)
    texts = [example_statements(one, dialect, participants=people) for one in sets]
    each = plan.price.over(len(sets))
    parts = tuple(_part(*one, dialect, each) for one in zip(sets, shrunk, texts, strict=True))
    facts = facts_of(query)
    if people:
        facts = replace(facts, remarks=(*facts.remarks, PARTICIPANTS))
    return Explanation(plan.price, plan.neighbours, facts, parts)


def recall(explanation: Explanation, earlier: Sequence[Release]) -> Explanation:
    """The same, with the share of clipped people from earlier answers to the question.

    The newest comes first. Only limits that are chosen again are like those of an earlier answer.
    """
    told = [one.parts for one in earlier if len(one.parts) == len(explanation.parts)]
    parts = list(explanation.parts)
    for i, part in enumerate(explanation.parts):
        known = next((one[i] for one in told if one[i].beyond is not None), None)
        if part.choice and known is not None:
            error = known.clipped[ROWS].error if ROWS in known.clipped else None
            parts[i] = replace(part, clipped=known.beyond, clipped_error=error)
    return replace(explanation, parts=tuple(parts))


def _part(
    plan: SetPlan, shrunk: Noises, sql: tuple[str, ...], dialect: Dialect, price: Price
) -> ExplainedSet:
    query, limits, all_contributions = plan.query, limits_of(plan.query), examples(plan)
    if plan.finds_keys and limits.max_groups is not None:  # one person helps to find no more
        limits = replace(limits, max_groups=plan.findable(limits.max_groups))
    return ExplainedSet(
        tuple(key.name for key in query.keys),
        query.group_count if query.has_known_keys else None,
        _finding(plan, all_contributions[0]),
        None if query.is_by_row or plan.histograms else limits,
        plan.choice,
        _options(plan, all_contributions, shrunk),
        sql,
        _clipped(plan),
        tuple(_offers(plan, dialect, price)),
        learnt=plan.histograms,
        choice_noise=plan.histogram_noise,
        second=plan.second,
    )


def _clipped(plan: SetPlan) -> float | None:
    """The share of clipped people, if public facts prove that it is 0."""
    limits = limits_of(plan.query)
    once = not plan.histograms and not is_stated(limits)  # people count once, whatever they have
    return 0.0 if plan.whole or once else None


def _offers(plan: SetPlan, dialect: Dialect, price: Price) -> Iterator[str]:
    """Questions that measure how many people an answer leaves out or cuts off, and their price."""
    if plan.finds_keys or missing_rows(plan.query):
        shown = ", shown=answer" if plan.finds_keys else ""
        yield (
            f"outside(question{shown}) counts the people with rows in no group that is shown,"
            f" {_offer(price, plan.noise_kind)}"
        )
    tables = plan.query.relation.facts.tables
    more = any(isinstance(one, JoinPerson | Union) for one in nodes_of(plan.query.relation)[0])
    if plan.histograms or _clipped(plan) == 0 or len(tables) != 1 or more:
        return  # the rows that count are not those of one table
    if isinstance(tables[0].unit, Person):
        limits = limits_of(plan.query)
        most = (limits.max_groups or 1) * (limits.max_rows or 1)
        column, table = map(dialect.identifier, (tables[0].unit.column, tables[0].name))
        yield (  # quoted names, in a text for people
            f"to count the people with more than {counted(most, 'row')} in all, ask"  # noqa: S608
            f" SELECT COUNT(*) AS n FROM (SELECT {column} FROM {table} GROUP BY {column}"
            f" HAVING COUNT(*) > {most}) AS p, {_offer(price, plan.noise_kind)}"
        )


def _offer(price: Price, noise_kind: NoiseKind) -> str:
    """The accuracy of a count of people for a tenth of a price."""
    epsilon = price.epsilon / 10
    paid = amount_for(epsilon, price.delta, noise_kind) / (
        1 if noise_kind is NoiseKind.LAPLACE else 2
    )
    if not paid:
        return "more accurate the larger epsilon is"
    alone, one = Strategy.of((Rows(None),)), ContributionBounds(noise_kind, 1, 1)
    count = Measurement(alone, one, paid, Neighbours.ADD_REMOVE, whole=True)
    width = math.ceil(count.view(Rows(None)).error())
    return f"for epsilon {cost(epsilon)} to within {width:,}"


def _finding(plan: SetPlan, contributions: ContributionBounds) -> Finding | None:
    selection = plan.selection(replace(contributions, groups=1) if plan.keys else contributions)
    if isinstance(selection, ThresholdedCount):
        return Finding(Fraction(0), plan.hidden, selection.certain_people(Fraction(19, 20)))
    if selection is None:
        return None
    return Finding(selection.epsilon, selection.delta, int(selection.error(0.95)) + 1)


def _options(
    plan: SetPlan, all_contributions: list[ContributionBounds], shrunk: Noises
) -> tuple[Option, ...]:
    """What is measured under each of some bounds; errors are those of consistent numbers."""
    scope = columns_of(plan.query.relation)
    needs = statistics_in(plan.query)
    users: dict[Statistic, list[str]] = {}
    for aggregate, statistics in needs.items():
        for statistic in statistics:
            users.setdefault(statistic, []).append(aggregate.name)
    options = []
    for contributions in all_contributions:
        noises = plan.noises(contributions)
        expected = {
            one.name: expect(
                one,
                shrunk or noises,
                scope,
                all_,
                sharing=len(users[all_[0]]),
                bracketed=one.name in plan.brackets,
            )
            for one, all_ in needs.items()
        }
        lines = tuple(_line(plan, one, users[s]) for s, one in noises.items())
        options.append(Option(contributions, lines, expected))
    return tuple(options)


def _line(plan: SetPlan, noise: StatisticNoise, users: list[str]) -> ExplainedMeasurement:
    statistic, cost = noise.statistic, noise.measurement.cost
    ranged = isinstance(statistic, Ranks) and set(users).intersection(plan.brackets)
    return ExplainedMeasurement(
        f"{type(statistic).__name__.lower()}{' with intervals' if ranged else ''}",
        tuple(users),
        plan.share(statistic),
        noise.noise_kind,
        cost,
        noise.moves,
        0.0 if isinstance(statistic, Ranks) else noise.scale * math.sqrt(noise.terms),
    )
