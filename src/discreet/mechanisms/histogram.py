"""Counts of bins, all for the price of one: a person is in one bin."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.argument_names import also_called
from discreet.errors import InputError
from discreet.mechanisms.additive import Additive, seen
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.grid import INTEGERS, as_finite, listed, sqrt_up
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Claim, Mechanism, Pair, View, exactly_one, fill
from discreet.privacy import Guarantee, Neighbours
from discreet.rationals import Real, whole


@dataclass(frozen=True, slots=True, init=False)
class Histogram(Mechanism):
    """Noisy counts of disjoint bins that were chosen without looking at the data.

    `bins` is their number, to release counts. Or it is a number of equal bins in a `range`, or
    edges, both as in numpy.histogram, or texts, to release a list with one value per person (for
    texts also `{text: count}`). Values are read one by one: what is in no bin, not a number or not
    one of the texts is not counted. So a list of counts needs `bins=3`.

    Guarantee:
        That of `noise`, which is Laplace noise for `epsilon` alone and Gaussian noise for `rho` or
        for (epsilon, delta).
    Neighbours:
        Adding or removing a person moves one count by 1: sensitivity 1. Changing a person moves two
        counts by 1 each: l1 sensitivity 2, l2 sensitivity sqrt(2). The number of bins does not
        matter.
    Edge cases:
        Counts are ints of any size; empty bins are released like all others (leaving them out would
        reveal which are empty). One bin is a count: changing a person moves it by at most 1.

    Example:
        >>> noisy = Histogram(bins=3, epsilon=1).release([10, 0, 5])
        >>> Histogram(bins=[0, 18, 65], epsilon=1).release([7, 30, 31, 40]).shape
        (2,)
        >>> colours = Histogram(bins=["red", "green"], epsilon=1)
        >>> dict(zip(colours.bins, colours.release({"red": 90, "green": 7}).tolist())).keys()
        dict_keys(['red', 'green'])
        >>> Histogram(bins=1000, epsilon=0.5).noise.scale
        Fraction(2, 1)
        >>> Histogram(bins=4, epsilon=0.5, neighbours=Neighbours.CHANGE_ONE).noise.scale
        Fraction(4, 1)
        >>> Histogram(bins=3, rho=0.1).release([10, 0, 5]).shape
        (3,)

    Reference: Dwork, McSherry, Nissim, Smith, Calibrating Noise to Sensitivity in Private Data
    Analysis (histograms).
    """

    bins: int | tuple[Any, ...]
    noise: Additive

    @also_called(edges="bins", categories="bins", keys="bins")
    def __init__(
        self,
        bins: int | Sequence[Any],
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        range: tuple[Real, Real] | None = None,  # noqa: A002 - numpy's word
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        if range is not None:
            ends = _read_bins(range)
            if len(ends) != 2 or _are_texts(ends):
                raise InputError(
                    "range has no two ends",
                    why="bins of one width begin at one number and end at another",
                    fix="call dp.Histogram(bins=10, range=(0, 100), epsilon=1)",
                )
            bins = np.linspace(*ends, whole(bins, "bins", at_least=1) + 1).tolist()
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
        fill(self, bins=named or count, noise=noise)

    @property
    def named(self) -> tuple[Any, ...]:
        """The texts or edges of the bins; none if only their number is given."""
        return self.bins if isinstance(self.bins, tuple) else ()

    @property
    def size(self) -> int:
        """How many bins there are."""
        return self.noise.dimension or 1

    @property
    def neighbours(self) -> Neighbours:
        """The neighbours of the guarantee."""
        return self.noise.neighbours

    @property
    def guarantee(self) -> Guarantee:
        """That of the noise, for all bins together."""
        return self.noise.guarantee

    def release(self, value: Any) -> Any:
        """All counts with fresh noise, as an array of ints."""
        return self.noise.release(self._counts(value))

    def _counts(self, value: Any) -> Any:
        """Counts as they are, `{text: count}` too, or how many of the values are in each bin."""
        if isinstance(value, Mapping) and _are_texts(self.named):
            return [value.get(one, 0) for one in self.named]
        values = listed(value)
        if values is None or (not self.named and len(values) != self.size):
            raise InputError(
                f"a histogram takes a list of {'values' if self.named else f'{self.size} counts'}",
                why="its bins are named without looking at the data, and a person is in one",
                fix="pass a list, of values to such as Histogram(bins=[0, 18, 65], epsilon=1)",
            )
        if _are_texts(self.named):
            found = Counter(one for one in values if isinstance(one, str))
            return [found[one] for one in self.named]
        numbers = map(as_finite, values)
        return np.histogram([*numbers], bins=self.named)[0] if self.named else value

    def error(self, confidence: Real = 0.95) -> float:
        """The half-width of the noise of any one bin."""
        return self.noise.error(confidence)

    @property
    def claim(self) -> Claim:
        """One person is added, or moves to another bin or to none; tested in outer bins."""
        changed, several = self.neighbours is Neighbours.CHANGE_ONE, self.size > 1
        rest = [0] * (self.size - 1)
        pairs = [Pair([0, *[1] * (changed and several), *rest[changed:]], [1, *rest])]
        if self.named:
            one, other = self.named[0], self.named[several]
            pairs = [
                Pair([other] * changed, [one]),
                Pair([one] * (9 + changed), [one] * 9 + [None]),
            ]
        views = tuple(View(one.read, partial(self._of_counts, one.law)) for one in self.noise.views)
        draw = partial(self._of_counts, self.noise.draw_seen)
        return Claim("Histogram", self.guarantee, tuple(pairs), draw, code=seen, views=views)

    def _of_counts(self, function: Callable[..., Any], value: Any, *how: Any) -> Any:
        return function(self._counts(value), *how)


def _are_texts(named: tuple[Any, ...]) -> bool:
    return bool(named) and isinstance(named[0], str)


def _read_bins(bins: Any) -> tuple[Any, ...]:
    """Texts that differ, or edges that increase."""
    named = listed(bins) or []
    if named and all(isinstance(one, str) for one in named) and len(set(named)) == len(named):
        return tuple(named)
    edges = tuple(map(as_finite, named))  # no comparison with NaN is true
    if len(edges) > 1 and all(a < b for a, b in pairwise(edges)):
        return edges
    raise InputError(
        "bins are neither a number, nor edges in order, nor different texts",
        why="they are named without looking at the data",
        fix='pass bins=[0, 18, 65], bins=["Austin", "Haifa"], or how many counts there are: bins=2',
    )
