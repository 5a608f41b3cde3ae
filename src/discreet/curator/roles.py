"""Roles: the owner holds the curator; analysts ask; auditors read the ledger.

These are views for programs that share a process. Between people who do not trust each other, a
server has to stand: whoever holds the curator object holds the data.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from discreet.curator.ledger.accounts import Account
from discreet.curator.ledger.orders import Entry, Head, named
from discreet.curator.ledger.verify import Report
from discreet.curator.question_interface import QuestionInterface
from discreet.plan.dummy import ROWS

if TYPE_CHECKING:
    from discreet.curator.curator import Curator
    from discreet.curator.workbook import Workbook
    from discreet.privacy import Neighbours
    from discreet.rationals import Real


class AnalystView(QuestionInterface):
    """An analyst's operations: ask, explain, and see what is left."""

    def __init__(self, curator: "Curator", analyst: str) -> None:
        self.curator = curator
        self.analyst = self._analyst = named(analyst, "analyst")  # without one the owner asks
        self._backend = curator._backend  # noqa: SLF001 - of the same interface

    def datasets(self) -> dict[str, list[str]]:
        """The tables of each dataset."""
        return self.curator.datasets()

    def retired(self) -> list[str]:
        """The datasets of which nothing new is asked."""
        return self.curator.retired()

    @property
    def neighbours(self) -> "Neighbours":
        """Neighbour relation of all guarantees."""
        return self.curator.neighbours

    def cancel(self, charge: int) -> None:
        """Give up a question that this analyst asked, for ever; the charge stays."""
        self.curator.cancel(charge, analyst=self.analyst)

    def dummy(self, rows: int = ROWS) -> "Curator":
        """Made-up rows with the same tables, to try questions on."""
        return self.curator.dummy(rows)

    def budget(self, dataset: str | None = None) -> Account:
        """Cap, spent and remaining budget of this analyst."""
        return self.curator.budget(dataset, analyst=self.analyst)

    def workbook(
        self, dataset: str, *, share: "Real", questions: int, name: str | None = None
    ) -> "Workbook":
        """A share of what is left of a budget, split over questions, and kept under a `name`."""
        split = self.curator.workbook
        return split(dataset, share=share, questions=questions, analyst=self.analyst, name=name)


@dataclass(frozen=True, slots=True, repr=False)
class Auditor:
    """An auditor's view of a ledger: every charge and every budget, and no answer."""

    entries: Callable[..., tuple[Entry, ...]]
    """Entries in order, those that follow number `after`, `limit` at most."""
    accounts: Callable[[], tuple[Account, ...]]
    """All budgets and what is spent of them."""
    verify: Callable[[], Report]
    """Read everything and compare; names the first entry that is wrong."""
    export: Callable[[TextIO], Head]
    """Write every entry as a line of JSON with its hash."""
