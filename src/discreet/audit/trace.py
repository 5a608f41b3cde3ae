"""Anything an observer could see, written down so that two of them can be compared to the byte."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Any, Final

import numpy as np

_LISTS: Final = (list, tuple)


def picture(value: Any) -> tuple[Any, ...]:
    """All of a value: types, dtypes, shapes, keys, order and every bit of every number.

    Example:
        >>> picture(0.0) == picture(-0.0), picture(1) == picture(True)
        (False, False)
    """
    kind = type(value).__qualname__
    if type(value) in _LISTS:  # most are; the others are told apart one by one
        return kind, tuple(map(picture, value))
    match value:
        case float():
            return kind, value.hex() if math.isfinite(value) else repr(value)
        case None | bool() | int() | str() | bytes():
            return kind, value
        case np.generic():
            return kind, value.dtype.str, value.tobytes()
        case np.ndarray():
            content = (
                tuple(map(picture, value.ravel())) if value.dtype == object else value.tobytes()
            )
            return kind, value.dtype.str, value.shape, content
        case Mapping():
            return kind, tuple((picture(key), picture(part)) for key, part in value.items())
        case AbstractSet():
            return kind, tuple(sorted(map(repr, map(picture, value))))
        case list() | tuple():
            return kind, tuple(map(picture, value))
    return kind, *_parts(value)


def _parts(value: Any, seen: Callable[[Any], Any] = picture) -> tuple[Any, ...]:
    if isinstance(value, Enum):
        return (value.name,)
    if isinstance(value, BaseException):
        return str(value), picture(value.args)
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return tuple((name, seen(getattr(value, name))) for name in names)
    if callable(value):
        return (getattr(value, "__qualname__", ""),)
    shown = repr(value)
    if f" at 0x{id(value):x}" in shown:
        # An address says nothing about the data and differs from run to run.
        return tuple((name, picture(part)) for name, part in vars(value).items())
    return (shown,)


def distinct(values: Iterable[Any]) -> list[Any]:
    """Each value once, in order."""
    return list({picture(value): value for value in values}.values())


def form(value: Any) -> tuple[Any, ...]:
    """All of a value but its numbers: types, dtypes, shapes, keys, and which numbers are finite.

    Example:
        >>> form([1, 2.0]) == form([3, 4.0]), form(1.0) == form(float("nan"))
        (True, False)
    """
    kind = type(value).__qualname__
    match value:
        case bool() | int() | str() | bytes() | None:
            return (kind,)
        case float():
            return kind, math.isfinite(value) or repr(value)
        case np.generic() | np.ndarray():
            inside = tuple(map(form, value.ravel())) if value.dtype == object else ()
            finite = np.isfinite(value).tobytes() if value.dtype.kind == "f" else None
            return kind, value.dtype.str, value.shape, finite, inside
        case Mapping():
            return kind, tuple((picture(key), form(part)) for key, part in value.items())
        case list() | tuple():
            return kind, tuple(map(form, value))
    return kind, *_parts(value, form)


def is_numeric(value: Any) -> bool:
    """Whether a value is a number or an array of them."""
    return isinstance(value, (int, float, np.number, np.ndarray)) and not isinstance(value, bool)
