"""Aggregates: what is asked of each group, each different one once.

While a question is read an aggregate is a column with a name that no one can type; `Lift` in
`read_post` gives it its own. The same reader serves answers (`Aggregate`) and summaries of one
person's rows (`PersonAggregate`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

from sqlglot import exp

from discreet.errors import InputError
from discreet.plan.expressions import Call, Case, Column, Expression, Function, Literal
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.query import (
    MOST_AGGREGATES,
    Aggregate,
    AggregateFunction,
    check,
    check_count,
    released_kind,
    summary_of,
)
from discreet.plan.released_tables import aggregate_type
from discreet.plan.row_counts import counted_column, hold_counts
from discreet.plan.summaries import PersonAggregate, summary_type
from discreet.plan.typing import infer
from discreet.sql.reader.aggregate_calls import AggregateCall, CallReader, both
from discreet.sql.reader.composed_aggregates import (
    REGRESSIONS,
    ComposedAggregates,
    Entropy,
    GeometricMean,
    KurtosisOfPopulation,
    StandardError,
    ValueHistogram,
)
from discreet.sql.reader.expressions import ExpressionReader
from discreet.sql.reader.refusals import NODES, Refusal
from discreet.sql.reader.syntax import Node, Visible, ordered_parts

Finer: TypeAlias = Callable[
    [Node, type[Node], Expression, Expression | None], list[tuple[str, Expression]]
]
"""What is computed from counts of each value: a column, or several and what each ends in."""

SpreadValues: TypeAlias = Mapping[str, tuple[str | None, str]]
"""Contribution of each row to a count or sum of its owner's rows; see `SpreadRows`."""


class NeedsOneRowEach(Exception):  # noqa: N818 - caught by the reader, and told to nobody
    """Raised where an aggregate of people cannot be computed from their rows."""


class Aggregates(CallReader):
    """The aggregates of one SELECT, in the order in which they are first asked."""

    def __init__(
        self,
        reader: ExpressionReader,
        columns: Sequence[Visible],
        counts: Callable[[], Mapping[str, Range | None]],
        *,
        per_person: bool,
        released: bool = False,
        spread: "SpreadValues | None" = None,
    ) -> None:
        super().__init__(reader, columns, per_person=per_person, released=released)
        self._spread = spread
        self._known_counts = counts
        self._names = {c.column: c.name for c in columns}
        self._asked: dict[AggregateCall, Node] = {}
        self._columns: dict[AggregateCall, Column] = {}
        self.finer: Finer | None = None

    @property
    def _counts(self) -> Mapping[str, Range | None]:
        """Counts and sums of one person's rows; a subquery that is read adds its own."""
        return self._known_counts()

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
        kind = type(inner)
        if self._spread is not None:
            return self._by_rows(node, self._spread)
        if isinstance(inner.this, exp.Distinct) and kind in {exp.Sum, exp.Avg}:
            return self._distinct(node, inner)
        if (valued := self.of_values(node)) is not None:
            if len(valued) > 1:
                raise self._syntax.refuse(node, _LIST)
            return valued[0][1]
        if self._per_person:
            return None
        if kind in _COMPOSED:
            return _COMPOSED[kind](self._made(node), self._argument(inner))
        if kind in REGRESSIONS:
            pair = [self._argument(inner, part) for part in ("this", "expression")]
            return self._made(node).regression(kind, pair[0], pair[1])
        if kind not in _TIMES or self._released:
            return None
        return self._time(node, inner) if self._is_time(inner) else self._ranked_count(node)

    def _time(self, node: Node, inner: Node) -> Expression:
        """A quantile or the mean of dates."""
        made = self._made(node)
        asked, *more = self._read(inner, made.where)
        if more:
            raise self._syntax.refuse(node, _LIST)
        if infer(asked.arguments[0], self._reader.types).range is None:
            raise self._syntax.refuse(node, _UNBOUNDED_TIME)
        assert isinstance(asked.measure, AggregateFunction)  # noqa: S101 - narrowing: of groups
        return made.time(asked.measure, asked.arguments[0], asked.level)

    def _made(self, node: Node) -> ComposedAggregates:
        """The parts of an aggregate, with the condition of FILTER."""
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
        if self._spread is not None:
            raise NeedsOneRowEach
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
        found = None if kind in {Entropy, ValueHistogram} else made.mode(value)
        return [("", found)] if found is not None else self.finer(node, kind, value, made.where)

    def _by_rows(self, node: Node, spread: "SpreadValues") -> Expression:
        """An aggregate of people whose rows stand for them."""
        asked, *several = self._read(node, None)
        if several:
            raise NeedsOneRowEach
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
        where = both(asked.where, Column(counts))
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
        if not self._counts:
            return None
        asked, *more = self._read(node, None)
        column = None if asked.measure is AggregateFunction.MEAN else asked.arguments[0]
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

    def _column(self, asked: AggregateCall, node: Node) -> Expression:
        if self._per_person and asked.measure is AggregateFunction.STDDEV:
            squared = self._column(replace(asked, measure=AggregateFunction.VARIANCE), node)
            return self._reader.call(node, Function.SQRT, squared)
        if asked not in self._asked:
            column = Column(f"\0{len(self._asked)}")
            self._asked[asked], self._columns[asked] = node, column
            if not (self._released or self._per_person):
                self._check_few(node)
            self.types[column.name] = self._type(asked, node)
        return self._columns[asked]

    def _check_few(self, node: Node) -> None:
        """Refuse too many aggregates before all of them are read."""
        try:
            check_count(len(self._asked), MOST_AGGREGATES, "aggregates")
        except InputError as error:
            raise self._syntax.blame(node, error) from None

    def _type(self, asked: AggregateCall, node: Node) -> Type:
        try:
            if self._per_person:
                return summary_type(self._summary(asked, "_", node), self._reader.types)
            release = self._release(asked, "_")
            if self._released:
                return aggregate_type(release, self.types)
            check(release, self._reader.types)
        except InputError as error:
            known = [self._counts.get(counted_column(one) or "", _SOME) for one in asked.arguments]
            if not self._per_person and None in known:
                raise self._syntax.refuse(node, self._uncounted(node, error)) from None
            raise self._syntax.blame(node, error) from None
        return Type(released_kind(release))

    def _release(self, asked: AggregateCall, name: str) -> Aggregate:
        assert isinstance(asked.measure, AggregateFunction)  # noqa: S101 - `_read` refused others
        bare = Aggregate(
            name, asked.measure, asked.arguments, asked.where, asked.level, asked.sample
        )
        if asked.measure.is_count:  # it needs no bounds
            return bare
        return hold_counts(bare, self._counts, self._reader.types)

    def _uncounted(self, node: Node, error: InputError) -> Refusal:
        """A count or sum of one person's rows without limits, and the same question with one."""
        measured = node.this if isinstance(node, exp.Filter) else node
        columns, read = measured.find_all(exp.Column, exp.Subquery), self._reader.checked
        column = next(c for c in columns if counted_column(read(c)) in self._counts)
        value = read(column)
        of = self._reader.types[counted_column(value) or ""]
        select, text = measured.find_ancestor(exp.Select) or measured, self._syntax.text
        alike = (c for one in select.expressions for c in one.find_all(type(column)) if c == column)
        count = not isinstance(value, Column) or not of.nullable  # COALESCE(n, 0), or never NULL
        for start, end in sorted({self._syntax.place(one) for one in alike}, reverse=True):
            at = text.rfind("(", 0, start) if isinstance(column, exp.Subquery) else start
            last = text.find(")", end) + 1 if at < start else end
            most = f"LEAST({text[at:last]}, {50 if count else 1000})"
            most = f"GREATEST({most}, -1000)" if of.range is None and not count else most
            if not count:  # LEAST and GREATEST leave NULL out, and a sum of no rows is NULL
                most = f"CASE WHEN {text[at:last]} IS NOT NULL THEN {most} END"
            text = text[:at] + most + text[last:]
        return Refusal(
            "unbounded_count",
            f"{error.what}: a {'count' if count else 'sum'} of one person's rows",
            "one person could have any number of rows, and no limits on them are stated",
            f"say how much of one person may count, as in {text}",
        )

    def _summary(self, asked: AggregateCall, name: str, node: Node) -> PersonAggregate:
        summary = summary_of(asked.measure, sample=asked.sample)
        if summary is None:
            raise self._syntax.refuse(node, _PER_PERSON)
        argument = asked.arguments[0] if asked.arguments else None
        level = None if asked.level == Fraction(1, 2) else asked.level
        return PersonAggregate(name, summary, argument, asked.where, asked.by, level)


_ADDED = {AggregateFunction.COUNT, AggregateFunction.SUM, AggregateFunction.MEAN}
_SOME = Range(0, 1)
_TIMES: set[type[Node]] = {exp.Min, exp.Max, exp.Median, exp.Avg, exp.Quantile, exp.ApproxQuantile}
_TIMES |= {exp.PercentileCont, exp.PercentileDisc, exp.WithinGroup}
_VALUED: set[type[Node]] = {exp.Mode, Entropy, ValueHistogram}
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
_UNBOUNDED_TIME = Refusal(
    "type",
    "an aggregate of dates without bounds",
    "one person could move the answer over the whole calendar",
    "declare Bounds for the column, buy them with a profile of the table first, or hold it between"
    " two dates: LEAST(GREATEST(d, DATE '2020-01-01'), DATE '2025-12-31')",
)
