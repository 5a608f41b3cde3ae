"""Aggregates: what is asked of each group, each different one once.

While a question is read an aggregate is a column with a name that no one can type; `Lift` in
`read_post` gives it its own. The same reader serves answers (`Aggregate`) and summaries of one
person's rows (`PersonAggregate`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

from sqlglot import exp

from discreet.errors import InputError
from discreet.plan.expressions import Call, Case, Cast, Column, Expression, Function, Literal
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.query import Aggregate, AggregateFunction, check, released_kind, summary_of
from discreet.plan.released_tables import aggregate_type
from discreet.plan.row_counts import hold_counts
from discreet.plan.summaries import PersonAggregate, RowOrder, Summary, summary_type
from discreet.plan.typing import infer
from discreet.sql.reader.composed_aggregates import (
    REGRESSIONS,
    ComposedAggregates,
    Entropy,
    GeometricMean,
    Histogram,
    KurtosisOfPopulation,
    StandardError,
)
from discreet.sql.reader.expressions import ExpressionReader
from discreet.sql.reader.literals import read_level
from discreet.sql.reader.names import PERSON, Visible, fresh
from discreet.sql.reader.person_aggregates import PERSON_ONLY
from discreet.sql.reader.refusals import NODES, Refusal
from discreet.sql.reader.syntax import Node, Syntax, ordered_parts


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate, before it has a name."""

    measure: AggregateFunction | Summary
    arguments: tuple[Expression, ...] = ()
    where: Expression | None = None
    level: Fraction | None = None
    sample: bool = True
    by: tuple[RowOrder, ...] = ()

    def name(self, columns: Mapping[str, str]) -> str:
        """A name for it where the question gives none: avg_age, p90_age, count."""
        names = [columns.get(a.name, a.name) for a in self.arguments if isinstance(a, Column)]
        return "_".join([self._stem, *names])

    @property
    def _stem(self) -> str:
        if self.level is not None:
            return "median" if self.level == Fraction(1, 2) else f"p{percent(self.level)}"
        return _STEMS.get(self.measure, str(self.measure.value))


_STEMS: dict[AggregateFunction | Summary, str] = {
    AggregateFunction.COUNT_PEOPLE: "count_people",
    AggregateFunction.COUNT_DISTINCT: "count_distinct",
    AggregateFunction.COVARIANCE: "covar",
    AggregateFunction.CORRELATION: "corr",
}


def percent(level: Fraction) -> str:
    """A level in percent, as part of a name: 90, 99_9."""
    return f"{float(level * 100):.10g}".replace(".", "_")


Finer: TypeAlias = Callable[
    [Node, type[Node], Expression, Expression | None], list[tuple[str, Expression]]
]
"""What is computed from counts of each value: a column, or several and what each ends in."""

SpreadValues: TypeAlias = Mapping[str, tuple[str | None, str]]
"""What each row adds to a count or sum of its owner's rows; see `SpreadRows`."""


class NeedsOneRowEach(Exception):  # noqa: N818 - caught by the reader, and told to nobody
    """Raised where an aggregate of people cannot be computed from their rows."""


class Aggregates:
    """The aggregates of one SELECT, in the order in which they are first asked."""

    def __init__(
        self,
        reader: ExpressionReader,
        columns: Sequence[Visible],
        counts: Mapping[str, Range | None],
        *,
        per_person: bool,
        released: bool = False,
        spread: "SpreadValues | None" = None,
    ) -> None:
        self._reader = reader
        self._owners = {c.column: c for c in columns if PERSON in c.identities}
        self._per_person = per_person
        self._released = released
        self._spread = spread
        self._counts = counts
        self._names = {c.column: c.name for c in columns}
        self._asked: dict[AggregateCall, Node] = {}
        self._columns: dict[AggregateCall, Column] = {}
        self.types: dict[str, Type] = dict(reader.types)
        self.finer: Finer | None = None
        self.turns: dict[tuple[Expression, tuple[RowOrder, ...]], str] = {}
        """Of released rows: which of them count, in which order, and the column of their place."""

    def ask(self, node: Node) -> Expression:
        """The column of one aggregate, or what it is computed from."""
        composed = self.composed(node)
        if composed is not None:
            return composed
        found = self.ask_all(node)
        if len(found) == 1:
            return found[0][1]
        raise self._syntax.refuse(node, _LIST)

    def ask_all(self, node: Node) -> list[tuple[AggregateCall, Expression]]:
        """The columns of an aggregate: several for a list of levels."""
        return [(asked, self._column(asked, node)) for asked in self._read(node, None)]

    def composed(self, node: Node) -> Expression | None:
        """An aggregate as a function of others; None for one that stands for itself."""
        inner = node.this if isinstance(node, exp.Filter) else node
        kind, syntax = type(inner), self._syntax
        if self._spread is not None:
            return self._by_rows(node, self._spread)
        if isinstance(inner.this, exp.Distinct) and kind in {exp.Sum, exp.Avg}:
            return self._distinct(node, inner)
        valued = self.of_values(node)
        if valued is not None and len(valued) > 1:
            raise syntax.refuse(node, _LIST)
        if valued is not None:
            return valued[0][1]
        if not self._released and (ranked_count := self._ranked_count(node)) is not None:
            return ranked_count
        ranked = kind in _TIMES and not self._released
        if self._per_person or not (kind in _COMPOSED or kind in REGRESSIONS or ranked):
            return None
        arguments = [one for one in (inner.this, inner.args.get("expression")) if one is not None]
        times = ranked and self._is_time(inner)
        if not times and kind not in _COMPOSED and kind not in REGRESSIONS:
            return None
        made = self._made(node)
        if times:
            asked, *more = self._read(inner, made.where)
            if more:
                raise syntax.refuse(node, _LIST)
            if infer(asked.arguments[0], self._reader.types).range is None:
                raise syntax.refuse(node, _UNBOUNDED_TIME)
            if not isinstance(asked.measure, AggregateFunction):
                raise syntax.refuse(node, _PER_PERSON)
            return made.time(asked.measure, asked.arguments[0], asked.level)
        values = [self._argument(inner, part) for part in ("this", "expression")[: len(arguments)]]
        if kind in REGRESSIONS:
            if len(values) != 2:
                raise syntax.refuse(node, _NO_ARGUMENT)
            return made.regression(kind, values[0], values[1])
        return _COMPOSED[kind](made, values[0])

    def _made(self, node: Node) -> ComposedAggregates:
        """What an aggregate is made of, with the condition of FILTER."""
        where = None
        if isinstance(node, exp.Filter):
            self._syntax.part(node, "this")
            condition = self._syntax.part(self._syntax.part(node, "expression"), "this")
            where = self._reader.checked(condition)

        def ask(
            measure: AggregateFunction, values: tuple[Expression, ...], *rest: Any, **how: Any
        ) -> Expression:
            asked = AggregateCall(measure, values, *rest, **how)
            plain = measure in {AggregateFunction.COUNT, AggregateFunction.MEAN}
            return self._column(replace(asked, sample=True) if plain else asked, node)

        return ComposedAggregates(ask, self._reader.types, where)

    def _distinct(self, node: Node, inner: Node) -> Expression:
        """SUM(DISTINCT x), AVG(DISTINCT x)."""
        listed = self._syntax.parts(self._syntax.part(inner, "this"), "expressions")
        if self._per_person or len(listed) != 1:
            raise self._syntax.refuse(node, NODES["Distinct"])
        return self._made(node).distinct(type(inner), self._reader.checked(listed[0]))

    def of_values(self, node: Node) -> list[tuple[str, Expression]] | None:
        """MODE, ENTROPY, HISTOGRAM: of how often each value is there; None for others.

        A histogram has a column for each value, with what its name ends in.
        """
        inner = node.this if isinstance(node, exp.Filter) else node
        if not (type(inner) in _VALUED or isinstance(inner.this, exp.Mode)) or self._released:
            return None
        if self._per_person or self.finer is None:
            raise self._reader.unknown(inner)
        if isinstance(inner, exp.WithinGroup):  # MODE() WITHIN GROUP (ORDER BY x)
            order = self._syntax.part(inner, "expression")
            self._syntax.part(inner, "this")
            ((of, _, _), *_) = ordered_parts(self._syntax, order)
            value = self._reader.checked(of)
        else:
            value = self._argument(inner)
        made, kind = self._made(node), type(inner)
        found = None if kind in {Entropy, Histogram} else made.mode(value)
        return [("", found)] if found is not None else self.finer(node, kind, value, made.where)

    def _by_rows(self, node: Node, spread: "SpreadValues") -> Expression:
        """An aggregate of people whose rows stand for them."""
        (asked,) = self._read(node, None)
        people = AggregateCall(AggregateFunction.COUNT_PEOPLE, (), asked.where)
        if asked.measure is AggregateFunction.COUNT_PEOPLE or (
            asked.measure is AggregateFunction.COUNT and not asked.arguments
        ):
            return self._column(people, node)
        (argument, *more) = asked.arguments
        if asked.measure not in _ADDED or more or not isinstance(argument, Column):
            raise NeedsOneRowEach
        if argument.name not in spread:
            raise NeedsOneRowEach
        value, counts = spread[argument.name]
        where = _both(asked.where, Column(counts))
        if asked.measure is AggregateFunction.COUNT:
            return self._column(people if value is None else replace(people, where=where), node)
        measure = AggregateFunction.COUNT if value is None else AggregateFunction.SUM
        arguments = () if value is None else (Column(value),)
        total = self._column(AggregateCall(measure, arguments, where), node)
        if asked.measure is AggregateFunction.SUM:
            return total
        counted = self._column(people if value is None else replace(people, where=where), node)
        of = self._reader.types[argument.name].range
        if of is not None and of.low >= 0:
            total = Call(Function.GREATEST, (total, Literal(0, Kind.INTEGER)))
        one = Literal(1, Kind.INTEGER)
        return Call(Function.DIVIDE, (total, Call(Function.GREATEST, (counted, one))))

    def _ranked_count(self, node: Node) -> Expression | None:
        """A quantile of a count or sum of a person's rows without bounds, by its logarithm.

        Quantiles of a rising function are that function of quantiles, and how far a person moves
        them does not depend on values. 2,048 cells from 1 to 2^40 are within 1.4 % of each value.
        """
        if self._per_person or not self._counts:
            return None
        inner = node.this if isinstance(node, exp.Filter) else node
        if type(inner) not in _RANKED:
            return None
        asked, *more = self._read(node, None)
        column = asked.arguments[0] if asked.arguments else None
        bare = isinstance(column, Column) and self._counts.get(column.name, _SOME) is None
        of = self._reader.types[column.name] if isinstance(column, Column) and bare else None
        if more or of is None or of.range is None or of.range.low < 0:
            return None
        one = Literal(1, Kind.INTEGER)
        most = Literal(1 << 40, Kind.INTEGER)
        held = Call(Function.ADD, (Call(Function.LEAST, (asked.arguments[0], most)), one))
        missing = Call(Function.IS_NULL, (asked.arguments[0],))
        value = Case(((missing, Literal(None, Kind.REAL)),), Call(Function.LN, (held,)))
        found = self._column(replace(asked, arguments=(value,)), node)
        back = Call(Function.SUBTRACT, (Call(Function.EXP, (found,)), Literal(1.0, Kind.REAL)))
        return Call(Function.ROUND, (back,)) if of.kind is Kind.INTEGER else back

    def _is_time(self, node: Node) -> bool:
        """Whether an aggregate is asked of dates or timestamps."""
        inner = node.this
        if isinstance(node, exp.WithinGroup):
            inner = node.expression.expressions[0].this
        if inner is None or isinstance(inner, exp.Distinct):
            return False
        return self._reader.check(self._reader.read(inner), inner).kind.is_time

    def asked(self, expression: Expression) -> AggregateCall | None:
        """The aggregate whose column an expression is."""
        return next((a for a, c in self._columns.items() if c == expression), None)

    def default_name(self, asked: AggregateCall) -> str:
        """A name for an aggregate where the question gives none."""
        return asked.name(self._names)

    def columns(self) -> list[tuple[Column, AggregateCall]]:
        """The columns that stand for aggregates, and the aggregates."""
        return [(column, asked) for asked, column in self._columns.items()]

    def releases(self, names: Mapping[Expression, str]) -> tuple[Aggregate, ...]:
        """All of them as aggregates of an answer, under these names."""
        return tuple(self._release(asked, names[column]) for column, asked in self.columns())

    def summaries(self, names: Mapping[Expression, str]) -> tuple[PersonAggregate, ...]:
        """All of them as summaries of one person's rows, under these names."""
        return tuple(
            self._summary(asked, names[column], self._asked[asked])
            for column, asked in self.columns()
        )

    @property
    def _syntax(self) -> Syntax:
        return self._reader.syntax

    def _column(self, asked: AggregateCall, node: Node) -> Expression:
        if self._per_person and asked.measure is AggregateFunction.STDDEV:
            squared = self._column(replace(asked, measure=AggregateFunction.VARIANCE), node)
            return self._reader.call(node, Function.SQRT, squared)
        if asked not in self._asked:
            column = Column(f"\0{len(self._asked)}")
            self._asked[asked], self._columns[asked] = node, column
            self.types[column.name] = self._type(asked, node)
        return self._columns[asked]

    def _type(self, asked: AggregateCall, node: Node) -> Type:
        try:
            if self._per_person:
                return summary_type(self._summary(asked, "_", node), self._reader.types)
            release = self._release(asked, "_")
            if self._released:
                return aggregate_type(release, self.types)
            check(release, self._reader.types)
        except InputError as error:
            if not self._per_person and any(Column(n) in asked.arguments for n in self._counts):
                raise self._syntax.refuse(node, self._uncounted(node, error)) from None
            raise self._syntax.blame(node, error) from None
        return Type(released_kind(release))

    def _release(self, asked: AggregateCall, name: str) -> Aggregate:
        assert isinstance(asked.measure, AggregateFunction)  # noqa: S101 - `_read` refused others
        bare = Aggregate(
            name, asked.measure, asked.arguments, asked.where, asked.level, asked.sample
        )
        return hold_counts(bare, self._counts)

    def _uncounted(self, node: Node, error: InputError) -> Refusal:
        """A count or sum of one person's rows without limits, and the same question with one."""
        measured = node.this if isinstance(node, exp.Filter) else node
        counts = set(map(Column, self._counts))
        columns = (c for c in measured.find_all(exp.Column) if self._reader.checked(c) in counts)
        column = next(columns)
        start, end = self._syntax.place(column)
        of = self._reader.types[self._reader.checked(column).name]  # type: ignore[union-attr]
        text, inner = self._syntax.text, self._syntax.text[start:end]
        most = f"LEAST({inner}, 50)" if not of.nullable else f"LEAST({inner}, 1000)"
        most = f"GREATEST({most}, -1000)" if of.range is None else most
        return Refusal(
            "unbounded_count",
            f"{error.what}: a {'sum' if of.nullable else 'count'} of one person's rows",
            "one person could have any number of rows, and no limits on them are stated",
            f"say how much of one person may count, as in {text[:start]}{most}{text[end:]}",
        )

    def _summary(self, asked: AggregateCall, name: str, node: Node) -> PersonAggregate:
        summary = summary_of(asked.measure, sample=asked.sample)
        if summary is None:
            raise self._syntax.refuse(node, _PER_PERSON)
        argument = asked.arguments[0] if asked.arguments else None
        level = None if asked.level == Fraction(1, 2) else asked.level
        return PersonAggregate(name, summary, argument, asked.where, asked.by, level)

    # --- reading ---------------------------------------------------------------------------------

    def _read(self, node: Node, where: Expression | None) -> list[AggregateCall]:
        kind = type(node)  # exactly: APPROX_QUANTILE is a kind of QUANTILE to the parser
        if kind in _SHAPES:
            return _SHAPES[kind](self, node, where)
        if kind in _PAIRS:
            measure, sample = _PAIRS[kind]
            pair = (self._argument(node), self._argument(node, "expression"))
            return [AggregateCall(measure, pair, where, sample=sample)]
        if kind in _SINGLES:
            measure, sample = _SINGLES[kind]
            value = self._argument(node)
            if measure in _SUMMED and self._reader.check(value, node).kind is Kind.BOOLEAN:
                value = Cast(value, Kind.INTEGER)  # true counts 1, as in DuckDB
            return [AggregateCall(measure, (value,), where, sample=sample)]
        if (self._per_person or self._released) and kind in PERSON_ONLY:
            summary, argument, where, by = PERSON_ONLY[kind](self._reader, node, where)
            if self._released:
                return [self._of_released(summary, argument, where, by)]
            return [AggregateCall(summary, (argument,), where, by=by)]
        raise self._reader.unknown(node)

    def _of_released(
        self,
        summary: Summary,
        argument: Expression,
        where: Expression | None,
        by: tuple[RowOrder, ...],
    ) -> AggregateCall:
        """The least, the greatest, or that of the row whose place is the first."""
        if summary is not Summary.FIRST:
            extreme = AggregateFunction.MIN if summary is Summary.MIN else AggregateFunction.MAX
            return AggregateCall(extreme, (argument,), where)
        counts = where or Literal(value=True, kind=Kind.BOOLEAN)
        if (counts, by) not in self.turns:
            name = fresh("turn", {one.lower() for one in self.types})
            self.turns[counts, by], self.types[name] = name, Type(Kind.INTEGER)
        turn = Column(self.turns[counts, by])
        first = Call(Function.EQUAL, (turn, Literal(1, Kind.INTEGER)))
        return AggregateCall(AggregateFunction.MAX, (argument,), _both(where, first))

    def filtered(self, node: Node, where: Expression | None) -> list[AggregateCall]:
        """FILTER (WHERE ...)."""
        if where is not None:
            raise self._syntax.refuse(node, Refusal("clause", "FILTER stands twice"))
        condition = self._syntax.part(self._syntax.part(node, "expression"), "this")
        return self._read(self._syntax.part(node, "this"), self._reader.checked(condition))

    def _argument(self, node: Node, part: str = "this") -> Expression:
        inner = self._syntax.part(node, part)
        if inner is None:
            raise self._syntax.refuse(node, _NO_ARGUMENT)
        return self._reader.checked(inner)

    def count(self, node: Node, where: Expression | None) -> list[AggregateCall]:
        """COUNT of rows, of values, or of different values."""
        syntax = self._syntax
        syntax.part(node, "big_int")  # which integer an engine counts in
        inner = syntax.part(node, "this")
        if inner is None or isinstance(inner, exp.Star):
            return [AggregateCall(AggregateFunction.COUNT, (), where)]
        if isinstance(inner, exp.Distinct):
            return [self._count_distinct(inner, where)]
        argument = self._argument(node)
        if isinstance(argument, Literal) and argument.value is not None:
            return [AggregateCall(AggregateFunction.COUNT, (), where)]
        return [AggregateCall(AggregateFunction.COUNT, (argument,), where)]

    def count_if(self, node: Node, where: Expression | None) -> list[AggregateCall]:
        """COUNT_IF(condition): the rows for which it is true."""
        return [AggregateCall(AggregateFunction.COUNT, (), _both(where, self._argument(node)))]

    def median(self, node: Node, where: Expression | None) -> list[AggregateCall]:
        """The quantile in the middle."""
        return [self._quantile(self._argument(node), Fraction(1, 2), where)]

    def _count_distinct(self, node: Node, where: Expression | None) -> AggregateCall:
        listed = self._syntax.parts(node, "expressions")
        row = len(listed) == 1 and isinstance(listed[0], exp.Tuple)
        if row or len(listed) > 1:
            nodes = self._syntax.parts(listed[0], "expressions") if row else listed
            values = [self._reader.checked(one) for one in nodes]
            return self._count_rows(node, values, where, row=row)
        if not listed:
            raise self._syntax.refuse(node, _NO_ARGUMENT)
        argument = self._reader.checked(listed[0])
        owner = self._owners.get(argument.name) if isinstance(argument, Column) else None
        if owner is None or self._per_person:
            return AggregateCall(AggregateFunction.COUNT_DISTINCT, (argument,), where)
        if owner.absent:
            missing = self._reader.call(node, Function.IS_NULL, argument)
            where = _both(where, self._reader.call(node, Function.NOT, missing))
        return AggregateCall(AggregateFunction.COUNT_PEOPLE, (), where)

    def _count_rows(
        self, node: Node, values: list[Expression], where: Expression | None, *, row: bool
    ) -> AggregateCall:
        """COUNT(DISTINCT a, b) and COUNT(DISTINCT (a, b)), by one text for each pair.

        Different pairs have different texts: each value stands with its length, NULL without one. A
        row (a, b) counts also where one is NULL; a list of values as in Spark does not.
        """
        parts = []
        for value in values:
            kind = self._reader.check(value, node).kind
            if kind is Kind.REAL:
                raise self._syntax.refuse(node, _DISTINCT_REAL)
            text = value if kind is Kind.TEXT else Cast(value, Kind.TEXT)
            length = Cast(Call(Function.LENGTH, (text,)), Kind.TEXT)
            colon = Literal(":", Kind.TEXT)
            told = Call(Function.CONCAT, (length, colon, text))
            parts.append(Call(Function.COALESCE, (told, colon)) if row else told)
        whole = self._syntax.remember(Call(Function.CONCAT, tuple(parts)), node)
        return AggregateCall(AggregateFunction.COUNT_DISTINCT, (whole,), where)

    def _quantile(self, of: Expression, level: Fraction, where: Expression | None) -> AggregateCall:
        return AggregateCall(AggregateFunction.QUANTILE, (of,), where, level)

    def quantiles(self, node: Node, where: Expression | None) -> list[AggregateCall]:
        """QUANTILE_CONT(x, level or list of levels)."""
        self._check_between(node)
        part = "quantile" if isinstance(node, exp.Quantile) else "expression"
        levels = self._syntax.part(node, part)
        if levels is None:
            raise self._syntax.refuse(node, _NO_LEVEL)
        of = self._argument(node)
        return [self._quantile(of, level, where) for level in self._levels(levels)]

    def _check_between(self, node: Node) -> None:
        """Noise hides whether a quantile is one of the values; where there is none, it does not."""
        if isinstance(node, exp.PercentileDisc) and (self._per_person or self._released):
            raise self._syntax.refuse(node, _DISCRETE)

    def _levels(self, node: Node) -> list[Fraction]:
        if not isinstance(node, exp.Array):
            return [read_level(self._syntax, node)]
        levels = [read_level(self._syntax, one) for one in self._syntax.parts(node, "expressions")]
        if levels and len(set(levels)) == len(levels):
            return levels
        raise self._syntax.refuse(node, _LEVELS)

    def ordered(self, node: Node, where: Expression | None) -> list[AggregateCall]:
        """PERCENTILE_CONT(level) WITHIN GROUP (ORDER BY x)."""
        syntax = self._syntax
        inner = syntax.part(node, "this")
        order = syntax.parts(syntax.part(node, "expression"), "expressions")
        if not isinstance(inner, exp.PercentileCont | exp.PercentileDisc):
            raise self._reader.unknown(inner)
        self._check_between(inner)
        if inner.args.get("expression") is not None or len(order) != 1:
            raise syntax.refuse(node, _NO_LEVEL)
        syntax.part(order[0], "nulls_first")  # NULL is passed over
        of = self._reader.checked(syntax.part(order[0], "this"))
        falling = bool(syntax.part(order[0], "desc"))
        levels = self._levels(syntax.part(inner, "this"))
        return [self._quantile(of, 1 - level if falling else level, where) for level in levels]


def _both(first: Expression | None, second: Expression) -> Expression:
    return second if first is None else Call(Function.AND, (first, second))


_SHAPES: dict[type[Node], Callable[[Aggregates, Node, Expression | None], list[AggregateCall]]] = {
    exp.Filter: Aggregates.filtered,
    exp.WithinGroup: Aggregates.ordered,
    exp.Count: Aggregates.count,
    exp.CountIf: Aggregates.count_if,
    exp.Median: Aggregates.median,
    exp.Quantile: Aggregates.quantiles,
    exp.ApproxQuantile: Aggregates.quantiles,
    exp.PercentileCont: Aggregates.quantiles,
    exp.PercentileDisc: Aggregates.quantiles,
}
_SINGLES: dict[type[Node], tuple[AggregateFunction, bool]] = {
    exp.Sum: (AggregateFunction.SUM, True),
    exp.Avg: (AggregateFunction.MEAN, True),
    exp.ApproxDistinct: (AggregateFunction.COUNT_DISTINCT, True),
    exp.Variance: (AggregateFunction.VARIANCE, True),
    exp.VariancePop: (AggregateFunction.VARIANCE, False),
    exp.Stddev: (AggregateFunction.STDDEV, True),
    exp.StddevSamp: (AggregateFunction.STDDEV, True),
    exp.StddevPop: (AggregateFunction.STDDEV, False),
    exp.Min: (AggregateFunction.MIN, True),
    exp.Max: (AggregateFunction.MAX, True),
}
_PAIRS: dict[type[Node], tuple[AggregateFunction, bool]] = {
    exp.CovarSamp: (AggregateFunction.COVARIANCE, True),
    exp.CovarPop: (AggregateFunction.COVARIANCE, False),
    exp.Corr: (AggregateFunction.CORRELATION, True),
}
_ADDED = {AggregateFunction.COUNT, AggregateFunction.SUM, AggregateFunction.MEAN}
_SOME = Range(0, 1)
_SUMMED = {AggregateFunction.SUM, AggregateFunction.MEAN}
_SUMMED |= {AggregateFunction.VARIANCE, AggregateFunction.STDDEV}
_TIMES: set[type[Node]] = {exp.Min, exp.Max, exp.Median, exp.Avg, exp.Quantile, exp.ApproxQuantile}
_TIMES |= {exp.PercentileCont, exp.PercentileDisc, exp.WithinGroup}
_RANKED = _TIMES - {exp.Avg}
_VALUED: set[type[Node]] = {exp.Mode, Entropy, Histogram}
_COMPOSED: dict[type[Node], Callable[[ComposedAggregates, Expression], Expression]] = {
    exp.Skewness: ComposedAggregates.skewness,
    exp.Kurtosis: ComposedAggregates.kurtosis,
    KurtosisOfPopulation: partial(ComposedAggregates.kurtosis, sample=False),
    GeometricMean: ComposedAggregates.geometric_mean,
    StandardError: ComposedAggregates.standard_error,
}
_PER_PERSON = Refusal(
    "per_person_aggregate",
    "this aggregate is asked of each person's rows",
    "per person there are COUNT, COUNT(DISTINCT x), SUM, AVG, MIN, MAX, quantiles, STDDEV, "
    "VARIANCE, BOOL_OR, BOOL_AND, ARG_MIN, ARG_MAX, ANY_VALUE, FIRST and LAST in an order",
    "use one of them in the subquery, or aggregate in the outer question",
)
_LIST = Refusal(
    "collection",
    "a list of quantiles stands inside an expression",
    "each level becomes a column of its own",
    "select it by itself, or ask for one level",
)
_LEVELS = Refusal(
    "argument", "the list of levels is empty or repeats one", fix="list each level once"
)
_NO_LEVEL = Refusal(
    "argument",
    "a quantile without its level and value",
    "it needs one of each",
    "write QUANTILE_CONT(x, 0.5) or PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)",
)
_DISCRETE = Refusal(
    "argument",
    "QUANTILE_DISC of one person's rows, or of released ones",
    "quantiles without noise lie between the two values next to them",
    "write QUANTILE_CONT(x, 0.5)",
)
_UNBOUNDED_TIME = Refusal(
    "type",
    "an aggregate of dates without bounds",
    "one person could move the answer over the whole calendar",
    "declare Bounds for the column, buy them with a profile of the table first, or hold it between"
    " two dates: LEAST(GREATEST(d, DATE '2020-01-01'), DATE '2025-12-31')",
)
_NO_ARGUMENT = Refusal("argument", "an aggregate of nothing", fix="name the column")
_DISTINCT_REAL = Refusal(
    "distinct",
    "COUNT(DISTINCT ...) of several columns, one of which has decimals",
    "rows are told apart by their texts, and engines write decimals differently",
    "round it to a whole number first, as in CAST(x AS BIGINT)",
)
