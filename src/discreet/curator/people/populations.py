"""The accounts of people in all datasets whose people have budgets of their own."""

import threading
from collections.abc import Iterable

from discreet.curator.data.data_store import DataStore
from discreet.curator.data.registry import Registration
from discreet.curator.fork_safety import FORKS
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.people.balance_table import BalanceTable
from discreet.curator.people.person_accounts import PersonAccounts
from discreet.curator.people.person_limits import BUDGET, Population, population_of
from discreet.errors import QueryRefused


class Populations:
    """The accounts of people of all datasets that have such, folded as far as anybody asked."""

    def __init__(self, ledger: Ledger, data_store: DataStore) -> None:
        self._ledger, self._data_store = ledger, data_store
        self.renew()
        FORKS.renew_in_child(self)

    def renew(self) -> None:
        """Begin anew: everything is computed from the ledger again."""
        self._lock = threading.Lock()
        self._known: dict[Population, PersonAccounts] = {}

    def of(self, dataset: str) -> PersonAccounts:
        """The accounts of a dataset's people, with those of all linked datasets."""
        key = self._data_store.person_key()
        population = population_of(self._ledger, dataset, key)
        with self._lock:
            if population not in self._known:
                folder = self._data_store.place
                table = None if folder is None else BalanceTable(folder, population, key)
                made = PersonAccounts(self._ledger, self._data_store, population, key, table)
                self._known[population] = made
            return self._known[population]

    def save(self) -> None:
        """Save all balances, for the next process that opens the folder."""
        for one in tuple(self._known.values()):
            one.save()

    def check(self, dataset: str, used: Iterable[Registration], *, by_person: bool) -> None:
        """Refuse to ask where balances could not be told: by public facts, before any charge.

        `used` are the tables of an order; `by_person` says that its cost is known for each person.
        """
        if any(one.address for one in used):
            raise QueryRefused(
                "tables on a server, where every person has a budget of their own",
                why="what each person has spent is joined with their rows, and a server is only "
                "read",
                fix="add the rows as a file, or give the dataset one budget for all",
                code="per-person",
            )
        if not by_person:
            raise QueryRefused(
                "an order that is no question, where every person has a budget of their own",
                why="what it costs is reckoned for all people together, not for each by what they "
                "add",
                fix="ask for counts, sums and means, or use a dataset with one budget for all",
                code="per-person",
            )
        datasets = self.of(dataset).population.datasets
        tables = self._data_store.tables.tables.values()
        self._data_store.check([one.table.name for one in tables if one.dataset in datasets])
        self._data_store.check_parts(datasets)

    def catch_up(self) -> None:
        """Fold in everything that was charged so far, so that the next question need not."""
        now = self._ledger.head().sequence
        for dataset in {str(one.facts["dataset"]) for one in self._ledger.noted(BUDGET)}:
            self.of(dataset).catch_up(now)
