"""The trusted third party: holds data, answers questions, and proves what was spent.

    question -> plan -> price -> charge (durable) -> engine -> noise -> release (stored)

Everything before the charge reads the question and public facts; everything after it happens under
the charge, once. Asking the same again returns the same bytes.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Self

from discreet.answer.answer import answer
from discreet.answer.budget import Price
from discreet.answer.explain import Explanation, explain
from discreet.answer.limits import Law
from discreet.answer.quote import quote
from discreet.answer.release import Release
from discreet.curator import accounts, registry
from discreet.curator.accounts import Account
from discreet.curator.budgets import Budget
from discreet.curator.ledger import Ledger
from discreet.curator.orders import Order, Receipt, State
from discreet.curator.registry import Registration, Registry
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import InputError, QueryRefused
from discreet.plan import canonical
from discreet.plan.builder import From
from discreet.plan.query import Query
from discreet.plan.relations import Scan, tables_of
from discreet.plan.schema import (
    Bounds,
    Keys,
    Limits,
    Person,
    PublicTable,
    Table,
    Unit,
    column_type,
)
from discreet.privacy import Neighbours
from discreet.privacy.charges import EPSILON, Charge
from discreet.privacy.charges import price as price_in
from discreet.rationals import Real
from discreet.sql.duckdb_types import stored_kind
from discreet.sql.read import read

OWNER = "owner"
_SHARE = 50
"""A question takes this part of the dataset's delta unless it says otherwise."""

_WAIT = 600.0


class Curator:
    """Data, budgets, and a ledger, in a folder or in memory.

    Guarantee:
        For each dataset, everything that was ever answered about it together keeps the dataset's
        budget, whoever asked and however they chose their questions. A charge is durable before
        data is touched and is never refunded; every answer is stored with its charge.
    Neighbours:
        One whole person added or removed, with all their rows in all tables of the dataset (or one
        row, where a table says so).
    Edge cases:
        A curator in memory keeps its ledger in memory too: when it ends, what was spent is
        forgotten, so it is for trying things out and for tests.

    Example:
        >>> import pyarrow as pa
        >>> rows = pa.table({"id": range(1000), "city": ["Haifa", "Austin"] * 500})
        >>> curator = Curator.in_memory()
        >>> curator.add("visits", rows, unit="id", budget=Budget(epsilon=1, delta=1e-6),
        ...             columns={"city": Keys(["Austin", "Haifa"])})
        >>> text = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
        >>> curator.sql(text, epsilon=0.1).table.column("city").to_pylist()
        ['Austin', 'Haifa']
    """

    def __init__(
        self,
        place: str | os.PathLike[str] | None,
        *,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        self._folder = None if place is None else Path(place)
        self._neighbours = neighbours
        self._frames: dict[str, Any] = {}
        self._engine: DuckDBEngine | None = None
        if self._folder is None:
            self._registry, self._ledger = Registry({}), Ledger.in_memory()
        else:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._registry = registry.load(self._tables_file)
            self._ledger = Ledger.open(self._folder / "ledger.sqlite")

    @staticmethod
    def in_memory(*, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> "Curator":
        """A curator for notebooks and tests; its ledger ends with it."""
        return Curator(None, neighbours=neighbours)

    # --- the owner ------------------------------------------------------------------------------

    def add(
        self,
        name: str,
        source: Any,
        *,
        unit: str | Unit,
        budget: Budget | None = None,
        within: str | None = None,
        columns: Mapping[str, Bounds | Keys] | None = None,
        required: Iterable[str] = (),
        limits: Limits | None = None,
    ) -> None:
        """Add a private table: a new dataset with a budget, or one more table `within` a dataset.

        `unit` is the column that names the person, a key path, or EachRow(). `columns` says what is
        known of columns; `required` lists columns that are never NULL.
        """
        if (budget is None) is (within is None):
            raise InputError(
                f"{name} has {'neither a budget nor a dataset' if budget is None else 'both'}",
                why="a table either starts a dataset with a budget of its own or shares another's",
                fix="pass budget=Budget(epsilon=..., delta=...) or within='dataset'",
            )
        if within is not None and within not in self._registry.datasets():
            raise _unknown("dataset", within, self._registry.datasets())
        whose = Person(unit) if isinstance(unit, str) else unit
        known = self._columns(name, source, columns or {}, set(required))
        table = Table(name, known, whose, limits or Limits())
        self._register(table, source, within or name)
        if budget is not None:
            cap = budget.cap(self._neighbours)
            self._ledger.open_account(accounts.dataset(name), cap, by=OWNER)

    def add_public(
        self,
        name: str,
        source: Any,
        *,
        key: str | Iterable[str],
        columns: Mapping[str, Bounds | Keys] | None = None,
    ) -> None:
        """Add a table that belongs to nobody; its key must be unique."""
        keys = (key,) if isinstance(key, str) else tuple(key)
        known = self._columns(name, source, columns or {}, set(keys))
        self._register(PublicTable(name, known, keys), source, None)

    def grant(self, analyst: str, dataset: str, budget: Budget) -> None:
        """Give an analyst a cap of their own within a dataset."""
        holder = accounts.analyst(analyst, within=dataset)
        self._ledger.open_account(holder, budget.cap(self._neighbours), by=OWNER)

    def raise_budget(self, dataset: str, budget: Budget, *, reason: str) -> None:
        """Change a dataset's budget for ever; the ledger keeps who did it and why."""
        cap = budget.cap(self._neighbours)
        self._ledger.set_cap(accounts.dataset(dataset), cap, by=OWNER, reason=reason)

    def as_analyst(self, name: str) -> "Desk":
        """What one analyst can do: ask, and see what is left."""
        return Desk(self, name)

    @property
    def ledger(self) -> Ledger:
        """The record of every charge."""
        return self._ledger

    # --- questions ------------------------------------------------------------------------------

    def sql(
        self,
        text: str,
        *,
        epsilon: Real,
        delta: Real | None = None,
        analyst: str = OWNER,
        request: str | None = None,
    ) -> Release:
        """Answer a question in SQL."""
        return self.ask(
            read(text, self._registry.schema),
            epsilon=epsilon,
            delta=delta,
            analyst=analyst,
            request=request,
        )

    def table(self, name: str, *, analyst: str = OWNER) -> From:
        """Begin a question in Python."""
        found = self._registry.tables.get(name)
        if found is None or not isinstance(found.table, Table):
            private = [n for n, one in self._registry.tables.items() if one.dataset]
            raise _unknown("table", name, private)
        return From(Scan(found.table), ask=partial(self.ask, analyst=analyst))

    def ask(
        self,
        query: Query,
        *,
        epsilon: Real,
        delta: Real | None = None,
        analyst: str = OWNER,
        request: str | None = None,
    ) -> Release:
        """Answer a plan: charge it durably, compute it, store it; or find the stored answer."""
        order = self._order(query, epsilon, delta, analyst, request)
        self._check_data(order.dataset)
        receipt = self._ledger.wait(order, timeout=_WAIT)
        if receipt.state is State.RELEASED:
            assert receipt.release is not None  # noqa: S101 - narrowing: it is released
            return Release.from_bytes(receipt.release)
        return self._finish(receipt)

    def explain(
        self, text: str, *, epsilon: Real, delta: Real | None = None, analyst: str = OWNER
    ) -> Explanation:
        """What a question would cost and how wrong its answer would be; touches no data."""
        query = read(text, self._registry.schema)
        dataset = self._dataset_of(query)
        price = self._price(dataset, epsilon, delta)
        law = self._law(self._ledger.touched(dataset, analyst), price)
        return explain(query, DuckDBEngine.dialect, price, self._neighbours, (law,))

    def budget(self, dataset: str, *, analyst: str | None = None) -> Account:
        """What a dataset, or an analyst within it, may spend, has spent, and has left."""
        if analyst is None:
            return self._ledger.account(accounts.dataset(dataset))
        return self._ledger.account(accounts.analyst(analyst, within=dataset))

    def recover(self) -> int:
        """Finish what a crash interrupted, under the charges that were made; how many."""
        receipts = self._ledger.recover(patience=0)
        for receipt in receipts:
            self._finish(receipt)
        return len(receipts)

    def close(self) -> None:
        """Let go of files; what was charged stays."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- the one path ---------------------------------------------------------------------------

    def _order(
        self, query: Query, epsilon: Real, delta: Real | None, analyst: str, request: str | None
    ) -> Order:
        """Price a question from public facts."""
        dataset = self._dataset_of(query)
        price = self._price(dataset, epsilon, delta)
        touched = self._ledger.touched(dataset, analyst)
        law = self._law(touched, price)
        parts = quote(query, price, law, DuckDBEngine.dialect, self._neighbours)
        prices = {
            account.measure: _total([price_in(part, account.measure) for part in parts])
            for account in touched
        }
        plan = {
            "query": canonical.write(query),
            "epsilon": str(price.epsilon),
            "delta": str(price.delta),
            "law": law.value,
            "neighbours": self._neighbours.value,
        }
        return Order(
            analyst,
            dataset,
            self._registry.version(dataset),
            json.dumps(plan, sort_keys=True),
            tuple(prices.values()),
            [part.to_dict() for part in parts],
            request,
        )

    def _finish(self, receipt: Receipt) -> Release:
        """Compute the answer of a charge and store it; the first one stored is the answer."""
        plan = json.loads(receipt.order.plan)
        query = canonical.read(plan["query"], self._registry.schema)
        price = Price(Fraction(plan["epsilon"]), Fraction(plan["delta"]))
        release = answer(
            query, self._open(), price, Neighbours(plan["neighbours"]), (Law(plan["law"]),)
        )
        return Release.from_bytes(self._ledger.complete(receipt, release.to_bytes()))

    def _price(self, dataset: str, epsilon: Real, delta: Real | None) -> Price:
        if delta is not None:
            return Price(epsilon, delta)
        cap = self._ledger.account(accounts.dataset(dataset)).limit
        return Price(epsilon, 0 if cap is None else cap.delta / _SHARE)

    @staticmethod
    def _law(touched: Iterable[Account], price: Price) -> Law:
        """Gaussian noise is cheaper in rho; epsilon can only pay for Laplace noise."""
        pure = any(account.measure == EPSILON for account in touched)
        return Law.LAPLACE if pure or not price.delta else Law.GAUSSIAN

    def _dataset_of(self, query: Query) -> str:
        found = {self._registry.tables[table.name].dataset for table in tables_of(query.relation)}
        if len(found) == 1 and (name := found.pop()):
            return name
        raise QueryRefused(
            "a question about several datasets",
            why="each has people and a budget of its own",
            fix="ask about one of them at a time",
            code="datasets",
        )

    def _check_data(self, dataset: str) -> None:
        for one in self._registry.tables.values():
            if one.dataset in {dataset, None} and one.table.name not in self._frames:
                registry.check_unchanged(one)

    # --- data -----------------------------------------------------------------------------------

    @property
    def _tables_file(self) -> Path:
        assert self._folder is not None  # noqa: S101 - narrowing: only folders have files
        return self._folder / "tables.json"

    def _open(self) -> DuckDBEngine:
        """An engine over all tables, made when first needed."""
        if self._engine is None:
            engine = DuckDBEngine()
            for name, one in self._registry.tables.items():
                engine.store(name, self._frames.get(name, one.source))
            engine.open(self._registry.schema)
            self._engine = engine
        return self._engine

    def _columns(
        self,
        name: str,
        source: Any,
        columns: Mapping[str, Bounds | Keys],
        required: set[str],
    ) -> dict[str, Any]:
        """Column types from the source's types and what the owner says; no value is read."""
        probe = DuckDBEngine()
        physical = probe.store(name, source)
        probe.close()
        for stated in (*columns, *required):
            if stated not in physical:
                raise _unknown("column", stated, list(physical))
        kinds = {column: stored_kind(kind) for column, kind in physical.items()}
        # Columns of kinds that questions do not know (lists, blobs) are left out.
        return {
            column: column_type(column, kind, columns.get(column), nullable=column not in required)
            for column, kind in kinds.items()
            if kind is not None
        }

    def _register(self, table: Table | PublicTable, source: Any, dataset: str | None) -> None:
        place, print_ = "memory", "memory"
        if isinstance(source, str | os.PathLike):
            path = Path(source).resolve()
            place, print_ = str(path), registry.fingerprint(path)
        elif self._folder is not None:
            path = self._keep(table.name, source)
            place, print_ = str(path), registry.fingerprint(path)
        else:
            self._frames[table.name] = source
        fresh = self._registry.with_table(Registration(table, place, print_, dataset))
        _ = fresh.schema  # refuses key paths that lead nowhere
        self._check_keys(fresh)
        if self._folder is not None:
            registry.save(fresh, self._tables_file)
        self._registry = fresh

    def _check_keys(self, fresh: Registry) -> None:
        """Open the data once: what cannot be read or is not unique is refused now."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None
        old, self._registry = self._registry, fresh
        try:
            self._open()
        finally:
            self._registry = old

    def _keep(self, name: str, source: Any) -> Path:
        """Copy a frame into the folder."""
        assert self._folder is not None  # noqa: S101 - narrowing
        data = self._folder / "data"
        data.mkdir(exist_ok=True)
        path = (data / f"{name}.parquet").resolve()
        DuckDBEngine.save(source, path)
        return path


@dataclass(frozen=True, slots=True)
class Desk:
    """An analyst's place at the curator: ask, explain, and see what is left."""

    curator: Curator
    analyst: str

    def sql(self, text: str, **price: Any) -> Release:
        """Answer a question in SQL."""
        return self.curator.sql(text, analyst=self.analyst, **price)

    def explain(self, text: str, **price: Any) -> Explanation:
        """What a question would cost; touches no data."""
        return self.curator.explain(text, analyst=self.analyst, **price)

    def table(self, name: str) -> From:
        """Begin a question in Python."""
        return self.curator.table(name, analyst=self.analyst)

    def budget(self, dataset: str) -> Account:
        """What this analyst may spend, has spent, and has left."""
        return self.curator.budget(dataset, analyst=self.analyst)


def _total(prices: list[Charge]) -> Charge:
    """The sum of prices in one measure."""
    first = prices[0]
    return Charge(
        sum((price.amount for price in prices), Fraction(0)),
        sum((price.delta for price in prices), Fraction(0)),
        measure=first.measure,
        neighbours=first.neighbours,
    )


def _unknown(what: str, name: str, known: list[str]) -> InputError:
    return InputError(
        f"there is no {what} {name}",
        why=f"known are: {', '.join(known) or 'none yet'}",
        fix="name one of these",
    )
