"""Revoked tokens according to the ledger: an old token file does not bring one back."""

import threading
import time
from contextlib import suppress
from datetime import datetime
from typing import Final

from discreet.curator.ledger.ledger import Ledger
from discreet.errors import LedgerError

FRESH: Final = 5.0
"""Seconds for which what was read last is taken to be all."""


class Revocations:
    """The revocations in a ledger, read when made and again, beside requests, while it is asked.

    Edge cases: while the ledger cannot be read, what is known stays known.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._times: dict[str, float] = {}
        self._last = 0
        self._until = 0.0
        self._read()

    def __call__(self, token: str) -> float | None:
        """When a token was revoked, None where it was not."""
        if time.monotonic() > self._until and self._lock.acquire(blocking=False):
            self._until = time.monotonic() + FRESH
            threading.Thread(target=self._refresh, daemon=True).start()
        return self._times.get(token)

    def _refresh(self) -> None:
        try:
            with suppress(LedgerError):
                self._read()
        finally:
            self._lock.release()

    def _read(self) -> None:
        self._until = time.monotonic() + FRESH
        for entry in self._ledger.noted("token revoked", after=self._last):
            when = datetime.fromisoformat(entry.time).timestamp()
            self._times.setdefault(entry.facts["token"], when)
            self._last = entry.sequence
