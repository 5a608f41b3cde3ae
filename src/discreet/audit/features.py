"""Statistics of outputs that an attacker looks at: larger where `left` is likelier.

A feature is learned on training outputs and then fixed. Any function of an output is
post-processing, so a badly chosen feature costs power and never validity.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError

Outputs: TypeAlias = NDArray[Any]
"""One row for each run of the mechanism."""

Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.int64]
Coder: TypeAlias = Callable[[Outputs], Codes]

_BINS: Final = 64
_MANY_COLUMNS: Final = 16
_DENSE: Final = 1 << 16
_RIDGE: Final = 1e-6
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, to spread columns


@dataclass(frozen=True, slots=True, eq=False)
class Feature:
    """A score, and what to call it in a report."""

    name: str
    score: Callable[[Outputs], Floats]


def rows(outputs: Any) -> Outputs:
    """Outputs as a table, one row a run; numbers become int64, float64 or (past 2^63) objects."""
    table = np.asarray(outputs)
    if table.dtype.kind in "bu" and table.dtype.itemsize < 8:
        table = table.astype(np.int64)
    if table.dtype.kind not in "iufbO" or not 1 <= table.ndim <= 2:
        raise InputError(
            f"outputs of type {table.dtype} with {table.ndim} axes",
            why="an output is a number or a row of numbers",
            fix="let the claim's draw(input, n) return n numbers or an n by d array",
        )
    return table[:, None] if table.ndim == 1 else table


def learn(left: Outputs, right: Outputs) -> Iterator[Feature]:
    """All features worth trying on outputs like these, each learned on all of them."""
    width = left.shape[1]
    for column in range(min(width, _MANY_COLUMNS)):
        yield from _of_column(column, left, right)
    if width > 1:
        yield Feature("the sum", lambda outputs: _ordered(_numbers(outputs).sum(axis=1)))
        yield Feature("the smallest", lambda outputs: _ordered(_numbers(outputs).min(axis=1)))
        yield Feature("the largest", lambda outputs: _ordered(_numbers(outputs).max(axis=1)))
        yield _likelihood("the whole row", row_codes, left, right)
        yield _naive(left, right)
        yield _linear(left, right)


def _of_column(column: int, left: Outputs, right: Outputs) -> Iterator[Feature]:
    name = "the output" if left.shape[1] == 1 else f"number {column}"
    yield Feature(name, lambda outputs: _ordered(_numbers(outputs[:, column])))
    yield _of_bin(column, name, left, right)
    for what, code in (("value", row_codes), ("last bits", grain)):
        yield _likelihood(f"the {what} of {name}", _single(code, column), left, right)


def _of_bin(column: int, name: str, left: Outputs, right: Outputs) -> Feature:
    bins = _bins(np.concatenate([left[:, column], right[:, column]]))
    return _likelihood(f"the bin of {name}", _single(bins, column), left, right)


def _single(code: Coder, column: int) -> Coder:
    return lambda outputs: code(outputs[:, column : column + 1])


def _likelihood(name: str, code: Coder, left: Outputs, right: Outputs) -> Feature:
    ratios = _ratios(code(left), code(right))
    return Feature(f"the log likelihood ratio of {name}", lambda outputs: ratios(code(outputs)))


def _naive(left: Outputs, right: Outputs) -> Feature:
    """The sum of every number's own log likelihood ratio: best where they are independent."""
    parts = [_of_bin(column, "", left, right).score for column in range(left.shape[1])]
    name = "the log likelihood ratio of all numbers, one by one"
    return Feature(name, lambda outputs: sum((one(outputs) for one in parts), np.zeros(1)))


def _linear(left: Outputs, right: Outputs) -> Feature:
    """The weighted sum of all numbers that sets the sides apart most: best for Gaussian noise.

    Sums without any noise get nearly all of the weight: a number that is released bare shows in
    whatever combination of outputs it hides.
    """
    sides = [np.nan_to_num(_numbers(side), posinf=0.0, neginf=0.0) for side in (left, right)]
    spread = (np.cov(sides[0], rowvar=False) + np.cov(sides[1], rowvar=False)) / 2
    sizes = np.sqrt(np.maximum(np.diag(spread), 1e-12))
    shape = spread / np.outer(sizes, sizes) + _RIDGE * np.eye(sizes.size)
    gap = (sides[0].mean(axis=0) - sides[1].mean(axis=0)) / sizes
    weights = np.linalg.lstsq(shape, gap, rcond=None)[0] / sizes

    def score(outputs: Outputs) -> Floats:
        # Column by column: a matrix product rounds differently for tables of different lengths.
        total = np.zeros(len(outputs))
        for column, weight in enumerate(weights):
            numbers = _numbers(outputs[:, column])
            total += np.nan_to_num(numbers, posinf=0.0, neginf=0.0) * weight
        return total

    return Feature("the best weighted sum", score)


def _ratios(left: Codes, right: Codes) -> Callable[[Codes], Floats]:
    """The log likelihood ratio of a code, as seen in training; 0 for what was not seen."""
    low, high = min(left.min(), right.min()), max(left.max(), right.max())
    size, keys = int(high) - int(low) + 1, None  # a code's place is its distance from the least
    if size > _DENSE:  # or among those that were seen
        keys = np.unique(np.concatenate([left, right]))
        size = keys.size

    def place(codes: Codes) -> Codes:
        if keys is None:
            far = (codes - low).view(np.uint64)  # below the least is far too
            return np.where(far < size, far, size).astype(np.int64)
        found = np.minimum(np.searchsorted(keys, codes), size - 1)
        return np.where(keys[found] == codes, found, size)

    on_left, on_right = (np.bincount(place(side), minlength=size + 1) for side in (left, right))
    ratios = np.log((on_left + 0.5) / (on_right + 0.5))
    return lambda codes: ratios[place(codes)]


def _bins(outputs: Outputs) -> Coder:
    """Bins with about equally many training outputs; NaN has a bin of its own."""
    values = _numbers(outputs)
    finite = values[np.isfinite(values)]
    levels = np.linspace(0, 1, _BINS + 1)[1:-1]
    edges = np.unique(np.quantile(finite, levels, method="nearest")) if finite.size else finite

    def code(table: Outputs) -> Codes:
        numbers = _numbers(table)[:, 0]
        place = np.searchsorted(edges, numbers)
        return np.where(np.isnan(numbers), edges.size + 1, place).astype(np.int64)

    return code


def row_codes(outputs: Outputs) -> Codes:
    """One code for each distinct row, bit for bit (-0.0 is not 0.0); a collision merges two."""
    words = _words(outputs)
    if words.shape[1] == 1:
        return words[:, 0].view(np.int64)
    code = np.zeros(len(outputs), dtype=np.uint64)
    for column in words.T:
        code = (code ^ column) * _MIX
        code ^= code >> np.uint64(29)
    return code.view(np.int64)


def grain(outputs: Outputs) -> Codes:
    """How fine the grid is that an output lies on, and how large it is: where float noise leaks.

    An exact sampler on a grid gives every residue its due; noise made of floats does not.
    """
    if outputs.dtype.kind != "f":
        words = _words(outputs)[:, 0]
        return _zeros(words).astype(np.int64)
    fraction, exponent = np.frexp(_numbers(outputs)[:, 0])
    whole = np.where(np.isfinite(fraction), fraction, 0.5) * 2.0**53
    size = np.clip(exponent.astype(np.int64), -60, 60)
    return 64 * size + _zeros(np.abs(whole).astype(np.uint64))


def _zeros(words: NDArray[np.uint64]) -> Codes:
    """The number of trailing zero bits; 63 for 0 itself."""
    lowest = (words & (~words + np.uint64(1))).astype(np.float64)
    return np.where(words == 0, 63, np.log2(np.maximum(lowest, 1.0))).astype(np.int64)


def _words(outputs: Outputs) -> NDArray[np.uint64]:
    match outputs.dtype.kind:
        case "f":
            return outputs.astype(np.float64).view(np.uint64)
        case "O":
            mask = (1 << 64) - 1
            flat = [int(value) & mask for value in outputs.ravel()]
            return np.array(flat, dtype=np.uint64).reshape(outputs.shape)
    return outputs.astype(np.int64).view(np.uint64)


def _numbers(outputs: Outputs) -> Floats:
    return outputs.astype(np.float64)


def _ordered(scores: Floats) -> Floats:
    """NaN has no place in an order; it gets the first."""
    return np.where(np.isnan(scores), -np.inf, scores)
