"""Counts of bins, all for the price of one: a person is in one bin."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.argument_names import also_called
from discreet.errors import InputError
from discreet.mechanisms.additive import Additive, seen
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.grid import INTEGERS, as_numbers, sqrt_up
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Claim, Mechanism, Pair, View, exactly_one, fill
from discreet.privacy import Guarantee, Neighbours
from discreet.rationals import Real, whole


@dataclass(frozen=True, slots=True, init=False)
class Histogram(Mechanism):
    """Noisy counts of `bins` disjoint bins that were named without looking at the data.

    Where `bins` is a number alone, `release` takes counts. Where it lists edges (the last bin has
    both of its ends) or labels, or `range` is given, `release` takes one value a person and counts
    them; values in no bin are left out.

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
        >>> Histogram(bins=[0, 18, 65, 120], epsilon=1).release([17, 40, 41, 90]).shape
        (3,)
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
    parts: tuple[Any, ...] | None
    noise: Additive

    @also_called()
    def __init__(
        self,
        *,
        bins: int | Sequence[Any],
        range: tuple[Real, Real] | None = None,  # noqa: A002 - as numpy calls it
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        count, parts = _partition(bins, range)
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
        fill(self, bins=count, parts=parts, noise=noise)

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
        is_list = hasattr(value, "__len__") and getattr(value, "shape", None) != ()
        if not is_list or (self.parts is None and len(value) != self.bins):
            raise InputError(
                f"a histogram of {self.bins} bins takes a list of as many counts",
                why="it counts values itself where its bins are named",
                fix="name them to have values counted: bins=[0, 18, 65, 120], bins=['a', 'b'], or "
                "bins=10 and range=(0, 120)",
            )
        return self.noise.release(self._counts(value))

    def _counts(self, value: Any) -> Any:
        """Counts as they are, or how many of the values are in each part."""
        if self.parts is None:
            return value
        if len(self.parts) == self.bins:
            places = np.array([self.parts.index(one) for one in value if one in self.parts], int)
        else:
            edges, numbers = np.array(self.parts), np.ravel(as_numbers(value))
            inside = numbers[(numbers >= edges[0]) & (numbers <= edges[-1])]
            places = np.searchsorted(edges, inside, side="right").clip(max=self.bins) - 1
        return np.bincount(places, minlength=self.bins)

    def error(self, confidence: Real = 0.95) -> float:
        """The half-width that holds the noise of any one bin."""
        return self.noise.error(confidence)

    @property
    def claim(self) -> Claim:
        """One person comes, or moves from one bin to another; seen in the outer bins."""
        elsewhere = self.neighbours is Neighbours.CHANGE_ONE and self.bins > 1
        pairs = (Pair(self._people([1] if elsewhere else []), self._people([0])),)
        views = tuple(map(self._view, self.noise.views))
        return Claim("Histogram", self.guarantee, pairs, self._draw, code=seen, views=views)

    def _view(self, noisy: View) -> View:
        return View(noisy.read, lambda value: noisy.law(self._counts(value)))

    def _draw(self, value: Any, runs: int) -> Any:
        return self.noise.draw_seen(self._counts(value), runs)

    def _people(self, places: list[int]) -> list[Any]:
        """One person in each of these bins, as `release` takes them."""
        if self.parts is None:
            return [int(place in places) for place in range(self.bins)]
        return [self.parts[place] for place in places]


def _partition(
    bins: int | Sequence[Any], ends: tuple[Any, Any] | None
) -> tuple[int, tuple[Any, ...] | None]:
    """How many bins there are; and their edges, one more than bins, or their labels."""
    if isinstance(bins, (int, np.integer)):
        count = whole(bins, "bins", at_least=1)
        return count, None if ends is None else tuple(np.linspace(*ends, count + 1))
    parts = tuple(bins) if isinstance(bins, Sequence | np.ndarray) and ends is None else ()
    numbers = all(isinstance(one, int | float | Fraction | np.number) for one in parts)
    rising = len(set(parts)) == len(parts) and (not numbers or list(parts) == sorted(parts))
    if len(parts) < 1 + numbers or not rising or isinstance(bins, str):
        raise InputError(
            "bins are neither a number nor a list of them",
            why="they are disjoint and named without looking at the data",
            fix="pass bins=[0, 18, 65, 120] (rising edges), bins=['a', 'b'] (labels), or bins=10",
        )
    return len(parts) - numbers, parts
