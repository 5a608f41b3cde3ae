"""Marginals with Gaussian noise: what synthesis and online answers are measured by.

All noise is Gaussian and rounded, so that any number of measurements, each chosen after seeing the
others, has exactly the Gaussian guarantee of their summed mu^2.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.gaussian import RoundedGaussian
from discreet.mechanisms.grid import INTEGERS, sqrt_up
from discreet.workload.histogram import JointHistogram

Clique = tuple[str, ...]
"""The names of the columns of a marginal, in the order of its axes."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class NoisyMarginal:
    """A marginal as it was measured, in rows: counts with Gaussian noise of one deviation.

    `steps` are the noisy integers in units of 1/`row_weight` rows; `mu_squared` is what measuring
    it gave away.
    """

    clique: Clique
    steps: NDArray[np.int64]
    row_weight: int
    variance: Fraction
    mu_squared: Fraction

    @property
    def counts(self) -> Floats:
        """The noisy numbers of rows."""
        return self.steps / self.row_weight

    @property
    def sigma(self) -> float:
        """The standard deviation of each count, in rows."""
        return math.sqrt(self.variance) / self.row_weight

    def to_dict(self) -> dict[str, Any]:
        """The public facts without the numbers."""
        return {
            "clique": list(self.clique),
            "row_weight": self.row_weight,
            "variance": str(self.variance),
            "mu_squared": str(self.mu_squared),
        }

    @staticmethod
    def from_dict(stored: Mapping[str, Any], steps: NDArray[np.int64]) -> "NoisyMarginal":
        """Read the facts that `to_dict` wrote, with the numbers."""
        variance, mu_squared = Fraction(stored["variance"]), Fraction(stored["mu_squared"])
        clique = tuple(stored["clique"])
        return NoisyMarginal(clique, steps, stored["row_weight"], variance, mu_squared)


def gaussian_for(
    histogram: JointHistogram, cells: int, mu_squared: Fraction, *, marginals: int = 1
) -> RoundedGaussian:
    """The mechanism that releases all cells of some marginals together for a mu^2."""
    return RoundedGaussian(
        mu_squared=mu_squared,
        sensitivity=sqrt_up(Fraction(histogram.squared_l2_sensitivity(marginals=marginals))),
        grid=INTEGERS,
        dimension=cells,
        neighbours=histogram.neighbours,
    )


def measure_marginal(
    histogram: JointHistogram, clique: Clique, mu_squared: Fraction
) -> NoisyMarginal:
    """Measure one marginal for a mu^2.

    Guarantee:
        sqrt(mu_squared)-Gaussian differential privacy: the l2 sensitivity is that of the
        histogram, a whole number of its grid (or sqrt(2) times one, rounded up), and noise is
        rounded Gaussian on the same grid.
    """
    return measure_table(histogram, clique, histogram.marginal(clique), mu_squared)


def measure_table(
    histogram: JointHistogram, clique: Clique, exact: NDArray[np.int64], mu_squared: Fraction
) -> NoisyMarginal:
    """Measure a marginal that was counted already, or some cells of one put together.

    Why: putting cells together moves no table further, in l1 or in l2 of what only adds.
    """
    noise = gaussian_for(histogram, exact.size, mu_squared)
    noisy = np.asarray(noise.release(exact.reshape(-1)), dtype=np.int64).reshape(exact.shape)
    return NoisyMarginal(clique, noisy, histogram.row_weight, noise.variance, mu_squared)


def total_variation(one: Floats, other: Floats) -> float:
    """Half the l1 distance of two marginals as shares; 1 where one of them is empty."""
    whole, rest = float(one.sum()), float(other.sum())
    if whole <= 0 or rest <= 0:
        return 1.0
    return float(np.abs(one / whole - other / rest).sum()) / 2


def sums_of(axes: Sequence[str], kept: Sequence[str]) -> tuple[int, ...]:
    """The axes of a table over `axes` that are summed over to leave `kept`."""
    return tuple(i for i, name in enumerate(axes) if name not in kept)
