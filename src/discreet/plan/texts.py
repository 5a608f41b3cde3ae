"""Types of functions of text, and the kinds of operands that calls take."""

import math
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import TypeAlias

from discreet.errors import InputError
from discreet.plan.expressions import Call, Expression, Function, Literal
from discreet.plan.keylists import mapped, truth
from discreet.plan.kinds import Kind, Range, Type, Value
from discreet.plan.numeric import ResultType
from discreet.plan.patterns import Pattern, read_pattern

Rule: TypeAlias = Callable[[Call, Sequence[Type]], ResultType]
"""The type of a call whose operands have these types."""

NUMBERS = frozenset({Kind.INTEGER, Kind.REAL})
TIMES = frozenset({Kind.DATE, Kind.TIMESTAMP})


def expect(call: Call, operands: Sequence[Type], kinds: "set[Kind] | frozenset[Kind]") -> None:
    """Refuse operands of other kinds."""
    if all(of.kind in kinds for of in operands):
        return
    wanted = " or ".join(kind.value for kind in Kind if kind in kinds)
    raise InputError(
        f"{call.function.value} of {names(operands)}",
        why=f"it takes {wanted}",
        fix=f"cast the value to {wanted}, or use another function",
    )


def names(operands: Sequence[Type]) -> str:
    """The kinds of operands, in words."""
    return " and ".join(of.kind.value for of in operands)


def literal(expression: Expression) -> Value:
    """The value of a literal; None for anything else."""
    return expression.value if isinstance(expression, Literal) else None


def over(
    kinds: "set[Kind] | frozenset[Kind]", rule: Callable[[Sequence[Type]], ResultType]
) -> Rule:
    """The rule of a function whose arguments are all of these kinds."""

    def typed(call: Call, operands: Sequence[Type]) -> ResultType:
        expect(call, operands, kinds)
        return rule(operands)

    return typed


def of_truth(operands: Sequence[Type]) -> ResultType:
    """A truth value that is NULL only where an operand is."""
    return ResultType(truth(nullable=any(of.nullable for of in operands)))


_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
TO_LOWER = str.maketrans(_UPPER, _UPPER.lower())
TO_UPPER = str.maketrans(_UPPER.lower(), _UPPER)
LONGEST_CONCAT = 1 << 14
"""Code points; a longer CONCAT is NULL, lest doubling a text over and over exhausts an engine."""

LONGEST_TEXT = 1 << 10
"""Code points that are read of a stored text, so that no row decides how long a question takes."""


def longest_stored(of: Type) -> int:
    """The code points that are read of a stored text: enough to distinguish all declared keys.

    One more than the key has: a text that only begins like it is another.
    """
    return max([LONGEST_TEXT, *(len(key) + 1 for key in of.keys or () if isinstance(key, str))])


def _mapped(
    function: Callable[[Call], Callable[[str], str]], call: Call, operands: Sequence[Type]
) -> ResultType:
    """A function of one text, whose other arguments are literals."""
    expect(call, operands[:1], {Kind.TEXT})
    nullable = operands[0].nullable
    keys = mapped(operands[0], function(call), nullable=nullable)
    return ResultType(Type(Kind.TEXT, nullable, keys=keys))


def _replace(call: Call, operands: Sequence[Type]) -> ResultType:
    """A text that does not grow stays as short as it was."""
    expect(call, operands, {Kind.TEXT})
    what, by = replacement(call)
    grows = len(by) > len(what)
    nullable = grows or operands[0].nullable
    return ResultType(Type(Kind.TEXT, nullable), strays=grows)


def split(text: str, limits: tuple[str, int]) -> str:
    """One of the parts between marks, from 1; empty where there are fewer."""
    mark, place = limits
    return dict(enumerate(text.split(mark), start=1)).get(place, "")


def extraction(call: Call) -> Pattern:
    """The pattern whose group REGEXP_EXTRACT takes."""
    pattern, group = (literal(part) for part in call.arguments[1:])
    if isinstance(pattern, str) and type(group) is int and group >= 0:
        return read_pattern(pattern, group)
    raise InputError(
        "the pattern of regexp_extract",
        why="it has to be a literal text, and the group a literal from 0 on",
        fix="write regexp_extract(text, '^([A-Z]+)', 1)",
    )


def substring_limits(call: Call) -> tuple[int, int]:
    """The first position and the number of code points that SUBSTRING takes."""
    first, count = (literal(part) for part in call.arguments[1:])
    if type(first) is int and type(count) is int and first >= 1 and count >= 0:
        return first, count
    raise InputError(
        "the limits of substring",
        why="the first position has to be a literal of at least 1, the count one of at least 0",
        fix="write substring(text, 1, 3)",
    )


def right_limit(call: Call) -> int:
    """The number of code points that RIGHT takes."""
    count = literal(call.arguments[1])
    if type(count) is int and count >= 0:
        return count
    raise InputError(
        "the limit of right", why="it has to be a literal of at least 0", fix="write right(text, 3)"
    )


def split_limits(call: Call) -> tuple[str, int]:
    """The mark that SPLIT_PART splits at, and which part it takes."""
    mark, place = (literal(part) for part in call.arguments[1:])
    if isinstance(mark, str) and mark and type(place) is int and place >= 1:
        return mark, place
    raise InputError(
        "the limits of split_part",
        why="the mark has to be a literal text that is not empty, the part a literal from 1 on",
        fix="write split_part(text, '-', 1)",
    )


def replacement(call: Call) -> tuple[str, str]:
    """The text that REPLACE looks for, and its replacement."""
    what, by = (literal(part) for part in call.arguments[1:])
    if isinstance(what, str) and isinstance(by, str) and what:
        return what, by
    raise InputError(
        "the texts of replace",
        why="what is replaced and by what have to be literals, the first of them not empty",
        fix="write replace(text, 'a', 'b')",
    )


def _whole(operands: Sequence[Type]) -> ResultType:
    nullable = any(of.nullable for of in operands)
    return ResultType(Type(Kind.INTEGER, nullable, Range(0, math.inf)))


def _sliced(call: Call) -> Callable[[str], str]:
    first, count = substring_limits(call)
    return lambda text: text[first - 1 : first - 1 + count]


def _ended(call: Call) -> Callable[[str], str]:
    count = right_limit(call)
    return lambda text: text[max(0, len(text) - count) :]


RULES: dict[Function, Rule] = {
    Function.LOWER: partial(_mapped, lambda _: lambda text: text.translate(TO_LOWER)),
    Function.UPPER: partial(_mapped, lambda _: lambda text: text.translate(TO_UPPER)),
    Function.TRIM: partial(_mapped, lambda _: lambda text: text.strip(" ")),
    Function.LTRIM: partial(_mapped, lambda _: lambda text: text.lstrip(" ")),
    Function.RTRIM: partial(_mapped, lambda _: lambda text: text.rstrip(" ")),
    Function.SUBSTRING: partial(_mapped, _sliced),
    Function.RIGHT: partial(_mapped, _ended),
    Function.SPLIT_PART: partial(_mapped, lambda call: partial(split, limits=split_limits(call))),
    Function.EXTRACT: partial(_mapped, lambda call: extraction(call).extract),
    Function.LENGTH: over({Kind.TEXT}, _whole),
    Function.POSITION: over({Kind.TEXT}, _whole),
    Function.CONCAT: over({Kind.TEXT}, lambda _: ResultType(Type(Kind.TEXT), strays=True)),
    Function.REPLACE: _replace,
    **dict.fromkeys((Function.STARTS_WITH, Function.ENDS_WITH), over({Kind.TEXT}, of_truth)),
}


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
