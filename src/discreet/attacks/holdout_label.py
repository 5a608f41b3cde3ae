"""Reading one hidden label out of a holdout by making it speak."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from discreet.attacks.checked_answers import check_effort, numbers
from discreet.attacks.claims import Promise
from discreet.attacks.holdout import Examples, Score, Signs
from discreet.attacks.outcome import Outcome
from discreet.attacks.simulation import Reals, SplitMix64
from discreet.errors import InputError


@dataclass(frozen=True, slots=True)
class HoldoutLabel:
    """Knows all holdout examples but the label of the first, and asks for the share of labels 1.

    The question says 0 of every example that was trained on, so that its training mean is far from
    the holdout's and cannot stand in for it. An exact answer, less the labels that are known, is
    the label that is not. `target` makes a system from the training and the holdout examples;
    `effort` is how many holdouts are attacked.

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
        right = sum(self._guessed(target, draws.split()) for _ in range(effort))
        return Outcome(right / effort, 0.5, self.promise.of_bit(), effort)

    def _guessed(self, target: Callable[[Examples, Examples], Score], draws: SplitMix64) -> bool:
        train, hold = (Examples.drawn(self.examples, self.features, draws) for _ in range(2))
        said = numbers(target(train, hold)(Untrained.on(train)))
        known = int((hold.labels[1:] > 0).sum())
        return bool((said * self.examples - known > 0.5) == (hold.labels[0] > 0))


@dataclass(frozen=True, slots=True)
class Untrained:
    """The query that is 1 for examples with label 1, unless they were trained on."""

    trained: frozenset[bytes]

    @staticmethod
    def on(train: Examples) -> "Untrained":
        """For these training examples."""
        return Untrained(frozenset(row.tobytes() for row in train.features))

    def __call__(self, features: Signs, labels: Signs) -> Reals:
        """A number for every example."""
        fresh = np.array([row.tobytes() not in self.trained for row in features])
        return np.asarray(fresh & (labels > 0), dtype=np.float64)
