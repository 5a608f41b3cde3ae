"""Values as plain JSON by the types of their fields, and back: what is stored, or sent.

A class whose JSON has the names of its fields needs no writer and no reader of its own. Exact
numbers and dates are texts; a class that has `to_dict` and `from_dict` is written and read by them.
"""

import datetime as dt
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from discreet.rationals import read_exact

T = TypeVar("T")

Ways: TypeAlias = Mapping[Any, Callable[[Any], Any]]
"""How values of some types are written, or read, in this place."""

_USUAL: Final[Ways] = MappingProxyType({})

_SCALARS: Final[Mapping[type, tuple[type, ...]]] = MappingProxyType(
    {bool: (bool,), int: (int,), str: (str,), float: (float, int)}
)
"""How JSON has values of plain types: True is no number, though Python counts with it."""


def to_plain(value: Any, ways: Ways = _USUAL) -> Any:
    """A value as JSON has it.

    Example:
        >>> to_plain({"a": (Fraction(1, 3), dt.date(2026, 1, 31), None)})
        {'a': ['1/3', '2026-01-31', None]}
    """
    if type(value) in ways:
        return ways[type(value)](value)
    if hasattr(value, "to_dict"):
        return value.to_dict()
    match value:
        case Enum():
            return value.value
        case Fraction():
            return str(value)
        case dt.date():
            return value.isoformat()
        case Mapping():
            return {name: to_plain(one, ways) for name, one in value.items()}
        case list() | tuple():
            return [to_plain(one, ways) for one in value]
    return to_fields(value, ways) if is_dataclass(value) else value


def to_fields(value: Any, ways: Ways = _USUAL) -> dict[str, Any]:
    """The fields of a dataclass as JSON, but for those that follow from others."""
    named = [one.name for one in fields(value) if one.init]
    return {name: to_plain(getattr(value, name), ways) for name in named}


def from_plain(kind: Any, value: Any, ways: Ways = _USUAL) -> Any:
    """The value of a type that `to_plain` wrote; LookupError, TypeError or ValueError for others.

    Example:
        >>> from_plain(tuple[Fraction, dt.date | None], ["1/3", None])
        (Fraction(1, 3), None)
    """
    if kind in ways:
        return ways[kind](value)
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        some = [one for one in inside if one is not types.NoneType]
        return value if value is None or len(some) > 1 else from_plain(some[0], value, ways)
    listed = origin if isinstance(origin, type) else object
    if issubclass(listed, (Mapping, Sequence)):
        _expect(value, (dict,) if issubclass(listed, Mapping) else (list, tuple), listed)
    if origin is tuple and inside[-1] is not Ellipsis:
        pairs = zip(inside, value, strict=True)
        return tuple(from_plain(one, part, ways) for one, part in pairs)
    if issubclass(listed, Mapping):
        return {name: from_plain(inside[1], one, ways) for name, one in value.items()}
    if issubclass(listed, Sequence):
        found = (from_plain(inside[0], one, ways) for one in value)
        return tuple(found) if origin is tuple else list(found)
    if not isinstance(kind, type):
        return value
    if hasattr(kind, "from_dict"):
        return kind.from_dict(value)
    if kind in _SCALARS:
        _expect(value, _SCALARS[kind], kind)
    if kind is Fraction:
        return read_exact(str(value))
    if issubclass(kind, Enum):
        return kind(value)
    if issubclass(kind, dt.date):
        return kind.fromisoformat(value)
    return from_fields(kind, value, ways) if is_dataclass(kind) else value


def _expect(value: Any, allowed: tuple[type, ...], kind: type) -> None:
    if type(value) not in allowed:
        raise TypeError(f"{type(value).__name__} in place of {kind.__name__}")


def from_fields(kind: type[T], facts: Mapping[str, Any], ways: Ways = _USUAL) -> T:
    """The dataclass that `to_fields` wrote; a name that it has no field for is KeyError."""
    types_ = _hints(kind)  # type: ignore[arg-type] # a class is hashable
    told = dict(facts)  # TypeError or ValueError for anything but a mapping
    return kind(**{name: from_plain(types_[name], one, ways) for name, one in told.items()})


@lru_cache(maxsize=256)
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
