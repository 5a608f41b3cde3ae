"""The lab: each published attack against raw answers, a classical defence, and a curator.

A play makes people up, builds the system that is attacked, and runs the attacker of
`discreet.attacks` against it. The private system is a real curator, asked through its public face,
or a mechanism where a curator has no question for it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from types import MappingProxyType
from typing import Final

from discreet.attacks.outcome import Outcome
from discreet.errors import InputError
from discreet.lab import quantum, releases, samples, sums
from discreet.lab.setting import AGAINST, Against, Setting
from discreet.lab.stories import STORIES, Story

__all__ = ["AGAINST", "PLAYS", "Against", "Outcome", "Play", "Setting", "play", "quantum"]


@dataclass(frozen=True, slots=True)
class Play:
    """The story of an attack, and how it is run: in a setting, with people of some sizes."""

    story: Story
    run: Callable[..., Outcome]

    @property
    def available(self) -> bool:
        """Whether the package it needs is installed."""
        return self.story.needs is None or find_spec(self.story.needs) is not None


_RUNS: Final[tuple[Callable[..., Outcome], ...]] = (
    *(sums.exponential, sums.reconstruct, sums.linear_program, sums.robust),
    *(sums.differencing, sums.averaging, sums.refusals, releases.tracing, releases.linkage),
    *(releases.intersection, releases.census, releases.fitness_map, releases.social_graph),
    *(releases.instance_hiding, releases.definitions, samples.holdout, samples.holdout_label),
    *(samples.leaderboard, sums.low_bits, sums.repeated_zero),
)
PLAYS = MappingProxyType(
    {name: Play(STORIES[name], run) for run in _RUNS if (name := run.__name__.replace("_", "-"))}
)
"""Names as the command line takes them."""


def play(
    name: str,
    against: Against,
    *,
    epsilon: Fraction = Fraction(1),
    effort: int | None = None,
    seed: int = 0,
) -> Outcome:
    """Run one attack.

    Example:
        >>> play("differencing", "raw").success
        1.0
    """
    chosen = find(name)
    return chosen.run(Setting(against, effort or chosen.story.effort, epsilon, seed))


def find(name: str) -> Play:
    """The play of that name."""
    if name not in PLAYS:
        raise InputError(
            f"there is no attack {name}", why=f"known are: {', '.join(PLAYS)}", fix="name one"
        )
    return PLAYS[name]
