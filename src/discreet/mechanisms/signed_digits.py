"""Times as signed digits: which blocks of a tree a running count adds, and which it takes off."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any


@dataclass(frozen=True, slots=True)
class SignedDigits:
    """Blocks of 1, k, k^2, ... steps: `levels` lengths, k = `arity`, odd.

    A time t is d_0 + d_1 k + d_2 k^2 + ... with digits from -(k - 1)/2 to (k - 1)/2, except the
    last one, which is as large as necessary. The count up to t has |d_i| blocks of length k^i.

    Example:
        >>> digits = SignedDigits(levels=2, arity=7)
        >>> [digits.size(time) for time in (1, 3, 4, 7, 24)]
        [1, 3, 4, 1, 6]
    """

    levels: int
    arity: int

    @staticmethod
    def of(horizon: int) -> "SignedDigits":
        """The tree of least mean square error, for noise that grows with the number of levels."""
        shapes = [SignedDigits(1, 1)]
        for levels in range(2, horizon.bit_length() + 1):
            about = round((2 * horizon) ** (1 / levels))
            shapes += [SignedDigits(levels, max(3, k | 1)) for k in range(about - 3, about + 4)]
        return min(shapes, key=lambda shape: shape.cost(horizon))

    def cost(self, horizon: int) -> Fraction:
        """About levels^2 times how many blocks a count has on average.

        They are (k^2 - 1)/(4 k) of each length, and of the longest half of all there are.
        """
        others = (self.levels - 1) * Fraction(self.arity**2 - 1, 4 * self.arity)
        longest = self.places(horizon)[-1] + (self.levels == 1)
        return self.levels**2 * (others + Fraction(longest, 2))

    @property
    def half(self) -> int:
        """The largest digit."""
        return self.arity // 2

    def places(self, time: Any) -> list[Any]:
        """For each length, the number of blocks up to the block end nearest to `time`."""
        places = [time]
        while len(places) < self.levels:
            places.append((places[-1] + self.half) // self.arity)
        return places

    def size(self, time: int) -> int:
        """How many blocks the count up to `time` has: the sizes of its digits, added up."""
        places = self.places(time)
        digits = [abs(p - self.arity * q) for p, q in pairwise(places)]
        return int(sum(digits, places[-1]))

    def largest_size(self, horizon: int) -> int:
        """A bound on that at all times up to the horizon."""
        return (self.levels - 1) * self.half + int(self.places(horizon)[-1])

    def moved(self, time: int) -> list[int]:
        """The new digits of the lowest levels, as many as the step to `time` moves on."""
        places, before = self.places(time), self.places(time - 1)
        above = [*(self.arity * place for place in places[1:]), 0]
        return [p - a for p, a, q in zip(places, above, before, strict=True) if p != q]

    def blocks(self, size: int) -> list[int]:
        """How many blocks of each length a stream of this size has, with those it ends within."""
        places = self.places(size)
        return [max(p, self.arity * q) for p, q in pairwise([*places, 0])]

    def last_block(self, time: int) -> int | None:
        """The length of a block that ends at `time` and is all that the count gained by it.

        None where the count turns from blocks after an earlier time to blocks before a later one.
        """
        end, length = time, 1
        for _ in range(self.levels - 1):
            if end % self.arity:
                return None if end % self.arity == self.half + 1 else length
            end, length = end // self.arity, length * self.arity
        return length
