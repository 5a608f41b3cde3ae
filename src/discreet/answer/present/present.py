"""Noisy measurements in, a release out: a function of what was released, and nothing else."""

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import pyarrow as pa

from discreet.answer.estimate.aggregates import arrange, evaluate, outputs_of, shows_all
from discreet.answer.estimate.answer_tables import AnswerTables
from discreet.answer.estimate.consistency import make_consistent
from discreet.answer.estimate.error_bars import wider_by
from discreet.answer.estimate.measured_sets import kept
from discreet.answer.estimate.noisy_statistics import NoisyStatistics, interpret
from discreet.answer.estimate.tabulate import Simulation, tabulate
from discreet.answer.execute.noisy_measurements import NoisyMeasurements
from discreet.answer.plan.contribution_histogram import ALLOWED, GROUPS, ROWS
from discreet.answer.plan.price import Price
from discreet.answer.plan.set_plan import SetPlan
from discreet.answer.present.number_text import counted
from discreet.answer.present.release import Release
from discreet.plan.bounding import NoiseKind
from discreet.plan.public_facts import facts_of, left_out, picks
from discreet.plan.query import Query, released_columns
from discreet.plan.schema import EachRow, PersonPeriod
from discreet.plan.statistics import People
from discreet.privacy import compose


def present(
    query: Query, price: Price, sets: Sequence[SetPlan], drawn: Sequence[NoisyMeasurements]
) -> Release:
    """Estimates, error bars and the table to show.

    Guarantee:
        Post-processing: the same measurements give the same release, bit by bit on one machine.
        No randomness and no data goes in, so a failure here is a fact about released numbers.
    """
    parts = [interpret(one, noisy) for one, noisy in zip(sets, drawn, strict=True)]
    shown, half_widths, how = (
        _tables(query, parts, drawn[0].public)
        if query.then
        else _rows(query, make_consistent(parts) if len(parts) > 1 else parts)
    )
    missing = left_out(query)
    costs = tuple(one for noisy in drawn for one in noisy.spent)
    return Release(
        table=shown,
        half_widths=half_widths,
        how=dict(sorted(how.items())),
        price=price,
        guarantee=compose([cost.guarantee for cost in costs]),
        costs=costs,
        notes=(*(_note(part) for part in parts), *_hidden(query, parts), *missing),
        facts=facts_of(query, missing),
        parts=kept(parts),
    )


Shown: TypeAlias = tuple[pa.Table, dict[str, pa.Array], dict[str, str]]
"""A table to show, half-widths of its numbers, and how each was found."""


def _tables(
    query: Query, parts: Sequence[NoisyStatistics], public: Mapping[str, pa.Table]
) -> Shown:
    """Tables computed from the released rows of all questions."""
    tables = AnswerTables.of(query, parts, public)
    shown = tables.table()
    widths, how = tables.half_widths(shown.num_rows)
    return shown, {name: pa.array(width) for name, width in widths.items()}, how


def _hidden(query: Query, parts: Sequence[NoisyStatistics]) -> list[str]:
    """A note that small groups are withheld, for questions whose groups are not public."""
    if not any(part.finds_groups for part in parts):
        return []
    over = ", and numbers over groups are over those that were found" if query.then else ""
    return [f"Groups of few people are withheld, and nobody is told how many those are{over}"]


def _rows(query: Query, parts: Sequence[NoisyStatistics]) -> Shown:
    """The released rows of one question, or some of them, and what is computed from each."""
    central = pa.concat_tables([tabulate(query, part) for part in parts])
    rows = None if shows_all(query) else arrange(central, query)
    times = 1.0
    if rows is not None:
        kinds = [part.contributions.noise_kind for part in parts]
        times = wider_by(len(rows), central.num_rows, kinds, picked=picks(query))
    widths, how = Simulation.of(query, parts, times).half_widths(central)
    shown = evaluate(central, outputs_of(query), released_columns(query))
    half_widths = {name: pa.array(width) for name, width in widths.items()}
    if rows is not None:  # nothing is copied where nothing moves
        shown = shown.take(rows)
        half_widths = {name: width.take(rows) for name, width in half_widths.items()}
    return shown, half_widths, how


def _note(part: NoisyStatistics) -> str:
    contributions = part.contributions
    unit = part.query.relation.facts.unit
    if isinstance(unit, EachRow):
        return f"{contributions.noise_kind.value} noise; one row is in one group{_shown(part)}"
    people = [isinstance(statistic, People) for statistic in part.measurements]
    limits = []
    if not all(people):
        limits.append(
            f"{counted(contributions.rows, 'row')}{_l2(part)}{_over(part, ROWS, 'have more')}"
        )
    if any(people) or part.finds_groups:
        limits.append(counted(contributions.groups, "group") + _over(part, GROUPS, "are in more"))
    who = unit.who if isinstance(unit, PersonPeriod) else "one person"
    most = f"{contributions.noise_kind.value} noise; {who} weighs at most {' and '.join(limits)}"
    return f"{most}{_about(part)}{_shown(part)}"


def _l2(part: NoisyStatistics) -> str:
    """Gaussian noise bounds the root of a person's squared rows over all groups."""
    spread = part.contributions.noise_kind is NoiseKind.GAUSSIAN and bool(part.query.keys)
    return " in l2 norm" if spread and ROWS in part.clipped else ""


def _over(part: NoisyStatistics, what: str, more: str) -> str:
    """How many people count for less, as the histogram that chose the limit has it."""
    if what in part.clipped:
        return f" ({part.clipped[what]} of people {more})"
    if what not in part.learnt:
        return ""
    return (
        f" (a guess: too little was paid to learn how many people {more};"
        " intervals do not allow for them)"
    )


def _about(part: NoisyStatistics) -> str:
    """What the intervals cover, and what no private interval can."""
    if not part.clipped:
        return ""
    most = " and ".join(
        f"{counted(one.most, what.removesuffix('s'))}{_l2(part) if what == ROWS else ''}"
        for what, one in part.clipped.items()
    )
    return (
        f"; {ALLOWED} as far as it can be seen, and are in any case about at most {most} a person"
    )


def _shown(part: NoisyStatistics) -> str:
    """The noisy count from which on groups are shown."""
    if part.showing is None:
        return ""
    return f"; groups are shown from a noisy count of {math.ceil(part.showing.people):,} on"
