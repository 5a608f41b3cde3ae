"""Polynomial reconstruction by a linear program."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.reconstruction import Reconstruction, SubsetSum
from discreet.attacks.simulation import Bits, Reals
from discreet.errors import InputError


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
