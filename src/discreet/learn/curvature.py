"""The curvature of the logistic loss, as a sum of whole numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.learn.descent import LinkGradient
from discreet.learn.design import GRID
from discreet.learn.noisy_sums import RowStatistic
from discreet.learn.rows import Chunk, Floats, exact_product

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
    def width(self) -> int:
        """The triangle with its diagonal."""
        return self.theta.size * (self.theta.size + 1) // 2

    @property
    def square(self) -> int:
        """By the norm of a row."""
        return (_FINE // 4) ** 2 * (self.radius**4 + self.reach**2 * self.radius**2) // 2

    @property
    def unit(self) -> float:
        """What one step of a number is."""
        return 1 / (_FINE * GRID**2)

    def sums(self, chunk: Chunk) -> Any:
        """Products of whole numbers."""
        nobody = Chunk(chunk.x, np.zeros(len(chunk.x)), chunk.weight)
        p = LinkGradient(self.theta[None, :], self.radius).residuals(nobody)[:, 0]
        slope = np.floor(p * (GRID - p) * (_FINE / GRID**2)) * np.isfinite(chunk.y)
        most = int(_FINE // 4 * self.reach**2 * chunk.weight.max(initial=1.0))
        scaled = chunk.x * (chunk.weight * slope)[:, None]
        return exact_product(scaled, chunk.x, most)[np.triu_indices(self.theta.size)]

    def matrix(self, upper: Floats) -> Floats:
        """The whole matrix from its noisy triangle, in units of the scaled features."""
        p = self.theta.size
        answer = np.zeros((p, p))
        answer[np.triu_indices(p)] = upper * self.unit
        return answer + answer.T - np.diag(np.diag(answer))
