"""One transaction on the ledger, and the committer that runs many operations in one.

Threads that arrive while a transaction is being synced share the next. Nobody gets a result before
the shared transaction is durable. It has no thread: one of those who wait does the work of all.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, ParamSpec, TypeVar

from discreet.curator.fork_safety import FORKS
from discreet.curator.ledger.account_cache import (
    ROOT,
    AccountCache,
    AccountTree,
    FollowedAccounts,
    needed,
    read_tree,
)
from discreet.curator.ledger.migrations import NOTED, Change, Execute, Statement
from discreet.curator.ledger.orders import Entry, Head, Order, digest
from discreet.curator.ledger.store import PATIENCE, LedgerStore, Refused, too_busy
from discreet.curator.ledger.witness import Sighting, Witness
from discreet.errors import DiscreetError, InputError, LedgerError

if TYPE_CHECKING:
    from discreet.curator.ledger.remote_witness import RemoteWitness

T = TypeVar("T")
P = ParamSpec("P")

MOST_BYTES: Final = 1 << 18
"""Bytes of one entry: a public number, so that no question fills the disk for ever."""

_HEAD: Final = "SELECT id, sequence, hash FROM ledger"


class Transaction:
    """The head of the ledger while it is being moved.

    `ahead` are statements that will be read before anything is written: they travel with the first.
    """

    def __init__(self, execute: Execute, ahead: Sequence[Statement] = ()) -> None:
        self._execute = execute
        self._inserts: dict[str, list[Sequence[Any]]] = {}
        self._updates: list[Change] = []
        [head], *rows = execute.ask_all([(_HEAD, ()), *ahead])
        asked = [(sql, tuple(values)) for sql, values in ahead]
        self._ahead = dict(zip(asked, rows, strict=True))
        self.ledger, self._start, hash_ = head
        self.head = Head(self._start, hash_)
        self.writes = 0
        self.accounts: FollowedAccounts | None = None
        """What the process knows of all accounts; transactions that change some have it."""
        self._tree: AccountTree | None = None
        self.cache = AccountCache(self)

    @property
    def sighting(self) -> Sighting:
        """The head that a witness may remember once this is durable."""
        return Sighting(self.ledger, self.head)

    @property
    def tree(self) -> AccountTree | None:
        """The Merkle tree of all accounts; None in a read-only transaction."""
        if self._tree is None and self.accounts is not None:
            self._tree = self.accounts.borrow(self)
        return self._tree

    @tree.setter
    def tree(self, tree: AccountTree) -> None:
        self._tree = tree

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement that changes nothing."""
        found = None if self.writes else self._ahead.get((sql, tuple(values)))
        if found is not None:
            return found
        self._flush()
        return self._execute(sql, values)

    def insert(self, table: str, values: Sequence[Any]) -> None:
        """Add a row to "table (columns)", at the latest before the next is read."""
        self.writes += 1
        self._inserts.setdefault(table, []).append(values)

    def update(self, sql: str, values: Sequence[Any], *, rows: int = 1) -> None:
        """Change that many rows, at the latest before the next read, after all inserts."""
        self.writes += 1
        self._updates.append((sql, values, rows))

    def append(self, kind: str, by: str, facts: Mapping[str, Any]) -> Entry:
        """Add an entry after the newest."""
        if "after" in facts:
            self.writes += 1  # the tree moves: whoever is refused from here on undoes everything
            self._tree = self.tree or read_tree(self)
            facts = {**facts, ROOT: self._tree.take(self.head.sequence + 1, facts)}
        entry = Entry.after(self.head, kind, by, facts)
        text = entry.text
        if (size := len(text.encode())) > MOST_BYTES:
            raise InputError(
                f"an entry of {size:,} bytes",
                why=f"the ledger keeps every entry for ever, each of {MOST_BYTES:,} bytes at most",
                fix="ask a shorter question, or name fewer at a time",
            )
        self.head = Head(entry.sequence, digest(text))
        values = (entry.sequence, self.head.hash, text)
        self.insert("entries (sequence, hash, body)", values)
        subject = facts.get(NOTED[kind]) if kind in NOTED else None
        if isinstance(subject, str):
            self.insert("subjects (sequence, kind, subject)", (entry.sequence, kind, subject))
        return entry

    def finish(self) -> None:
        """Write the totals that changed, and keep the moved head."""
        self.cache.write_back()
        if self.head.sequence > self._start:
            values = (self.head.sequence, self.head.hash)
            self.update("UPDATE ledger SET sequence = ?, hash = ?", values)
        if self.accounts is not None and self._tree is not None:
            self.accounts.give_back(self.head, self._tree)
        self._flush()

    def _flush(self) -> None:
        inserts = [_insert_all(table, rows) for table, rows in self._inserts.items()]
        changes = inserts + self._updates
        self._inserts, self._updates = {}, []
        if changes:
            self._execute.change(changes)

    def check(self, seen: Sighting | None) -> None:
        """Refuse to continue if something that a witness saw is missing.

        Why: a witness learns of a head after it is durable, so a transaction that began later has
        that entry, unless the database was taken back to an earlier state.
        """
        if seen is None or seen == self.sighting:
            return
        if seen.ledger != self.ledger:
            raise LedgerError(
                "the ledger and the file that witnesses its head belong to different ledgers",
                why="one of them was replaced",
                fix="put back the one that belongs here; only if it is lost for good, adopt the "
                "ledger with `discreet ledger adopt`",
            )
        found = self.read(*entry_seen(seen))
        if seen.head.sequence > self.head.sequence or found != [(seen.head.hash,)]:
            raise LedgerError(
                f"entry {seen.head.sequence} was written once and is not in this ledger, which "
                f"ends with {self.head.sequence}",
                why="it was restored from an older copy or changed, and budgets would be spent "
                "twice",
                fix="put back the newest copy; only if it is lost for good, adopt this one with "
                "`discreet ledger adopt`: what it lacks counts as not spent",
            )


def reads(
    work: Callable[Concatenate[Transaction, P], T],
) -> Callable[Concatenate[Any, P], T]:
    """The method of a ledger that does some work on a snapshot.

    Arguments are bound before it: a wrong one would look like a store that was tampered with.
    """
    bind = signature(work).bind

    @wraps(work)
    def method(self: Any, /, *args: P.args, **more: P.kwargs) -> T:
        bind(self, *args, **more)
        found: T = self._store.snapshot(lambda run: work(Transaction(run), *args, **more))
        return found

    return method


def entry_seen(seen: Sighting) -> Statement:
    """The key that `check` reads if the ledger has moved on."""
    return "SELECT hash FROM entries WHERE sequence = ?", (seen.head.sequence,)


def _insert_all(table: str, rows: Sequence[Sequence[Any]]) -> Change:
    """One statement for many rows: in a batch, most of the time goes by the statement."""
    marks = f"({', '.join('?' * len(rows[0]))})"
    sql = f"INSERT INTO {table} VALUES {', '.join([marks] * len(rows))}"  # noqa: S608 - constants
    return sql, [value for row in rows for value in row], len(rows)


MOST: Final = 256
"""Operations in one transaction."""

LINGER: Final = 0.002
"""Seconds to wait for company, half of what a sync takes."""

STALL: Final = 1.0
"""Seconds after which a waiting caller checks whether the leader was lost."""


@dataclass(eq=False)
class _Job(Generic[T]):
    """One operation, the order it is about, if any, what it reads, and what came of it."""

    work: Callable[[Transaction], T]
    order: Order | None = None
    alone: bool = False
    ahead: Sequence[Statement] = ()
    done: bool = False
    called: threading.Event = field(default_factory=threading.Event)
    until: float = field(default_factory=lambda: time.monotonic() + PATIENCE)
    _answer: T = field(init=False)
    _error: BaseException | None = None

    def attempt(self, transaction: Transaction) -> None:
        """Run in a shared transaction; a refusal must not leave half of the work behind."""
        before, self._error = transaction.writes, None
        try:
            self._answer = self.work(transaction)
        except DiscreetError as refusal:
            if transaction.writes > before:
                raise Refused from refusal
            self._error = refusal

    def settle(self, error: BaseException | None = None) -> None:
        """Notify the waiting caller, once."""
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
        self, store: LedgerStore, witness: Witness | None, elsewhere: "RemoteWitness | None" = None
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
        work: Callable[[Transaction], T],
        order: Order | None = None,
        *,
        ahead: Sequence[Statement] = (),
    ) -> T:
        """Run one operation together with others; returns when it is durable.

        Its cache has what `order` needs. Other operations that share the transaction read no
        accounts: what reads or changes them without an order has to `submit_alone`. What it is
        known to read is fetched `ahead`, with what the others read.
        """
        return self._submit(_Job(work, order, ahead=ahead))

    def submit_alone(self, work: Callable[[Transaction], T]) -> T:
        """Run one operation in its own transaction."""
        return self._submit(_Job(work, alone=True))

    def has_signed(self, entry: Entry) -> bool:
        """Whether a witness elsewhere, if there is one, has signed an entry."""
        return self._elsewhere is None or self._elsewhere.has_signed(entry.head)

    def have_signed(self, entry: Entry) -> None:
        """Have an entry signed by the remote witness, if there is one, before it is reported."""
        if self._elsewhere is not None:
            self._elsewhere.advance(self._store, entry.head)

    def _submit(self, job: _Job[T]) -> T:
        try:
            self._enter(job)
            while not job.done:
                with self._arrival:
                    leads = self._leader is job and job in self._queue
                if leads:
                    self._lead()
                else:
                    self._wait(job)
        finally:
            self._leave(job)
        return job.result()

    def _enter(self, job: _Job[Any]) -> None:
        """Queue up; a caller who finds no leader does the work of all until its own is done."""
        with self._arrival:
            self._queue.append(job)
            if self._leader is None or self._leader.done:
                self._leader = job
            self._arrival.notify_all()

    def _wait(self, job: _Job[Any]) -> None:
        """Wait for the result, or to become the leader; one that was lost is taken.

        Why: an exception may strike between a leader's last batch and its leaving. Two leaders at a
        time are slower and do no harm: the store keeps their transactions separate.
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
        """Do the work of the waiting callers."""
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
            transaction.cache.read(orders)
            # Orders first: the cache has charges as they were, and others read what orders wrote.
            for job in sorted(jobs, key=lambda one: one.order is None):
                job.attempt(transaction)
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
    """The error for all callers who shared the transaction."""
    if isinstance(error, DiscreetError):
        return error
    return LedgerError(
        "the transaction was interrupted",
        why="another thread that shared it was stopped",
        fix="ask again: a charge that was made is found, not made twice",
    )
