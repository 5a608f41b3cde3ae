"""Attacks that rebuild a column of secret bits from sums over subsets."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.outcome import Outcome, Promise, check_effort, check_prior, numbers
from discreet.attacks.simulation import Bits, Reals, SplitMix64
from discreet.errors import InputError

SubsetSum: TypeAlias = Callable[[NDArray[np.bool_]], float]
"""A system that says about how many of the people in a subset have the secret."""


@dataclass(frozen=True, slots=True)
class Reconstruction(ABC):
    """Guesses everybody's secret bit from answers to subset questions.

    `secret` is for scoring alone; the attacker's part is `guess`, which never sees it. `prior` is
    how probable a 1 is to who has seen no answers: who has, guesses a skewed secret well anyhow.
    """

    secret: Bits
    promise: Promise = field(default_factory=Promise)
    seed: int = 0
    prior: float = 0.5

    def __post_init__(self) -> None:
        bits = np.asarray(self.secret)
        if bits.ndim != 1 or bits.size == 0 or not np.isin(bits, (0, 1)).all():
            raise InputError(
                "secret is not a list of bits",
                why="the attack rebuilds one bit a person",
                fix="pass zeros and ones, one a person",
            )
        check_prior(self.prior, float(bits.mean()), bits.size)

    def run(self, target: SubsetSum, effort: int) -> Outcome:
        """Ask `effort` questions, guess, and score: the share of people whose bit is right."""
        check_effort(effort, "questions")
        guess = self.guess(target, effort)
        right = float(np.mean(guess == np.asarray(self.secret)))
        chance = max(self.prior, 1 - self.prior)
        return Outcome(right, chance, self.promise.of_bit(self.prior), self.people)

    @property
    def people(self) -> int:
        """How many people there are; public."""
        return int(np.asarray(self.secret).size)

    @abstractmethod
    def guess(self, target: SubsetSum, effort: int) -> Bits:
        """Everybody's bit, as the answers suggest."""

    def questions(self, effort: int) -> NDArray[np.bool_]:
        """The subsets that are asked about, a row each; they wait for no answer."""
        return SplitMix64(self.seed).bits(effort, self.people).astype(np.bool_)

    def ask(self, target: SubsetSum, effort: int) -> tuple[NDArray[np.bool_], Reals]:
        """The subsets and what was answered to them."""
        subsets = self.questions(effort)
        return subsets, np.array([numbers(target(subset)) for subset in subsets])


@dataclass(frozen=True, slots=True)
class LeastSquares(Reconstruction):
    """Solves random subset sums for the bits in the least squares sense, and rounds.

    Works against any errors well below the root of the number of people.

    Reference: Dinur, Nissim 2003, Theorem 2; Dwork, Yekhanin 2008 for least squares.

    Example:
        >>> secret = np.array([1, 0, 1, 1, 0, 0, 1, 0])
        >>> LeastSquares(secret).run(lambda people: secret[people].sum(), effort=40).success
        1.0
    """

    def guess(self, target: SubsetSum, effort: int) -> Bits:
        """The bits nearest to the solution."""
        subsets, answers = self.ask(target, effort)
        asked = subsets.astype(np.float64)
        # The normal equations: as few as there are people, whatever the effort, and exact sums.
        inverse = np.linalg.pinv(asked.T @ asked, rcond=1e-10, hermitian=True)
        solved = inverse @ (asked.T @ answers)
        return (solved > 0.5).astype(np.int64)


@dataclass(frozen=True, slots=True)
class LinearProgram(Reconstruction):
    """Finds fractional bits with the least total disagreement with the answers, and rounds.

    Reference: Dinur, Nissim 2003, Theorem 2; Dwork, McSherry, Talwar 2007 for the l1 objective;
    Cohen, Nissim 2020, Linear Program Reconstruction in Practice.
    """

    def guess(self, target: SubsetSum, effort: int) -> Bits:
        """The bits nearest to the solution of the program."""
        subsets, answers = self.ask(target, effort)
        return (fit_least_absolute(subsets, answers) > 0.5).astype(np.int64)


def fit_least_absolute(subsets: NDArray[np.bool_], answers: Reals) -> Reals:
    """Fractions x in [0, 1] with the least sum of |subset sum of x - answer|, by HiGHS."""
    linprog = _solver()
    asked, people = subsets.shape
    # answer = subset . x + over - under; the cost is what is over or under.
    identity = np.eye(asked)
    solved = linprog(
        np.concatenate([np.zeros(people), np.ones(2 * asked)]),
        A_eq=np.hstack([subsets.astype(np.float64), identity, -identity]),
        b_eq=answers,
        bounds=[(0, 1)] * people + [(0, None)] * (2 * asked),
        method="highs",
    )
    if solved.x is None:
        raise InputError(
            "the linear program was not solved",
            why=str(solved.message).lower().rstrip("."),
            fix="ask fewer questions, or about fewer people",
        )
    return np.asarray(solved.x[:people], dtype=np.float64)


def _solver() -> Callable[..., Any]:
    try:
        found: Callable[..., Any] = import_module("scipy.optimize").linprog
    except ImportError as error:
        raise InputError(
            "scipy is not installed",
            why="its solver HiGHS is what solves the linear program",
            fix="install it with: pip install 'discreet[attack]'",
        ) from error
    return found


@dataclass(frozen=True, slots=True)
class Robust(LinearProgram):
    """The l1 program: answers that are wildly wrong cost it no more than ones that are a bit wrong.

    Noise on most answers with outright lies in the rest is no defence: the bits are found as long
    as the honest share is large enough (proved above 76 %; random lies may be more).

    Reference: Dwork, McSherry, Talwar 2007, The Price of Privacy and the Limits of LP Decoding.
    """


def lying(target: SubsetSum, share: float, people: int, seed: int = 0) -> SubsetSum:
    """The same system, except that this share of its answers is drawn from [0, people]."""
    if not 0 <= share <= 1:
        raise InputError(f"share is {share}", why="it is a rate", fix="keep it in [0, 1]")
    draws = SplitMix64(seed).split()  # the attacker's questions come from the seed itself

    def answer(subset: NDArray[np.bool_]) -> float:
        coin, lie = draws.uniform(2)
        return float(lie * people) if coin < share else float(target(subset))

    return answer
