"""One entry of the ledger, and how entries hang on each other.

The text of an entry holds the hash of the entry before it, and its own hash is SHA-256 of that
text. Whoever changes, removes or reorders an entry changes every hash after it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from discreet.curator.canonical_json import canonical, digest

NOTHING: Final = "0" * 64
"""What stands before the first entry."""


@dataclass(frozen=True, slots=True)
class Head:
    """The newest entry: how many there are and what all of them hash to."""

    sequence: int = 0
    hash: str = NOTHING


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger.

    `time` is UTC and informs only: no rule reads it. `facts` are public: plans, prices, digests;
    never an answer and never a value from data.

    Example:
        >>> first = Entry(1, NOTHING, "2026-01-01T00:00:00+00:00", "founded", "owner", {})
        >>> Entry.read(first.text) == first, first.head.sequence
        (True, 1)
    """

    sequence: int
    previous: str
    time: str
    kind: str
    by: str
    facts: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The canonical text, which is what is stored and hashed."""
        return canonical(
            {
                "sequence": self.sequence,
                "previous": self.previous,
                "time": self.time,
                "kind": self.kind,
                "by": self.by,
                "facts": self.facts,
            }
        )

    @property
    def head(self) -> Head:
        """This entry as the newest one."""
        return Head(self.sequence, digest(self.text))

    @staticmethod
    def after(head: Head, kind: str, by: str, facts: Mapping[str, Any]) -> "Entry":
        """The entry that follows `head`."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        return Entry(head.sequence + 1, head.hash, now, kind, by, facts)

    @staticmethod
    def read(text: str) -> "Entry":
        """Read what `text` wrote; ValueError, KeyError or TypeError if it is something else."""
        stored = json.loads(text)
        return Entry(
            stored["sequence"],
            stored["previous"],
            stored["time"],
            stored["kind"],
            stored["by"],
            stored["facts"],
        )
