"""Recognising people in a table of sparse ratings from a few things that are known of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from discreet.attacks.outcome import Outcome, Promise, numbers
from discreet.attacks.simulation import Bits, Reals, SplitMix64
from discreet.errors import InputError

DAYS = 2000
STARS = 5


@dataclass(frozen=True, slots=True)
class Ratings:
    """Ratings as arrays: person, film, stars and day."""

    person: Bits
    film: Bits
    stars: Bits
    day: Bits

    def __post_init__(self) -> None:
        columns = [np.asarray(getattr(self, name)) for name in ("person", "film", "stars", "day")]
        whole = all(np.issubdtype(column.dtype, np.integer) for column in columns)
        if not whole or {column.shape for column in columns} != {(columns[0].size,)}:
            raise InputError(
                "columns of ratings that are not whole numbers, as many in each",
                why="each position is one rating",
                fix="pass a person, a film, stars and a day for every one, as integers",
            )

    def where(self, kept: Bits | slice) -> "Ratings":
        """The ratings at some positions."""
        return Ratings(self.person[kept], self.film[kept], self.stars[kept], self.day[kept])

    @staticmethod
    def drawn(people: int, films: int, draws: SplitMix64, each: int = 40) -> "Ratings":
        """People who rate about `each` films, few of which are popular."""
        counts = np.clip(each * np.exp(0.5 * draws.normal(people)), 15, 4 * each).astype(np.int64)
        person = np.repeat(np.arange(people), counts)
        popular = np.cumsum(1 / np.arange(3, films + 3))
        film = np.searchsorted(popular, draws.uniform(person.size) * popular[-1], side="right")
        _, kept = np.unique(person * films + film, return_index=True)
        liked = 1 + STARS * draws.uniform(films)[film] + draws.normal(person.size)
        stars = np.clip(np.floor(liked), 1, STARS).astype(np.int64)
        return Ratings(person, film, stars, draws.below(DAYS, person.size)).where(kept)


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What the attacker heard about a target, at least `right` of it true, and a rating to learn.

    Days may be off by `days`.
    """

    known: Ratings
    right: int
    days: int
    film: int
    stars: int

    def fits(self, ratings: Ratings) -> Bits:
        """The people who match what is known, and what is to be learnt."""
        known = self.known
        likely = np.flatnonzero(np.isin(ratings.film, known.film))
        near = [
            ratings.person[likely][
                (ratings.film[likely] == known.film[i])
                & (ratings.stars[likely] == known.stars[i])
                & (np.abs(ratings.day[likely] - known.day[i]) <= self.days)
            ]
            for i in range(known.film.size)
        ]
        people, found = np.unique(np.concatenate(near), return_counts=True)
        theirs = (ratings.film == self.film) & (ratings.stars == self.stars)
        return np.intersect1d(people[found >= self.right], ratings.person[theirs])


Counts: TypeAlias = Callable[[Sequence[Suspicion]], Reals]
"""A system that says about how many people fit each suspicion."""


@dataclass(frozen=True, slots=True)
class Linkage:
    """The scoreboard: which record of the release fits best, clearly better than the second best?

    The attacker knows `known` ratings of a target, `wrong` of which are made up, with days off by
    up to `days`. Similar ratings of rare films count most. A match must lead by `eccentricity`
    standard deviations. What is scored is one more rating of the target: does the matched record
    hold it? Success is for targets in the data; the baseline for targets who are not, with the same
    effort. `effort` is the number of targets on either side.

    `target` publishes ratings, or answers questions: then the attacker asks how many people have
    what is known of a target and that one more rating, and believes it from 1/2 on, where 1 is as
    likely as 0. `population` makes up ratings of films for a number of people.

    Reference: Narayanan, Shmatikov 2008, Robust De-anonymization of Large Sparse Datasets.
    """

    people: int = 2000
    films: int = 1000
    known: int = 8
    wrong: int = 2
    days: int = 14
    eccentricity: float = 1.5
    promise: Promise = field(default_factory=Promise)
    seed: int = 0
    population: Callable[[int, int, SplitMix64], Ratings] = Ratings.drawn

    def __post_init__(self) -> None:
        if not 0 <= self.wrong < self.known <= 12:
            raise InputError(
                f"{self.wrong} of {self.known} known ratings are wrong",
                why="the attacker knows up to 12 ratings, one of them right at least",
                fix="pass 0 <= wrong < known <= 12",
            )

    def run(self, target: Callable[[Ratings], Ratings | Counts], effort: int = 200) -> Outcome:
        """Publish the ratings of `people` people and look for `effort` inside and outside."""
        if not 1 <= effort <= self.people:
            raise InputError(
                f"effort is {effort}", why="it counts targets", fix=f"take 1 to {self.people}"
            )
        draws = SplitMix64(self.seed)
        everybody = self.population(self.people + effort, self.films, draws)
        edges = np.searchsorted(everybody.person, np.arange(self.people + effort + 1))
        suspicions = [
            self._suspicion(everybody.where(np.arange(edges[i], edges[i + 1])), draws)
            for i in (*range(effort), *range(self.people, self.people + effort))
        ]
        found = self._confirmed(target(everybody.where(np.arange(edges[self.people]))), suspicions)
        inside, outside = sum(found[:effort]), sum(found[effort:])
        bound = self.promise.of_measured(outside, effort)
        return Outcome(inside / effort, outside / effort, bound, effort)

    def _suspicion(self, theirs: Ratings, draws: SplitMix64) -> Suspicion:
        """What the attacker knows about a target, and a rating that they do not know."""
        order = draws.order(theirs.film.size)
        known = theirs.where(order[1 : 1 + self.known])
        off = draws.below(2 * self.days + 1, known.film.size) - self.days
        lies = np.arange(known.film.size) < self.wrong
        film = np.where(lies, draws.below(self.films, lies.size), known.film)
        stars = np.where(lies, 1 + draws.below(STARS, lies.size), known.stars)
        heard = Ratings(known.person, film, stars, known.day + off)
        right, one_more = known.film.size - self.wrong, order[0]
        learnt = int(theirs.film[one_more]), int(theirs.stars[one_more])
        return Suspicion(heard, right, self.days, *learnt)

    def _confirmed(self, answers: Ratings | Counts, suspicions: list[Suspicion]) -> list[bool]:
        """The suspicions that the records, or the answers, confirm."""
        if not isinstance(answers, Ratings):
            return [count > 0.5 for count in numbers(answers(suspicions), len(suspicions))]
        board = Scoreboard(answers, self.films)
        return [
            (match := board.match(one.known, self.eccentricity)) is not None
            and board.holds(match, one.film, one.stars)
            for one in suspicions
        ]


class Scoreboard:
    """A release, sorted by film, with the weights of films."""

    __slots__ = ("_edges", "_people", "_ratings")

    def __init__(self, release: Ratings, films: int) -> None:
        # Whatever a release calls people, they are counted from 0 here.
        known, records = np.unique(release.person, return_inverse=True)
        named = Ratings(records, release.film, release.stars, release.day)
        self._ratings = named.where(np.argsort(release.film, kind="stable"))
        self._edges = np.searchsorted(self._ratings.film, np.arange(films + 1))
        self._people = known.size

    def scores(self, known: Ratings) -> Reals:
        """How well each record fits what is known."""
        total = np.zeros(self._people)
        for film, stars, day in zip(known.film, known.stars, known.day, strict=True):
            near = self._about(film)
            fit = _fading(near.stars, stars, 1.5) + _fading(near.day, day, 30)
            weight = 1 / np.log(max(2, near.person.size) + 1)
            total += np.bincount(near.person, weight * fit, minlength=self._people)
        return total

    def _about(self, film: int) -> Ratings:
        """The ratings of a film."""
        return self._ratings.where(slice(*self._edges[film : film + 2]))

    def match(self, known: Ratings, eccentricity: float) -> int | None:
        """The record that fits best, if it leads clearly."""
        scores = self.scores(known)
        if scores.size < 2 or (spread := float(scores.std())) == 0:
            return None
        second, first = np.partition(scores, -2)[-2:]
        return int(scores.argmax()) if first - second >= eccentricity * spread else None

    def holds(self, record: int, film: int, stars: int) -> bool:
        """Whether a record has this film with these stars."""
        near = self._about(film)
        return bool(((near.person == record) & (near.stars == stars)).any())


def _fading(values: Bits, near: int, width: float) -> Reals:
    """e^(-distance/width) of each value: few distances, each computed once; far ones give 0."""
    distance = np.minimum(np.abs(values - near), int(750 * width))
    return np.asarray(np.exp(-np.arange(distance.max(initial=0) + 1) / width)[distance])
