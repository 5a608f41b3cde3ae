"""A question: private rows, groups, aggregates, and what is done with the released numbers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.errors import InputError
from discreet.plan.expressions import Column, Expression
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.possible_keys import possible_type
from discreet.plan.relations import LARGEST, Named, Relation, columns_of
from discreet.plan.schema import EachRow, Limits, PersonPeriod, Table, distinct
from discreet.plan.summaries import Summary, expect
from discreet.plan.typing import infer
from discreet.rationals import Real, positive, whole

if TYPE_CHECKING:
    from discreet.plan.released_tables import ReleasedTable

MOST = 1 << 62
"""No limit or offset is higher."""

MOST_AGGREGATES = 1 << 6
"""Aggregates of one question: each takes a share of the price, and of the time to plan it."""

MOST_KEYS = 1 << 6
"""Keys of one question: groups by more of them hold nobody."""

_TYPICAL_GROUPS = 100
"""How many groups are reckoned with where their number is not public."""


class AggregateFunction(Enum):
    """Aggregates of a group. NULL values are skipped, as in SQL."""

    COUNT = "count"  # rows; with an argument, values that are not NULL
    COUNT_PEOPLE = "count distinct people"
    COUNT_DISTINCT = "count distinct"
    SUM = "sum"
    MEAN = "avg"
    VARIANCE = "variance"
    STDDEV = "stddev"
    COVARIANCE = "covariance"
    CORRELATION = "correlation"
    QUANTILE = "quantile"
    MIN = "min"  # some rows from the end: see `Aggregate.from_end`
    MAX = "max"  # likewise
    MODE = "mode"  # of whole numbers within narrow bounds; chosen by the exponential mechanism
    SUM_DISTINCT = "sum distinct"  # of whole numbers, each different one once

    @property
    def is_count(self) -> bool:
        """Whether it counts something, in whole numbers."""
        return self.value.startswith("count")

    @property
    def is_whole(self) -> bool:
        """Whether it is released as a whole number."""
        return self.is_count or self is AggregateFunction.SUM_DISTINCT


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate of each group, over the rows for which `where` is true.

    `level` is the quantile's; `sample` tells sample from population variance and covariance.
    `weight` is how much its error matters relative to other aggregates of the question.
    """

    name: str
    measure: AggregateFunction
    arguments: tuple[Expression, ...] = ()
    where: Expression | None = None
    level: Fraction | None = None
    sample: bool = True
    weight: Fraction = field(default=Fraction(1), metadata={"written": "where it is not 1"})
    interval: bool = field(default=True, metadata={"written": "where it is False"})
    """Whether a quantile may spend a share of its price on an interval in values."""
    from_end: bool = field(default=False, metadata={"written": "where it is True"})
    """Whether MIN or MAX aims at some rows from the end; if not, at `level_of`, as stored once."""

    @property
    def reads(self) -> tuple[Expression, ...]:
        """All row expressions."""
        return (*self.arguments, *([] if self.where is None else [self.where]))


@dataclass(frozen=True, slots=True)
class SortKey:
    """A column to sort the released rows by; NULL comes last."""

    expression: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """Aggregates of groups of private rows, and post-processing over what is released.

    `sets` are the grouping sets, as positions in `keys`; one set with all keys is the ordinary
    case. `outputs`, `having` and `order` are expressions over released columns: keys and aggregates
    by name. A key that a grouping set leaves out is NULL in its rows.

    Where more is computed from released numbers, `then` says what, in place of `outputs`, `having`,
    `order` and `limit`; `also` are further grouped questions that it needs, measured and priced
    together with this one.
    """

    relation: Relation
    keys: tuple[Named, ...]
    aggregates: tuple[Aggregate, ...]
    sets: tuple[tuple[int, ...], ...] = ()
    outputs: tuple[Named, ...] = ()
    having: Expression | None = None
    order: tuple[SortKey, ...] = ()
    limit: int | None = None
    offset: int = 0
    limits: Limits = field(default_factory=Limits)
    also: "tuple[Query, ...]" = field(default=(), metadata={"written": "where there are any"})
    then: "ReleasedTable | None" = field(default=None, metadata={"written": "where there is one"})
    only_possible: bool = field(default=False, metadata={"written": "where it is True"})
    """Whether keys that the conditions rule out are left out; older questions have them."""
    size: int = field(init=False, repr=False, compare=False)
    """How many parts its relations and expressions have."""
    key_types: tuple[Type, ...] = field(init=False, repr=False, compare=False)
    has_known_keys: bool = field(init=False, repr=False, compare=False)
    """Whether all values of all keys are public."""
    group_count: int = field(init=False, repr=False, compare=False)
    """How many groups there are, where that is public; else what is reckoned with."""
    is_by_row: bool = field(init=False, repr=False, compare=False)
    """Whether each row is protected by itself."""
    counts_whole: bool = field(init=False, repr=False, compare=False)
    """Whether public facts prove that nobody is over the limits, so that all weights are full."""
    tables: tuple[Table, ...] = field(init=False, repr=False, compare=False)
    """The private tables that it reads, each once."""
    groupings: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """The columns that tell which keys a row is grouped by, where that is not all of them."""
    released_columns: Mapping[str, Type] = field(init=False, repr=False, compare=False)
    """The columns that post-processing can see, by name: keys, aggregates and `groupings`."""

    def __post_init__(self) -> None:
        if not self.sets:
            object.__setattr__(self, "sets", (tuple(range(len(self.keys))),))
        object.__setattr__(self, "size", _size(self))
        _check_size(self)
        _settle(self)
        _check_shape(self)
        distinct(
            [*(key.name for key in self.keys), *(a.name for a in self.aggregates), *self.groupings]
        )
        distinct(output.name for output in self.outputs)
        scope = columns_of(self.relation)
        for aggregate in self.aggregates:
            check(aggregate, scope)
        released = self.released_columns
        for output in self.outputs:
            shown = output.expression
            if not (isinstance(shown, Column) and shown.name in released):
                infer(shown, released)
        for order in self.order:
            infer(order.expression, released)
        if self.having is not None:
            expect(self.having, released, Kind.BOOLEAN, "HAVING")
        _check_then(self)


def _settle(query: Query) -> None:
    """Record what is known of the groups, who is protected, what is read and what released."""
    facts, scope = query.relation.facts, columns_of(query.relation)
    alone = isinstance(facts.unit, EachRow)
    if query.only_possible:
        types = tuple(possible_type(key.expression, query.relation) for key in query.keys)
    else:
        types = tuple(infer(key.expression, scope) for key in query.keys)
    sizes = [_TYPICAL_GROUPS if of.keys is None else len(of.keys) for of in types]
    object.__setattr__(query, "key_types", types)
    object.__setattr__(query, "has_known_keys", all(of.keys is not None for of in types))
    object.__setattr__(query, "group_count", math.prod(sizes))
    object.__setattr__(query, "is_by_row", alone)
    object.__setattr__(query, "counts_whole", alone or facts.one_row_each)
    tables = (*facts.tables, *(table for one in query.also for table in one.tables))
    object.__setattr__(query, "tables", tuple({one.name: one for one in tables}.values()))
    every = all(len(chosen) == len(query.keys) for chosen in query.sets)
    left_out = () if every else tuple(grouping_name(key.name) for key in query.keys)
    keys = {
        key.name: of if every else of.may_be_null()
        for key, of in zip(query.keys, types, strict=True)
    }
    answers = {one.name: Type(released_kind(one)) for one in query.aggregates}
    object.__setattr__(query, "groupings", left_out)
    columns = {**keys, **answers, **dict.fromkeys(left_out, GROUPING)}
    object.__setattr__(query, "released_columns", MappingProxyType(columns))


def of_possible_groups(query: Query) -> Query:
    """The question without groups that its own conditions rule out."""
    types = tuple(possible_type(key.expression, query.relation) for key in query.keys)
    return query if types == query.key_types else replace(query, only_possible=True)


def _check_then(query: Query) -> None:
    """Refuse post-processing in two places, or of answers that are not there."""
    if query.then is None and not query.also:
        return
    parts = questions_in(query)
    for table in query.then.nodes() if query.then else ():
        if not table.inputs:
            table.check(parts)  # type: ignore[union-attr]
    processed = [one for one in parts if one.outputs or one.order or one.having or one.offset]
    bare = not processed and all(one.limit is None for one in parts)
    if query.then is None or not bare or any(one.then for one in query.also):
        raise InputError(
            "post-processing in two places",
            why="where tables of answers are computed with, nothing else is",
            fix="put all of it into `then`",
        )


def questions_in(query: Query) -> "tuple[Query, ...]":
    """The grouped questions that are measured for one: itself, and what is measured with it."""
    return (query, *query.also)


def measured_in(query: Query) -> list[Expression]:
    """The expressions that aggregates compute for each row."""
    return [one for aggregate in query.aggregates for one in aggregate.reads]


def _size(query: Query) -> int:
    own: list[Named | SortKey] = [*query.keys, *query.outputs, *query.order]
    having = [] if query.having is None else [query.having]
    parts = [*(one.expression for one in own), *measured_in(query), *having]
    more = sum(one.size for one in query.also) + (0 if query.then is None else query.then.size)
    return query.relation.facts.size + sum(part.size for part in parts) + more


def _check_size(query: Query) -> None:
    """Refuse what has more parts than an engine, or the ledger that keeps it, should see."""
    for count, most, what in (
        (query.size, LARGEST, "parts"),
        (len(query.aggregates), MOST_AGGREGATES, "aggregates"),
        (len(query.keys), MOST_KEYS, "keys"),
    ):
        check_count(count, most, what)


def check_count(count: int, most: int, what: str) -> None:
    """Refuse a question with too many parts of a kind."""
    if count > most:
        raise InputError(
            f"the question has more than {most} {what}",
            why="it would take too long to plan",
            fix="ask for fewer columns at once",
        )


def _check_shape(query: Query) -> None:
    """Refuse what would be found out only when the answer is cut, after it was charged."""
    for name in ("limit", "offset"):
        rows = getattr(query, name)
        if rows is None or (type(rows) is int and rows == 0):
            continue
        object.__setattr__(query, name, whole(rows, name, at_least=0))
        if rows > MOST:
            raise InputError(
                f"{name} is {rows}",
                why="no answer has as many rows",
                fix=f"pass a lower {name}, or none",
            )
    people = any(one.measure is AggregateFunction.COUNT_PEOPLE for one in query.aggregates)
    if people and isinstance(query.relation.facts.unit, PersonPeriod):
        raise InputError(
            "people are counted in a table that names them in periods",
            why="somebody who is there in two periods would count twice",
            fix="count distinct values of the column that names the person",
        )
    places = set(range(len(query.keys)))
    if any(len(set(one)) < len(one) or not places.issuperset(one) for one in query.sets):
        raise InputError(
            "a grouping set that names a key twice, or one that is not there",
            why=f"there are {len(places)} keys",
            fix="name each by its place, once",
        )


def weighted(query: Query, weights: Mapping[str, Real]) -> Query:
    """The same question, with how much the error of some aggregates matters.

    Example:
        >>> from discreet.plan.builder import From
        >>> from discreet.plan.expression_builder import count
        >>> from discreet.plan.relations import Scan
        >>> from discreet.plan.schema import Person, Table
        >>> visits = Table("visits", {"who": Type(Kind.TEXT)}, Person("who"))
        >>> weighted(From(Scan(visits)).agg(n=count()).query(), {"n": 4}).aggregates[0].weight
        Fraction(4, 1)
    """
    names = [aggregate.name for aggregate in query.aggregates]
    for name in weights:
        if name not in names:
            raise InputError(
                f"no aggregate is called {name}",
                why=f"they are {', '.join(names)}",
                fix="name one of them",
            )
    if not weights:
        return query
    aggregates = (
        replace(a, weight=positive(weights.get(a.name, a.weight), "weight"))
        for a in query.aggregates
    )
    return replace(query, aggregates=tuple(aggregates))


def without_intervals(query: Query) -> Query:
    """The same question, whose quantiles are chosen without intervals."""
    ranked = AggregateFunction.QUANTILE
    aggregates = (replace(one, interval=one.measure is not ranked) for one in query.aggregates)
    return replace(query, aggregates=tuple(aggregates))


GROUPING = Type(Kind.INTEGER, nullable=False, range=Range(0, 1))
"""The type of what GROUPING tells: 1 where a row of the answer is not grouped by a key."""


def grouping_name(key: str) -> str:
    """The name of the column that says whether rows are grouped by a key."""
    return f"grouping({key})"


def released_kind(aggregate: Aggregate) -> Kind:
    """Counts are released as whole numbers, and so are sums of different ones."""
    return Kind.INTEGER if aggregate.measure.is_whole else Kind.REAL


def level_of(aggregate: Aggregate) -> Fraction:
    """The quantile that an aggregate asks for.

    MIN and MAX are counted `from_end`, 0 or 1. In questions that were stored before there was that,
    they are the ends of the middle 99.9 %. A mode has the level whose scores one row changes as
    much as its own.
    """
    if aggregate.level is not None:
        return aggregate.level
    level = _LEVELS[aggregate.measure]
    return Fraction(round(level)) if aggregate.from_end else level


def counted_from_end(aggregate: Aggregate) -> Aggregate:
    """The same aggregate of private rows: MIN and MAX are counted from their ends."""
    return replace(aggregate, from_end=aggregate.measure in EXTREMES)


EXTREMES = {AggregateFunction.MIN, AggregateFunction.MAX}

_LEVELS = {
    AggregateFunction.MIN: Fraction(1, 2000),
    AggregateFunction.MAX: Fraction(1999, 2000),
    AggregateFunction.MODE: Fraction(1),  # one row moves scores as far apart: see `draw_mode`
}


_ARGUMENTS = {
    AggregateFunction.COUNT: (0, 1),
    AggregateFunction.COUNT_PEOPLE: (0, 0),
    AggregateFunction.COVARIANCE: (2, 2),
    AggregateFunction.CORRELATION: (2, 2),
}
_PRODUCTS = {
    AggregateFunction.VARIANCE,
    AggregateFunction.STDDEV,
    AggregateFunction.COVARIANCE,
    AggregateFunction.CORRELATION,
}


def check(aggregate: Aggregate, scope: Mapping[str, Type]) -> None:
    """Refuse an aggregate that has no meaning over these columns."""
    fewest, most = _ARGUMENTS.get(aggregate.measure, (1, 1))
    if not fewest <= len(aggregate.arguments) <= most:
        raise InputError(
            f"{aggregate.measure.value} of {len(aggregate.arguments)} values",
            why=f"it takes {most}",
            fix="pass that many",
        )
    if type(aggregate.weight) is not Fraction or aggregate.weight <= 0:
        positive(aggregate.weight, "weight")
    _check_level(aggregate)
    if aggregate.where is not None:
        expect(aggregate.where, scope, Kind.BOOLEAN, "FILTER")
    widths = [1.0]
    for argument in aggregate.arguments:
        found = infer(argument, scope)
        if not aggregate.measure.is_count and not found.kind.is_number:
            raise InputError(
                f"{aggregate.measure.value} of a {found.kind.value} value",
                why="it is made for numbers",
                fix="count the values, or make it a number: CAST(x AS INTEGER), .cast('integer')",
            )
        if not aggregate.measure.is_count and found.range is None:
            raise InputError(
                f"{aggregate.measure.value} of a value without bounds",
                why="one person could move the answer without limit",
                fix="declare Bounds for its columns, buy them for all with a profile of the table"
                " first, say WHERE x BETWEEN 0 AND 100, or clamp it: LEAST(GREATEST(x, 0), 100);"
                " for a count of one person's rows LEAST(COUNT(*), 50) is enough",
            )
        widths.append(1.0 if found.range is None else found.range.width)
        _check_whole(aggregate, found)
    across = math.prod(widths)  # of two values also the squares of either are added up
    squares = across * across, max(widths) * max(widths)
    if aggregate.measure in _PRODUCTS and not all(map(math.isfinite, squares)):
        raise InputError(
            f"{aggregate.measure.value} of values with very wide bounds",
            why="their products are no finite numbers",
            fix="declare narrower Bounds, or divide the values first",
        )


MOST_MODES = 1 << 11
"""Values that the most frequent one is chosen from."""

MOST_DIFFERENT = 1 << 20
"""Whole numbers whose different values are added up."""


def _check_whole(aggregate: Aggregate, of: Type) -> None:
    """Refuse a mode, or a sum of different values, of other than whole numbers in narrow bounds."""
    most = {AggregateFunction.MODE: MOST_MODES, AggregateFunction.SUM_DISTINCT: MOST_DIFFERENT}
    allowed = most.get(aggregate.measure)
    if allowed is None or of.range is None:
        return
    if of.kind is Kind.INTEGER and of.range.width < allowed:
        return
    raise InputError(
        f"{aggregate.measure.value} of values that are not whole numbers within {allowed:,}",
        why="each of them has a place of its own, before anything is measured",
        fix="round it, and declare or clamp its bounds: LEAST(GREATEST(CAST(x AS BIGINT), 0), 100)",
    )


def _check_level(aggregate: Aggregate) -> None:
    """A quantile has a level, and nothing else has: MIN and MAX have their own, or an end."""
    level, ranked = aggregate.level, aggregate.measure is AggregateFunction.QUANTILE
    ended = aggregate.from_end in {False, aggregate.measure in EXTREMES}
    if ended and ranked == (level is not None) and 0 <= (level or 0) <= 1:
        return
    raise InputError(
        f"the level of {aggregate.measure.value} is {level if ended else 'counted from an end'}",
        why="that of a quantile is a share of the values, and nothing else has one",
        fix="pass a level from 0 to 1 to a quantile alone, and from_end to MIN and MAX alone",
    )


def percent(level: Fraction) -> str:
    """A level in percent, as part of a name: 90, 99_9."""
    return f"{float(level * 100):.10g}".replace(".", "_")


def level_name(level: Fraction) -> str:
    """A quantile as part of a name: median, p90, p99_9."""
    return "median" if level == Fraction(1, 2) else f"p{percent(level)}"


def summary_of(measure: AggregateFunction | Summary, *, sample: bool) -> Summary | None:
    """The per-person summary of an aggregate; None if there is none."""
    if isinstance(measure, Summary):
        return measure
    if measure is AggregateFunction.QUANTILE:
        return Summary.MEDIAN
    if measure is AggregateFunction.VARIANCE:
        return Summary.VARIANCE if sample else Summary.VARIANCE_POP
    return _SUMMARIES.get(measure)


_SUMMARIES = {
    AggregateFunction.COUNT: Summary.COUNT,
    AggregateFunction.COUNT_DISTINCT: Summary.COUNT_DISTINCT,
    AggregateFunction.SUM: Summary.SUM,
    AggregateFunction.MEAN: Summary.MEAN,
    AggregateFunction.MIN: Summary.MIN,
    AggregateFunction.MAX: Summary.MAX,
}
