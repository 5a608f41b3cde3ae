"""LIKE patterns, read once into what they mean."""

from collections.abc import Sequence
from enum import Enum

from discreet.errors import InputError

LONGEST_PATTERN = 1 << 8
"""Characters of a pattern: engines take time in proportion to it for every character of a text."""


class Wildcard(Enum):
    """Wildcards of a pattern."""

    ANY = "%"  # any text, also none
    ONE = "_"  # one code point


def tokens(pattern: str, escape: str | None) -> tuple[str | Wildcard, ...]:
    """A pattern as plain characters and wildcards.

    Edge cases: `escape` before anything but %, _ and itself is refused, also at the end, where
    engines fail, and only for the rows that get that far.

    Example:
        >>> tokens("5!%%", "!")
        ('5', '%', <Wildcard.ANY: '%'>)
    """
    if escape is not None and len(escape) != 1:
        raise InputError(
            f"an escape of {len(escape)} characters",
            why="it has to be one",
            fix="pass one character",
        )
    if len(pattern) > LONGEST_PATTERN:
        raise InputError(
            f"a LIKE pattern of more than {LONGEST_PATTERN} characters",
            why="matching takes time in proportion to it",
            fix="shorten it, or compare parts of the text",
        )
    read: list[str | Wildcard] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            read.append(_plain(next(characters, ""), escape))
        elif character in "%_":
            read.append(Wildcard(character))
        else:
            read.append(character)
    return tuple(read)


def longest_part(pattern: Sequence[str | Wildcard]) -> int:
    """The most characters between two of %: engines look for them at every place of a text.

    Example:
        >>> longest_part(tokens("ab%c_d%", None))
        3
    """
    parts = "".join("%" if token is Wildcard.ANY else "x" for token in pattern).split("%")
    return max(map(len, parts))


def _plain(character: str, escape: str) -> str:
    if character in {"%", "_", escape}:
        return character
    raise InputError(
        f"the LIKE pattern has {escape} where it escapes nothing",
        why=f"after it there has to be %, _ or {escape}",
        fix=f"write {escape}{escape} for the character itself",
    )
