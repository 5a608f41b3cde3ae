"""Aggregates: what is asked of each group, each different one once.

While a question is read an aggregate is a column with a name that no one can type; `Lift` gives it
its own. The same reader serves answers (`Aggregate`) and summaries of one
person's rows (`PersonAggregate`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from sqlglot import exp

from discreet.errors import InputError
from discreet.plan.expressions import Case, Column, Expression, Function, Literal, call
from discreet.plan.kinds import Kind, Range, Type
from discreet.plan.query import (
    MOST_AGGREGATES,
    Aggregate,
    AggregateFunction,
    check,
    check_count,
    counted_from_end,
    percent,
    released_kind,
    summary_of,
)
from discreet.plan.released_tables import aggregate_type
from discreet.plan.row_counts import counted_column, hold_counts, lacks_counts
from discreet.plan.summaries import PersonAggregate, summary_type
from discreet.plan.typing import infer
from discreet.sql.reader.aggregate_calls import AggregateCall, CallReader
from discreet.sql.reader.composed_aggregates import (
    REGRESSIONS,
    ComposedAggregates,
    Entropy,
    GeometricMean,
    KurtosisOfPopulation,
    StandardError,
    ValueHistogram,
)
from discreet.sql.reader.refusals import NODES, Refusal, said
from discreet.sql.reader.syntax import Node, order_parts

Finer: TypeAlias = Callable[
    [Node, type[Node], Expression, Expression | None], list[tuple[str, Expression]]
]
"""What is computed from counts of each value: a column, or several and what each ends in."""

Total: TypeAlias = Callable[[Expression, Expression | None], Expression | None]
"""The column of a sum over people that their rows add up to, measured by itself."""


class AskedValue(NamedTuple):
    """A column of an aggregate, its name without AS, and what its name ends in with AS."""

    value: Expression
    default_name: str | None = None
    ending: str = ""


@dataclass(slots=True, kw_only=True)
class Aggregates(CallReader):
    """The aggregates of one SELECT, in the order in which they are first asked."""

    counts: Callable[[], Mapping[str, Range | None]]
    """Counts and sums of one person's rows; a subquery that is read adds its own."""
    total: Total | None
    finer: Finer | None
    _asked: dict[AggregateCall, tuple[Column, Node]] = field(default_factory=dict)

    def ask(self, node: Node) -> Expression:
        """The column of one aggregate, or what it is computed from."""
        found = self.ask_all(node)
        if len(found) == 1:
            return found[0].value
        raise self.syntax.refuse(node, _LIST)

    def ask_all(self, node: Node) -> list[AskedValue]:
        """The columns of an aggregate: several for a list of levels, and for a histogram."""
        valued = self._of_values(node)
        if valued is not None:
            return [
                AskedValue(one, f"histogram_{end}" if end else None, end) for end, one in valued
            ]
        composed = self._composed(node)
        if composed is not None:
            return [AskedValue(composed)]
        asked = self._read(node, None)
        endings = [percent(one.level or Fraction(0)) if len(asked) > 1 else "" for one in asked]
        return [
            AskedValue(self._column(one, node), self.default_name(one), ending)
            for one, ending in zip(asked, endings, strict=True)
        ]

    def _composed(self, node: Node) -> Expression | None:
        """An aggregate as a function of others; None for one that stands for itself."""
        inner = node.this if isinstance(node, exp.Filter) else node
        kind = type(inner)
        if isinstance(inner.this, exp.Distinct) and kind in {exp.Sum, exp.Avg}:
            return self._distinct(node, inner)
        if self.per_person:
            return None
        if self.total is not None and kind in {exp.Sum, exp.Avg}:
            found = self._by_total(node, self.total)
            if found is not None:
                return found
        if kind in _COMPOSED:
            return _COMPOSED[kind](self._made(node), self._argument(inner))
        if kind in REGRESSIONS:
            pair = [self._argument(inner, part) for part in ("this", "expression")]
            return self._made(node).regression(kind, pair[0], pair[1])
        if kind not in _TIMES or self.released:
            return None
        return self._time(node, inner) if self._is_time(inner) else self._ranked_count(node)

    def _time(self, node: Node, inner: Node) -> Expression:
        """A quantile or the mean of dates."""
        made = self._made(node)
        asked, *more = self._read(inner, made.where)
        if more:
            raise self.syntax.refuse(node, _LIST)
        if infer(asked.arguments[0], self.reader.types).range is None:
            raise self.syntax.refuse(node, _UNBOUNDED_TIME)
        assert isinstance(asked.measure, AggregateFunction)  # noqa: S101 - narrowing: of groups
        return made.time(asked.measure, asked.arguments[0], asked.level)

    def _made(self, node: Node) -> ComposedAggregates:
        """The parts of an aggregate, with the condition of FILTER."""
        where = None
        if isinstance(node, exp.Filter):
            self.syntax.part(node, "this")
            where = self.reader.checked(self.syntax.part(node, "expression", "this"))

        def ask(
            measure: AggregateFunction, values: tuple[Expression, ...], *rest: Any, **how: Any
        ) -> Expression:
            asked = AggregateCall(measure, values, *rest, **how)
            plain = measure in {AggregateFunction.COUNT, AggregateFunction.MEAN}
            return self._column(replace(asked, sample=True) if plain else asked, node)

        return ComposedAggregates(ask, self.reader.types, where)

    def _distinct(self, node: Node, inner: Node) -> Expression:
        """SUM(DISTINCT x), AVG(DISTINCT x)."""
        listed = self.syntax.parts(self.syntax.part(inner, "this"), "expressions")
        if self.per_person or len(listed) != 1:
            raise self.syntax.refuse(node, NODES["Distinct"])
        return self._made(node).distinct(type(inner), self.reader.checked(listed[0]))

    def _of_values(self, node: Node) -> list[tuple[str, Expression]] | None:
        """MODE, ENTROPY, HISTOGRAM: of how often each value is there; None for others.

        A histogram has a column for each value, with what its name ends in.
        """
        inner = node.this if isinstance(node, exp.Filter) else node
        if not (type(inner) in _VALUED or isinstance(inner.this, exp.Mode)) or self.released:
            return None
        if self.per_person or self.finer is None:
            raise self.reader.unknown(inner)
        if isinstance(inner, exp.WithinGroup):  # MODE() WITHIN GROUP (ORDER BY x)
            order = self.syntax.part(inner, "expression")
            self.syntax.part(inner, "this")
            ((of, _, _), *_) = order_parts(self.syntax, order)
            value = self.reader.checked(of)
        else:
            value = self._argument(inner)
        made, kind = self._made(node), type(inner)
        found = None if kind in {Entropy, ValueHistogram} else made.mode(value)
        return [("", found)] if found is not None else self.finer(node, kind, value, made.where)

    def _by_total(self, node: Node, total: Total) -> Expression | None:
        """SUM or AVG of a value without bounds, by the rows that add up to it."""
        asked, *_ = self._read(node, None)
        (value,) = asked.arguments
        of = infer(value, self.reader.types)
        held = hold_counts(self._bare(asked, "_"), self.counts(), self.reader.types)
        if infer(held.arguments[0], self.reader.types).range is not None:
            return None
        found = total(value, asked.where)
        if found is None or asked.measure is AggregateFunction.SUM:
            return found
        counts = replace(asked, measure=AggregateFunction.COUNT)
        counted = self._column(counts if of.nullable else replace(counts, arguments=()), node)
        # A range with one end is that of a column.
        ends = self.reader.types[value.name].range if isinstance(value, Column) else None
        found = call(Function.GREATEST, found, 0) if ends is not None and ends.low >= 0 else found
        none = counted.equals(0), Literal(None, Kind.REAL)
        return Case((none,), found / call(Function.GREATEST, counted, 1))

    def _ranked_count(self, node: Node) -> Expression | None:
        """A quantile of a count or sum of a person's rows without bounds, by its logarithm.

        Quantiles of a rising function are that function of quantiles, and how far a person moves
        them does not depend on values. 2,048 cells from 1 to 2^40 are within 1.4 % of each value.
        """
        if not self.counts():
            return None
        asked, *more = self._read(node, None)
        column = None if asked.measure is AggregateFunction.MEAN else asked.arguments[0]
        bare = isinstance(column, Column) and self.counts().get(column.name, _SOME) is None
        of = self.reader.types[column.name] if isinstance(column, Column) and bare else None
        if more or of is None or of.range is None or of.range.low < 0:
            return None
        (value,) = asked.arguments
        held = call(Function.LN, call(Function.LEAST, value, 1 << 40) + 1)
        value = Case(((value.is_null(), Literal(None, Kind.REAL)),), held)
        found = self._column(replace(asked, arguments=(value,)), node)
        back = call(Function.EXP, found) - 1.0
        return call(Function.ROUND, back) if of.kind is Kind.INTEGER else back

    def _is_time(self, node: Node) -> bool:
        """Whether an aggregate is asked of dates or timestamps."""
        inner = node.this
        if isinstance(node, exp.WithinGroup):
            inner = node.expression.expressions[0].this
        if inner is None or isinstance(inner, exp.Distinct):
            return False
        return self.reader.check(self.reader.read(inner), inner).kind.is_time

    def default_name(self, asked: AggregateCall) -> str:
        """A name for an aggregate where the question gives none."""
        return asked.name({c.column: c.name for c in self.columns})

    @property
    def asked(self) -> dict[Expression, AggregateCall]:
        """The columns that stand for aggregates, and the aggregates."""
        return {column: asked for asked, (column, _) in self._asked.items()}

    def releases(self, names: Mapping[Expression, str]) -> tuple[Aggregate, ...]:
        """All of them as aggregates of an answer, under these names."""
        return tuple(self._release(asked, names[column]) for column, asked in self.asked.items())

    def summaries(self, names: Mapping[Expression, str]) -> tuple[PersonAggregate, ...]:
        """All of them as summaries of one person's rows, under these names."""
        return tuple(
            self._summary(asked, names[column], node)
            for asked, (column, node) in self._asked.items()
        )

    def _column(self, asked: AggregateCall, node: Node) -> Expression:
        if self.per_person and asked.measure is AggregateFunction.STDDEV:
            squared = self._column(replace(asked, measure=AggregateFunction.VARIANCE), node)
            return call(Function.SQRT, squared)
        if asked not in self._asked:
            column = Column(f"\0{len(self._asked)}")
            self._asked[asked] = column, node
            if not (self.released or self.per_person):  # too many, before all of them are read
                many = len(self._asked), MOST_AGGREGATES, "aggregates"
                self.syntax.build(node, check_count, *many)
            self.types[column.name] = self._type(asked, node)
        return self._asked[asked][0]

    def _type(self, asked: AggregateCall, node: Node) -> Type:
        try:
            if self.per_person:
                return summary_type(self._summary(asked, "_", node), self.reader.types)
            release = self._release(asked, "_")
            if self.released:
                return aggregate_type(release, self.types)
            check(release, self.reader.types)
        except InputError as error:
            known = {} if self.per_person else self.counts()
            if known and lacks_counts(self._bare(asked, "_"), known, self.reader.types):
                raise self.syntax.refuse(node, self._uncounted(node, error)) from None
            raise self.syntax.blame(node, error) from None
        return Type(released_kind(release))

    def _bare(self, asked: AggregateCall, name: str) -> Aggregate:
        assert isinstance(asked.measure, AggregateFunction)  # noqa: S101 - `_read` refused others
        return Aggregate(
            name, asked.measure, asked.arguments, asked.where, asked.level, asked.sample
        )

    def _release(self, asked: AggregateCall, name: str) -> Aggregate:
        bare = self._bare(asked, name)
        if bare.measure.is_count:  # it needs no bounds
            return bare
        ended = bare if self.released else counted_from_end(bare)
        return hold_counts(ended, self.counts(), self.reader.types)

    def _uncounted(self, node: Node, error: InputError) -> Refusal:
        """A count or sum of one person's rows without limits, and the same question with one."""
        measured = node.this if isinstance(node, exp.Filter) else node
        columns, read = measured.find_all(exp.Column, exp.Subquery), self.reader.checked
        column = next(c for c in columns if counted_column(read(c)) in self.counts())
        value = read(column)
        of = self.reader.types[counted_column(value) or ""]
        select, text = measured.find_ancestor(exp.Select) or measured, self.syntax.text
        alike = (c for one in select.expressions for c in one.find_all(type(column)) if c == column)
        count = not isinstance(value, Column) or not of.nullable  # COALESCE(n, 0), or never NULL
        for start, end in sorted({self.syntax.place(one) for one in alike}, reverse=True):
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
            raise self.syntax.refuse(node, _PER_PERSON)
        argument = asked.arguments[0] if asked.arguments else None
        level = None if asked.level == Fraction(1, 2) else asked.level
        return PersonAggregate(name, summary, argument, asked.where, asked.by, level)


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
_PER_PERSON = said("""per_person_aggregate: this aggregate is asked of each person's rows
    per person there are COUNT, COUNT(DISTINCT x), SUM, AVG, MIN, MAX, quantiles, STDDEV, \
    VARIANCE, BOOL_OR, BOOL_AND, ARG_MIN, ARG_MAX, ANY_VALUE, FIRST and LAST in an order
    use one of them in the subquery, or aggregate in the outer question""")
_LIST = said("""collection: a list of quantiles stands inside an expression
    each level becomes a column of its own
    select it by itself, or ask for one level""")
_UNBOUNDED_TIME = said("""type: an aggregate of dates without bounds
    one person could move the answer over the whole calendar
    declare Bounds for the column, buy them with a profile of the table first, or hold it \
    between two dates: LEAST(GREATEST(d, DATE '2020-01-01'), DATE '2025-12-31')""")
