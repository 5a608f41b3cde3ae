"""A question in, a release out."""

import math
from collections.abc import Sequence

import pyarrow as pa

from discreet.answer.ask import Measured, draw, interpret
from discreet.answer.budget import Price
from discreet.answer.drawn import Drawn
from discreet.answer.facts import counted_rows, facts_of
from discreet.answer.figures import counted
from discreet.answer.limits import Law
from discreet.answer.parts import kept
from discreet.answer.picking import widened
from discreet.answer.post import arrange, evaluate, outputs_of, shows_all
from discreet.answer.release import Cost, Release
from discreet.answer.sets import single_sets
from discreet.answer.tabulate import Simulation, tabulate
from discreet.engines.engine import Engine
from discreet.plan.query import Query, released_columns
from discreet.plan.relations import unit_of
from discreet.plan.schema import EachRow
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
    until: float | None = None,
) -> list[Drawn]:
    """Noisy integers for each grouping set: all that data is read for.

    At `until`, on the monotonic clock, the engine is stopped.
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
    widths, how = Simulation.of(query, parts).half_widths(central)
    shown = evaluate(central, outputs_of(query), released_columns(query))
    half_widths = {name: pa.array(width) for name, width in widths.items()}
    if not shows_all(query):  # nothing is copied where nothing moves
        rows = arrange(central, query)
        shown = shown.take(rows)
        noise = [part.weighing.law for part in parts]
        wider = widened(query, widths, len(rows), central.num_rows, noise)
        half_widths = {name: pa.array(width).take(rows) for name, width in wider.items()}
    costs = tuple(cost for part in parts for cost in _costs(part))
    return Release(
        table=shown,
        half_widths=half_widths,
        how=how,
        price=price,
        guarantee=compose([cost.guarantee for cost in costs]),
        costs=costs,
        notes=(*(_note(part) for part in parts), *counted_rows(query)),
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
    most = f"{counted(weighing.rows, 'row')} and {counted(weighing.groups, 'group')}"
    return (
        f"{weighing.law.value} noise; one person weighs at most {most}{_over(part)}{_shown(part)}"
    )


def _over(part: Measured) -> str:
    """How many people count for less, as the histograms that chose the limits have it."""
    return "" if part.beyond is None else f" (about {part.beyond:.0%} of people have more rows)"


def _shown(part: Measured) -> str:
    """From which noisy count on groups are shown."""
    if part.showing is None:
        return ""
    return f"; groups are shown from a noisy count of {math.ceil(part.showing.people):,} on"
