"""Private bins of an unbounded number: from noisy counts on a logarithmic grid."""

import math
from dataclasses import replace

import numpy as np

from discreet.plan.kinds import Kind
from discreet.workload.domain import BINS, Attribute
from discreet.workload.histogram import Floats, NoisyMarginal

_OCTAVE = 4
"""Cells of the grid between a number and its double."""

_SMALLEST, _LARGEST = -16, 62
"""Powers of two between which magnitudes are distinguished."""

_SEEN = 5.0
"""Deviations of noise above which a cell, or several together, are taken to hold rows.

Some thousand of them are looked at: at 4 a far one would be seen in a few columns of a hundred.
"""


def logarithmic_grid(name: str, kind: Kind, *, nullable: bool) -> Attribute:
    """A public grid for a number of any size: finer near 0, a quarter of an octave elsewhere.

    Example:
        >>> logarithmic_grid("x", Kind.INTEGER, nullable=True).size < 500
        True
    """
    steps = range(_SMALLEST * _OCTAVE, _LARGEST * _OCTAVE + 1)
    sizes = [2.0 ** (step / _OCTAVE) for step in steps]
    if kind is Kind.REAL:
        ends: list[float] = [*(-size for size in reversed(sizes)), 0.0, *sizes]
    else:
        whole = sorted({math.ceil(size) for size in sizes})
        ends = [*(-size for size in reversed(whole)), 0, *whole]
    return Attribute(name, kind, edges=tuple(ends), nullable=nullable)


def private_bins(measured: NoisyMarginal, grid: Attribute, bins: int = BINS) -> Attribute:
    """Bins with about equally many rows each, from noisy counts on a grid: post-processing.

    Cells at both ends that noise would explain, each and several together, are cut off; values
    there go to the outer bins, which are therefore open-ended. Where nothing is seen at all there
    is one bin around 0.
    """
    counts = measured.counts[:-1] if grid.nullable else measured.counts
    seen = _seen(counts, measured.sigma)
    if not seen:
        middle = len(grid.edges) // 2
        ends = (grid.edges[middle - 1], grid.edges[middle + 1])
        return replace(grid, edges=ends, open_ended=True)
    first, last = min(start for start, _ in seen), max(end for _, end in seen) - 1
    edges = np.array(grid.edges[first : last + 2], dtype=np.float64)
    cuts = _equal_parts(edges, np.maximum(counts[first : last + 1], 0.0), bins)
    if grid.kind is Kind.REAL:
        chosen = tuple(dict.fromkeys(float(cut) for cut in cuts))
    else:
        chosen = tuple(dict.fromkeys(round(float(cut)) for cut in cuts))
    if len(chosen) == 1:
        chosen = (chosen[0], chosen[0] + 1)
    return replace(grid, edges=chosen, open_ended=True)


def _seen(counts: Floats, sigma: float) -> list[tuple[int, int]]:
    """Neighbouring cells, as few as possible and a power of two of them, that noise cannot explain.

    Why: rows that are spread over many cells are visible in none of them, but in all together.
    """
    found: list[tuple[int, int]] = []
    below, width = np.concatenate([[0.0], np.cumsum(counts)]), 1
    while width <= counts.size:
        for start in range(0, counts.size, width):
            end = min(start + width, counts.size)
            inside = any(start <= one < end for one, _ in found)
            if not inside and below[end] - below[start] > _SEEN * sigma * math.sqrt(end - start):
                found.append((start, end))
        width *= 2
    return found


def _equal_parts(edges: Floats, counts: Floats, bins: int) -> Floats:
    """Edges at equal shares of the counts, which are spread evenly inside each cell."""
    below = np.concatenate([[0.0], np.cumsum(counts)])
    rising = below + np.arange(below.size) * 1e-9 * max(below[-1], 1.0)
    wanted = np.linspace(rising[0], rising[-1], bins + 1)
    return np.maximum.accumulate(np.interp(wanted, rising, edges))
