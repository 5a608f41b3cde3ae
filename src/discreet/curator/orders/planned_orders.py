"""Orders of any kind: read, planned, charged, measured, presented.

    spec (JSON) ──parse──> UnpricedOrder ──plan──> PlannedOrder ──measure, present──> release

A kind is one `OrderKind` and a line in `discreet.curator.orders.order_kinds.KINDS`.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Generic, Self, TypeVar

from discreet.answer.execute.individual import Admission
from discreet.answer.plan.price import Price
from discreet.answer.present.base_release import BaseRelease
from discreet.curator.ledger.accounts import Account
from discreet.curator.ledger.orders import Order
from discreet.engines.default import DefaultEngine
from discreet.engines.engine import Deadline, Engine
from discreet.errors import InvariantBroken
from discreet.plan.query import Query
from discreet.plan.schema import Schema, Table
from discreet.plan.work import Work
from discreet.privacy import Guarantee, Neighbours
from discreet.privacy.budgets.charges import Charge, Measure, price_sum
from discreet.privacy.composition.composed import compose
from discreet.sql.writer.dialect import Dialect

Asked = tuple[Fraction, Fraction | None]
"""An epsilon, and a delta where one is named."""

OWNER: Final = "owner"
"""The analyst that entries of the owner name."""


@dataclass(frozen=True, slots=True)
class QuoteContext:
    """The context of an order: analyst, data version, and the accounts that pay."""

    analyst: str
    dataset: str
    version: str
    touched: tuple[Account, ...]
    neighbours: Neighbours
    data_version: int = 1
    dialect: Dialect = DefaultEngine.dialect
    workbook: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class OrderExplanation:
    """Cost and expected quality of an order, from public facts alone.

    `text` is for people; `facts` says the same as plain JSON.
    """

    price: Price
    neighbours: Neighbours
    text: str
    facts: Mapping[str, Any]

    def __repr__(self) -> str:
        return self.text


class PlannedOrder(ABC):
    """A priced order, planned from public facts alone.

    Guarantee:
        `guarantees` bound what `measure` gives away. `present` is a function of its argument: no
        data and no randomness goes in.
    """

    kind: str
    neighbours: Neighbours
    """Neighbour relation of the guarantees."""
    table: Table
    """The one table that it reads; kinds that read more override `tables`."""
    has_epsilon: bool = True
    """Whether `charge` has a price in epsilon; InputError may still say that it has none."""
    participants: bool = False
    """Whether people pay from budgets of their own, and `measure_admitted` measures it."""

    @property
    @abstractmethod
    def guarantees(self) -> tuple[Guarantee, ...]:
        """The guarantee of each part."""

    def charge(self, measure: Measure) -> Charge:
        """The cost in a measure: the parts composed, unless a kind knows better."""
        return price_sum(compose(list(self.guarantees)), measure)

    @property
    def tables(self) -> frozenset[str]:
        """The names of all tables that it reads, public ones too."""
        return frozenset({self.table.name})

    @property
    @abstractmethod
    def text(self) -> str:
        """The order as the ledger stores and finds it."""

    @abstractmethod
    def decisions(self) -> Mapping[str, Any]:
        """How it will be measured, as the ledger stores it: what a crash is recovered from."""

    @abstractmethod
    def explain(self, dialect: Dialect) -> OrderExplanation:
        """Cost and expected quality."""

    @abstractmethod
    def work(self, bound: Callable[[Query], Work]) -> Work:
        """Upper bound on the work of measuring, by public numbers."""

    def seconds(self, bound: Callable[[Query], Work]) -> float:
        """How long measuring takes at most, by public numbers."""
        return self.work(bound).seconds

    @abstractmethod
    def measure(self, engine: Engine, until: Deadline | None) -> bytes:
        """Noisy measurements, to be stored before anything is computed from them."""

    def measure_admitted(
        self, engine: Engine, until: Deadline | None, admission: Admission
    ) -> bytes:
        """Noisy measurements of those who are admitted; only where there are `participants`."""
        raise InvariantBroken(
            f"an order of kind {self.kind} is measured for some people alone",
            why="its cost is not known for each person",
            fix="report this as a fault",
        )

    @abstractmethod
    def present(self, measured: bytes) -> BaseRelease:
        """The release that stored measurements make."""


class DraftedOrder(PlannedOrder):
    """An order that is parsed completely before it is priced; until then its price stands in."""

    @abstractmethod
    def priced(self, asked: Asked, at: QuoteContext) -> Self:
        """The order at a price; InputError or QueryRefused where it cannot be measured so."""

    def check_remote(self) -> None:
        """QueryRefused where this kind cannot read a table on a server."""


P_co = TypeVar("P_co", bound=PlannedOrder, covariant=True)


class UnpricedOrder(ABC, Generic[P_co]):
    """An order as it was read: which tables it is about, but not yet who pays."""

    @property
    @abstractmethod
    def tables(self) -> frozenset[str]:
        """The names of all tables that it reads, public ones too."""

    by_person: ClassVar[bool] = False
    """Whether its cost is known for each person, who may then have a budget of their own."""

    def check_remote(self) -> None:
        """QueryRefused where this kind cannot read a table on a server."""

    asked: str | None = None
    """The text that people wrote, for people to read; nothing is computed from it."""
    as_of: int | None = None
    """The version of the dataset that is asked about, None for the newest."""
    workbook: str | None = None
    """The workbook of its analyst that pays too, if any."""

    @abstractmethod
    def work(self, bound: Callable[[Query], Work]) -> Work:
        """Upper bound on the work of measuring; orders above the limit are refused."""

    @abstractmethod
    def plan(self, at: QuoteContext) -> P_co:
        """Decide how it is measured; InputError or QueryRefused where it cannot be."""


D_co = TypeVar("D_co", bound=DraftedOrder, covariant=True)


@dataclass(frozen=True)
class DraftOrder(UnpricedOrder[D_co]):
    """An order before it is priced, with the price that was asked for.

    Kinds whose specification states the price themselves (fits, training runs) do not read it.
    """

    order: D_co
    asked_price: Asked = (Fraction(1), None)
    asked: str | None = None
    as_of: int | None = None

    @property
    def tables(self) -> frozenset[str]:
        """The names of all tables that it reads, public ones too."""
        return self.order.tables

    def check_remote(self) -> None:
        """QueryRefused where this kind cannot read a table on a server."""
        self.order.check_remote()

    def work(self, bound: Callable[[Query], Work]) -> Work:
        """Upper bound on the work of measuring."""
        return self.order.work(bound)

    def plan(self, at: QuoteContext) -> D_co:
        """The order at its price."""
        return self.order.priced(self.asked_price, at)


def price_facts(price: Price, neighbours: Neighbours) -> dict[str, str]:
    """The price and the neighbour relation, as the text of an order has them."""
    paid = {"epsilon": str(price.epsilon), "delta": str(price.delta)}
    return {**paid, "neighbours": neighbours.value}


def read_price(stored: Mapping[str, Any]) -> Price:
    """The price that `price_facts` wrote."""
    return Price(Fraction(stored["epsilon"]), Fraction(stored["delta"]))


class OrderKind(ABC):
    """One kind of orders: how each is read, from those who place it and from the ledger."""

    name: str

    @abstractmethod
    def parse(self, spec: Mapping[str, Any], schema: Schema) -> UnpricedOrder[PlannedOrder]:
        """Read the JSON of a stranger: InputError for everything that is not said here.

        `schema` has the tables that may be asked about, and no other.
        """

    @abstractmethod
    def read(self, order: Order, schema: Schema) -> PlannedOrder:
        """The plan of a charged order, against the tables as they are described."""

    def price(self, order: Order) -> Price:
        """The (epsilon, delta) that a charged order was placed for."""
        return read_price(json.loads(order.plan))

    @abstractmethod
    def release(self, stored: bytes, /) -> BaseRelease:
        """Read a stored release of this kind; InputError for other bytes."""
