"""Shared parts of mechanisms that choose one output by its score."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.argument_names import also_called
from discreet.errors import InputError
from discreet.mechanisms.grid import as_numbers
from discreet.mechanisms.mechanism import Claim, Law, Mechanism, Pair, exactly_one, fill
from discreet.noise.selection import Indices
from discreet.privacy import Neighbours
from discreet.rationals import Real, positive, whole

Utility: TypeAlias = Callable[[Any, Any], Real]
"""How good an output is for some data; the second argument is the output."""


class ExplicitScores(tuple[Real, ...]):
    """Scores as they are, also where a utility would make them from data: those of an audit."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, init=False)
class Selection(Mechanism):
    """One of finitely many public outputs, likelier the higher its score.

    `outputs` is fixed at construction, because a list of candidates that follows the data reveals
    who is in it. Data is one score per output or, if `utility` is given, anything that
    `utility(data, output)` scores. One person moves every score by at most `sensitivity`.

    Noise or temperature is `scale`, and epsilon = 2 sensitivity/scale. Where `monotone` holds, one
    person moves all scores the same way, and epsilon = sensitivity/scale.
    """

    outputs: tuple[Hashable, ...]
    epsilon: Fraction
    scale: Fraction
    sensitivity: Fraction
    monotone: bool
    utility: Utility | None
    neighbours: Neighbours

    @also_called(candidates="outputs", options="outputs", domain="outputs")
    def __init__(
        self,
        outputs: int | Sequence[Hashable],
        *,
        epsilon: Real | None = None,
        scale: Real | None = None,
        sensitivity: Real = 1,
        monotone: bool = False,
        utility: Utility | None = None,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        spread = positive(sensitivity, "sensitivity")
        read_monotone(neighbours, monotone=monotone)
        moved = self.moved(spread)
        strength, width = epsilon_and_scale(epsilon, scale, moved if monotone else 2 * moved)
        fill(
            self,
            outputs=read_outputs(outputs),
            epsilon=strength,
            scale=width,
            sensitivity=spread,
            monotone=bool(monotone),
            utility=utility,
            neighbours=Neighbours(neighbours),
        )

    def moved(self, sensitivity: Fraction) -> Fraction:
        """How far one person moves a score by the time it is used; rounding may add to it."""
        return sensitivity

    def release(self, value: Any) -> Any:
        """One output, chosen afresh."""
        return self.outputs[int(self.select(self.scores(value), 1)[0])]

    def scores(self, value: Any) -> NDArray[Any]:
        """Read one finite score an output."""
        given = value
        if self.utility is not None and not isinstance(value, ExplicitScores):
            given = _utilities(self.utility, value, self.outputs)
        return read_scores(given, self.outputs)

    @abstractmethod
    def select(self, scores: NDArray[Any], runs: int) -> Indices:
        """The positions of `runs` outputs, chosen independently."""

    @property
    def claim(self) -> Claim:
        """Positions of outputs, on scores that one person moves as far as allowed."""
        outputs, ahead = self.outputs, self._ahead
        return Claim(
            f"{type(self).__name__} of {len(outputs)}",
            self.guarantee,
            score_pairs(len(outputs), self.sensitivity, monotone=self.monotone, ahead=ahead),
            lambda scores, runs: self.select(read_scores(scores, outputs), runs),
            (lambda scores: self.law(read_scores(scores, outputs))) if self.is_listed else None,
            lambda _, chosen: self._position(chosen),
        )

    @property
    @abstractmethod
    def is_listed(self) -> bool:
        """Whether the law of the position is cheap to write down."""

    @abstractmethod
    def law(self, scores: NDArray[Any]) -> Law:
        """The exact law of the position."""

    @property
    def _ahead(self) -> int:
        """How many outputs an audit separates from all others."""
        return 1

    def _position(self, chosen: Any) -> Any:
        return self.outputs.index(chosen)


def _utilities(utility: Utility, data: Any, outputs: tuple[Hashable, ...]) -> list[Real]:
    """The score of every output; every error has a fixed text."""
    try:
        return [utility(data, output) for output in outputs]
    except Exception:  # noqa: BLE001 - what a utility raises may quote the data
        raise InputError(
            "a utility failed",
            why="every output has a score, whatever the data; failing on some data shows them",
            fix="give a score to what cannot be computed, such as the least there is",
        ) from None


def epsilon_and_scale(
    epsilon: Real | None, scale: Real | None, shift: Fraction
) -> tuple[Fraction, Fraction]:
    """Read exactly one of epsilon and scale; the other follows from epsilon = shift/scale."""
    exactly_one(epsilon=epsilon, scale=scale)
    if epsilon is not None:
        strength = positive(epsilon, "epsilon")
        return strength, shift / strength
    width = positive(0 if scale is None else scale, "scale")
    return shift / width, width


def read_monotone(neighbours: Neighbours, *, monotone: bool) -> None:
    """Refuse `monotone` where replacing a person can raise one score and lower another."""
    if monotone and Neighbours(neighbours) is not Neighbours.ADD_REMOVE:
        raise InputError(
            "monotone scores for change-one neighbours",
            why="a replaced person can raise one score and lower another",
            fix="leave monotone out, or use add-remove neighbours",
        )


def read_outputs(outputs: int | Sequence[Hashable]) -> tuple[Hashable, ...]:
    """Read the public outputs: a list of distinct ones, or how many there are."""
    if isinstance(outputs, (int, np.integer)):
        return tuple(range(whole(outputs, "outputs", at_least=1)))
    try:
        listed = tuple(outputs)
        different = len(set(listed))
    except TypeError:  # what cannot be listed, or not be told apart
        listed, different = (), 0
    if not listed or different != len(listed):
        raise InputError(
            "outputs are " + ("repeated" if listed else "no list of names or numbers"),
            why="one of them is chosen, and its score has to be its own",
            fix="list every possible output once, from public knowledge",
        )
    return listed


def read_scores(scores: Any, outputs: tuple[Hashable, ...]) -> NDArray[Any]:
    """Read a finite score for each output, listed or by name; refusals do not quote scores."""
    if isinstance(scores, Mapping) and scores.keys() == set(outputs):
        scores = [scores[output] for output in outputs]
    numbers = np.asarray(as_numbers([] if isinstance(scores, Mapping) else scores))
    if numbers.shape != (len(outputs),):
        raise InputError(
            "scores do not match the outputs",
            why="every public output has one score, also an output that no one in the data has",
            fix=f"pass {len(outputs)} scores in the order of `outputs`, or by name",
        )
    return numbers


_BEHIND = 16
"""Sensitivities by which the first outputs are behind: rarely chosen outputs reveal most."""


def score_pairs(
    count: int, sensitivity: Fraction, *, monotone: bool, ahead: int = 1
) -> tuple[Pair, ...]:
    """Scores that separate `ahead` outputs from all the others, near a tie and away from it."""
    up, still = sensitivity, Fraction(0)
    if monotone:
        moves = [
            ((up, up), (up, still)),
            ((still, up), (still, still)),
            ((still, 2 * up), (still, up)),
        ]
    else:
        moves = [
            ((up, still), (still, up)),
            ((still, up), (-up, 2 * up)),
            ((up, up), (still, still)),
            ((-_BEHIND * up, still), (-_BEHIND * up - up, up)),
        ]
    return tuple(Pair(*(_against(count, ahead, *side) for side in move)) for move in moves)


def _against(count: int, ahead: int, first: Fraction, others: Fraction) -> ExplicitScores:
    return ExplicitScores(map(plain, [first] * ahead + [others] * (count - ahead)))


def plain(number: Fraction) -> int | Fraction:
    """A whole number as an int, which mechanisms on the integers insist on."""
    return int(number) if number.denominator == 1 else number
