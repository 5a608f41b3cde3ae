"""Functions that remember what they said about the very same value.

Planning asks the same of one question many times: its types, its statistics, its text. Values are
told apart by identity. To compare large ones part by part would take as long as to compute, and
would take 0.0 for -0.0.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, TypeVar, cast

SIZE: Final = attrgetter("size")
"""How many parts an expression or a question has."""

F = TypeVar("F", bound=Callable[..., Any])


class _Same:
    """A value by its identity."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value) >> 4  # addresses are multiples of 16

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value


def remember(most: int, size: Callable[[Any], int] | None = None) -> Callable[[F], F]:
    """Remember the newest `most` results of a pure function of a frozen value; few of large ones.

    What it is remembered for is kept alive, so no other value can have its identity. Errors are
    not remembered. Further arguments are passed by position. They are hashable and told apart by
    what they are equal to; mappings, which are not, by their identity.

    Example:
        >>> @remember(8)
        ... def length(values, extra):
        ...     print("counting")
        ...     return len(values) + extra
        >>> values = (1, 2)
        >>> length(values, 1), length(values, 1)
        counting
        (3, 3)
    """

    def wrap(function: F) -> F:
        def compute(same: _Same, *rest: Any) -> Any:
            if _SAME.isdisjoint(map(type, rest)):
                return function(same.value, *rest)
            return function(
                same.value, *(one.value if isinstance(one, _Same) else one for one in rest)
            )

        small, large = lru_cache(most)(compute), lru_cache(_FEW)(compute)

        @wraps(function)
        def call(value: Any, *rest: Any) -> Any:
            cached = small if size is None or size(value) < _LARGE else large
            if _MAPPINGS.isdisjoint(map(type, rest)):
                return cached(_Same(value), *rest)
            return cached(_Same(value), *(_Same(r) if type(r) in _MAPPINGS else r for r in rest))

        return cast("F", call)

    return wrap


_SAME: Final = frozenset({_Same})
_MAPPINGS: Final = frozenset({dict, MappingProxyType})
_LARGE: Final = 500
_FEW: Final = 32
"""Values of `_LARGE` parts or more that are remembered: they take megabytes."""
