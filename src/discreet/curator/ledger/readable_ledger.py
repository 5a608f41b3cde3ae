"""The ledger's read-only operations, each on one consistent snapshot, and its export.

The export is lines of JSON that anybody can check without this package. Each line is {"hash": h,
"entry": {...}}: h is SHA-256 of the entry's text exactly as it stands in the line, and the entry's
"previous" is the h of the line before, 64 zeros in the first.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TextIO, TypeVar

from discreet.curator.ledger import account_changes, charge_index, charging, stepping
from discreet.curator.ledger.account_cache import AccountCache, Asker
from discreet.curator.ledger.accounts import COLUMNS, Account, Holder, read_holder
from discreet.curator.ledger.accounts import dataset as dataset_holder
from discreet.curator.ledger.charge_index import ChargedOrder
from discreet.curator.ledger.merkle import MerkleTree, TreeHead
from discreet.curator.ledger.migrations import Execute
from discreet.curator.ledger.orders import Entry, Head, Order, digest
from discreet.curator.ledger.remote_witness import leaves_after
from discreet.curator.ledger.store import LedgerStore, damaged
from discreet.curator.ledger.transaction import Transaction
from discreet.curator.progress import tell
from discreet.errors import LedgerError

_PAGE: Final = 1000
_ROWS: Final = """SELECT sequence, hash, body FROM entries WHERE sequence > ?
ORDER BY sequence LIMIT ?"""


def write_lines(execute: Execute, file: TextIO) -> Head:
    """Write every entry as a line; the head they lead to is the answer."""
    head = Head()
    [(total,)] = execute("SELECT sequence FROM ledger")
    while page := execute(_ROWS, (head.sequence, _PAGE)):
        for sequence, hash_, body in page:
            file.write(f'{{"hash":"{hash_}","entry":{body}}}\n')
            head = Head(sequence, hash_)
        tell("writing entries", head.sequence, total)
    return head


def read_lines(lines: Iterable[str]) -> Iterator[Entry]:
    """Read what `write_lines` wrote; LedgerError at the first line that does not follow."""
    head = Head()
    for line in lines:
        try:
            hash_ = json.loads(line)["hash"]
            body = line.rstrip("\n").removeprefix(f'{{"hash":"{hash_}","entry":').removesuffix("}")
            entry = Entry.read(body)
        except (LookupError, TypeError, ValueError) as wrong:
            raise _broken(head) from wrong
        follows = entry.sequence == head.sequence + 1 and entry.previous == head.hash
        if not follows or digest(body) != hash_:
            raise _broken(head)
        head = Head(entry.sequence, hash_)
        yield entry


def _broken(head: Head) -> LedgerError:
    return LedgerError(
        f"line {head.sequence + 1} of the export does not follow the one before it",
        why="a line was changed, removed or moved",
        fix="export the ledger again",
    )


T = TypeVar("T")


class ReadableLedger:
    """A ledger in a store, to look at."""

    def __init__(self, store: LedgerStore) -> None:
        self._store = store

    def account(self, holder: Holder) -> Account:
        """One account; InputError if there is none."""
        read_holder(holder)
        return self._read(lambda page: account_changes.existing(page, holder))

    def accounts(self) -> tuple[Account, ...]:
        """All accounts, by key."""
        sql = f"SELECT {COLUMNS} FROM accounts ORDER BY key"  # noqa: S608 - a constant
        return self._read(lambda page: tuple(Account.read(row) for row in page.read(sql)))

    def members(self, holder: Holder) -> tuple[Holder, ...]:
        """Members of a group or a link."""
        sql = "SELECT member FROM members WHERE account = ? ORDER BY member"
        key = read_holder(holder).key
        return self._read(lambda page: tuple(Holder.read(one) for (one,) in page.read(sql, (key,))))

    def touched(
        self, dataset: str, analyst: str, workbook: str | None = None
    ) -> tuple[Account, ...]:
        """The accounts that an order would debit; it needs a price in the measure of each."""
        return self._read(lambda page: _touched(page, (dataset, analyst, workbook)))

    def standing(
        self, dataset: str, analyst: str, workbook: str | None = None
    ) -> tuple[tuple[Account, ...], bool]:
        """The accounts that an order would debit, and whether its dataset is retired."""
        return self._read(
            lambda page: (
                _touched(page, (dataset, analyst, workbook)),
                bool(_noted(page.read, _ABOUT, "retired", dataset)),
            )
        )

    def find(self, sequence: int, *, told: str | None = None) -> ChargedOrder | None:
        """One charge; with `told`, only if this analyst asked for it or was told its answer."""

        def work(execute: Execute) -> ChargedOrder | None:
            found = charge_index.find(execute, sequence)
            known = found is None or told is None or charge_index.is_told(execute, found, told)
            return found if known else None

        return self._store.snapshot(work)

    def find_question(self, order: Order) -> ChargedOrder | None:
        """The charge under which an order's analyst was told its answer, None before that."""

        def work(execute: Execute) -> ChargedOrder | None:
            names = (order.question, *order.also)
            each = (charge_index.find_question(execute, one) for one in names)
            found = next((one for one in each if one is not None), None)
            known = found is not None and charge_index.is_told(execute, found, order.analyst)
            return found if known else None

        return self._store.snapshot(work)

    def asked(
        self,
        datasets: Iterable[str],
        *,
        analyst: str | None = None,
        before: int = charge_index.NEWEST,
        limit: int = 100,
    ) -> tuple[ChargedOrder, ...]:
        """Charges about datasets, newest first; with `analyst`, those this one was told of."""
        names = list(datasets)
        return self._store.snapshot(
            lambda execute: tuple(charge_index.newest(execute, analyst, names, before, limit))
        )

    def paid_by(self, books: Sequence[Holder], *, after: int) -> tuple[ChargedOrder, ...]:
        """Charges that accounts of a workbook paid for, oldest first; it was opened `after` one."""
        return self._store.snapshot(lambda execute: charge_index.paid_by(execute, books, after))

    def history(
        self, dataset: str, *, limit: int = 1000
    ) -> tuple[Account, tuple[ChargedOrder, ...]]:
        """A dataset's account and its newest charges, newest first, of one moment."""

        def work(execute: Execute) -> tuple[Account, tuple[ChargedOrder, ...]]:
            account = account_changes.existing(Transaction(execute), dataset_holder(dataset))
            filed = charge_index.newest(execute, None, [dataset], charge_index.NEWEST, limit)
            return account, tuple(filed)

        return self._store.snapshot(work)

    def charges(self, datasets: Iterable[str], *, after: int, until: int) -> list[Entry]:
        """The charges about datasets, in order: those after one number, up to another."""
        names = list(datasets)
        sql = f"""SELECT e.hash, e.body FROM charges c JOIN entries e ON e.sequence = c.sequence
        WHERE c.dataset IN ({", ".join("?" * len(names))}) AND c.sequence > ? AND c.sequence <= ?
        ORDER BY c.sequence"""  # noqa: S608 - marks
        rows = self._store.snapshot(lambda execute: execute(sql, (*names, after, until)))
        return [_genuine(*row) for row in rows]

    def head(self) -> Head:
        """The newest entry's number and hash."""
        return self._read(lambda page: page.head)

    def entries(self, *, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        """Entries in order, those that follow number `after`."""
        sql = "SELECT body FROM entries WHERE sequence > ? ORDER BY sequence LIMIT ?"
        return self._store.snapshot(
            lambda execute: tuple(Entry.read(body) for (body,) in execute(sql, (after, limit)))
        )

    def added(self, table: str, *, at: int = 0) -> Entry | None:
        """The newest entry that says what a table is, None where none does.

        `at` is its number if that is known.
        """
        for entry in self.entries(after=at - 1, limit=1) if at else ():
            if entry.kind == "added" and entry.facts["table"] == table:
                return entry
        found = self._noted(_ABOUT, "added", table)
        return found[-1] if found else None

    def appended(self, table: str) -> tuple[Entry, ...]:
        """The entries of all parts of a table, in order."""
        return self._noted(_ABOUT, "appended", table)

    def retired(self, dataset: str) -> bool:
        """Whether a dataset is asked nothing new, for ever."""
        return bool(self._noted(_ABOUT, "retired", dataset))

    def noted(self, kind: str, *, after: int = 0) -> tuple[Entry, ...]:
        """Entries of a kind in `schema.NOTED`, in order, those that follow number `after`."""
        return self._noted("WHERE n.kind = ? AND n.sequence > ?", kind, after)

    def _noted(self, which: str, *values: str | int) -> tuple[Entry, ...]:
        return self._store.snapshot(lambda execute: _noted(execute, which, *values))

    def tree_head(self) -> TreeHead:
        """The root of the Merkle tree over all entries, for a witness elsewhere to sign."""

        def work(execute: Execute) -> TreeHead:
            tree = MerkleTree(leaves_after(execute, 0))
            [(ledger,)] = execute("SELECT id FROM ledger")
            return TreeHead(ledger, len(tree), tree.root().hex())

        return self._store.snapshot(work)

    def prove_consistency(self, old: int, new: int) -> tuple[str, ...]:
        """Proof that the first `new` entries extend the first `old`."""
        return tuple(step.hex() for step in self._tree().prove_consistency(old, new))

    def prove_inclusion(self, sequence: int, size: int) -> tuple[str, ...]:
        """Proof that an entry is among the first `size`."""
        return tuple(step.hex() for step in self._tree().prove_inclusion(sequence - 1, size))

    def _tree(self) -> MerkleTree:
        return MerkleTree(self._store.snapshot(lambda execute: leaves_after(execute, 0)))

    def export(self, file: TextIO) -> Head:
        """Write every entry as a line of JSON with its hash, and return the head they lead to."""
        return self._store.snapshot(lambda execute: write_lines(execute, file))

    def failed(self, sequences: Sequence[int]) -> tuple[int, ...]:
        """The charges among these that failed or were cancelled."""
        marks = ", ".join("?" * len(sequences))
        sql = f"SELECT sequence FROM charges WHERE failed <> 0 AND sequence IN ({marks})"  # noqa: S608 - marks
        if not sequences:
            return ()
        return self._read(lambda page: tuple(one for (one,) in page.read(sql, sequences)))

    def may_measure(self, sequence: int, order: Order) -> bool:
        """Whether a charge is neither failed nor cancelled by now; as `check_failures` if not."""
        over = bool(self.failed((sequence,)))
        if not over:
            self.check_failures(order.analyst, order.dataset)
        return not over

    def check_failures(self, analyst: str, dataset: str) -> None:
        """AccessError where too many questions and later steps of an analyst have failed."""
        self._read(lambda page: charging.check_failures(page, analyst, dataset))

    def steps(self, charge: int, *, after: int = 0) -> tuple[bytes, ...]:
        """The stored steps of a charge, in order, those that follow number `after`."""
        return self._read(lambda page: stepping.read_steps(page, charge, after=after))

    def has_ended(self, charge: int) -> bool:
        """Whether a later step of a charge failed, and no owner has looked since."""
        return self._read(lambda page: stepping.has_ended(page, charge))

    def _read(self, work: Callable[[Transaction], T]) -> T:
        return self._store.snapshot(lambda execute: work(Transaction(execute)))


def _touched(page: Transaction, asker: Asker) -> tuple[Account, ...]:
    cache = AccountCache(page)
    cache.read_accounts([asker])
    touched = tuple(cache.touched(asker))
    if not cache.knows(touched[-1]):
        account_changes.check_unlike(page, [touched[-1].holder])
    return touched


_ABOUT: Final = "WHERE n.kind = ? AND n.subject = ?"


def _noted(
    read: Callable[..., list[tuple[Any, ...]]], which: str, *values: str | int
) -> tuple[Entry, ...]:
    sql = f"""SELECT e.hash, e.body FROM subjects n JOIN entries e ON e.sequence = n.sequence
    {which} ORDER BY n.sequence"""  # noqa: S608 - constants
    return tuple(_genuine(*row) for row in read(sql, values))


def _genuine(hash_: str, body: str) -> Entry:
    if digest(body) != hash_:
        raise damaged("the text of an entry was changed")
    return Entry.read(body)
