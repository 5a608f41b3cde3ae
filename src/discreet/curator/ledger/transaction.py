"""One transaction on the ledger: what every operation appends to."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from discreet.curator.canonical_json import digest
from discreet.curator.ledger.account_tree import ROOT, AccountTree, FollowedAccounts, read_tree
from discreet.curator.ledger.entries import Entry, Head
from discreet.curator.ledger.migrations import NOTED, Change, Execute, Statement
from discreet.curator.ledger.witness import Sighting
from discreet.errors import InputError, LedgerError

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
        """Change so many rows, at the latest before the next is read, after what is inserted."""
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
        _check_size(text)
        self.head = Head(entry.sequence, digest(text))
        values = (entry.sequence, self.head.hash, text)
        self.insert("entries (sequence, hash, body)", values)
        subject = facts.get(NOTED[kind]) if kind in NOTED else None
        if isinstance(subject, str):
            self.insert("subjects (sequence, kind, subject)", (entry.sequence, kind, subject))
        return entry

    def finish(self) -> None:
        """Keep the moved head."""
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
        """Refuse to go on if something that a witness saw is not there.

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


def entry_seen(seen: Sighting) -> Statement:
    """The key that `check` reads if the ledger has moved on."""
    return "SELECT hash FROM entries WHERE sequence = ?", (seen.head.sequence,)


def _check_size(text: str) -> None:
    size = len(text.encode())
    if size > MOST_BYTES:
        raise InputError(
            f"an entry of {size:,} bytes",
            why=f"the ledger keeps every entry for ever, and each has {MOST_BYTES:,} bytes at most",
            fix="ask a shorter question, or name fewer at a time",
        )


def _insert_all(table: str, rows: Sequence[Sequence[Any]]) -> Change:
    """One statement for many rows: in a batch, most of the time goes by the statement."""
    marks = f"({', '.join('?' * len(rows[0]))})"
    sql = f"INSERT INTO {table} VALUES {', '.join([marks] * len(rows))}"  # noqa: S608 - constants
    return sql, [value for row in rows for value in row], len(rows)
