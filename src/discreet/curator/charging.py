"""Charge first, answer once: the operations that a guarantee rests on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.curator.accounts import COLUMNS, Account, Holder, analyst, dataset
from discreet.curator.amounts import cost_units, write_units
from discreet.curator.entries import Entry
from discreet.curator.orders import Order, Receipt, State
from discreet.curator.text import digest
from discreet.curator.transaction import Transaction
from discreet.errors import InputError, LedgerError

_FOUND = """SELECT c.sequence, c.request, c.question, c.worker, c.claimed, r.bytes, e.body
FROM charges c JOIN entries e ON e.sequence = c.sequence
LEFT JOIN releases r ON r.charge = c.sequence WHERE """
_TOUCHED = f"""SELECT {COLUMNS} FROM accounts WHERE key IN (?, ?)
OR key IN (SELECT account FROM members WHERE member IN (?, ?))"""  # noqa: S608 - a constant
_ORDER = ("dataset", "link", "group", "analyst")


@dataclass(frozen=True, slots=True)
class Turn:
    """Who computes: a worker that claims a charge, when, and since when claims have lapsed."""

    worker: str
    now: int
    lapsed: int


def charge(transaction: Transaction, order: Order, turn: Turn) -> Receipt:
    """Charge an order, unless its question was charged before.

    Guarantee:
        Every account that the order touches is debited, or none is. The second to ask the same
        question debits only accounts of analysts that have not paid for the answer.
    """
    found = _look_up(transaction, order)
    if found is not None:
        _share(transaction, order, found)
        return _receive(transaction, found, turn)
    debits = _debit(transaction, order, touched(transaction, order.dataset, order.analyst))
    entry = transaction.append("charged", order.analyst, {**order.to_dict(), "debits": debits})
    transaction.write(
        "INSERT INTO charges (sequence, request, question, worker, claimed) VALUES (?, ?, ?, ?, ?)",
        (entry.sequence, order.request, order.question, turn.worker, turn.now),
    )
    return Receipt(entry.sequence, order, State.CHARGED)


def complete(transaction: Transaction, receipt: Receipt, release: bytes) -> bytes:
    """Store the answer to a charge; the first one stays, and everybody gets that one."""
    rows = transaction.read(f"{_FOUND} c.sequence = ?", (receipt.sequence,))
    if not rows or rows[0][2] != receipt.order.question:
        raise LedgerError(
            f"there is no charge {receipt.sequence} for this answer",
            why="an answer belongs to the charge that paid for it",
            fix="charge the order first",
        )
    stored: bytes | None = rows[0][5]
    if stored is not None:
        return bytes(stored)
    facts = {"charge": receipt.sequence, "digest": digest(release), "size": len(release)}
    entry = transaction.append("released", receipt.order.analyst, facts)
    values = (receipt.sequence, release)
    transaction.write("INSERT INTO releases (charge, bytes) VALUES (?, ?)", values)
    values_ = (entry.sequence, receipt.sequence)
    transaction.write("UPDATE charges SET released = ? WHERE sequence = ?", values_)
    return release


def claim_pending(transaction: Transaction, turn: Turn, limit: int) -> tuple[Receipt, ...]:
    """Take over charges whose answer nobody is computing any more."""
    where = "c.released IS NULL AND c.claimed <= ? ORDER BY c.sequence LIMIT ?"
    rows = transaction.read(_FOUND + where, (turn.lapsed, limit))
    return tuple(_receive(transaction, row, turn) for row in rows)


def touched(transaction: Transaction, dataset_name: str, analyst_name: str) -> list[Account]:
    """The accounts that a question of an analyst about a dataset debits, the dataset's first."""
    keys = dataset(dataset_name).key, analyst(analyst_name, within=dataset_name).key
    rows = transaction.read(_TOUCHED, (*keys, *keys))
    accounts = {one.holder.kind: [] for one in map(Account.read, rows)}  # type: dict[str, list[Account]]
    for one in map(Account.read, rows):
        accounts[one.holder.kind].append(one)
    if "dataset" not in accounts:
        raise InputError(
            f"dataset {dataset_name} has no account",
            why="a question needs a budget before data is touched",
            fix="open the dataset's account with a budget",
        )
    [root] = accounts["dataset"]
    mine = Account(analyst(analyst_name, within=dataset_name), root.measure, root.neighbours, None)
    accounts.setdefault("analyst", [mine])
    return [one for kind in _ORDER for one in accounts.get(kind, [])]


def _debit(
    transaction: Transaction, order: Order, accounts: Iterable[Account]
) -> dict[str, tuple[str, str]]:
    """Take the price from all accounts; nothing is written before all of them can pay."""
    before = list(accounts)
    costs = [cost_units(order.price(one.measure, one.neighbours)) for one in before]
    after = [one.after(cost) for one, cost in zip(before, costs, strict=True)]
    for old, new in zip(before, after, strict=True):
        _replace(transaction, old, new)
    return {
        one.holder.key: (str(units), str(delta))
        for one, (units, delta) in zip(before, costs, strict=True)
    }


def _replace(transaction: Transaction, old: Account, new: Account) -> None:
    """Write a total only over the total that was read."""
    sql = """INSERT INTO accounts (key, measure, neighbours, cap, cap_delta, spent, spent_delta)
    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE
    SET spent = excluded.spent, spent_delta = excluded.spent_delta
    WHERE accounts.spent = ? AND accounts.spent_delta = ? RETURNING 1"""
    was = (write_units(part) for part in old.spent)
    if not transaction.write(sql, (*new.row(), *was)):
        raise LedgerError(
            f"the total of {old.holder} changed under a charge",
            why="transactions did not happen one after another",
            fix="run `discreet ledger verify`",
        )


def _look_up(transaction: Transaction, order: Order) -> tuple[Any, ...] | None:
    question = order.question
    rows = transaction.read(_FOUND + "c.request = ? OR c.question = ?", (order.request, question))
    for row in rows:
        if order.request is not None and row[1] == order.request and row[2] != question:
            raise InputError(
                "a request id was used again for another question",
                why="it stands for the question, version and price it was first used with",
                fix="use a new id for a new question",
            )
    return rows[0] if rows else None


def _share(transaction: Transaction, order: Order, found: Sequence[Any]) -> None:
    """Debit the analyst's own accounts for an answer that others have paid for.

    Why: the dataset's people lose nothing when a number is told twice, but the cap of an analyst
    or a group bounds what they learn, from whomever.
    """
    entry = Entry.read(found[6])
    if entry.by == order.analyst:
        return
    paid = set(entry.facts["debits"]) | _shares(transaction, found[0])
    owing = [
        one
        for one in touched(transaction, order.dataset, order.analyst)
        if one.holder.kind in ("analyst", "group") and one.holder.key not in paid
    ]
    if owing:
        debits = _debit(transaction, order, owing)
        facts = {"charge": entry.sequence, "request": order.request, "debits": debits}
        transaction.append("shared", order.analyst, facts)
        for key in debits:
            sql = "INSERT INTO shares (charge, account) VALUES (?, ?)"
            transaction.write(sql, (entry.sequence, key))


def _shares(transaction: Transaction, sequence: int) -> set[str]:
    rows = transaction.read("SELECT account FROM shares WHERE charge = ?", (sequence,))
    return {key for (key,) in rows}


def _receive(transaction: Transaction, found: Sequence[Any], turn: Turn) -> Receipt:
    """The receipt of a charge that was made before; a lapsed claim passes to this worker."""
    sequence, _, _, _, claimed, release, body = found
    entry = Entry.read(body)
    order = Order.from_dict(entry.by, entry.facts)
    if release is not None:
        return Receipt(sequence, order, State.RELEASED, bytes(release))
    if claimed > turn.lapsed:
        return Receipt(sequence, order, State.PENDING)
    sql = "UPDATE charges SET worker = ?, claimed = ? WHERE sequence = ?"
    transaction.write(sql, (turn.worker, turn.now, sequence))
    return Receipt(sequence, order, State.CHARGED)


def holders(debits: Mapping[str, Any]) -> list[Holder]:
    """Whose accounts a charge debited."""
    return [Holder.read(key) for key in debits]
