"""Orders, the entries of the ledger that record them, and the JSON that both are written in.

The text of an entry holds the hash of the entry before it, and its own hash is SHA-256 of that
text. Changing, removing or reordering an entry changes every hash after it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final, TypeAlias

from discreet.errors import InputError
from discreet.privacy.budgets.charges import EPSILON, MU_SQUARED, RHO, Charge, Measure
from discreet.privacy.guarantees.neighbours import Neighbours

MEASURES: Final[dict[str, Measure]] = {one.name: one for one in (EPSILON, RHO, MU_SQUARED)}

_encode: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal texts.

    Edge cases: NaN and infinity have no JSON; other types than JSON's are refused.

    Example:
        >>> canonical({"b": 1, "a": ["x", None]})
        '{"a":["x",null],"b":1}'
    """
    try:
        text = _encode(value)
        text.encode()
    except (TypeError, ValueError, RecursionError) as wrong:
        raise InputError(
            "something that goes into the ledger is not plain JSON",
            why=type(wrong).__name__,
            fix="pass texts, integers, finite numbers, lists and mappings with text keys",
        ) from wrong
    return text


def digest(text: str | bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def named(value: object, what: str) -> str:
    """Read a name: any text but the empty one, with no NUL and nothing that UTF-8 cannot write."""
    if isinstance(value, str) and value and "\0" not in value and encodes(value):
        return value
    raise InputError(
        f"{what} is not a name",
        why="a name is a text of at least one character that UTF-8 can write, without NUL",
        fix=f"pass {what} as a plain text",
    )


def encodes(value: str) -> bool:
    """Whether UTF-8 can write a text."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


NOTHING: Final = "0" * 64
"""The hash before the first entry."""


@dataclass(frozen=True, slots=True)
class Head:
    """The newest entry: how many there are and what all of them hash to."""

    sequence: int = 0
    hash: str = NOTHING


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger.

    `time` is UTC and informs only: no rule reads it. `facts` are public: plans, prices, digests;
    never an answer and never a value from data.

    Example:
        >>> first = Entry(1, NOTHING, "2026-01-01T00:00:00+00:00", "founded", "owner", {})
        >>> Entry.read(first.text) == first, first.head.sequence
        (True, 1)
    """

    sequence: int
    previous: str
    time: str
    kind: str
    by: str
    facts: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The canonical text, which is what is stored and hashed."""
        return canonical({name: getattr(self, name) for name in self.__slots__})

    @property
    def head(self) -> Head:
        """This entry as the newest one."""
        return Head(self.sequence, digest(self.text))

    @staticmethod
    def after(head: Head, kind: str, by: str, facts: Mapping[str, Any]) -> "Entry":
        """The entry that follows `head`."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        return Entry(head.sequence + 1, head.hash, now, kind, by, facts)

    @staticmethod
    def read(text: str) -> "Entry":
        """Read what `text` wrote; ValueError or TypeError if it is something else."""
        return Entry(**json.loads(text))


Asker: TypeAlias = tuple[str, str, str | None]
"""A dataset, an analyst within it, and the workbook that is asked from."""


@dataclass(frozen=True, slots=True)
class Order:
    """A question with its price, before any data is touched.

    Guarantee:
        Everything here is computed from the question and public facts. `plan` is the canonical
        text of what is asked; `prices` holds its cost in every measure in which one of its accounts
        counts; `measurements` says which guarantees the cost is made of; `decisions` how it will be
        measured, so that a crash is recovered from what was charged.
    Edge cases:
        Two orders about the same dataset, version, plan and prices are the same question, for any
        analyst. `request` names one attempt to ask; None relies on the question alone. `asked` is
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
    """The workbook of the analyst whose accounts pay too; the debits of its charge say it."""
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

    @property
    def asker(self) -> Asker:
        """Who asks it, of which dataset, from which workbook."""
        return self.dataset, self.analyst, self.workbook

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
        usual = {"asked": None, "kind": "query", "decisions": None, "data_version": 1}
        said = {name: getattr(self, name) for name in usual}
        return {
            **{name: value for name, value in said.items() if value != usual[name]},
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


NEWEST: Final = 2**62
"""Comes after every entry."""


@dataclass(frozen=True, slots=True)
class ChargedOrder:
    """One charge: its order by whoever asked first, when, what it took, and when it was answered.

    `debits` has whole units of amount and delta for the key of each account. Times are UTC, as the
    entries have them; `answered` is None while there is no answer. `failed` says that there will
    be none; `size` is the bytes of the answer.
    """

    sequence: int
    time: str
    order: Order
    debits: Mapping[str, tuple[int, int]]
    answered: str | None
    failed: bool = False
    size: int = 0

    @staticmethod
    def of(body: str, outcome: str | None) -> "ChargedOrder":
        """From the entries of a charge and of its answer or failure, None while there is none."""
        entry, end = Entry.read(body), None if outcome is None else Entry.read(outcome)
        filed = entry.sequence, entry.time, Order.from_dict(entry.by, entry.facts), debits_of(entry)
        if end is None or end.kind == "failed":
            return ChargedOrder(*filed, None, failed=end is not None)
        return ChargedOrder(*filed, end.time, size=int(end.facts["size"]))


def debits_of(charged: Entry) -> dict[str, tuple[int, int]]:
    """Whole units of amount and delta that a charge took from the key of each account."""
    return {key: (int(u), int(d)) for key, (u, d) in charged.facts["debits"].items()}


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
    filed: ChargedOrder | None = field(default=None, repr=False, compare=False)
