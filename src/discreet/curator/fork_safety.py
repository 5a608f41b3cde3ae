"""Renew what a fork does not carry over: locks, threads, and open files of the ledger.

POSIX locks are not inherited by a child, but what SQLite remembers of them is. A child with an
inherited connection, or a new one in addition, relies on locks that nobody holds: when the parent
closes its own, it deletes the log under the child, and what the child charges is lost. So a fork
waits until no thread uses such a file, and closes those that are idle; parent and child open theirs
anew. Whatever has locks or threads begins anew in the child.
"""

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol
from weakref import WeakSet

from discreet.errors import LedgerError

PATIENCE: Final = 30.0
"""Seconds that a fork waits for threads that use the ledger."""


class Closable(Protocol):
    """An object that keeps a file open between uses."""

    def close(self) -> None:
        """Let go of the file."""


class Renewable(Protocol):
    """An object whose locks, threads or connections a forked child has to renew."""

    def renew(self) -> None:
        """Begin anew, without touching what the parent has."""


class Forks:
    """The users of ledger files in this process, and whether it may use them at all.

    Edge cases:
        A child that was forked in the middle of a use, by the thread that uses or after PATIENCE,
        or without the hooks of Python, is refused every use.
    """

    def __init__(self) -> None:
        self._idle: WeakSet[Closable] = WeakSet()
        self._renewable: WeakSet[Renewable] = WeakSet()
        self.spoiled = False
        """Whether files of ledgers were open when this process was forked."""
        self._renew()

    def _renew(self) -> None:
        self._closed = False
        self._users: Counter[int] = Counter()
        self._changed = threading.Condition()

    @contextmanager
    def use(self, kept_open: Closable | None = None) -> Iterator[None]:
        """Use a file of a ledger; `kept_open` stays open afterwards."""
        self._check()
        me = threading.get_ident()
        with self._changed:
            self._users[me] += 1
            if kept_open is not None:
                self._idle.add(kept_open)
        try:
            yield
        finally:
            with self._changed:
                self._users -= Counter({me: 1})
                self._changed.notify_all()

    def renew_in_child(self, one: Renewable) -> None:
        """Call its `renew` in every forked child, before anything else happens there."""
        self._renewable.add(one)

    def _check(self) -> None:
        if self.spoiled:
            raise LedgerError(
                "this process was forked while the ledger was in use",
                why="locks on the ledger's files do not survive a fork, so charges could be lost",
                fix="fork while no question is under way, or start the process with spawn",
            )

    def before(self) -> None:
        """Wait for others, and close what is idle; nobody begins until the fork is over."""
        me = threading.get_ident()
        self._changed.acquire()
        self._changed.wait_for(lambda: not self._users.keys() - {me}, timeout=PATIENCE)
        if not self._users:
            for one in list(self._idle):
                one.close()
            self._idle.clear()
            self._closed = True

    def after_in_parent(self) -> None:
        """Let others continue."""
        self._closed = False
        self._changed.release()

    def after_in_child(self) -> None:
        """Begin anew: the parent's threads are not here."""
        self.spoiled = self.spoiled or (not self._closed and bool(self._users or self._idle))
        self._renew()
        for one in list(self._renewable):
            one.renew()


FORKS: Final = Forks()

if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows has none
    os.register_at_fork(
        before=FORKS.before,
        after_in_parent=FORKS.after_in_parent,
        after_in_child=FORKS.after_in_child,
    )
