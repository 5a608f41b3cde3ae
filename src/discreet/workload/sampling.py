"""Rows drawn from a graphical model, stratified: counts in every clique are as even as can be.

Drawing reads a model and a key that was stored with it, so that the same release always has the
same rows. Nothing here touches data: all of it is post-processing.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.noise.bits import FEW, Keystream, open_source
from discreet.workload.domain import Codes
from discreet.workload.graphical_model import GraphicalModel
from discreet.workload.marginals import Clique, Floats

_BELOW_ONE = 1 - 2.0**-40

_PIECE = 1 << 16


class UniformNumbers:
    """Numbers from 0 to before 1 out of a 32-byte key: the same for the same key.

    Example:
        >>> bool((UniformNumbers(bytes(32)).draw(3) == UniformNumbers(bytes(32)).draw(3)).all())
        True
    """

    __slots__ = ("_bits",)

    def __init__(self, key: bytes) -> None:
        self._bits = Keystream(key)

    def words(self, count: int, bits: int) -> NDArray[np.uint64]:
        """The next whole numbers of so many bits."""
        return self._bits.words(count) >> np.uint64(64 - bits)

    def draw(self, count: int) -> Floats:
        """The next numbers; in pieces, which stay in the processor's cache."""
        drawn = np.empty(count)
        for start in range(0, count, _PIECE):
            piece = drawn[start : start + _PIECE]
            np.multiply(self.words(piece.size, 53), 2.0**-53, out=piece)
        return drawn


def fresh_key() -> bytes:
    """A key that nobody knows, to be stored with a synthesis."""
    return open_source(FEW).words(4).tobytes()


def conditioned(model: GraphicalModel, given: Mapping[str, NDArray[np.bool_]]) -> GraphicalModel:
    """The model of those rows whose cells are among some; its total is how many those are."""
    weights = {name: mask.astype(np.float64) for name, mask in given.items()}
    masks: dict[Clique, NDArray[np.bool_]] = {
        (name,): mask & model.allowed.get((name,), True) for name, mask in given.items()
    }
    return replace(model, total=model.count(weights), allowed={**model.allowed, **masks})


def sample_rows(model: GraphicalModel, count: int, numbers: UniformNumbers) -> Codes:
    """Rows of cells, columns in the order of the model's.

    Why: a clique's new columns are drawn given those it shares with its parent, by inverse
    transform. Within each group of rows that agree on the shared ones, the numbers transformed are
    evenly spaced in random order, so that counts differ from expectation by less than 1.
    """
    tree, places = model.tree, {name: i for i, name in enumerate(model.sizes)}
    rows: Codes = np.zeros((count, len(places)), dtype=np.int64, order="F")  # column by column
    for clique, shared, belief in zip(tree.cliques, tree.separators, model.beliefs, strict=True):
        new = tuple(name for name in clique if name not in shared)
        axes = [clique.index(name) for name in (*shared, *new)]
        sizes = [model.sizes[name] for name in new]
        table = belief.transpose(axes).reshape(-1, math.prod(sizes))
        group = _number(rows, shared, places, model.sizes)
        cells = _draw(table, group, numbers)
        for name, size in zip(reversed(new), reversed(sizes), strict=True):
            cells, rows[:, places[name]] = np.divmod(cells, size)
    return rows


def _number(
    rows: Codes, names: Clique, places: Mapping[str, int], sizes: Mapping[str, int]
) -> Codes:
    """The cells of some columns as one number."""
    number = np.zeros(rows.shape[0], dtype=np.int64)
    for name in names:
        number = number * sizes[name] + rows[:, places[name]]
    return number


def _sorted(keys: NDArray[np.uint64]) -> Codes:
    """The places of keys in rising order, of equal keys the first first: a stable argsort.

    Why: numbers are sorted several times as fast as places. So places are put under the keys' high
    bits and sorted with them, and those few whose high bits are equal are sorted again.
    """
    low = keys.size.bit_length()
    cut = max(0, int(keys.max(initial=0)).bit_length() + low - 64)
    packed = (keys >> np.uint64(cut) << np.uint64(low)) | np.arange(keys.size, dtype=np.uint64)
    packed.sort()
    order: Codes = (packed & np.uint64((1 << low) - 1)).astype(np.int64)
    packed >>= np.uint64(low)
    same = np.flatnonzero(packed[1:] == packed[:-1])
    again = np.union1d(same, same + 1)
    order[again] = order[again][np.lexsort((order[again], keys[order[again]]))]
    return order


def _draw(table: Floats, group: Codes, numbers: UniformNumbers) -> Codes:
    """A cell of row `group` of a table of weights, for each group, evenly."""
    order = _sorted(numbers.words(group.size, 40) + (group.astype(np.uint64) << np.uint64(40)))
    counts, groups = np.bincount(group, minlength=table.shape[0]), np.arange(table.shape[0])
    starts, sorted_ = np.cumsum(counts) - counts, np.repeat(groups, counts)
    rank = np.arange(group.size) - np.repeat(starts, counts)
    spaced = (rank + np.repeat(numbers.draw(groups.size), counts)) / np.repeat(counts, counts)
    ends = np.cumsum(table, axis=1)
    ends = np.divide(ends, ends[:, -1:], out=np.zeros_like(ends), where=ends[:, -1:] > 0)
    ladder = (ends + groups[:, None]).reshape(-1)
    place = np.searchsorted(ladder, sorted_ + spaced * _BELOW_ONE, side="right")
    cells = np.empty(group.size, dtype=np.int64)
    cells[order] = np.minimum(place - sorted_ * table.shape[1], table.shape[1] - 1)
    return cells
