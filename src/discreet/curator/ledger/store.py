"""The database interface of the ledger."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol, TypeVar

from discreet.curator.ledger.migrations import Dialect, Execute
from discreet.errors import DiscreetError, LedgerError

T = TypeVar("T")

PATIENCE: Final = 25.0
"""Seconds that anybody waits for others who write: with the work itself it is less than 30."""


class Refused(Exception):  # noqa: N818 - a sentence reads better than a suffix
    """A constraint of the database refused a statement; the transaction was rolled back."""


def overtaken() -> LedgerError:
    """The error for a statement that did not find the rows it was meant for."""
    return LedgerError(
        "a row of the ledger changed under a transaction",
        why="transactions did not happen one after another",
        fix="run `discreet ledger verify`",
    )


@contextmanager
def reading() -> Iterator[None]:
    """Turn what readers stumble over into the error for a ledger that is damaged."""
    try:
        yield
    except DiscreetError:
        raise
    except (LookupError, TypeError, ValueError) as wrong:
        raise damaged("something in it is not what this package writes") from wrong


def damaged(why: str) -> LedgerError:
    """The error for a ledger that was changed by others, or by its disk."""
    return LedgerError(
        "the ledger was changed from outside",
        why=why,
        fix="stop all that use it and copy its whole folder to a safe place, the -wal file too; "
        "then put back the newest copy that `discreet ledger verify` finds whole",
    )


def too_busy(why: str) -> LedgerError:
    """The error for a ledger that others did not let go of in time."""
    return LedgerError(
        "the ledger is too busy",
        why=why,
        fix="ask again: a charge that was made is found, not made twice; if it stays so, look for "
        "a process that was stopped while it was writing, and end it",
    )


@contextmanager
def held(lock: threading.RLock, patience: float) -> Iterator[Callable[[], float]]:
    """Hold a lock; what is given tells how much of the patience is left."""
    until = time.monotonic() + patience
    if not lock.acquire(timeout=max(0.0, patience)):
        raise too_busy(f"another thread has been writing for {patience:g} seconds")
    try:
        yield lambda: max(0.0, until - time.monotonic())
    finally:
        lock.release()


class LedgerStore(Protocol):
    """A database that holds one ledger.

    Guarantee:
        When `transact` returns, what `work` did and everything it read is on disk; when it raises,
        what `work` did is undone, or, after LedgerError only, it may have been done. Transactions
        of all threads, processes and machines happen one after another.
    Edge cases:
        `work` may be run again from the start and must not have other effects. Errors of the
        database come out as LedgerError, constraints as Refused. Nothing waits longer than
        `patience` seconds for others, be they frozen or cut off; then it is LedgerError.
    """

    @property
    def dialect(self) -> Dialect:
        """The SQL it speaks."""

    def transact(self, work: Callable[[Execute], T], *, patience: float = PATIENCE) -> T:
        """Run `work` alone and durably."""

    def snapshot(self, work: Callable[[Execute], T]) -> T:
        """Run `work`, which only reads, on one moment's state, without stopping writers."""

    def close(self) -> None:
        """Let go of connections; a later call opens them again."""
