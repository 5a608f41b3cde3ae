"""The lab: each published attack against raw answers, a classical defence, and a curator.

A play makes people up, builds the system that is attacked, and runs the attacker of
`discreet.attacks` against it. The private system is a real curator, asked through its public face,
or a mechanism where a curator has no question for it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from discreet.attacks.outcome import Outcome
from discreet.errors import InputError
from discreet.lab import quantum, records, releases, samples, subsets, wards
from discreet.lab.setting import AGAINST, Against, Setting
from discreet.lab.stories import STORIES, Story

__all__ = ["AGAINST", "PLAYS", "Against", "Outcome", "Play", "Setting", "play", "quantum"]


@dataclass(frozen=True, slots=True)
class Play:
    """An attack, told, how hard it tries, and how it is run."""

    story: Story
    effort: int
    run: Callable[[Setting], Outcome]


_RUNS: Final[tuple[Callable[[Setting], Outcome], ...]] = (
    *(subsets.exponential, subsets.reconstruct, subsets.linear_program, subsets.robust),
    *(wards.differencing, wards.averaging, wards.refusals, releases.tracing, releases.linkage),
    *(releases.intersection, releases.census, releases.fitness_map, records.social_graph),
    *(records.instance_hiding, records.definitions, samples.holdout, samples.holdout_label),
    *(samples.leaderboard, wards.low_bits, wards.repeated_zero),
)
PLAYS = MappingProxyType(
    {
        name: Play(STORIES[name], STORIES[name].effort, run)
        for run in _RUNS
        if (name := run.__name__.replace("_", "-"))
    }
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
    if name not in PLAYS:
        raise InputError(
            f"there is no attack {name}", why=f"known are: {', '.join(PLAYS)}", fix="name one"
        )
    chosen = PLAYS[name]
    return chosen.run(Setting(against, effort or chosen.effort, epsilon, seed))
