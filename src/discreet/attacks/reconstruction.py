"""Attacks that rebuild a column of secret bits from sums over subsets, or try all databases."""

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
    the probability of a 1 without any answers: a skewed secret is guessed well anyhow.
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
        right = self.guess(target, effort) == np.asarray(self.secret)
        return self.promise.scored(right, self.prior)

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
    """Reconstruction: solves random subset sums for the bits by least squares, and rounds.

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

    Noise on most answers with outright lies in the rest is not a defence: the bits are found as
    long as the honest share is large enough (proved above 76 %; random lies may be more).

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


_MOST = 20
_BLOCK = 1 << 20
"""Sums that are compared at once."""


@dataclass(frozen=True, slots=True)
class Exponential(Reconstruction):
    """Searches all 2^n databases for the one whose worst disagreement with the answers is least.

    With all 2^n subsets asked, answers within E of the truth leave at most 4E bits wrong, whatever
    the errors are: two databases that both fit within E have sums within 2E on the people who are 1
    only in the first, and on those who are 1 only in the second.

    Reference: Dinur, Nissim 2003, Revealing Information while Preserving Privacy, Theorem 1.
    """

    def guess(self, target: SubsetSum, effort: int) -> Bits:
        """The database with the least worst disagreement (then the least squares)."""
        everything = databases(self.people)
        return np.asarray(everything[_closest(everything, *self.ask(target, effort))])

    def questions(self, effort: int) -> NDArray[np.bool_]:
        """All subsets, where effort allows them, or random ones."""
        if effort >= 1 << self.people:
            return databases(self.people).astype(np.bool_)
        return Reconstruction.questions(self, effort)


@dataclass(frozen=True, slots=True)
class Posterior(Exponential):
    """Weighs all 2^n databases by how probable they are given the answers, and guesses bit by bit.

    Noise that is too large to be solved for still makes some databases likelier than others. Each
    bit is guessed as most of the posterior weight has it, which no other guess beats on average if
    the noise is normal, of whatever deviation. Exact answers leave the databases that fit exactly.

    Reference: Dinur, Nissim 2003, Theorem 1, with a likelihood in place of the largest error.
    """

    def guess(self, target: SubsetSum, effort: int) -> Bits:
        """The likelier value of each bit."""
        everything = databases(self.people)
        subsets, answers = self.ask(target, effort)
        asked = subsets.astype(np.float64)
        # |asked x - answers|^2 for every database x, by way of people x people sums.
        pairs = np.einsum("ij,ij->i", everything @ (asked.T @ asked), everything)
        squares = pairs - 2 * (everything @ (asked.T @ answers)) + answers @ answers
        ones = everything.sum(axis=1) * np.log(self.prior / (1 - self.prior))
        weights = posterior(np.maximum(squares, 0.0), len(answers), ones)
        return (weights @ everything > 0.5).astype(np.int64)


def posterior(squares: Reals, count: int, prior: Reals | float = 0.0) -> Reals:
    """Weights of hypotheses by their squared errors over `count` answers, and logs of their priors.

    The deviation of the noise is not known: integrated over all of its scales, a hypothesis weighs
    squares^(-count/2). Those without any error leave nothing to the others. The last axis is that
    of the hypotheses.

    Example:
        >>> posterior(np.array([1.0, 4.0, 4.0]), 2).round(3).tolist()
        [0.667, 0.167, 0.167]
        >>> posterior(np.array([0.0, 4.0]), 2).tolist()
        [1.0, 0.0]
    """
    least = squares.min(axis=-1, keepdims=True)
    ratio = np.where(least > 0, squares / np.where(least > 0, least, 1.0), np.inf)
    logs = np.where(squares == least, 0.0, -count / 2 * np.log(ratio)) + prior
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def databases(people: int) -> Bits:
    """All bit strings, one a row."""
    if people > _MOST:
        raise InputError(
            f"{people} people",
            why=f"their 2^{people} databases are too many to try",
            fix=f"take at most {_MOST} people, or the polynomial attacks",
        )
    numbers = np.arange(1 << people, dtype=np.int64)[:, None]
    return (numbers >> np.arange(people, dtype=np.int64)) & 1


def _closest(databases: Bits, subsets: NDArray[np.bool_], answers: Reals) -> int:
    """The row whose sums stay closest to the answers in the worst case; ties by squares."""
    questions = subsets.T.astype(np.float32)
    rows = max(1, _BLOCK // len(answers))
    best, found = (np.inf, np.inf), 0
    for start in range(0, len(databases), rows):
        gaps = databases[start : start + rows].astype(np.float32) @ questions - answers
        worst = np.abs(gaps).max(axis=1)
        squares = np.einsum("ij,ij->i", gaps, gaps)
        place = int(np.lexsort((squares, worst))[0])
        score = (float(worst[place]), float(squares[place]))
        if score < best:
            best, found = score, start + place
    return found
