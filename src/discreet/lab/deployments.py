"""Epsilons that real releases have stated, to be put on one scale.

They are hardly comparable: what is protected (a person, a day of theirs, one report) and what is
counted differ. Facts are those of the OpenDP Differential Privacy Deployments Registry, as of July
2026, and of the sources that it names; they are in `deployments.yaml`.
"""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

import yaml

from discreet.privacy import ZCDP

DELTA: Final = Fraction(1, 10**10)
"""Where only rho is stated, epsilon is converted at this delta, as the Census Bureau does."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """A release: who protects whom, by how much, and where that is written.

    `local` says that people randomize their own data, before anybody sees them. `shown` is epsilon
    as stated, or from rho at `DELTA`.
    """

    name: str
    by: str
    year: int
    protects: str
    source: str
    shown: float
    epsilon: float | None = None
    rho: float | None = None
    local: bool = False


def converted(rho: float) -> float:
    """The epsilon of a rho at `DELTA`, rounded up.

    Example:
        >>> round(converted(0.015), 3)
        1.067
    """
    return float(ZCDP(rho).epsilon(DELTA).upper)


_FACTS: Final = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
DEPLOYMENTS: Final = tuple(
    Deployment(shown=one.get("epsilon") or converted(one["rho"]), **one) for one in _FACTS
)
"""In order of epsilon."""
