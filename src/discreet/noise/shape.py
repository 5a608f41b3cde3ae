"""One parameter or an array of them, and the shape of what is drawn.

A draw with `size=None` has the shape of its parameter: a number gives a number, an array gives an
array. With `size`, parameters are broadcast to it.
"""

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.noise.bits import FEW, BitSource, open_source
from discreet.rationals import Real, positive, whole

Size: TypeAlias = int | tuple[int, ...] | None
Column: TypeAlias = NDArray[Any] | float
Law = TypeVar("Law")

_PLAIN = (int, float, Fraction)

BLOCK = 1 << 14
"""Draws worked on at once: 128 KiB a column, so that a block stays in the second-level cache."""


@dataclass(frozen=True, slots=True)
class DrawRequest(Generic[Law]):
    """`count` draws: every draw from `laws[0]`, or draw i from `laws[which[i]]`."""

    laws: tuple[Law, ...]
    which: NDArray[np.intp] | None
    shape: tuple[int, ...] | None

    @property
    def count(self) -> int:
        """How many draws."""
        return 1 if self.shape is None else math.prod(self.shape)

    def column(self, fact: Callable[[Law], float]) -> Column:
        """One fact of the laws for all draws; a plain number where all draws are alike."""
        if self.which is None:
            return fact(self.laws[0])
        return np.array([fact(law) for law in self.laws])[self.which]

    def law(self, draw: int) -> Law:
        """The law of one draw."""
        return self.laws[0] if self.which is None else self.laws[self.which[draw]]

    def blocks(self) -> list[slice]:
        """The draws, cut into pieces that stay in cache."""
        return [slice(i, min(i + BLOCK, self.count)) for i in range(0, self.count, BLOCK)]


def part(column: Column, draws: slice) -> Column:
    """The share of a column that belongs to these draws."""
    return column[draws] if isinstance(column, np.ndarray) else column


def remembered(read: Callable[[Any], Law]) -> Callable[[Any], Law]:
    """Read a plain number once; the next draw with the same parameter starts at once."""
    # typed: 1, 1.0 and True are different things to read.
    cached = lru_cache(maxsize=4096, typed=True)(read)
    return lambda value: cached(value) if type(value) in _PLAIN else read(value)


def ask(parameter: Any, size: Size, read: Callable[[Any], Law]) -> DrawRequest[Law]:
    """Read a parameter (once for each distinct value) and settle the shape of the draw."""
    if type(parameter) in _PLAIN or np.ndim(parameter) == 0:
        value = parameter[()] if isinstance(parameter, np.ndarray) else parameter
        return DrawRequest((read(value),), None, _shape(size))
    values = np.asarray(parameter)
    if values.dtype.kind not in "iufbO":
        values = np.asarray(parameter, dtype=object)
    shape = values.shape if size is None else _shape(size)
    assert shape is not None  # noqa: S101 - narrowing: size is None was handled
    distinct, which = _distinct(values)
    laws = tuple(read(value) for value in distinct)
    return DrawRequest(laws, _spread(which.reshape(values.shape), shape), shape)


def drawn(
    request: DrawRequest[Law],
    one: Callable[[Law, BitSource], int],
    many: Callable[[DrawRequest[Law], BitSource], NDArray[Any]],
) -> Any:
    """Draw whole numbers in the shape asked for: few of them `one` by one, without arrays."""
    source = open_source(request.count)
    if request.shape is None:
        return one(request.laws[0], source)
    if request.count < FEW:
        draws = [one(request.law(i), source) for i in range(request.count)]
        return as_array(draws).reshape(request.shape)
    return many(request, source).reshape(request.shape)


def as_array(draws: list[int]) -> NDArray[Any]:
    """Python ints as int64 where all of them fit."""
    fits = all(-(1 << 63) <= draw < 1 << 63 for draw in draws)
    return np.array(draws, dtype=np.int64 if fits else object)


def read_within(value: Real, name: str, ends: tuple[Fraction, Fraction], made_for: str) -> Fraction:
    """Read a parameter that exact noise can be made for."""
    exact = positive(value, name)
    if ends[0] <= exact <= ends[1]:
        return exact
    raise InputError(
        f"{name} is too {'small' if exact < 1 else 'large'}",
        why=f"exact noise is made for {made_for}",
        fix="put the values on a coarser or finer power-of-two grid",
    )


def _distinct(values: NDArray[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    if values.dtype != object:
        numbers, which = np.unique(values, return_inverse=True)
        return list(numbers), which
    seen: dict[tuple[type, Hashable], int] = {}
    # The type is part of the key: True == 1, but only one of them is a number here.
    order = [seen.setdefault((type(v), v), len(seen)) for v in values.ravel()]
    return [value for _, value in seen], np.array(order, dtype=np.intp)


def _spread(which: NDArray[np.intp], shape: tuple[int, ...]) -> NDArray[np.intp]:
    try:
        return np.broadcast_to(which, shape).ravel()
    except ValueError:
        raise InputError(
            f"size is {shape} and the parameter has shape {which.shape}",
            why="the parameter cannot be spread over the draw",
            fix="leave size out, or make the shapes agree as numpy broadcasting asks",
        ) from None


def _shape(size: Size) -> tuple[int, ...] | None:
    if size is None:
        return None
    if isinstance(size, tuple):
        return tuple(whole(length, "size", at_least=0) for length in size)
    return (whole(size, "size", at_least=0),)
