"""Public lists of all values that an expression can be asked for as groups."""

from collections.abc import Callable, Iterable

from discreet.plan.kinds import Kind, Range, Type, Value

MOST = 100_000
"""No longer list is made up; one that an owner states may be as long as they like."""


def listed(values: Iterable[Value], *, nullable: bool) -> tuple[Value, ...] | None:
    """The different values in order of appearance, NULL last; None where there are too many.

    Example:
        >>> listed([2, None, 1, 2], nullable=True)
        (2, 1, None)
    """
    different: dict[Value, None] = {}
    for value in values:
        if value is not None:
            different[value] = None
        if len(different) > MOST:
            return None
    return (*different, None) if nullable else tuple(different)


def counting(bounds: Range, *, nullable: bool) -> tuple[Value, ...] | None:
    """The whole numbers of a bounded range."""
    return listed(range(int(bounds.low), int(bounds.high) + 1), nullable=nullable)


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
