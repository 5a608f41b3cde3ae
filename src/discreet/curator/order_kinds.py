"""Kinds of orders: how each is read from the ledger, priced, explained and executed.

A new kind is a class here and a line in `KINDS`. The ledger, recovery, the server's jobs and the
client know orders, and not what kinds there are.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from discreet.answer.execute.noisy_measurements import pack, unpack
from discreet.answer.measurement_plan import MeasurementPlan
from discreet.answer.plan.explain import Explanation
from discreet.answer.plan.set_plan import Charged
from discreet.answer.present.release import Release
from discreet.curator.ledger.orders import Order
from discreet.curator.stored_orders import StoredOrder
from discreet.engines.engine import Deadline, Engine
from discreet.errors import LedgerError
from discreet.plan import canonical
from discreet.plan.query import Query
from discreet.plan.schema import Schema
from discreet.plan.work import Work
from discreet.privacy import Neighbours
from discreet.privacy.budgets.charges import Charge, Measure
from discreet.sql.writer.dialect import Dialect


class PlannedOrder(ABC):
    """Something to charge and execute, planned from public facts alone.

    Guarantee:
        `guarantees` bound what `measure` gives away. `present` is a function of its argument: no
        data and no randomness goes in.
    """

    kind: str

    @property
    @abstractmethod
    def guarantees(self) -> tuple[Charged, ...]:
        """What each part gives away."""

    @abstractmethod
    def charge(self, measure: Measure) -> Charge:
        """What all of it costs in a measure."""

    @property
    @abstractmethod
    def neighbours(self) -> Neighbours:
        """What its guarantees speak of."""

    @property
    @abstractmethod
    def tables(self) -> frozenset[str]:
        """The names of all tables that it reads, public ones too."""

    @property
    @abstractmethod
    def text(self) -> str:
        """What is asked, as the ledger stores it and finds it again."""

    @abstractmethod
    def decisions(self) -> Mapping[str, Any]:
        """How it will be measured, as the ledger stores it: what a crash is recovered from."""

    @abstractmethod
    def explain(self, dialect: Dialect) -> Explanation:
        """What it will cost and how well it will be answered."""

    @abstractmethod
    def seconds(self, bound: Callable[[Query], Work]) -> float:
        """How long measuring takes at most, by public numbers."""

    @abstractmethod
    def measure(self, engine: Engine, until: Deadline | None) -> bytes:
        """Noisy measurements, to be stored before anything is computed from them."""

    @abstractmethod
    def present(self, measured: bytes) -> Release:
        """The release that stored measurements make."""


class OrderKind(ABC):
    """One kind of orders: how it is read back from the ledger."""

    name: str

    @abstractmethod
    def read(self, order: Order, schema: Schema) -> PlannedOrder:
        """The plan of an order, against the tables as they are described."""

    @abstractmethod
    def release(self, stored: bytes) -> Release:
        """What a stored answer of this kind is."""


# --- questions ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QueryOrder(PlannedOrder):
    """A question, in SQL or Python."""

    plan: MeasurementPlan
    kind = "query"

    @property
    def guarantees(self) -> tuple[Charged, ...]:
        """What each part gives away."""
        return self.plan.guarantees

    def charge(self, measure: Measure) -> Charge:
        """What all of it costs in a measure."""
        return self.plan.charge(measure)

    @property
    def neighbours(self) -> Neighbours:
        """What its guarantees speak of."""
        return self.plan.neighbours

    @property
    def stored(self) -> StoredOrder:
        """What is asked."""
        plan = self.plan
        text, noise_kind = canonical.write(plan.query), plan.sets[0].noise_kind
        return StoredOrder(text, plan.price, noise_kind, plan.neighbours)

    @property
    def tables(self) -> frozenset[str]:
        """The names of all tables that it reads, public ones too."""
        return self.stored.tables

    @property
    def text(self) -> str:
        """What is asked, as the ledger stores it and finds it again."""
        return str(self.stored)

    def decisions(self) -> Mapping[str, Any]:
        """How it will be measured."""
        return self.plan.to_dict()

    def explain(self, dialect: Dialect) -> Explanation:
        """What it will cost and how well it will be answered."""
        return self.plan.explain(dialect)

    def seconds(self, bound: Callable[[Query], Work]) -> float:
        """How long measuring takes at most."""
        return bound(self.plan.query).seconds

    def measure(self, engine: Engine, until: Deadline | None) -> bytes:
        """Noisy measurements of all grouping sets."""
        return pack(self.plan.measure(engine, until))

    def present(self, measured: bytes) -> Release:
        """Estimates, error bars and the table to show."""
        return self.plan.present(unpack(measured))


class QueryKind(OrderKind):
    """Questions."""

    name = "query"

    def read(self, order: Order, schema: Schema) -> QueryOrder:
        """The plan that was stored; of an order by an older version, the one of this version."""
        asked = StoredOrder.parse(order.plan)
        query, about = asked.question(schema), asked.neighbours
        if order.decisions is not None:
            return QueryOrder(MeasurementPlan.from_dict(order.decisions, query, asked.price, about))
        return QueryOrder(MeasurementPlan.of(query, asked.price, about, (asked.noise_kind,)))

    def release(self, stored: bytes) -> Release:
        """A table."""
        return Release.from_bytes(stored)


KINDS: Final[Mapping[str, OrderKind]] = {one.name: one for one in (QueryKind(),)}
"""Every kind of order that can be charged, by the name that the ledger stores."""


def kind_of(order: Order) -> OrderKind:
    """The kind of an order; LedgerError if this version does not know it."""
    if order.kind in KINDS:
        return KINDS[order.kind]
    raise LedgerError(
        f"an order of kind {order.kind!r}",
        why="this version of the package does not know such orders",
        fix="use the version that made the charge, or a later one",
    )
