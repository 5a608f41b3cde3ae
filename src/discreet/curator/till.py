"""Where a question is paid for and answered: the one path from a price to a release.

offer (public facts alone) -> charge (durable) -> engine -> noise -> release (stored)
"""

import json
import time
from collections.abc import Iterable
from fractions import Fraction

from discreet.answer.answer import answer
from discreet.answer.budget import Price
from discreet.answer.limits import Law
from discreet.answer.release import Release
from discreet.curator import registry
from discreet.curator.holdings import Holdings, check_people
from discreet.curator.ledger import Ledger
from discreet.curator.orders import Receipt, State
from discreet.curator.pricing import Counter, Offer, Terms, make_offer, tables_named
from discreet.curator.registry import Registration
from discreet.errors import (
    DiscreetError,
    EngineError,
    InvariantBroken,
    LedgerError,
    QueryRefused,
)
from discreet.plan import canonical
from discreet.plan.query import Query
from discreet.plan.relations import tables_of
from discreet.privacy import Neighbours

_WAIT = 600.0


def _measured(
    query: Query, data: Holdings, price: Price, about: Neighbours, laws: tuple[Law, ...]
) -> Release:
    """An answer; what nobody foresaw is told in words that are the same for all data."""
    try:
        return answer(query, data.open(), price, about, laws)
    except (EngineError, InvariantBroken, LedgerError) as wrong:
        known: DiscreetError = wrong
    except Exception:  # noqa: BLE001 - its class and text may depend on data
        known = InvariantBroken(
            "an answer could not be finished",
            why="it came to something that it is not made for, and nothing was released",
            fix="tell whoever runs this; the charge stays, and asking again is free",
        )
    # Raised here and not there, it carries no error of the engine along, which may quote data.
    known.__context__ = known.__cause__ = None
    raise known


def _unsaid(table: str) -> LedgerError:
    return LedgerError(
        f"what is said about {table} is not what the ledger has",
        why="answers rest on what was said, and on which data, when it was added",
        fix="put back tables.json from an intact copy",
    )


class Till:
    """Prices, charges and answers questions, in this order.

    Guarantee:
        Data is read after the charge that pays for it is durable, and from the version it was made
        for. Of each charge one answer is stored, and nobody ever sees another.
    Edge cases:
        What fails after a charge stays charged; the next to ask the same finishes it for nothing.
    """

    def __init__(self, ledger: Ledger, holdings: Holdings, neighbours: Neighbours) -> None:
        self._ledger = ledger
        self._holdings = holdings
        self._neighbours = neighbours
        self._failed: set[int] = set()
        self._looked = False
        self._proved: dict[str, object] = {}
        self.quantum = 0.0
        """Where there is one, recovery stores answers so many seconds apart, or a multiple."""

    def offer(self, query: Query, terms: Terms, analyst: str) -> Offer:
        """Price a question, from public facts."""
        dataset = self._dataset_of(query)
        tables = self._holdings.tables
        for one in tables_of(query.relation):  # they may have been added before this was refused
            check_people(tables, tables.tables[one.name])
        touched = self._ledger.touched(dataset, analyst)
        used = self._holdings.check(tables_named(canonical.write(query)))
        self.check_said(used)
        at = Counter(analyst, dataset, registry.version(used), touched, self._neighbours)
        return make_offer(query, terms, at)

    def check_said(self, used: Iterable[Registration]) -> None:
        """Refuse tables that are not what the ledger says was added."""
        for one in used:
            if self._proved.get(one.table.name) is not one.table:
                entry = self._ledger.added(one.table.name, at=one.entry)
                if entry is None or entry.facts != one.said:
                    raise _unsaid(one.table.name)
                self._proved[one.table.name] = one.table

    def answer(self, offer: Offer, request: str | None = None, asked: str | None = None) -> Release:
        """Charge a question durably, compute it, store it; or find the stored answer."""
        return self.collect(self.charge(offer, request, asked))

    def charge(self, offer: Offer, request: str | None = None, asked: str | None = None) -> Receipt:
        """Charge a question durably; no data is touched yet."""
        if not self._looked:
            self._looked = True
            self.recover()
        return self._ledger.charge(offer.order(request, asked))

    def collect(self, receipt: Receipt) -> Release:
        """The answer of a charge: stored, computed by another, or computed here."""
        if receipt.state is State.PENDING and not self.is_mine(receipt):
            receipt = self._ledger.wait(receipt.order, timeout=_WAIT)
        if receipt.state is State.RELEASED:
            assert receipt.release is not None  # noqa: S101 - narrowing: it is released
            return Release.from_bytes(receipt.release)
        return self.finish(receipt)

    def recover(self, *, patience: float | None = None) -> int:
        """Finish charges whose worker is gone; how many could be finished."""
        done = 0
        for receipt in self._ledger.recover(patience=patience):
            began = time.monotonic()
            try:
                release = self.compute(receipt)
                self._settle(began)
                self.store(receipt, release)
                done += 1
            except DiscreetError:
                self._failed.add(receipt.sequence)
        return done

    def _settle(self, began: float) -> None:
        """Wait, so that when an answer is stored does not tell how long it took to compute."""
        if self.quantum:
            time.sleep(-(time.monotonic() - began) % self.quantum)

    def is_mine(self, receipt: Receipt) -> bool:
        """Whether computing a charge is this process's turn, for the first time or again."""
        return receipt.state is State.CHARGED or (
            receipt.state is State.PENDING and receipt.sequence in self._failed
        )

    def finish(self, receipt: Receipt) -> Release:
        """Compute the answer of a charge and store it; the first one stored is the answer."""
        return self.store(receipt, self.compute(receipt))

    def compute(self, receipt: Receipt) -> Release:
        """An answer to a charge, which is nobody's to see before it is stored."""
        try:
            release = self._compute(receipt)
        except BaseException:
            # It is still this worker's to finish: the next to ask here need not wait.
            self._failed.add(receipt.sequence)
            raise
        self._failed.discard(receipt.sequence)
        return release

    def store(self, receipt: Receipt, release: Release) -> Release:
        """Store an answer; what comes back is the first that was stored."""
        return Release.from_bytes(self._ledger.complete(receipt, release.to_bytes()))

    def _compute(self, receipt: Receipt) -> Release:
        plan = json.loads(receipt.order.plan)
        self._check_version(receipt, plan["query"])
        query = canonical.read(plan["query"], self._holdings.schema)
        price = Price(Fraction(plan["epsilon"]), Fraction(plan["delta"]))
        about, laws = Neighbours(plan["neighbours"]), (Law(plan["law"]),)
        release = _measured(query, self._holdings, price, about, laws)
        self._check_version(receipt, plan["query"])  # nobody swapped a file meanwhile
        return release

    def _check_version(self, receipt: Receipt, plan: str) -> None:
        used = self._holdings.check(tables_named(plan))
        if registry.version(used) != receipt.order.version:
            raise LedgerError(
                f"charge {receipt.sequence} was made for another version of the data",
                why="an answer is computed from the data it was charged for",
                fix="put that version of the data back",
            )

    def _dataset_of(self, query: Query) -> str:
        tables = self._holdings.tables.tables
        found = {tables[table.name].dataset for table in tables_of(query.relation)}
        if len(found) == 1 and (name := found.pop()):
            return name
        raise QueryRefused(
            "a question about several datasets",
            why="each has people and a budget of its own",
            fix="ask about one of them at a time",
            code="datasets",
        )
