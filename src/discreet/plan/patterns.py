"""Regular expressions of which every engine finds the same part of a text, in bounded time.

A pattern is a row of single characters, each of a set, that may repeat, with groups in parentheses.

Why engines agree: no set that repeats shares a character with what can follow it. So from a given
start a run of its characters ends where the next character is another one: a shorter run would be
followed by a character that nothing takes. There is one longest match, which greedy engines and
leftmost-longest ones find, and trying from each start takes at most the square of a text's length.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from discreet.errors import InputError

_LONGEST: Final = 1 << 8
_CLASSES: Final = {"d": "0-9", "w": "0-9A-Za-z_", "s": "\t\n\f\r ", "n": "\n", "t": "\t"}
_ONE: Final = r"(?:\\[^\w\s]|[^\\\[\]^&-])"
_ITEM: Final = re.compile(
    rf"(\((?:\?:)?)|(\))|(\[\^?-?(?:{_ONE}-{_ONE}|\\[dwsnt]|{_ONE})+-?\]"
    r"|\\[dwsnt]|\\[^\w\s]|[^\\^$|?*+{}\[\]()])([?*+]|\{\d\d?(?:,(?:\d\d?)?)?\})?(?![?*+{])",
    re.DOTALL,
)
_REPEATED: Final = {"": "{1}", "?": "{0,1}", "*": "{0,}", "+": "{1,}"}


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that every engine reads alike, with one group, which is extracted."""

    text: str
    is_ended: bool
    may_be_empty: bool

    def write(self, end: str) -> str:
        """The pattern, with what anchors the end of a text."""
        return self.text + (end if self.is_ended else "")

    def extract(self, text: str) -> str:
        """The group of the first match; empty where there is none."""
        found = re.search(self.write(r"\Z"), text)
        return found[1] if found else ""


def read_pattern(pattern: str, group: int) -> Pattern:
    """The pattern that a text means, of which one group is extracted; 0 is all of it.

    Example:
        >>> read_pattern("https?://([^/]+)", 1).extract("see https://example.org/page")
        'example.org'
        >>> read_pattern("a*ab", 0)
        Traceback (most recent call last):
        ...
        discreet.errors.InputError: a regular expression that is not understood here: ...
    """
    start, end = pattern.startswith("^"), pattern.endswith("$") and pattern[-2:] != r"\$"
    body = pattern[start : len(pattern) - end]
    pieces, groups, span, inside, at = list[str](), [[0, 0]], [0, 0], False, 0
    for item in _ITEM.finditer(body):
        opened, closed, one, many = item.groups("")
        if item.start() != at or (inside and opened) or (closed and not inside):
            raise _refusal()
        at, inside = item.end(), bool(opened) or (inside and not closed)
        if one:
            pieces.append(_written(one) + _REPEATED.get(many, many))
        elif opened:
            span = [len(pieces), 0]
            groups += [span] if opened == "(" else []
        else:
            span[1] = len(pieces)
    groups[0][1] = len(pieces)
    if inside or at < len(body) or not 0 < len(body) <= _LONGEST or group >= len(groups):
        raise _refusal()
    if not _is_single(pieces, {*body, *map(chr, range(128)), "\U0010ffff"}):
        raise _refusal()
    first, last = groups[group]
    text = "".join([*pieces[:first], "(", *pieces[first:last], ")", *pieces[last:]])
    may_be_empty = all(_times(piece)[0] == 0 for piece in pieces)
    return Pattern("^" * start + text, end, may_be_empty)


def _written(one: str) -> str:
    """A set of characters as all engines read it; . is all but a line end, as in DuckDB."""
    if one == ".":
        return "[^\n]"
    if one[0] == "[":
        listed = re.sub(r"^(\[\^?)-|-\]$", lambda m: m[0].replace("-", r"\-"), one)
        return re.sub(r"\\([a-z])", lambda m: _CLASSES[m[1]], listed)
    return f"[{_CLASSES[one[1]]}]" if one[1:] in _CLASSES else one


def _times(piece: str) -> tuple[int, int | None]:
    """How often a piece repeats at least, and at most."""
    least, comma, most = piece[piece.rindex("{") + 1 : -1].partition(",")
    return int(least), int(most) if most else None if comma else int(least)


def _is_single(pieces: Sequence[str], characters: set[str]) -> bool:
    """Whether no repeated piece shares a character with one that can follow it.

    Ranges and their gaps begin at a character of the pattern, or right after one.
    """
    tried = characters | {chr(min(ord(c) + 1, 0x10FFFF)) for c in characters}
    try:
        sets = [{c for c in tried if re.fullmatch(p[: p.rindex("{")], c)} for p in pieces]
    except re.error:  # a range that ends before it begins
        return False
    for at, piece in enumerate(pieces):
        least, most = _times(piece)
        if most is not None and most < max(1, least):
            return False
        for after in range(at + 1, len(pieces)) if least != most else ():
            if sets[at] & sets[after]:
                return False
            if _times(pieces[after])[0]:
                break
    return True


def _refusal() -> InputError:
    return InputError(
        "a regular expression that is not understood here",
        why="each set of characters that repeats has to differ from what can follow it, without"
        " alternatives and repeated groups: else one row could take long, and engines disagree",
        fix="write 'ref:([A-Z]+)' or '@([^.]+)', or use SPLIT_PART, SUBSTRING, or CASE with LIKE",
    )
