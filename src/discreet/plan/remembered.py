"""Functions that remember what they said about the very same value.

Planning asks the same of one question many times: its types, its statistics, its text. Values are
told apart by identity. To compare large ones part by part would take as long as to compute, and
would take 0.0 for -0.0.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Final, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


class _Key:
    """A value by its identity, and further arguments by what they are equal to."""

    __slots__ = ("rest", "value")

    def __init__(self, value: Any, rest: tuple[Any, ...]) -> None:
        self.value = value
        self.rest = rest

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.value is self.value and other.rest == self.rest


def remember(most: int, size: Callable[[Any], int] = lambda _: 1) -> Callable[[F], F]:
    """Remember the newest `most` results of a pure function of a frozen value; few of large ones.

    What it is remembered for is kept alive, so no other value can have its identity. Errors are
    not remembered. Further arguments are passed by position.

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
        def compute(key: _Key) -> Any:
            return function(key.value, *key.rest)

        small, large = lru_cache(most)(compute), lru_cache(_FEW)(compute)

        @wraps(function)
        def call(value: Any, *rest: Any) -> Any:
            return (small if size(value) < _LARGE else large)(_Key(value, rest))

        return cast("F", call)

    return wrap


_LARGE: Final = 500
_FEW: Final = 32
"""Values of `_LARGE` parts or more that are remembered: they take megabytes."""
