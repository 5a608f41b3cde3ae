"""Charges that are answered in steps: who may continue one, and what was released so far.

A released charge may be gone on with by one worker at a time. Each step is an entry with the digest
of its bytes, and is durable before it is reported.
"""

from typing import Final

from discreet.curator.ledger.charging import Turn, check_unspoken
from discreet.curator.ledger.orders import Entry, digest
from discreet.curator.ledger.store import damaged
from discreet.curator.ledger.transaction import Transaction
from discreet.errors import EngineError, LedgerError

NOBODY: Final = ""
"""Who asks for steps that are computed before anybody asks, as those that an append completes."""


def hold(transaction: Transaction, turn: Turn, charge: int) -> bool:
    """Take, or keep, the right to continue a charge.

    False while another worker has it, and where a step failed, until an owner has looked.
    """
    free = is_free(transaction, turn, charge)
    if free:
        sql = "UPDATE charges SET worker = ?, claimed = ? WHERE sequence = ?"
        transaction.update(sql, (turn.worker, turn.now, charge))
    return free


def is_free(transaction: Transaction, turn: Turn, charge: int) -> bool:
    """Whether `hold` would give the turn; reads only."""
    worker, claimed, failed = _claim(transaction, charge)
    return not failed and (worker == turn.worker or not turn.stands(worker, claimed))


def let_go(transaction: Transaction, turn: Turn, charge: int) -> None:
    """Give up the turn, so that the next to ask has it at once."""
    if _claim(transaction, charge)[0] == turn.worker:
        transaction.update("UPDATE charges SET claimed = 0 WHERE sequence = ?", (charge,))


def step(
    transaction: Transaction, turn: Turn, charge: int, number: int, stored: bytes, *, by: str
) -> None:
    """Store the next step of a charge durably, before it is reported.

    LedgerError where another worker has the turn: then nothing may be reported.
    """
    known = _going_on(transaction, turn, charge)
    if number != known + 1:
        raise _not_ours(charge)
    facts = {"charge": charge, "number": number, "digest": digest(stored), "size": len(stored)}
    entry = transaction.append("stepped", by, facts)
    values = (charge, number, entry.sequence, stored)
    transaction.insert("steps (charge, number, entry, bytes)", values)


def fail(transaction: Transaction, turn: Turn, charge: int, *, by: str) -> None:
    """End the steps of a charge: the next one failed. LedgerError as for `step`.

    It counts against its caller, or the analyst of the charge if nobody asked.

    Why: whether a step fails may depend on data. Earlier answers stay; nothing is read for the
    charge again before an owner has looked and readmitted them.
    """
    number = _going_on(transaction, turn, charge) + 1
    transaction.append("failed", by, {"charge": charge, "step": number})
    sql = "UPDATE charges SET failed = 1, failed_by = ? WHERE sequence = ?"
    transaction.update(sql, (by or None, charge))


def step_failure() -> EngineError:
    """The error for a charge whose next step failed, the same for all data."""
    return EngineError(
        "the next step of this order could not be computed",
        why="the engine ran out of time, memory or disk, or met an unexpected error; earlier "
        "answers stay, and nothing new is measured",
        fix="ask an owner to look into it and run `discreet ledger readmit` for whoever asked for "
        "the step, or place another order, which is charged anew",
    )


def has_ended(transaction: Transaction, charge: int) -> bool:
    """Whether a step of a charge failed, and no owner has looked since."""
    return _claim(transaction, charge)[2]


def _going_on(transaction: Transaction, turn: Turn, charge: int) -> int:
    """How many steps there are of a charge whose turn this worker has."""
    worker, _, failed = _claim(transaction, charge)
    if worker != turn.worker or failed:
        raise _not_ours(charge)
    sql = "SELECT COALESCE(MAX(entry), ?) FROM steps WHERE charge = ?"
    ((newest,),) = transaction.read(sql, (charge, charge))
    check_unspoken(transaction, charge, newest, "stepped")
    return len(read_steps(transaction, charge))


def _not_ours(charge: int) -> LedgerError:
    return LedgerError(
        f"another worker continues charge {charge}",
        why="only one worker may, so that each answer is stored before it is told",
        fix="ask again: it continues from what is stored",
    )


def read_steps(transaction: Transaction, charge: int, *, after: int = 0) -> tuple[bytes, ...]:
    """The stored steps of a charge, in order, those that follow number `after`."""
    sql = """SELECT s.number, s.bytes, e.body FROM steps s JOIN entries e ON e.sequence = s.entry
    WHERE s.charge = ? AND s.number > ? ORDER BY s.number"""
    found = []
    for place, (number, stored, body) in enumerate(transaction.read(sql, (charge, after)), 1):
        facts = Entry.read(body).facts
        said = (facts.get("charge"), facts.get("number"), facts.get("digest"))
        if number != after + place or said != (charge, number, digest(bytes(stored))):
            raise damaged("a stored step is lost, or is not the one that the ledger speaks of")
        found.append(bytes(stored))
    return tuple(found)


def is_held(transaction: Transaction, turn: Turn, charge: int) -> bool:
    """Whether this worker has the turn, with most of its time left; reads only."""
    worker, claimed, failed = _claim(transaction, charge)
    half = (turn.now - turn.lapsed) // 2
    return not failed and worker == turn.worker and turn.now - half < claimed <= turn.ahead


def _claim(transaction: Transaction, charge: int) -> tuple[str, int, bool]:
    """Which worker continues it, since when, and whether an unreviewed failure ended it."""
    sql = "SELECT worker, claimed, failed FROM charges WHERE sequence = ? AND released IS NOT NULL"
    rows = transaction.read(sql, (charge,))
    if not rows:
        raise LedgerError(
            f"there is no charge {charge} to continue",
            why="steps follow the release that a charge paid for",
            fix="pass the number of a charge that has a release",
        )
    return str(rows[0][0]), int(rows[0][1]), rows[0][2] == 1
