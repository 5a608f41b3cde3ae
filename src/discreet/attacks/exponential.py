"""Dinur and Nissim's first attack: try all databases and keep those that fit the answers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.reconstruction import Reconstruction, SubsetSum
from discreet.attacks.simulation import Bits, Reals
from discreet.errors import InputError

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
