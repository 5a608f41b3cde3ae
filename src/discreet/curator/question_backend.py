"""Where questions go: to this process, or to a server."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.answer.present.base_release import BaseRelease
from discreet.answer.present.release import Release
from discreet.curator.ledger.accounts import Account
from discreet.curator.orders.online_epochs import OnlineReply
from discreet.curator.orders.planned_orders import Terms
from discreet.curator.workbook import AskedQuestion
from discreet.plan.query import Query
from discreet.plan.relations import Relation
from discreet.plan.schema import Schema
from discreet.privacy.budgets.charges import Charge
from discreet.workload.online import OnlineState


@dataclass(frozen=True, slots=True)
class OrderRequest:
    """An order on its way: a question with its terms, or the spec of any kind; and who asks."""

    asked: str | Query | Mapping[str, Any]
    terms: Terms | None = None
    kind: str = "query"
    analyst: str | None = None
    request: str | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """Facts about an order before it is charged, each computed when it is asked for."""

    explain: Callable[[], Any]
    """How good its release would be: an `Explanation`, or that of another kind of order."""
    bill: Callable[[], dict[Account, Charge]]
    """What each account would be charged, if it was not placed before."""
    charge: Callable[[], int]
    """The number of its charge, once it was placed."""


class QuestionBackend(ABC):
    """The few operations that every way to ask is built on."""

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The schema of all visible tables."""

    @abstractmethod
    def public(self, text: str, *, priced: bool) -> Release | None:
        """The answer to a question about public tables alone; None where it is another."""

    @abstractmethod
    def place(self, asked: OrderRequest) -> BaseRelease:
        """Charge an order durably, compute it, store it; or find the stored release."""

    @abstractmethod
    def remeasure(self, asked: OrderRequest) -> Release:
        """Answer a question again, merged with its analyst's earlier answer."""

    @abstractmethod
    def quote(self, asked: OrderRequest) -> Quote:
        """The price of an order; no data is touched."""

    def hold(
        self, relation: Relation, make: Callable[[Relation], Query], analyst: str | None
    ) -> Query | None:
        """A question with bounds from profiles that its analyst has; None without any."""
        return None

    @abstractmethod
    def ask_online(
        self, charge: int, wheres: Sequence[Mapping[str, Any]], confidence: float
    ) -> OnlineReply:
        """Answer counting queries under the charge of an epoch."""

    @abstractmethod
    def online_state(self, charge: int) -> OnlineState:
        """The public state of an epoch."""

    @abstractmethod
    def workbook(
        self, dataset: str, name: str, share: Fraction, analyst: str | None
    ) -> list[AskedQuestion]:
        """Open a workbook of the ledger, or find it; the questions that it has paid for."""

    @abstractmethod
    def stored(self, charge: int) -> Release:
        """The stored answer of a charge."""

    @abstractmethod
    def stream_release(self, charge: int) -> Release:
        """A standing question, after the periods that are complete by now."""
