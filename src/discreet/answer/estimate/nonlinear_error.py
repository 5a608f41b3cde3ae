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
    apart: list[Floats] = []
    for noise in noises:
        own = _scaled(noise)
        for other in apart:  # noises that share something are counted once
            own = own - np.mean(own * other, axis=0) * other
        own = np.where(own.std(axis=0) > 1e-6, _scaled(own), 0.0)
        apart.append(own)
        sizes += own**2
        straight += np.einsum("ij,ij->j", shape, own) * own
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


def quotient_width(
    tops: Floats,
    bottoms: Floats,
    centre: Floats,
    ends: tuple[float, float] = (-math.inf, math.inf),
    confidence: float = 0.95,
) -> NDArray[np.float64]:
    """How far from `centre` a true quotient within `ends` may be.

    Row 0 is what was released, the others are draws around it. It is infinite where the
    denominator may be 0 and there are no ends.

    Why: for the true quotient q, top - q bottom is 0 but for noise, and nearly straight in the
    noise where top / bottom is not. So q may be whatever moves it no further than 95 in 100 noises.

    Reference: Fieller 1954, Some Problems in Interval Estimation.
    """
    top_noise, bottom_noise = (np.ascontiguousarray((of[1:] - of[0]).T) for of in (tops, bottoms))
    place = math.ceil(confidence * (top_noise.shape[1] - 1))

    def reach(moved: Floats) -> Floats:
        return np.asarray(np.partition(np.abs(moved), place, axis=1)[:, place])

    def holds(quotient: Floats) -> NDArray[np.bool_]:
        noise = reach(top_noise - quotient[:, None] * bottom_noise)
        return np.asarray(np.abs(quotient - centre) * bottom <= noise)

    bottom = np.abs(bottoms[0])
    unit = reach(top_noise - centre[:, None] * bottom_noise)
    unit = np.where(unit < 1e200 * bottom, unit / np.where(bottom > 0, bottom, 1.0), 1e200)
    found = np.zeros_like(unit)
    for end in ends:
        way, whole = math.copysign(1, end), np.abs(end - centre)
        most = np.minimum(whole, 1e6 * unit)
        all_of_it = holds(centre + way * most) & (most > 0)  # 0: there is no noise
        inside, outside = np.zeros_like(unit), np.ones_like(unit)
        for _ in range(10):  # shares of the way: unit share / (1 - share), to 1 in 250
            share = (inside + outside) / 2
            held = holds(centre + way * np.minimum(unit * share / (1 - share), most))
            inside, outside = np.where(held, share, inside), np.where(held, outside, share)
        away = np.minimum(unit * outside / np.maximum(1 - outside, 2.0**-11), most)
        found = np.maximum(found, np.where(all_of_it, whole, away))
    return found


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
