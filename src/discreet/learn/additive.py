"""An additive model on private bins: a curve for each feature, learned together."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.learn.binning import (
    FeatureBins,
    PlacedBins,
    bins_of_cells,
    fine_cells,
    looked_up,
    private_bins,
)
from discreet.learn.classifiers import PrivateClassifier
from discreet.learn.design import GRID
from discreet.learn.linear_sums import CELLS, descend, link_residuals
from discreet.learn.noisy_sums import NoisySums, RowStatistic
from discreet.learn.rows import Chunk, Floats, PersonRows
from discreet.rationals import whole

_VALUES = 10_000

_BINS = Fraction(1, 10)  # the share of the budget for bins and their counts
_FLOOR, _CLIP, _RATE = 0.04, 0.6, 0.2  # the least share of a bin; of a residual; of a step


@dataclass(frozen=True)
class CurveGradient(RowStatistic):
    """The gradient of logistic loss with one coefficient a bin, of rows given as places in bins.

    `sizes` are the numbers of bins of each feature.

    Guarantee:
        A row adds its residual, at most `clip` GRID, to one bin of each feature and to the
        constant.
    """

    theta: Floats
    sizes: tuple[int, ...]
    label: int = 1
    clip: float = 1.0

    @property
    def extent(self) -> tuple[int, int]:
        """One number for each bin and the constant; the residual on each feature and that."""
        return self.theta.size, (len(self.sizes) + 1) * self._limit**2

    @property
    def _limit(self) -> int:
        return max(1, int(self.clip * GRID))

    def sums(self, chunk: Chunk) -> Any:
        """Residuals by bin; of rows without a known label none."""
        *tables, constant = self._tables
        margin = np.full(len(chunk.x), constant)
        for j, table in enumerate(tables):
            margin += table.take(chunk.x[:, j])
        cells = np.floor(margin * (CELLS / GRID))
        r = link_residuals("logistic", cells, chunk.y == self.label)
        r = np.clip(r, -self._limit, self._limit) * (chunk.weight * np.isfinite(chunk.y))
        by_bin = [np.bincount(chunk.x[:, j], r, size) for j, size in enumerate(self.sizes)]
        return np.concatenate([*by_bin, [r.sum()]])

    @cached_property
    def _tables(self) -> list[Any]:
        """What each bin adds to a margin, by feature, and the constant; in steps."""
        whole = np.rint(np.clip(self.theta, -64.0, 64.0) * GRID)
        return [*np.split(whole[:-1], np.cumsum(self.sizes)[:-1]), whole[-1]]


@dataclass(kw_only=True, eq=False, repr=False)
class AdditiveClassifier(PrivateClassifier):
    """A sum of curves, one a feature, on private bins: accurate on tables, and easy to read.

    `curves_` has for each feature one number a bin (the last for NaN), in log odds. Features listed
    in `categorical` are whole numbers within their bounds, and keep a bin for each.

    Guarantee:
        See `PrivateEstimator`: one release for the bins, one for each of `max_iter` gradients.
        Of many rows each gradient sums a batch of about `batch_rows` or more, dealt by fair coins:
        a row pays for the gradients of its own batch alone. None sums all rows each time.
    Edge cases:
        More than two classes are learned one against the others, each for an equal share.
    Reference: Nori, Caruana, Bu, Shen, Kulkarni, Accuracy, Interpretability, and Differential
    Privacy via Explainable Boosting, ICML 2021 (private bins and additive curves).
    """

    bounds: Any = None
    categorical: Any = None
    n_bins: Any = 12
    max_iter: Any = 60
    batch_rows: Any = 250_000

    def _prepare(self, features: int) -> None:
        super()._prepare(features)
        if self.batch_rows is not None:
            whole(self.batch_rows, "batch_rows", at_least=1)
        low, high = self.bounds_
        listed = [whole(one, "categorical", at_least=0) for one in self.categorical or ()]
        if any(one >= features or high[one] - low[one] >= _VALUES for one in listed):
            raise InputError(
                "a categorical feature that is not there or too wide",
                why=f"it has a bin for each whole number within its bounds, {_VALUES:,} at most",
                fix="name features by their place, or let their values be joined to bins",
            )

    def _learn(self, sums: NoisySums) -> None:
        binned = self._binned(sums)
        bins, models = binned[0], len(self.classes_)
        targets = [1] if models == 2 else list(range(models))
        share = (1 - _BINS) / len(targets)
        thetas = [self._curves(sums, *binned, share, one) for one in targets]
        self.bin_edges_, self.n_iter_ = list(bins.edges), self.max_iter
        *curves, [self.intercept_] = np.split(np.stack(thetas, axis=1), np.cumsum(bins.sizes))
        self.curves_ = [one.T for one in curves]

    def _binned(self, sums: NoisySums) -> tuple[FeatureBins, Floats, list[PersonRows]]:
        """Private bins, their noisy counts, and rows as places in bins, in batches.

        Rows are read once: they are kept as cells, which are counted and then joined.
        """
        low, high = self.bounds_
        listed = frozenset(self.categorical or ())
        cells = fine_cells(low, high, listed)
        (placed,) = sums.rows.with_features(cells.places).batches(1)
        known = PlacedBins(cells.edges)
        bins, counts = private_bins(sums, known, self.n_bins, _BINS, listed, placed)
        to_bin = bins_of_cells(bins, cells)
        binned = placed.with_features(lambda x: np.stack([*map(np.take, to_bin, x.T)]).T)
        rows = counts.sum() / len(low)
        many = 1 if self.batch_rows is None else int(rows / self.batch_rows)
        return bins, counts, binned.batches(max(1, min(many, self.max_iter)))

    def _curves(
        self,
        sums: NoisySums,
        bins: FeatureBins,
        counts: Floats,
        batches: list[PersonRows],
        share: Fraction,
        label: int,
    ) -> Floats:
        features = len(bins.edges)
        total = max(float(np.maximum(counts, 0).sum()) / features, 1.0)
        part = np.append(np.clip(counts / total, 0, 1), 1.0)
        curvature = np.maximum(part, _FLOOR) / 4
        own = np.repeat(np.arange(features), bins.sizes)

        def centred(step: Floats) -> Floats:
            """Curves of mean 0: what all features share is the constant's alone."""
            mean = np.bincount(own, part[:-1] * step[:-1]) / np.bincount(own, part[:-1] + 1e-9)
            return np.asarray(np.append(step[:-1] - mean[own], step[-1]))

        gradient = partial(CurveGradient, sizes=tuple(bins.sizes), label=label, clip=_CLIP)
        start = np.zeros(sum(bins.sizes) + 1)
        paid, unit = (self.max_iter, share, batches), GRID * (total / len(batches))
        rate = _RATE / curvature
        return descend(sums, gradient, start, *paid, unit=unit, rate=rate, project=centred)

    def _scores(self, x: Any) -> Floats:
        places = FeatureBins(tuple(self.bin_edges_)).places(self._fitted_features(x))
        return np.asarray(self.intercept_ + looked_up(self.curves_, places))
