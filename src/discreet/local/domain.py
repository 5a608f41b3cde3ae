"""The public list of values that a person can hold, and the number of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.rationals import whole

LARGEST = 1 << 26
"""Values that are counted one by one; beyond it, sketches and heavy hitters."""


@dataclass(frozen=True)
class ValueDomain:
    """The ints 0 to size - 1, or the labels in their order.

    Example:
        >>> ValueDomain.of(["red", "blue"]).numbers("blue")
        array([1])
    """

    size: int
    labels: tuple[str, ...] | None = None

    @staticmethod
    def of(given: "int | range | Sequence[str] | ValueDomain") -> "ValueDomain":
        """Read a number of values (100 or range(100)), or their names."""
        if isinstance(given, ValueDomain):
            return given
        if isinstance(given, range) and given == range(len(given)):
            given = len(given)
        if isinstance(given, list | tuple):
            labels = tuple(given)
            if not all(isinstance(one, str) for one in labels) or len(set(labels)) < len(labels):
                raise InputError(
                    "the domain has labels that are no texts, or one of them twice",
                    why="a report names one of them by its place",
                    fix="pass different texts, or how many values there are",
                )
            return ValueDomain(_size(len(labels)), labels)
        return ValueDomain(_size(whole(given, "domain", at_least=2)))

    def numbers(self, values: Any) -> NDArray[np.int64]:
        """Each value's number; anything else is refused in words that do not quote it."""
        if self.labels is not None:
            flat = [values] if isinstance(values, str) else list(values)
            found = [self._places.get(one, -1) if isinstance(one, str) else -1 for one in flat]
            numbers: NDArray[Any] = np.array(found, dtype=np.int64)
        else:
            numbers = np.atleast_1d(np.asarray(values))
            if numbers.size == 0:
                return np.zeros(0, dtype=np.int64)
        whole_numbers = numbers.dtype.kind in "iub" and numbers.ndim == 1
        if whole_numbers and ((numbers >= 0) & (numbers < self.size)).all():
            return numbers.astype(np.int64)
        raise InputError(
            "a value is not in the domain",
            why="the domain is public and nothing outside it can be reported",
            fix="put one value into the domain that stands for everything else",
        )

    @property
    def values(self) -> Sequence[Any]:
        """All values, in order."""
        return range(self.size) if self.labels is None else self.labels

    def described(self) -> int | list[str]:
        """The domain as JSON."""
        return self.size if self.labels is None else list(self.labels)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {label: place for place, label in enumerate(self.labels or ())}


def _size(size: int) -> int:
    if 2 <= size <= LARGEST:
        return size
    raise InputError(
        f"the domain has {size} values",
        why=f"from 2 to {LARGEST} values are counted one by one",
        fix="use CountMeanSketch or HeavyHitters for larger ones",
    )
