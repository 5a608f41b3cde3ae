"""Counts, sums and sums of squares of features by class, for naive Bayes and tests of means."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.learn.design import GRID, with_squares
from discreet.learn.noisy_sums import NoisySums, RowStatistic
from discreet.learn.rows import Chunk, Floats, exact_product


@dataclass(frozen=True)
class ClassTotals(RowStatistic):
    """For each label the count, sums and sums of squares of features on [-1, 1].

    Guarantee:
        A row has one label, under which it adds 1 to the count, and at most 1 and 1 a feature.
    """

    low: Floats
    high: Floats
    labels: int

    @property
    def extent(self) -> tuple[int, int]:
        """One count and two numbers a feature, for each label; as `FeatureTotals`."""
        return self.labels * (1 + 2 * len(self.low)), (1 + 2 * len(self.low)) * GRID**2

    def sums(self, chunk: Chunk) -> Any:
        """Sums by label; rows without a known one count nowhere."""
        known = np.isfinite(chunk.y)
        label = np.where(known, chunk.y, 0).astype(np.int64)
        here = np.eye(self.labels)[label] * (chunk.weight * known)[:, None]
        each = with_squares(self.low, self.high, chunk.x)
        return exact_product(here, each, int(GRID * chunk.weight.max(initial=1.0)))


@dataclass(frozen=True)
class ClassMoments:
    """Noisy counts, sums and sums of squares of features on [-1, 1], one row a label.

    `sigma` is the deviation of the noise of each number.
    """

    counts: Floats
    sums: Floats
    squares: Floats
    sigma: float

    @property
    def sizes(self) -> Floats:
        """Counts, at least one row and at least what noise alone could be."""
        return np.asarray(np.maximum(self.counts, max(1.0, self.sigma)))

    @property
    def means(self) -> Floats:
        """Means of features, between -1 and 1."""
        return np.asarray(np.clip(self.sums / self.sizes[:, None], -1, 1))

    @property
    def variances(self) -> Floats:
        """Variances, no smaller than noise lets them be known."""
        least = np.minimum(0.5 * self.sigma / self.sizes, 0.25)[:, None] + 1e-6
        found = self.squares / self.sizes[:, None] - self.means**2
        return np.asarray(np.clip(found, least, 1.0))


def class_moments(
    sums: NoisySums, low: Floats, high: Floats, labels: int, share: Fraction
) -> ClassMoments:
    """Measure totals by class once."""
    statistic = ClassTotals(low, high, labels)
    totals = sums.sums(statistic, share).reshape(labels, -1) / GRID
    d = len(low)
    sigma = sums.sigma(statistic, share) / GRID
    return ClassMoments(totals[:, 0], totals[:, 1 : d + 1], totals[:, d + 1 :], sigma)
