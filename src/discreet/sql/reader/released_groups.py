"""Groups of released rows: one grouping set below another, and the first rows of each group."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from discreet.plan.expressions import Call, Column, Expression, Function, Literal
from discreet.plan.kinds import Kind
from discreet.plan.query import Aggregate, SortKey, grouping_name
from discreet.plan.relations import Named
from discreet.plan.released_tables import (
    AnswerWindow,
    AnswerWindowFunction,
    ComputedTable,
    RegroupedTable,
    ReleasedTable,
    StackedTables,
    WindowedTable,
)
from discreet.plan.summaries import RowOrder
from discreet.plan.typing import infer
from discreet.sql.reader.select_list import orders

_NO = Literal(value=False, kind=Kind.BOOLEAN)
Turns: TypeAlias = Mapping[tuple[Expression, tuple[RowOrder, ...]], str]
"""Which rows count, in which order, and the column of their places."""


def regrouped(
    rows: ReleasedTable,
    keys: tuple[Named, ...],
    aggregates: tuple[Aggregate, ...],
    sets: Sequence[tuple[int, ...]],
    turns: Turns,
) -> ReleasedTable:
    """Groups of released rows, those of one grouping set below those of another."""
    first, *more = (_one_set(rows, keys, aggregates, sets, one, turns) for one in sets)
    for table in more:
        first = StackedTables(first, table)
    return first


def _one_set(
    rows: ReleasedTable,
    keys: tuple[Named, ...],
    aggregates: tuple[Aggregate, ...],
    sets: Sequence[tuple[int, ...]],
    chosen: tuple[int, ...],
    turns: Turns,
) -> ReleasedTable:
    table = _grouped(rows, [keys[at] for at in chosen], aggregates, turns)
    if len(sets) == 1:
        return table
    told = [*_all_keys(rows, keys, chosen), *map(_itself, aggregates)]
    return ComputedTable(table, tuple(told))


def _itself(column: Named | Aggregate) -> Named:
    return Named(column.name, Column(column.name))


def _all_keys(
    rows: ReleasedTable, keys: tuple[Named, ...], chosen: tuple[int, ...]
) -> Iterator[Named]:
    """The keys of one grouping set, NULL for those it leaves out, and which ones these are."""
    for at, key in enumerate(keys):
        kind = infer(key.expression, rows.columns).kind
        yield _itself(key) if at in chosen else Named(key.name, Literal(None, kind))
        yield Named(grouping_name(key.name), Literal(int(at not in chosen), Kind.INTEGER))


def _grouped(
    rows: ReleasedTable,
    keys: list[Named],
    aggregates: tuple[Aggregate, ...],
    turns: Turns,
) -> ReleasedTable:
    """One grouping set of released rows; the places that ARG_MAX asks for are within its groups."""
    partition = tuple(key.expression for key in keys)
    places = []
    for (counts, by), name in turns.items():
        order = [SortKey(Call(Function.NOT, (Call(Function.COALESCE, (counts, _NO)),)))]
        for one in by:
            order += orders(one.expression, descending=one.descending, nulls_first=one.nulls_first)
        number = AnswerWindowFunction.ROW_NUMBER
        places.append(AnswerWindow(name, number, (), partition, tuple(order)))
    source = WindowedTable(rows, tuple(places)) if places else rows
    return RegroupedTable(source, tuple(keys), aggregates)
