"""JSON in one form only, and the names that may stand in it."""

import hashlib
import json
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
