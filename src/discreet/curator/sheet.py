"""What the orders of one transaction need to know, read at once and written back at once."""

from collections.abc import Iterable, Sequence
from typing import Any

from discreet.curator.accounts import COLUMNS, Account, analyst, dataset
from discreet.curator.amounts import write_units
from discreet.curator.orders import Order
from discreet.curator.transaction import Transaction
from discreet.errors import InputError

FOUND = """SELECT c.sequence, c.request, c.question, c.claimed, r.bytes, e.body
FROM charges c JOIN entries e ON e.sequence = c.sequence
LEFT JOIN releases r ON r.charge = c.sequence WHERE """
"""The columns of a charge that was made before."""

_KINDS = ("dataset", "link", "group", "analyst")


class Sheet:
    """Charges and accounts as they are and as the transaction leaves them.

    Guarantee:
        Totals are written over the totals that were read or not at all (and then nothing of the
        transaction is kept).
    """

    def __init__(self, transaction: Transaction, orders: Iterable[Order]) -> None:
        self.charges: dict[str, Sequence[Any]] = {}
        self.requests: dict[str, Sequence[Any]] = {}
        self._accounts: dict[str, Account] = {}
        self._joined: dict[str, list[str]] = {}
        self._before: dict[str, Account] = {}
        wanted = list(orders)
        if wanted:
            self._read_charges(transaction, wanted)
            self._read_accounts(transaction, wanted)

    def keep(self, charge: Sequence[Any]) -> None:
        """Remember a charge: the values of FOUND."""
        _, request, question, *_ = charge
        self.charges[question] = charge
        if request is not None:
            self.requests[request] = charge

    def touched(self, dataset_name: str, analyst_name: str) -> list[Account]:
        """The accounts that a question of an analyst about a dataset debits, the dataset's first.

        An analyst who was never granted a budget has an account that only counts.
        """
        own, mine = dataset(dataset_name), analyst(analyst_name, within=dataset_name)
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
        return sorted(accounts, key=lambda one: _KINDS.index(one.holder.kind))

    def put(self, before: Account, after: Account) -> None:
        """Replace an account."""
        self._before.setdefault(before.holder.key, before)
        self._accounts[after.holder.key] = after

    def write_back(self, transaction: Transaction) -> None:
        """Write the accounts that were replaced."""
        sql = f"""INSERT INTO accounts ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (key) DO UPDATE SET spent = excluded.spent, spent_delta = excluded.spent_delta
        WHERE accounts.spent = ? AND accounts.spent_delta = ?"""  # noqa: S608 - a constant
        for key, before in self._before.items():
            was = (write_units(part) for part in before.spent)
            transaction.write(sql, (*self._accounts[key].row(), *was))

    def _read_charges(self, transaction: Transaction, orders: Sequence[Order]) -> None:
        questions = [order.question for order in orders]
        requests = [order.request for order in orders if order.request is not None]
        sql = f"{FOUND} c.question IN ({_marks(questions)})"
        if requests:
            sql += f" OR c.request IN ({_marks(requests)})"
        for row in transaction.read(sql, (*questions, *requests)):
            self.keep(row)

    def _read_accounts(self, transaction: Transaction, orders: Sequence[Order]) -> None:
        holders = {dataset(order.dataset) for order in orders}
        holders |= {analyst(order.analyst, within=order.dataset) for order in orders}
        keys = sorted(holder.key for holder in holders)
        sql = f"""SELECT NULL, {COLUMNS} FROM accounts WHERE key IN ({_marks(keys)}) UNION ALL
        SELECT member, {COLUMNS} FROM members JOIN accounts ON key = account
        WHERE member IN ({_marks(keys)})"""  # noqa: S608 - constants
        for member, *row in transaction.read(sql, (*keys, *keys)):
            account = Account.read(row)
            self._accounts[account.holder.key] = account
            if member is not None:
                self._joined.setdefault(member, []).append(account.holder.key)


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))
