"""Definitions of privacy that were rejected: releases that keep them and expose somebody."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from discreet.attacks.outcome import Outcome, Promise, check_effort
from discreet.attacks.simulation import Bits, SplitMix64
from discreet.errors import InputError

Publish: TypeAlias = Callable[[Bits], Mapping[int, int]]
"""A release: everybody's code comes in; people, and codes said to be theirs, come out."""


@dataclass(frozen=True, slots=True)
class Exposure:
    """Names somebody's secret code, one of `codes`.

    The attacker repeats the first code that is published, or guesses where none is. Success is how
    often that is right, over `effort` releases about fresh people. Whom the attacker speaks of is
    theirs to choose, and changing that person's code changes no such sentence's probability by more
    than e^epsilon: the bound is e^epsilon times the chance of a blind guess. A definition that any
    release keeps which exposes somebody in most runs protects nobody.

    Reference: Dwork, McSherry, Nissim, Smith 2006, Calibrating Noise to Sensitivity, on statistical
    distance; Dwork, Roth 2014, Section 2.3, on delta of about 1/n.
    """

    people: int = 100
    codes: int = 100
    promise: Promise = field(default_factory=Promise)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.people < 1 or self.codes < 2:
            raise InputError(
                f"{self.people} people with {self.codes} codes",
                why="somebody has a secret",
                fix="take a person and two codes, or more",
            )

    def run(self, target: Publish, effort: int = 1000) -> Outcome:
        """Speak about somebody in each of `effort` releases."""
        check_effort(effort, "releases")
        draws = SplitMix64(self.seed)
        right = 0
        for _ in range(effort):
            secret = draws.below(self.codes, self.people)
            blind = 0, int(draws.below(self.codes, 1)[0])
            person, code = next(iter(target(secret).items()), blind)
            right += bool(secret[person] == code)
        chance = 1 / self.codes
        return Outcome(right / effort, chance, self.promise.of_event(chance), effort)


def random_record(draws: SplitMix64) -> Publish:
    """Publishes one person at random, code and all.

    No event changes its probability by more than 1/n if one person changes: a small additive
    (statistical) distance. And somebody is exposed every time.
    """

    def publish(secret: Bits) -> Mapping[int, int]:
        person = int(draws.below(secret.size, 1)[0])
        return {person: int(secret[person])}

    return publish


def name_and_shame(draws: SplitMix64) -> Publish:
    """Publishes everybody with probability 1/n each.

    Where a person is not drawn, the output is as probable without them: the ratio is within 1 +
    epsilon, for any epsilon, except with probability 1/n. And somebody is exposed 63 times in 100.
    """

    def publish(secret: Bits) -> Mapping[int, int]:
        drawn = (draws.uniform(secret.size) * secret.size < 1).nonzero()[0]
        return {int(person): int(secret[person]) for person in drawn}

    return publish
