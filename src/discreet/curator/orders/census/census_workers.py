"""Noise of a release, drawn where the exact counts are: in the Python workers of an engine.

    joint weights ──SQL──> rows of each part ──worker: PartNoise──> noisy part ──> file, step

Exact counts never reach this process. A task that is killed, fails or runs twice draws the same
noise again, since it follows from one secret key of this run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

import numpy as np
import pyarrow as pa

from discreet.answer.plan.measure import Measurement
from discreet.noise.bits import keyed, metered
from discreet.workload.hierarchy import Integers

COLUMNS: Final = "part bigint, drawn bigint, counts binary"
_ROOM: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class PartNoise:
    """Makes noisy parts of the exact weights of a table, in a worker.

    `sizes` has how many counts each part has, by its number. Part `above` holds the units just
    above the leaves; `children` are the places of the first child of each unit, for each level
    from the top down to the one above those.

    Guarantee:
        A part is a function of `key`, its number and its exact weights. So it has one value in a
        run, however often a task is tried again, runs beside a copy of itself (speculative
        execution), or is computed again after a lost block: not even the temporary files of the run
        hold two draws for one exact count. Noise of different parts is independent for anybody who
        does not know `key` (`discreet.noise.bits.keyed`).
    Why:
        The key is drawn anew for each run, and a run stores each part at most once: as a step of
        the charge, before anything reads it. An interrupted run continues under another key, with
        the parts that are not stored; what it made of those was never given out.
    Edge cases:
        A part without rows comes as a row of weight 0: it has noise too. The key travels to the
        workers inside the task, as the exact weights do between them, and is forgotten with the
        run: whoever can read the memory or the network of the cluster reads the data anyway. Work
        so large that PySpark would keep it in a file is not sent (`CensusRun._draws_in`).
    """

    key: bytes = field(repr=False)
    leaf: Measurement
    uppers: tuple[Measurement, ...]
    children: tuple[Integers, ...]
    sizes: dict[int, int]
    above: int
    cells: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows (part, place, t0) of whole parts, one after another; a row for each part."""
        for part, pieces in groupby(_cut(batches), lambda piece: piece[0]):
            exact = np.zeros(self.sizes[part], dtype=np.int64)
            for _, place, weight in pieces:
                exact[place] = weight
            with keyed(self.key, part.to_bytes(8, "big")), metered() as meter:
                if part == self.above:
                    lowest = exact.reshape(-1, self.cells)
                    drawn = noisy_above(self.uppers, self.children, lowest)
                else:
                    drawn = noisy(self.leaf, exact)
            made = {
                "part": [part],
                "drawn": [meter.bytes],
                "counts": [drawn.astype("<i8").tobytes()],
            }
            yield pa.RecordBatch.from_pydict(made)


def _cut(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, Integers, Integers]]:
    """Batches, cut where the next part begins."""
    for batch in batches:
        part, place, weight = (one.to_numpy(zero_copy_only=False) for one in batch.columns)
        cuts = np.flatnonzero(np.diff(part)) + 1
        for at, end in zip([0, *cuts], [*cuts, part.size], strict=True):
            if at < end:
                yield int(part[at]), place[at:end], weight[at:end]


def noisy(law: Measurement, exact: Integers) -> Integers:
    """Exact weights with noise, in steps of the law; an improbable giant stays within 64 bits."""
    [drawn] = law.release([exact.reshape(-1)])
    if drawn.dtype == object:
        drawn = np.clip(drawn, -_ROOM, _ROOM)
    return drawn.astype(np.int64)


def noisy_above(laws: Sequence[Measurement], children: Sequence[Any], lowest: Integers) -> Integers:
    """Noisy counts of all levels above the leaves, from the top down, from the lowest of them."""
    sums = [lowest]
    for first in reversed(children):
        sums.insert(0, np.add.reduceat(sums[0], first, axis=0))
    return np.concatenate([noisy(*one) for one in zip(laws, sums, strict=True)])
