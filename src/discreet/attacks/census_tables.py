"""Rebuilding a whole tract, block by block, from tables of counts; and the step to names."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from discreet.attacks.outcome import Outcome, Promise, check_effort, numbers
from discreet.attacks.simulation import Bits, Reals, SplitMix64

AGES, RACES = 101, 7
STARTS = np.array([*range(23), *range(25, 60, 5), 60, 62, 65, 67, 70, 75, 80, 85], dtype=np.int64)
"""The first ages of the 38 bands of the 2010 census: single years up to 21, then 22 to 24, ..."""
SHARES = np.array([0.724, 0.126, 0.009, 0.048, 0.002, 0.062, 0.029])
"""How common each race was in 2010; in a tract, each is e^(a normal draw) times as common."""
COVERED, AGED = 0.7, 0.15
"""The share of people whom a commercial file has, and of those, whose age is off by a year."""


@dataclass(frozen=True, slots=True)
class Residents:
    """Block, sex, race and age of people, a position each."""

    block: Bits
    sex: Bits
    race: Bits
    age: Bits

    def where(self, kept: Bits) -> "Residents":
        """The people at some positions."""
        return Residents(self.block[kept], self.sex[kept], self.race[kept], self.age[kept])

    def keys(self, later: int = 0) -> Bits:
        """A number for each person, equal for equals; ages moved by some years."""
        older = np.clip(self.age + later, 0, AGES - 1)
        return ((self.block * 2 + self.sex) * RACES + self.race) * AGES + older

    @staticmethod
    def drawn(blocks: int, draws: SplitMix64) -> "Residents":
        """A tract: blocks of 25 people in the median and 50 in the mean, ages flat up to 60.

        Then the same number of others who could live there and do not.
        """
        sizes = np.ceil(25 * np.exp(1.18 * draws.normal(blocks))).astype(np.int64)
        block = np.tile(np.repeat(np.arange(blocks), sizes), 2)
        races = SHARES * np.exp(draws.normal(RACES))
        older = np.maximum(np.arange(AGES) - 60, 0)
        race, age = (
            np.searchsorted(np.cumsum(weights), draws.uniform(block.size) * weights.sum())
            for weights in (races, np.exp(-((older / 22.0) ** 2)))
        )
        sex = draws.bits(block.size)
        return Residents(block, sex, np.minimum(race, RACES - 1), np.minimum(age, AGES - 1))


@dataclass(frozen=True, slots=True)
class Tables:
    """Counts by block, sex, race and age band; and of the whole tract by sex, race and age."""

    blocks: Reals
    tract: Reals

    @staticmethod
    def of(people: Residents, blocks: int) -> "Tables":
        """Exact ones."""
        band = np.searchsorted(STARTS, people.age, side="right") - 1
        counts, ages = np.zeros((blocks, 2, RACES, STARTS.size)), np.zeros((2, RACES, AGES))
        np.add.at(counts, (people.block, people.sex, people.race, band), 1)
        np.add.at(ages, (people.sex, people.race, people.age), 1)
        return Tables(counts, ages)

    def rebuilt(self, draws: SplitMix64) -> Residents:
        """People who have these counts; where several sets have, any."""
        tables = (self.blocks, self.tract)
        counts, ages = (np.maximum(np.rint(one), 0).astype(np.int64) for one in tables)
        ends, found = [*STARTS[1:], AGES], [np.zeros((4, 0), dtype=np.int64)]
        for sex, race, band in np.argwhere(counts.sum(axis=0)):
            places = np.repeat(np.arange(len(counts)), counts[:, sex, race, band])
            span = np.arange(STARTS[band], ends[band])
            pool = np.repeat(span, ages[sex, race, span])
            pool = span if pool.size == 0 else pool
            drawn = np.resize(pool[draws.order(pool.size)], places.size)
            alike = [np.full_like(places, value) for value in (sex, race)]
            found.append(np.stack([places, *alike, drawn]))
        return Residents(*np.concatenate(found, axis=1))


Office: TypeAlias = Callable[[Tables], Tables]
"""How tables are published: exact ones come in."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """Shares of the people of a tract: rebuilt exactly, with age within a year, named, and rightly.

    `by_chance` is how often somebody who lives elsewhere is among the rebuilt people of a block.
    """

    exactly: float
    within_a_year: float
    named: float
    rightly: float
    by_chance: float
    people: int


@dataclass(frozen=True, slots=True)
class CensusTables:
    """Rebuilds people who fit all published counts, and looks their names up.

    Success is the share of people who are rebuilt exactly (block, sex, race, age), one for one. The
    baseline is how often somebody who does not live there seems to: in a large block there is
    somebody of every usual kind. `effort` is the number of tracts of `blocks` blocks.

    Reference: Abowd et al. 2023, The 2010 Census Confidentiality Protections Failed; Ruggles, Van
    Riper 2022, on what chance alone finds.
    """

    blocks: int = 80
    promise: Promise = field(default_factory=Promise)
    seed: int = 0

    def run(self, target: Office, effort: int = 3) -> Outcome:
        """Rebuild `effort` tracts."""
        check_effort(effort, "tracts")
        draws = SplitMix64(self.seed)
        tracts = [self.rebuild(target, draws.split()) for _ in range(effort)]
        n = sum(one.people for one in tracts)
        exactly, chance = (
            round(sum(getattr(one, name) * one.people for one in tracts))
            for name in ("exactly", "by_chance")
        )
        return Outcome(exactly / n, chance / n, self.promise.of_measured(chance, n), n)

    def rebuild(self, target: Office, draws: SplitMix64) -> Rebuilt:
        """One tract, and the step to names."""
        everybody = Residents.drawn(self.blocks, draws)
        people, others = (
            everybody.where(half) for half in np.split(np.arange(everybody.age.size), 2)
        )
        exact = Tables.of(people, self.blocks)
        said = target(exact)
        blocks, tract = (
            numbers(said.blocks, *exact.blocks.shape),
            numbers(said.tract, *exact.tract.shape),
        )
        found = Tables(blocks, tract).rebuilt(draws)
        n = people.age.size
        exactly, near = _matched(people, found)
        named, rightly = _named(people, found, draws)
        by_chance = float(np.isin(others.keys(), found.keys()).mean())
        return Rebuilt(exactly / n, near / n, named / n, rightly / n, by_chance, n)


def _matched(people: Residents, found: Residents) -> tuple[int, int]:
    """How many people are found one for one, and with ages a year off for those left over."""
    size = int(max(people.keys(1).max(), found.keys(1).max(initial=0))) + 1
    true, said = (np.bincount(one.keys(), minlength=size) for one in (people, found))
    same = np.minimum(true, said)
    exactly, true, said = int(same.sum()), true - same, said - same
    near = exactly
    for ours, theirs in ((true[1:], said[:-1]), (true[:-1], said[1:])):
        both = np.where(np.arange(1, size) % AGES > 0, np.minimum(ours, theirs), 0)
        near, _ = near + int(both.sum()), np.subtract(ours, both, out=ours)
        np.subtract(theirs, both, out=theirs)
    return exactly, near


def _named(people: Residents, found: Residents, draws: SplitMix64) -> tuple[int, int]:
    """Whom a commercial file of names, blocks, sexes and ages joins to a race, and whose it is."""
    who = np.flatnonzero(draws.uniform(people.age.size) < COVERED)
    off = np.where(draws.uniform(who.size) < AGED, 2 * draws.bits(who.size) - 1, 0)
    listed, built = (
        (one.block * 2 + one.sex) * (AGES + 2) + one.age + 1 for one in (people, found)
    )
    races: dict[int, list[int]] = {}
    for place, race in zip(built.tolist(), found.race.tolist(), strict=True):
        races.setdefault(place, []).append(race)
    named = rightly = 0
    for person, place in zip(who.tolist(), (listed[who] + off).tolist(), strict=True):
        near = next((races[p] for p in (place, place - 1, place + 1) if races.get(p)), None)
        if near is not None:
            named, rightly = named + 1, rightly + bool(near.pop() == people.race[person])
    return named, rightly
