"""Epsilons that real releases have stated, to be put on one scale.

They are hardly comparable: what is protected (a person, a day of theirs, one report) and what is
counted differ. Facts are those of the OpenDP Differential Privacy Deployments Registry, as of July
2026, and of the sources that it names.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from discreet.privacy import ZCDP

DELTA: Final = Fraction(1, 10**10)
"""Where only rho is stated, epsilon is converted at this delta, as the Census Bureau does."""

REGISTRY: Final = "https://registry.opendp.org/deployments-registry"


@dataclass(frozen=True, slots=True)
class Deployment:
    """A release: who protects whom, by how much, and where that is written.

    `local` says that people randomize their own data, before anybody sees them.
    """

    name: str
    by: str
    year: int
    protects: str
    source: str
    epsilon: float | None = None
    rho: float | None = None
    local: bool = False

    @property
    def shown(self) -> float:
        """Epsilon as stated, or from rho at `DELTA`."""
        return self.epsilon if self.epsilon is not None else _converted(self.rho or 0.0)


@lru_cache(maxsize=64)
def _converted(rho: float) -> float:
    return float(ZCDP(rho).epsilon(DELTA).upper)


_WIKI = "arXiv 2308.16298"
_APPLE = "Apple 2017, Learning with Privacy at Scale"
_DAS = "arXiv 2204.08986"
DEPLOYMENTS: Final = (
    Deployment("Editors in Russia", "Wikimedia", 2023, "an account, a month", REGISTRY, 0.1),
    Deployment("Broadband coverage", "Microsoft", 2021, "a user", "arXiv 2103.14035", 0.2),
    Deployment("Page views", "Wikimedia", 2023, "a device, a day", _WIKI, rho=0.015),
    Deployment("URL shares", "Meta", 2020, "a user", REGISTRY, 1.453),
    Deployment(
        "Telemetry of Windows",
        "Microsoft",
        2017,
        "a device, six hours",
        "Ding et al. 2017",
        1.672,
        local=True,
    ),
    Deployment("Symptom searches", "Google", 2020, "a user, a day", "arXiv 2009.01265", 1.68),
    Deployment("Health types", "Apple", 2017, "a report", _APPLE, 2.0, local=True),
    Deployment("Mobility reports", "Google", 2020, "a user, a day", "arXiv 2004.04145", 2.64),
    Deployment("Emoji", "Apple", 2017, "a report", _APPLE, 4.0, local=True),
    Deployment("Hiring reports", "LinkedIn", 2020, "a hiring, a month", "arXiv 2010.13981", 4.8),
    Deployment("Next words", "Google", 2022, "a device", "arXiv 2103.00039", rho=0.81),
    Deployment("Live births", "Israel", 2024, "a birth", "birth.dataset.pub", 9.98),
    Deployment("Victims of trafficking", "IOM", 2023, "a victim", REGISTRY, 12.0),
    Deployment("Census, redistricting", "US Census", 2021, "a person", _DAS, 17.14, 2.56),
    Deployment("Audience API", "LinkedIn", 2020, "a member, a month", "arXiv 2002.05839", 34.9),
    Deployment("Census, demography", "US Census", 2023, "a person", _DAS, rho=15.29),
)
"""In order of epsilon."""
