"""Charge first, answer once: the operations that a guarantee rests on."""

import os
import socket
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

from discreet.curator.ledger.account_cache import FOUND, AccountCache, StoredCharge, after, marks
from discreet.curator.ledger.account_changes import check_unlike
from discreet.curator.ledger.accounts import Account, cost_units
from discreet.curator.ledger.migrations import Statement
from discreet.curator.ledger.orders import (
    ChargedOrder,
    Entry,
    Order,
    Receipt,
    State,
    canonical,
    debits_of,
    digest,
    named,
)
from discreet.curator.ledger.store import damaged
from discreet.curator.ledger.transaction import Transaction
from discreet.errors import AccessError, EngineError, InputError, LedgerError, QueryRefused

MOST_FAILURES: Final = 5
"""Questions of one analyst about one dataset that may fail before an owner has to look."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A worker's claim to compute a charge, and its time.

    Claims are valid that were made after `lapsed` and up to `ahead`: one from later on was made by
    a clock that has been set back since.
    """

    worker: str
    now: int
    lapsed: int
    ahead: int

    def stands(self, worker: str, claimed: int) -> bool:
        """Whether the claim of a worker is valid."""
        return self.lapsed < claimed <= self.ahead and not is_gone(worker)


# --- before a charge ----------------------------------------------------------------------------


def touched(
    page: Transaction, dataset: str, analyst: str, workbook: str | None = None
) -> tuple[Account, ...]:
    """The accounts that an order would debit; it needs a price in the measure of each."""
    asker = dataset, analyst, workbook
    page.cache.read_accounts([asker])
    found = tuple(page.cache.touched(asker))
    if not page.cache.knows(found[-1]):
        check_unlike(page, [found[-1].holder])
    return found


def standing(
    page: Transaction, dataset: str, analyst: str, workbook: str | None = None
) -> tuple[tuple[Account, ...], bool]:
    """The accounts that an order would debit, and whether its dataset is retired."""
    return touched(page, dataset, analyst, workbook), retired(page, dataset)


def retired(page: Transaction, dataset: str) -> bool:
    """Whether a dataset is retired: it takes no new questions, for ever."""
    return bool(page.read(*retirement_of(dataset)))


def retirement_of(dataset: str) -> Statement:
    """What `charge` reads to learn whether a dataset is retired."""
    return "SELECT 1 FROM subjects WHERE kind = 'retired' AND subject = ?", (dataset,)


def ended(dataset: str) -> QueryRefused:
    """The refusal of anything new about a dataset that is retired."""
    return QueryRefused(
        f"{dataset} is retired",
        why="its owner ended it: answers stay, and new questions are refused",
        fix="read what was answered, or ask about another dataset",
        code="retired",
    )


# --- charges ------------------------------------------------------------------------------------


def charge(transaction: Transaction, order: Order, turn: Turn) -> Receipt:
    """Charge an order, unless its question was charged before.

    Guarantee:
        Every account that the order touches is debited, or none is. The second to ask the same
        question debits only accounts of analysts that have not paid for the answer.
    """
    found = _look_up(transaction.cache, order)
    if found is not None:
        if not _filed(found.body, found.outcome).failed:  # nobody pays for an error
            _share(transaction, order, found)
        return _receive(transaction, found, turn)
    check_failures(transaction, order.analyst, order.dataset)
    if retired(transaction, order.dataset):  # since it was priced
        raise ended(order.dataset)
    touched = transaction.cache.touched(order.asker)
    entry = _debit(transaction, order, touched, "charged", order.to_dict())
    made = (entry.sequence, order.request, order.question, turn.worker, turn.now)
    columns = "sequence, request, question, worker, claimed, analyst, dataset"
    transaction.insert(f"charges ({columns})", (*made, order.analyst, order.dataset))
    stored = StoredCharge(*made, None, None, None, None, transaction.head.hash, entry.text)
    transaction.cache.keep(stored)
    filed = ChargedOrder(entry.sequence, entry.time, order, debits_of(entry), None)
    return Receipt(entry.sequence, order, State.CHARGED, filed=filed)


def keep(transaction: Transaction, receipt: Receipt, measured: bytes) -> Receipt:
    """Store the noisy measurements of a charge; the first ones stay, and no others are ever used.

    The returned receipt has the ones that count, or the outcome if there is one already.
    """
    found = _charged(transaction, receipt)
    if found.outcome is None and found.measuring is None:
        _store(transaction, receipt, "measured", "measurements", measured)
        return replace(receipt, measured=measured)
    return receipt_of(found, State.CHARGED)


def fail(transaction: Transaction, receipt: Receipt) -> Receipt:
    """Give up a charge for ever, unless another worker has measured it meanwhile.

    Why: whether measuring fails may depend on data. Failing once is all that can be seen of it:
    nobody learns when, or why, and nothing is drawn again.
    """
    found = _charged(transaction, receipt)
    if found.outcome is None and found.measuring is None:
        return _give_up(transaction, receipt, receipt.order.analyst, 1)
    return receipt_of(found, State.CHARGED)


def _give_up(
    transaction: Transaction, receipt: Receipt, by: str, failed: int, **more: bool
) -> Receipt:
    entry = transaction.append("failed", by, {"charge": receipt.sequence, **more})
    sql = "UPDATE charges SET released = ?, failed = ? WHERE sequence = ?"
    transaction.update(sql, (entry.sequence, failed, receipt.sequence))
    return replace(receipt, state=State.FAILED)


def cancel(transaction: Transaction, receipt: Receipt, *, by: str, for_all: bool = True) -> Receipt:
    """Give up a charge for ever on request, unless it is measured; it is no failure.

    Unless it is `for_all`, a charge that others have asked for since continues, and stays pending.

    Why: measurements are stored at a moment that was fixed before data was read, so whether a
    charge can still be cancelled reveals nothing about data.
    """
    named(by, "by")
    found = _charged(transaction, receipt)
    if found.outcome is None and found.measuring is None:
        if not for_all and _shares(transaction, receipt.sequence):
            return receipt_of(found, State.PENDING)
        return _give_up(transaction, receipt, by, 2, cancelled=True)
    return receipt_of(found, State.CHARGED)


def complete(transaction: Transaction, receipt: Receipt, release: bytes) -> bytes:
    """Store the answer to a charge; the first one stays, and everybody gets that one."""
    found = _charged(transaction, receipt)
    if found.outcome is not None:
        return told(found.release, found.outcome)
    _store(transaction, receipt, "released", "releases", release)
    if found.measuring is not None:  # the answer is made of them, and is here now
        transaction.update("DELETE FROM measurements WHERE charge = ?", (receipt.sequence,))
    return release


def _store(
    transaction: Transaction, receipt: Receipt, kind: str, table: str, stored: bytes
) -> None:
    """Keep bytes of a charge in a table, and an entry of this kind that speaks of them."""
    facts = {"charge": receipt.sequence, "digest": digest(stored), "size": len(stored)}
    entry = transaction.append(kind, receipt.order.analyst, facts)
    transaction.insert(f"{table} (charge, bytes)", (receipt.sequence, stored))
    sql = f"UPDATE charges SET {kind} = ? WHERE sequence = ?"  # noqa: S608 - a constant
    transaction.update(sql, (entry.sequence, receipt.sequence))


def _charged(transaction: Transaction, receipt: Receipt) -> StoredCharge:
    rows = [StoredCharge(*row) for row in transaction.read(*charge_of(receipt))]
    if not rows or rows[0].question != receipt.order.question:
        raise LedgerError(
            f"there is no charge {receipt.sequence} for this answer",
            why="an answer belongs to the charge that paid for it",
            fix="charge the order first",
        )
    return rows[0]


def charge_of(receipt: Receipt) -> Statement:
    """What `keep`, `fail` and `complete` read of a charge."""
    return f"{FOUND} c.sequence = ?", (receipt.sequence,)


def told(release: Any, outcome: str) -> bytes:
    """A stored answer, if it is the one that its entry speaks of."""
    entry = Entry.read(outcome)
    if entry.kind == "failed":
        raise final_failure()
    return _genuine(release, entry, "answer")


def final_failure() -> EngineError:
    """The error for a charge that failed, the same for all data."""
    return EngineError(
        "the answer to this question could not be computed",
        why="it was cancelled, or the engine ran out of time, memory or disk, or met "
        "something unforeseen; the charge stays, and asking the same again gives this error again",
        fix="ask it at another price, which is charged anew, ask a cheaper question, or tell "
        "whoever runs the curator",
    )


def _genuine(stored: Any, entry: Entry, what: str) -> bytes:
    """Bytes that were stored, if they are those that an entry speaks of."""
    if stored is not None and entry.facts.get("digest") == digest(bytes(stored)):
        return bytes(stored)
    raise damaged(f"a stored {what} is lost, or is not the one that the ledger speaks of")


def check_unspoken(transaction: Transaction, charge: int, after: int, *kinds: str) -> None:
    """Refuse to continue a charge that a later entry of these kinds refers to.

    Why: rows that lead from a charge to its bytes can be lost, or reset. The chain still has the
    entry, so the answer would be drawn a second time.
    """
    sql = "SELECT body FROM entries WHERE sequence > ? AND (body LIKE ? OR body LIKE ?)"
    rows = transaction.read(sql, (after, f'%"charge":{charge},%', f'%"charge":{charge}}}%'))
    entries = (Entry.read(body) for (body,) in rows)
    if any(one.kind in kinds and one.facts.get("charge") == charge for one in entries):
        raise damaged(f"what was measured for charge {charge} is lost, and it is not drawn again")


def claim_pending(transaction: Transaction, turn: Turn, limit: int) -> tuple[Receipt, ...]:
    """Take over charges whose answer nobody computes any more."""
    workers = transaction.read("SELECT DISTINCT worker FROM charges WHERE released IS NULL")
    dead = [worker for (worker,) in workers if is_gone(worker)]
    gone = f"""c.released IS NULL AND (c.claimed <= ? OR c.claimed > ?
    OR c.worker IN ({marks(dead)}))"""
    values = (turn.lapsed, turn.ahead, *dead, limit)
    rows = transaction.read(f"{FOUND} {gone} ORDER BY c.sequence LIMIT ?", values)
    return tuple(_receive(transaction, StoredCharge(*row), turn) for row in rows)


def _debit(
    transaction: Transaction,
    order: Order,
    accounts: Iterable[Account],
    kind: str,
    facts: Mapping[str, Any],
) -> Entry:
    """Take the price from all accounts, with the entry that says so; all of them pay or none."""
    before = list(accounts)
    costs = [cost_units(order.price(one.measure, one.neighbours)) for one in before]
    paid = [one.after(cost) for one, cost in zip(before, costs, strict=True)]
    debits = {
        one.holder.key: (str(units), str(delta))
        for one, (units, delta) in zip(before, costs, strict=True)
    }
    entry = transaction.append(
        kind, order.analyst, {**facts, "debits": debits, "after": after(paid)}
    )
    for old, new in zip(before, paid, strict=True):
        transaction.cache.put(old, replace(new, entry=entry.sequence))
    return entry


def _look_up(cache: AccountCache, order: Order) -> StoredCharge | None:
    attempt = None if order.request is None else cache.requests.get(order.request)
    if attempt is not None and attempt.question != order.question:
        raise InputError(
            "a request id was used again for another question",
            why="it belongs to the question, version and price of its first use",
            fix="use a new id for a new question",
        )
    known = (cache.charges.get(one) for one in (order.question, *order.also))
    return next((one for one in known if one is not None and answers(one, order)), None)


def answers(found: StoredCharge, order: Order) -> bool:
    """Whether a charge is for the question of an order, or for the same measurements.

    Why: a cap in another measure is debited what the order's own measurements cost in it.
    """
    if found.question == order.question:
        return True
    measured = Entry.read(found.body).facts["measurements"]
    return canonical(measured) == canonical(list(order.measurements))


def _share(transaction: Transaction, order: Order, found: StoredCharge) -> None:
    """Debit the analyst's own accounts for an answer that others have paid for.

    Why: the dataset's people lose nothing if a number is told twice, but the cap of an analyst or a
    group bounds what they learn, from any source. A workbook pays where one of them does.
    """
    entry = Entry.read(found.body)
    if entry.by == order.analyst:
        return
    paid = set(entry.facts["debits"]) | _shares(transaction, entry.sequence)
    owing = [
        one
        for one in transaction.cache.touched(order.asker)
        if one.holder.kind in ("analyst", "group", "workbook") and one.holder.key not in paid
    ]
    if any(one.holder.kind != "workbook" for one in owing):
        facts = {"charge": entry.sequence, "request": order.request}
        shared = _debit(transaction, order, owing, "shared", facts)
        for key in shared.facts["debits"]:
            transaction.insert("shares (charge, account)", (entry.sequence, key))


def _shares(transaction: Transaction, sequence: int) -> set[str]:
    rows = transaction.read("SELECT account FROM shares WHERE charge = ?", (sequence,))
    return {key for (key,) in rows}


def _receive(transaction: Transaction, found: StoredCharge, turn: Turn) -> Receipt:
    """The receipt of a charge that was made before; a lapsed claim passes to this worker."""
    if found.outcome is not None or turn.stands(found.worker, found.claimed):
        return receipt_of(found, State.PENDING)
    sql = "UPDATE charges SET worker = ?, claimed = ? WHERE sequence = ?"
    transaction.update(sql, (turn.worker, turn.now, found.sequence))
    return receipt_of(found, State.CHARGED)


def receipt_of(found: StoredCharge, unfinished: State) -> Receipt:
    """The current state of a charge, with its stored bytes."""
    if digest(found.body) != found.hash:
        raise damaged(f"the text of entry {found.sequence} was changed")
    outcome = None if found.outcome is None else Entry.read(found.outcome)
    filed = _filed(found.body, found.outcome)
    order = filed.order
    if filed.failed:
        return Receipt(found.sequence, order, State.FAILED)
    if outcome is not None:
        release = _genuine(found.release, outcome, "answer")
        return Receipt(found.sequence, order, State.RELEASED, release, filed=filed)
    if found.measuring is None:
        return Receipt(found.sequence, order, unfinished)
    measured = _genuine(found.measured, Entry.read(found.measuring), "measurement")
    return Receipt(found.sequence, order, unfinished, measured=measured)


_filed: Final = lru_cache(128)(ChargedOrder.of)
"""A repeated question need not read the texts of its entries again."""


# --- failures -------------------------------------------------------------------------------------


_COUNTED: Final = "failed = 1 AND COALESCE(failed_by, analyst) = ? AND dataset = ?"
_FAILURES: Final = f"SELECT count(*) FROM charges WHERE {_COUNTED}"  # noqa: S608 - a constant


def failures_of(analyst: str, dataset: str) -> Statement:
    """What `charge` reads to count failed questions and later steps of an analyst."""
    return _FAILURES, (analyst, dataset)


def check_failures(transaction: Transaction, analyst: str, dataset: str) -> None:
    """Refuse questions and later steps of an analyst after too many failures.

    Why: whether a question fails may depend on data. Failures are rare by chance; an analyst who
    causes them learns a little each time, until an owner has looked.
    """
    [(failed,)] = transaction.read(*failures_of(analyst, dataset))
    if failed >= MOST_FAILURES:
        raise AccessError(
            f"{failed} questions of one analyst about {dataset} failed",  # others may wait for them
            why="whether a question fails may depend on data, so it must not happen often",
            fix="ask an owner to look into it and run `discreet ledger readmit`",
        )


def failed(page: Transaction, sequences: Sequence[int]) -> tuple[int, ...]:
    """The charges among these that failed or were cancelled."""
    sql = f"SELECT sequence FROM charges WHERE failed <> 0 AND sequence IN ({marks(sequences)})"  # noqa: S608 - marks
    return tuple(one for (one,) in page.read(sql, sequences))


def may_measure(page: Transaction, sequence: int, order: Order) -> bool:
    """Whether a charge has neither failed nor been cancelled; raises as `check_failures` does."""
    if failed(page, (sequence,)):
        return False
    check_failures(page, order.analyst, order.dataset)
    sql = "SELECT 1 FROM charges WHERE sequence = ? AND measured IS NULL AND released IS NULL"
    if page.read(sql, (sequence,)):
        check_unspoken(page, sequence, sequence, "measured", "released", "failed")
    return True


def readmit(transaction: Transaction, analyst: str, dataset: str, *, by: str, reason: str) -> int:
    """Count an analyst's failed questions and later steps from 0 again; how many there were.

    Charges whose later steps failed when this analyst asked continue. Those that failed when others
    asked do not: it would lift the others' limit.
    """
    stated = {"analyst": analyst, "dataset": dataset, "by": by, "reason": reason}
    for name, value in stated.items():
        named(value, name)
    sql = f"SELECT sequence FROM charges WHERE {_COUNTED} ORDER BY sequence"  # noqa: S608 - a constant
    charges = [one for (one,) in transaction.read(sql, (analyst, dataset))]
    facts = {"analyst": analyst, "dataset": dataset, "failures": len(charges), "reason": reason}
    transaction.append("readmitted", by, {**facts, "charges": charges})
    if charges:
        sql = f"UPDATE charges SET failed = 2, failed_by = NULL WHERE {_COUNTED}"  # noqa: S608 - a constant
        transaction.update(sql, (analyst, dataset), rows=len(charges))
    return len(charges)


# --- workers ------------------------------------------------------------------------------------


def name_worker(nonce: str) -> str:
    """A name for this process: its machine, its number there, and a random part."""
    return f"{_machine()}:{os.getpid()}:{nonce}"


def is_gone(worker: str) -> bool:
    """Whether a worker of this machine has ended; one elsewhere is taken to live.

    Edge cases: a number that was given to another process looks alive, and then its claim has to
    lapse. Being wrong does no harm: of two who compute one answer the first to store it counts.
    """
    machine, number, nonce = [*worker.rsplit(":", 2), "", ""][:3]
    here = bool(nonce) and machine == _machine() and number.isdecimal()
    if not here or sys.platform == "win32":  # there is no signal that only asks there
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


@cache
def _machine() -> str:
    """The machine and the namespace of its process numbers."""
    room = ""
    with suppress(OSError):
        room = Path("/proc/self/ns/pid").readlink().name.strip("pid:[]")
    return f"{socket.gethostname()}/{room}"
