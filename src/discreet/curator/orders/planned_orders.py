"""Orders of any kind: read, planned, charged, measured, presented.

    spec (JSON) ──parse──> UnpricedOrder ──plan──> PlannedOrder ──measure, present──> release

A kind is one class of `PlannedOrder` and its name in `discreet.curator.orders.order_kinds.KINDS`.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, TypeAlias, TypeVar

from discreet.answer.execute.individual import Admission
from discreet.answer.plan.accuracy import Accuracy
from discreet.answer.plan.price import Price
from discreet.answer.present.base_release import BaseRelease
from discreet.answer.present.number_text import percent
from discreet.curator.arguments import expect
from discreet.curator.ledger.accounts import Account, budget_share, workbook_name
from discreet.curator.ledger.orders import Order
from discreet.engines.default import DefaultEngine
from discreet.engines.engine import Engine
from discreet.engines.timing import Deadline
from discreet.errors import InputError, InvariantBroken
from discreet.plan import canonical
from discreet.plan.bounding import NoiseKind
from discreet.plan.expressions import remember
from discreet.plan.query import Query
from discreet.plan.schema import Schema, Table
from discreet.plan.work import Work
from discreet.privacy import Guarantee, Neighbours
from discreet.privacy.budgets.charges import EPSILON, Charge, Measure, price_sum
from discreet.privacy.composition.composed import compose
from discreet.rationals import Real, read_exact, whole
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
    """A priced order, planned from public facts alone; its class is the kind.

    Guarantee:
        `guarantees` bound the privacy loss of `measure`. `present` is a function of its argument:
        no data and no randomness goes in.
    """

    kind: ClassVar[str]
    release_type: ClassVar[type[BaseRelease]]
    price: Price
    neighbours: Neighbours
    """Neighbour relation of the guarantees."""
    table: Table
    """The one table that it reads; kinds that read more override `tables`."""
    has_epsilon: bool = True
    """Whether `charge` has a price in epsilon; InputError may still say that it has none."""
    states_epsilon: ClassVar[bool] = False
    """Whether an account that counts epsilons pays the (epsilon, delta) of the price."""
    says_periods: ClassVar[bool] = False
    """Whether its statements tell a person in a period from one with all their rows."""
    participants: bool = False
    """Whether people pay from budgets of their own, and `measure_admitted` measures it."""

    @classmethod
    @abstractmethod
    def parse(cls, spec: Mapping[str, Any], schema: Schema) -> "UnpricedOrder[PlannedOrder]":
        """Read the JSON of a stranger: InputError for everything that is not said here.

        `schema` has the tables that may be asked about, and no other.
        """

    @classmethod
    @abstractmethod
    def read(cls, order: Order, schema: Schema) -> "PlannedOrder":
        """The plan of a charged order, against the tables as they are described."""

    @staticmethod
    def price_of(order: Order) -> Price:
        """The (epsilon, delta) that a charged order was placed for."""
        return read_price(json.loads(order.plan))

    @property
    @abstractmethod
    def guarantees(self) -> tuple[Guarantee, ...]:
        """The guarantee of each part."""

    def charge(self, measure: Measure) -> Charge:
        """The cost in a measure: the parts composed, unless a kind knows better."""
        if measure == EPSILON and self.states_epsilon:
            paid = self.price
            return Charge(paid.epsilon, paid.delta, measure=measure, neighbours=self.neighbours)
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


ResumedOrder: TypeAlias = tuple[str, PlannedOrder, Engine, Path]
"""A charge to continue: its analyst, plan, data, and the folder of what was made of it."""

P_co = TypeVar("P_co", bound=PlannedOrder, covariant=True)


@dataclass(frozen=True)
class UnpricedOrder(Generic[P_co]):
    """An order as it was read: which tables it is about, but not yet who pays."""

    tables: frozenset[str]
    """The names of all tables that it reads, public ones too."""
    work: Callable[[Callable[[Query], Work]], Work]
    """Upper bound on the work of measuring; orders above the limit are refused."""
    plan: Callable[[QuoteContext], P_co]
    """Decide how it is measured; InputError or QueryRefused where it cannot be."""
    asked: str | None = None
    """The text that people wrote, for people to read; nothing is computed from it."""
    as_of: int | None = None
    """The version of the dataset that is asked about, None for the newest."""
    workbook: str | None = None
    """The workbook of its analyst that pays too, if any."""
    by_person: bool = False
    """Whether its cost is known for each person, who may then have a budget of their own."""


def price_facts(price: Price, neighbours: Neighbours) -> dict[str, str]:
    """The price and the neighbour relation, as the text of an order has them."""
    paid = {"epsilon": str(price.epsilon), "delta": str(price.delta)}
    return {**paid, "neighbours": neighbours.value}


def read_price(stored: Mapping[str, Any]) -> Price:
    """The price that `price_facts` wrote."""
    return Price(*(read_exact(str(stored[name])) for name in ("epsilon", "delta")))


@dataclass(frozen=True, slots=True)
class StoredOrder:
    """A question as it was charged: its canonical text, its price, its noise and its neighbours."""

    query: str
    price: Price
    noise_kind: NoiseKind
    neighbours: Neighbours

    @staticmethod
    def parse(text: str) -> "StoredOrder":
        """Read the text of an order."""
        stored = json.loads(text)
        return StoredOrder(
            stored["query"],
            read_price(stored),
            NoiseKind(stored["law"]),
            Neighbours(stored["neighbours"]),
        )

    def __str__(self) -> str:
        facts = {"query": self.query, "law": self.noise_kind.value}
        return json.dumps({**facts, **price_facts(self.price, self.neighbours)}, sort_keys=True)

    def question(self, schema: Schema) -> Query:
        """The question, against the tables as they are described."""
        return canonical.read(self.query, schema)

    @property
    def tables(self) -> frozenset[str]:
        """The names of all tables that it speaks of, public ones too."""
        return names_of(self.query)

    @property
    def unweighted(self) -> str:
        """The canonical text without how much the error of each column matters."""
        if _WEIGHED not in self.query:  # most are not: there may be very many to look at
            return self.query
        query = json.loads(self.query)
        for aggregate in query["aggregates"]:
            aggregate.pop("weight", None)
        return json.dumps(query, sort_keys=True, separators=(",", ":"))

    @property
    def weights(self) -> dict[str, Fraction]:
        """How much the error of each column matters, where that was said."""
        query = json.loads(self.query)
        stated = query.get("question", query)["aggregates"]
        return {
            one["name"]: Fraction(one["weight"]["fraction"]) for one in stated if "weight" in one
        }


_WEIGHED = '"weight":{"fraction"'


@lru_cache(maxsize=64)
def names_of(query: str) -> frozenset[str]:
    """The names of all tables in the canonical text of a question, public ones too."""
    return frozenset(_names(json.loads(query)))


def _names(node: Any) -> Iterable[str]:
    match node:
        case {"table": str(name), "digest": _}:
            yield name
        case dict():
            for part in node.values():
                yield from _names(part)
        case list():
            for part in node:
                yield from _names(part)


# --- prices ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Terms:
    """An epsilon, or an accuracy that decides it; and a delta.

    `weights` says how much the error of shown columns matters; 1 for those that it does not name.
    `as_of` is a version of the dataset, None for the newest. Without `intervals`, quantiles are
    chosen alone. `workbook` is one of the analyst's, which pays too.
    """

    epsilon: Real | None = None
    delta: Real | None = None
    accuracy: Accuracy | None = None
    weights: Mapping[str, Real] | None = None
    as_of: int | None = None
    intervals: bool = True
    workbook: str | None = None

    def __post_init__(self) -> None:
        if self.intervals is not True:
            expect(self.intervals, bool, "intervals", fix="pass intervals=False, or leave it out")
        if self.as_of is not None:
            whole(self.as_of, "as_of", at_least=1)
        if self.accuracy is not None:
            expect(self.accuracy, Accuracy, "an accuracy", fix="pass Accuracy(within=50)")
        if self.workbook is not None:
            workbook_name(self.workbook)
        if self.weights is not None:
            expect(self.weights, Mapping, "weights", fix="pass weights={'m': 4}")
        if (self.epsilon is None) is (self.accuracy is None):
            raise InputError(
                "a question with neither or both of epsilon and accuracy",
                why="one of them decides the price",
                fix="pass epsilon=0.1, or accuracy=Accuracy(within=50)",
            )

    def on_version(self, version: int | None) -> "Terms":
        """The same about a version that the question names; InputError where both name one."""
        if version is None or version == self.as_of:
            return self
        if self.as_of is not None:
            raise InputError(
                f"a question about version {version} and as_of={self.as_of}",
                why="it is answered on one version",
                fix="name one of them",
            )
        return replace(self, as_of=version)


@dataclass(frozen=True)
class Offer(Generic[P_co]):
    """An order with its plan, and who asks: everything about it that can be checked.

    `asked` is the text that people wrote.

    Guarantee:
        Made from the order, the schema and the accounts' measures. Whatever the compiler
        refuses was refused when this was made, so before any charge.
    """

    planned: P_co
    at: QuoteContext
    asked: str | None = None

    @property
    def explanation(self) -> OrderExplanation:
        """How good the release will be; who asks without looking need not wait for it."""
        told = self.planned.explain(self.at.dialect)
        took = "" if self.share is None else f"\ntakes {percent(self.share)} of the budget"
        return replace(told, text=told.text + took)

    @property
    def takes(self) -> str | None:
        """The largest share of any budget that it takes, and what is left of that; in words."""
        shares = {one: one.share(cost) for one, cost in self.bill().items() if one.cap}
        most = max(shares, key=shares.__getitem__, default=None)
        return None if most is None else f"{percent(shares[most])} of the budget of {most}"

    @property
    def share(self) -> float | None:
        """The share of a budget that it takes, spent or not; None where no account has a cap."""
        return budget_share(self.at.touched, self._priced.prices)

    def bill(self) -> dict[Account, Charge]:
        """The charge to each account."""
        return {account: self.planned.charge(account.measure) for account in self.at.touched}

    def order(self, request: str | None = None) -> Order:
        """The order that the ledger is asked to charge."""
        return self._priced if request is None else replace(self._priced, request=request)

    @cached_property
    def _priced(self) -> Order:
        """The order, before it is asked for under a name."""
        at = self.at
        measures = tuple(dict.fromkeys(account.measure for account in at.touched))
        order = _order(self.planned, (at.analyst, at.dataset, at.version), measures, self.asked)
        if at.data_version == 1 and at.workbook is None:
            return order
        return replace(order, data_version=at.data_version, workbook=at.workbook)


@remember(512)
def _order(
    planned: PlannedOrder,
    about: tuple[str, str, str],
    measures: tuple[Measure, ...],
    asked: str | None,
) -> Order:
    """The order of a plan; a recent plan need not be written again for a repeated question."""
    prices = {measure: planned.charge(measure) for measure in measures}
    order = Order(
        *about,
        planned.text,
        tuple(prices.values()),
        [part.to_dict() for part in planned.guarantees],
        None,
        asked,
        planned.kind,
        planned.decisions(),
    )
    also = _otherwise_priced(planned, prices)
    return replace(order, also=(replace(order, prices=also).question,)) if also else order


def _otherwise_priced(
    planned: PlannedOrder, prices: Mapping[Measure, Charge]
) -> tuple[Charge, ...]:
    """The prices for somebody whose own cap counts epsilon, or does not; () where there are none.

    Why: the plan fixes what is measured, not who else has to pay for the answer.
    """
    others = tuple(one for measure, one in prices.items() if measure != EPSILON)
    if EPSILON in prices:
        return others  # none where the dataset itself counts epsilon: so does everybody
    try:  # Gaussian noise has no price in epsilon
        return (*others, planned.charge(EPSILON)) if planned.has_epsilon else ()
    except InputError:
        return ()
