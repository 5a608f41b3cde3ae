"""Orders as the ledger stores them, and receipts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from discreet.curator.ledger.accounts import MEASURES
from discreet.curator.ledger.entries import canonical, digest, named
from discreet.errors import InputError
from discreet.privacy.budgets.charges import Charge, Measure
from discreet.privacy.guarantees.neighbours import Neighbours

if TYPE_CHECKING:
    from discreet.curator.ledger.charge_index import ChargedOrder


@dataclass(frozen=True, slots=True)
class Order:
    """A question with its price, before any data is touched.

    Guarantee:
        Everything here is computed from the question and public facts. `plan` is the canonical
        text of what is asked; `prices` holds its cost in every measure in which one of its accounts
        counts; `measurements` says which guarantees the cost is made of; `decisions` how it will be
        measured, so that a crash is recovered from what was charged.
    Edge cases:
        Two orders about the same dataset, version, plan and prices are the same question, whoever
        asks. `request` names one attempt to ask; None relies on the question alone. `asked` is
        the SQL as it was first written, for people to read; nothing is computed from it.

    Example:
        >>> from discreet.privacy.budgets.charges import EPSILON
        >>> cost = Charge(0.1, measure=EPSILON)
        >>> one = Order("alice", "visits", "v1", "count()", (cost,))
        >>> one.question == Order("bob", "visits", "v1", "count()", (cost,)).question
        True
    """

    analyst: str
    dataset: str
    version: str
    plan: str
    prices: tuple[Charge, ...]
    measurements: Sequence[Mapping[str, Any]] = field(default=(), compare=False)
    request: str | None = None
    asked: str | None = field(default=None, compare=False)
    kind: str = "query"
    decisions: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    also: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """Digests of the same plan with prices in other measures: what was measured is the same."""
    data_version: int = field(default=1, compare=False)
    """The version of the dataset that it is answered on; `version` is a digest of what it reads."""
    workbook: str | None = field(default=None, compare=False)
    """The workbook of the analyst whose accounts pay too; the debits of its charge tell it."""
    question: str = field(init=False, repr=False)
    """The digest under which an answer is found again."""

    def __post_init__(self) -> None:
        for name in ("analyst", "dataset", "version", "plan", "kind"):
            named(getattr(self, name), name)
        for name in ("request", "asked"):
            if getattr(self, name) is not None:
                named(getattr(self, name), name)
        object.__setattr__(self, "prices", tuple(sorted(self.prices, key=_ways)))
        canonical([list(self.measurements), self.decisions])
        ways = [_ways(price) for price in self.prices]
        known = all(name in MEASURES for name, _ in ways)
        if not ways or len(set(ways)) < len(ways) or not known:
            raise InputError(
                f"an order with prices in {[name for name, _ in ways]}",
                why="it has one price in each measure its accounts need: epsilon, rho, mu-squared",
                fix="price the plan once for each measure of `ledger.touched(dataset, analyst)`",
            )
        costs = [price.to_dict() for price in self.prices]
        kind = [] if self.kind == "query" else [self.kind]  # orders were all queries at first
        asked = digest(canonical([self.dataset, self.version, self.plan, costs, *kind]))
        object.__setattr__(self, "question", asked)

    def price(self, measure: Measure, neighbours: Neighbours) -> Charge:
        """The cost in one measure; InputError if the order does not say."""
        for price in self.prices:
            if price.measure == measure and price.neighbours is neighbours:
                return price
        raise InputError(
            f"an order without a price in {measure.name} under {neighbours.value}",
            why="one of the accounts it touches counts that",
            fix="price the plan once for each measure of `ledger.touched(dataset, analyst)`",
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON; `from_dict` reads it back."""
        asked = {} if self.asked is None else {"asked": self.asked}
        kind = {} if self.kind == "query" else {"kind": self.kind}
        number = {} if self.data_version == 1 else {"data_version": self.data_version}
        decided = {} if self.decisions is None else {"decisions": dict(self.decisions)}
        return {
            **asked,
            **kind,
            **decided,
            **number,
            "dataset": self.dataset,
            "version": self.version,
            "request": self.request,
            "question": self.question,
            "plan": self.plan,
            "plan_digest": digest(self.plan),
            "prices": [price.to_dict() for price in self.prices],
            "measurements": list(self.measurements),
        }

    @staticmethod
    def from_dict(analyst: str, stored: Mapping[str, Any]) -> "Order":
        """Read what `to_dict` wrote."""
        return Order(
            analyst,
            stored["dataset"],
            stored["version"],
            stored["plan"],
            tuple(Charge.from_dict(price) for price in stored["prices"]),
            stored["measurements"],
            stored["request"],
            stored.get("asked"),
            stored.get("kind", "query"),
            stored.get("decisions"),
            data_version=stored.get("data_version", 1),
        )


def request_name(analyst: str, request: str | None) -> str | None:
    """The name of an attempt, which is the analyst's own: others may use the same words."""
    return None if request is None else canonical([analyst, named(request, "request")])


def _ways(price: Charge) -> tuple[str, str]:
    return price.measure.name, price.neighbours.value


class State(Enum):
    """The state of a charge.

    CHARGED: the charge is durable and computing the answer is this caller's turn.
    PENDING: the charge is durable and somebody else is computing; wait.
    RELEASED: the answer is stored; these are its bytes.
    FAILED: measuring failed, which is final: there will never be an answer.
    """

    CHARGED = "charged"
    PENDING = "pending"
    RELEASED = "released"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Receipt:
    """A durable charge.

    `sequence` is its entry. `order` is the order that was charged, by whoever asked first.
    `measured` are the noisy measurements, once they are stored and until there is an answer.
    `filed` is all that the ledger says of a charge, where it was made now or has its answer.
    """

    sequence: int
    order: Order
    state: State
    release: bytes | None = field(default=None, repr=False)
    measured: bytes | None = field(default=None, repr=False)
    filed: "ChargedOrder | None" = field(default=None, repr=False, compare=False)
