"""Aggregates as they are written: COUNT, SUM, quantiles and their kin, and what they are asked of.

The same reader serves answers, summaries of one person's rows, and groups of released rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from sqlglot import exp

from discreet.plan.expressions import Call, Cast, Column, Expression, Function, Literal
from discreet.plan.kinds import Kind, Type
from discreet.plan.query import AggregateFunction, level_name
from discreet.plan.summaries import RowOrder, Summary
from discreet.sql.reader.expressions import ExpressionReader
from discreet.sql.reader.literals import read_level
from discreet.sql.reader.refusals import Refusal
from discreet.sql.reader.syntax import PERSON, Node, Syntax, Visible, fresh
from discreet.sql.reader.windows import boolean, row_orders


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


class CallReader:
    """Reads aggregates over rows: private ones, those of one person, or released ones."""

    def __init__(
        self,
        reader: ExpressionReader,
        columns: Sequence[Visible],
        *,
        per_person: bool,
        released: bool,
    ) -> None:
        self._reader = reader
        self._owners = {c.column: c for c in columns if PERSON in c.identities}
        self._per_person = per_person
        self._released = released
        self.types: dict[str, Type] = dict(reader.types)
        self.turns: dict[tuple[Expression, tuple[RowOrder, ...]], str] = {}
        """Of released rows: which of them count, in which order, and the column of their place."""

    @property
    def _syntax(self) -> Syntax:
        return self._reader.syntax

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
        return AggregateCall(AggregateFunction.MAX, (argument,), both(where, first))

    def filtered(self, node: Node, where: Expression | None) -> list[AggregateCall]:
        """FILTER (WHERE ...)."""
        if where is not None:
            raise self._syntax.refuse(node, Refusal("clause", "FILTER stands twice"))
        condition = self._syntax.part(self._syntax.part(node, "expression"), "this")
        return self._read(self._syntax.part(node, "this"), self._reader.checked(condition))

    def _argument(self, node: Node, part: str = "this") -> Expression:
        inner = self._syntax.part(node, part)
        if inner is None:
            raise self._syntax.refuse(node, NO_ARGUMENT)
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
        return [AggregateCall(AggregateFunction.COUNT, (), both(where, self._argument(node)))]

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
            raise self._syntax.refuse(node, NO_ARGUMENT)
        argument = self._reader.checked(listed[0])
        owner = self._owners.get(argument.name) if isinstance(argument, Column) else None
        if owner is None or self._per_person:
            return AggregateCall(AggregateFunction.COUNT_DISTINCT, (argument,), where)
        if owner.absent:
            missing = self._reader.call(node, Function.IS_NULL, argument)
            where = both(where, self._reader.call(node, Function.NOT, missing))
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


def both(first: Expression | None, second: Expression) -> Expression:
    """A further condition."""
    return second if first is None else Call(Function.AND, (first, second))


_SHAPES: dict[type[Node], Callable[[CallReader, Node, Expression | None], list[AggregateCall]]] = {
    exp.Filter: CallReader.filtered,
    exp.WithinGroup: CallReader.ordered,
    exp.Count: CallReader.count,
    exp.CountIf: CallReader.count_if,
    exp.Median: CallReader.median,
    exp.Quantile: CallReader.quantiles,
    exp.ApproxQuantile: CallReader.quantiles,
    exp.PercentileCont: CallReader.quantiles,
    exp.PercentileDisc: CallReader.quantiles,
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
_SUMMED = {AggregateFunction.SUM, AggregateFunction.MEAN}
_SUMMED |= {AggregateFunction.VARIANCE, AggregateFunction.STDDEV}
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
NO_ARGUMENT = Refusal("argument", "an aggregate of nothing", fix="name the column")
_DISTINCT_REAL = Refusal(
    "distinct",
    "COUNT(DISTINCT ...) of several columns, one of which has decimals",
    "rows are told apart by their texts, and engines write decimals differently",
    "round it to a whole number first, as in CAST(x AS BIGINT)",
)


Asked: TypeAlias = tuple[Summary, Expression, Expression | None, tuple[RowOrder, ...]]
Rule: TypeAlias = Callable[[ExpressionReader, Node, Expression | None], Asked]


def _logical(summary: Summary) -> Rule:
    """BOOL_OR is the greatest of true and false, BOOL_AND the least."""

    def rule(reader: ExpressionReader, node: Node, where: Expression | None) -> Asked:
        argument = reader.checked(reader.syntax.part(node, "this"))
        return summary, boolean(reader, argument, node), where, ()

    return rule


def _any(reader: ExpressionReader, node: Node, where: Expression | None) -> Asked:
    """ANY_VALUE: the least, which is any of them."""
    return Summary.MIN, reader.checked(reader.syntax.part(node, "this")), where, ()


def _at(descending: bool) -> Rule:  # noqa: FBT001 - a fact of the function
    """ARG_MIN(x, y), ARG_MAX(x, y): x where y is least, greatest; rows without either are none."""

    def rule(reader: ExpressionReader, node: Node, where: Expression | None) -> Asked:
        value = reader.checked(reader.syntax.part(node, "this"))
        by = reader.checked(reader.syntax.part(node, "expression"))
        there = [
            reader.call(node, Function.NOT, reader.call(node, Function.IS_NULL, one))
            for one in (value, by)
        ]
        present = Call(Function.AND, (*there, *(() if where is None else (where,))))
        return Summary.FIRST, value, present, (RowOrder(by, descending),)

    return rule


def _first(reader: ExpressionReader, node: Node, where: Expression | None) -> Asked:
    """FIRST(x ORDER BY y); LAST is the first in the opposite order."""
    inner = reader.syntax.part(node, "this")
    if not isinstance(inner, exp.Order):
        raise reader.syntax.refuse(node, _UNORDERED)
    value = reader.checked(reader.syntax.part(inner, "this"))
    by = row_orders(reader.syntax, inner, reader.checked)
    if isinstance(node, exp.Last):
        by = tuple(RowOrder(o.expression, not o.descending, not o.nulls_first) for o in by)
    return Summary.FIRST, value, where, by


PERSON_ONLY: dict[type[Node], Rule] = {
    exp.LogicalOr: _logical(Summary.MAX),
    exp.LogicalAnd: _logical(Summary.MIN),
    exp.AnyValue: _any,
    exp.ArgMin: _at(descending=False),
    exp.ArgMax: _at(descending=True),
    exp.First: _first,
    exp.Last: _first,
}
_UNORDERED = Refusal(
    "argument",
    "the first or last of rows without an order",
    "which row that is would be anything",
    "write FIRST(x ORDER BY day), or ANY_VALUE(x)",
)
