"""Charge first, answer once: the operations that a guarantee rests on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.curator.accounts import Account
from discreet.curator.amounts import cost_units
from discreet.curator.entries import Entry
from discreet.curator.orders import Order, Receipt, State
from discreet.curator.schema import Statement
from discreet.curator.sheet import FOUND, Sheet
from discreet.curator.store import damaged
from discreet.curator.text import digest
from discreet.curator.transaction import Transaction
from discreet.errors import InputError, LedgerError


@dataclass(frozen=True, slots=True)
class Turn:
    """Who computes: a worker that claims a charge, and when.

    Claims stand that were made after `lapsed` and up to `ahead`: one from later on was made by a
    clock that has been set back since.
    """

    worker: str
    now: int
    lapsed: int
    ahead: int


def charge(transaction: Transaction, sheet: Sheet, order: Order, turn: Turn) -> Receipt:
    """Charge an order, unless its question was charged before.

    Guarantee:
        Every account that the order touches is debited, or none is. The second to ask the same
        question debits only accounts of analysts that have not paid for the answer.
    """
    found = _look_up(sheet, order)
    if found is not None:
        _share(transaction, sheet, order, found)
        return _receive(transaction, found, turn)
    debits = _debit(sheet, order, sheet.touched(order.dataset, order.analyst))
    entry = transaction.append("charged", order.analyst, {**order.to_dict(), "debits": debits})
    made = (entry.sequence, order.request, order.question, turn.worker, turn.now)
    columns = "sequence, request, question, worker, claimed, analyst, dataset"
    transaction.insert(f"charges ({columns})", (*made, order.analyst, order.dataset))
    text, known = entry.text, (entry.sequence, order.request, order.question, turn.now)
    sheet.keep((*known, None, None, digest(text), text))
    return Receipt(entry.sequence, order, State.CHARGED)


def complete(transaction: Transaction, receipt: Receipt, release: bytes) -> bytes:
    """Store the answer to a charge; the first one stays, and everybody gets that one."""
    rows = transaction.read(*charge_of(receipt))
    if not rows or rows[0][2] != receipt.order.question:
        raise LedgerError(
            f"there is no charge {receipt.sequence} for this answer",
            why="an answer belongs to the charge that paid for it",
            fix="charge the order first",
        )
    if rows[0][4] is not None:
        return told(*rows[0][4:6])
    facts = {"charge": receipt.sequence, "digest": digest(release), "size": len(release)}
    entry = transaction.append("released", receipt.order.analyst, facts)
    transaction.insert("releases (charge, bytes)", (receipt.sequence, release))
    sql = "UPDATE charges SET released = ? WHERE sequence = ?"
    transaction.update(sql, (entry.sequence, receipt.sequence))
    return release


def charge_of(receipt: Receipt) -> Statement:
    """What `complete` has to read."""
    return f"{FOUND} c.sequence = ?", (receipt.sequence,)


def told(release: Any, answer: str | None) -> bytes:
    """A stored answer, if it is the one that its entry speaks of."""
    stored = bytes(release)
    if answer is not None and Entry.read(answer).facts.get("digest") == digest(stored):
        return stored
    raise damaged("a stored answer is not the one that was released")


def claim_pending(transaction: Transaction, turn: Turn, limit: int) -> tuple[Receipt, ...]:
    """Take over charges whose answer nobody is computing any more."""
    gone = "c.released IS NULL AND (c.claimed <= ? OR c.claimed > ?)"
    values = (turn.lapsed, turn.ahead, limit)
    rows = transaction.read(f"{FOUND} {gone} ORDER BY c.sequence LIMIT ?", values)
    return tuple(_receive(transaction, row, turn) for row in rows)


def _debit(sheet: Sheet, order: Order, accounts: Iterable[Account]) -> dict[str, tuple[str, str]]:
    """Take the price from all accounts; none is changed before all of them can pay."""
    before = list(accounts)
    costs = [cost_units(order.price(one.measure, one.neighbours)) for one in before]
    after = [one.after(cost) for one, cost in zip(before, costs, strict=True)]
    for old, new in zip(before, after, strict=True):
        sheet.put(old, new)
    return {
        one.holder.key: (str(units), str(delta))
        for one, (units, delta) in zip(before, costs, strict=True)
    }


def _look_up(sheet: Sheet, order: Order) -> Sequence[Any] | None:
    attempt = None if order.request is None else sheet.requests.get(order.request)
    if attempt is not None and attempt[2] != order.question:
        raise InputError(
            "a request id was used again for another question",
            why="it stands for the question, version and price it was first used with",
            fix="use a new id for a new question",
        )
    return sheet.charges.get(order.question)


def _share(transaction: Transaction, sheet: Sheet, order: Order, found: Sequence[Any]) -> None:
    """Debit the analyst's own accounts for an answer that others have paid for.

    Why: the dataset's people lose nothing when a number is told twice, but the cap of an analyst
    or a group bounds what they learn, from whomever.
    """
    entry = Entry.read(found[-1])
    if entry.by == order.analyst:
        return
    paid = set(entry.facts["debits"]) | _shares(transaction, entry.sequence)
    owing = [
        one
        for one in sheet.touched(order.dataset, order.analyst)
        if one.holder.kind in ("analyst", "group") and one.holder.key not in paid
    ]
    if owing:
        debits = _debit(sheet, order, owing)
        facts = {"charge": entry.sequence, "request": order.request, "debits": debits}
        transaction.append("shared", order.analyst, facts)
        for key in debits:
            transaction.insert("shares (charge, account)", (entry.sequence, key))


def _shares(transaction: Transaction, sequence: int) -> set[str]:
    rows = transaction.read("SELECT account FROM shares WHERE charge = ?", (sequence,))
    return {key for (key,) in rows}


def _receive(transaction: Transaction, found: Sequence[Any], turn: Turn) -> Receipt:
    """The receipt of a charge that was made before; a lapsed claim passes to this worker."""
    sequence, _, _, claimed, release, answer, hash_, body = found
    if digest(body) != hash_:
        raise damaged(f"the text of entry {sequence} was changed")
    entry = Entry.read(body)
    order = Order.from_dict(entry.by, entry.facts)
    if release is not None:
        return Receipt(sequence, order, State.RELEASED, told(release, answer))
    if turn.lapsed < claimed <= turn.ahead:
        return Receipt(sequence, order, State.PENDING)
    sql = "UPDATE charges SET worker = ?, claimed = ? WHERE sequence = ?"
    transaction.update(sql, (turn.worker, turn.now, sequence))
    return Receipt(sequence, order, State.CHARGED)
