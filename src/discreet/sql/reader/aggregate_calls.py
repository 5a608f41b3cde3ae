"""Aggregates as they are written: COUNT, SUM, quantiles and their kin, and what they are asked of.

The same reader serves answers, summaries of one person's rows, and groups of released rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from discreet.plan.expressions import Call, Cast, Column, Expression, Function, Literal, call
from discreet.plan.kinds import Kind, Type
from discreet.plan.query import AggregateFunction, level_name
from discreet.plan.summaries import RowOrder, Summary
from discreet.sql.reader.expressions import ExpressionReader
from discreet.sql.reader.literals import read_level
from discreet.sql.reader.refusals import Refusal, said
from discreet.sql.reader.syntax import PERSON, Node, Syntax, Visible, fresh
from discreet.sql.reader.windows import row_orders


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
            return level_name(self.level)
        return _STEMS.get(self.measure, str(self.measure.value))


_STEMS: dict[AggregateFunction | Summary, str] = {
    AggregateFunction.COUNT_PEOPLE: "count_people",
    AggregateFunction.COUNT_DISTINCT: "count_distinct",
    AggregateFunction.COVARIANCE: "covar",
    AggregateFunction.CORRELATION: "corr",
}


@dataclass(slots=True, kw_only=True)
class CallReader:
    """Reads aggregates over rows: private ones, those of one person, or released ones."""

    reader: ExpressionReader
    columns: Sequence[Visible]
    per_person: bool
    released: bool
    types: dict[str, Type] = field(init=False)
    turns: dict[tuple[Expression, tuple[RowOrder, ...]], str] = field(default_factory=dict)
    """Of released rows: which of them count, in which order, and the column of their place."""

    def __post_init__(self) -> None:
        self.types = dict(self.reader.types)

    @property
    def syntax(self) -> Syntax:
        """The statement."""
        return self.reader.syntax

    def _read(self, node: Node, where: Expression | None) -> list[AggregateCall]:
        kind = type(node)  # exactly: APPROX_QUANTILE is a kind of QUANTILE to the parser
        if kind in _SHAPES:
            return _SHAPES[kind](self, node, where)
        if kind in _MEASURES:
            measure, sample = _MEASURES[kind]
            parts = ("this", "expression") if measure in _OF_PAIRS else ("this",)
            values = tuple(self._argument(node, part) for part in parts)
            if measure in _SUMMED and self.reader.check(values[0], node).kind is Kind.BOOLEAN:
                values = (Cast(values[0], Kind.INTEGER),)  # true counts 1, as in DuckDB
            return [AggregateCall(measure, values, where, sample=sample)]
        if not (self.per_person or self.released):
            raise self.reader.unknown(node)
        asked = self._of_own(node, where)
        return [self._of_released(asked) if self.released else asked]

    def _of_own(self, node: Node, where: Expression | None) -> AggregateCall:
        """An aggregate that one row may decide: of one person's rows, or of released ones."""
        match node:
            case exp.AnyValue():  # the least, which is any of them
                return AggregateCall(Summary.MIN, (self._argument(node),), where)
            case exp.LogicalOr() | exp.LogicalAnd():  # the greatest, the least of true and false
                argument = self._argument(node)
                self.reader.expect_condition(argument, node, "the argument")
                summary = Summary.MAX if isinstance(node, exp.LogicalOr) else Summary.MIN
                return AggregateCall(summary, (argument,), where)
            case exp.ArgMin() | exp.ArgMax():  # x where y is; rows without either are none
                value, by = self._argument(node), self._argument(node, "expression")
                there = (~value.is_null(), ~by.is_null(), *(() if where is None else (where,)))
                order = (RowOrder(by, isinstance(node, exp.ArgMax)),)
                return AggregateCall(Summary.FIRST, (value,), Call(Function.AND, there), by=order)
            case exp.First() | exp.Last():
                return self._first(node, where)
        raise self.reader.unknown(node)

    def _first(self, node: Node, where: Expression | None) -> AggregateCall:
        """FIRST(x ORDER BY y); LAST is the first in the opposite order."""
        inner = self.syntax.part(node, "this")
        if not isinstance(inner, exp.Order):
            raise self.syntax.refuse(node, _UNORDERED)
        value = self._argument(inner)
        by = row_orders(self.syntax, inner, self.reader.checked)
        if isinstance(node, exp.Last):
            by = tuple(RowOrder(o.expression, not o.descending, not o.nulls_first) for o in by)
        return AggregateCall(Summary.FIRST, (value,), where, by=by)

    def _of_released(self, asked: AggregateCall) -> AggregateCall:
        """The least, the greatest, or that of the row whose place is the first."""
        if asked.measure is not Summary.FIRST:
            return replace(asked, measure=AggregateFunction(asked.measure.value))
        counts = asked.where or Literal(value=True, kind=Kind.BOOLEAN)
        if (counts, asked.by) not in self.turns:
            name = fresh("turn", {one.lower() for one in self.types})
            self.turns[counts, asked.by], self.types[name] = name, Type(Kind.INTEGER)
        first = Column(self.turns[counts, asked.by]).equals(1)
        return AggregateCall(AggregateFunction.MAX, asked.arguments, both(asked.where, first))

    def filtered(self, node: Node, where: Expression | None) -> list[AggregateCall]:
        """FILTER (WHERE ...)."""
        if where is not None:
            raise self.syntax.refuse(node, Refusal("clause", "FILTER stands twice"))
        condition = self.syntax.part(node, "expression", "this")
        return self._read(self.syntax.part(node, "this"), self.reader.checked(condition))

    def _argument(self, node: Node, part: str = "this") -> Expression:
        inner = self.syntax.part(node, part)
        if inner is None:
            raise self.syntax.refuse(node, NO_ARGUMENT)
        return self.reader.checked(inner)

    def count(self, node: Node, where: Expression | None) -> list[AggregateCall]:
        """COUNT of rows, of values, or of different values."""
        syntax = self.syntax
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
        return [AggregateCall(AggregateFunction.COUNT, (), both(where, self._argument(node)))]

    def median(self, node: Node, where: Expression | None) -> list[AggregateCall]:
        """The quantile in the middle."""
        return [self._quantile(self._argument(node), Fraction(1, 2), where)]

    def _count_distinct(self, node: Node, where: Expression | None) -> AggregateCall:
        listed = self.syntax.parts(node, "expressions")
        row = len(listed) == 1 and isinstance(listed[0], exp.Tuple)
        if row or len(listed) > 1:
            nodes = self.syntax.parts(listed[0], "expressions") if row else listed
            values = [self.reader.checked(one) for one in nodes]
            return self._count_rows(node, values, where, row=row)
        if not listed:
            raise self.syntax.refuse(node, NO_ARGUMENT)
        argument = self.reader.checked(listed[0])
        owners = (c for c in self.columns if PERSON in c.identities)
        owner = next((c for c in owners if argument == Column(c.column)), None)
        if owner is None or self.per_person:
            return AggregateCall(AggregateFunction.COUNT_DISTINCT, (argument,), where)
        if owner.absent:
            where = both(where, ~argument.is_null())
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
            kind = self.reader.check(value, node).kind
            if kind is Kind.REAL:
                raise self.syntax.refuse(node, _DISTINCT_REAL)
            text = value if kind is Kind.TEXT else Cast(value, Kind.TEXT)
            length = Cast(call(Function.LENGTH, text), Kind.TEXT)
            told = call(Function.CONCAT, length, ":", text)
            parts.append(call(Function.COALESCE, told, ":") if row else told)
        whole = self.syntax.remember(Call(Function.CONCAT, tuple(parts)), node)
        return AggregateCall(AggregateFunction.COUNT_DISTINCT, (whole,), where)

    def _quantile(self, of: Expression, level: Fraction, where: Expression | None) -> AggregateCall:
        return AggregateCall(AggregateFunction.QUANTILE, (of,), where, level)

    def quantiles(self, node: Node, where: Expression | None) -> list[AggregateCall]:
        """QUANTILE_CONT(x, level or list of levels)."""
        self._check_between(node)
        part = "quantile" if isinstance(node, exp.Quantile) else "expression"
        levels = self.syntax.part(node, part)
        if levels is None:
            raise self.syntax.refuse(node, _NO_LEVEL)
        of = self._argument(node)
        return [self._quantile(of, level, where) for level in self._levels(levels)]

    def _check_between(self, node: Node) -> None:
        """Noise hides whether a quantile is one of the values; where there is none, it does not."""
        if isinstance(node, exp.PercentileDisc) and (self.per_person or self.released):
            raise self.syntax.refuse(node, _DISCRETE)

    def _levels(self, node: Node) -> list[Fraction]:
        if not isinstance(node, exp.Array):
            return [read_level(self.syntax, node)]
        levels = [read_level(self.syntax, one) for one in self.syntax.parts(node, "expressions")]
        if levels and len(set(levels)) == len(levels):
            return levels
        raise self.syntax.refuse(node, _LEVELS)

    def ordered(self, node: Node, where: Expression | None) -> list[AggregateCall]:
        """PERCENTILE_CONT(level) WITHIN GROUP (ORDER BY x)."""
        syntax = self.syntax
        inner = syntax.part(node, "this")
        order = syntax.parts(syntax.part(node, "expression"), "expressions")
        if not isinstance(inner, exp.PercentileCont | exp.PercentileDisc):
            raise self.reader.unknown(inner)
        self._check_between(inner)
        if inner.args.get("expression") is not None or len(order) != 1:
            raise syntax.refuse(node, _NO_LEVEL)
        syntax.part(order[0], "nulls_first")  # NULL is passed over
        of = self.reader.checked(syntax.part(order[0], "this"))
        falling = bool(syntax.part(order[0], "desc"))
        levels = self._levels(syntax.part(inner, "this"))
        return [self._quantile(of, 1 - level if falling else level, where) for level in levels]


def both(first: Expression | None, second: Expression) -> Expression:
    """A further condition."""
    return second if first is None else first & second


_SHAPES: dict[type[Node], Callable[[CallReader, Node, Expression | None], list[AggregateCall]]] = {
    exp.Filter: CallReader.filtered,
    exp.WithinGroup: CallReader.ordered,
    exp.Count: CallReader.count,
    exp.CountIf: CallReader.count_if,
    exp.Median: CallReader.median,
    **dict.fromkeys((exp.Quantile, exp.ApproxQuantile), CallReader.quantiles),
    **dict.fromkeys((exp.PercentileCont, exp.PercentileDisc), CallReader.quantiles),
}
_MEASURES: dict[type[Node], tuple[AggregateFunction, bool]] = {
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
    exp.CovarSamp: (AggregateFunction.COVARIANCE, True),
    exp.CovarPop: (AggregateFunction.COVARIANCE, False),
    exp.Corr: (AggregateFunction.CORRELATION, True),
}
"""What is measured, and whether of a sample."""

_OF_PAIRS = {AggregateFunction.COVARIANCE, AggregateFunction.CORRELATION}
_SUMMED = {AggregateFunction.SUM, AggregateFunction.MEAN}
_SUMMED |= {AggregateFunction.VARIANCE, AggregateFunction.STDDEV}
_LEVELS = said("""argument: the list of levels is empty or repeats one
    list each level once""")
_NO_LEVEL = said("""argument: a quantile without its level and value
    it needs one of each
    write QUANTILE_CONT(x, 0.5) or PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)""")
_DISCRETE = said("""argument: QUANTILE_DISC of one person's rows, or of released ones
    quantiles without noise lie between the two values next to them
    write QUANTILE_CONT(x, 0.5)""")
NO_ARGUMENT = Refusal("argument", "an aggregate of nothing", fix="name the column")
_DISTINCT_REAL = said("""distinct: COUNT(DISTINCT ...) of several columns, one of which has \
    decimals
    rows are told apart by their texts, and engines write decimals differently
    round it to a whole number first, as in CAST(x AS BIGINT)""")
_UNORDERED = said("""argument: the first or last of rows without an order
    which row that is would be anything
    write FIRST(x ORDER BY day), or ANY_VALUE(x)""")
