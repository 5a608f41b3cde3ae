"""Count-mean sketches: frequencies of texts from an unlisted domain."""

from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import InputError
from discreet.local import protocol
from discreet.local.estimate import Estimate
from discreet.local.hashing import fingerprints, hash_one_each, hash_rows, parity, walsh_hadamard
from discreet.local.local_hashing import count_signs
from discreet.local.reports import Octets
from discreet.local.unary_encoding import count_bits, has_only
from discreet.rationals import whole

_BLOCK = 1 << 21
_FAMILY = "discreet.local.sketch"


@dataclass(frozen=True, kw_only=True)
class Sketch(protocol.LocalProtocol):
    """One of `hashes` public functions, drawn at random, maps the value to one of `columns`.

    Which function was drawn does not depend on the value and is public; the column is reported
    privately. Values are texts, bytes or ints, and `estimate(values)` looks up those it is given.

    The variance of a count c of n is that of the columns' reports, times (m/(m-1))^2, and that of
    the other people's values falling into the same columns: (n - c)/m, and for values held by
    many, sum of c'^2/(hashes m) more (the functions are fixed).

    Reference: Apple, Learning with Privacy at Scale, 2017.
    """

    is_self_contained: ClassVar[bool] = False

    hashes: int = field(default=128)
    columns: int = field(default=1024)

    def __post_init__(self) -> None:
        protocol.LocalProtocol.__post_init__(self)
        whole(self.hashes, "hashes", at_least=1)
        whole(self.columns, "columns", at_least=2)
        if self.columns & (self.columns - 1) or self.hashes > 1 << 16 or self.columns > 1 << 24:
            raise InputError(
                f"{self.hashes} hashes and {self.columns} columns",
                why="columns are numbered by whole bits, and hashes by two bytes",
                fix="pass a power of two up to 2^24 for columns, and up to 65536 hashes",
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """A row for each function; the last column counts its reports."""
        return (self.hashes, self.columns + 1)

    def read(self, values: Any) -> NDArray[Any]:
        """Fingerprints."""
        return fingerprints(values)

    def draw_function(self, codes: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A random function for each person, and the column it maps their value to."""
        which = np.asarray(noise.below(self.hashes, size=len(codes)))
        return which, hash_one_each(_FAMILY, which, self.columns, self.hashes, codes)

    @property
    @abstractmethod
    def cell_variance(self) -> tuple[Fraction, Fraction, Fraction]:
        """Variance of one report about a column: another value's, its own, and the step."""

    @abstractmethod
    def cells(self, statistic: protocol.Statistic) -> NDArray[np.float64]:
        """The estimated number of people in each column of each function."""

    def estimate(self, statistic: protocol.Statistic, n: int, values: Any = None) -> Estimate:
        """How many people hold each of these values."""
        listed = look_up(values)
        columns = hash_rows(_FAMILY, self.hashes, self.columns, fingerprints(listed))
        cells = self.cells(statistic)
        sums = np.take_along_axis(cells, columns, axis=1).sum(axis=0)
        m = self.columns
        counts = (sums - n / m) * (m / (m - 1))
        other, own, step = map(float, self.cell_variance)
        collisions = (1 / m + self._skew(cells, n) / m) * (1 - 1 / m)
        scale = (m / (m - 1)) ** 2
        return Estimate(
            listed, counts, n, scale * n * (other + collisions), scale * (own - other), step
        )

    def _skew(self, cells: NDArray[np.float64], n: int) -> float:
        """The sum of c'^2 over n and hashes, from the sketch itself; never below 0.

        Cells of one function hold n/hashes of the people, so the squares of all cells add up to the
        sum of c'^2 over hashes, people one by one (n), and noise.
        """
        noisy = n * (self.columns * float(self.cell_variance[0]) + 1)
        return max(float((cells**2).sum()) - noisy, 0.0) / max(n, 1)

    def variance(self, n: int, count: float = 0, squares: float = 0.0) -> float:
        """The variance of a count of n; `squares` is the sum of all other counts' squares."""
        m = self.columns
        other, own, _ = map(float, self.cell_variance)
        collisions = (n - count) / m * (1 - 1 / m) + squares / (self.hashes * m)
        return (m / (m - 1)) ** 2 * (n * other + count * (own - other) + collisions)


def look_up(values: Any) -> list[Any]:
    """The values to look up: a sketch holds none itself."""
    if values is None:
        raise InputError(
            "no values to look up",
            why="a sketch does not hold the values it counts",
            fix="pass those you want to know about, or use HeavyHitters to find them",
        )
    return [values] if isinstance(values, str | bytes | int) else list(values)


def count_bits_by_row(which: NDArray[Any], bitmaps: Octets, sums: protocol.Statistic) -> None:
    """Add each bitmap to its row of the sums, whose last column counts them."""
    order = np.argsort(which, kind="stable")
    counts = np.bincount(which, minlength=len(sums))
    sums[:, -1] += counts
    ends = np.cumsum(counts)
    for row in np.flatnonzero(counts).tolist():
        count_bits(bitmaps[order[ends[row] - counts[row] : ends[row]]], sums[row, :-1])


@protocol.stored_as("count-mean-sketch/1")
@dataclass(frozen=True, kw_only=True)
class CountMeanSketch(Sketch):
    """All columns of one function as noisy bits (symmetric unary encoding).

    Guarantee: epsilon. Two values differ in two bits, each flipped with probability
    1/(e^(epsilon/2) + 1). Neighbours: the value is changed to any other text.

    Example:
        >>> words = CountMeanSketch(epsilon=4, hashes=16, columns=64)
        >>> seen = words.aggregator().add(words.reporter().report(["hi"] * 500))
        >>> bool(abs(seen.estimate(["hi"]).counts[0] - 500) < 150)
        True
    """

    @property
    def flip(self) -> Fraction:
        """The probability that a bit is wrong."""
        return 1 / (1 + protocol.likelihood_ratio(self.epsilon / 2))

    @property
    def width(self) -> int:
        """The function's number, then a bit for each column."""
        return 2 + -(-self.columns // 8)

    @property
    def cell_variance(self) -> tuple[Fraction, Fraction, Fraction]:
        """The same for set and unset bits."""
        q = self.flip
        one = q * (1 - q) / (1 - 2 * q) ** 2
        return one, one, 1 / (1 - 2 * q)

    def randomize(self, codes: NDArray[Any]) -> Octets:
        """A block at a time."""
        which, column = self.draw_function(codes)
        rows = np.empty((len(codes), self.width), dtype=np.uint8)
        rows[:, :2] = protocol.as_octets(which, 2)
        size = max(1, _BLOCK // self.columns)
        for start in range(0, len(codes), size):
            own = column[start : start + size]
            bits = noise.bernoulli(self.flip, size=(len(own), self.columns))
            bits[np.arange(len(own)), own] ^= True
            rows[start : start + size, 2:] = np.packbits(bits, axis=1, bitorder="little")
        return rows

    def is_valid(self, rows: Octets) -> NDArray[np.bool_]:
        """A function that exists, and no bit beyond the columns."""
        return has_only(rows, self.columns) & (protocol.as_numbers(rows[:, :2]) < self.hashes)

    def tally(self, rows: Octets, sums: protocol.Statistic) -> None:
        """Set bits by function, then reports by function."""
        count_bits_by_row(protocol.as_numbers(rows[:, :2]), rows[:, 2:], sums)

    def cells(self, statistic: protocol.Statistic) -> NDArray[np.float64]:
        """Set bits, less those that flips set."""
        q = float(self.flip)
        return np.asarray((statistic[:, :-1] - statistic[:, -1:] * q) / (1 - 2 * q))


@protocol.stored_as("hadamard-count-mean-sketch/1")
@dataclass(frozen=True, kw_only=True)
class HadamardCountMeanSketch(Sketch):
    """One random Hadamard coefficient of the columns of one function, by a coin.

    Guarantee: epsilon. The function and the coefficient are drawn without looking at the value;
    the one bit is `RandomizedResponse`. Neighbours: the value is changed to any other text.

    Example:
        >>> HadamardCountMeanSketch(epsilon=1).width
        4
    """

    @property
    def flip(self) -> Fraction:
        """The probability that the bit is wrong."""
        return 1 / (1 + protocol.likelihood_ratio(self.epsilon))

    @property
    def width(self) -> int:
        """The function's number, then the coefficient's, with the bit lowest."""
        return 2 + protocol.octets_for(2 * self.columns - 1)

    @property
    def cell_variance(self) -> tuple[Fraction, Fraction, Fraction]:
        """A sign over (1 - 2q)."""
        square = 1 / (1 - 2 * self.flip) ** 2
        return square, square - 1, 2 / (1 - 2 * self.flip)

    def randomize(self, codes: NDArray[Any]) -> Octets:
        """A sign for everybody."""
        which, column = self.draw_function(codes)
        entry = np.asarray(noise.below(self.columns, size=len(codes)))
        said = parity(entry & column) ^ np.asarray(noise.bernoulli(self.flip, size=len(codes)))
        words = protocol.as_octets(entry << 1 | said, self.width - 2)
        return np.concatenate([protocol.as_octets(which, 2), words], axis=1)

    def is_valid(self, rows: Octets) -> NDArray[np.bool_]:
        """A function and a coefficient that exist."""
        which, word = protocol.as_numbers(rows[:, :2]), protocol.as_numbers(rows[:, 2:])
        return (which < self.hashes) & (word < 2 * self.columns)

    def tally(self, rows: Octets, sums: protocol.Statistic) -> None:
        """The sums of signs, then reports by function."""
        which, word = protocol.as_numbers(rows[:, :2]), protocol.as_numbers(rows[:, 2:])
        count_signs(sums.reshape(-1), (which * (self.columns + 1)) * 2 + word)
        sums[:, -1] += np.bincount(which, minlength=self.hashes)

    def cells(self, statistic: protocol.Statistic) -> NDArray[np.float64]:
        """Back from coefficients to columns."""
        return np.asarray(walsh_hadamard(statistic[:, :-1]) / float(1 - 2 * self.flip))
