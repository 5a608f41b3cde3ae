"""Many charges, one sync: threads that arrive while a transaction is being synced share the next.

Nobody is told before the shared transaction is durable. There is no thread of its own: whoever
gets the lock does the work of all who wait.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from discreet.curator.orders import Order
from discreet.curator.schema import Execute
from discreet.curator.sheet import Sheet
from discreet.curator.store import Refused, Store
from discreet.curator.transaction import Transaction
from discreet.curator.witness import Sighting, Witness
from discreet.errors import DiscreetError, LedgerError

T = TypeVar("T")

MOST: Final = 256
"""Operations in one transaction."""

LINGER: Final = 0.002
"""Seconds to wait for company, half of what a sync takes."""


class _Job(Generic[T]):
    """One operation, the order it is about, if any, and what came of it."""

    def __init__(self, work: Callable[[Transaction, Sheet], T], order: Order | None) -> None:
        self._work = work
        self.order = order
        self._answer: T
        self._error: BaseException | None = None
        self.done = False

    def attempt(self, transaction: Transaction, sheet: Sheet) -> None:
        """Run in a shared transaction; a refusal must not leave half of the work behind."""
        before, self._error = transaction.writes, None
        try:
            self._answer = self._work(transaction, sheet)
        except DiscreetError as refusal:
            if transaction.writes > before:
                raise Refused from refusal
            self._error = refusal

    def fail(self, error: BaseException) -> None:
        """Settle with an error, unless it is settled."""
        if not self.done:
            self._error, self.done = error, True

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._answer


class Committer:
    """Runs operations durably, those of waiting threads together.

    Guarantee:
        An operation that returned is on disk, and so is everything it read; the witness has seen
        it. An operation that raised anything but LedgerError changed nothing.
    """

    def __init__(self, store: Store, witness: Witness | None) -> None:
        self._store = store
        self._witness = witness
        self._renew()

    def _renew(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._queue: deque[_Job[Any]] = deque()
        self._crowd = 1

    def submit(self, work: Callable[[Transaction, Sheet], T], order: Order | None = None) -> T:
        """Run one operation together with others; returns when it is durable.

        The sheet has what `order` needs. Other operations that share the transaction read no
        accounts: what reads or changes them without an order has to `submit_alone`.
        """
        if self._pid != os.getpid():
            self._renew()  # the parent's lock and queue are not ours
        job = _Job(work, order)
        self._queue.append(job)
        with self._lock:
            while not job.done:
                self._gather()
                self._run([self._queue.popleft() for _ in range(min(MOST, len(self._queue)))])
        return job.result()

    def submit_alone(self, work: Callable[[Transaction], T]) -> T:
        """Run one operation in a transaction of its own."""
        if self._pid != os.getpid():
            self._renew()
        job = _Job(lambda transaction, _: work(transaction), None)
        with self._lock:
            self._run([job])
        return job.result()

    def _gather(self) -> None:
        """Wait a moment for as many as came last time, who were told just now and may come again.

        Why: otherwise the first to return goes alone and the others wait for a sync of their own.
        """
        end = time.monotonic() + LINGER
        while len(self._queue) < min(MOST, self._crowd) and time.monotonic() < end:
            time.sleep(LINGER / 10)
        self._crowd = len(self._queue)

    def _run(self, jobs: Sequence[_Job[Any]]) -> None:
        try:
            try:
                self._together(jobs)
            except Refused as refusal:
                self._apart(jobs, refusal)
        except BaseException as error:
            for job in jobs:
                job.fail(_same(error))
            if not isinstance(error, DiscreetError):
                raise
        for job in jobs:
            job.done = True

    def _apart(self, jobs: Sequence[_Job[Any]], refusal: Refused) -> None:
        """One of them broke a rule of the database: the others must not suffer."""
        if len(jobs) > 1:
            for job in jobs:
                self._run([job])
        elif isinstance(refusal.__cause__, DiscreetError):
            jobs[0].fail(refusal.__cause__)
        else:
            jobs[0].fail(_inconsistent())

    def _together(self, jobs: Sequence[_Job[Any]]) -> None:
        seen = None if self._witness is None else self._witness.read()

        def work(execute: Execute) -> tuple[Sighting, int]:
            transaction = Transaction(execute)
            transaction.check(seen)
            sheet = Sheet(transaction)
            sheet.read([job.order for job in jobs if job.order is not None])
            for job in jobs:
                job.attempt(transaction, sheet)
            sheet.write_back()
            transaction.finish()
            return transaction.sighting, transaction.writes

        sighting, writes = self._store.transact(work)
        if self._witness is not None and writes:
            self._witness.advance(sighting)


def _same(error: BaseException) -> BaseException:
    """The error for all who shared the transaction."""
    if isinstance(error, DiscreetError):
        return error
    return LedgerError(
        "the transaction was interrupted",
        why="another thread that shared it was stopped",
        fix="ask again: a charge that was made is found, not made twice",
    )


def _inconsistent() -> LedgerError:
    return LedgerError(
        "the database refused a change",
        why="it would have broken a rule of the ledger",
        fix="run `discreet ledger verify`",
    )
