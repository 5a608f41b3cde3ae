"""Regular expressions of which every engine finds the same part of a text, in bounded time.

A pattern is a row of single characters, each of a set, that may repeat, with plain groups.

Why engines agree: no set that repeats shares a character with what can follow it. So from a given
start a run of its characters ends where the next character is another one: a shorter run would be
followed by a character that nothing takes. There is one longest match, which greedy engines and
leftmost-longest ones find.

Why time is bounded: engines that keep all states take each of them for each character. Those that
try from each start scan a run once per start, the square of a text's length in all if it is open:
they have to refuse what `runs`.
"""

import math
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from discreet.errors import InputError, QueryRefused

_LONGEST: Final = 1 << 8
_CLASSES: Final = {"d": "0-9", "w": "0-9A-Za-z_", "s": "\t\n\f\r ", "n": "\n", "t": "\t"}
_ESCAPED: Final = r"\\[!-/:-@\[-^`{-~]"
_ONE: Final = rf"(?:{_ESCAPED}|[^\\\[\]^&-])"
_ITEM: Final = re.compile(
    rf"(\((?:\?:)?|\))|(\[\^?-?(?:{_ONE}-{_ONE}|\\[dwsnt]|{_ONE})+-?\]"
    rf"|\\[dwsnt]|{_ESCAPED}|[^\\^$|?*+{{}}\[\]()])([?*+]|\{{\d\d?(?:,(?:\d\d?)?)?\}})?(?![?*+{{])",
    re.DOTALL,
)
_TIMES: Final = {"": "{1}", "?": "{0,1}", "*": "{0,}", "+": "{1,}"}


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that every engine reads alike, with one group, which is extracted.

    `states` are characters that a match takes, a repeat without an end counting as its least and
    one, and long sets as several. It `runs` if it can begin anywhere and repeat without an end.
    """

    text: str
    is_ended: bool
    may_be_empty: bool
    states: int
    runs: bool

    def write(self, end: str, engine: str | None = None) -> str:
        """The pattern, with what anchors the end of a text; for an engine that tries each start."""
        if self.runs and engine:
            raise QueryRefused(
                "a regular expression that can begin anywhere and repeats without an end",
                why=f"{engine} may try it from every character, so that one row could take long",
                fix="begin it with ^, end the repeat as in {1,20}, or use SPLIT_PART",
                code="pattern",
            )
        return self.text + (end if self.is_ended else "")

    def extract(self, text: str) -> str:
        """The group of the first match; empty where there is none."""
        found = re.search(self.write(r"\Z"), text)
        return found[1] if found else ""


@lru_cache(maxsize=256)
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
    body, text, opened = pattern[start : len(pattern) - end], "", 0
    pieces: list[tuple[str, int, float]] = []
    items = list(_ITEM.finditer(body))
    for bracket, one, many in (item.groups("") for item in items):
        opened += bracket == "("
        text += bracket if bracket != "(" or opened == group else "(?:"
        if one:
            text += _written(one) + many
            least, comma, most = _TIMES.get(many, many)[1:-1].partition(",")
            pieces.append((_written(one), int(least), float(most or (least, "inf")[bool(comma)])))
    states = sum(
        int(least + 1 if most == math.inf else most) * (1 + len(one.encode()) // 16)
        for one, least, most in pieces
    )
    runs = not start and any(most == math.inf for *_, most in pieces)
    known = "".join(item[0] for item in items) == body and max(len(body), states) <= _LONGEST
    with suppress(re.error):  # an open group, or a range that ends before it begins
        if known and pieces and opened >= group and re.compile(text) and _is_single(pieces, body):
            text = text if group else f"({text})"
            empty = not any(least for _, least, _ in pieces)
            return Pattern("^" * start + text, end, empty, states, runs)
    raise InputError(
        "a regular expression that is not understood here",
        why="each set of characters that repeats has to differ from what can follow it, without"
        " alternatives, repeated groups and more than 256 repeats: else one row could take long,"
        " and engines disagree",
        fix="write 'ref:([A-Z]+)' or '@([^.]+)', or use SPLIT_PART, SUBSTRING, or CASE with LIKE",
    )


def _written(one: str) -> str:
    """A set of characters as all engines read it; . is all but a line end, as in DuckDB."""
    if one == ".":
        return "[^\n]"
    if one[0] == "[":
        listed = re.findall(rf"{_ONE}-{_ONE}|\\[dwsnt]|{_ONE}|-", one[1:-1].removeprefix("^"))
        return f"[{'^' * (one[1] == '^')}{''.join(map(_member, listed))}]"
    return f"[{_CLASSES[one[1]]}]" if one[1:] in _CLASSES else one


def _member(one: str) -> str:
    """Part of a set; doubled signs mean something to some engines."""
    return f"\\{one}" if one in {*"-|~"} else _CLASSES[one[1]] if one[1:] in _CLASSES else one


def _is_single(pieces: list[tuple[str, int, float]], body: str) -> bool:
    """Whether no repeated piece shares a character with one that can follow it.

    Ranges and their gaps begin at a character of the pattern, or right after one.
    """
    named = {*body, *map(chr, range(128))}
    tried = "".join({*named, "\U0010ffff", *(chr(ord(c) + 1) for c in named if c < "\U0010ffff")})
    sets = [set(re.findall(one, tried)) for one, _, _ in pieces]
    for at, (_, least, most) in enumerate(pieces):
        if most < max(1, least):
            return False
        for after in range(at + 1, len(pieces)) if least != most else ():
            if sets[at] & sets[after]:
                return False
            if pieces[after][1]:
                break
    return True
