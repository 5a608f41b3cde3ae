"""The ledger: budgets nobody can overspend, and a record of every charge that survives anything.

    charge(order)  ->  Receipt        durable before data is touched, never refunded
    ... measure ...
    keep(receipt, bytes)              noisy measurements, before anything is computed from them
    ... present ...
    complete(receipt, bytes)          the first answer stays; asking again gives the same bytes

Entries are append-only and hang on each other by hashes; totals are kept beside them, so that a
charge costs the same after a million entries, and `verify` works them out again.
"""

import os
import secrets
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, Self, TypeVar

from discreet.curator.ledger import account_changes, charging, create, stepping
from discreet.curator.ledger.accounts import Account, Holder, read_holder
from discreet.curator.ledger.charging import Turn, name_worker
from discreet.curator.ledger.create import believe, find_place, make_whole
from discreet.curator.ledger.orders import Entry, Order, Receipt, State, named
from discreet.curator.ledger.readable_ledger import ReadableLedger
from discreet.curator.ledger.remote_witness import (
    NAMED,
    RETIRED,
    WITNESS_KINDS,
    RemoteWitness,
    find_named,
    unlike_named,
)
from discreet.curator.ledger.store import LedgerStore, MemoryStore
from discreet.curator.ledger.transaction import Committer, Transaction
from discreet.curator.ledger.verify import Report, verify
from discreet.curator.ledger.witness import Witness
from discreet.errors import DiscreetError, InputError, LedgerError
from discreet.privacy.budgets.charges import Charge

T = TypeVar("T")

OWN: Final = frozenset(account_changes.KINDS.values()) | {
    *("founded", "migrated", "adopted", "counted"),
    *("raised", "lowered", "admitted"),
    *("charged", "shared", "measured", "released", "failed", "readmitted", "stepped"),
    *WITNESS_KINDS,
}
"""The kinds of entry that the ledger writes itself."""

FOREVER: Final = 2**62

_RENEWAL: Final = 0.1
"""Seconds, at least, between renewals of a claim."""

_ANSWERED: Final = 4096
"""Answered questions that are looked for where nobody has to wait."""


class Ledger(ReadableLedger):
    """Accounts, charges and releases, and the chain of entries that explains them.

    Guarantee:
        No account's total ever exceeds its cap, whatever runs at the same time and whenever
        anything is killed or loses power. `charge` returns after the charge is on disk. Of each
        charge one answer is ever told, made of one draw of noise; an answer or a measurement that
        is lost is not drawn again. An entry that was told of is never lost.
    Edge cases:
        Asking the same again is free and waits for nobody's budget. A charge whose worker died is
        finished by the next to ask, or by `recover`, under the same charge. Two workers may
        compute one answer by mistake; only the first to complete is ever seen. A raised budget is
        an entry with a reason; no budget resets itself, and no rule reads a clock.

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

    @staticmethod
    def open(
        place: str | os.PathLike[str],
        *,
        witness: str | os.PathLike[str] | None = None,
        elsewhere: RemoteWitness | None = None,
        patience: float = 30.0,
    ) -> "Ledger":
        """Open the ledger in a file, or at a postgresql:// address; make it if there is none.

        `witness` is a file that remembers the newest head, against restored old copies. It is
        beside a ledger in a file unless you say otherwise; a ledger in Postgres has one only if you
        name it. `elsewhere` is a witness on another machine. After
        `patience` seconds an unfinished answer may be computed by another worker.
        """
        store, seer = find_place(place, witness)
        return Ledger.whole(store, seer, patience=patience, elsewhere=elsewhere)

    @staticmethod
    def whole(
        store: LedgerStore,
        witness: Witness | None,
        *,
        patience: float = 30.0,
        elsewhere: RemoteWitness | None = None,
    ) -> "Ledger":
        """The ledger in a store, made if there is none; one that is not whole is refused."""
        try:
            make_whole(store, witness)
            if elsewhere is not None:
                elsewhere.advance(store, store.snapshot(lambda run: Transaction(run).head))
            ledger = Ledger(store, witness, patience=patience, elsewhere=elsewhere)
            ledger._meet(elsewhere)
        except BaseException:
            store.close()
            raise
        return ledger

    def _meet(self, elsewhere: RemoteWitness | None) -> None:
        """Keep on record which witness elsewhere the ledger has; open it with no other and none."""
        key = None if elsewhere is None else elsewhere.address.key
        known = self._read(find_named)
        if known is not None and known["witness"] != key:
            raise unlike_named(known)
        if elsewhere is not None and known is None:
            facts = {"witness": key, "url": elsewhere.address.url}
            self._committer.submit_alone(
                lambda page: find_named(page) or page.append(NAMED, "ledger", facts)
            )

    def retire_witness(self, *, by: str, reason: str) -> None:
        """Go on without the witness elsewhere, on record, from the next time that it is opened."""
        named(by, "by")
        known = self._read(find_named)
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
        """Believe a ledger as it stands, after its owner has made sure that it is the newest.

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

    def open_account(
        self,
        holder: Holder,
        cap: Charge | None,
        *,
        by: str,
        members: Iterable[Holder] = (),
        reason: str = "",
        per_person: bool = False,
    ) -> Account:
        """Open an account under a cap; `per_person` says that each person has it for themselves.

        A link or a group starts with what its members have spent. `cap` None, for groups and links,
        counts and never refuses. An analyst who has asked without an account keeps what is spent.
        """
        named(by, "by")
        inside = tuple(read_holder(member) for member in members)
        under = Account.per_person if per_person else Account.under
        capped = None if cap is None else under(read_holder(holder), cap)

        def work(page: Transaction) -> Account:
            account = capped or account_changes.uncapped(page, read_holder(holder), inside)
            return account_changes.open_account(page, account, inside, by=by, reason=reason)

        return self._committer.submit_alone(work)

    def open_workbook(
        self, caps: Mapping[Holder, Charge], *, by: str, note: Mapping[str, Any]
    ) -> None:
        """Open all accounts of a workbook and note its shares, or nothing; {} notes nothing."""
        opened = [Account.under(read_holder(holder), cap) for holder, cap in caps.items()]
        named(by, "by")
        self._committer.submit_alone(
            lambda page: account_changes.open_workbook(page, opened, by=by, note=note)
        )

    def set_cap(self, holder: Holder, cap: Charge, *, by: str, reason: str) -> Account:
        """Raise or lower a cap, not below what is spent; an entry says who did and why."""
        named(by, "by")
        named(reason, "reason")
        Account.under(read_holder(holder), cap)
        return self._committer.submit_alone(
            lambda page: account_changes.set_cap(page, holder, cap, by=by, reason=reason)
        )

    def admit(self, holder: Holder, member: Holder, *, by: str, reason: str = "") -> Account:
        """Let an analyst into a group or a dataset into a link, with what is already spent."""
        named(by, "by")
        read_holder(holder), read_holder(member)
        return self._committer.submit_alone(
            lambda page: account_changes.admit(page, holder, member, by=by, reason=reason)
        )

    def charge(self, order: Order) -> Receipt:
        """Charge an order durably, or find its answer; see `State` for whose turn it is.

        Raises BudgetError if an account cannot pay, and nothing is charged; LedgerError if it is
        not certain that the charge was kept, and then asking again finds out.
        """
        told = self._find_told(order) if order.question in self._answered else None
        if told is not None:
            return told
        receipt = self._committer.submit(
            lambda page, cache: charging.charge(page, cache, order, self._turn()),
            order,
            ahead=[charging.failures_of(order.analyst, order.dataset)],
        )
        if receipt.state is State.RELEASED:
            self._remember(order)
        return receipt

    def _find_told(self, order: Order) -> Receipt | None:
        """Look up a stored answer without waiting for writers."""
        found = self._store.snapshot(lambda execute: charging.find_told(execute, order))
        return None if found is None or not self._committer.has_signed(found[0]) else found[1]

    def _remember(self, order: Order) -> None:
        """A question that is answered stays answered; the newest are known."""
        self._answered[order.question] = None
        while len(self._answered) > _ANSWERED:
            with suppress(KeyError):
                del self._answered[next(iter(self._answered))]

    def keep(self, receipt: Receipt, measured: bytes) -> Receipt:
        """Store noisy measurements, before anything is computed from them.

        The receipt that comes back has the measurements that count, which may be another's, or
        says what came of the charge meanwhile.
        """
        return self._committer.submit(
            lambda page, _: charging.keep(page, receipt, measured),
            ahead=[charging.charge_of(receipt)],
        )

    def fail(self, receipt: Receipt) -> Receipt:
        """Say that measuring failed, which is final; unless another has measured meanwhile."""
        return self._committer.submit(
            lambda page, _: charging.fail(page, receipt), ahead=[charging.charge_of(receipt)]
        )

    def cancel(self, receipt: Receipt, *, by: str, for_all: bool = True) -> Receipt:
        """Give up a charge that is not measured yet; the receipt says what became of it.

        Unless it is `for_all`, it goes on where others have asked for it since.
        """
        named(by, "by")
        return self._committer.submit(
            lambda page, _: charging.cancel(page, receipt, by=by, for_all=for_all),
            ahead=[charging.charge_of(receipt)],
        )

    def readmit(self, analyst: str, dataset: str, *, by: str, reason: str) -> int:
        """Let an analyst ask again whose questions failed too often; how many had failed."""
        for value, name in ((analyst, "analyst"), (dataset, "dataset"), (by, "by")):
            named(value, name)
        named(reason, "reason")
        return self._committer.submit_alone(
            lambda page: charging.readmit(page, analyst, dataset, by=by, reason=reason)
        )

    def complete(self, receipt: Receipt, release: bytes) -> bytes:
        """Store the answer of a charge and return the one that counts, which may be another's."""
        stored = self._committer.submit(
            lambda page, _: charging.complete(page, receipt, release),
            ahead=[charging.charge_of(receipt)],
        )
        self._remember(receipt.order)
        return stored

    def hold(self, charge: int) -> bool:
        """Take, or keep, the turn to go on with a released charge; False while another has it."""
        turn = self._turn()
        if self._read(lambda page: stepping.is_held(page, charge, turn)):
            return True
        return self._committer.submit_alone(lambda page: stepping.hold(page, charge, turn))

    def may_hold(self, charge: int) -> bool:
        """Whether `hold` would give the turn now; reads only."""
        return self._read(lambda page: stepping.is_free(page, charge, self._turn()))

    @contextmanager
    def keep_turn(self, charge: int) -> Iterator[None]:
        """Keep the turn to go on with a charge, which this worker has, for as long as it takes."""
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

    def let_go(self, charge: int) -> None:
        """Give up the turn to go on with a charge."""
        turn = self._turn()
        self._committer.submit_alone(lambda page: stepping.let_go(page, charge, turn))

    def step(self, charge: int, number: int, stored: bytes, *, by: str) -> None:
        """Store the next step of a charge durably, before anybody is told of it.

        LedgerError where another worker has the turn: then nothing may be told.
        """
        turn = self._turn()
        self._committer.submit_alone(
            lambda page: stepping.step(page, charge, number, stored, by, turn)
        )

    def fail_step(self, charge: int, *, by: str) -> None:
        """End the steps of a charge: the next one failed. LedgerError as for `step`."""
        turn = self._turn()
        self._committer.submit_alone(lambda page: stepping.fail(page, charge, by, turn))

    def wait(self, order: Order, *, timeout: float) -> Receipt:
        """Ask until the answer is there or its computation is this caller's turn."""
        end, pause = time.monotonic() + timeout, 0.005
        while (receipt := self.charge(order)).state is State.PENDING:
            if time.monotonic() + pause > end:
                raise LedgerError(
                    f"the answer to charge {receipt.sequence} is not there yet",
                    why=f"another worker has been computing it for {timeout:g} seconds",
                    fix="ask again later: it is charged once, whoever asks",
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
        """The stored answer of a charge; None before there is one, or where it failed."""
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
        return self._committer.submit(lambda page, _: page.append(kind, by, facts))

    def _turn(self, patience: float | None = None) -> Turn:
        wait = self._patience if patience is None else patience
        now, spell = time.time_ns() // 10**6, int(wait * 1000)
        # With no patience every claim has lapsed, whatever the clock did in between.
        lapsed = now - spell if wait else FOREVER
        return Turn(name_worker(self._nonce), now, lapsed, ahead=now + spell)
