"""Shared parts of orders about one table's cells: reading the table, its columns and a price."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from discreet.answer.plan.price import Price
from discreet.curator.orders.planned_orders import Asked, QuoteContext
from discreet.curator.orders.query_orders import price_at
from discreet.engines.engine import Session
from discreet.errors import InputError, QueryRefused
from discreet.plan.bounding import FULL, ContributionBounds, NoiseKind
from discreet.plan.expressions import Call, Expression, Function, Literal
from discreet.plan.kinds import Kind, Type
from discreet.plan.query import Aggregate, AggregateFunction, Query
from discreet.plan.relations import FilterRows, Named, Relation, Scan
from discreet.plan.schema import EachRow, Limits, Table, counted
from discreet.plan.statistics import Rows
from discreet.privacy import Neighbours
from discreet.rationals import whole
from discreet.sql.writer.compile import SECRET, CompiledQuery, Kept
from discreet.sql.writer.dialect import Dialect
from discreet.workload.domain import BINS, Attribute, Domain
from discreet.workload.histogram import JointHistogram, digit_groups, from_digits


def columns_of(table: Table) -> list[str]:
    """All columns but the one that says whose a row is."""
    owner = None if isinstance(table.unit, EachRow) else table.unit.column
    return [name for name in table.columns if name != owner]


def read_columns(table: Table, names: Iterable[Any], bins: Any) -> Iterator[tuple[str, Type, int]]:
    """Columns of a table by name, each with its number of bins."""
    every = columns_of(table)
    for name in names:
        if name not in every:
            raise InputError(
                f"{table.name} has no column {str(name)[:50]} with cells",
                why=f"columns are {', '.join(every)}",
                fix="name some of them",
            )
        count = bins.get(name, BINS) if isinstance(bins, Mapping) else bins or BINS
        yield name, table.columns[name], count


def read_domain(table: Table, names: Iterable[Any], bins: Any) -> Domain:
    """The cells of columns that have keys or bounds."""
    columns = read_columns(table, names, bins)
    return Domain(tuple(Attribute.of(name, of, bins=count) for name, of, count in columns))


def read_max_rows(said: Mapping[str, Any], table: Table) -> int:
    """The rows that one person counts for: as asked, as the table's limits say, else 1."""
    limits, asked = table.limits, said.get("max_rows")
    stated = (limits.max_groups or 1) * (limits.max_rows or 1)
    return whole(stated if asked is None else asked, "max_rows", at_least=1)


def gaussian_price(asked: Asked, at: QuoteContext, what: str) -> Price:
    """The price of an order with Gaussian noise; refused if there is no delta."""
    price = price_at(asked, at)
    if price.delta:
        return price
    raise QueryRefused(
        f"{what} without delta",
        why="its noise is Gaussian, which has no epsilon without a delta above 0",
        fix="pass delta=1e-6, and a budget with a delta",
        code="delta",
    )


BY_ROW: Final = "each row is protected by itself"


def bound_words(most: int | None, where: str = "") -> str:
    """What one person weighs at most, in words; None where each row is protected by itself."""
    if most is None:
        return BY_ROW
    return (
        f"one person counts for at most {counted(most, 'row')}{where}; "
        "whoever has more is weighted down"
    )


def count_by(
    table: Table, columns: Iterable[Attribute], keys: Iterable[Expression], max_rows: int
) -> Query:
    """Counts, by keys, of the rows whose values have cells; a person weighs `max_rows` at most."""
    relation: Relation = Scan(table)
    for one in columns:
        if (placed := one.is_placed()) is not None:
            relation = FilterRows(relation, placed)
    named = tuple(Named(f"k{i}", one) for i, one in enumerate(keys))
    rows = Aggregate("n", AggregateFunction.COUNT)
    return Query(relation, named, (rows,), limits=Limits(1, max_rows))


def weighed_rows(compiled: CompiledQuery, max_rows: int) -> list[Kept]:
    """The kept selects that bound the weights of each person's rows; none where rows are people."""
    if compiled.query.is_by_row:
        return []
    bounds = ContributionBounds(NoiseKind.LAPLACE, max_rows, 1)
    return [compiled.pairs, compiled.norms, *compiled.weights(bounds)]


@dataclass(frozen=True)
class HistogramQuery:
    """A table's rows as cells of a domain, each person weighing `max_rows` rows at most.

    Guarantee:
        The histogram that `read` returns has the `person_weight` it states: a person's rows weigh
        FULL each where there are at most `max_rows` of them, else so much less that they weigh
        FULL * `max_rows` together at most. Rows that are protected by themselves weigh FULL.
    Neighbours:
        Adding or removing a person with all their rows, or a row where each is protected by itself.
    Why:
        Weights are those of `discreet.plan.bounding` for limits on the l1 norm of all a person's
        rows, whatever cells they are in. So the weight in every marginal is bounded as well.
    """

    table: Table
    domain: Domain
    max_rows: int = 1
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    @property
    def person_weight(self) -> int:
        """The largest weight of one person's rows together."""
        return FULL if self.table.is_by_row else FULL * self.max_rows

    @property
    def note(self) -> str:
        """A sentence on the contribution bounds."""
        return bound_words(None if self.table.is_by_row else self.max_rows)

    @property
    def empty(self) -> JointHistogram:
        """The histogram of no rows: public, and what a plan may know of any other."""
        nothing = np.empty((0, len(self.domain)), dtype=np.uint16), np.empty(0, dtype=np.int64)
        return JointHistogram(self.domain, *nothing, FULL, self.person_weight, self.neighbours)

    @cached_property
    def query(self) -> Query:
        """The cells of each row as few whole numbers, and how many rows have them."""
        keys = [self._digits(*ends) for ends in digit_groups(self.domain.shape())]
        return count_by(self.table, self.domain, keys, self.max_rows)

    def _digits(self, first: int, end: int) -> Expression:
        """Cells of some columns as the digits of one number."""
        cells = [one.expression() for one in self.domain.attributes[first:end]]
        number = cells[0]
        for place, cell in enumerate(cells[1:], first + 1):
            size = Literal(self.domain.shape()[place], Kind.INTEGER)
            number = Call(Function.ADD, (Call(Function.MULTIPLY, (number, size)), cell))
        return number

    def statements(self, dialect: Dialect, salt: str = SECRET) -> tuple[list[Kept], str]:
        """The kept selects, and the SELECT that is streamed."""
        compiled = CompiledQuery(self.query, (Rows(None),), dialect, salt)
        return weighed_rows(compiled, self.max_rows), compiled.totals

    def read(self, session: Session, dialect: Dialect) -> JointHistogram:
        """The exact histogram: private."""
        kept, select = self.statements(dialect, os.urandom(16).hex())
        for one in kept:
            session.keep(*one)
        shape = self.domain.shape()
        width = len(digit_groups(shape))
        parts: list[list[np.ndarray]] = [[] for _ in range(width + 1)]
        for batch in session.stream(select):
            for i, name in enumerate([*(f"k{i}" for i in range(width)), "t0"]):
                parts[i].append(batch.column(name).to_numpy(zero_copy_only=False))
        numbers = [np.concatenate([np.empty(0, dtype=np.int64), *one]) for one in parts]
        codes, weights = from_digits(numbers[:-1], shape), numbers[-1]
        heavy = weights > 0  # whoever is far over the limits weighs nothing
        return JointHistogram(
            self.domain, codes[heavy], weights[heavy], FULL, self.person_weight, self.neighbours
        )
