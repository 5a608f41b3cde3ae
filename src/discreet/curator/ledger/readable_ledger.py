"""The ledger's read-only operations, each on one consistent snapshot, and its export.

The export is lines of JSON that anybody can check without this package. Each line is {"hash": h,
"entry": {...}}: h is SHA-256 of the entry's text exactly as in the line, and the entry's "previous"
is the h of the line before, 64 zeros in the first.
"""

from collections.abc import Collection, Sequence
from typing import Any, Final, TextIO

from discreet.curator.ledger import account_changes, charging, stepping
from discreet.curator.ledger.account_cache import FOUND, StoredCharge, marks
from discreet.curator.ledger.accounts import COLUMNS, Account, Holder, read_holder
from discreet.curator.ledger.accounts import analyst as analyst_holder
from discreet.curator.ledger.accounts import dataset as dataset_holder
from discreet.curator.ledger.merkle import MerkleTree, TreeHead
from discreet.curator.ledger.migrations import Execute
from discreet.curator.ledger.orders import (
    NEWEST,
    ChargedOrder,
    Entry,
    Head,
    Order,
    Receipt,
    State,
    digest,
)
from discreet.curator.ledger.remote_witness import leaves_after
from discreet.curator.ledger.store import LedgerStore, damaged
from discreet.curator.ledger.transaction import Transaction, reads
from discreet.curator.progress import tell

# --- the export ---------------------------------------------------------------------------------

_PAGE: Final = 1000
_ROWS: Final = """SELECT sequence, hash, body FROM entries WHERE sequence > ?
ORDER BY sequence LIMIT ?"""


def write_lines(page: Transaction, file: TextIO) -> Head:
    """Write every entry as a line of JSON with its hash, and return the head they lead to."""
    head = Head()
    while rows := page.read(_ROWS, (head.sequence, _PAGE)):
        for sequence, hash_, body in rows:
            file.write(f'{{"hash":"{hash_}","entry":{body}}}\n')
            head = Head(sequence, hash_)
        tell("writing entries", head.sequence, page.head.sequence)
    return head


# --- charges ------------------------------------------------------------------------------------
# They stand in a table with an index on the analyst and on the dataset; an analyst to whom an
# earlier answer was told again is found by the share that their own account paid.

_FILED: Final = """SELECT e.body, r.body FROM charges c
JOIN entries e ON e.sequence = c.sequence LEFT JOIN entries r ON r.sequence = c.released WHERE """


def _filed(page: Transaction, which: str, values: Sequence[Any]) -> tuple[ChargedOrder, ...]:
    return tuple(ChargedOrder.of(*row) for row in page.read(f"{_FILED} {which}", values))


def find(page: Transaction, sequence: int, *, told: str | None = None) -> ChargedOrder | None:
    """One charge; with `told`, only if this analyst asked for it or received its answer."""
    for found in _filed(page, "c.sequence = ?", (sequence,)):
        if told is None or _is_told(page, found, told):
            return found
    return None


def find_question(page: Transaction, order: Order) -> ChargedOrder | None:
    """The charge under which an order's analyst received its answer, None before that."""
    for name in (order.question, *order.also):
        for found in _filed(page, "c.question = ?", (name,)):
            return found if _is_told(page, found, order.analyst) else None
    return None


def _is_told(page: Transaction, filed: ChargedOrder, who: str) -> bool:
    """Whether an analyst asked a question first, or received its answer later."""
    if filed.order.analyst == who:
        return True
    own = analyst_holder(who, within=filed.order.dataset).key
    sql = "SELECT 1 FROM shares WHERE charge = ? AND account = ?"
    return bool(page.read(sql, (filed.sequence, own)))


def find_told(execute: Execute, order: Order) -> tuple[Entry, Receipt] | None:
    """The receipt of an order whose analyst already has its answer, and the answer's entry.

    What `charge` would say without changing anything; None wherever it might change something.
    """
    names = (order.question, *order.also)
    rows = execute(f"{FOUND} c.question IN ({marks(names)})", names)
    each = (StoredCharge(*row) for row in rows)
    found = next((one for one in each if charging.answers(one, order)), None)
    if found is None or found.outcome is None or order.request not in (None, found.request):
        return None
    receipt = charging.receipt_of(found, State.PENDING)
    if receipt.order.analyst != order.analyst:
        mine = analyst_holder(order.analyst, within=order.dataset).key
        groups = execute("SELECT account FROM members WHERE member = ?", (mine,))
        shares = execute("SELECT account FROM shares WHERE charge = ?", (found.sequence,))
        paid = {*Entry.read(found.body).facts["debits"], *(key for (key,) in shares)}
        if not {mine, *(key for (key,) in groups)} <= paid:
            return None
    return Entry.read(found.outcome), receipt


def newest(
    page: Transaction,
    datasets: Collection[str],
    *,
    analyst: str | None = None,
    before: int = NEWEST,
    limit: int = 100,
) -> tuple[ChargedOrder, ...]:
    """Charges about datasets, newest first; with `analyst`, those that this one may see."""
    numbers = set[int]()
    who, values = ("", ()) if analyst is None else (" AND analyst = ?", (analyst,))
    asked = f"""SELECT sequence FROM charges WHERE sequence < ? AND dataset = ?{who}
    ORDER BY sequence DESC LIMIT ?"""  # noqa: S608 - constants
    shared = """SELECT charge FROM shares WHERE account = ? AND charge < ?
    ORDER BY charge DESC LIMIT ?"""
    for dataset in datasets:
        numbers.update(one for (one,) in page.read(asked, (before, dataset, *values, limit)))
        if analyst is not None:
            own = analyst_holder(analyst, within=dataset).key
            numbers.update(one for (one,) in page.read(shared, (own, before, limit)))
    wanted = sorted(numbers, reverse=True)[:limit]
    return _filed(page, f"c.sequence IN ({marks(wanted)}) ORDER BY c.sequence DESC", wanted)


def paid_by(page: Transaction, books: Sequence[Holder], *, after: int) -> tuple[ChargedOrder, ...]:
    """Charges that accounts of a workbook paid for, oldest first; it was opened `after` one.

    An answer that others had paid for may be older: the share that it paid shows it.
    """
    keys, whose = {one.key for one in books}, books[0]
    shares = f"SELECT charge FROM shares WHERE account IN ({marks(books)})"  # noqa: S608 - marks
    shared = {number for (number,) in page.read(shares, sorted(keys))}
    which = f"""c.sequence IN (SELECT sequence FROM charges WHERE analyst = ? AND dataset = ?
    AND sequence > ? UNION {shares}) ORDER BY c.sequence"""  # noqa: S608 - constants and marks
    values = (whose.name.rpartition("/")[0], whose.within, after, *sorted(keys))
    found = _filed(page, which, values)
    return tuple(one for one in found if one.sequence in shared or keys & one.debits.keys())


def history(
    page: Transaction, dataset: str, *, limit: int = 1000
) -> tuple[Account, tuple[ChargedOrder, ...]]:
    """A dataset's account and its newest charges, newest first, of one moment."""
    account = account_changes.existing(page, dataset_holder(dataset))
    return account, newest(page, [dataset], limit=limit)


# --- accounts -----------------------------------------------------------------------------------


def accounts(page: Transaction) -> tuple[Account, ...]:
    """All accounts, by key."""
    sql = f"SELECT {COLUMNS} FROM accounts ORDER BY key"  # noqa: S608 - a constant
    return tuple(Account.read(row) for row in page.read(sql))


def members(page: Transaction, holder: Holder) -> tuple[Holder, ...]:
    """Members of a group or a link."""
    sql = "SELECT member FROM members WHERE account = ? ORDER BY member"
    return tuple(Holder.read(one) for (one,) in page.read(sql, (read_holder(holder).key,)))


# --- entries ------------------------------------------------------------------------------------


def entries(page: Transaction, *, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
    """Entries in order, those that follow number `after`."""
    sql = "SELECT body FROM entries WHERE sequence > ? ORDER BY sequence LIMIT ?"
    return tuple(Entry.read(body) for (body,) in page.read(sql, (after, limit)))


def charges(page: Transaction, datasets: Collection[str], *, after: int, until: int) -> list[Entry]:
    """The charges about datasets, in order: those after one number, up to another."""
    sql = f"""SELECT e.hash, e.body FROM charges c JOIN entries e ON e.sequence = c.sequence
    WHERE c.dataset IN ({marks(datasets)}) AND c.sequence > ? AND c.sequence <= ?
    ORDER BY c.sequence"""  # noqa: S608 - marks
    return [_genuine(*row) for row in page.read(sql, (*datasets, after, until))]


def noted(page: Transaction, kind: str, *, after: int = 0) -> tuple[Entry, ...]:
    """Entries of a kind in `migrations.NOTED`, in order, those that follow number `after`."""
    return _noted(page, "n.kind = ? AND n.sequence > ?", kind, after)


def added(page: Transaction, table: str, *, at: int = 0) -> Entry | None:
    """The newest entry that says what a table is, None where none does.

    `at` is its number if that is known.
    """
    for entry in entries(page, after=at - 1, limit=1) if at else ():
        if entry.kind == "added" and entry.facts["table"] == table:
            return entry
    found = _about(page, "added", table)
    return found[-1] if found else None


def appended(page: Transaction, table: str) -> tuple[Entry, ...]:
    """The entries of all parts of a table, in order."""
    return _about(page, "appended", table)


def _about(page: Transaction, kind: str, subject: str) -> tuple[Entry, ...]:
    return _noted(page, "n.kind = ? AND n.subject = ?", kind, subject)


def _noted(page: Transaction, which: str, *values: str | int) -> tuple[Entry, ...]:
    sql = f"""SELECT e.hash, e.body FROM subjects n JOIN entries e ON e.sequence = n.sequence
    WHERE {which} ORDER BY n.sequence"""  # noqa: S608 - constants
    return tuple(_genuine(*row) for row in page.read(sql, values))


def _genuine(hash_: str, body: str) -> Entry:
    if digest(body) != hash_:
        raise damaged("the text of an entry was changed")
    return Entry.read(body)


def tree_head(page: Transaction) -> TreeHead:
    """The root of the Merkle tree over all entries, for a witness elsewhere to sign."""
    tree = _tree(page)
    return TreeHead(page.ledger, len(tree), tree.root().hex())


def prove_consistency(page: Transaction, old: int, new: int) -> tuple[str, ...]:
    """Proof that the first `new` entries extend the first `old`."""
    return tuple(step.hex() for step in _tree(page).prove_consistency(old, new))


def prove_inclusion(page: Transaction, sequence: int, size: int) -> tuple[str, ...]:
    """Proof that an entry is among the first `size`."""
    return tuple(step.hex() for step in _tree(page).prove_inclusion(sequence - 1, size))


def _tree(page: Transaction) -> MerkleTree:
    return MerkleTree(leaves_after(page, 0))


class ReadableLedger:
    """A ledger in a store, to look at."""

    def __init__(self, store: LedgerStore) -> None:
        self._store = store

    def head(self) -> Head:
        """The newest entry's number and hash."""
        return self._store.snapshot(lambda execute: Transaction(execute).head)

    account = reads(account_changes.existing)
    accounts = reads(accounts)
    members = reads(members)
    touched = reads(charging.touched)
    standing = reads(charging.standing)

    find = reads(find)
    find_question = reads(find_question)
    asked = reads(newest)
    paid_by = reads(paid_by)
    history = reads(history)
    failed = reads(charging.failed)
    may_measure = reads(charging.may_measure)
    check_failures = reads(charging.check_failures)
    steps = reads(stepping.read_steps)
    has_ended = reads(stepping.has_ended)

    entries = reads(entries)
    charges = reads(charges)
    noted = reads(noted)
    added = reads(added)
    appended = reads(appended)
    retired = reads(charging.retired)

    tree_head = reads(tree_head)
    prove_consistency = reads(prove_consistency)
    prove_inclusion = reads(prove_inclusion)
    export = reads(write_lines)
