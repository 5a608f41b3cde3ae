"""Orders that the ledger stores by their fields, and orders that are parsed before their price."""

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import fields
from fractions import Fraction
from functools import partial
from operator import attrgetter
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar

from discreet.answer.plan.price import Price
from discreet.curator.arguments import unknown
from discreet.curator.ledger.orders import Order
from discreet.curator.orders.planned_orders import (
    Asked,
    PlannedOrder,
    QuoteContext,
    UnpricedOrder,
    read_price,
)
from discreet.plain_json import Ways, from_fields, to_fields
from discreet.plan import canonical
from discreet.plan.query import Query
from discreet.plan.schema import PublicTable, Schema, Table

T = TypeVar("T")


class FieldsOrder(PlannedOrder):
    """An order whose fields are all that the ledger has to know of it.

    Guarantee:
        `read` gives back the order that was charged: the text and the decisions hold its fields,
        tables by name, exact numbers as texts.
    """

    decided: ClassVar[tuple[str, ...]] = ()
    """Fields that are decisions, or follow from them, and so no part of the text."""

    @property
    def text(self) -> str:
        """The order as the ledger stores and finds it."""
        return json.dumps(self.said, sort_keys=True)

    @property
    def said(self) -> dict[str, Any]:
        """The fields that are no decisions, as the text has them; a price by its two numbers."""
        facts = stored_fields(self)
        price = facts.pop("price", {})
        return {**price, **{name: one for name, one in facts.items() if name not in self.decided}}

    @classmethod
    def read(cls, order: Order, schema: Schema) -> Self:
        """The plan of a charged order, against the tables as they are described."""
        stored = json.loads(order.plan)  # which older versions wrote some decisions into
        return read_stored(cls, {**stored, "price": stored, **(order.decisions or {})}, schema)


class DraftedOrder(FieldsOrder):
    """An order that is parsed completely before it is priced; until then its price is used."""

    @abstractmethod
    def priced(self, asked: Asked, at: QuoteContext) -> Self:
        """The order at a price; InputError or QueryRefused where it cannot be measured so."""

    def draft(
        self,
        price: Asked = (Fraction(1), None),
        asked: str | None = None,
        as_of: int | None = None,
    ) -> UnpricedOrder[Self]:
        """The order with the price that is asked for; fits and training runs state theirs."""
        return UnpricedOrder(self.tables, self.work, partial(self.priced, price), asked, as_of)


def stored_fields(value: Any) -> dict[str, Any]:
    """The fields of a dataclass as the ledger stores them: tables by name."""
    named: Callable[[Any], str] = attrgetter("name")
    return to_fields(value, {Table: named, PublicTable: named, Query: canonical.write})


def read_stored(
    kind: type[T], stored: Mapping[str, Any], schema: Schema, ways: Ways = MappingProxyType({})
) -> T:
    """The dataclass whose fields were stored, against the tables as they are described."""
    readers = ((Table, read_table), (Query, canonical.read))
    known = {of: partial(reader, schema=schema) for of, reader in readers}
    names = [one.name for one in fields(kind) if one.init and one.name in stored]  # type: ignore[arg-type]
    facts = {name: stored[name] for name in names}
    return from_fields(kind, facts, {**known, Price: read_price, **ways})


def read_table(name: Any, schema: Schema) -> Table:
    """The private table of a name."""
    private = {one: of for one, of in schema.tables.items() if isinstance(of, Table)}
    if isinstance(name, str) and name in private:
        return private[name]
    raise unknown("private table", str(name)[:50], private)
