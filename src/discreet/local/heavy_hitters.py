"""Heavy hitters: frequent texts of a domain too large to list, found a byte at a time."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import InputError
from discreet.local.domain import ValueDomain
from discreet.local.estimate import Estimate
from discreet.local.hashing import multipliers, parity, walsh_hadamard
from discreet.local.local_hashing import LocalHashing, count_signs
from discreet.local.protocol import LocalProtocol, Statistic, stored_as
from discreet.local.reports import Octets
from discreet.mechanisms.mechanism import Pair
from discreet.rationals import whole

_BUCKETS: Final = 1 << 16
_KEPT: Final = 256
"""Prefixes that are extended at each length."""

_CHECKING: Final = Fraction(1, 4)
"""The share of people who report about whole texts, to count the texts found."""


@stored_as("heavy-hitters/1")
@dataclass(frozen=True, kw_only=True)
class HeavyHitters(LocalProtocol):
    """Report a hash of the first t bytes of a text, for a random t; or of all of it, one in four.

    Guarantee:
        epsilon: t is drawn without looking at the text and is public; the hash is reported by
        `LocalHashing`. Neighbours: the text is changed to any other.

    The server extends the most frequent prefixes by every byte, length by length, and counts what
    is left among the reports about whole texts, which took no part in the search: so its counts
    are unbiased and its intervals hold although they are of the largest. A text that is above the
    threshold by three `standard_error`s, and held by seven at least, is found but for 1 case in
    700: at each length its prefix has to be among 256 of up to 65,536, the largest of which are
    2.7 errors by chance alone. Below seven errors texts are lost, whatever the threshold.

    Values are texts (as UTF-8) or bytes; those longer than `length` bytes are cut there, and a text
    is the same as itself with zero bytes at its end.

    Example:
        >>> HeavyHitters(epsilon=2, length=4).width
        10

    Reference: Wang, Li, Jha, Locally Differentially Private Heavy Hitter Identification, 2019
    (prefix extending); Bassily, Nissim, Stemmer, Thakurta 2017 (tree histogram).
    """

    length: int = field(default=32)

    def __post_init__(self) -> None:
        LocalProtocol.__post_init__(self)
        if whole(self.length, "length", at_least=1) > 64:
            raise InputError("texts over 64 bytes", why="few would report each", fix="cut them")

    @property
    def oracle(self) -> LocalHashing:
        """How hashes are reported."""
        return LocalHashing(epsilon=self.epsilon, domain=ValueDomain(_BUCKETS))

    @property
    def width(self) -> int:
        """The length of the prefix, and a report of its hash."""
        return 1 + self.oracle.width

    @property
    def shape(self) -> tuple[int, ...]:
        """For each length a table and a count of reports; the last is for whole texts."""
        return (self.length + 1, _BUCKETS + 1)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Texts without a common prefix."""
        return (Pair("a", "b"),)

    def standard_error(self, n: int) -> float:
        """Standard error of a prefix's share, among n people."""
        people = n * float(1 - _CHECKING) / self.length
        return math.sqrt(self.oracle.variance(max(1, int(people)))) / max(people, 1.0)

    def read(self, values: Any) -> NDArray[np.uint8]:
        """Texts as rows of bytes."""
        flat = [values] if isinstance(values, str | bytes) else list(values)
        if not all(isinstance(one, str | bytes) for one in flat):
            raise InputError("a value that is no text", why="prefixes are of texts", fix="pass str")
        cut = [
            one.encode("utf-8", "surrogatepass") if isinstance(one, str) else one for one in flat
        ]
        table = np.array([one[: self.length] for one in cut], dtype=f"S{self.length}")
        return table.view(np.uint8).reshape(len(flat), self.length)

    def randomize(self, codes: NDArray[Any]) -> Octets:
        """A length for everybody, and its hash."""
        n = len(codes)
        level = np.asarray(noise.below(self.length, size=n))
        level[np.asarray(noise.bernoulli(_CHECKING, size=n))] = self.length
        rows = self.oracle.randomize(self._hashes(codes, level))
        return np.concatenate([level.astype(np.uint8)[:, None], rows], axis=1)

    def is_valid(self, rows: Octets) -> NDArray[np.bool_]:
        """A length that exists, and a report that can be."""
        found: NDArray[np.bool_] = rows[:, 0] <= self.length
        return found & self.oracle.is_valid(np.ascontiguousarray(rows[:, 1:]))

    def tally(self, rows: Octets, sums: Statistic) -> None:
        """Add the oracle's tally in the table of each report's length."""
        level = rows[:, 0].astype(np.int64)
        words = self.oracle.words(np.ascontiguousarray(rows[:, 1:])).astype(np.int64)
        sums[:, -1] += np.bincount(level, minlength=self.length + 1)
        place, combined = 2 * level * (_BUCKETS + 1), np.zeros(len(words), dtype=np.int64)
        for step in range(1, 1 << self.oracle.bits):
            combined ^= words[:, (step & -step).bit_length() - 1]
            count_signs(sums.reshape(-1), place + combined)

    def estimate(self, statistic: Statistic, n: int, values: Any = None) -> Estimate:
        """How many hold each of these texts, or each that the search finds."""
        codes = self._search(statistic) if values is None else self.read(values)
        people, shares = self._shares(statistic, self.length, codes)
        base, slope = (float(one) for one in self.oracle.variances)
        scale = n / max(people, 1)
        noise_base = scale**2 * people * base
        texts = [bytes(row).rstrip(b"\0").decode("utf-8", "backslashreplace") for row in codes]
        # Who is among those that report whole texts is chance, too: a binomial share of c.
        own = scale * slope + (scale - 1)
        p, q = self.oracle.support
        return Estimate(texts, n * shares, n, noise_base, own, scale / float(p - q))

    def coded(self, rows: Octets) -> NDArray[Any]:
        """The length, and which text of the audited pair the report supports."""
        level, words = (
            rows[:, 0].astype(np.int64),
            self.oracle.words(np.ascontiguousarray(rows[:, 1:])).astype(np.int64),
        )
        said = [level]
        for text in (self.pairs[0].left, self.pairs[0].right):
            hashes = self._hashes(self.read(text), level)[:, None]
            said.append((parity((words >> 1) & hashes) == (words & 1)).all(axis=1))
        return np.stack(said, axis=1).astype(np.int64)

    def _hashes(self, codes: NDArray[np.uint8], level: NDArray[np.int64]) -> NDArray[np.int64]:
        """The bucket of everybody's prefix; one text may represent all."""
        words, keys = codes.astype(np.uint64), self._keys()
        hashes = np.empty(len(level), dtype=np.int64)
        for one in range(self.length + 1):
            mine = level == one
            sums = (words if len(words) == 1 else words[mine]) @ keys[one]
            hashes[mine] = _bucket(sums, keys[one, 0])
        return hashes

    def _search(self, statistic: Statistic) -> NDArray[np.uint8]:
        """The most frequent prefixes, extended byte by byte."""
        kept = np.zeros((1, self.length), dtype=np.uint8)
        every = np.arange(256, dtype=np.uint8)
        for level in range(self.length):
            grown = np.repeat(kept, 256, axis=0)
            grown[:, level] = np.tile(every, len(kept))
            people, shares = self._shares(statistic, level, grown)
            error = (self.oracle.variance(max(people, 1)) ** 0.5) / max(people, 1)
            best = np.argsort(-shares, kind="stable")[:_KEPT]
            kept = grown[best[shares[best] > error]]
        return kept

    def _shares(
        self, statistic: Statistic, level: int, codes: NDArray[np.uint8]
    ) -> tuple[int, NDArray[np.float64]]:
        """How many reported of this length, and the estimated share of each prefix."""
        people, keys = int(statistic[level, -1]), self._keys()[level]
        table = statistic[level, :-1].copy()
        table[0] += people
        buckets = _bucket(codes.astype(np.uint64) @ keys, keys[0])
        supporters = (walsh_hadamard(table) >> self.oracle.bits)[buckets]
        p, q = (float(one) for one in self.oracle.support)
        found: NDArray[np.float64] = (supporters / max(people, 1) - q) / (p - q)
        return people, found

    def _keys(self) -> NDArray[np.uint64]:
        """A multiplier for each byte at each length; those beyond the prefix are 0."""
        keys = multipliers("discreet.local.prefixes", (self.length + 1) * self.length)
        table = keys.reshape(self.length + 1, self.length)
        return np.where(np.tri(self.length + 1, self.length, dtype=np.bool_), table, np.uint64(0))


def _bucket(sums: NDArray[np.uint64], salt: np.uint64) -> NDArray[np.int64]:
    return np.asarray(((sums + salt) >> np.uint64(48)).astype(np.int64))
