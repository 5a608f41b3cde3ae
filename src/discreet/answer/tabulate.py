"""Noisy statistics of all grouping sets as one table of keys and aggregates."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from discreet.answer.ask import ARROW, Measured
from discreet.answer.errorbars import (
    CONFIDENCE,
    RANKED,
    draws_for,
    half_width,
    simulate,
    spread,
)
from discreet.answer.estimate import Floats, estimate
from discreet.answer.expected import rank_error
from discreet.answer.post import evaluate, outputs_of
from discreet.plan.expressions import Column
from discreet.plan.kinds import Kind
from discreet.plan.query import (
    Aggregate,
    Query,
    grouping_name,
    groupings,
    key_types,
    released_columns,
    released_kind,
)
from discreet.plan.reads import mentions
from discreet.plan.relations import Named, columns_of
from discreet.plan.statistics import statistics_of

_LARGEST = 2.0**62
"""Counts are whole numbers of 64 bits; noise beyond that is too rare to matter and stays here."""


def tabulate(query: Query, part: Measured, draws: int = 1) -> pa.Table:
    """Keys and aggregates of one grouping set; `draws` simulated tables below each other."""
    columns: dict[str, pa.Array] = {}
    places = {key.name: f"k{i}" for i, key in enumerate(part.query.keys)}
    for key, of in zip(query.keys, key_types(query), strict=True):
        if key.name in places:
            columns[key.name] = pa.concat_arrays([part.keys[places[key.name]]] * draws)
        else:
            columns[key.name] = pa.nulls(part.groups * draws, ARROW[of.kind])
    if groupings(query):
        for key in query.keys:
            left_out = np.full(part.groups * draws, key.name not in places, dtype=np.int64)
            columns[grouping_name(key.name)] = pa.array(left_out)
    for aggregate in query.aggregates:
        columns[aggregate.name] = _values(aggregate, part, draws)
    return pa.table(columns)


def _values(aggregate: Aggregate, part: Measured, draws: int) -> pa.Array:
    if aggregate.name in part.quantiles:
        found = part.quantiles[aggregate.name]
    else:
        found = estimate(aggregate, part.statistics, columns_of(part.query.relation))
    flat = np.broadcast_to(found, (draws, part.groups)).ravel()
    if released_kind(aggregate) is Kind.INTEGER:
        return pa.array(np.clip(np.rint(flat), -_LARGEST, _LARGEST).astype(np.int64))
    return pa.array(flat)


@dataclass(frozen=True, slots=True)
class Simulation:
    """Many tables as they might have come out: what error bars are read off.

    `many` holds, for each grouping set, statistics with a row a draw; it is empty where there are
    too many groups to simulate.
    """

    query: Query
    parts: Sequence[Measured]
    many: Sequence[Measured]
    draws: int

    @staticmethod
    def of(query: Query, parts: Sequence[Measured]) -> "Simulation":
        """Simulate as often as the number of groups allows."""
        draws = draws_for(sum(part.groups for part in parts))
        many = [
            replace(
                part,
                statistics=simulate(part.statistics, part.measurements, draws, part.showing),
            )
            for part in parts
            if draws
        ]
        return Simulation(query, parts, many, draws)

    def half_widths(self, central: pa.Table) -> tuple[dict[str, Floats], dict[str, str]]:
        """Half-widths of all shown numbers that have one, and how each was found."""
        aggregates = {aggregate.name: aggregate for aggregate in self.query.aggregates}
        widths: dict[str, Floats] = {}
        how: dict[str, str] = {}
        derived: list[Named] = []
        for output in outputs_of(self.query):
            match output.expression:
                case Column(name) if name in aggregates:
                    width, how[output.name] = self._plain(aggregates[name])
                    widths |= {} if width is None else {output.name: width}
                case other if mentions(other) & aggregates.keys():
                    derived.append(output)
        if derived and self.many and central.num_rows:
            for name, width in self._derived(tuple(derived), central).items():
                widths[name], how[name] = width, "by simulation"
        return widths, how

    def _plain(self, aggregate: Aggregate) -> tuple[Floats | None, str]:
        """The error bar of an aggregate that is shown as it is."""
        found = [
            half_width(
                aggregate,
                part.statistics,
                self.many[i].statistics if self.many else None,
                part.measurements,
                columns_of(part.query.relation),
                part.showing,
            )
            for i, part in enumerate(self.parts)
        ]
        known = [width for width, _ in found if width is not None]
        how = self._ranked(aggregate) if aggregate.measure in RANKED else found[0][1]
        return (np.concatenate(known) if len(known) == len(found) else None), how

    def _ranked(self, aggregate: Aggregate) -> str:
        """How far a quantile is off, in rows: in values it depends on the data."""
        scope = columns_of(self.query.relation)
        (ranks,) = statistics_of(aggregate, scope)
        sharing = sum(ranks in statistics_of(other, scope) for other in self.query.aggregates)
        plans = (part.measurements[ranks] for part in self.parts)
        off = max(rank_error(plan, aggregate, sharing, 1 - CONFIDENCE) for plan in plans)
        return f"it is off by {math.ceil(off):,} rows in sorted order at most, 95 times in 100"

    def _derived(self, outputs: tuple[Named, ...], central: pa.Table) -> dict[str, Floats]:
        """The error bars of numbers that are computed from several aggregates."""
        columns = released_columns(self.query)
        middle = evaluate(central, outputs, columns)
        around = [
            evaluate(tabulate(self.query, part, self.draws), outputs, columns) for part in self.many
        ]
        widths = {}
        for output in outputs:
            kind = middle.schema.field(output.name).type
            if pa.types.is_floating(kind) or pa.types.is_integer(kind):
                rows = [_floats(table, output.name).reshape(self.draws, -1) for table in around]
                widths[output.name] = spread(
                    np.concatenate(rows, axis=1), _floats(middle, output.name)
                )
        return widths


def _floats(table: pa.Table, name: str) -> Floats:
    """A released column as doubles; NULL is NaN."""
    return np.asarray(table.column(name).cast(pa.float64()).to_numpy(), dtype=np.float64)
