"""An index of charges by analyst and question.

Charges stand in a table with an index on the analyst and on the dataset; an analyst to whom an
earlier answer was told again is found by the share that their own account paid.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from discreet.curator.ledger.accounts import Holder
from discreet.curator.ledger.accounts import analyst as analyst_holder
from discreet.curator.ledger.migrations import Execute
from discreet.curator.ledger.orders import Entry, Order

NEWEST: Final = 2**62
"""Comes after every entry."""

_FILED: Final = """SELECT c.sequence, e.body, r.body FROM charges c
JOIN entries e ON e.sequence = c.sequence LEFT JOIN entries r ON r.sequence = c.released
WHERE c.sequence """


@dataclass(frozen=True, slots=True)
class ChargedOrder:
    """One charge: its order by whoever asked first, when, what it took, and when it was answered.

    `debits` has whole units of amount and delta for the key of each account. Times are UTC, as the
    entries have them; `answered` is None while there is no answer. `failed` says that there will
    be none; `size` is the bytes of the answer.
    """

    sequence: int
    time: str
    order: Order
    debits: Mapping[str, tuple[int, int]]
    answered: str | None
    failed: bool = False
    size: int = 0

    @staticmethod
    def read(row: Sequence[Any]) -> "ChargedOrder":
        """Read a row of charges beside the entries of the charge and of its answer."""
        _, body, answer = row
        return ChargedOrder.of(Entry.read(body), None if answer is None else Entry.read(answer))

    @staticmethod
    def of(entry: Entry, outcome: Entry | None) -> "ChargedOrder":
        """From the entries of a charge and of its answer or failure, None while there is none."""
        debits = {key: (int(u), int(d)) for key, (u, d) in entry.facts["debits"].items()}
        failed = outcome is not None and outcome.kind == "failed"
        answered = None if outcome is None or failed else outcome.time
        order = Order.from_dict(entry.by, entry.facts)
        size = 0 if answered is None or outcome is None else int(outcome.facts["size"])
        return ChargedOrder(entry.sequence, entry.time, order, debits, answered, failed, size)


def find(execute: Execute, sequence: int) -> ChargedOrder | None:
    """One charge, None where there is none of that number."""
    rows = execute(f"{_FILED} = ?", (sequence,))
    return ChargedOrder.read(rows[0]) if rows else None


def find_question(execute: Execute, question: str) -> ChargedOrder | None:
    """The charge that answers a question, None where it was not asked before."""
    rows = execute("SELECT sequence FROM charges WHERE question = ?", (question,))
    return find(execute, rows[0][0]) if rows else None


def newest(
    execute: Execute, analyst: str | None, datasets: Sequence[str], before: int, limit: int
) -> list[ChargedOrder]:
    """Charges about datasets, newest first: all of them, or those an analyst was told of."""
    numbers = _asked(execute, analyst, datasets, before, limit)
    if analyst is not None:
        numbers |= _shared(execute, analyst, datasets, before, limit)
    wanted = sorted(numbers, reverse=True)[:limit]
    if not wanted:
        return []
    rows = execute(f"{_FILED} IN ({_marks(wanted)}) ORDER BY c.sequence DESC", wanted)
    return [ChargedOrder.read(row) for row in rows]


def paid_by(execute: Execute, books: Sequence[Holder], after: int) -> tuple[ChargedOrder, ...]:
    """Charges that accounts of a workbook paid for, oldest first; it was opened `after` one.

    An answer that others had paid for may be older: the share that it paid tells of it.
    """
    keys, whose = {one.key for one in books}, books[0]
    shares = f"SELECT charge FROM shares WHERE account IN ({_marks(books)})"  # noqa: S608 - marks
    shared = {number for (number,) in execute(shares, sorted(keys))}
    sql = f"""{_FILED} IN (SELECT sequence FROM charges WHERE analyst = ? AND dataset = ?
    AND sequence > ? UNION {shares}) ORDER BY c.sequence"""  # noqa: S608 - constants and marks
    values = (whose.name.rpartition("/")[0], whose.within, after, *sorted(keys))
    found = [ChargedOrder.read(row) for row in execute(sql, values)]
    return tuple(one for one in found if one.sequence in shared or keys & one.debits.keys())


def is_told(execute: Execute, filed: ChargedOrder, analyst: str) -> bool:
    """Whether an analyst asked a question first, or was told its answer later."""
    if filed.order.analyst == analyst:
        return True
    own = analyst_holder(analyst, within=filed.order.dataset).key
    sql = "SELECT 1 FROM shares WHERE charge = ? AND account = ?"
    return bool(execute(sql, (filed.sequence, own)))


def _asked(
    execute: Execute, analyst: str | None, datasets: Sequence[str], before: int, limit: int
) -> set[int]:
    found: set[int] = set()
    who, values = ("", ()) if analyst is None else (" AND analyst = ?", (analyst,))
    for dataset in datasets:
        sql = f"""SELECT sequence FROM charges WHERE sequence < ? AND dataset = ?{who}
        ORDER BY sequence DESC LIMIT ?"""  # noqa: S608 - constants
        found.update(number for (number,) in execute(sql, (before, dataset, *values, limit)))
    return found


def _shared(
    execute: Execute, analyst: str, datasets: Sequence[str], before: int, limit: int
) -> set[int]:
    found: set[int] = set()
    for dataset in datasets:
        own = analyst_holder(analyst, within=dataset).key
        sql = """SELECT charge FROM shares WHERE account = ? AND charge < ?
        ORDER BY charge DESC LIMIT ?"""
        found.update(number for (number,) in execute(sql, (own, before, limit)))
    return found


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))
