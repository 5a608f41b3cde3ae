"""Overfitting what judges others: a holdout, and a leaderboard."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from discreet.attacks.outcome import Outcome, Promise, check_effort, numbers, pool
from discreet.attacks.simulation import Bits, Reals, SplitMix64
from discreet.errors import InputError

Signs: TypeAlias = Bits
"""Numbers that are -1 or 1."""

Query: TypeAlias = Callable[[Signs, Signs], Reals]
"""A question about examples: from features and labels to a number in [0, 1] each."""

Score: TypeAlias = Callable[[Query], float]
"""A holdout that says about the mean of a query over its examples."""


_FRESH = 4


@dataclass(frozen=True, slots=True)
class Examples:
    """Features, one row an example, and labels: fair signs, so there is nothing to learn."""

    features: Signs
    labels: Signs

    @staticmethod
    def drawn(examples: int, features: int, draws: SplitMix64) -> "Examples":
        """Noise, and labels that have nothing to do with it."""
        signs = 2 * draws.bits(examples, features) - 1
        return Examples(signs, 2 * draws.bits(examples) - 1)

    def mean(self, query: Query) -> float:
        """The mean of a query."""
        return float(np.mean(query(self.features, self.labels)))


@dataclass(frozen=True, slots=True)
class Holdout:
    """Keeps the features that do well on training data and on the holdout, and reports the score.

    `target` makes a system from the training and the holdout examples. Success is the accuracy that
    the system reports for the final classifier; the baseline is its accuracy on `_FRESH` times as
    many fresh examples, which is 1/2 up to sampling; `bound` is the baseline plus `tolerance`, how
    far from the truth a report may be. That is a target, not a theorem.

    Reference: Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015, The Reusable Holdout, Section on
    experiments.
    """

    examples: int = 2000
    features: int = 1000
    kept: int = 200
    tolerance: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.kept <= self.features or self.examples < 2:
            raise InputError(
                f"{self.kept} of {self.features} features are kept",
                why="a classifier votes over features that exist",
                fix="pass 1 <= kept <= features",
            )

    def run(self, target: Callable[[Examples, Examples], Score], effort: int = 1) -> Outcome:
        """Overfit `effort` holdouts."""
        draws = SplitMix64(self.seed)
        return pool(self._analysis(target, draws.split()) for _ in range(effort))

    def _analysis(
        self, target: Callable[[Examples, Examples], Score], draws: SplitMix64
    ) -> Outcome:
        train, hold = (Examples.drawn(self.examples, self.features, draws) for _ in range(2))
        score = target(train, hold)
        chosen, signs = self._choose(train, score)
        reported = float(np.clip(numbers(score(majority(chosen, signs))), 0, 1))
        # Features are alike: of fresh examples, those that nobody votes by need not be drawn.
        fresh = Examples.drawn(_FRESH * self.examples, self.kept, draws)
        truth = fresh.mean(majority(np.arange(self.kept), signs))
        return Outcome(reported, truth, min(1.0, truth + self.tolerance), self.examples)

    def _choose(self, train: Examples, score: Score) -> tuple[Bits, Reals]:
        """The features on which training data and holdout agree most, and how each votes."""
        leans = np.array([train.mean(agreement(j)) for j in range(self.features)]) - 0.5
        held = np.array([numbers(score(agreement(j))) for j in range(self.features)]) - 0.5
        agree = np.where(leans * held > 0, np.abs(leans + held), 0.0)
        chosen = np.argsort(-agree, kind="stable")[: self.kept]
        return chosen, np.sign(leans + held)[chosen]


def agreement(feature: int) -> Query:
    """How often a feature equals the label."""
    return lambda features, labels: np.asarray((features[:, feature] * labels + 1) / 2)


def majority(chosen: Bits, signs: Reals) -> Query:
    """How often a signed vote of some features equals the label."""

    def right(features: Signs, labels: Signs) -> Reals:
        votes = features[:, chosen] @ signs
        return np.where(votes == 0, 0.5, votes * labels > 0).astype(np.float64)

    return right


@dataclass(frozen=True, slots=True)
class HoldoutLabel:
    """Knows all holdout examples but the label of the first, and asks for the share of labels 1.

    The question says 0 of every example that was trained on, so that its training mean is far from
    the holdout's and cannot replace it. An exact answer, less the labels that are known, is the
    label that is not. `target` makes a system from the training and the holdout examples; `effort`
    is how many holdouts are attacked.

    The bound is e^epsilon/(1 + e^epsilon) for a promise about one changed example.
    """

    examples: int = 200
    features: int = 64
    promise: Promise = field(default_factory=Promise)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.examples < 2 or self.features < 32:
            raise InputError(
                f"{self.examples} examples with {self.features} features",
                why="examples are told apart by their features",
                fix="pass at least 2 examples with 32 features",
            )

    def run(self, target: Callable[[Examples, Examples], Score], effort: int = 300) -> Outcome:
        """Guess one label in each of `effort` holdouts."""
        check_effort(effort, "holdouts")
        draws = SplitMix64(self.seed)
        right = [self._guessed(target, draws.split()) for _ in range(effort)]
        return self.promise.scored(np.array(right))

    def _guessed(self, target: Callable[[Examples, Examples], Score], draws: SplitMix64) -> bool:
        train, hold = (Examples.drawn(self.examples, self.features, draws) for _ in range(2))
        said = numbers(target(train, hold)(untrained(train)))
        known = int((hold.labels[1:] > 0).sum())
        return bool((said * self.examples - known > 0.5) == (hold.labels[0] > 0))


def untrained(train: Examples) -> Query:
    """The query that is 1 for examples with label 1, unless they were trained on."""
    trained = frozenset(row.tobytes() for row in train.features)

    def query(features: Signs, labels: Signs) -> Reals:
        fresh = np.array([row.tobytes() not in trained for row in features])
        return np.asarray(fresh & (labels > 0), dtype=np.float64)

    return query


Board: TypeAlias = Callable[[Bits], float]
"""A leaderboard: from predicted bits to about the share that is right."""


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Submits random predictions and takes their majority, with the sign that the scores suggest.

    On the labels behind the board the majority is right about Phi(sqrt(2 submissions/(pi n))) of
    the time, and anywhere else half the time. `target` makes a board from the true labels. Success
    is the share of them that the majority has right: what was learnt about them.

    Reference: Blum, Hardt 2015, The Ladder, Section on the boosting attack.
    """

    examples: int = 1000
    promise: Promise = field(default_factory=Promise)
    seed: int = 0

    def run(self, target: Callable[[Bits], Board], effort: int = 2000) -> Outcome:
        """Make `effort` submissions to one board."""
        check_effort(effort, "submissions")
        labels, coins = SplitMix64(self.seed).bits(2, self.examples)
        board = target(labels)
        votes = np.zeros(self.examples)
        for guess in self._submitted(effort):
            votes += (2 * guess - 1) * np.sign(numbers(board(guess)) - 0.5)
        final = np.where(votes == 0, coins, votes > 0)
        return self.promise.scored(final == labels)

    def submissions(self, effort: int) -> Bits:
        """All submissions, a row each; none depends on a score."""
        return np.stack(list(self._submitted(effort)))

    def _submitted(self, effort: int) -> Iterator[Bits]:
        draws = SplitMix64(self.seed)
        draws.words(2 * self.examples)  # the labels, and a coin for each
        return (draws.bits(self.examples) for _ in range(effort))
