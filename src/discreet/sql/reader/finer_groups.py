"""Aggregates that are computed from counts of each value: ENTROPY, HISTOGRAM, and MODE.

Values are counted as groups by the keys of the question and by the value itself, in one
measurement, and what is asked is computed from these counts: post-processing. A mode of values
that are not declared is the most frequent of those that were found.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.plan.answer_program import Program
from discreet.plan.expressions import Call, Case, Column, Expression, Function, Literal
from discreet.plan.kinds import Kind, Value
from discreet.plan.query import Aggregate, AggregateFunction, Query, SortKey, of_possible_groups
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
        count, least = Column(_COUNT), Literal(0, Kind.INTEGER)
        partition = tuple(Column(key.name) for key in self.keys)
        below = AnswerWindow(_LEAST, AggregateFunction.MIN, (count,), partition)
        floor = _call(Function.GREATEST, _call(Function.NEGATE, Column(_LEAST)), least)
        there = _call(Function.GREATER, count, floor)
        bits = _call(Function.MULTIPLY, count, _call(Function.LOG2, count))
        parts = (
            Aggregate(_ALL, AggregateFunction.SUM, (count,), there),
            Aggregate(_BITS, AggregateFunction.SUM, (bits,), there),
        )
        table = self._grouped(WindowedTable(self._counts, (below,)), parts)
        whole, bits = Column(_ALL), Column(_BITS)
        less = _call(Function.DIVIDE, bits, whole)
        value = _call(Function.SUBTRACT, _call(Function.LOG2, whole), less)
        some = _call(Function.GREATER, whole, least)
        return self._shown(table, {name: Case(((some, value),), Literal(0.0, Kind.REAL))})

    def mode(self, name: str) -> Program:
        """The value of the largest count; NULL where no count is above 0."""
        count = Column(_COUNT)
        partition = tuple(Column(key.name) for key in self.keys)
        order = (SortKey(count, descending=True), SortKey(Column(self.label)))
        first = AnswerWindow(_TURN, AnswerWindowFunction.ROW_NUMBER, (), partition, order)
        turn = _call(Function.EQUAL, Column(_TURN), Literal(1, Kind.INTEGER))
        some = _call(Function.GREATER, count, Literal(0, Kind.INTEGER))
        counts = WindowedTable(self._counts, (first,))
        chosen = _call(Function.AND, turn, some)
        asked = Aggregate(name, AggregateFunction.MAX, (Column(self.label),), chosen)
        return self._shown(self._grouped(counts, (asked,)), {name: Column(name)})

    def histogram(self, names: Sequence[str], values: Sequence[Value], kind: Kind) -> Program:
        """The count of each value."""
        asked = [
            Aggregate(
                name,
                AggregateFunction.SUM,
                (Column(_COUNT),),
                _call(Function.EQUAL, Column(self.label), Literal(value, kind)),
            )
            for name, value in zip(names, values, strict=True)
        ]
        table = self._grouped(self._counts, tuple(asked))
        return self._shown(table, {name: Column(name) for name in names})

    @property
    def _query(self) -> Query:
        count = Aggregate(_COUNT, AggregateFunction.COUNT, (self.of,), self.where)
        keys = (*self.keys, Named(self.label, self.of))
        return of_possible_groups(Query(self.relation, keys, (count,)))

    @property
    def _counts(self) -> ReleasedTable:
        return AnswerTable.of(0, self._query)

    def _grouped(self, counts: ReleasedTable, asked: tuple[Aggregate, ...]) -> ReleasedTable:
        keys = tuple(Named(key.name, Column(key.name)) for key in self.keys)
        return RegroupedTable(counts, keys, asked)

    def _shown(self, table: ReleasedTable, values: dict[str, Expression]) -> Program:
        keys = [Named(key.name, Column(key.name)) for key in self.keys]
        outputs = (*keys, *(Named(name, value) for name, value in values.items()))
        return Program((self._query,), ComputedTable(table, outputs))


def _call(function: Function, *arguments: Expression) -> Expression:
    return Call(function, arguments)
