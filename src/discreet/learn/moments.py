"""Second moments of rows on the grid: the sufficient statistics of regression and of PCA."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.learn.design import GRID, Scaling
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
    def width(self) -> int:
        """The triangle with its diagonal."""
        return self.size * (self.size + 1) // 2

    @property
    def square(self) -> int:
        """By the norm of a row and the reach of a number."""
        radius, reach = self.scaling.radius, self.scaling.reach
        return (radius**4 + reach**2 * radius**2) // 2

    def sums(self, chunk: Chunk) -> Any:
        """Products of whole numbers."""
        z, weight = self.scaling.steps(chunk.x), chunk.weight
        most = int(self.scaling.reach**2 * weight.max(initial=1.0))
        return exact_product(z * weight[:, None], z, most)[np.triu_indices(self.size)]


@dataclass(frozen=True)
class NoisyMoments:
    """A symmetric matrix of second moments in units of the scaling, and its entries' noise."""

    matrix: Floats
    sigma: float


def second_moments(sums: NoisySums, scaling: Scaling, share: Any, rows: PersonRows) -> NoisyMoments:
    """Measure second moments once."""
    statistic = SecondMoments(scaling)
    upper = sums.sums(statistic, share, rows) / GRID**2
    matrix = np.zeros((statistic.size, statistic.size))
    matrix[np.triu_indices(statistic.size)] = upper
    matrix = matrix + matrix.T - np.diag(np.diag(matrix))
    return NoisyMoments(matrix, sums.sigma(statistic, share) / GRID**2)
