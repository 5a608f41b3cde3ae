"""Dinur and Nissim's first attack: try all databases and keep one that fits all answers."""

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
        if self.people > _MOST:
            raise InputError(
                f"{self.people} people",
                why=f"their 2^{self.people} databases are too many to try",
                fix=f"take at most {_MOST} people, or the polynomial attacks",
            )
        everything = _databases(self.people)
        return np.asarray(everything[_closest(everything, *self.ask(target, effort))])

    def questions(self, effort: int) -> NDArray[np.bool_]:
        """All subsets, where effort allows them, or random ones."""
        if effort >= 1 << self.people:
            return _databases(self.people).astype(np.bool_)
        return Reconstruction.questions(self, effort)


def _databases(people: int) -> Bits:
    """All bit strings, one a row."""
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
