"""Rebuilding the people of a small block from the statistics that were published about it."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement, product
from statistics import fmean, median
from typing import TypeAlias

import numpy as np

from discreet.attacks.outcome import Outcome, Promise, check_effort, numbers
from discreet.attacks.simulation import Reals, SplitMix64
from discreet.errors import InputError

OLDEST = 115
LARGEST = 10
"""People in the largest block that is searched for."""
KINDS: tuple[str, ...] = tuple("".join(kind) for kind in product("FM", "BW", "MS"))
"""Sex, race (Black, White) and marital status (Married, Single), a letter each."""

Person: TypeAlias = tuple[int, str]
"""Age and kind."""

BLOCK: tuple[Person, ...] = (
    (8, "FBS"),
    (18, "MWS"),
    (24, "FWS"),
    (30, "MWM"),
    (36, "FBM"),
    (66, "FBM"),
    (84, "MBM"),
)
"""The seven made-up people of Garfinkel, Abowd and Martindale."""


@dataclass(frozen=True, slots=True)
class Statistic:
    """Count, median age and mean age (to one decimal) of the people whose kind has these letters.

    Letters are taken by place: 'F..' is all women, '..M' all married, 'FB.' all Black women.
    """

    pattern: str
    count: int
    median: float
    mean: float

    def __post_init__(self) -> None:
        numbers([self.count, self.median, self.mean], 3)
        if self.count != int(self.count):
            raise InputError(
                f"a count of {self.count}", why="people are whole", fix="round it to an int"
            )
        object.__setattr__(self, "count", int(self.count))

    def covers(self, kind: str) -> bool:
        """Whether a kind of person is in the group."""
        return all(want in {".", letter} for want, letter in zip(self.pattern, kind, strict=True))


PUBLISHED = ("...", "F..", "M..", ".B.", ".W.", "..M", "FB.")
"""The groups that are large enough for the statistics to be published."""

Agency: TypeAlias = Callable[[str], Statistic]
"""A statistics office: says about the count, median and mean of a group."""


@dataclass(frozen=True, slots=True)
class Census:
    """Finds all blocks of people that have the published statistics.

    Success is the share of the block's people (age, sex, race, marital status) that are in a block
    that fits, averaged over the first `most` that do; where none fits, nobody is found. Means were
    rounded by at most `rounding`. The baseline is how often somebody is in a block of `LARGEST`
    people drawn blindly, as many as noise may make of them; the bound is about people of whom as
    little is known as that. `effort` bounds the search, in ages tried.

    Reference: Garfinkel, Abowd, Martindale 2019, Understanding Database Reconstruction Attacks on
    Public Data.
    """

    block: tuple[Person, ...] = BLOCK
    most: int = 20
    rounding: float = 0.05
    promise: Promise = field(default_factory=Promise)

    def run(self, target: Agency, effort: int = 2_000_000) -> Outcome:
        """Ask for the published statistics and solve them."""
        check_effort(effort, "steps")
        statistics = [target(pattern) for pattern in PUBLISHED]
        found = solve(statistics, rounding=self.rounding, effort=effort, most=self.most)
        rights = [sum((Counter(one) & Counter(self.block)).values()) for one in found]
        people = len(self.block)
        chance = 1 - (1 - 1 / (len(KINDS) * (OLDEST + 1))) ** LARGEST
        success = sum(rights) / (people * len(found)) if found else 0.0
        return Outcome(success, chance, self.promise.of_event(chance), people)


def solve(
    statistics: Sequence[Statistic],
    *,
    rounding: float = 0.05,
    effort: int = 2_000_000,
    most: int = 100,
) -> list[tuple[Person, ...]]:
    """Blocks that have all statistics, at most `most`; none if `effort` ends first."""
    total = next((one.count for one in statistics if one.pattern == "..."), None)
    if total is None:
        raise InputError(
            "no statistic is about everybody",
            why="the search starts from how many people there are",
            fix="publish the pattern '...'",
        )
    if not 0 <= total <= LARGEST:
        return []
    steps = [effort]
    found: list[tuple[Person, ...]] = []
    groups = [(one.count, frozenset(filter(one.covers, KINDS))) for one in statistics]
    for kinds in combinations_with_replacement(KINDS, total):
        if all(sum(kind in group for kind in kinds) == count for count, group in groups):
            for ages in _Search(kinds, statistics, rounding, steps).ages():
                block = tuple(sorted(zip(ages, kinds, strict=True)))
                found += [] if block in found else [block]
                if len(found) >= most:
                    return found
    # A search that was cut short has not shown that what it found is all there is.
    return found if steps[0] >= 0 else []


class _Search:
    """Ages for people of known kinds: depth first, small groups first, cut as soon as one fails."""

    def __init__(
        self,
        kinds: tuple[str, ...],
        statistics: Sequence[Statistic],
        rounding: float,
        steps: list[int],
    ) -> None:
        self._sums = {one: _sums(one, rounding) for one in statistics}
        self._groups = [
            (one, [i for i, kind in enumerate(kinds) if one.covers(kind)]) for one in statistics
        ]
        self._groups.sort(key=lambda group: len(group[1]))
        order = [i for _, members in self._groups for i in members]
        self._order = list(dict.fromkeys([*order, *range(len(kinds))]))
        self._of = [[g for g in self._groups if i in g[1]] for i in range(len(kinds))]
        self._kinds, self._steps = kinds, steps
        self._ages: list[int | None] = [None] * len(kinds)

    def ages(self, depth: int = 0) -> Iterator[tuple[int, ...]]:
        """All assignments that fit, of people from some place in the order on."""
        if depth == len(self._order):
            yield tuple(age for age in self._ages if age is not None)
            return
        slot = self._order[depth]
        low, high = self._range(slot)
        for age in range(low, high + 1):
            self._steps[0] -= 1
            if self._steps[0] < 0:
                break
            self._ages[slot] = age
            if all(self._fits(*group) for group in self._of[slot]):
                yield from self.ages(depth + 1)
        self._ages[slot] = None

    def _range(self, slot: int) -> tuple[int, int]:
        """Ages that means and medians leave open, and no younger than the same kind's before."""
        low, high = 0, OLDEST
        for one, members in self._of[slot]:
            known = [age for i in members if i != slot and (age := self._ages[i]) is not None]
            least, largest = _open(one, known, *self._sums[one])
            low, high = max(low, least), min(high, largest)
        alike = [
            age
            for i in range(slot)
            if self._kinds[i] == self._kinds[slot] and (age := self._ages[i]) is not None
        ]
        return max([low, *alike]), high

    def _fits(self, one: Statistic, members: list[int]) -> bool:
        """Whether a group has its mean and median, once complete; `_range` sees to the rest."""
        ages = [age for i in members if (age := self._ages[i]) is not None]
        if len(ages) < one.count:
            return True
        least, largest = self._sums[one]
        return least <= sum(ages) <= largest and median(ages) == one.median


def _open(one: Statistic, known: list[int], least: int, largest: int) -> tuple[int, int]:
    """The ages that one more person of a group can have, beside the known ones and the others.

    At least half of the group is at the median or above it, and as many at it or below.
    """
    missing, half = one.count - len(known), (one.count + 1) // 2
    old = max(0, half - sum(age >= one.median for age in known))
    young = max(0, half - sum(age <= one.median for age in known))
    above, below = math.ceil(one.median), math.floor(one.median)
    total, others = sum(known), missing - 1
    oldest = others * OLDEST - max(0, min(young - 1, others)) * (OLDEST - below)
    youngest = max(0, min(old - 1, others)) * above
    low, high = least - total - oldest, largest - total - youngest
    return max(low, above if old == missing else 0), min(high, below if young == missing else high)


def _sums(one: Statistic, rounding: float) -> tuple[int, int]:
    """The least and largest sum of ages whose mean is the published one before rounding."""
    slack = one.count * (rounding + 1e-9)
    middle = one.mean * one.count
    return math.ceil(middle - slack), math.floor(middle + slack)


def tabulate(block: Sequence[Person]) -> Agency:
    """An office that publishes exact statistics of a block."""

    def publish(pattern: str) -> Statistic:
        blank = Statistic(pattern, 0, 0, 0)
        ages = [age for age, kind in block if blank.covers(kind)]
        if not ages:
            return blank
        return Statistic(pattern, len(ages), float(median(ages)), round(fmean(ages), 1))

    return publish


@dataclass(frozen=True, slots=True)
class CensusCounts:
    """Names the `LARGEST` likeliest people of a block: those whose counts are highest.

    An office that adds noise need not withhold small groups, so the attacker asks for the smallest
    ones there are. The likelihood that somebody lives there grows with their count, for any noise
    that is symmetric and log-concave. Success is the share of the block's people who are named,
    over `effort` releases of fresh noise; the baseline is that of names drawn blindly. Laplace
    noise on disjoint counts meets the bound nearly: the event that a count is among the highest has
    about e^epsilon times its probability without the person.

    Reference: Abowd et al. 2022, The 2020 Census Disclosure Avoidance System TopDown Algorithm, for
    noisy counts of small groups that are published.
    """

    block: tuple[Person, ...] = BLOCK
    promise: Promise = field(default_factory=Promise)
    seed: int = 0

    def run(self, target: Callable[[], Reals], effort: int = 60) -> Outcome:
        """Name people from each of `effort` tables; a row an age, a column a kind."""
        check_effort(effort, "releases")
        draws, size = SplitMix64(self.seed), (OLDEST + 1) * len(KINDS)
        lived = np.unique([age * len(KINDS) + KINDS.index(kind) for age, kind in self.block])
        rights = 0
        for _ in range(effort):
            counts = numbers(target(), OLDEST + 1, len(KINDS)).ravel()
            # Whole counts are often equal: a coin then, so that no age or kind is preferred.
            named = np.lexsort((draws.uniform(size), counts))[-LARGEST:]
            rights += int(np.isin(lived, named).sum())
        n, chance = effort * lived.size, LARGEST / size
        return Outcome(rights / n, chance, self.promise.of_event(chance), n)
