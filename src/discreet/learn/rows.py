"""Rows on their way to a sum: chunks of numbers, and how much each row of a person counts.

**One person, one bound.** A person with k rows counts each of them with the whole-number weight
floor(FULL m / max(k, m)), m = `max_rows_per_unit`: all together at most FULL m. A weight depends on
the person's own rows alone, so nobody else's changes when they come or go.

**A row alone.** Whatever is computed of a row before it is summed depends on this row and on public
numbers, to the last bit: whole numbers whose float64 sums stay below 2^53 (so exact in any order),
elementwise IEEE operations, and look-ups in public tables. A matrix product of other numbers, or
`exp`, may end in another digit when a row more stands beside, which no sensitivity would cover.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.noise import below
from discreet.rationals import whole

Floats: TypeAlias = NDArray[np.float64]

FULL = 1 << 10
"""The weight of one row of a person who is within the limit."""

SIZE = 1 << 15
"""Rows of a chunk; sums over one stay below 2^53 by the bounds of every statistic."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows: features, a target or the code of a label (NaN where there is none), weights.

    Whole numbers may have smaller types than doubles.
    """

    x: NDArray[Any]
    y: NDArray[Any]
    weight: NDArray[Any]

    def labelled(self, labels: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The label of each row, and its weight: 0 without one. One label is that of all rows."""
        known = np.isfinite(self.y) | (labels == 1)
        label = np.where(known & (labels > 1), self.y, 0)
        return label.astype(np.int64), self.weight * known


class EngineTotals(Protocol):
    """The same rows where they are stored, which sums them there."""

    def totals(self, statistic: Any) -> NDArray[Any] | None:
        """The sums of a `RowStatistic`, as `chunks` would give them; None where it has no SQL."""

    def joined(self) -> "EngineTotals":
        """Rows whose last feature is their target."""


@dataclass(frozen=True, slots=True)
class PersonRows:
    """All rows, chunk by chunk, as often as they are asked for.

    `full` is the weight of a row that counts whole, `bound` that of all rows of a person together.
    `engine` sums the same rows without streaming them, where it can.
    """

    chunks: Callable[[], Iterator[Chunk]]
    full: int = 1
    bound: int = 1
    engine: EngineTotals | None = None
    batch: tuple[object, int] | None = None
    """Which rows these are where all were dealt to `batches`: the deal, and a number."""

    def map(self, of: Callable[[Chunk], Chunk]) -> "PersonRows":
        """The same rows after a function of each row alone, which no engine knows."""
        return replace(self, chunks=lambda: map(of, self.chunks()), engine=None)

    def with_features(self, of: Callable[[Any], Any]) -> "PersonRows":
        """The same rows with features that are a function of their own."""
        return self.map(lambda one: replace(one, x=of(one.x)))

    def joined(self) -> "PersonRows":
        """Rows whose last feature is their target; those without one weigh nothing."""
        engine = None if self.engine is None else self.engine.joined()
        return replace(self.map(_with_target), engine=engine)

    def kept(self) -> "PersonRows":
        """The same rows, computed now and kept in small types for many passes."""
        (held,) = self.batches(1)

        def doubles(one: Chunk) -> Chunk:
            return Chunk(*(part.astype(np.float64) for part in (one.x, one.y, one.weight)))

        return replace(held.map(doubles), batch=self.batch)

    def batches(self, many: int) -> "list[PersonRows]":
        """Rows dealt to so many batches by fair coins, computed now and kept as they are.

        Guarantee: each row is in one batch. Which one depends on its own coins alone.
        """
        deal, chunks = object(), self.chunks()
        held: list[list[Chunk]] = [[] for _ in range(many)]
        while some := list(islice(chunks, many)):  # so that a batch has chunks of the usual size
            x = np.concatenate([one.x.T for one in some], axis=1)
            y, weight = (np.concatenate(p) for p in ([c.y for c in some], [c.weight for c in some]))
            for at, batch in zip(_dealt(many, len(y)), held, strict=True):
                batch.append(Chunk(small(x[:, at]).T, small(y[at]), small(weight[at])))
        mine = ((batch.__iter__, (deal, number)) for number, batch in enumerate(held))
        return [replace(self, chunks=own, engine=None, batch=batch) for own, batch in mine]


def _dealt(many: int, rows: int) -> list[Any]:
    """Places of the rows of each batch, by a coin a row."""
    if many == 1:
        return [slice(None)]
    coins = np.asarray(below(many, rows)).astype(np.uint16)  # short ones are sorted faster
    ends = np.cumsum(np.bincount(coins, minlength=many))[:-1]
    return np.split(np.argsort(coins, kind="stable"), ends)


def small(values: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in a small type that holds all of them exactly."""
    for kind in (np.uint8, np.uint16, np.int16, np.int32, np.float32):
        if values.dtype == kind:
            break
        with np.errstate(invalid="ignore", over="ignore"):
            same = values.astype(kind)
        if np.array_equal(same, values, equal_nan=kind is np.float32):
            return same
    return values


def _with_target(chunk: Chunk) -> Chunk:
    known = np.isfinite(chunk.y)
    x = np.column_stack([chunk.x, np.where(known, chunk.y, 0.0)])
    return Chunk(x, chunk.y, chunk.weight * known)


def rows_of(x: Floats, y: Floats | None, groups: Any, max_rows_per_unit: int) -> PersonRows:
    """The rows of arrays; each a person's own, or of the people that `groups` names.

    Edge cases: rows whose group is missing are one person's together.
    """
    target = np.zeros(len(x)) if y is None else y
    most = whole(max_rows_per_unit, "max_rows_per_unit", at_least=1)
    codes = codes_of(groups, most, x, target)
    weight, full, bound = np.ones(len(x)), 1, 1
    if groups is not None:
        weight, full, bound = weights_of(np.bincount(codes)[codes], most), FULL, FULL * most

    def chunks() -> Iterator[Chunk]:
        for at in range(0, len(x), SIZE):
            some = slice(at, at + SIZE)
            yield Chunk(x[some], target[some], weight[some])

    return PersonRows(chunks, full, bound)


def codes_of(groups: Any, most: int, *columns: Any) -> NDArray[np.int64]:
    """The number of each row's person; columns that differ in length are refused.

    So are people with more than one row whom nothing names: rows would be protected, not people.
    """
    if groups is None and most > 1:
        what, why = f"max_rows_per_unit is {most} without groups", "each row would be a person"
        raise InputError(what, why=why, fix="pass groups, the name of each row's person")
    codes = np.arange(len(columns[0])) if groups is None else person_codes(groups)
    if any(len(one) != len(codes) for one in columns):
        what = "X, y and groups differ in length"
        raise InputError(what, why="each row has one of each", fix="pass one a row")
    return codes


def items_of(values: Any) -> NDArray[Any]:
    """Values as an array; of a list, as they are: no item changes what others are read as."""
    if isinstance(values, (list, tuple)):
        return np.fromiter(values, dtype=object, count=len(values))
    return np.asarray(values)


def name_of(item: Any) -> Any:
    """A hashable name of a person: equal names are one person; NaN becomes its text."""
    plain = item.item() if isinstance(item, np.generic) else item
    try:
        hash(plain)
        return plain if bool(plain == plain) else repr(plain)  # noqa: PLR0124 - NaN
    except (TypeError, ValueError):
        return repr(plain)


def weights_of(rows_per_person: NDArray[Any], most: int) -> Floats:
    """The weight of each row, from how many rows its person has.

    Guarantee: those of one person add up to at most FULL times `most`.

    Example:
        >>> weights_of(np.array([1, 2, 3, 4000]), 2)
        array([1024., 1024.,  682.,    0.])
    """
    counts = np.maximum(np.asarray(rows_per_person, dtype=np.int64), most)
    return np.asarray((FULL * most // counts).astype(np.float64))


def exact_product(
    left: Floats, right: Floats, weight: NDArray[Any], most: int
) -> NDArray[np.int64]:
    """The sum over rows of weight times left times right, exactly, of whole numbers.

    `most` bounds what a row of weight 1 adds to a number. Blocks of rows are so small that float64
    sums stay below 2^53, whatever their order.
    """
    left = left * weight[:, None]
    size = max(1, (1 << 52) // max(int(most * float(weight.max(initial=1))), 1))
    total = np.zeros((left.shape[1], right.shape[1]), dtype=np.int64)
    for at in range(0, len(left), size):
        total += (left[at : at + size].T @ right[at : at + size]).astype(np.int64)
    return total


def exact_dot(rows: Floats, columns: Floats) -> Floats:
    """Rows times columns, both rounded to 2^-20 within [-8, 8]: the same whatever rows are beside.

    Sums of whole numbers below 2^53 are exact in any order, up to 2^7 of them.
    """
    left, right = (np.rint(np.clip(one, -8, 8) * 2.0**20) for one in (rows, columns))
    total = np.zeros((len(rows), columns.shape[1]))
    for at in range(0, rows.shape[1], 1 << 7):
        total += left[:, at : at + (1 << 7)] @ right[at : at + (1 << 7)]
    return np.asarray(total * 2.0**-40)


def person_codes(groups: Any) -> NDArray[np.int64]:
    """The number of each row's person, from 0 on; rows with the same name are one person's."""
    array = items_of(groups)
    if array.ndim != 1:
        why, fix = "each row is somebody's", "pass one name a row"
        raise InputError("groups are not a flat list", why=why, fix=fix)
    if array.dtype.kind in "OUS":
        codes: dict[Any, int] = {}
        named = [name_of(item) for item in array.tolist()]
        array = np.array([codes.setdefault(item, len(codes)) for item in named], dtype=np.int64)
    found: NDArray[np.int64] = np.unique(array, return_inverse=True)[1].astype(np.int64)
    return found
