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


_RUNS: Final[dict[str, tuple[Callable[[Setting], Outcome], int]]] = {
    "exponential": (subsets.exponential, 4_096),
    "reconstruct": (subsets.reconstruct, 1_024),
    "linear-program": (subsets.linear_program, 384),
    "robust": (subsets.robust, 384),
    "differencing": (wards.differencing, 1),
    "averaging": (wards.averaging, 200),
    "refusals": (wards.refusals, 7),
    "tracing": (releases.tracing, 5),
    "linkage": (releases.linkage, 300),
    "intersection": (releases.intersection, 2_000),
    "census": (releases.census, 2_000_000),
    "fitness-map": (releases.fitness_map, 300),
    "social-graph": (records.social_graph, 20),
    "instance-hiding": (records.instance_hiding, 5),
    "definitions": (records.definitions, 1_000),
    "holdout": (samples.holdout, 5),
    "holdout-label": (samples.holdout_label, 300),
    "leaderboard": (samples.leaderboard, 1_000),
    "low-bits": (wards.low_bits, 2_000),
    "repeated-zero": (wards.repeated_zero, 20),
}
PLAYS = MappingProxyType(
    {name: Play(STORIES[name], effort, run) for name, (run, effort) in _RUNS.items()}
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
