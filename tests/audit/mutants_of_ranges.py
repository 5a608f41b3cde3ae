"""Planted bugs that show on some inputs alone: far out, below 0, at the end, under wide noise."""

import numpy as np

from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.histogram import Histogram
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import fill
from discreet.mechanisms.propose_test_release import TestedMedian
from discreet.mechanisms.smooth_sensitivity import SmoothMedian
from planted_bugs import Mutant, conformance, paths, replaying, samples


class OnlyFew(Laplace):
    """Noise for the first eight numbers of a vector that is released."""

    __slots__ = ()

    def _noise(self, shape):
        noise = Laplace._noise(self, shape)
        if len(shape) == 1:
            noise[8:] = 0
        return noise


class ThinBelowZero(Gaussian):
    """Half the noise for what is negative."""

    __slots__ = ()

    def _answer(self, steps, shape):
        noise = self._noise(shape)
        return self.grid.value(steps + (noise // 2 if np.all(np.asarray(steps) < 0) else noise))


class BareFarOut(Laplace):
    """No noise for integers that need more than 64 bits."""

    __doc__ = Laplace.__doc__
    __slots__ = ()

    def _answer(self, steps, shape):
        far = isinstance(steps, int) and abs(steps) >= 1 << 63
        return steps if far else Laplace._answer(self, steps, shape)


class ThinWhereWide(Laplace):
    """Half the noise where its scale is beyond 2^21 steps, which is drawn in two parts."""

    __slots__ = ()

    def _noise(self, shape):
        noise = Laplace._noise(self, shape)
        return noise // 2 if self.scale / self.grid.step > 1 << 21 else noise


class SteepDistance(TestedMedian):
    """A distance that one person moves by three."""

    __test__ = False
    __slots__ = ()

    def _reduce(self, values):
        median, distance = TestedMedian._reduce(self, values)
        return median, 3 * distance


class SlowBounds(SmoothMedian):
    """Local sensitivities after half as many changes as is said."""

    __slots__ = ()

    def _reduce(self, values):
        median, bounds = SmoothMedian._reduce(self, values)
        return median, [bounds[k // 2] for k in range(len(bounds))]


def one_more(mechanism, values):
    return mechanism.release, values, (*values, 128)


def of_twenty(noise: type[Laplace]) -> Histogram:
    counts = Histogram(bins=20, epsilon=1)
    fill(counts, noise=noise(epsilon=1, sensitivity=1, dimension=20))
    return counts


COUNT = {"epsilon": 1, "sensitivity": 1}
WIDE = {"epsilon": 0.5, "sensitivity": 0.1}
TESTED = {"bound": 1, "epsilon": 1, "delta": 0.01}

MUTANTS = (
    Mutant("no-noise-at-the-end-of-a-vector", paths, of_twenty(OnlyFew), of_twenty(Laplace)),
    Mutant(
        "half-the-noise-below-zero",
        samples,
        ThinBelowZero(rho=0.5, sensitivity=2).claim,
        Gaussian(rho=0.5, sensitivity=2).claim,
    ),
    Mutant("no-noise-far-out", conformance, BareFarOut(**COUNT), Laplace(**COUNT)),
    Mutant("half-of-wide-noise", samples, ThinWhereWide(**WIDE).claim, Laplace(**WIDE).claim),
    Mutant(
        "distance-moved-by-three",
        samples,
        SteepDistance(0, 128, **TESTED).claim,
        TestedMedian(0, 128, **TESTED).claim,
    ),
    Mutant(
        "distance-beyond-its-sensitivity",
        replaying,
        one_more(SteepDistance(0, 128, **TESTED), (0,) * 20),
        one_more(TestedMedian(0, 128, **TESTED), (0,) * 20),
    ),
    Mutant(
        "bounds-that-are-not-smooth",
        replaying,
        one_more(SlowBounds(0, 128, epsilon=1, delta=0.01), (0,) * 9),
        one_more(SmoothMedian(0, 128, epsilon=1, delta=0.01), (0,) * 9),
    ),
)
