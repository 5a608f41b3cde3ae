"""Accounts that one transaction needs, and the hash over all accounts.

Accounts are read in one statement and written back in one.

An account row that is reset to what an earlier entry left fits that entry; that a later one speaks
of the account could only be seen by reading them all. The newest such entry has a hash over all
accounts, so a reset row, a removed one or a removed membership is found before the next charge.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from discreet.curator.ledger.accounts import (
    COLUMNS,
    Account,
    Holder,
    analyst,
    dataset,
    workbook,
    write_units,
)
from discreet.curator.ledger.migrations import Statement
from discreet.curator.ledger.orders import MEASURES, Asker, Entry, Head, Order, digest
from discreet.curator.ledger.store import damaged
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.curator.ledger.transaction import Transaction

ROOT: Final = "accounts"
"""The fact of an entry that is the hash over all accounts as it leaves them."""

COMMITTED: Final = 5
"""From this version of ledgers on entries that change accounts have it."""

_WIDE: Final = 16
_MOST: Final = 10_000
"""Entries of other processes that are followed one by one; beyond, accounts are read anew."""


class AccountTree:
    """Digest, newest entry and memberships of every account, as the entries state them.

    Guarantee:
        Two trees with one root say the same of every account, up to collisions of SHA-256.
    """

    def __init__(self) -> None:
        self._said: dict[str, tuple[str, int]] = {}
        self._joined: dict[str, set[str]] = {}
        self._leaves: list[dict[str, bytes]] = [{} for _ in range(_WIDE * _WIDE)]
        self._buckets = [_hash(())] * (_WIDE * _WIDE)
        self._rows = [_hash(self._buckets[:_WIDE])] * _WIDE
        self.root = _hash(self._rows).hex()

    @staticmethod
    def of(accounts: Iterable[Account], members: Iterable[tuple[str, str]]) -> "AccountTree":
        """The tree of accounts and of (member, account) pairs."""
        tree = AccountTree()
        tree._said = {one.holder.key: (one.digest, one.entry) for one in accounts}
        for member, account in members:
            tree._joined.setdefault(member, set()).add(account)
        tree._update(tree._said.keys() | tree._joined.keys())
        return tree

    def take(self, sequence: int, facts: Mapping[str, Any]) -> str:
        """Follow an entry that changes accounts; the new root."""
        changed = set(facts["after"])
        for key, said in facts["after"].items():
            self._said[key] = said, sequence
        members = facts.get("members", ()) or ([facts["member"]] if "member" in facts else ())
        for member in members:
            self._joined.setdefault(member, set()).add(facts["account"])
            changed.add(member)
        self._update(changed)
        return self.root

    def check(self, key: str, account: Account | None, joined: Iterable[str] | None = None) -> None:
        """Refuse an account, or its absence, or memberships, that the chain does not say."""
        said = None if account is None else (account.digest, account.entry)
        if said != self._said.get(key):
            what = f"the total or cap of {Holder.read(key)}"
            raise damaged(f"{what} is not what its newest entry left")
        if joined is not None and set(joined) != self._joined.get(key, set()):
            raise damaged(f"the groups or links of {Holder.read(key)} are not those of the entries")

    def _update(self, keys: Iterable[str]) -> None:
        buckets = set()
        for key in keys:
            bucket = hashlib.sha256(key.encode()).digest()[0]
            said, entry = self._said.get(key, ("", 0))
            leaf = "\n".join((key, said, str(entry), *sorted(self._joined.get(key, ()))))
            self._leaves[bucket][key] = hashlib.sha256(leaf.encode()).digest()
            buckets.add(bucket)
        for bucket in buckets:
            self._buckets[bucket] = _hash(sorted(self._leaves[bucket].values()))
        for row in {bucket // _WIDE for bucket in buckets}:
            self._rows[row] = _hash(self._buckets[row * _WIDE : (row + 1) * _WIDE])
        self.root = _hash(self._rows).hex()


class FollowedAccounts:
    """The tree of a ledger, kept from one transaction of this process to the next.

    Edge cases: what other processes added in between is read and must continue what is known. A
    transaction that was undone leaves a head that no ledger has: the tree is then read anew.
    """

    def __init__(self) -> None:
        self._known: tuple[Head, AccountTree] | None = None

    def ahead(self) -> "list[Statement]":
        """The keys that `borrow` will read."""
        return [] if self._known is None else [_after(self._known[0].sequence)]

    def borrow(self, transaction: "Transaction") -> AccountTree:
        """The tree as the head of a transaction has it; nobody else has it until `give_back`."""
        known, self._known = self._known, None
        tree = None if known is None else _followed(transaction, *known)
        return read_tree(transaction) if tree is None else tree

    def give_back(self, head: Head, tree: AccountTree) -> None:
        """Keep the tree for the next transaction."""
        self._known = head, tree


def read_tree(transaction: "Transaction") -> AccountTree:
    """The tree of the tables; LedgerError if the newest entry that has a root says otherwise."""
    tree, newest = read_tables(transaction)
    root = AccountTree().root
    for entry in _linked(transaction.read(*_after(newest - 1)), transaction.head):
        root = entry.facts.get(ROOT, "") if "after" in entry.facts else root
    if root != tree.root:
        raise damaged("totals, caps or memberships are not those of the newest entry")
    return tree


def read_tables(transaction: "Transaction") -> tuple[AccountTree, int]:
    """The tree of the current tables, and the newest entry that they name."""
    accounts = [
        Account.read(row)
        for row in transaction.read(f"SELECT {COLUMNS} FROM accounts")  # noqa: S608 - a constant
    ]
    members = transaction.read("SELECT member, account FROM members")
    pairs = [(member, account) for member, account in members]
    return AccountTree.of(accounts, pairs), max((one.entry for one in accounts), default=0)


def _followed(transaction: "Transaction", head: Head, tree: AccountTree) -> AccountTree | None:
    """The tree as later entries leave it; None if they do not continue what is known."""
    if head == transaction.head:
        return tree
    if not 0 < transaction.head.sequence - head.sequence <= _MOST:
        return None
    rows = transaction.read(*_after(head.sequence))
    first = Entry.read(rows[0][0])
    if (first.sequence, first.previous) != (head.sequence + 1, head.hash):
        return None
    for entry in _linked(rows, transaction.head):
        if "after" in entry.facts and tree.take(entry.sequence, entry.facts) != entry.facts[ROOT]:
            raise damaged(f"entry {entry.sequence} is not about the accounts as they were")
    return tree


def _linked(rows: Sequence[Sequence[Any]], head: Head) -> Iterator[Entry]:
    """Entries that form a chain and end with a head."""
    last = None
    for (body,) in rows:
        entry = Entry.read(body)
        if last is not None and (entry.sequence, entry.previous) != (last.sequence + 1, last.hash):
            raise damaged(f"entry {entry.sequence} does not follow the entry before it")
        last = Head(entry.sequence, digest(body))
        yield entry
    if last is not None and last != head:
        raise damaged("its newest entry is not the one it says it ends with")


def _after(sequence: int) -> "Statement":
    return "SELECT body FROM entries WHERE sequence > ? ORDER BY sequence", (sequence,)


def _hash(parts: Iterable[bytes]) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


# --- single accounts ----------------------------------------------------------------------------
# A total or cap is believed only if the entry that left it so says the same: such entries have the
# digests of accounts under "after", and every account names the newest of them. Readers check that.

ATTESTED: Final = f"{COLUMNS}, attest.hash, attest.body"
"""What `read_attested` reads."""

BY_ENTRY: Final = "LEFT JOIN entries attest ON attest.sequence = accounts.entry"


def after(accounts: Iterable[Account]) -> dict[str, str]:
    """What an entry says about accounts as it leaves them."""
    return {one.holder.key: one.digest for one in accounts}


def read_attested(row: Sequence[Any]) -> Account:
    """An account, if its newest entry says the same; LedgerError if not."""
    *values, hash_, body = row
    account = Account.read(values)
    said = None if body is None else _said(body)
    if said is None or said[0] != hash_ or said[1].get(account.holder.key) != account.digest:
        raise damaged(f"the total or cap of {account.holder} is not what its newest entry left")
    return account


@lru_cache(maxsize=256)
def _said(body: str) -> tuple[str, Mapping[str, str]]:
    return digest(body), Entry.read(body).facts.get("after", {})


FOUND = """SELECT c.sequence, c.request, c.question, c.worker, c.claimed,
m.bytes, b.body, r.bytes, a.body, e.hash, e.body
FROM charges c JOIN entries e ON e.sequence = c.sequence
LEFT JOIN measurements m ON m.charge = c.sequence LEFT JOIN entries b ON b.sequence = c.measured
LEFT JOIN releases r ON r.charge = c.sequence
LEFT JOIN entries a ON a.sequence = c.released WHERE """
"""The columns of `StoredCharge`."""

_KINDS = ("dataset", "link", "group", "workbook", "analyst")


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

    def __init__(self, transaction: "Transaction") -> None:
        self._transaction = transaction
        self.charges: dict[str, StoredCharge] = {}
        self.requests: dict[str, StoredCharge] = {}
        self._accounts: dict[str, Account] = {}
        self._joined: dict[str, list[str]] = {}
        self._before: dict[str, Account | None] = {}

    def read(self, orders: Sequence[Order]) -> None:
        """Look up what was charged before and the accounts that may be debited."""
        if orders:
            for row in self._transaction.read(*_ask_charges(orders)):
                self.keep(StoredCharge(*row))
            self.read_accounts({order.asker for order in orders})

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
        self._before.setdefault(before.holder.key, before if self.knows(before) else None)
        self._accounts[after.holder.key] = after

    def write_back(self) -> None:
        """Write the accounts that were replaced, over what was read."""
        for key in [key for key, before in self._before.items() if before is None]:
            self._transaction.insert(f"accounts ({COLUMNS})", self._accounts[key].row())
        old = [before for before in self._before.values() if before is not None]
        if old:
            sql = f"""UPDATE accounts SET spent = column2, spent_delta = column3, entry = column6
            FROM (VALUES {", ".join(["(?, ?, ?, ?, ?, CAST(? AS BIGINT))"] * len(old))}) AS new
            WHERE key = column1 AND spent = column4 AND spent_delta = column5"""  # noqa: S608
            values: list[str | int] = []
            for before in old:
                after = self._accounts[before.holder.key]
                totals = [write_units(part) for part in (*after.spent, *before.spent)]
                values += [before.holder.key, *totals, after.entry]
            self._transaction.update(sql, values, rows=len(old))

    def read_accounts(self, askers: Iterable[Asker]) -> None:
        """Read the accounts of datasets, of analysts within them, and of their workbooks.

        Everything that the chain does not record is refused, even if it is in none of the tables.
        """
        who = list(askers)
        for member, *row in self._transaction.read(*_ask_accounts(who)):
            account = Account.read(row)
            self._accounts[account.holder.key] = account
            if member is not None:
                self._joined.setdefault(member, []).append(account.holder.key)
        tree, keys = self._transaction.tree, _keys(who)
        if tree is not None:
            for key in keys:
                tree.check(key, self._accounts.get(key), self._joined.get(key, ()))
            for joined in {one for key in keys for one in self._joined.get(key, ())}:
                tree.check(joined, self._accounts[joined])


def needed(orders: Sequence[Order]) -> list[Statement]:
    """The keys that `AccountCache.read` will ask for."""
    askers = {order.asker for order in orders}
    return [_ask_charges(orders), _ask_accounts(askers)] if orders else []


def _ask_charges(orders: Sequence[Order]) -> Statement:
    questions = [one for order in orders for one in (order.question, *order.also)]
    requests = [order.request for order in orders if order.request is not None]
    sql = f"{FOUND} c.question IN ({marks(questions)})"
    if requests:
        sql += f" OR c.request IN ({marks(requests)})"
    return sql, (*questions, *requests)


def _ask_accounts(askers: Iterable[Asker]) -> Statement:
    keys = _keys(askers)
    sql = f"""SELECT NULL, {COLUMNS} FROM accounts WHERE key IN ({marks(keys)})
    UNION ALL SELECT member, {COLUMNS} FROM members JOIN accounts ON key = account
    WHERE member IN ({marks(keys)})"""  # noqa: S608 - constants
    return sql, (*keys, *keys)


def _keys(askers: Iterable[Asker]) -> list[str]:
    return sorted({holder.key for asker in askers for holder in _holders(asker)})


def _holders(asker: Asker) -> list[Holder]:
    """A dataset, an analyst, and all accounts that a workbook may have."""
    within, name, book = asker
    measures = () if book is None else MEASURES.values()
    books = [workbook(name, str(book), one, within=within) for one in measures]
    return [dataset(within), analyst(name, within=within), *books]


def marks(values: Collection[Any]) -> str:
    """Placeholders for values, and what no value equals where there are none."""
    return ", ".join("?" * len(values)) or "NULL"
