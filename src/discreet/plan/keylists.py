"""Public lists of all values that an expression can be asked for as groups."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import product
from typing import Final

from discreet.errors import InputError
from discreet.plan.calendar import moment
from discreet.plan.kinds import Kind, Range, Type, Value

MOST = 100_000
"""No longer list is made up; one that an owner states may be as long as they like."""

FEW = 1 << 10
"""Bounded whole numbers and days are listed if there are no more than this."""


_room: Final = ContextVar[list[int] | None]("values that may still be listed", default=None)


@contextmanager
def at_most(values: int) -> Iterator[None]:
    """Refuse what, inside, looks at more values of lists than this: it would take too long to plan.

    Why: every function of a key with a long list makes another list, and a question has many.
    """
    before = _room.set([values])
    try:
        yield
    finally:
        _room.reset(before)


def _look_at(count: int) -> None:
    room = _room.get()
    if room is None:
        return
    room[0] -= count
    if room[0] < 0:
        raise InputError(
            "the question has too many functions of columns with long lists of keys",
            why="the list of each is made before anything is asked, and takes time",
            fix="compare such columns as they are, or ask in several questions",
        )


def listed(values: Iterable[Value], *, nullable: bool) -> tuple[Value, ...] | None:
    """The different values in order of appearance, NULL last; None where there are too many.

    Example:
        >>> listed([2, None, 1, 2], nullable=True)
        (2, 1, None)
    """
    different: dict[Value, None] = {}
    count = 0
    for count, value in enumerate(values, 1):  # noqa: B007 - all that were looked at
        if value is not None:
            different[value] = None
        if len(different) > MOST:
            break
    _look_at(count)
    if len(different) > MOST:
        return None
    return (*different, None) if nullable else tuple(different)


def counting(bounds: Range, *, nullable: bool) -> tuple[Value, ...] | None:
    """The whole numbers of a bounded range; None, at once, where there are too many."""
    low, high = int(bounds.low), int(bounds.high)
    if high - low >= MOST:
        return None
    return (*range(low, high + 1), *([None] if nullable else []))


@lru_cache(maxsize=256)
def few(bounds: Range | None, kind: Kind, *, nullable: bool) -> tuple[Value, ...] | None:
    """All whole numbers or days of a range, where they are few.

    Example:
        >>> few(Range(0, 2), Kind.INTEGER, nullable=False)
        (0, 1, 2)
    """
    if kind not in {Kind.INTEGER, Kind.DATE} or bounds is None or not bounds.width < FEW:
        return None
    places = range(math.ceil(bounds.low), math.floor(bounds.high) + 1)
    days = kind is Kind.DATE
    return listed((moment(at, kind) if days else at for at in places), nullable=nullable)


def combined(
    operands: Sequence[Type], function: Callable[..., float | None], *, nullable: bool
) -> tuple[Value, ...] | None:
    """The keys of a number made from several values that have few together, in order."""
    lists = [of.keys for of in operands]
    known = [[key for key in keys if key is not None] for keys in lists if keys is not None]
    if len(known) < len(lists) or math.prod(map(len, known)) > FEW:
        return None
    found = (function(*keys) for keys in product(*known))
    return listed(sorted(value for value in found if value is not None), nullable=nullable)


def mapped(of: Type, function: Callable[..., Value], *, nullable: bool) -> tuple[Value, ...] | None:
    """The keys of a value under a function of it alone."""
    if of.keys is None:
        return None
    return listed((function(key) for key in of.keys if key is not None), nullable=nullable)


def united(types: Iterable[Type], *, nullable: bool) -> tuple[Value, ...] | None:
    """The keys of a value that is one of several; None where one of those has no list."""
    lists = [of.keys for of in types]
    if any(keys is None for keys in lists):
        return None
    return listed((key for keys in lists if keys is not None for key in keys), nullable=nullable)


def truth(*, nullable: bool) -> Type:
    """The type of a condition."""
    return Type(Kind.BOOLEAN, nullable, keys=(False, True, None) if nullable else (False, True))
