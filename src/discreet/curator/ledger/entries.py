"""One entry of the ledger, how entries hang on each other, and the JSON that they are written in.

The text of an entry holds the hash of the entry before it, and its own hash is SHA-256 of that
text. Whoever changes, removes or reorders an entry changes every hash after it.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from discreet.errors import InputError

_encode: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal texts.

    Edge cases: NaN and infinity have no JSON; other types than JSON's are refused.

    Example:
        >>> canonical({"b": 1, "a": ["x", None]})
        '{"a":["x",null],"b":1}'
    """
    try:
        text = _encode(value)
        text.encode()
    except (TypeError, ValueError, RecursionError) as wrong:
        raise InputError(
            "something that goes into the ledger is not plain JSON",
            why=type(wrong).__name__,
            fix="pass texts, integers, finite numbers, lists and mappings with text keys",
        ) from wrong
    return text


def digest(text: str | bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def named(value: object, what: str) -> str:
    """Read a name: any text but the empty one, with no NUL and nothing that UTF-8 cannot write."""
    if isinstance(value, str) and value and "\0" not in value and encodes(value):
        return value
    raise InputError(
        f"{what} is not a name",
        why="a name is a text of at least one character that UTF-8 can write, without NUL",
        fix=f"pass {what} as a plain text",
    )


def encodes(value: str) -> bool:
    """Whether UTF-8 can write a text."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


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
