"""Epsilons that real releases have stated, to be put on one scale.

They are hardly comparable: what is protected (a person, a day of theirs, one report) and what is
counted differ. Facts are those of the OpenDP Differential Privacy Deployments Registry, as of July
2026, and of the sources that it names; they are in `deployments.yaml`.
"""

from dataclasses import dataclass, field
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
    epsilon: float | None = None
    rho: float | None = None
    local: bool = False
    shown: float = field(init=False)

    def __post_init__(self) -> None:
        stated = self.epsilon or float(ZCDP(self.rho or 0.0).epsilon(DELTA).upper)
        object.__setattr__(self, "shown", stated)


_FACTS: Final = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
DEPLOYMENTS: Final = tuple(Deployment(**one) for one in _FACTS)
"""In order of epsilon."""
