"""How much noise a training run needs: all of it settled before any data is looked at."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.privacy import (
    CalibrationStep,
    Composed,
    GaussianNoise,
    Guarantee,
    Subsampled,
    compose,
)
from discreet.privacy import calibrate as calibrate_noise
from discreet.rationals import Real, positive, whole

_FINE: Final = 11  # rounding every number of a sum moves it by at most 2^-11 of the clip, in l2
_ROOM: Final = Fraction(1025, 1024)
"""The sensitivity over the clip: 2^-11 for rounding to the grid, 2^-11 for sums of floats."""

_FEW: Final = 1 << 24
"""Mu is rounded down to multiples of one over this: the same number on every machine."""

_COEFFICIENT: Final = 12  # bits of the coefficients of banded noise


@dataclass(frozen=True)
class NoisePlan:
    """Steps, sampling rate, and noise of a training run that is (epsilon, delta)-private.

    Guarantee:
        `steps` steps, each with a Poisson sample at `rate` and Gaussian noise of `multiplier` times
        the sensitivity, are (epsilon, delta)-differentially private, and their epsilon is at least
        0.9998 of what is allowed. With `band` b > 1, a person can be sampled at one of b steps, at
        b times the rate: `steps`/b rounded up such releases.
    Neighbours:
        One person more or less with all their rows. `people` is a public number, so that neither
        rate nor steps nor the divisor of a gradient depend on how many there are.
    Reference: Abadi et al. 2016 (DP-SGD); Choquette-Choo et al. 2023, Theorem 1 (banded matrices
    with sampling); Kalinin, Lampert 2024 (the banded square root).
    """

    epsilon: Fraction
    delta: Fraction
    people: int
    batch: int
    epochs: Fraction
    band: int = 1
    settled: Fraction | None = None
    """The mu of a release where it was settled before, else the largest that fits."""

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "epochs"):
            object.__setattr__(self, name, positive(getattr(self, name), name))
        for name in ("people", "batch", "band"):
            object.__setattr__(self, name, whole(getattr(self, name), name, at_least=1))
        if self.batch * self.band > self.people:
            what = f"batch {self.batch} times band {self.band} is above {self.people} people"
            why, fix = "nobody is in a sample twice", "use a smaller batch or band"
            raise InputError(what, why=why, fix=fix)

    @property
    def rate(self) -> Fraction:
        """The probability that a person whose turn it may be is in a sample."""
        return Fraction(self.batch * self.band, self.people)

    @property
    def steps(self) -> int:
        """How many steps there are: `epochs` times people over batch, rounded up."""
        return math.ceil(self.epochs * self.people / self.batch)

    @property
    def mu(self) -> Fraction:
        """Sensitivity over standard deviation, of one release."""
        return _calibrated(self) if self.settled is None else self.settled

    @property
    def multiplier(self) -> float:
        """The standard deviation of the noise, in sensitivities."""
        return float(1 / self.mu)

    def guarantee(self, steps: int) -> Composed:
        """The guarantee of `steps` steps."""
        releases = -(-steps // self.band)
        return compose([(self._release(self.mu), releases)] if releases else [])

    def _release(self, mu: Fraction) -> Guarantee:
        return Subsampled(GaussianNoise(mu), self.rate)

    @property
    def coefficients(self) -> NDArray[np.int64]:
        """The first column of the banded matrix that noise is correlated by, in whole numbers."""
        exact = [math.comb(2 * j, j) / 4**j for j in range(self.band)]
        return np.array([round(c * 2**_COEFFICIENT) if self.band > 1 else 1 for c in exact])


@lru_cache(maxsize=64)
def _calibrated(plan: NoisePlan) -> Fraction:
    step = CalibrationStep(plan._release, count=-(-plan.steps // plan.band))  # noqa: SLF001 - own
    found = calibrate_noise([step], epsilon=plan.epsilon, delta=plan.delta).parameters[0]
    return Fraction(math.floor(found * _FEW), _FEW)


@dataclass(frozen=True)
class GradientGrid:
    """The grid of a gradient with `dimension` numbers that is clipped at `clip`.

    Guarantee:
        A vector of l2 norm `clip`, and the rounding of two vectors to the grid, and 2^-11 of the
        clip beside, are together at most `sensitivity` steps.
    Why:
        Rounding moves each number by half a step at most, so the difference of two vectors by
        sqrt(dimension) steps, which is at most 2^-11 of the clip.
    """

    clip: Fraction
    dimension: int

    @property
    def exponent(self) -> int:
        """The grid's step is two to this."""
        most = float(self.clip) / (math.sqrt(self.dimension) * 2**_FINE)
        return math.floor(math.log2(most * (1 - 2.0**-40)))

    @property
    def sensitivity(self) -> int:
        """How many steps a person moves a sum, at most."""
        return math.ceil(self.clip * _ROOM / Fraction(2) ** self.exponent)

    def sigma(self, mu: Real, coefficients: NDArray[np.int64]) -> tuple[int, int]:
        """The sensitivity of what is released, and the deviation of its noise, in steps."""
        square = sum(int(c) ** 2 for c in coefficients)
        moved = math.isqrt(square * self.sensitivity**2 - 1) + 1
        return moved, math.ceil(moved / positive(mu, "mu"))
