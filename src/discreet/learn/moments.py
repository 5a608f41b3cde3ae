"""Moments of rows: second moments on the grid, the logistic curvature, totals by class."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.learn.descent import LinkGradient
from discreet.learn.design import GRID, FeatureTotals, Scaling
from discreet.learn.noisy_sums import NoisySums, RowStatistic
from discreet.learn.rows import Chunk, Floats, PersonRows, exact_product


@dataclass(frozen=True)
class SecondMoments(RowStatistic):
    """The upper triangle of the sum of z z' over rows z of a scaling, cut to its norm.

    Guarantee:
        The squared norm of one row's triangle is (|z|^4 + sum z_i^4)/2, at most
        (radius^4 + reach^2 radius^2)/2.
    """

    scaling: Scaling

    @property
    def size(self) -> int:
        """Numbers of a row."""
        return len(self.scaling.low) + (1 if self.scaling.one else 0)

    @property
    def extent(self) -> tuple[int, int]:
        """The triangle with its diagonal; by the norm of a row and the reach of a number."""
        return _triangle(self.size, self.scaling.radius, self.scaling.reach, 1)

    def sums(self, chunk: Chunk) -> Any:
        """Products of whole numbers."""
        z, weight = self.scaling.steps(chunk.x), chunk.weight
        most = int(self.scaling.reach**2 * weight.max(initial=1.0))
        return exact_product(z * weight[:, None], z, most)[np.triu_indices(self.size)]


def _triangle(size: int, radius: int, reach: int, most: int) -> tuple[int, int]:
    """Numbers of an upper triangle, and the largest squared norm of a row's times `most`."""
    return size * (size + 1) // 2, most**2 * (radius**4 + reach**2 * radius**2) // 2


def second_moments(
    sums: NoisySums, scaling: Scaling, share: Any, rows: PersonRows
) -> tuple[Floats, float]:
    """The matrix of second moments in units of the scaling, and the noise of its entries."""
    statistic = SecondMoments(scaling)
    upper = sums.sums(statistic, share, rows) / GRID**2
    return symmetric(upper, statistic.size), sums.sigma(statistic, share) / GRID**2


def symmetric(upper: Floats, size: int) -> Floats:
    """A matrix from its upper triangle."""
    half = np.zeros((size, size))
    half[np.triu_indices(size)] = upper
    return np.asarray(half + half.T - np.diag(np.diag(half)))


def shrunk(matrix: Floats, noise: float) -> tuple[Floats, float]:
    """A noisy symmetric matrix drawn towards a multiple of 1, and the deviation of its entries.

    It goes as far as noise explains their distance from there (the posterior mean of entries that
    are normal around it, the variance as seen).

    Reference: Ledoit, Wolf, A Well-Conditioned Estimator for Large-Dimensional Covariance
    Matrices, 2004.
    """
    middle = np.trace(matrix) / len(matrix) * np.eye(len(matrix))
    away = (matrix - middle)[np.triu_indices(len(matrix))]
    part = min(1.0, noise**2 * max(len(away) - 1, 1) / max(float(away @ away), 1e-300))
    left = noise * max(1 - part, 1 / len(away)) ** 0.5
    return middle + (1 - part) * (matrix - middle), left


_FINE = 1 << 8
"""Steps to a unit of p (1 - p); it is at most a quarter."""


@dataclass(frozen=True)
class LogisticCurvature(RowStatistic):
    """The upper triangle of the sum of p (1 - p) x x', p the probability that theta gives a row.

    Guarantee:
        p (1 - p) is at most _FINE/4 whole steps, so a row's triangle has a squared norm of at most
        (_FINE/4)^2 (radius^4 + reach^2 radius^2)/2; rows count for less where they are long, as in
        the gradient.
    """

    theta: Floats
    radius: int
    reach: int

    @property
    def extent(self) -> tuple[int, int]:
        """The triangle with its diagonal; by the norm of a row."""
        return _triangle(self.theta.size, self.radius, self.reach, _FINE // 4)

    @property
    def unit(self) -> float:
        """The size of one step."""
        return 1 / (_FINE * GRID**2)

    def sums(self, chunk: Chunk) -> Any:
        """Products of whole numbers."""
        nobody = Chunk(chunk.x, np.zeros(len(chunk.x)), chunk.weight)
        p = LinkGradient(self.theta[None, :], self.radius).residuals(nobody)[:, 0]
        slope = np.floor(p * (GRID - p) * (_FINE / GRID**2)) * np.isfinite(chunk.y)
        most = int(_FINE // 4 * self.reach**2 * chunk.weight.max(initial=1.0))
        scaled = chunk.x * (chunk.weight * slope)[:, None]
        return exact_product(scaled, chunk.x, most)[np.triu_indices(self.theta.size)]


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
    statistic = FeatureTotals(low, high, labels)
    totals = sums.sums(statistic, share).reshape(labels, -1) / GRID
    d = len(low)
    sigma = sums.sigma(statistic, share) / GRID
    return ClassMoments(totals[:, 0], totals[:, 1 : d + 1], totals[:, d + 1 :], sigma)
