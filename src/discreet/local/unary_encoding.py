"""Unary encoding: a bit for each value of the domain, all of them noisy."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import InputError
from discreet.local.frequency import Chances, FrequencyProtocol, small_law
from discreet.local.protocol import Statistic, likelihood_ratio, stored_as
from discreet.local.reports import Octets
from discreet.mechanisms.mechanism import Law

_BLOCK = 1 << 21
"""Bits that are worked on at once."""


def count_bits(rows: Octets, sums: Statistic) -> None:
    """Add each column of the bitmaps to its sum; 255 rows at a time are summed up in bytes."""
    for start in range(0, len(rows), 255):
        bits = np.unpackbits(rows[start : start + 255], axis=1, count=len(sums), bitorder="little")
        sums += np.add.reduce(bits, axis=0, dtype=np.uint8)


def has_only(bitmaps: Octets, bits: int) -> NDArray[np.bool_]:
    """Whether no bit is set beyond that many."""
    return np.asarray(bitmaps[:, -1] < 1 << (8 - -bits % 8))


@dataclass(frozen=True, kw_only=True)
class BitmapProtocol(FrequencyProtocol):
    """A report is a bitmap over the domain: a value is supported where its bit is set."""

    @property
    def width(self) -> int:
        """A bit for each value."""
        return -(-self.domain.size // 8)

    @property
    def shape(self) -> tuple[int, ...]:
        """A count for each value."""
        return (self.domain.size,)

    def is_valid(self, rows: Octets) -> NDArray[np.bool_]:
        """No bit beyond the domain."""
        return has_only(rows, self.domain.size)

    def tally(self, rows: Octets, sums: Statistic) -> None:
        """How often each bit was set."""
        count_bits(rows, sums)

    def supporters(self, statistic: Statistic, n: int) -> NDArray[Any]:
        """The counts themselves."""
        return statistic

    def blocks(self, codes: NDArray[Any]) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Codes in pieces whose bitmaps stay small."""
        size = max(1, _BLOCK // self.domain.size)
        for start in range(0, len(codes), size):
            yield slice(start, start + size), codes[start : start + size]


@stored_as("unary-encoding/1")
@dataclass(frozen=True, kw_only=True)
class UnaryEncoding(BitmapProtocol):
    """Set the own bit with probability p and each other with q, independently (OUE).

    Guarantee:
        epsilon, with p (1 - q)/(q (1 - p)) <= e^epsilon: "optimised" has p = 1/2 and q =
        1/(e^epsilon + 1); "symmetric" has p = 1 - q = e^(epsilon/2)/(e^(epsilon/2) + 1).
    Neighbours:
        The value is changed to any other.
    Why:
        Two values differ in two bits of their encodings, and all bits are independent.

    Example:
        >>> UnaryEncoding(epsilon=1, domain=100).support[0]
        Fraction(1, 2)

    Reference: Wang, Blocki, Li, Jha 2017, section 4; Erlingsson, Pihur, Korolova 2014 (symmetric).
    """

    form: Literal["optimised", "symmetric"] = field(default="optimised")

    def __post_init__(self) -> None:
        FrequencyProtocol.__post_init__(self)
        if self.form not in {"optimised", "symmetric"}:
            raise InputError(
                "a form that is none", why="there are two", fix="pass 'optimised' or 'symmetric'"
            )

    @property
    def support(self) -> Chances:
        """P and q."""
        if self.form == "optimised":
            return Fraction(1, 2), 1 / (1 + likelihood_ratio(self.epsilon))
        lie = 1 / (1 + likelihood_ratio(self.epsilon / 2))
        return 1 - lie, lie

    def randomize(self, codes: NDArray[Any]) -> Octets:
        """All bits of all people, a block at a time."""
        p, q = self.support
        own = np.asarray(noise.bernoulli(p, size=len(codes)))
        rows = np.empty((len(codes), self.width), dtype=np.uint8)
        for place, block in self.blocks(codes):
            bits = noise.bernoulli(q, size=(len(block), self.domain.size))
            bits[np.arange(len(block)), block] = own[place]
            rows[place] = np.packbits(bits, axis=1, bitorder="little")
        return rows

    def law(self, value: Any) -> Law | None:
        """The product over all bits."""
        if self.domain.size > 8:
            return None
        own, (p, q) = int(self.read(value)[0]), self.support
        chances = {}
        for bits in product((0, 1), repeat=self.domain.size):
            chance = Fraction(1)
            for place, bit in enumerate(bits):
                one = p if place == own else q
                chance *= one if bit else 1 - one
            chances[sum(bit << place for place, bit in enumerate(bits))] = chance
        return small_law(chances)


@stored_as("subset-selection/1")
@dataclass(frozen=True, kw_only=True)
class SubsetSelection(BitmapProtocol):
    """Report a set of `members` values: with the own among them, or without.

    Guarantee:
        epsilon: a set that holds the own value is e^epsilon times as likely as one that does not,
        and all sets of a kind are equally likely.
    Neighbours:
        The value is changed to any other.
    Why:
        With d values and w members, the own value is in with odds p/(1 - p) = e^epsilon w/(d - w)
        at most; then there are C(d-1, w-1) sets, else C(d-1, w), and the quotient of the two is
        w/(d - w). w = d/(e^epsilon + 1), rounded, has the least error of all protocols.

    Example:
        >>> SubsetSelection(epsilon=1, domain=100).members
        27

    Reference: Ye, Barg, Optimal Schemes for Discrete Distribution Estimation under Locally
    Differential Privacy, 2018.
    """

    @property
    def members(self) -> int:
        """How many values are in a set."""
        d = self.domain.size
        return min(max(1, round(d / (likelihood_ratio(self.epsilon) + 1))), d - 1)

    @property
    def support(self) -> Chances:
        """P that the own value is in the set, and q that any other one is."""
        d, w, ratio = self.domain.size, self.members, likelihood_ratio(self.epsilon)
        p = w * ratio / (w * ratio + d - w)
        return p, (p * (w - 1) + (1 - p) * w) / (d - 1)

    def randomize(self, codes: NDArray[Any]) -> Octets:
        """Everyone but the own value draws a key; the smallest keys are in.

        Keys that tie where the set ends would not be fair: such a set is drawn again.
        """
        rows = np.empty((len(codes), self.width), dtype=np.uint8)
        inside = np.asarray(noise.bernoulli(self.support[0], size=len(codes)))
        for place, block in self.blocks(codes):
            bits = self._sets(block, inside[place])
            rows[place] = np.packbits(bits, axis=1, bitorder="little")
        return rows

    def _sets(self, own: NDArray[Any], inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
        w, d = self.members, self.domain.size
        bits = np.empty((len(own), d), dtype=np.bool_)
        pending = np.arange(len(own))
        while pending.size:
            keys = np.asarray(noise.below(1 << 62, size=(pending.size, d)))
            keys[np.arange(pending.size), own[pending]] = np.where(inside[pending], -1, 1 << 62)
            ends = np.partition(keys, (w - 1, w), axis=1)
            fair = ends[:, w - 1] < ends[:, w]
            bits[pending[fair]] = keys[fair] <= ends[fair, w - 1 : w]
            pending = pending[~fair]
        return bits

    def is_valid(self, rows: Octets) -> NDArray[np.bool_]:
        """Rows with the right number of members, none beyond the domain."""
        members = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
        return np.asarray(BitmapProtocol.is_valid(self, rows) & (members == self.members))

    def law(self, value: Any) -> Law | None:
        """Sets with the own value, and sets without."""
        if self.domain.size > 10:
            return None
        own, p, w = int(self.read(value)[0]), self.support[0], self.members
        sets = [s for s in range(1 << self.domain.size) if s.bit_count() == w]
        mine = sum(s >> own & 1 for s in sets)
        return small_law(
            {s: p / mine if s >> own & 1 else (1 - p) / (len(sets) - mine) for s in sets}
        )
