"""The noise of training steps as claims, where what they need is installed."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Final

from discreet.mechanisms.grid import INTEGERS, sqrt_up
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.rounded_gaussian import RoundedGaussian

_BAND: Final = 3


def _noise() -> Mechanism:
    kind = import_module("discreet.learn.torch.grid_noise").GradientNoise
    made: Mechanism = kind(sensitivity=40, sigma=40, dimension=3)
    return made


def _band() -> Mechanism:
    """One gradient in all steps of a band, each time with another coefficient."""
    learn = import_module("discreet.learn.noise_plan")
    said = {"people": 100, "batch": 1, "epochs": 1, "settled": Fraction(1)}
    plan = learn.NoisePlan(epsilon=1, delta=1e-6, band=_BAND, **said)
    grid = learn.GradientGrid(Fraction(1), 1)
    _, sigma = grid.sigma(plan.mu, plan.coefficients)
    square = sum(int(one) ** 2 for one in plan.coefficients) * grid.sensitivity**2
    moved = sqrt_up(Fraction(square))
    return RoundedGaussian(sensitivity=moved, variance=sigma**2, grid=INTEGERS, dimension=_BAND)


TRAINING: Final[Mapping[str, Callable[[], Mechanism]]] = MappingProxyType(
    {
        **({"gradient-noise": _noise} if find_spec("torch") else {}),
        **({"training-band": _band} if find_spec("sklearn") else {}),
    }
)
"""Names as the command line takes them, and how to make each."""
