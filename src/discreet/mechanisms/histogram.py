"""Counts of bins, all for the price of one: a person is in one bin."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.argument_names import also_called
from discreet.errors import InputError
from discreet.mechanisms.additive import Additive, seen
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.grid import INTEGERS, as_numbers, sqrt_up
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Claim, Mechanism, Pair, exactly_one, fill
from discreet.privacy import Guarantee, Neighbours
from discreet.rationals import Real, whole


class ExplicitCounts(list[int]):
    """Counts as they are, also where named bins would count values: those of an audit."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, init=False)
class Histogram(Mechanism):
    """Noisy counts of disjoint bins that were named without looking at the data.

    `bins` are how many there are, and counts are released; or their edges as numpy.histogram takes
    them, or texts, and a value of each person is released: what is in no bin is not counted.

    Guarantee:
        That of `noise`, which is Laplace noise for `epsilon` alone and Gaussian noise for `rho` or
        for (epsilon, delta).
    Neighbours:
        Adding or removing a person moves one count by 1: sensitivity 1. Changing a person moves two
        counts by 1 each: l1 sensitivity 2, l2 sensitivity sqrt(2). The number of bins has no part
        in it.
    Edge cases:
        Counts are ints of any size; empty bins are released like all others (leaving them out would
        tell which are empty). One bin is a count: changing a person moves it by at most 1.

    Example:
        >>> noisy = Histogram(bins=3, epsilon=1).release([10, 0, 5])
        >>> Histogram(bins=[0, 18, 65], epsilon=1).release([7, 30, 31, 40]).shape
        (2,)
        >>> Histogram(bins=1000, epsilon=0.5).noise.scale
        Fraction(2, 1)
        >>> Histogram(bins=4, epsilon=0.5, neighbours=Neighbours.CHANGE_ONE).noise.scale
        Fraction(4, 1)
        >>> Histogram(bins=3, rho=0.1).release([10, 0, 5]).shape
        (3,)

    Reference: Dwork, McSherry, Nissim, Smith, Calibrating Noise to Sensitivity in Private Data
    Analysis (histograms).
    """

    bins: int
    noise: Additive
    named: tuple[Any, ...]

    @also_called(edges="bins", categories="bins", keys="bins")
    def __init__(
        self,
        bins: int | Sequence[Any],
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        named = () if isinstance(bins, (int, np.integer)) else _read_bins(bins)
        count = len(named) - (not _are_texts(named)) if named else bins
        count = whole(count, "bins", at_least=1)
        about = Neighbours(neighbours)
        moved = 2 if about is Neighbours.CHANGE_ONE and count > 1 else 1
        noise: Additive
        if delta is None and rho is None:
            exactly_one(epsilon=epsilon, rho=rho)
            noise = Laplace(epsilon=epsilon, sensitivity=moved, dimension=count, neighbours=about)
        else:
            noise = Gaussian(
                rho=rho,
                epsilon=epsilon,
                delta=delta,
                sensitivity=sqrt_up(Fraction(moved)),
                grid=INTEGERS,
                dimension=count,
                neighbours=about,
            )
        fill(self, bins=count, noise=noise, named=named)

    @property
    def neighbours(self) -> Neighbours:
        """Whom the guarantee is about."""
        return self.noise.neighbours

    @property
    def guarantee(self) -> Guarantee:
        """That of the noise, for all bins together."""
        return self.noise.guarantee

    def release(self, value: Any) -> Any:
        """All counts with fresh noise, as an array of ints."""
        return self.noise.release(self._counts(value))

    def _counts(self, value: Any) -> Any:
        """Counts as they are, where bins are not named, and else of the values in each."""
        if isinstance(value, ExplicitCounts):
            return value
        if _are_texts(self.named):
            found = Counter(np.asarray(value).astype(str).tolist())
            return [found[one] for one in self.named]
        if self.named:
            return np.histogram(np.asarray(as_numbers(value), dtype=float), bins=self.named)[0]
        is_list = hasattr(value, "__len__") and getattr(value, "shape", None) != ()
        if not is_list or len(value) != self.bins:
            raise InputError(
                f"a histogram of {self.bins} bins takes a list of as many counts",
                why="its bins are named without looking at the data; counts come one for each",
                fix="name the bins to release values: Histogram(bins=[0, 18, 65], epsilon=1)",
            )
        return value

    def error(self, confidence: Real = 0.95) -> float:
        """The half-width that holds the noise of any one bin."""
        return self.noise.error(confidence)

    @property
    def claim(self) -> Claim:
        """One person comes, or moves from one bin to another; seen in the outer bins."""
        rest = [0] * (self.bins - 1)
        left, right = [0, *rest], [1, *rest]
        if self.neighbours is Neighbours.CHANGE_ONE and rest:
            left[1] = 1
        pairs = (Pair(ExplicitCounts(left), ExplicitCounts(right)),)
        draw, views = self.noise.draw_seen, self.noise.views
        return Claim("Histogram", self.guarantee, pairs, draw, code=seen, views=views)


def _are_texts(named: tuple[Any, ...]) -> bool:
    return bool(named) and isinstance(named[0], str)


def _read_bins(bins: Any) -> tuple[Any, ...]:
    """Texts that differ, or edges that increase."""
    named = tuple(bins) if isinstance(bins, Iterable) else ()
    texts = [one for one in named if isinstance(one, str)]
    if texts and len(set(named)) == len(texts):
        return named
    if not texts and len(named) > 1 and all(a < b for a, b in pairwise(as_numbers(named))):
        return named
    raise InputError(
        "bins are neither a number, nor edges in order, nor different texts",
        why="they are named without looking at the data",
        fix='pass bins=[0, 18, 65], bins=["Austin", "Haifa"], or how many counts there are: bins=2',
    )
