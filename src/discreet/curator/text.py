"""JSON in one form only, and the names that may stand in it."""

import hashlib
import json
import re
import unicodedata
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
    if isinstance(value, str) and value and "\0" not in value and _encodes(value):
        return value
    raise InputError(
        f"{what} is not a name",
        why="a name is a text of at least one character that UTF-8 can write, without NUL",
        fix=f"pass {what} as a plain text",
    )


# What shows nothing besides control and format characters: joiners, fillers, variation selectors.
_BLANK: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\ufe00-\ufe0f\ufff0-\ufff8"
    "\U000e0000-\U000e0fff]"
)

# Cyrillic and Greek letters that look like Latin ones, small or as capitals.
_LIKE: Final = str.maketrans(
    "авекмнорстухіјѕһԁԛԝӏαβεζηικμνορτυχ", "abekmhopctyxijshdqwlabezhikmvoptyx"
)


def folded(name: str) -> str:
    """A name as people read it: without case, width, alphabet, and what cannot be seen.

    Example:
        >>> folded("Visits") == folded("\uff56isits") == folded("vis\u200bits") == "visits"
        True
        >>> folded("\u0410lice") == "alice"
        True
    """
    wide = unicodedata.normalize("NFKC", name).casefold()
    seen = "".join(c for c in wide if c.isspace() or unicodedata.category(c) not in ("Cc", "Cf"))
    plain = unicodedata.normalize("NFKC", _BLANK.sub("", seen)).translate(_LIKE)
    return " ".join(plain.split())


def _encodes(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
