"""A question in, a release out."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from discreet.answer.ask import ARROW, Measured, measure
from discreet.answer.budget import Price
from discreet.answer.errorbars import draws_for, half_width, simulate, spread
from discreet.answer.estimate import Floats, estimate
from discreet.answer.post import arrange, evaluate, outputs_of
from discreet.answer.release import Cost, Release
from discreet.engines.engine import Engine
from discreet.plan.expressions import Column
from discreet.plan.kinds import Kind
from discreet.plan.query import Aggregate, Query, key_types, released_columns, released_kind
from discreet.plan.relations import Named, columns_of
from discreet.privacy import Neighbours, compose


def answer(
    query: Query,
    engine: Engine,
    price: Price,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Release:
    """Answer a query for a price; its grouping sets share it equally."""
    share = Price(price.epsilon / len(query.sets), price.delta / len(query.sets))
    parts = [measure(one, engine, share, neighbours) for one in single_sets(query)]
    central = pa.concat_tables([tabulate(query, part, part, 1) for part in parts])
    rows = arrange(central, query)
    widths, how = error_bars(query, parts, central)
    costs = [cost for part in parts for cost in _costs(part)]
    return Release(
        evaluate(central, outputs_of(query), released_columns(query)).take(rows),
        {name: pa.array(width).take(rows) for name, width in widths.items()},
        how,
        price,
        compose([cost.guarantee for cost in costs]),
        tuple(costs),
        tuple(_note(part) for part in parts),
    )


def single_sets(query: Query) -> list[Query]:
    """A query for each grouping set, with its keys alone and nothing to do afterwards."""
    return [
        replace(
            query,
            keys=tuple(query.keys[i] for i in chosen),
            sets=(tuple(range(len(chosen))),),
            outputs=(),
            having=None,
            order=(),
            limit=None,
            offset=0,
        )
        for chosen in query.sets
    ]


def tabulate(query: Query, part: Measured, values: Measured, draws: int) -> pa.Table:
    """Keys and aggregates of one grouping set; `draws` simulated tables below each other."""
    columns: dict[str, pa.Array] = {}
    names = {key.name: f"k{i}" for i, key in enumerate(part.query.keys)}
    for key, of in zip(query.keys, key_types(query), strict=True):
        if key.name in names:
            columns[key.name] = pa.concat_arrays([part.keys[names[key.name]]] * draws)
        else:
            columns[key.name] = pa.nulls(part.groups * draws, ARROW[of.kind])
    for aggregate in query.aggregates:
        found = np.broadcast_to(_values(aggregate, part, values), (draws, part.groups)).ravel()
        whole = released_kind(aggregate) is Kind.INTEGER
        columns[aggregate.name] = pa.array(found.astype(np.int64) if whole else found)
    return pa.table(columns)


def _values(aggregate: Aggregate, part: Measured, values: Measured) -> Floats:
    if aggregate.name in part.quantiles:
        return part.quantiles[aggregate.name]
    found = estimate(aggregate, values.statistics, columns_of(part.query.relation))
    # A whole number of 64 bits: noise beyond that is so rare that it may as well be at the end.
    limit = 2.0**62
    return np.clip(np.rint(found), -limit, limit) if _is_count(aggregate) else found


def _is_count(aggregate: Aggregate) -> bool:
    return released_kind(aggregate) is Kind.INTEGER


def error_bars(
    query: Query, parts: Sequence[Measured], central: pa.Table
) -> tuple[dict[str, Floats], dict[str, str]]:
    """Half-widths of all shown numbers that have one, and how each was found."""
    draws = draws_for(central.num_rows)
    many = [_simulated(part, draws) if draws else None for part in parts]
    widths: dict[str, Floats] = {}
    how: dict[str, str] = {}
    derived: list[Named] = []
    for output in outputs_of(query):
        match output.expression:
            case Column(name):
                aggregate = next((a for a in query.aggregates if a.name == name), None)
                if aggregate is not None:
                    _plain(output.name, aggregate, parts, many, widths, how)
            case _:
                derived.append(output)
    if derived and draws and central.num_rows:
        _derived(query, tuple(derived), central, parts, many, draws, widths, how)
    return widths, how


def _simulated(part: Measured, draws: int) -> Measured:
    return replace(part, statistics=simulate(part.statistics, part.measurements, draws))


def _plain(
    name: str,
    aggregate: Aggregate,
    parts: Sequence[Measured],
    many: Sequence[Measured | None],
    widths: dict[str, Floats],
    how: dict[str, str],
) -> None:
    """The error bar of an aggregate that is shown as it is."""
    found = [
        half_width(
            aggregate,
            part.statistics,
            None if simulated is None else simulated.statistics,
            part.measurements,
            columns_of(part.query.relation),
        )
        for part, simulated in zip(parts, many, strict=True)
    ]
    how[name] = found[0][1]
    known = [width for width, _ in found if width is not None]
    if len(known) == len(found):
        widths[name] = np.concatenate(known)


def _derived(
    query: Query,
    outputs: tuple[Named, ...],
    central: pa.Table,
    parts: Sequence[Measured],
    many: Sequence[Measured | None],
    draws: int,
    widths: dict[str, Floats],
    how: dict[str, str],
) -> None:
    """The error bars of numbers that are computed from several aggregates."""
    columns = released_columns(query)
    middle = evaluate(central, outputs, columns)
    around = [
        evaluate(tabulate(query, part, simulated, draws), outputs, columns)
        for part, simulated in zip(parts, many, strict=True)
        if simulated is not None
    ]
    for output in outputs:
        kind = middle.schema.field(output.name).type
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
            continue
        centre = middle.column(output.name).cast(pa.float64()).to_numpy()
        values = np.concatenate(
            [
                t.column(output.name).cast(pa.float64()).to_numpy().reshape(draws, -1)
                for t in around
            ],
            axis=1,
        )
        widths[output.name] = spread(values, centre)
        how[output.name] = "by simulation"


def _costs(part: Measured) -> list[Cost]:
    chosen = [Cost(what, "exact choice", guarantee) for what, guarantee in part.choices]
    return chosen + [
        Cost(type(statistic).__name__, one.law.value, one.guarantee)
        for statistic, one in part.measurements.items()
    ]


def _note(part: Measured) -> str:
    weighing = part.weighing
    rows, groups = f"{weighing.rows} rows", f"{weighing.groups} groups"
    return f"{weighing.law.value} noise; one person weighs at most {rows} and {groups}"
