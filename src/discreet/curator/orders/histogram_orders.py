"""Shared parts of orders about one table's cells: reading the table, its columns and a price."""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from discreet.answer.plan.price import Price
from discreet.curator.client.wire import read_number
from discreet.curator.orders.planned_orders import QuoteContext
from discreet.curator.orders.query_orders import delta_for, within_reason
from discreet.errors import InputError, QueryRefused
from discreet.plan.kinds import Type
from discreet.plan.schema import EachRow, Schema, Table
from discreet.rationals import whole
from discreet.workload.domain import BINS

Asked = tuple[Fraction, Fraction | None]
"""An epsilon, and a delta where one is named."""


def read_table(name: Any, schema: Schema, what: str) -> Table:
    """The private table of a name."""
    found = schema.tables.get(name) if isinstance(name, str) else None
    if isinstance(found, Table):
        return found
    private = [one for one, of in schema.tables.items() if isinstance(of, Table)]
    raise InputError(
        f"{what} of a table that there is not",
        why=f"private tables are {', '.join(private) or 'none'}",
        fix="name one of them",
    )


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


def read_max_rows(said: Mapping[str, Any], table: Table) -> int:
    """The rows that one person counts for: as asked, as the table's limits say, else 1."""
    limits = table.limits
    stated = (limits.max_groups or 1) * (limits.max_rows or 1)
    return whole(said.get("max_rows") or stated, "max_rows", at_least=1)


def read_asked(said: Mapping[str, Any]) -> Asked:
    """The price that is asked for."""
    delta = said.get("delta")
    return (
        read_number(said["epsilon"], "epsilon"),
        None if delta is None else read_number(delta, "delta"),
    )


def gaussian_price(asked: Asked, at: QuoteContext, what: str) -> Price:
    """The price of an order with Gaussian noise; refused where there is no delta."""
    epsilon, delta = asked
    price = within_reason(Price(epsilon, delta_for(delta, at.touched)))
    if price.delta:
        return price
    raise QueryRefused(
        f"{what} without delta",
        why="its noise is Gaussian, which has no epsilon without a delta above 0",
        fix="pass delta=1e-6, and a budget with a delta",
        code="delta",
    )
