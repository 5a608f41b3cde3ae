"""Charge an order and answer it: the one path from a price to a release.

offer (public facts) -> charge (durable) -> measure (noisy, stored) -> present -> release (stored)
"""

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from discreet.answer.present.base_release import BaseRelease
from discreet.answer.present.release import Release
from discreet.curator.data import registry
from discreet.curator.data.data_store import DataStore
from discreet.curator.data.registry import Registration, Registry
from discreet.curator.data.table_checks import check_people
from discreet.curator.ledger.charging import ended, final_failure
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Order, Receipt, State
from discreet.curator.ledger.stepping import step_failure
from discreet.curator.orders.order_kinds import kind_of
from discreet.curator.orders.planned_orders import Offer, PlannedOrder, QuoteContext, UnpricedOrder
from discreet.curator.people.populations import Populations
from discreet.engines.timing import AT_ONCE, ReleaseSchedule
from discreet.errors import (
    DiscreetError,
    EngineError,
    InputError,
    InvariantBroken,
    LedgerError,
    QueryRefused,
    ServiceError,
)
from discreet.privacy import Neighbours

if TYPE_CHECKING:
    from discreet.curator.people.person_accounts import PersonAccounts
    from discreet.engines.engine import Engine
    from discreet.engines.timing import Deadline

P = TypeVar("P", bound=PlannedOrder)
T = TypeVar("T")

_WAIT = 600.0
_LOG = logging.getLogger("discreet")


@lru_cache(64)  # plans may be large, and are read thrice, one soon after the other
def _planned(tables: Registry, order: Order, _: int) -> PlannedOrder:
    """Read the plan of a charge against the tables as they are described."""
    return kind_of(order).read(order, tables.schema)


@lru_cache(256)
def _check_people(tables: Registry, name: str) -> None:
    """Refuse a table that was added before its people were checked."""
    check_people(tables, tables.tables[name])


def _check_planned(receipt: Receipt, planned: PlannedOrder) -> None:
    """Refuse a charge that would be measured otherwise than it was charged for.

    Why: another version of the package may have made the charge, and planned it otherwise.
    """
    parts = [part.to_dict() for part in planned.guarantees]
    prices = [planned.charge(price.measure) for price in receipt.order.prices]
    if parts != list(receipt.order.measurements) or prices != list(receipt.order.prices):
        raise LedgerError(
            f"charge {receipt.sequence} was planned by another version of this package",
            why="it would be measured with guarantees that were not charged",
            fix="finish it with the version that made the charge, or ask the question for another "
            "epsilon, which is another charge",
        )


def _is_planned_alike(charged: Order, asked: Order) -> bool:
    """Whether a charge is for this very plan; a worker that is gone may have made it otherwise."""
    one, other = ((o.plan, o.prices, list(o.measurements), o.decisions) for o in (charged, asked))
    return one == other


def _version_asked(asked: int | None, newest: int, dataset: str) -> int:
    if asked is None or asked <= newest:
        return asked or newest
    raise InputError(
        f"{dataset} as of version {asked}",
        why=f"its newest version is {newest}",
        fix=f"ask about version {newest} or an earlier one",
    )


class AnswerService:
    """Prices, charges and answers orders of any kind, in this order.

    Guarantee:
        Data is read after the charge that pays for it is durable, and from the version it was made
        for. Noisy measurements are stored before anything is computed from them, and the answer is
        a function of what is stored: no charge buys a second draw.
    Edge cases:
        A failure while data is read is final, and looks the same for all data. What fails later is
        tried again by the next to ask, from the same measurements. A crash, or a lost server,
        before they were stored revealed nothing: the next to ask measures again.
    """

    def __init__(self, ledger: Ledger, data_store: DataStore, neighbours: Neighbours) -> None:
        self._ledger = ledger
        self._data_store = data_store
        self._neighbours = neighbours
        self._unfinished: set[int] = set()
        self._looked = False
        self._proved: dict[str, tuple[object, list[str]]] = {}
        self._running: dict[int, Deadline | None] = {}
        self._plans: dict[int, PlannedOrder] = {}
        self._ended: set[int] = set()
        self.people = Populations(ledger, data_store)
        self.schedule_of: Callable[[str], ReleaseSchedule] = lambda _: AT_ONCE
        """The schedule of a caller: of recovery, and of later steps that they ask for."""

    @property
    def has_schedule(self) -> bool:
        """Whether what is read is known at fixed moments."""
        return self.schedule_of("") is not AT_ONCE

    def offer(self, unpriced: UnpricedOrder[P], analyst: str) -> Offer[P]:
        """Price an order, from public facts."""
        names = sorted(unpriced.tables)
        dataset, tables = self._dataset_of(names), self._data_store.tables
        for name in names:
            _check_people(tables, name)
        book = unpriced.workbook
        touched, retired = self._ledger.standing(dataset, analyst, book)  # files may be gone then
        number = _version_asked(unpriced.as_of, tables.data_version(dataset), dataset)
        used = self._data_store.check(names, number, files=not retired)
        if any(one.is_per_person for one in touched):
            self.people.check(dataset, used, by_person=unpriced.by_person)
        self.check_said(used)
        self._check_work(unpriced, self.schedule_of(analyst).longest)
        version, dialect = registry.version(used), self._data_store.dialect(used)
        about = analyst, dataset, version, touched, self._neighbours
        at = QuoteContext(*about, number, dialect, book)
        offer = Offer(unpriced.plan(at), at, unpriced.asked)
        if retired and self._ledger.find_question(offer.order()) is None:
            raise ended(dataset)
        return offer

    def _check_work(self, unpriced: UnpricedOrder[PlannedOrder], longest: float) -> None:
        """Refuse an order that could take longer than anybody waits for an answer."""
        work = unpriced.work(self._data_store.bound_work)
        if work.seconds > longest:
            raise QueryRefused(
                f"{work.costliest} could take {math.ceil(work.seconds):,} seconds",
                why=f"an answer is computed within {longest:g} seconds or not at all",
                fix="ask about fewer rows or groups at a time, or ask the owner of the data for "
                "lower public bounds on its tables",
                code="expensive",
            )

    def check_said(self, used: Iterable[Registration]) -> None:
        """Refuse tables that are not what the ledger says was added."""
        for one in used:
            name, digests = one.table.name, [part.digest for part in one.files]
            table, known = self._proved.get(name, (None, []))
            if table is not one.table or known[: len(digests)] != digests:
                self._prove(one)
                self._proved[name] = one.table, digests

    def _prove(self, one: Registration) -> None:
        """Refuse a table that is not what the ledger says was added, or a part not appended."""
        entry = self._ledger.added(one.table.name, at=one.entry)
        known = {each.sequence: each.facts for each in self._ledger.appended(one.table.name)}
        parts = (one.part_said(p).items() <= known.get(p.entry, {}).items() for p in one.parts)
        if entry is None or not one.is_said(entry.facts) or not all(parts):
            raise LedgerError(
                f"what is said about {one.table.name} is not what the ledger has",
                why="answers rest on what was said, and on which data, when it was added",
                fix="put back tables.json from an intact copy",
            )

    def answer(self, offer: Offer[PlannedOrder], request: str | None = None) -> BaseRelease:
        """Charge an order durably, compute it, store it; or find the stored answer."""
        return self.collect(self.charge(offer, request))

    def charge(self, offer: Offer[PlannedOrder], request: str | None = None) -> Receipt:
        """Charge an order durably; no data is touched yet."""
        if not self._looked and not self.has_schedule:  # where others wait: see set_schedule
            self._looked = True
            self.recover()
        order = offer.order(request)
        receipt = self._ledger.charge(order)
        if receipt.state is State.CHARGED and _is_planned_alike(receipt.order, order):
            self._plans[receipt.sequence] = offer.planned
        return receipt

    def collect(self, receipt: Receipt) -> BaseRelease:
        """The answer of a charge: stored, computed by another, or computed here."""
        if receipt.state is State.PENDING and not self.is_mine(receipt):
            receipt = self._ledger.wait(receipt.order, timeout=_WAIT)
        return self.finish(receipt)

    def recover(self, *, patience: float | None = None) -> int:
        """Finish charges whose worker is gone; how many could be finished."""
        done = 0
        with suppress(DiscreetError):
            self.people.catch_up()
        for receipt in self._ledger.recover(patience=patience):
            with suppress(DiscreetError):
                self.finish(receipt, self.schedule_of(receipt.order.analyst))
                done += 1
        return done

    def is_mine(self, receipt: Receipt) -> bool:
        """Whether computing a charge is this process's turn, for the first time or again."""
        return receipt.state is State.CHARGED or (
            receipt.state is State.PENDING and receipt.sequence in self._unfinished
        )

    def put_off(self, receipt: Receipt) -> None:
        """A charge is still this worker's to finish: the next to ask here need not wait."""
        self._unfinished.add(receipt.sequence)

    def finish(self, receipt: Receipt, schedule: ReleaseSchedule = AT_ONCE) -> BaseRelease:
        """Do what a charge still lacks (measure, store, present, store) and return its answer."""
        try:
            release = self._finish(receipt, schedule)
        except BaseException as wrong:
            self.put_off(receipt)
            wrong.__context__ = wrong.__cause__ = None  # an engine's error may quote data
            raise
        finally:
            self._plans.pop(receipt.sequence, None)
        self._unfinished.discard(receipt.sequence)
        self._ledger.draws.let_go(receipt.sequence, 0)
        return release

    def _finish(self, receipt: Receipt, schedule: ReleaseSchedule) -> BaseRelease:
        now = receipt
        if now.state in {State.CHARGED, State.PENDING} and now.measured is None:
            now = self._measured(now, schedule)
        if now.state is State.FAILED:
            self._ledger.draws.let_go(now.sequence, 0)
            raise final_failure()
        if now.release is not None:
            return kind_of(now.order).release_type.from_bytes(now.release)
        try:
            release = self._present(now)
        finally:
            schedule.settle()
        made = release.to_bytes()
        stored = self._ledger.complete(now, made)
        same = stored == made and isinstance(release, Release)  # all of which is in its bytes
        return release if same else kind_of(now.order).release_type.from_bytes(stored)

    def _measured(self, receipt: Receipt, schedule: ReleaseSchedule) -> Receipt:
        """Measure a charge and store what came of it, at a moment that was fixed before.

        What could not be stored, on a full disk for one, is held: the next to ask stores the same.
        """
        number, ledger = receipt.sequence, self._ledger
        if not ledger.may_measure(number, receipt.order):
            return replace(receipt, state=State.FAILED)  # it was cancelled while it waited
        measured = ledger.draws.draw(number, 0, lambda: [self._draw(receipt, schedule)])
        return ledger.fail(receipt) if measured is None else ledger.keep(receipt, measured)

    def _draw(self, receipt: Receipt, schedule: ReleaseSchedule) -> bytes | None:
        """Noisy measurements of a charge; None if measuring failed, which is final."""
        planned = self._planned(receipt)
        self._check_version(receipt, planned)
        if planned is not self._plans.get(receipt.sequence):
            _check_planned(receipt, planned)
        engine = self._open(receipt, planned)
        seconds = planned.seconds(self._data_store.bound_work)
        admitted: PersonAccounts | None = None
        if planned.participants:
            admitted = self.people.of(receipt.order.dataset)
            # Others' charges that come first are folded in within these steps: a public number.
            seconds *= 1 + admitted.behind(receipt.sequence)

        def measure(until: "Deadline | None") -> bytes:
            if admitted is None:
                return planned.measure(engine, until)
            people = admitted.admission(receipt.sequence, until)
            return planned.measure_admitted(engine, until, people)

        def unchanged() -> None:  # nobody swapped a file meanwhile
            self._check_version(receipt, planned)

        measured = self._timed(seconds, schedule, measure, unchanged, receipt.sequence)
        if measured is None:
            _LOG.error("charge %d failed while data was read; this is final", receipt.sequence)
        return measured

    def _timed(
        self,
        seconds: float,
        schedule: ReleaseSchedule,
        read: Callable[["Deadline | None"], T],
        unchanged: Callable[[], None] = lambda: None,
        cancellable: int = 0,
    ) -> T | None:
        """What `read` makes of data, at a moment that was fixed before; None if it failed.

        Whatever goes wrong once data is read may depend on data: it all ends in one way, and
        nothing of it is passed on. A server that broke off is ServiceError: nobody saw a draw.
        """
        began, steps = time.monotonic(), schedule.steps(seconds)
        until, found, lost = schedule.stop(began, steps), None, None
        if cancellable:
            self._running[cancellable] = until
        try:
            with suppress(Exception), schedule.engine(seconds):
                try:
                    found = read(until)
                except ServiceError as gone:
                    lost = gone
            overran = until is not None and time.monotonic() > until.moment
            if lost is None:
                unchanged()
        finally:
            # It can be cancelled as long as nothing is stored, and looks the same all that time.
            schedule.hold(began, steps, until)
            self._running.pop(cancellable, None)
        if lost is not None and not overran:
            lost.__context__ = lost.__cause__ = None  # an engine's error may quote data
            raise lost
        return None if overran else found

    @contextmanager
    def later_step(self, receipt: Receipt, by: str) -> Iterator[None]:
        """Compute a later step of a released charge inside, in turn with all questions.

        `by` asks for it; the analyst of the charge answers for it if NOBODY does. It waits here:
        enter before any lock that others need, and before the charge is held.
        """
        with self.schedule_of(by).turn(self.bound_seconds(receipt)):
            self._ledger.check_failures(by or receipt.order.analyst, receipt.order.dataset)
            yield

    def read_on(self, receipt: Receipt, by: str, read: Callable[["Deadline | None"], T]) -> T:
        """Read data for a `later_step`, as steadily as for the first, on the schedule of who asks.

        `read` goes from data to the noise that is stored, or to what is kept in memory. If it fails
        nothing is read for this charge again, until an owner has looked.
        """
        if receipt.sequence not in self._ended:
            with self._ledger.keep_turn(receipt.sequence):
                found = self._timed(self.bound_seconds(receipt), self.schedule_of(by), read)
            if found is not None:
                return found
        raise self.end_steps(receipt, by)

    def end_steps(self, receipt: Receipt, by: str) -> EngineError:
        """Store that a later step failed; the error to raise, the same for all data."""
        _LOG.error("a later step of charge %d failed while data was read", receipt.sequence)
        self._ended.add(receipt.sequence)  # for good, though it may not be stored on a full disk
        self._ledger.fail_step(receipt.sequence, by=by)
        self._ended.discard(receipt.sequence)
        return step_failure()

    def cancel(self, receipt: Receipt, *, by: str, for_all: bool = True) -> None:
        """Give up a charge whose measurements are not stored, for ever; the charge stays.

        Whether it still can be cancelled follows from its step, which no data moves. Unless it is
        `for_all`, it continues if others have asked for it since, and the caller is not told so.
        """
        now = self._ledger.cancel(receipt, by=by, for_all=for_all)
        if now.state is State.PENDING:
            return
        if now.state is not State.FAILED:
            raise InputError(
                f"question {receipt.sequence} is answered already",
                why="its measurements are stored",
                fix="read its answer: it is charged and free to read",
            )
        self._stop(receipt.sequence)

    def stop_cancelled(self) -> None:
        """Stop what is computed here and was cancelled through another worker."""
        for sequence in self._ledger.failed(tuple(self._running)):
            self._stop(sequence)

    def _stop(self, sequence: int) -> None:
        until = self._running.get(sequence)
        if until is not None and until.cancelled is None:
            until.cancel()

    def bound_seconds(self, receipt: Receipt) -> float:
        """Upper bound on the time to compute a charge, from public bounds."""
        return self._planned(receipt).seconds(self._data_store.bound_work)

    def _present(self, receipt: Receipt) -> BaseRelease:
        """The answer that stored measurements make, always the same; reads no data."""
        planned = self._planned(receipt)
        with suppress(Exception):
            assert receipt.measured is not None  # noqa: S101 - narrowing: it was kept
            order, release = receipt.order, planned.present(receipt.measured)
            return release.on_version(order.dataset, order.data_version)
        raise InvariantBroken(
            "an answer could not be computed from what was measured",
            why="it met an unexpected error, and nothing was released",
            fix="tell whoever runs this; the charge stays, and a later version may finish it",
        )

    def _planned(self, receipt: Receipt) -> PlannedOrder:
        """The plan that was charged here, or else read from the ledger."""
        if receipt.sequence in self._plans:
            return self._plans[receipt.sequence]
        return _planned(self._data_store.tables, receipt.order, receipt.sequence)

    def released(self, charge: int, kind: str, what: str, fix: str) -> Receipt:
        """The receipt of an answered charge that continues in steps; InputError for any other."""
        found = self._ledger.find(charge)
        if found is not None and found.order.kind == kind and found.answered is not None:
            return Receipt(charge, found.order, State.RELEASED)
        raise InputError(
            f"charge {charge} is no {what}",
            why="there is none of this number, or it is an order of another kind",
            fix=fix,
        )

    def reread(self, receipt: Receipt) -> PlannedOrder:
        """The plan of a charge to continue."""
        planned = self._planned(receipt)
        if not self._ledger.retired(receipt.order.dataset):
            self._check_version(receipt, planned)
        _check_planned(receipt, planned)
        return planned

    def reopen(self, receipt: Receipt) -> tuple[PlannedOrder, "Engine"]:
        """The plan of a charge to continue, and an engine with its data."""
        if self._ledger.retired(receipt.order.dataset):
            raise ended(receipt.order.dataset)
        planned = self.reread(receipt)
        return planned, self._open(receipt, planned)

    def _open(self, receipt: Receipt, planned: PlannedOrder) -> "Engine":
        """An engine with the data that a charge was made for."""
        order = receipt.order
        return self._data_store.open_at(planned.tables, order.dataset, order.data_version)

    def check_data(self, names: Sequence[str]) -> None:
        """Refuse tables whose newest data is not what the ledger says was added and appended."""
        self.check_said(self._data_store.check(names))

    def _check_version(self, receipt: Receipt, planned: PlannedOrder) -> None:
        used = self._data_store.check(planned.tables, receipt.order.data_version)
        if registry.version(used) != receipt.order.version:
            raise LedgerError(
                f"charge {receipt.sequence} was made for another version of the data",
                why="an answer is computed from the data it was charged for",
                fix="put that version of the data back",
            )

    def _dataset_of(self, names: Iterable[str]) -> str:
        tables = self._data_store.tables.tables
        found = {tables[name].dataset for name in names} - {None}
        if len(found) == 1 and (name := found.pop()):
            return name
        raise QueryRefused(
            "a question about several datasets",
            why="each has people and a budget of its own",
            fix="ask about one of them at a time; tables about the same people belong in one"
            " dataset, which their owner names with dataset= when adding them",
            code="datasets",
        )
