"""Local hashing with linear hashes: randomized response on a public hash of the value."""

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import InputError
from discreet.local.frequency import Chances, FrequencyProtocol, small_law
from discreet.local.hashing import parity, walsh_hadamard
from discreet.local.protocol import (
    Statistic,
    as_numbers,
    as_octets,
    likelihood_ratio,
    octets_for,
    stored_as,
)
from discreet.local.reports import Octets
from discreet.mechanisms.mechanism import Law
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.rationals import whole

_MOST_BITS = 12


@dataclass(frozen=True, kw_only=True)
class HashedProtocol(FrequencyProtocol):
    """Draw a random binary matrix M, and report it with a randomized response about M v.

    Guarantee:
        epsilon: M is drawn without looking at the value v (as a vector of bits), and M v is one of
        g = 2^hash_bits answers of `RandomizedResponse`.
    Neighbours:
        The value is changed to any other.
    Why:
        A report (M, y) supports the values with M v = y: its own with probability `truth`, and any
        other with exactly 1/g, for M (v - v') = 0 has that probability. The indicator of a
        support is a sum of g characters, so g entries of a table are changed by a report, and one
        Walsh-Hadamard transform counts the supporters of all values at once.

    Reference: Wang, Blocki, Li, Jha 2017, section 4 (local hashing); Carter, Wegman 1979.
    """

    @property
    @abstractmethod
    def bits(self) -> int:
        """Bits of the hash."""

    @property
    def value_bits(self) -> int:
        """Bits of a value."""
        return (self.domain.size - 1).bit_length()

    @property
    def coin(self) -> RandomizedResponse:
        """Randomized response over all hashes."""
        return RandomizedResponse(epsilon=self.epsilon, k=1 << self.bits)

    @property
    def support(self) -> Chances:
        """Truth, and 1/g."""
        return self.coin.truth, Fraction(1, 1 << self.bits)

    @property
    def width(self) -> int:
        """A word for each bit of the hash: a row of M, and the reported bit lowest."""
        return self.bits * self._octets

    @property
    def shape(self) -> tuple[int, ...]:
        """A coefficient for each character."""
        return (1 << self.value_bits,)

    def randomize(self, codes: NDArray[Any]) -> Octets:
        """A matrix and an answer for everybody."""
        n, bits = len(codes), self.bits
        rows = np.asarray(noise.below(1 << self.value_bits, size=(n, bits)))
        hashes: NDArray[Any] = parity(rows & codes[:, None])
        if bits == 1:
            answers = np.asarray(self.coin.release(hashes.astype(np.bool_))).astype(np.int64)
        else:
            numbers = (hashes.astype(np.int64) << np.arange(bits)).sum(axis=1)
            answers = self.coin.release(numbers)[:, None] >> np.arange(bits) & 1
        return as_octets(rows << 1 | answers, self._octets).reshape(n, self.width)

    def is_valid(self, rows: Octets) -> NDArray[np.bool_]:
        """No bit beyond the values'."""
        found = self.words(rows) < 2 << self.value_bits
        return np.asarray(found.all(axis=1))

    def tally(self, rows: Octets, sums: Statistic) -> None:
        """For each combination of rows of M, its character with the sign of its answer."""
        words = self.words(rows)
        combined = np.zeros(len(words), dtype=words.dtype)
        sums[0] += len(words)
        for step in range(1, 1 << self.bits):  # Gray code: one row comes in or goes out
            combined ^= words[:, (step & -step).bit_length() - 1]
            count_signs(sums, combined)

    def supporters(self, statistic: Statistic, n: int) -> NDArray[Any]:
        """All at once."""
        return walsh_hadamard(statistic)[: self.domain.size] >> self.bits

    def law(self, value: Any) -> Law | None:
        """Every matrix is equally likely; the answer is the truth or a lie about its hash."""
        if self.bits * (self.value_bits + 1) > 10:
            return None
        own, size, coin = int(self.read(value)[0]), 1 << self.value_bits, self.coin
        chances, each = {}, Fraction(1, size**self.bits)
        for rows in product(range(size), repeat=self.bits):
            truth = [(row & own).bit_count() & 1 for row in rows]
            for said in product((0, 1), repeat=self.bits):
                words = [row << 1 | bit for row, bit in zip(rows, said, strict=True)]
                code = b"".join(word.to_bytes(self._octets, "little") for word in words)
                chance = coin.truth if list(said) == truth else coin.lie
                chances[int.from_bytes(code, "little")] = each * chance
        return small_law(chances)

    @property
    def _octets(self) -> int:
        return octets_for((2 << self.value_bits) - 1)

    def words(self, rows: Octets) -> NDArray[Any]:
        """The words of each report, a row each."""
        flat = rows.reshape(-1, self._octets)
        if self._octets in {1, 2, 4}:
            words = np.ascontiguousarray(flat).view(f"<u{self._octets}")
        else:
            words = as_numbers(flat)
        return words.reshape(len(rows), self.bits)


@stored_as("local-hashing/1")
@dataclass(frozen=True, kw_only=True)
class LocalHashing(HashedProtocol):
    """`HashedProtocol` (OLH) with the number of hashes best for epsilon, a power of two.

    The best number, e^epsilon + 1, is a power of two at epsilon 1 and 2 within a thousandth of the
    variance, and the nearest one costs 6 % at most.

    Example:
        >>> LocalHashing(epsilon=1, domain=10_000).bits
        2
    """

    hash_bits: int | None = field(default=None)

    def __post_init__(self) -> None:
        FrequencyProtocol.__post_init__(self)
        if self.hash_bits is None:
            object.__setattr__(self, "hash_bits", _best_bits(likelihood_ratio(self.epsilon)))
        if not 1 <= whole(self.hash_bits, "hash_bits", at_least=1) <= _MOST_BITS:
            raise InputError(
                f"hash_bits is {self.hash_bits}",
                why="a report changes 2^hash_bits numbers",
                fix=f"pass hash_bits from 1 to {_MOST_BITS}",
            )

    @property
    def bits(self) -> int:
        """The number of bits, as chosen."""
        return int(self.hash_bits or 0)


@stored_as("hadamard-response/1")
@dataclass(frozen=True, kw_only=True)
class HadamardResponse(HashedProtocol):
    """One random entry of the value's row in the Hadamard matrix, by a coin.

    `HashedProtocol` with one bit: M v is the sign of entry M. A report is a bit and the number of
    the entry, and the fastest to make and to sum up; below epsilon 1 hardly less accurate than the
    others. Variance n ((e^epsilon + 1)/(e^epsilon - 1))^2.

    Example:
        >>> HadamardResponse(epsilon=1, domain=10_000).width
        2

    Reference: Bassily, Nissim, Stemmer, Thakurta 2017; Acharya, Sun, Zhang 2019.
    """

    bits: ClassVar[int] = 1


def count_signs(sums: Statistic, words: NDArray[Any]) -> None:
    """Add 1 at word/2 for an even word, and -1 for an odd one; cheap for few and for many."""
    if len(words) < sums.size // 8:
        np.add.at(sums, words >> 1, 1 - 2 * (words & 1).astype(np.int64))
        return
    counts = np.bincount(words, minlength=2 * sums.size)
    sums += counts[0::2] - counts[1::2]


def _best_bits(ratio: Fraction) -> int:
    """The power of two g with the least (e^epsilon + g - 1)^2/(g - 1)."""
    most = min(_MOST_BITS, max(2, math.ceil(math.log2(float(ratio) + 1)) + 1))
    return min(
        range(1, most + 1), key=lambda bits: (ratio + 2**bits - 1) ** 2 / Fraction(2**bits - 1)
    )
