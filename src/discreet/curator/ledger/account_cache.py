"""Accounts that one transaction needs, read in one statement and written back in one."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from discreet.curator.ledger.account_tree import AccountTree
from discreet.curator.ledger.accounts import (
    COLUMNS,
    MEASURES,
    Account,
    Holder,
    analyst,
    dataset,
    workbook,
    write_units,
)
from discreet.curator.ledger.migrations import Statement
from discreet.curator.ledger.orders import Order
from discreet.curator.ledger.transaction import Transaction
from discreet.errors import InputError

FOUND = """SELECT c.sequence, c.request, c.question, c.worker, c.claimed,
m.bytes, b.body, r.bytes, a.body, e.hash, e.body
FROM charges c JOIN entries e ON e.sequence = c.sequence
LEFT JOIN measurements m ON m.charge = c.sequence LEFT JOIN entries b ON b.sequence = c.measured
LEFT JOIN releases r ON r.charge = c.sequence
LEFT JOIN entries a ON a.sequence = c.released WHERE """
"""The columns of `StoredCharge`."""

_KINDS = ("dataset", "link", "group", "workbook", "analyst")

Asker = tuple[str, str, str | None]
"""A dataset, an analyst within it, and the workbook that is asked from."""


class StoredCharge(NamedTuple):
    """A charge that was made before, what was measured for it, its answer, and their entries.

    `outcome` is the entry of the answer, or of the failure that there is instead.
    """

    sequence: int
    request: str | None
    question: str
    worker: str
    claimed: int
    measured: bytes | None
    measuring: str | None
    release: bytes | None
    outcome: str | None
    hash: str
    body: str


class AccountCache:
    """Charges and accounts as they are and as the transaction leaves them.

    Guarantee:
        Totals are written over the totals that were read or not at all (and then nothing of the
        transaction is kept).
    """

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self.charges: dict[str, StoredCharge] = {}
        self.requests: dict[str, StoredCharge] = {}
        self._accounts: dict[str, Account] = {}
        self._joined: dict[str, list[str]] = {}
        self._before: dict[str, Account] = {}
        self._new: list[str] = []

    def read(self, orders: Sequence[Order]) -> None:
        """Look up what was charged before and the accounts that may be debited."""
        if orders:
            for row in self._transaction.read(*_ask_charges(orders)):
                self.keep(StoredCharge(*row))
            self.read_accounts(_askers(orders))

    def keep(self, charge: StoredCharge) -> None:
        """Remember a charge."""
        self.charges[charge.question] = charge
        if charge.request is not None:
            self.requests[charge.request] = charge

    def touched(self, asker: Asker) -> list[Account]:
        """The accounts that a question of an analyst about a dataset debits, the dataset's first.

        An analyst who was never granted a budget has an account that only counts, the last.
        """
        dataset_name, analyst_name, book = asker
        own, mine, *books = _holders(asker)
        root = self._accounts.get(own.key)
        if root is None:
            raise InputError(
                f"dataset {dataset_name} has no account",
                why="a question needs a budget before data is touched",
                fix="open the dataset's account with a budget",
            )
        keys = [own.key, *self._joined.get(own.key, []), *self._joined.get(mine.key, [])]
        counting = Account(mine, root.measure, root.neighbours, None)
        accounts = [self._accounts[key] for key in keys]
        accounts.append(self._accounts.get(mine.key, counting))
        shares = [self._accounts[one.key] for one in books if one.key in self._accounts]
        if books and not shares:
            raise InputError(
                f"{analyst_name} has no workbook {book} of {dataset_name}",
                why="a question is asked from a workbook that was opened by this name",
                fix="open it with curator.workbook(..., name=...) first",
            )
        accounts += shares
        return sorted(accounts, key=lambda one: _KINDS.index(one.holder.kind))

    def knows(self, account: Account) -> bool:
        """Whether an account was opened, or has paid before."""
        return account.holder.key in self._accounts

    def put(self, before: Account, after: Account) -> None:
        """Replace an account."""
        if before.holder.key not in self._accounts:
            self._new.append(before.holder.key)
        self._before.setdefault(before.holder.key, before)
        self._accounts[after.holder.key] = after

    def write_back(self) -> None:
        """Write the accounts that were replaced, over what was read."""
        old = [before for key, before in self._before.items() if key not in self._new]
        for key in self._new:
            self._transaction.insert(f"accounts ({COLUMNS})", self._accounts[key].row())
        if old:
            sql = f"""UPDATE accounts SET spent = column2, spent_delta = column3, entry = column6
            FROM (VALUES {", ".join(["(?, ?, ?, ?, ?, CAST(? AS BIGINT))"] * len(old))}) AS new
            WHERE key = column1 AND spent = column4 AND spent_delta = column5"""  # noqa: S608
            values = [value for before in old for value in self._change(before)]
            self._transaction.update(sql, values, rows=len(old))

    def _change(self, before: Account) -> list[str | int]:
        after = self._accounts[before.holder.key]
        totals = [write_units(part) for part in (*after.spent, *before.spent)]
        return [before.holder.key, *totals, after.entry]

    def read_accounts(self, askers: Iterable[Asker]) -> None:
        """Read the accounts of datasets, of analysts within them, and of their workbooks."""
        who = list(askers)
        for member, *row in self._transaction.read(*_ask_accounts(who)):
            account = Account.read(row)
            self._accounts[account.holder.key] = account
            if member is not None:
                self._joined.setdefault(member, []).append(account.holder.key)
        if self._transaction.tree is not None:
            self._check(self._transaction.tree, _keys(who))

    def _check(self, tree: AccountTree, keys: Sequence[str]) -> None:
        """Refuse what the chain does not say, also of those who are in none of the tables."""
        for key in keys:
            tree.check(key, self._accounts.get(key), self._joined.get(key, ()))
        for joined in {one for key in keys for one in self._joined.get(key, ())}:
            tree.check(joined, self._accounts[joined])


def needed(orders: Sequence[Order]) -> list[Statement]:
    """The keys that `AccountCache.read` will ask for."""
    return [_ask_charges(orders), _ask_accounts(_askers(orders))] if orders else []


def asker_of(order: Order) -> Asker:
    """Who asks an order, of which dataset, from which workbook."""
    return order.dataset, order.analyst, order.workbook


def _askers(orders: Sequence[Order]) -> set[Asker]:
    return set(map(asker_of, orders))


def _ask_charges(orders: Sequence[Order]) -> Statement:
    questions = [one for order in orders for one in (order.question, *order.also)]
    requests = [order.request for order in orders if order.request is not None]
    sql = f"{FOUND} c.question IN ({_marks(questions)})"
    if requests:
        sql += f" OR c.request IN ({_marks(requests)})"
    return sql, (*questions, *requests)


def _ask_accounts(askers: Iterable[Asker]) -> Statement:
    keys = _keys(askers)
    sql = f"""SELECT NULL, {COLUMNS} FROM accounts WHERE key IN ({_marks(keys)})
    UNION ALL SELECT member, {COLUMNS} FROM members JOIN accounts ON key = account
    WHERE member IN ({_marks(keys)})"""  # noqa: S608 - constants
    return sql, (*keys, *keys)


def _keys(askers: Iterable[Asker]) -> list[str]:
    return sorted({holder.key for asker in askers for holder in _holders(asker)})


def _holders(asker: Asker) -> list[Holder]:
    """A dataset, an analyst, and all accounts that a workbook may have."""
    within, name, book = asker
    measures = () if book is None else MEASURES.values()
    books = [workbook(name, str(book), one, within=within) for one in measures]
    return [dataset(within), analyst(name, within=within), *books]


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))
