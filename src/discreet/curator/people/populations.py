"""The accounts of people in all datasets whose people have budgets of their own."""

import threading

from discreet.curator.data.data_store import DataStore
from discreet.curator.fork_safety import FORKS
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.people.balance_table import BalanceTable
from discreet.curator.people.person_accounts import PersonAccounts
from discreet.curator.people.person_limits import BUDGET, Population, population_of


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
        """Write all balances down, for whoever opens the folder next."""
        for one in tuple(self._known.values()):
            one.save()

    def check(self, dataset: str) -> None:
        """Refuse to ask where balances could not be told: by public facts, before any charge."""
        datasets = self.of(dataset).population.datasets
        tables = self._data_store.tables.tables.values()
        self._data_store.check([one.table.name for one in tables if one.dataset in datasets])
        self._data_store.check_parts(datasets, self._ledger.appended)

    def catch_up(self) -> None:
        """Fold in everything that was charged so far, so that the next question need not."""
        now = self._ledger.head().sequence
        for dataset in {str(one.facts["dataset"]) for one in self._ledger.noted(BUDGET)}:
            self.of(dataset).catch_up(now)
