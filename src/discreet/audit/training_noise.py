"""The noise of a training step as a claim, where torch is installed."""

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Final

from discreet.mechanisms.mechanism import Mechanism


def _noise() -> Mechanism:
    kind = import_module("discreet.learn.torch.grid_noise").GradientNoise
    made: Mechanism = kind(sensitivity=40, sigma=40, dimension=3)
    return made


TRAINING: Final[Mapping[str, Callable[[], Mechanism]]] = MappingProxyType(
    {"gradient-noise": _noise} if find_spec("torch") else {}
)
"""Names as the command line takes them, and how to make each."""
