"""Counts of people under keys that are private themselves: reading them, and what a group costs."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from string import ascii_letters
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.mechanisms.comparison_laws import ends
from discreet.mechanisms.grid import INTEGERS
from discreet.mechanisms.mechanism import Law, Mechanism, Pair, fill
from discreet.privacy import Approximate, Neighbours
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, positive, whole

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True, init=False)
class KeyMechanism(Mechanism):
    """A mechanism about private keys; a person is under at most a given number of them."""

    epsilon: Fraction
    delta: Fraction
    max_groups_per_unit: int
    neighbours: Neighbours

    def __init__(
        self,
        *,
        epsilon: Real,
        delta: Real,
        max_groups_per_unit: int = 1,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        groups = whole(max_groups_per_unit, "max_groups_per_unit", at_least=1)
        fill(self, epsilon=positive(epsilon, "epsilon"), delta=read_delta(delta))
        fill(self, max_groups_per_unit=groups, neighbours=Neighbours(neighbours))
        self._settle(touched(groups, self.neighbours))

    @abstractmethod
    def _settle(self, keys: int) -> None:
        """Fill in what the rule needs if one person touches that many keys."""

    @property
    def guarantee(self) -> Approximate:
        """(epsilon, delta)."""
        return Approximate(self.epsilon, self.delta, neighbours=self.neighbours)


@dataclass(frozen=True, slots=True)
class KeyCounts(Generic[Key]):
    """Keys in an order that the data has no say in, each with the number of people under it."""

    keys: tuple[Key, ...]
    counts: NDArray[Any]

    @staticmethod
    def read(counts: Mapping[Key, int]) -> "KeyCounts[Key]":
        """Read a mapping from keys to counts; keys without anyone are dropped."""
        if not isinstance(counts, Mapping):
            raise InputError(
                f"counts are of type {type(counts).__name__}",
                why="keys that are private come with their counts",
                fix="pass a mapping from key to the number of people under it",
            )
        keys = tuple(sorted(counts, key=_order))
        numbers = read_counts([counts[key] for key in keys])
        alive = np.flatnonzero(np.asarray(numbers > 0, dtype=bool))
        return KeyCounts(tuple(keys[i] for i in alive), numbers[alive])


def _order(key: Hashable) -> tuple[str, str]:
    return type(key).__name__, repr(key)


def read_counts(counts: Any) -> NDArray[Any]:
    """Read a flat list of whole numbers, none of them negative."""
    numbers = np.asarray(INTEGERS.index(counts))
    if numbers.ndim == 1 and not np.any(numbers < 0):
        return numbers
    raise InputError(
        "counts are not a flat list of numbers from 0 on",
        why="they say how many people are under each key",
        fix="count each person once under each key",
    )


def read_delta(delta: Real) -> Fraction:
    """Read a delta from 2^-100 to 1, both outside what is useful."""
    exact = positive(delta, "delta")
    if Fraction(1, 1 << 100) <= exact < 1:
        return exact
    raise InputError(
        f"delta is {delta}",
        why="a key that one person alone has is shown with a probability below 1, above 2^-100",
        fix="pass delta such as 1e-6",
    )


def touched(max_groups_per_unit: int, neighbours: Neighbours) -> int:
    """How many keys gain or lose one person: replacing a person takes from k and adds to k more."""
    return max_groups_per_unit * (1 if neighbours is Neighbours.ADD_REMOVE else 2)


def delta_each(delta: Fraction, keys: int) -> Fraction:
    """A delta for each of `keys` keys, rounded down, for which 1 - (1 - delta_each)^keys <= delta.

    Example:
        >>> delta_each(Fraction(1, 100), 1)
        Fraction(1, 100)
        >>> 1 - (1 - delta_each(Fraction(1, 100), 3)) ** 3 <= Fraction(1, 100)
        True
    """
    if keys == 1:
        return delta
    one = -(Interval.of(-delta).log1p() / keys).expm1()
    return max(delta / keys, Fraction(one.lower))


@dataclass(frozen=True, slots=True)
class Audited:
    """Keys that one person leaves and joins: what an audit of a key rule looks at.

    Keys of one side have the same count in all pairs, so only the numbers shown of each side
    distinguish neighbours.

    Example:
        >>> two = Audited.of(max_groups_per_unit=2, neighbours=Neighbours.ADD_REMOVE)
        >>> two.pairs[1].left, two.pairs[1].right
        ({'a': 1, 'b': 1}, {'a': 2, 'b': 2})
    """

    left: tuple[str, ...]
    entered: tuple[str, ...]
    middle: int = 5

    @staticmethod
    def of(max_groups_per_unit: int, neighbours: Neighbours, middle: int = 5) -> "Audited":
        """All keys that one person can touch, up to 52.

        `middle` is a number of people at which a key is shown about half of the time.
        """
        if neighbours is Neighbours.ADD_REMOVE:
            return Audited((), _KEYS[:max_groups_per_unit], middle)
        half = min(max_groups_per_unit, len(_KEYS) // 2)
        return Audited(_KEYS[:half], _KEYS[half : 2 * half], middle)

    @property
    def keys(self) -> tuple[str, ...]:
        """All of them, in the order of what `draw` gives."""
        return self.left + self.entered

    @property
    def sides(self) -> list[tuple[str, ...]]:
        """The keys that the person leaves, if any, and those they join."""
        return [side for side in (self.left, self.entered) if side]

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The person is alone under a key, the second there, or one of many."""
        return tuple(
            Pair(
                _occupied({key: n + (key in self.left) for key in self.keys}),
                _occupied({key: n + (key in self.entered) for key in self.keys}),
            )
            for n in sorted({0, 1, 2, self.middle, self.middle + 15})
        )

    def draw(
        self, value: Mapping[Hashable, int], runs: int, show: Callable[[NDArray[Any]], NDArray[Any]]
    ) -> NDArray[Any]:
        """The output of `show` for each key, a row a run; 0 for a key without anyone."""
        counted = KeyCounts.read(value)
        shown = show(np.tile(counted.counts, runs)).reshape(runs, len(counted.keys))
        table = np.zeros((runs, len(self.keys)), dtype=shown.dtype)
        table[:, [self.keys.index(str(key)) for key in counted.keys]] = shown
        return table

    def numbers(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """How many keys of each side are shown, of rows that are 0 where a key is not."""
        starts = [self.keys.index(side[0]) for side in self.sides]
        return np.add.reduceat(rows != 0, starts, axis=1, dtype=np.int64)

    def law(self, counts: Mapping[Hashable, int], keep: Callable[[int], Interval]) -> Law:
        """The law of `numbers`, for keys that are kept independently with probability keep(n)."""
        sides = [_number_shown(keep(counts.get(key, 0)) for key in side) for side in self.sides]
        law: dict[Any, Interval] = {}
        for row in product(*map(enumerate, sides)):
            shown, shares = zip(*row, strict=True)
            law[shown] = prod(shares, start=Interval.of(1))
        return ends(law)


_KEYS: Final = tuple(ascii_letters)


def _number_shown(keeps: Iterable[Interval]) -> list[Interval]:
    """The law of the number of shown keys, each with its own probability."""
    law, none = [Interval.of(1)], Interval.of(0)
    for p in keeps:
        law = [a * p + b * (1 - p) for a, b in zip([none, *law], [*law, none], strict=True)]
    return law


def _occupied(counts: Mapping[str, int]) -> dict[str, int]:
    return {key: count for key, count in counts.items() if count}
