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
    """The ints 0 to size - 1, or the labels in their order, which are texts or ints.

    Example:
        >>> ValueDomain.of(["red", "blue"]).numbers("blue")
        array([1])
    """

    size: int
    labels: tuple[str | int, ...] | None = None

    @staticmethod
    def of(given: "int | Sequence[str] | Sequence[int] | ValueDomain") -> "ValueDomain":
        """Read a number of values (100 or all of 0 to 99), or their names."""
        if isinstance(given, ValueDomain):
            return given
        if isinstance(given, range) and given == range(len(given)):
            given = len(given)
        if hasattr(given, "__array__"):
            given = np.asarray(given).tolist()
        if isinstance(given, range | list | tuple):
            size, labels = _size(len(given)), tuple(given)
            alike = all(isinstance(one, str) for one in labels)
            if not (alike or all(type(one) is int for one in labels)) or len(set(labels)) < size:
                raise InputError(
                    "the domain has neither texts nor whole numbers alone, or one of them twice",
                    why="a report names one of them by its place",
                    fix="pass different ones, as str(value) of each, or for whole numbers from 0 "
                    "how many there are: domain=100",
                )
            return ValueDomain(size, None if labels == tuple(range(size)) else labels)
        return ValueDomain(_size(whole(given, "domain", at_least=2)))

    def numbers(self, values: Any) -> NDArray[np.int64]:
        """Each value's number; anything else is refused by an error that does not quote it."""
        if self.labels is not None:
            if hasattr(values, "__array__"):
                values = np.asarray(values).tolist()
            flat = [values] if isinstance(values, str | int) else list(values)
            found = [-1 if isinstance(one, bool) else self._place(one) for one in flat]
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
            fix="add one value to the domain for everything else",
        )

    def _place(self, value: object) -> int:
        return self._places.get(value, -1) if isinstance(value, str | int | np.integer) else -1

    @property
    def values(self) -> Sequence[Any]:
        """All values, in order."""
        return range(self.size) if self.labels is None else self.labels

    def described(self) -> int | list[str | int]:
        """The domain as JSON."""
        return self.size if self.labels is None else list(self.labels)

    @cached_property
    def _places(self) -> dict[object, int]:
        return {label: place for place, label in enumerate(self.labels or ())}


def _size(size: int) -> int:
    if 2 <= size <= LARGEST:
        return size
    raise InputError(
        f"the domain has {size} values",
        why=f"from 2 to {LARGEST} values are counted one by one",
        fix="use CountMeanSketch or HeavyHitters for larger ones",
    )
