"""What each role can do: the owner holds the curator; analysts ask; auditors read the ledger.

These are views for programs that share a process. Between people who do not trust each other, a
server has to stand: whoever holds the curator object holds the data.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TextIO, TypedDict, Unpack

from discreet.curator.ledger.accounts import Account
from discreet.curator.ledger.entries import Entry, Head
from discreet.curator.ledger.verify import Report
from discreet.plan.dummy import ROWS

if TYPE_CHECKING:
    from discreet.answer.plan.accuracy import Accuracy
    from discreet.answer.plan.explain import Explanation
    from discreet.answer.present.base_release import BaseRelease
    from discreet.answer.present.release import Release
    from discreet.curator.curator import Curator
    from discreet.curator.online_epochs import OnlineQueries
    from discreet.curator.participation_orders import Participation
    from discreet.curator.planned_orders import OrderExplanation
    from discreet.curator.profile_release import ProfileRelease
    from discreet.curator.question_interface import Asked
    from discreet.curator.streams import StandingQuery
    from discreet.curator.synthesis_release import SynthesisRelease
    from discreet.curator.workbook import Workbook
    from discreet.curator.workload_orders import WorkloadRelease
    from discreet.plan.builder import From, Question
    from discreet.plan.query import Query
    from discreet.plan.schema import Schema
    from discreet.privacy import Neighbours
    from discreet.privacy.budgets.charges import Charge
    from discreet.rationals import Real


class PriceArguments(TypedDict, total=False):
    """What a question may cost: `epsilon`, or the `accuracy` that decides it, and more."""

    epsilon: "Real | None"
    delta: "Real | None"
    accuracy: "Accuracy | None"
    weights: "Mapping[str, Real] | None"
    as_of: int | None
    intervals: bool


class AnswerArguments(PriceArguments, total=False):
    """The same, and a `request` that names one attempt, so that it is charged once."""

    request: str | None


@dataclass(frozen=True, slots=True)
class AnalystView:
    """What an analyst can do: ask, explain, and see what is left."""

    curator: "Curator"
    analyst: str

    def sql(self, text: str, **price: Unpack[AnswerArguments]) -> "Release":
        """Answer a question in SQL."""
        return self.curator.sql(text, analyst=self.analyst, **price)

    def remeasure(self, question: "Asked", **price: Unpack[PriceArguments]) -> "Release":
        """Answer again for a further price, and merge with what was told before."""
        return self.curator.remeasure(question, analyst=self.analyst, **price)

    def outside(self, question: "Asked", **price: Any) -> "Release":
        """How many people have a row in none of an answer's groups."""
        return self.curator.outside(question, analyst=self.analyst, **price)

    def explain(self, question: "Asked", **price: Unpack[PriceArguments]) -> "Explanation":
        """What a question would cost; touches no data."""
        return self.curator.explain(question, analyst=self.analyst, **price)

    def cost(self, question: "Asked", **price: Unpack[PriceArguments]) -> "dict[Account, Charge]":
        """What each account would be charged; touches no data."""
        return self.curator.cost(question, analyst=self.analyst, **price)

    def order(
        self, kind: str, spec: Mapping[str, Any], *, request: str | None = None
    ) -> "BaseRelease":
        """Place an order of any kind."""
        return self.curator.order(kind, spec, analyst=self.analyst, request=request)

    def participation(self, table: str, **options: Any) -> "Participation":
        """The share of people who still take part, told by counting them with noise."""
        return self.curator.participation(table, analyst=self.analyst, **options)

    def synthesize(self, table: str, **options: Any) -> "SynthesisRelease":
        """Make a synthetic table; options are those of `Curator.synthesize`."""
        return self.curator.synthesize(table, analyst=self.analyst, **options)

    def answer(
        self, table: str, queries: Sequence[Mapping[str, Any]], **options: Any
    ) -> "WorkloadRelease":
        """Answer many counting queries at once; options are those of `Curator.answer`."""
        return self.curator.answer(table, queries, analyst=self.analyst, **options)

    def profile(self, table: str, **price: Any) -> "ProfileRelease":
        """One private look at every column of a table; the price is that of `Curator.profile`."""
        return self.curator.profile(table, analyst=self.analyst, **price)

    def fit(
        self,
        estimator: Any,
        table: str,
        *,
        features: Iterable[str],
        target: str | None = None,
        request: str | None = None,
    ) -> Any:
        """Fit an estimator of `discreet.learn` to a table."""
        who: dict[str, Any] = {"analyst": self.analyst, "request": request}
        return self.curator.fit(estimator, table, features=features, target=target, **who)

    def test(self, name: str, table: str, *, value: str, **parameters: Any) -> Any:
        """A statistical test of a column."""
        return self.curator.test(name, table, value=value, analyst=self.analyst, **parameters)

    def explain_order(self, kind: str, spec: Mapping[str, Any]) -> "OrderExplanation":
        """What an order would cost; touches no data."""
        return self.curator.explain_order(kind, spec, analyst=self.analyst)

    def cost_order(self, kind: str, spec: Mapping[str, Any]) -> "dict[Account, Charge]":
        """What each account would be charged for an order; touches no data."""
        return self.curator.cost_order(kind, spec, analyst=self.analyst)

    def online(self, table: str, **options: Any) -> "OnlineQueries":
        """Open an epoch of online counting queries; see `Curator.online`."""
        return self.curator.online(table, analyst=self.analyst, **options)

    def watch(self, text: str, **options: Any) -> "StandingQuery":
        """Ask a standing question; options are those of `Curator.watch`."""
        return self.curator.watch(text, analyst=self.analyst, **options)

    def table(self, name: str) -> "From":
        """Begin a question in Python."""
        return self.curator.table(name, analyst=self.analyst)

    @property
    def schema(self) -> "Schema":
        """What may be asked about."""
        return self.curator.schema

    def datasets(self) -> dict[str, list[str]]:
        """The tables of each dataset."""
        return self.curator.datasets()

    def retired(self) -> list[str]:
        """The datasets of which nothing new is asked."""
        return self.curator.retired()

    @property
    def neighbours(self) -> "Neighbours":
        """What every guarantee here speaks of."""
        return self.curator.neighbours

    def ask(self, query: "Query | Question", **price: Unpack[AnswerArguments]) -> "Release":
        """Answer a plan."""
        return self.curator.ask(query, analyst=self.analyst, **price)

    def cancel(self, charge: int) -> None:
        """Give up a question that this analyst asked, for ever; the charge stays."""
        self.curator.cancel(charge, analyst=self.analyst)

    def dummy(self, rows: int = ROWS) -> "Curator":
        """Made-up rows with the same tables, to try questions on."""
        return self.curator.dummy(rows)

    def budget(self, dataset: str | None = None) -> Account:
        """What this analyst may spend, has spent, and has left."""
        return self.curator.budget(dataset, analyst=self.analyst)

    def workbook(self, dataset: str, *, share: "Real", questions: int) -> "Workbook":
        """A share of what is left of a budget, split over a number of questions."""
        who = self.analyst
        return self.curator.workbook(dataset, share=share, questions=questions, analyst=who)


class LedgerReader(Protocol):
    """A ledger as far as it can be read."""

    def entries(self, *, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        """Entries in order, those that follow number `after`."""

    def accounts(self) -> tuple[Account, ...]:
        """All accounts."""

    def verify(self) -> Report:
        """Read everything and compare."""

    def export(self, file: TextIO) -> Head:
        """Write every entry as a line of JSON with its hash."""


@dataclass(frozen=True, slots=True, repr=False)
class Auditor:
    """What an auditor can read: every charge and every budget, and no answer."""

    _ledger: LedgerReader

    def entries(self, *, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        """Entries in order, those that follow number `after`."""
        return self._ledger.entries(after=after, limit=limit)

    def accounts(self) -> tuple[Account, ...]:
        """All budgets and what is spent of them."""
        return self._ledger.accounts()

    def verify(self) -> Report:
        """Read everything and compare; names the first entry that is wrong."""
        return self._ledger.verify()

    def export(self, file: TextIO) -> Head:
        """Write every entry as a line of JSON with its hash."""
        return self._ledger.export(file)
