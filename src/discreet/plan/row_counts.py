"""Counts and sums of one person's rows, which have no bounds but those that limits give.

`AVG(n)` over a subquery that counts each person's rows is answered as `AVG(LEAST(n, rows))` where
the table states `rows`: people with more count for that many, as in every other answer about it. A
sum of bounded values is clamped to what that many rows can add up to. Conditions and groups see
both as they are. Unbounded counts and sums are measured on the rows themselves:

The sum over people of what their rows add up to is the sum over all rows. So `AVG(n)` over a
subquery that counts each person's rows is the number of rows over the number of people, and how
much one person may weigh is what limits on rows say: stated ones, or those that a part of the price
buys. Nothing else has to be known of `n`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from discreet.errors import InputError
from discreet.plan import relations as rel
from discreet.plan.expressions import (
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Function,
    Literal,
    call,
    conjuncts,
    mapped,
    mentions,
    nested,
)
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.possible_keys import FROM, UP_TO
from discreet.plan.query import Aggregate, Query, check
from discreet.plan.relations import Named
from discreet.plan.summaries import SUMMED, PersonAggregate, Summary, WindowColumn, WindowFunction
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


def lacks_counts(
    aggregate: Aggregate, counts: Mapping[str, Range | None], columns: Mapping[str, Type]
) -> bool:
    """Whether it has bounds once counts and sums that nobody bounded have some."""
    assumed = {name: of or _NullableRange(-1, 1) for name, of in counts.items()}
    with suppress(InputError):
        check(hold_counts(aggregate, assumed, columns), columns)
        return None in counts.values()
    return False


def hold_counts(
    aggregate: Aggregate, counts: Mapping[str, Range | None], columns: Mapping[str, Type]
) -> Aggregate:
    """The aggregate, with the counts and sums that need bounds clamped to the limits.

    An argument that has no bounds reads these columns as `_held` writes them wherever they stand in
    it, but for the conditions of CASE. Where their range is proved, each row that counts has the
    same value either way.
    """
    if aggregate.measure.is_count or not counts:
        return aggregate
    named = {name.removeprefix(_LENGTH) for name, of in counts.items() if of is not None}

    def hold(argument: Expression) -> Expression:
        whole = _held(argument, counts)
        others = named.isdisjoint(mentions(argument))
        if whole != argument or others or infer(argument, columns).range is not None:
            return whole
        return inside(argument)

    def inside(part: Expression) -> Expression:
        held = _held(part, counts)
        if held is not part:
            return held
        if isinstance(part, Case):  # conditions see counts as they are
            branches = ((where, inside(value)) for where, value in part.branches)
            return Case(tuple(branches), inside(part.otherwise))
        return mapped(part, inside)

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
    arguments = {part for one in query.aggregates for of in one.arguments for part in nested(of)}
    return {
        name: of
        for name, of in counts.items()
        if of is not None
        and not isinstance(of, _ProvedRange)
        and any(_held(form, counts) in arguments for form in (Column(name), or_zero(name)))
    }


_YES, _NO = (Literal(one, Kind.BOOLEAN) for one in (True, False))


@dataclass(frozen=True, slots=True)
class SpreadRows:
    """A relation of people with each person's rows in place of their one row.

    `values` are the columns that counted or added up these rows, and the column of what each row
    adds. Columns of people that nothing adds up to are not there.

    Stability: rows are those of `PersonWindow` over the rows below, filters on what is the same in
    all rows of a person, and joins of these; whoever is added or removed takes their own rows
    along.
    """

    relation: rel.Relation
    values: Mapping[str, Column]

    def each(self, of: Expression) -> Expression | None:
        """What each row adds to a value of people; None where rows do not add up to it.

        A value is a column of `values`; it times a literal, or over a whole number; a sum or a
        difference of two; or one of several, or NULL or 0, as conditions on people choose.
        """
        match of:
            case Column(name):
                return self.values.get(name)
            case Literal(None):
                return of
            case Literal(value, kind):
                return of if kind.is_number and value == 0 else None
            case Call(Function.MULTIPLY, (Literal() as factor, value)) if not _is_literal(value):
                return self.each(Call(Function.MULTIPLY, (value, factor)))
            case Call(
                Function.COALESCE | Function.MULTIPLY | Function.DIVIDE as by, (value, other)
            ):
                known = _is_literal(other)
                if isinstance(other, Literal) and by is Function.COALESCE:
                    known = other.value == 0
                elif by is Function.DIVIDE:
                    known |= infer(other, rel.columns_of(self.relation)).kind is Kind.INTEGER
                part = self.each(value) if known else None
                return part and Call(by, (part, other))
            case Call(Function.ADD | Function.SUBTRACT as by, (left, right)):
                sides = [part for part in map(self.each, (left, right)) if part is not None]
                if len(sides) < 2:
                    return None
                added = Call(by, tuple(call(Function.COALESCE, part, 0) for part in sides))
                kind = infer(added, rel.columns_of(self.relation)).kind
                return Case(((of.is_null(), Literal(None, kind)),), added)
            case Cast(value, Kind.REAL):
                part = self.each(value)
                return part and replace(of, operand=part)
            case Case(branches, otherwise):
                last, parts = self.each(otherwise), [(t, self.each(v)) for t, v in branches]
                chosen = tuple((test, part) for test, part in parts if part is not None)
                return Case(chosen, last) if last and len(chosen) == len(parts) else None
        return None


def _is_literal(expression: Expression) -> bool:
    return isinstance(expression, Literal)


def spread(relation: rel.Relation) -> Iterator[SpreadRows]:
    """A relation of people by their rows: of one side of each join, which may be either."""
    nodes, _ = rel.nodes_of(relation)
    return _spread(relation, {name.lower() for one in nodes for name in rel.columns_of(one)})


def _spread(relation: rel.Relation, taken: set[str]) -> Iterator[SpreadRows]:
    match relation:
        case rel.PerPerson():
            yield _of_people(relation, taken)
        case rel.FilterRows() | rel.JoinPublic() | rel.MatchPublic():
            for one in _spread(relation.input, taken):
                with suppress(InputError):  # where a column is read that is not there
                    yield replace(one, relation=replace(relation, input=one.relation))
        case rel.Project(below, columns):
            for one in _spread(below, taken):
                yield _projected(one, columns, taken)
        case rel.JoinPerson(left, right, on, keep, condition):
            pairs = [((one.relation, right), one) for one in _spread(left, taken)]
            pairs += [((left, one.relation), one) for one in _spread(right, taken)]
            for sides, one in pairs:
                with suppress(InputError):
                    yield replace(one, relation=rel.join_person(*sides, on, keep, condition))


def _of_people(relation: rel.PerPerson, taken: set[str]) -> SpreadRows:
    below = relation.input
    keys = (k.expression for k in relation.keys if not rel.names_person(k.expression, below))
    partition, scope = tuple(keys), rel.columns_of(below)
    named, windows, values = list(relation.keys), list[WindowColumn](), dict[str, Column]()
    added: Expression
    for one in relation.aggregates:
        new, met = _fresh(f"all {one.name}", taken), _counts(one)
        if one.summary in SUMMED:
            found = WindowColumn(new, one.summary, one.argument, partition, where=one.where)
            windows.append(found)
            named.append(Named(one.name, Column(new)))
        if one.summary is Summary.COUNT_DISTINCT and one.argument is not None:
            alike = (*partition, one.argument, met)  # of which one row counts
            windows.append(WindowColumn(new, WindowFunction.ROW_NUMBER, partition=alike))
            met &= Column(new).equals(1)
        if one.summary in _COUNTS:
            added, none = Literal(1, Kind.INTEGER), Literal(0, Kind.INTEGER)
            if one.summary is Summary.SUM and one.argument is not None:
                added, none = one.argument, Literal(None, infer(one.argument, scope).kind)
            values[one.name] = Column(_fresh(f"each {one.name}", taken))
            named.append(Named(values[one.name].name, Case(((met, added),), none)))
    rows = rel.PersonWindow(below, tuple(windows)) if windows else below
    return SpreadRows(rel.Project(rows, tuple(named)), values)


def _counts(one: PersonAggregate) -> Expression:
    """Whether a row counts, for a summary of its owner's rows."""
    known = _YES if one.argument is None else ~Call(Function.IS_NULL, (one.argument,))
    return known if one.where is None else Call(Function.COALESCE, (one.where, _NO)) & known


def _projected(found: SpreadRows, columns: tuple[Named, ...], taken: set[str]) -> SpreadRows:
    """The same with other columns, and with what each row adds to them."""
    parts = ((one.name, found.each(one.expression)) for one in columns)
    each = {name: (Column(_fresh(f"each {name}", taken)), part) for name, part in parts if part}
    there = rel.columns_of(found.relation).keys()
    kept = [one for one in columns if mentions(one.expression) <= there]
    more = [Named(new.name, part) for new, part in each.values()]
    return SpreadRows(
        rel.Project(found.relation, (*kept, *more)), {name: new for name, (new, _) in each.items()}
    )


def _fresh(name: str, taken: set[str]) -> str:
    while name.lower() in taken:
        name += "_"
    taken.add(name.lower())
    return name
