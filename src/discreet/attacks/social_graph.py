"""Finding oneself in a social network whose names were removed, and then one's friends."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from discreet.attacks.outcome import Outcome, Promise, numbers, pool
from discreet.attacks.simulation import Bits, Reals, SplitMix64
from discreet.errors import InputError

Release: TypeAlias = Callable[[Bits], Bits]
"""How a network is published: a symmetric table of zeros and ones comes in, and one comes out."""

BEAM = 500
"""Partial matches that are kept during the search."""


@dataclass(frozen=True, slots=True)
class SocialGraph:
    """Tells for pairs of strangers whether they are friends, from a network without names.

    Before it is published, the attacker opens `planted` accounts, a path with random friendships
    among them, and befriends each target from accounts of its own choice. In the release they look
    for such a path, account by account, keeping the `BEAM` likeliest partial matches; then for the
    nodes that are linked to it as the targets were. Half of the pairs of targets are friends.
    Success is the share of pairs guessed right, over `effort` networks; the bound holds for one
    friendship added or removed.

    Reference: Backstrom, Dwork, Kleinberg 2007, Wherefore Art Thou R3579X? The walk-based attack.
    """

    people: int = 250
    planted: int = 14
    pairs: int = 12
    friends: float = 8.0
    promise: Promise = field(default_factory=Promise)
    seed: int = 0

    def __post_init__(self) -> None:
        if not 4 <= self.planted <= 24 or not 2 <= 2 * self.pairs <= self.people:
            raise InputError(
                f"{self.planted} accounts for {self.pairs} pairs of {self.people} people",
                why="targets are told apart by the accounts that befriend them",
                fix="take 4 to 24 accounts, and at most half as many pairs as people",
            )

    def run(self, target: Release, effort: int = 20) -> Outcome:
        """Attack `effort` networks."""
        draws = SplitMix64(self.seed)
        return pool(self._network(target, draws.split()) for _ in range(effort))

    def _network(self, target: Release, draws: SplitMix64) -> Outcome:
        size = self.people + self.planted
        plan = self._plan(draws)
        truth = draws.bits(self.pairs)
        links = self._links(plan, truth, draws)
        names = draws.order(size)
        hidden = np.empty_like(links)
        hidden[np.ix_(names, names)] = links
        release = numbers(target(hidden), size, size).astype(np.int64)
        if not np.isin(release, (0, 1)).all():
            raise InputError(
                "the target answered with no network",
                why="the attack reads a table of zeros and ones",
                fix="publish a 1 for every two who are friends, and a 0 for others",
            )
        found = self._targets(plan, release, self._find(plan, release))
        return self.promise.scored(release[found[0::2], found[1::2]] == truth)

    def _plan(self, draws: SplitMix64) -> Bits:
        """Friendships of the planted accounts: among themselves, then with the targets."""
        inner = np.triu(draws.bits(self.planted, self.planted), 1)
        inner |= np.eye(self.planted, k=1, dtype=np.int64)
        outer = draws.bits(self.planted, 2 * self.pairs)
        return np.hstack([inner | inner.T, outer])

    def _links(self, plan: Bits, truth: Bits, draws: SplitMix64) -> Bits:
        """A random network, with the pairs as they are, and the planted accounts last."""
        size, people = self.people + self.planted, self.people
        # Some people have many friends: both ends of a friendship are drawn by popularity.
        popular = 1 / np.sqrt(1 + np.arange(people)[draws.order(people)])
        share = self.friends / people * np.outer(popular, popular) / popular.mean() ** 2
        links = np.zeros((size, size), dtype=np.int64)
        links[:people, :people] = np.triu(draws.uniform(people, people) < share, 1)
        links[np.arange(0, 2 * self.pairs, 2), np.arange(1, 2 * self.pairs, 2)] = truth
        links[: 2 * self.pairs, people:] = plan[:, self.planted :].T
        links[people:, people:] = np.triu(plan[:, : self.planted], 1)
        return np.asarray(links | links.T)

    def _find(self, plan: Bits, release: Bits) -> Bits:
        """The planted accounts, as the likeliest path through the release."""
        inner, size = plan[:, : self.planted], len(release)
        density = float(np.clip(release.mean(), 1e-9, 1 - 1e-9))
        usual = (self.friends * self.people + 2 * plan.sum()) / size**2
        # The share of pairs that the release has wrong: what makes it denser than networks are.
        wrong = float(np.clip(density - usual, 1 / size**2, 0.45))
        # Log-odds of a link in the release: where one was planned, and where not.
        right, chance = (np.log(odds) for odds in ((1 - wrong) / wrong, density / (1 - density)))
        linked, apart = right - chance, -right - chance
        degrees = _of_degrees(plan.sum(axis=1), release.sum(axis=1), wrong)
        links = release.astype(np.float64)
        beam, scores = np.arange(len(release))[:, None], degrees[0]
        for i in range(1, self.planted):
            weights = np.zeros((len(beam), len(release)))
            np.put_along_axis(weights, beam, np.where(inner[i, :i], linked, apart)[None, :], axis=1)
            total = weights @ links + scores[:, None] + degrees[i]
            np.put_along_axis(total, beam, -np.inf, axis=1)
            kept = min(BEAM, total.size)
            bar = np.partition(total, total.size - kept, axis=None)[-kept]
            rows, nodes = (place[:BEAM] for place in np.nonzero(total >= bar))
            beam, scores = np.column_stack([beam[rows], nodes]), total[rows, nodes]
        return np.asarray(beam[scores.argmax()])

    def _targets(self, plan: Bits, release: Bits, accounts: Bits) -> Bits:
        """For every target, the node whose links to the accounts are most like theirs."""
        seen, wanted = release[accounts], plan[:, self.planted :]
        wrong: Reals = (seen[:, None, :] != wanted[:, :, None]).sum(axis=0).astype(np.float64)
        wrong[:, accounts] = np.inf
        return np.asarray(wrong.argmin(axis=1))


def _of_degrees(planned: Bits, degrees: Bits, wrong: float) -> Reals:
    """How much likelier each node's degree (a column) is for each account (a row) than for others.

    Both are taken for normal.
    """
    size = degrees.size
    expected = planned + (size - 1 - 2 * planned) * wrong
    spread, usual = 1 + (size - 1) * wrong * (1 - wrong), 1 + degrees.var()
    own = (degrees[None, :] - expected[:, None]) ** 2 / spread + np.log(spread)
    others = (degrees - degrees.mean()) ** 2 / usual + np.log(usual)
    return np.asarray((others[None, :] - own) / 2)
