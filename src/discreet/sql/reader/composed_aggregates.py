"""Aggregates that are functions of others: measured once, and computed from what is released.

    regression       covariance, variance and means of the rows where both values are there
    skew, kurtosis   means of powers of the value, less the middle of its range
    geometric mean   EXP of the mean of LN
    dates            days or seconds since 1970 as numbers, and back

Guarantee: the same as for the aggregates they are made of, whose sensitivity is proved there;
what is computed from them is post-processing.

ENTROPY, HISTOGRAM and MODE are computed from counts of each value (`FinerGroups`). Values are
counted as groups by the keys of the question and by the value itself, in one measurement: what is
asked is post-processing of these counts. A mode of values that are not declared is the most
frequent of those that were found.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from sqlglot import exp

from discreet.plan.answer_program import Program
from discreet.plan.expressions import Case, Cast, Column, Expression, Function, Literal, call
from discreet.plan.kinds import Kind, Type, Value
from discreet.plan.query import (
    MOST_MODES,
    Aggregate,
    AggregateFunction,
    Query,
    SortKey,
    of_possible_groups,
)
from discreet.plan.relations import Named, Relation
from discreet.plan.released_tables import (
    AnswerTable,
    AnswerWindow,
    AnswerWindowFunction,
    ComputedTable,
    RegroupedTable,
    ReleasedTable,
    WindowedTable,
)
from discreet.plan.statistics import present
from discreet.plan.typing import infer
from discreet.sql.reader.syntax import Node
from discreet.sql.reader.times import seconds_since_1970

_EPOCH = {
    Kind.DATE: Literal(dt.date(1970, 1, 1), Kind.DATE),
    Kind.TIMESTAMP: Literal(dt.datetime(1970, 1, 1), Kind.TIMESTAMP),  # noqa: DTZ001
}
_DAY = 86_400
_MOST_LISTED = 256
"""Declared values that a mode is chosen from by their places; more are counted."""

AskOne: TypeAlias = Callable[..., Expression]
"""The column of one aggregate: a function, its arguments, and how it is asked."""


class GeometricMean(exp.Expression, exp.AggFunc):
    """GEOMEAN(x)."""


class StandardError(exp.Expression, exp.AggFunc):
    """SEM(x)."""


class KurtosisOfPopulation(exp.Expression, exp.AggFunc):
    """KURTOSIS_POP(x)."""


class Entropy(exp.Expression, exp.AggFunc):
    """ENTROPY(x)."""


class ValueHistogram(exp.Expression, exp.AggFunc):
    """HISTOGRAM(x)."""


SPELLINGS: dict[str, type[exp.Expression]] = {
    "MEAN": exp.Avg,
    "COUNT_BIG": exp.Count,
    "EVERY": exp.LogicalAnd,
    "FAVG": exp.Avg,
    **dict.fromkeys(("FSUM", "SUMKAHAN", "KAHAN_SUM"), exp.Sum),
    **dict.fromkeys(("GEOMEAN", "GEOMETRIC_MEAN"), GeometricMean),
    "SEM": StandardError,
    "STDEVP": exp.StddevPop,
    "VAR": exp.Variance,
    "VARP": exp.VariancePop,
    "KURTOSIS_POP": KurtosisOfPopulation,
    "ENTROPY": Entropy,
    "HISTOGRAM": ValueHistogram,
}
"""Aggregates that the parser knows by no class of their own."""


@dataclass(frozen=True, slots=True)
class ComposedAggregates:
    """Aggregates that are functions of others, over rows with columns of these types."""

    ask: AskOne
    types: Mapping[str, Type]
    where: Expression | None

    # --- regression -------------------------------------------------------------------------------

    def regression(self, kind: type[Node], y: Expression, x: Expression) -> Expression:
        """REGR_*(y, x) of the rows where both are there; NULL where x does not vary."""
        pair = Aggregate("_", AggregateFunction.COVARIANCE, (y, x), self.where)
        both = present(pair, self.types)

        def of(measure: AggregateFunction, *values: Expression) -> Expression:
            return self.ask(measure, values, both, sample=False)

        count, mean = AggregateFunction.COUNT, AggregateFunction.MEAN
        variance, covariance = AggregateFunction.VARIANCE, AggregateFunction.COVARIANCE
        if kind is exp.RegrR2:
            correlation = self.ask(AggregateFunction.CORRELATION, (y, x), self.where)
            return correlation * correlation
        if kind is exp.RegrCount:
            return of(count)
        if kind in {exp.RegrAvgx, exp.RegrAvgy}:
            return of(mean, x if kind is exp.RegrAvgx else y)
        if kind is exp.RegrSxy:
            return of(count) * of(covariance, y, x)
        if kind in {exp.RegrSxx, exp.RegrSyy}:
            return of(count) * of(variance, x if kind is exp.RegrSxx else y)
        slope = of(covariance, y, x) / of(variance, x)
        return slope if kind is exp.RegrSlope else of(mean, y) - slope * of(mean, x)

    # --- moments ----------------------------------------------------------------------------------

    def skewness(self, x: Expression) -> Expression:
        """The skewness of a sample: NULL of fewer than three values, or where all are equal."""
        n, m2, m3 = self._moments(x, 3)
        spread, factor = m2 * call(Function.SQRT, m2), call(Function.SQRT, n * (n - 1))
        return _from(n, 3, (factor * m3) / ((n - 2) * spread))

    def kurtosis(self, x: Expression, *, sample: bool = True) -> Expression:
        """The excess kurtosis, of a sample or of the population."""
        n, m2, m4 = self._moments(x, 4)
        plain = m4 / (m2 * m2)
        if not sample:
            return plain - 3
        inner = (n + 1) * plain - 3 * (n - 1)
        return _from(n, 4, ((n - 1) * inner) / ((n - 2) * (n - 3)))

    def _moments(self, x: Expression, last: int) -> tuple[Expression, Expression, Expression]:
        """How many values, their second central moment, and their third or fourth."""
        bounds = infer(x, self.types).range
        middle = 0.0 if bounds is None else (bounds.low + bounds.high) / 2
        z = x - middle
        n = self.ask(AggregateFunction.COUNT, (x,), self.where)
        mean = AggregateFunction.MEAN
        m1 = self.ask(mean, (x,), self.where) - middle
        m2 = self.ask(AggregateFunction.VARIANCE, (x,), self.where, sample=False)
        third = self.ask(mean, (z * z * z,), self.where)
        square = m1 * m1
        if last == 3:
            return n, m2, third - 3 * m1 * m2 - square * m1
        raw = self.ask(mean, (z * z * z * z,), self.where)
        # The fourth moment about the mean, where the second about the middle is m2 + m1^2.
        return n, m2, raw - 4 * m1 * third + 6 * square * (m2 + square) - 3 * square * square

    def geometric_mean(self, x: Expression) -> Expression:
        """EXP(AVG(LN(x))): of values above 0."""
        return call(
            Function.EXP, self.ask(AggregateFunction.MEAN, (call(Function.LN, x),), self.where)
        )

    def standard_error(self, x: Expression) -> Expression:
        """The deviation of the population over the root of its size, as in DuckDB."""
        deviation = self.ask(AggregateFunction.STDDEV, (x,), self.where, sample=False)
        count = self.ask(AggregateFunction.COUNT, (x,), self.where)
        return deviation / call(Function.SQRT, count)

    # --- values -----------------------------------------------------------------------------------

    def distinct(self, kind: type[Node], x: Expression) -> Expression:
        """SUM(DISTINCT x), and AVG(DISTINCT x) as that over how many they are."""
        total = self.ask(AggregateFunction.SUM_DISTINCT, (x,), self.where)
        if kind is exp.Sum:
            return total
        count = self.ask(AggregateFunction.COUNT_DISTINCT, (x,), self.where)
        mean, of = total / call(Function.GREATEST, count, 1), infer(x, self.types).range
        if of is None:
            return mean
        return call(Function.LEAST, call(Function.GREATEST, mean, float(of.low)), float(of.high))

    def mode(self, x: Expression) -> Expression | None:
        """The most frequent of declared values, by their places; None where they are not, or many.

        Whole numbers and days within narrow bounds are their own places.
        """
        of = infer(x, self.types)
        if of.range is not None and of.range.width < MOST_MODES:
            if of.kind is Kind.INTEGER:
                return self._place(x)
            if of.kind is Kind.DATE:
                epoch = _EPOCH[Kind.DATE]
                return epoch + self._place(x - epoch)
        values = [one for one in of.keys or () if one is not None]
        if not 0 < len(values) <= _MOST_LISTED:
            return None
        listed = [(Literal(one, of.kind), at) for at, one in enumerate(values)]
        numbered = tuple((x.equals(one), Literal(at, Kind.INTEGER)) for one, at in listed)
        place = self._place(Case(numbered, Literal(None, Kind.INTEGER)))
        back = tuple((place.equals(at), one) for one, at in listed)
        return Case(back, Literal(None, of.kind))

    def _place(self, number: Expression) -> Expression:
        found = self.ask(AggregateFunction.MODE, (number,), self.where)
        return Cast(call(Function.ROUND, found), Kind.INTEGER)

    # --- dates ------------------------------------------------------------------------------------

    def time(
        self, measure: AggregateFunction, of: Expression, level: Fraction | None
    ) -> Expression:
        """A quantile or the mean of dates or timestamps, by their days or seconds since 1970.

        Quantiles of dates are dates; means are timestamps, as in DuckDB.
        """
        kind = infer(of, self.types).kind
        days = kind is Kind.DATE
        number = of - _EPOCH[kind] if days else seconds_since_1970(of, kind)
        found = self.ask(measure, (number,), self.where, level=level)
        if measure is AggregateFunction.MEAN and days:
            found = found * _DAY
        whole = Cast(call(Function.ROUND, found), Kind.INTEGER)
        if days and measure is not AggregateFunction.MEAN:
            return _EPOCH[kind] + whole
        return call(Function.ADD_SECONDS, _EPOCH[Kind.TIMESTAMP], whole)


def _from(n: Expression, fewest: int, value: Expression) -> Expression:
    """A value where there are enough rows for it."""
    return Case(((n >= fewest, value),), Literal(None, Kind.REAL))


REGRESSIONS = {
    *(exp.RegrSlope, exp.RegrIntercept, exp.RegrR2, exp.RegrCount, exp.RegrAvgx, exp.RegrAvgy),
    *(exp.RegrSxx, exp.RegrSyy, exp.RegrSxy),
}

MOST_COLUMNS = 64
"""Values that a histogram shows, each as a column."""

_COUNT, _TURN, _LEAST = "count of each", "place of each", "least of all"
_ALL, _BITS = "sum of all", "bits of all"


@dataclass(frozen=True, slots=True)
class FinerGroups:
    """Counts of each value of `of` in the groups of some keys, and what is computed from them."""

    relation: Relation
    keys: Sequence[Named]
    of: Expression
    where: Expression | None
    label: str
    """Name of the column of values."""

    def entropy(self, name: str) -> Program:
        """Entropy of the shares of values in bits: log2(all) less the mean of log2(each).

        Counts that are no further above 0 than the least is below it are taken for noise: else
        many values that nobody has would weigh more than those that are there.
        """
        count = Column(_COUNT)
        below = AnswerWindow(_LEAST, AggregateFunction.MIN, (count,), self._partition)
        there = count > call(Function.GREATEST, call(Function.NEGATE, Column(_LEAST)), 0)
        parts = (
            Aggregate(_ALL, AggregateFunction.SUM, (count,), there),
            Aggregate(_BITS, AggregateFunction.SUM, (count * call(Function.LOG2, count),), there),
        )
        table = self._grouped(WindowedTable(self._counts, (below,)), parts)
        whole = Column(_ALL)
        value = call(Function.LOG2, whole) - Column(_BITS) / whole
        return self._shown(table, {name: Case(((whole > 0, value),), Literal(0.0, Kind.REAL))})

    def mode(self, name: str) -> Program:
        """The value of the largest count; NULL where no count is above 0."""
        count = Column(_COUNT)
        order = (SortKey(count, descending=True), SortKey(Column(self.label)))
        first = AnswerWindow(_TURN, AnswerWindowFunction.ROW_NUMBER, (), self._partition, order)
        counts = WindowedTable(self._counts, (first,))
        chosen = Column(_TURN).equals(1) & (count > 0)
        asked = Aggregate(name, AggregateFunction.MAX, (Column(self.label),), chosen)
        return self._shown(self._grouped(counts, (asked,)), {name: Column(name)})

    def histogram(self, names: Sequence[str], values: Sequence[Value], kind: Kind) -> Program:
        """The count of each value."""
        asked = [
            Aggregate(
                name,
                AggregateFunction.SUM,
                (Column(_COUNT),),
                Column(self.label).equals(Literal(value, kind)),
            )
            for name, value in zip(names, values, strict=True)
        ]
        table = self._grouped(self._counts, tuple(asked))
        return self._shown(table, {name: Column(name) for name in names})

    @property
    def values(self) -> tuple[Value, ...] | None:
        """The values that are counted, where those are public."""
        return self._query.key_types[-1].keys

    @property
    def _shown_keys(self) -> tuple[Named, ...]:
        return tuple(Named(key.name, Column(key.name)) for key in self.keys)

    @property
    def _partition(self) -> tuple[Expression, ...]:
        return tuple(key.expression for key in self._shown_keys)

    @property
    def _query(self) -> Query:
        count = Aggregate(_COUNT, AggregateFunction.COUNT, (self.of,), self.where)
        keys = (*self.keys, Named(self.label, self.of))
        return of_possible_groups(Query(self.relation, keys, (count,)))

    @property
    def _counts(self) -> ReleasedTable:
        return AnswerTable.of(0, self._query)

    def _grouped(self, counts: ReleasedTable, asked: tuple[Aggregate, ...]) -> ReleasedTable:
        return RegroupedTable(counts, self._shown_keys, asked)

    def _shown(self, table: ReleasedTable, values: dict[str, Expression]) -> Program:
        outputs = (*self._shown_keys, *(Named(name, value) for name, value in values.items()))
        return Program((self._query,), ComputedTable(table, outputs))
