"""Counts and sums of one person's rows, which have no bounds but those that limits give.

`AVG(n)` over a subquery that counts each person's rows is answered as `AVG(LEAST(n, rows))` where
the table states `rows`: people with more count for that many, as in every other answer about it. A
sum of bounded values is clamped to what that many rows can add up to. Conditions and groups see
both as they are.

Unbounded counts and sums of one person's rows, measured on the rows themselves.

The sum over people of what their rows add up to is the sum over all rows. So `AVG(n)` over a
subquery that counts each person's rows is the number of rows over the number of people, and how
much one person may weigh is what limits on rows say: stated ones, or those that a part of the price
buys. Nothing else has to be known of `n`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from discreet.plan import relations as rel
from discreet.plan.expressions import (
    Call,
    Case,
    Column,
    Expression,
    Function,
    Literal,
    conjuncts,
    mapped,
    mentions,
)
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.possible_keys import FROM, UP_TO
from discreet.plan.query import Aggregate, Query
from discreet.plan.relations import Named
from discreet.plan.summaries import SUMMED, PersonAggregate, Summary, WindowColumn
from discreet.plan.texts import longest_stored
from discreet.plan.typing import infer

_COUNTS = {Summary.COUNT, Summary.COUNT_DISTINCT, Summary.SUM}
LARGEST_SUM = 1 << 62
"""Sums that may be larger have no bounds worth stating."""


def row_counts(relation: rel.Relation) -> Mapping[str, Range | None]:
    """The columns that count or add up one person's rows, and their range within the limits.

    None where no limits are stated. A sum of two counts, or a count of rows that a join of private
    tables multiplies, has none.
    """
    match relation:
        case rel.PerPerson(below, _, aggregates):
            rows = _stated(below)
            ranges = ((one.name, one.summary, _range(one, below, rows)) for one in aggregates)
            return {name: of for name, summary, of in ranges if summary in _COUNTS}
        case rel.JoinPerson(left, right):  # values beside rows, or NULL where no rows meet
            both = {**row_counts(left), **row_counts(right)}
            return {
                name: _NullableRange(of.low, of.high) if type(of) is Range else of
                for name, of in both.items()
            }
        case rel.PersonWindow(below, columns):
            rows = _stated(below)
            added = (one for one in columns if one.function in _COUNTS)
            return {**row_counts(below), **{one.name: _range(one, below, rows) for one in added}}
        case rel.Scan(table):
            texts = ((name, of) for name, of in table.columns.items() if of.kind is Kind.TEXT)
            return {_LENGTH + name: _ProvedRange(0, longest_stored(of)) for name, of in texts}
        case rel.FilterRows(below, predicate):
            conditions = [predicate]
            while isinstance(below, rel.FilterRows):
                conditions.append(below.predicate)
                below = below.input
            return {**_between(conditions, rel.columns_of(below)), **row_counts(below)}
        case rel.MatchPerson() | rel.MatchPublic():
            return row_counts(rel.inputs_of(relation)[0])
        case rel.Project(below, columns):
            known = row_counts(below)
            kept = ((one.name, one.expression) for one in columns)
            return {
                start + name: known[start + from_.name]
                for name, from_ in kept
                for start in ("", _LENGTH)
                if isinstance(from_, Column) and start + from_.name in known
            }
    return {}


_LENGTH = "\0length "
"""Before the name of a stored text, whose length is at most what is read of it."""

_EXACT = 1 << 53
"""Below, whole numbers and doubles compare alike; 2^53 + 1 as a double is 2^53."""


def _between(conditions: Sequence[Expression], columns: Mapping[str, Type]) -> Mapping[str, Range]:
    """The numbers that conditions hold between two literals, or within a part of their bounds.

    Stability: that of any aggregate of LEAST(GREATEST(x, low), high), whose range is inferred for
    every row, kept or not. No type follows from the condition, so no engine meets arithmetic that
    it guards.

    Why the number is the same: each row that counts meets the condition, so x is between the ends.

    Edge cases: NULL stays NULL. Ends are closed, also of strict comparisons; an end of 2^53 and
    beyond is none. Ends that no value lies between are none.
    """
    ends: dict[str, tuple[list[float], list[float]]] = {}
    for one in (part for condition in conditions for part in conjuncts(condition)):
        match one:
            case Call(function, (Column(name), Literal(int() | float() as at))):
                of = columns[name]
                if of.kind.is_number and abs(at) < _EXACT:
                    up, down = (float, float) if of.kind is Kind.REAL else (math.ceil, math.floor)
                    low, high = ends.setdefault(name, ([], []))
                    low += [up(at)] * (function in FROM)
                    high += [down(at)] * (function in UP_TO)
    found: dict[str, Range] = {}
    for name, (low, high) in ends.items():
        declared = infer(Column(name), columns).range
        known = ([], []) if declared is None else ([declared.low], [declared.high])
        lows, highs = low + known[0], high + known[1]
        if lows and highs and max(lows) <= min(highs):
            proved = _ProvedRange(max(lows), min(highs))
            found |= {name: proved} if declared is None or proved.width < declared.width else {}
    return found


@dataclass(frozen=True, slots=True)
class _NullableRange(Range):
    """The range of a value that may be NULL too: a sum, or a count beside rows without a match."""


class _ProvedRange(_NullableRange):
    """The range that conditions or the length of texts prove: nothing is cut off."""


def _range(
    one: PersonAggregate | WindowColumn, below: rel.Relation, rows: int | None
) -> Range | None:
    """The range of a sum over this many rows."""
    summary = one.summary if isinstance(one, PersonAggregate) else one.function
    if rows is None or summary is not Summary.SUM or one.argument is None:
        return None if rows is None else Range(0, rows)
    of = infer(one.argument, rel.columns_of(below))
    if of.range is None:
        return None
    ends = [min(0, rows * of.range.low), max(0, rows * of.range.high)]
    low, high = (float(end) if of.kind is Kind.REAL else int(end) for end in ends)
    return _NullableRange(low, high) if max(-low, high) < LARGEST_SUM else None


def _stated(relation: rel.Relation) -> int | None:
    """The rows of one person in a relation, as far as limits state them."""
    match relation:
        case rel.Scan(table):
            return table.limits.max_rows
        case rel.Union(left, right):
            both = (_stated(left), _stated(right))
            return None if None in both else sum(rows or 0 for rows in both)
        case rel.JoinPerson() | rel.PerPerson():
            return None
        case _:  # no more rows than below
            return _stated(rel.inputs_of(relation)[0])


def or_zero(name: str) -> Expression:
    """A count of the rows of a subquery about the same person: 0 where there is none."""
    return Call(Function.COALESCE, (Column(name), Literal(0, Kind.INTEGER)))


def counted_column(argument: Expression) -> str | None:
    """The column that an argument is, or is where it is not NULL."""
    match argument:
        case Column(name) | Call(Function.COALESCE, (Column(name), Literal(0, _))):
            return name
        case Call(Function.LENGTH, (Column(name),)):
            return _LENGTH + name
    return None


def hold_counts(
    aggregate: Aggregate, counts: Mapping[str, Range | None], columns: Mapping[str, Type]
) -> Aggregate:
    """The aggregate, with the counts and sums that need bounds clamped to the limits.

    An argument that has no bounds reads columns whose range is proved as `_held` writes them,
    wherever they stand in it: each row that counts has the same value either way.
    """
    if aggregate.measure.is_count or not counts:
        return aggregate
    proved = {name: of for name, of in counts.items() if isinstance(of, _ProvedRange)}
    named = {name.removeprefix(_LENGTH) for name in proved}

    def hold(argument: Expression) -> Expression:
        whole = _held(argument, counts)
        others = named.isdisjoint(mentions(argument))
        if whole != argument or others or infer(argument, columns).range is not None:
            return whole
        return inside(argument)

    def inside(part: Expression) -> Expression:
        held = _held(part, proved) if counted_column(part) in proved else part
        return mapped(part, inside) if held is part else held

    return replace(aggregate, arguments=tuple(map(hold, aggregate.arguments)))


def _held(argument: Expression, counts: Mapping[str, Range | None]) -> Expression:
    """LEAST passes over NULL, which has to stay NULL."""
    of = counts.get(counted_column(argument) or "")
    if of is None:
        return argument
    kind = Kind.INTEGER if isinstance(of.high, int) and isinstance(of.low, int) else Kind.REAL
    ends = [of.low, of.high] if isinstance(argument, Column) else [of.low, of.high, 0 * of.low]
    low, high = min(ends), max(ends)  # COALESCE(x, 0) may be 0 too
    least: Expression = Call(Function.LEAST, (argument, Literal(high, kind)))
    if not isinstance(of, _NullableRange):
        return least
    least = Call(Function.GREATEST, (least, Literal(low, kind)))
    return Case(((Call(Function.IS_NULL, (argument,)), Literal(None, kind)),), least)


def held_counts(query: Query) -> Mapping[str, Range]:
    """The counts and sums that are clamped to stated limits."""
    counts = row_counts(query.relation)
    arguments = {argument for one in query.aggregates for argument in one.arguments}
    return {
        name: of
        for name, of in counts.items()
        if of is not None
        and not isinstance(of, _ProvedRange)
        and any(_held(form, counts) in arguments for form in (Column(name), or_zero(name)))
    }


_ADDED = {Summary.COUNT, Summary.SUM}
_YES, _NO = (Literal(one, Kind.BOOLEAN) for one in (True, False))


@dataclass(frozen=True, slots=True)
class SpreadRows:
    """A relation of people with each person's rows in place of their one row.

    `values` are the columns that counted or added up these rows, and what each row adds: the column
    of its value (None for 1) and that of whether it counts. `keys` are further columns that
    distinguish rows of people below: where groups do not share them, one person is several.

    Stability: rows are those of `PersonWindow` over the rows below, and filters on what is the same
    in all rows of a person; whoever is added or removed takes their own rows along.
    """

    relation: rel.Relation
    values: Mapping[str, tuple[str | None, str]]
    keys: frozenset[str]


def spread(relation: rel.Relation) -> SpreadRows | None:
    """A relation of people by their rows; None where it is none, or has other summaries."""
    match relation:
        case rel.PerPerson():
            return _of_people(relation)
        case rel.FilterRows(below, predicate):
            found = spread(below)
            return found and replace(found, relation=rel.FilterRows(found.relation, predicate))
        case rel.Project(below, columns):
            found = spread(below)
            return found and _projected(found, columns)
    return None


def _of_people(relation: rel.PerPerson) -> SpreadRows | None:
    below, aggregates = relation.input, relation.aggregates
    if any(one.summary not in SUMMED for one in aggregates):
        return None
    others = [k for k in relation.keys if not rel.names_person(k.expression, below)]
    taken = {name.lower() for name in rel.columns_of(below)}
    partition = tuple(one.expression for one in others)
    windows = {one.name: _fresh(f"all {one.name}", taken) for one in aggregates}
    columns = tuple(
        WindowColumn(windows[one.name], one.summary, one.argument, partition, where=one.where)
        for one in aggregates
    )
    named = [*relation.keys, *(Named(old, Column(new)) for old, new in windows.items())]
    names = {one.name.lower() for one in named}
    values = {}
    for one in aggregates:
        if one.summary in _ADDED:
            counts = _fresh(f"{one.name} counts", names)
            named.append(Named(counts, _counts(one)))
            value = None
            if one.summary is Summary.SUM and one.argument is not None:
                value = _fresh(f"each {one.name}", names)
                named.append(Named(value, one.argument))
            values[one.name] = value, counts
    rows = rel.PersonWindow(below, columns) if columns else below
    return SpreadRows(
        rel.Project(rows, tuple(named)), values, frozenset(one.name for one in others)
    )


def _counts(one: PersonAggregate) -> Expression:
    """Whether a row counts, for a summary of its owner's rows."""
    always = Call(Function.IS_NULL, (one.argument,)) if one.argument is not None else None
    parts = [] if one.where is None else [Call(Function.COALESCE, (one.where, _NO))]
    parts += [] if always is None else [Call(Function.NOT, (always,))]
    return (parts[0] if len(parts) == 1 else Call(Function.AND, tuple(parts))) if parts else _YES


def _projected(found: SpreadRows, columns: tuple[Named, ...]) -> SpreadRows | None:
    """The same under other names; what each row adds is carried along."""
    copies = {
        one.expression.name: one.name for one in columns if isinstance(one.expression, Column)
    }
    if not found.keys <= copies.keys():
        return None
    names = {one.name.lower() for one in columns}
    kept = {old: copies[old] for old in found.values if old in copies}
    carried = {
        part: _fresh(part, names) for old in kept for part in found.values[old] if part is not None
    }
    more = tuple(Named(new, Column(old)) for old, new in carried.items())
    values = {
        new: (value and carried[value], carried[counts])
        for old, new in kept.items()
        for value, counts in (found.values[old],)
    }
    keys = frozenset(copies[one] for one in found.keys)
    return SpreadRows(rel.Project(found.relation, (*columns, *more)), values, keys)


def _fresh(name: str, taken: set[str]) -> str:
    while name.lower() in taken:
        name += "_"
    taken.add(name.lower())
    return name
