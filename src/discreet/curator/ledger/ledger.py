"""The ledger: budgets that cannot be overspent, and a durable record of every charge.

    charge(order)  ->  Receipt        durable before data is touched, never refunded
    ... measure ...
    keep(receipt, bytes)              noisy measurements, before anything is computed from them
    ... present ...
    complete(receipt, bytes)          the first answer stays; asking again gives the same bytes

Entries are append-only and chained by hashes; totals are stored too, so that a charge costs the
same after a million entries, and `verify` computes them again.
"""

import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar

from discreet.curator.ledger import account_changes, charging, create, stepping
from discreet.curator.ledger.charging import Turn, name_worker
from discreet.curator.ledger.create import believe, find_place, make_whole
from discreet.curator.ledger.orders import NEWEST, Entry, Order, Receipt, State, named
from discreet.curator.ledger.readable_ledger import ReadableLedger, find_told
from discreet.curator.ledger.remote_witness import (
    NAMED,
    RETIRED,
    WITNESS_KINDS,
    RemoteWitness,
    find_named,
    unlike_named,
)
from discreet.curator.ledger.store import LedgerStore, MemoryStore
from discreet.curator.ledger.transaction import Committer, Transaction, reads
from discreet.curator.ledger.verify import Report, verify
from discreet.curator.ledger.witness import Witness
from discreet.errors import DiscreetError, InputError, LedgerError

T = TypeVar("T")
P = ParamSpec("P")

OWN: Final = frozenset(account_changes.KINDS.values()) | {
    *("founded", "migrated", "adopted", "counted"),
    *("raised", "lowered", "admitted"),
    *("charged", "shared", "measured", "released", "failed", "readmitted", "stepped"),
    *WITNESS_KINDS,
}
"""The kinds of entry that the ledger writes itself."""

_RENEWAL: Final = 0.1
"""Seconds, at least, between renewals of a claim."""

_ANSWERED: Final = 4096
"""Answered questions that are looked up without waiting."""


def _alone(
    work: Callable[Concatenate[Transaction, P], T],
) -> Callable[Concatenate["Ledger", P], T]:
    """The method of a ledger that does some work in its own transaction."""
    bind = signature(work).bind  # before the transaction, as in `reads`

    @wraps(work)
    def method(self: "Ledger", /, *args: P.args, **more: P.kwargs) -> T:
        bind(self, *args, **more)
        return self._committer.submit_alone(lambda page: work(page, *args, **more))

    return method


def _in_turn(
    work: Callable[Concatenate[Transaction, Turn, P], T],
) -> Callable[Concatenate["Ledger", P], T]:
    """The method of a ledger that does some work alone, in this worker's name and at this time."""
    alone = _alone(work)

    @wraps(work)
    def method(self: "Ledger", /, *args: P.args, **more: P.kwargs) -> T:
        return alone(self, self._turn(), *args, **more)

    return method


def _of_receipt(
    work: Callable[Concatenate[Transaction, Receipt, P], T],
) -> Callable[Concatenate["Ledger", Receipt, P], T]:
    """The method of a ledger that does some work on a charge, together with others."""
    bind = signature(work).bind

    @wraps(work)
    def method(self: "Ledger", receipt: Receipt, /, *args: P.args, **more: P.kwargs) -> T:
        bind(self, receipt, *args, **more)
        return self._committer.submit(
            lambda page: work(page, receipt, *args, **more), ahead=[charging.charge_of(receipt)]
        )

    return method


class HeldDraws:
    """Draws of charges, by the number of their step; the measurements of a charge are step 0.

    Guarantee:
        In one process a step of a charge is drawn once until it is stored. On a full disk the next
        to ask stores what was drawn, and no charge buys a second draw.
    Edge cases:
        None is a draw that failed, which is as final as any other. A crash loses only what nobody
        was told. If another worker stored a step meanwhile, the held one is never returned.

    Example:
        >>> held = HeldDraws()
        >>> held.draw(7, 1, lambda: [b"first", b"second"]), held.draw(7, 2, lambda: [b"other"])
        (b'first', b'second')
        >>> held.let_go(7, 2)
        >>> held.draw(7, 2, lambda: [b"other"])
        b'other'
    """

    def __init__(self) -> None:
        self._held: dict[tuple[int, int], list[Any]] = {}

    def draw(self, charge: int, step: int, make: Callable[[], Sequence[Any]]) -> Any:
        """What is held of a step, else what is made now: of this step and those that follow it."""
        if (held := self._held.get((charge, step))) is None:
            made = [[one] for one in make()]
            for number, one in enumerate(made, step):  # of two threads the first to draw counts
                self._held.setdefault((charge, number), one)
            held = self._held.get((charge, step), made[0])
        return held[0]

    def let_go(self, charge: int, step: int) -> None:
        """Forget a step that is stored."""
        self._held.pop((charge, step), None)


class Ledger(ReadableLedger):
    """Accounts, charges and releases, and the chain of entries that explains them.

    Guarantee:
        No account's total ever exceeds its cap, under any concurrency and after any kill or power
        loss. `charge` returns after the charge is on disk. Each charge gives only one answer, made
        from one draw of noise; an answer or a measurement that is lost is not drawn again. An entry
        that was reported is never lost.
    Edge cases:
        Asking the same again is free and needs no budget. A charge whose worker died is finished by
        the next to ask, or by `recover`, under the same charge. Two workers may compute one answer
        by mistake; only the first to complete is ever seen. A raised budget is an entry with a
        reason; no budget resets itself, and no rule reads a clock.

    Example:
        >>> from discreet.curator.ledger.accounts import dataset
        >>> from discreet.privacy import Filter, Pure
        >>> ledger, budget = Ledger.in_memory(), Filter.basic(epsilon=1)
        >>> _ = ledger.open_account(dataset("visits"), budget.limit, by="owner")
        >>> order = Order("alice", "visits", "v1", "count()", (budget.price(Pure(0.1)),))
        >>> receipt = ledger.charge(order)
        >>> ledger.complete(receipt, b"42 or so")
        b'42 or so'
        >>> ledger.charge(order).release, ledger.account(dataset("visits")).left.amount
        (b'42 or so', Fraction(9, 10))
    """

    def __init__(
        self,
        store: LedgerStore,
        witness: Witness | None,
        *,
        patience: float = 30.0,
        elsewhere: RemoteWitness | None = None,
    ) -> None:
        super().__init__(store)
        self._witness = witness
        self._committer = Committer(store, witness, elsewhere)
        self._patience = patience
        self._nonce = secrets.token_hex(4)
        self._answered: dict[str, None] = {}
        self.draws = HeldDraws()
        """What was drawn for a charge and could not be stored yet."""

    @staticmethod
    def open(
        place: str | os.PathLike[str] | LedgerStore,
        *,
        witness: str | os.PathLike[str] | None = None,
        elsewhere: RemoteWitness | None = None,
        patience: float = 30.0,
    ) -> "Ledger":
        """Open the ledger in a file, at a postgresql:// address or in a store; make it if needed.

        One that is not whole is refused.

        `witness` is a file that remembers the newest head, against restored old copies. By default
        it is in the folder of a ledger file; a ledger in Postgres has one only if you name it.
        `elsewhere` is a witness on another machine. After `patience` seconds an unfinished answer
        may be computed by another worker.
        """
        store, seer = find_place(place, witness)
        try:
            make_whole(store, seer)
            if elsewhere is not None:
                elsewhere.advance(store, store.snapshot(lambda run: Transaction(run).head))
            ledger = Ledger(store, seer, patience=patience, elsewhere=elsewhere)
            ledger._meet(elsewhere)
        except BaseException:
            store.close()
            raise
        return ledger

    def _meet(self, elsewhere: RemoteWitness | None) -> None:
        """Keep on record which witness elsewhere the ledger has; open it with no other and none."""
        key = None if elsewhere is None else elsewhere.address.key
        known = self._witness_named()
        if known is not None and known["witness"] != key:
            raise unlike_named(known)
        if elsewhere is not None and known is None:
            facts = {"witness": key, "url": elsewhere.address.url}
            self._committer.submit_alone(
                lambda page: find_named(page) or page.append(NAMED, "ledger", facts)
            )

    _witness_named = reads(find_named)

    def retire_witness(self, *, by: str, reason: str) -> None:
        """Go on without the witness elsewhere, on record, from the next time that it is opened."""
        named(by, "by")
        known = self._witness_named()
        if known is not None:
            facts = {"witness": known["witness"], "reason": named(reason, "reason")}
            self._append(RETIRED, by, facts)

    @staticmethod
    def in_memory() -> "Ledger":
        """A ledger that ends with the process."""
        store = MemoryStore()
        store.transact(lambda execute: create.found(execute, "sqlite"))
        return Ledger(store, None)

    @staticmethod
    def adopt(
        place: str | os.PathLike[str],
        *,
        by: str,
        reason: str,
        witness: str | os.PathLike[str] | None = None,
    ) -> "Ledger":
        """Trust a ledger as it is, after its owner has made sure that it is the newest.

        Edge cases: entries that are lost stay lost, and with them what they spent; that is why it
        takes a name and a reason, which become an entry. A ledger that is not whole is refused.
        """
        named(by, "by")
        named(reason, "reason")
        store, seer = find_place(place, witness)
        believe(store, seer)
        ledger = Ledger(store, seer)
        ledger._append("adopted", by, {"reason": reason})
        return ledger

    open_account = _alone(account_changes.open_account)
    open_workbook = _alone(account_changes.open_workbook)
    set_cap = _alone(account_changes.set_cap)
    admit = _alone(account_changes.admit)
    readmit = _alone(charging.readmit)

    keep = _of_receipt(charging.keep)
    fail = _of_receipt(charging.fail)
    cancel = _of_receipt(charging.cancel)

    step = _in_turn(stepping.step)
    fail_step = _in_turn(stepping.fail)
    let_go = _in_turn(stepping.let_go)

    def charge(self, order: Order) -> Receipt:
        """Charge an order durably, or find its answer; see `State` for whose turn it is.

        Raises BudgetError if an account cannot pay, and nothing is charged; LedgerError if it is
        not certain that the charge was kept, and then asking again finds out.
        """
        told = self._find_told(order) if order.question in self._answered else None
        if told is not None:
            return told
        receipt = self._committer.submit(
            lambda page: charging.charge(page, order, self._turn()),
            order,
            ahead=[
                charging.failures_of(order.analyst, order.dataset),
                charging.retirement_of(order.dataset),
            ],
        )
        if receipt.state is State.RELEASED:
            self._remember(order)
        return receipt

    def _find_told(self, order: Order) -> Receipt | None:
        """Look up a stored answer without waiting for writers."""
        found = self._store.snapshot(lambda execute: find_told(execute, order))
        return None if found is None or not self._committer.has_signed(found[0]) else found[1]

    def _remember(self, order: Order) -> None:
        """A question that is answered stays answered; the newest are known."""
        self._answered[order.question] = None
        while len(self._answered) > _ANSWERED:
            with suppress(KeyError):
                del self._answered[next(iter(self._answered))]

    _complete = _of_receipt(charging.complete)

    def complete(self, receipt: Receipt, release: bytes) -> bytes:
        """Store the answer of a charge and return the one that counts, which may be another's."""
        stored = self._complete(receipt, release)
        self._remember(receipt.order)
        return stored

    def hold(self, charge: int) -> bool:
        """Take, or keep, the right to continue a released charge; False while another has it."""
        return self._is_held(self._turn(), charge) or self._hold(charge)

    def may_hold(self, charge: int) -> bool:
        """Whether `hold` would give the turn now; reads only."""
        return self._is_free(self._turn(), charge)

    _hold = _in_turn(stepping.hold)
    _is_held = reads(stepping.is_held)
    _is_free = reads(stepping.is_free)

    @contextmanager
    def keep_turn(self, charge: int) -> Iterator[None]:
        """Keep this worker's right to continue a charge, for as long as it takes."""
        over, pause = threading.Event(), max(_RENEWAL, self._patience / 4)

        def renew() -> None:
            while not over.wait(pause):
                with suppress(DiscreetError):  # the next step finds out
                    self.hold(charge)

        renewing = threading.Thread(target=renew, daemon=True)
        renewing.start()
        try:
            yield
        finally:
            over.set()
            renewing.join()

    def wait(self, order: Order, *, timeout: float) -> Receipt:
        """Ask until the answer is there or its computation is this caller's turn."""
        end, pause = time.monotonic() + timeout, 0.005
        while (receipt := self.charge(order)).state is State.PENDING:
            if time.monotonic() + pause > end:
                raise LedgerError(
                    f"the answer to charge {receipt.sequence} is not there yet",
                    why=f"another worker has been computing it for {timeout:g} seconds",
                    fix="ask again later: it is charged only once",
                )
            time.sleep(pause)
            pause = min(2 * pause, 0.2)
        return receipt

    def recover(self, *, patience: float | None = None, limit: int = 1000) -> tuple[Receipt, ...]:
        """Charges without an answer that are this caller's to compute now, oldest first.

        At the start of the only worker pass `patience=0`: nobody else is computing.
        """
        turn = self._turn(patience)
        return self._committer.submit_alone(lambda page: charging.claim_pending(page, turn, limit))

    def record(self, kind: str, *, by: str, facts: Mapping[str, Any]) -> Entry:
        """Add an entry about something else that an owner should be able to prove."""
        if named(kind, "kind") in OWN or "after" in facts:
            raise InputError(
                f"an entry of kind {kind!r}" if kind in OWN else "a fact that is called 'after'",
                why="the ledger writes these itself",
                fix="use another word",
            )
        return self._append(kind, named(by, "by"), facts)

    def release(self, sequence: int) -> bytes | None:
        """The stored answer of a charge; None before there is one, or if it failed."""
        sql = """SELECT r.bytes, a.body FROM charges c JOIN entries a ON a.sequence = c.released
        LEFT JOIN releases r ON r.charge = c.sequence
        WHERE c.sequence = ? AND (c.failed = 0 OR r.charge IS NOT NULL)"""

        rows = self._store.snapshot(lambda execute: execute(sql, (sequence,)))
        if not rows:
            return None
        release, outcome = rows[0]
        self._committer.have_signed(Entry.read(outcome))
        return charging.told(release, outcome)

    def verify(self) -> Report:
        """Read everything and compare; names the first entry that is wrong."""
        seen = None if self._witness is None else self._witness.read()
        return self._store.snapshot(lambda execute: verify(execute, self._store.dialect, seen))

    def close(self) -> None:
        """Let go of files and connections; what was charged stays."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, kind: str, by: str, facts: Mapping[str, Any]) -> Entry:
        return self._committer.submit(lambda page: page.append(kind, by, facts))

    def _turn(self, patience: float | None = None) -> Turn:
        wait = self._patience if patience is None else patience
        now, spell = time.time_ns() // 10**6, int(wait * 1000)
        # With no patience every claim has lapsed, whatever the clock did in between.
        lapsed = now - spell if wait else NEWEST
        return Turn(name_worker(self._nonce), now, lapsed, ahead=now + spell)
