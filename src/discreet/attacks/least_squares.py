"""Polynomial reconstruction by least squares."""

from dataclasses import dataclass

import numpy as np

from discreet.attacks.reconstruction import Reconstruction, SubsetSum
from discreet.attacks.simulation import Bits


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
