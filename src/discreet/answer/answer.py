"""A question in, a release out."""

import math
from collections.abc import Sequence

import pyarrow as pa

from discreet.answer.ask import GROUPS, ROWS, Measured, draw, interpret
from discreet.answer.budget import Price
from discreet.answer.drawn import Drawn
from discreet.answer.facts import facts_of, left_out
from discreet.answer.figures import counted
from discreet.answer.limits import ALLOWED, Law
from discreet.answer.parts import kept
from discreet.answer.picking import widened, wider_by
from discreet.answer.post import arrange, evaluate, outputs_of, shows_all
from discreet.answer.release import Cost, Release
from discreet.answer.sets import single_sets
from discreet.answer.tabulate import Simulation, tabulate
from discreet.engines.engine import Deadline, Engine
from discreet.plan.query import Query, released_columns
from discreet.plan.relations import unit_of
from discreet.plan.schema import EachRow
from discreet.plan.statistics import People
from discreet.privacy import Neighbours, compose


def answer(
    query: Query,
    engine: Engine,
    price: Price,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    laws: Sequence[Law] = tuple(Law),
) -> Release:
    """Answer a query for a price, with noise of whichever of the laws errs least."""
    return present(query, measure(query, engine, price, neighbours, laws), price, neighbours)


def measure(
    query: Query,
    engine: Engine,
    price: Price,
    neighbours: Neighbours,
    laws: Sequence[Law],
    until: Deadline | None = None,
) -> list[Drawn]:
    """Noisy integers for each grouping set: all that data is read for.

    At `until` the engine is stopped.
    """
    share = price.over(len(query.sets))
    return [draw(one, engine, share, neighbours, laws, until) for one in single_sets(query)]


def present(query: Query, drawn: Sequence[Drawn], price: Price, neighbours: Neighbours) -> Release:
    """Estimates, error bars and the table to show.

    Guarantee:
        Post-processing: the same measurements give the same release, bit by bit on one machine.
        No randomness and no data goes in, so a failure here is a fact about released numbers.
    """
    share = price.over(len(query.sets))
    sets = zip(single_sets(query), drawn, strict=True)
    parts = [interpret(one, noisy, share, neighbours) for one, noisy in sets]
    central = pa.concat_tables([tabulate(query, part) for part in parts])
    rows = None if shows_all(query) else arrange(central, query)
    shown_rows = central.num_rows if rows is None else len(rows)
    times = wider_by(query, shown_rows, central.num_rows, [part.weighing.law for part in parts])
    widths, how = Simulation.of(query, parts, times).half_widths(central)
    shown = evaluate(central, outputs_of(query), released_columns(query))
    half_widths = {name: pa.array(width) for name, width in widths.items()}
    if rows is not None:  # nothing is copied where nothing moves
        shown = shown.take(rows)
        wider = widened(query, widths, times)
        half_widths = {name: pa.array(width).take(rows) for name, width in wider.items()}
    costs = tuple(cost for part in parts for cost in _costs(part))
    return Release(
        table=shown,
        half_widths=half_widths,
        how=how,
        price=price,
        guarantee=compose([cost.guarantee for cost in costs]),
        costs=costs,
        notes=(*(_note(part) for part in parts), *left_out(query)),
        facts=facts_of(query),
        parts=kept(parts),
    )


def _costs(part: Measured) -> list[Cost]:
    chosen = [Cost(what, "exact choice", guarantee) for what, guarantee in part.choices]
    return chosen + [
        Cost(type(statistic).__name__, one.law.value, one.guarantee)
        for statistic, one in part.measurements.items()
    ]


def _note(part: Measured) -> str:
    weighing = part.weighing
    if isinstance(unit_of(part.query.relation), EachRow):
        return f"{weighing.law.value} noise; one row is in one group{_shown(part)}"
    people = [isinstance(statistic, People) for statistic in part.measurements]
    limits = []
    if not all(people):
        limits.append(f"{counted(weighing.rows, 'row')}{_l2(part)}{_over(part, ROWS, 'have more')}")
    if any(people) or part.finds_groups:
        limits.append(counted(weighing.groups, "group") + _over(part, GROUPS, "are in more"))
    most = f"{weighing.law.value} noise; one person weighs at most {' and '.join(limits)}"
    return f"{most}{_about(part)}{_shown(part)}"


def _l2(part: Measured) -> str:
    """Gaussian noise bounds the root of a person's squared rows over all groups."""
    spread = part.weighing.law is Law.GAUSSIAN and bool(part.query.keys)
    return " in l2 norm" if spread and ROWS in part.clipped else ""


def _over(part: Measured, what: str, more: str) -> str:
    """How many people count for less, as the histogram that chose the limit has it."""
    if what in part.clipped:
        return f" ({part.clipped[what]} of people {more})"
    guessed = any(name == f"people by {what}" for name, _ in part.choices)
    if not guessed:
        return ""
    return (
        f" (a guess: too little was paid to learn how many people {more};"
        " intervals do not allow for them)"
    )


def _about(part: Measured) -> str:
    """What intervals allow for, and what no private interval can."""
    if not part.clipped:
        return ""
    most = " and ".join(
        f"{one.most:,} {what}{_l2(part) if what == ROWS else ''}"
        for what, one in part.clipped.items()
    )
    return (
        f"; {ALLOWED}, and are about at most"
        f" {most} a person: what a few people have beyond is not in them"
    )


def _shown(part: Measured) -> str:
    """From which noisy count on groups are shown."""
    if part.showing is None:
        return ""
    return f"; groups are shown from a noisy count of {math.ceil(part.showing.people):,} on"
