"""The plays in plain words: what the attacker does, what came of it, and what that leaves open.

The words are in `stories.yaml`. Epsilons that real releases have stated are in `deployments.yaml`.
They are hardly comparable: what is protected (a person, a day of theirs, one report) and what is
counted differ. Facts are those of the OpenDP Differential Privacy Deployments Registry, as of July
2026, and of the sources that it names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Final

import yaml

from discreet.attacks.outcome import Outcome
from discreet.privacy import ZCDP


@dataclass(frozen=True, slots=True)
class Story:
    """One attack explained to somebody who has never heard of it.

    `summary` is the attack in a line, `success` what is measured. It meets `raw` answers (those of
    somebody who does nothing about it), a classical defence (`rounded`) and a `private` system;
    effort is counted in `unit`. `told` takes `hits` and `n`. `without` says what the baseline is,
    `control` whether it was measured on people who are not in the data (or answers that hold
    nothing), by the same attacker. `caution` is what the figures do not show. `proved` says whether
    the bound holds for every attacker, or is only where this one is said to have failed. `paper`
    says who found it. `effort` is the usual one; those of `efforts`, with people of `sizes`, are
    done within a second or two. `needs` names a package; `asked` is an honest question about the
    same people.
    """

    summary: str
    title: str
    story: str
    caution: str
    paper: str
    effort: int
    efforts: tuple[int, ...]
    sizes: Mapping[str, int] = field(default_factory=dict)
    needs: str | None = None
    asked: str = "How many of the {n} people have the secret?"
    success: str = "share of people whose secret bit is right"
    raw: str = "exact answers"
    rounded: str = "sums rounded to 5"
    private: str = "a curator's sums over subsets"
    unit: str = "questions"
    told: str = "The attacker guessed the secret of {hits} of {n} people right."
    without: str = "A coin would guess half of the secrets right."
    control: bool = False
    proved: bool = True

    def sentence(self, outcome: Outcome) -> str:
        """The outcome in whole people."""
        hits = round(outcome.success * outcome.n)
        return self.told.format(hits=f"{hits:,}", n=f"{outcome.n:,}")


@dataclass(frozen=True, slots=True)
class KnownCase:
    """A published case: what happened, when, and the source."""

    title: str
    year: str
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Chapter:
    """Attacks that belong together, and what happened to real people."""

    name: str
    title: str
    lead: str
    cases: tuple[KnownCase, ...]
    plays: tuple[str, ...]


_HERE: Final = Path(__file__).parent
_TOLD: Final = yaml.safe_load((_HERE / "stories.yaml").read_text(encoding="utf-8"))
STORIES: Mapping[str, Story] = MappingProxyType(
    {
        name: Story(**said | {"efforts": tuple(said["efforts"])})
        for name, said in _TOLD["stories"].items()
    }
)
"""By the names of the plays."""

CHAPTERS: Mapping[str, Chapter] = MappingProxyType(
    {
        name: Chapter(
            name,
            cases=tuple(KnownCase(**one) for one in said.pop("cases")),
            plays=tuple(said.pop("plays")),
            **said,
        )
        for name, said in _TOLD["chapters"].items()
    }
)
"""In the order in which they are read; every play is in one of them."""


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


_FACTS: Final = yaml.safe_load((_HERE / "deployments.yaml").read_text(encoding="utf-8"))
DEPLOYMENTS: Final = tuple(
    Deployment(shown=one.get("epsilon") or converted(one["rho"]), **one) for one in _FACTS
)
"""In order of epsilon."""
