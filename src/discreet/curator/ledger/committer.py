"""Many charges, one sync: threads that arrive while a transaction is being synced share the next.

Nobody is told before the shared transaction is durable. There is no thread of its own: one
of those who wait does the work of all.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from discreet.curator.fork_safety import FORKS
from discreet.curator.ledger.account_cache import AccountCache, needed
from discreet.curator.ledger.account_tree import FollowedAccounts
from discreet.curator.ledger.entries import Entry
from discreet.curator.ledger.migrations import Execute, Statement
from discreet.curator.ledger.orders import Order
from discreet.curator.ledger.remote_witness import RemoteWitness
from discreet.curator.ledger.store import PATIENCE, LedgerStore, Refused, too_busy
from discreet.curator.ledger.transaction import Transaction, entry_seen
from discreet.curator.ledger.witness import Sighting, Witness
from discreet.errors import DiscreetError, LedgerError

T = TypeVar("T")

MOST: Final = 256
"""Operations in one transaction."""

LINGER: Final = 0.002
"""Seconds to wait for company, half of what a sync takes."""

STALL: Final = 1.0
"""Seconds after which somebody who waits looks whether the lead was lost."""


class _Job(Generic[T]):
    """One operation, the order it is about, if any, what it reads, and what came of it."""

    def __init__(
        self,
        work: Callable[[Transaction, AccountCache], T],
        order: Order | None,
        *,
        alone: bool,
        ahead: Sequence[Statement] = (),
    ) -> None:
        self._work = work
        self.ahead = ahead
        self._answer: T
        self._error: BaseException | None = None
        self.order = order
        self.alone = alone
        self.done = False
        self.called = threading.Event()
        self.until = time.monotonic() + PATIENCE

    def attempt(self, transaction: Transaction, cache: AccountCache) -> None:
        """Run in a shared transaction; a refusal must not leave half of the work behind."""
        before, self._error = transaction.writes, None
        try:
            self._answer = self._work(transaction, cache)
        except DiscreetError as refusal:
            if transaction.writes > before:
                raise Refused from refusal
            self._error = refusal

    def settle(self, error: BaseException | None = None) -> None:
        """Tell the one who waits, once."""
        if not self.done:
            self._error = self._error if error is None else error
            self.done = True
            self.called.set()

    def result(self) -> T:
        """The result of the transaction."""
        if self._error is not None:
            raise self._error
        return self._answer


class Committer:
    """Runs operations durably, those of waiting threads together.

    Guarantee:
        An operation that returned is on disk, and so is everything it read; the witness has seen
        it. An operation that raised anything but LedgerError changed nothing.
    """

    def __init__(
        self, store: LedgerStore, witness: Witness | None, elsewhere: RemoteWitness | None = None
    ) -> None:
        self._store = store
        self._witness = witness
        self._elsewhere = elsewhere
        self.renew()
        FORKS.renew_in_child(self)

    def renew(self) -> None:
        """Begin with an empty queue; that of a parent is not a forked child's."""
        self._arrival = threading.Condition()
        self._queue: deque[_Job[Any]] = deque()
        self._leader: _Job[Any] | None = None
        self._crowd = 1
        self._accounts = FollowedAccounts()

    def submit(
        self,
        work: Callable[[Transaction, AccountCache], T],
        order: Order | None = None,
        *,
        ahead: Sequence[Statement] = (),
    ) -> T:
        """Run one operation together with others; returns when it is durable.

        The cache has what `order` needs. Other operations that share the transaction read no
        accounts: what reads or changes them without an order has to `submit_alone`. What it is
        known to read is fetched `ahead`, with what the others read.
        """
        return self._submit(_Job(work, order, alone=False, ahead=ahead))

    def submit_alone(self, work: Callable[[Transaction], T]) -> T:
        """Run one operation in a transaction of its own."""
        return self._submit(_Job(lambda transaction, _: work(transaction), None, alone=True))

    def has_signed(self, entry: Entry) -> bool:
        """Whether a witness elsewhere, if there is one, has signed an entry."""
        return self._elsewhere is None or self._elsewhere.has_signed(entry.head)

    def have_signed(self, entry: Entry) -> None:
        """Have an entry signed by the witness elsewhere, if there is one, before it is told of."""
        if self._elsewhere is not None:
            self._elsewhere.advance(self._store, entry.head)

    def _submit(self, job: _Job[T]) -> T:
        try:
            self._enter(job)
            while not job.done:
                if self._leads(job):
                    self._lead()
                else:
                    self._wait(job)
        finally:
            self._leave(job)
        return job.result()

    def _enter(self, job: _Job[Any]) -> None:
        """Queue up; whoever comes to an empty house does the work of all until its own is done."""
        with self._arrival:
            self._queue.append(job)
            if self._leader is None or self._leader.done:
                self._leader = job
            self._arrival.notify_all()

    def _leads(self, job: _Job[Any]) -> bool:
        with self._arrival:
            return self._leader is job and job in self._queue

    def _wait(self, job: _Job[Any]) -> None:
        """Wait to be told, or to be given the lead; one that was lost is taken.

        Why: an exception may strike between a leader's last batch and its leaving. Two leaders at a
        time are slower and do no harm: the store keeps their transactions apart.
        """
        if job.called.wait(STALL):
            job.called.clear()
            return
        with self._arrival:
            if job in self._queue:
                self._leader = job
        if time.monotonic() > job.until + STALL:
            raise too_busy("another thread that shares the transaction does not end it")

    def _leave(self, job: _Job[Any]) -> None:
        """Hand the lead to the next in the queue, also when interrupted."""
        with self._arrival:
            if job in self._queue:
                self._queue.remove(job)
            if self._leader is job:
                self._leader = self._queue[0] if self._queue else None
                if self._leader is not None:
                    self._leader.called.set()

    def _lead(self) -> None:
        """Do the work of those who wait."""
        jobs: list[_Job[Any]] = []
        try:
            self._gather(jobs)
            self._run(jobs)
        except BaseException as error:
            for job in jobs:
                job.settle(_same(error))
            raise

    def _gather(self, jobs: list[_Job[Any]]) -> None:
        """Collect a group commit: wait briefly for as many writers as last time.

        Why: otherwise the first to return goes alone and the others wait for a sync of their own.
        """
        with self._arrival:
            wanted = min(MOST, self._crowd)
            self._arrival.wait_for(lambda: len(self._queue) >= wanted, timeout=LINGER)
            self._crowd = len(self._queue)
            while self._queue and len(jobs) < MOST:
                if jobs and (jobs[0].alone or self._queue[0].alone):
                    return
                jobs.append(self._queue[0])  # before it leaves the queue: nobody is forgotten
                self._queue.popleft()

    def _run(self, jobs: Sequence[_Job[Any]]) -> None:
        try:
            try:
                self._together(jobs)
            except Refused as refusal:
                self._apart(jobs, refusal)
        except DiscreetError as error:
            for job in jobs:
                job.settle(error)
        for job in jobs:
            job.settle()

    def _apart(self, jobs: Sequence[_Job[Any]], refusal: Refused) -> None:
        """One of them broke a rule of the database: the others must not suffer."""
        if len(jobs) > 1:
            for job in jobs:
                self._run([job])
        elif isinstance(refusal.__cause__, DiscreetError):
            jobs[0].settle(refusal.__cause__)
        else:
            broken = LedgerError(
                "the database refused a change",
                why="it would have broken a rule of the ledger",
                fix="run `discreet ledger verify`",
            )
            jobs[0].settle(broken)

    def _together(self, jobs: Sequence[_Job[Any]]) -> None:
        until = min((job.until for job in jobs), default=0.0)
        seen = None if self._witness is None else self._witness.read()

        orders = [job.order for job in jobs if job.order is not None]
        ahead = [*needed(orders), *(one for job in jobs for one in job.ahead)]
        following = self._accounts.ahead()
        ahead += following
        if seen is not None:
            ahead.append(entry_seen(seen))

        def work(execute: Execute) -> tuple[Sighting, int]:
            transaction = Transaction(execute, ahead)
            transaction.check(seen)
            transaction.accounts = self._accounts
            if following:
                _ = transaction.tree
            cache = AccountCache(transaction)
            cache.read(orders)
            # Orders first: the cache has charges as they were, and others read what orders wrote.
            for job in sorted(jobs, key=lambda one: one.order is None):
                job.attempt(transaction, cache)
            cache.write_back()
            transaction.finish()
            return transaction.sighting, transaction.writes

        sighting, writes = self._store.transact(work, patience=_left(until))
        if self._witness is not None and writes:
            self._witness.advance(sighting, patience=_left(until))
        if self._elsewhere is not None:  # also where nothing is new: it may have failed before
            self._elsewhere.advance(self._store, sighting.head, patience=_left(until))


def _left(until: float) -> float:
    """Seconds until a moment; the last in a long queue still gets a try."""
    return max(STALL, until - time.monotonic())


def _same(error: BaseException) -> BaseException:
    """The error for all who shared the transaction."""
    if isinstance(error, DiscreetError):
        return error
    return LedgerError(
        "the transaction was interrupted",
        why="another thread that shared it was stopped",
        fix="ask again: a charge that was made is found, not made twice",
    )
