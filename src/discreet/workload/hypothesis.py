"""What an online session believes about a table: public, and a function of what was measured.

One interface over two ways to hold it: every cell of the product of all columns, or, beyond some
ten million of them, a graphical model.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final

import numpy as np

from discreet.workload.domain import Domain
from discreet.workload.marginals import Clique, Floats, NoisyMarginal

DENSE_CELLS: Final = 10**7
"""Cells of the product of all columns up to which a hypothesis holds each of them."""

_SWEEPS: Final = 2
"""How often the newest beliefs are made to agree with every measurement, one after the other."""

_DAMPING: Final = 0.7


class Hypothesis(ABC):
    """A belief about how many rows are in each cell of a domain, which answers anything for free.

    Guarantee:
        Post-processing: made of noisy measurements and public facts alone.
    """

    domain: Domain
    measurements: tuple[NoisyMarginal, ...]
    rows: float

    def __init__(self, domain: Domain, measurements: Sequence[NoisyMarginal]) -> None:
        self.domain = domain
        self.measurements = tuple(measurements)
        self.rows = noisy_rows(measurements)
        self._known: dict[Clique, Floats] = {}

    def marginal(self, clique: Clique) -> Floats:
        """How many rows it believes to be in each cell of some columns."""
        found = self._known.get(clique)
        if found is None:
            found = self._known[clique] = self._marginal(clique)
        return found

    @abstractmethod
    def _marginal(self, clique: Clique) -> Floats: ...

    @abstractmethod
    def updated(self, new: NoisyMarginal) -> "Hypothesis":
        """The hypothesis that has learnt one more measurement."""


def noisy_rows(measurements: Sequence[NoisyMarginal]) -> float:
    """How many rows there are, from all measurements, each weighed by how well it tells."""
    precise = np.array([1 / (one.counts.size * one.sigma**2) for one in measurements])
    totals = np.array([one.counts.sum() for one in measurements])
    return max(1.0, float((precise * totals).sum() / precise.sum()))


def on_simplex(counts: Floats, total: float) -> Floats:
    """The nearest counts without negative ones and with this total."""
    falling = np.sort(counts, axis=None)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    last = int(np.flatnonzero(falling > excess)[-1])
    return np.asarray(np.maximum(counts - excess[last], 0.0))


def sum_to(table: Floats, kept: Sequence[int]) -> Floats:
    """The sums of a table over all axes but some.

    Why: numpy is slow where few numbers are left behind the axes that are summed over; there it is
    done as a product of matrices, a run of neighbouring axes at once.
    """
    end = table.ndim
    while end:
        start = end
        while start and start - 1 not in kept:
            start -= 1
        if start < end:
            before, after = table.shape[:start], table.shape[end:]
            run, rest = int(np.prod(table.shape[start:end])), int(np.prod(after))
            if rest * rest * run <= _SMALL:
                ones = np.tile(np.eye(rest), (run, 1))
                table = (table.reshape(-1, run * rest) @ ones).reshape(before + after)
            else:
                table = table.reshape(-1, run, rest).sum(axis=1).reshape(before + after)
        end = start - 1 if start else 0
    return table


_SMALL: Final = 1 << 16


class DenseHypothesis(Hypothesis):
    """Every cell of the product of all columns, learnt by multiplicative weights.

    A step multiplies all cells by the ratio of a measured marginal to the believed one, to a power
    below 1: the exact Bregman projection, damped because what was measured is noisy.
    """

    def __init__(
        self,
        domain: Domain,
        measurements: Sequence[NoisyMarginal],
        *,
        start: Floats | None = None,
    ) -> None:
        super().__init__(domain, measurements)
        shape = domain.shape()
        self._cells: Floats = np.ones(shape) if start is None else start.copy()
        wanted = [(one.clique, on_simplex(one.counts, self.rows)) for one in self.measurements]
        for _ in range(_SWEEPS):
            for clique, counts in wanted:
                self._step(clique, counts)
        self._cells *= self.rows / self._cells.sum()

    def _step(self, clique: Clique, counts: Floats) -> None:
        kept = [self.domain.place(name) for name in clique]
        believed = sum_to(self._cells, kept)
        least = self.rows * 1e-9
        ratio = np.maximum(counts, 0.1) / np.maximum(believed, least)
        spread = [size if i in kept else 1 for i, size in enumerate(self._cells.shape)]
        self._cells *= (ratio**_DAMPING).reshape(spread)

    def _marginal(self, clique: Clique) -> Floats:
        return sum_to(self._cells, [self.domain.place(name) for name in clique])

    def updated(self, new: NoisyMarginal) -> "DenseHypothesis":
        """All cells, made to agree with one more measurement and again with the earlier ones."""
        return DenseHypothesis(self.domain, (*self.measurements, new), start=self._cells)
