"""Pairs of columns that synthesis may measure, at two resolutions, and how wrong a model is there.

Columns with many cells have a coarse copy with a few, made from their noisy counts: a pair of
coarse copies has so few cells that noise leaves something of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.gaussian import RoundedGaussian
from discreet.workload.domain import Attribute, Codes, Domain
from discreet.workload.graphical_model import GraphicalModel
from discreet.workload.histogram import (
    Clique,
    Floats,
    JointHistogram,
    NoisyMarginal,
    measure_table,
    rounded_noise,
)

LEVELS = 8
"""Cells of a coarse copy."""

FINE = 14
"""Columns with at most this many cells have no coarse copy."""

COARSE = "~"
"""Ends the name of a coarse copy; no column of a table is called so."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pair of columns, each itself or its coarse copy, in the model's order; or one column.

    `pair` are the columns themselves; `groups` says which cell of the coarse copy each cell is in,
    None where the column itself is meant.
    """

    clique: Clique
    pair: Clique
    groups: tuple[Codes | None, ...] = field(compare=False)
    cells: int

    def merged(self, table: NDArray[Any]) -> NDArray[Any]:
        """A table over the pair, at this candidate's resolution."""
        for axis, groups in enumerate(self.groups):
            if groups is not None:
                wide = (int(groups.max()) + 1, table.shape[1 - axis])
                sums = np.zeros(wide, dtype=table.dtype)
                np.add.at(sums, groups, table if axis == 0 else table.T)
                table = sums if axis == 0 else sums.T
        return table


def coarsen(attribute: Attribute, counts: Floats, levels: int = LEVELS) -> Codes | None:
    """The coarse group of each cell; None for a column with few cells.

    Neighbouring cells of ordered columns are put together so that groups are about equally large;
    of others the largest cells stay alone and the rest is one group. NULL stays alone.
    """
    if attribute.size <= FINE:
        return None
    shares = np.maximum(counts, 0.0)
    shares = shares / max(shares.sum(), 1.0)
    if attribute.is_ordered:
        inner = shares[:-1] if attribute.nullable else shares
        middle = np.cumsum(inner) - inner / 2
        scaled = middle / max(inner.sum(), 1e-12) * levels
        groups = np.minimum(scaled.astype(np.int64), levels - 1)
        groups = np.unique(groups, return_inverse=True)[1].reshape(-1)
        return np.append(groups, groups.max() + 1) if attribute.nullable else groups
    groups = np.full(attribute.size, levels - 1, dtype=np.int64)
    groups[np.argsort(-shares, kind="stable")[: levels - 1]] = np.arange(levels - 1)
    return groups


@dataclass(frozen=True)
class Resolutions:
    """A domain, and the groups of those columns that have a coarse copy."""

    domain: Domain
    groups: Mapping[str, Codes]

    @staticmethod
    def of(domain: Domain, measured: Sequence[NoisyMarginal]) -> "Resolutions":
        """Coarse copies by noisy counts of each column."""
        counts = {one.clique[0]: one.counts for one in measured if len(one.clique) == 1}
        found = {name: coarsen(domain[name], counts[name]) for name in domain.names}
        return Resolutions(domain, {n: g for n, g in found.items() if g is not None})

    @property
    def sizes(self) -> dict[str, int]:
        """The cells of all columns, coarse copies last."""
        return {
            **self.domain.sizes,
            **{name + COARSE: int(g.max()) + 1 for name, g in self.groups.items()},
        }

    def tie(self, coarse: str) -> tuple[Clique, NDArray[np.bool_]]:
        """Cells of a column that belong to a cell of its coarse copy."""
        name = coarse.removesuffix(COARSE)
        groups = self.groups[name]
        return (name, coarse), groups[:, None] == np.arange(groups.max() + 1)

    def candidates(self, max_cells: int) -> list[Candidate]:
        """Every pair, itself and coarse; tables of more than `max_cells` are left out."""
        sizes = self.sizes
        order = {name: i for i, name in enumerate(sizes)}
        found: dict[Clique, Candidate] = {}
        for pair in combinations(self.domain.names, 2):
            coarse = tuple(self.groups.get(name) for name in pair)
            for groups in ((None, None), coarse):
                names = [n if g is None else n + COARSE for n, g in zip(pair, groups, strict=True)]
                clique = tuple(sorted(names, key=order.__getitem__))
                cells = sizes[clique[0]] * sizes[clique[1]]
                whole = self.domain.sizes[pair[0]] * self.domain.sizes[pair[1]]
                if max(cells, whole) <= max_cells:
                    found[clique] = Candidate(clique, pair, (groups[0], groups[1]), cells)
        return list(found.values())


@dataclass(frozen=True)
class Scorer:
    """How far a model is from the data on candidates: l1 distances, with noise.

    Guarantee:
        `release` is sqrt(mu_squared)-Gaussian differentially private: a person moves each distance
        by at most the histogram's l1 sensitivity, and k of them by sqrt(k) times as much in l2.
        Distances are whole numbers: model counts are rounded to the histogram's grid first.
    """

    histogram: JointHistogram
    tables: dict[Clique, NDArray[np.int64]] = field(default_factory=dict)

    def _table(self, one: Candidate) -> NDArray[np.int64]:
        """The exact counts of a candidate: private."""
        if one.pair not in self.tables:
            self.tables[one.pair] = self.histogram.marginal(one.pair)
        return one.merged(self.tables[one.pair])

    def _distance(self, one: Candidate, expected: Floats) -> int:
        there = np.rint(one.merged(expected) * self.histogram.row_weight).astype(np.int64)
        return int(np.abs(self._table(one) - there).sum())

    def measure(self, one: Candidate, mu_squared: Fraction) -> NoisyMarginal:
        """Measure a candidate, its columns in the order of the model's."""
        exact = self._table(one)
        if one.clique[0].removesuffix(COARSE) != one.pair[0]:
            exact = exact.T
        return measure_table(self.histogram, one.clique, exact, mu_squared)

    def release(
        self, candidates: Sequence[Candidate], model: GraphicalModel, mu_squared: Fraction
    ) -> Floats:
        """Noisy distances, in rows."""
        tables = {pair: model.marginal(pair) for pair in {one.pair for one in candidates}}
        exact = [self._distance(one, tables[one.pair]) for one in candidates]
        noise = score_noise(self.histogram, len(candidates), mu_squared)
        noisy = np.asarray(noise.release(np.array(exact, dtype=np.int64)), dtype=np.float64)
        return noisy / self.histogram.row_weight


def score_noise(histogram: JointHistogram, count: int, mu_squared: Fraction) -> RoundedGaussian:
    """The mechanism that releases that many l1 distances together."""
    square = count * histogram.l1_sensitivity() ** 2
    return rounded_noise(square, count, histogram.neighbours, mu_squared=mu_squared)


def shrunk(noisy: Floats, sigma: float) -> Floats:
    """Noisy scores moved towards their mean, the more the larger their noise is.

    Why: the largest of many noisy scores is mostly the one with the largest noise. The spread of
    noisy scores is that of the exact ones and of noise; the part that noise explains is taken off.

    Reference: James, Stein, Estimation with quadratic loss, Berkeley Symposium 1961.
    """
    mean, spread = noisy.mean(), max(float(noisy.var()), sigma**2)
    return np.asarray(mean + (1 - sigma**2 / spread) * (noisy - mean))
