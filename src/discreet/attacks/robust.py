"""Reconstruction when a share of the answers is arbitrary."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.linear_program import LinearProgram
from discreet.attacks.reconstruction import SubsetSum
from discreet.attacks.simulation import SplitMix64
from discreet.errors import InputError


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
