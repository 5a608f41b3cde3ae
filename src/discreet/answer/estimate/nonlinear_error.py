"""How far likely noise leads a number that is bent: by ABS, CASE, a bound, a small denominator."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LIKELY = 0.99


def furthest(
    moved: Floats, noises: Sequence[Floats], confidence: float = 0.95
) -> NDArray[np.float64]:
    """How far likely noise moves a number at most, a row a draw of the noises.

    Why: what was released less its noise is the truth, so an interval holds as often as the noise
    is among the likely ones, however bent the function is: where ABS or a bound folds what was
    released, most of what is simulated around it may be near, and the truth is not. Likely are 99
    in 100 by their size, less 4 in 100 that move the number furthest as far as it is straight:
    where it is, the interval is hardly wider than it must be. It is NaN where a value could not be
    computed in one of the likely draws.
    """
    sizes, straight = np.zeros_like(moved), np.zeros_like(moved)
    shape = _shape(moved)
    for noise in noises:
        deviations = _scaled(noise)
        sizes += deviations**2
        straight += np.einsum("ij,ij->j", shape, deviations) * deviations
    likely = _lowest(sizes, _LIKELY) & _lowest(np.abs(straight), confidence + 1 - _LIKELY)
    return np.asarray(np.max(np.where(likely, np.abs(moved), 0.0), axis=0))


def furthest_of_pairs(
    moved: Floats, known: NDArray[np.bool_], sizes: Floats, confidence: float = 0.95
) -> NDArray[np.float64]:
    """The same for pairs of draws with opposite noise, the second halves below the first.

    Why: of a straight number a pair moves both ways alike, so half of their difference is how far
    it moves, whatever it is computed from and however many noises there are; what is bent is in
    their sum. Rows that a draw does not have are not looked at in it.
    """
    there = np.where(known, moved, np.nan)
    first, second = np.split(there, 2)
    either = np.where(np.isnan(second), first, -second)
    odd = np.where(np.isnan(first + second), either, (first - second) / 2)
    straight = np.nan_to_num(np.abs(np.concatenate([odd, odd])))
    likely = _lowest(sizes[:, None], _LIKELY) & _lowest(straight, confidence + 1 - _LIKELY) & known
    return np.asarray(np.max(np.where(likely, np.abs(moved), 0.0), axis=0))


def _shape(moved: Floats) -> Floats:
    """The same within -1 and 1, so that no sum overflows; 0 where it could not be computed."""
    known = np.nan_to_num(moved)
    largest = np.max(np.abs(known), axis=0)
    return np.asarray(known / np.where(largest > 0, largest, 1.0))


def _scaled(noise: Floats) -> Floats:
    """Noise in deviations; of a noise that is too small to be seen there is none."""
    deviation = noise.std(axis=0)
    return np.asarray(noise / np.where(deviation > 0, deviation, 1.0))


def _lowest(sizes: Floats, share: float) -> NDArray[np.bool_]:
    """A share of the draws: those of the lowest sizes."""
    place = math.ceil(share * (sizes.shape[0] - 1))
    return np.asarray(sizes <= np.partition(sizes, place, axis=0)[place])
