"""RAPPOR: Bloom filters with a permanent and an instantaneous randomized response."""

import hashlib
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import InputError
from discreet.local.count_mean_sketch import count_bits_by_row, look_up
from discreet.local.estimate import Floats, estimate_table, normal_width
from discreet.local.protocol import (
    LocalProtocol,
    Statistic,
    as_fraction,
    as_numbers,
    as_octets,
    stored_as,
)
from discreet.local.reports import Octets
from discreet.local.unary_encoding import has_only
from discreet.mechanisms.mechanism import Pair
from discreet.privacy import Guarantee, Neighbours, Pure
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, rational, whole

_LOST = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class DecodedValues:
    """Candidates by regression: counts with errors, and p-values that nobody holds them."""

    values: list[Any]
    counts: Floats
    standard_error: Floats
    p_values: Floats
    n: int

    def interval(self, confidence: Real = 0.95) -> tuple[Floats, Floats]:
        """Both ends, from 0 to n."""
        width = normal_width(confidence) * self.standard_error
        return np.clip(self.counts - width, 0, self.n), np.clip(self.counts + width, 0, self.n)

    def to_arrow(self, confidence: Real = 0.95) -> pa.Table:
        """The estimates with p-values."""
        ends = self.interval(confidence)
        found = estimate_table(self.values, self.counts, self.standard_error, *ends)
        return found.append_column("p_value", pa.array(self.p_values))

    def significant(self, level: Real = 0.05) -> list[Any]:
        """Candidates that somebody holds; with at most this probability one of them is wrong."""
        share = float(rational(level, "level")) / max(1, len(self.values))
        return [one for one, p in zip(self.values, self.p_values, strict=True) if p <= share]


@stored_as("rappor/1")
@dataclass(frozen=True, kw_only=True)
class Rappor(LocalProtocol):
    """A Bloom filter of the value, noisy twice: once for ever, and once for each report.

    The device draws a permanent response and keeps it: each bit of the filter is replaced by a fair
    coin with probability `f`. Each report sets bits with probability `q` where that response has
    one, and `p` where it has none.

    Guarantee:
        `one_report_epsilon` = hashes ln(q* (1 - p*)/(p* (1 - q*))) for one report, and `epsilon` =
        2 hashes ln((1 - f/2)/(f/2)) for all reports of one value together, however many; both
        rounded up. With the device's ledger the permanent response is drawn once for each value
        and charged with `epsilon`. Without it every report draws another.
    Neighbours:
        The value is changed to any other, on every day it is held. On which days it was another
        value is not hidden.
    Why:
        Filters of two values differ in 2 hashes bits at most, and all bits are independent.

    Example:
        >>> browser = Rappor()
        >>> round(float(browser.one_report_epsilon), 3), round(float(browser.epsilon), 3)
        (1.074, 4.394)

    Reference: Erlingsson, Pihur, Korolova, RAPPOR, 2014, theorems 1 and 2.
    """

    is_self_contained: ClassVar[bool] = False

    epsilon: Fraction = field(default=Fraction(0))
    bits: int = field(default=128)
    hashes: int = field(default=2)
    cohorts: int = field(default=64)
    f: Fraction = field(default=Fraction(1, 2))
    p: Fraction = field(default=Fraction(1, 2))
    q: Fraction = field(default=Fraction(3, 4))

    def __post_init__(self) -> None:
        for name in ("f", "p", "q"):
            object.__setattr__(self, name, as_fraction(getattr(self, name), name))
        for name in ("bits", "hashes", "cohorts"):
            whole(getattr(self, name), name, at_least=1)
        fits = 0 < self.f < 1 and 0 < self.p < self.q < 1
        if not fits or self.bits < 2 * self.hashes or self.cohorts > 1 << 16:
            raise InputError(
                "parameters that RAPPOR cannot have",
                why="0 < f < 1 and 0 < p < q < 1, and values set few of the bits",
                fix="leave them out, or pass at least twice as many bits as hashes",
            )
        lifetime = _log_up(((1 - self.f / 2) / (self.f / 2)) ** (2 * self.hashes))
        object.__setattr__(self, "epsilon", lifetime)

    @property
    def set_chances(self) -> tuple[Fraction, Fraction]:
        """P* and q*: that a reported bit is set where the filter's is not, and where it is."""
        mixed = self.f * (self.p + self.q) / 2
        return mixed + (1 - self.f) * self.p, mixed + (1 - self.f) * self.q

    @property
    def one_report_epsilon(self) -> Fraction:
        """The epsilon of a single report."""
        p, q = self.set_chances
        return _log_up((q * (1 - p) / (p * (1 - q))) ** self.hashes)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of one report."""
        return Pure(self.one_report_epsilon, neighbours=Neighbours.CHANGE_ONE)

    @property
    def lifetime(self) -> Guarantee:
        """The guarantee of all reports of one value."""
        return Pure(self.epsilon, neighbours=Neighbours.CHANGE_ONE)

    @property
    def width(self) -> int:
        """The cohort, and a bit for each of the filter."""
        return 2 + -(-self.bits // 8)

    @property
    def shape(self) -> tuple[int, ...]:
        """Set bits and reports, by cohort."""
        return (self.cohorts, self.bits + 1)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Two texts whose filters share no bit in any cohort, if such are near."""
        names = [str(one) for one in range(40)]
        first = self._bitmap(names[0])
        shared = {
            other: int((first & self._bitmap(other)).any(axis=1).sum()) for other in names[1:]
        }
        return (Pair(names[0], min(shared, key=lambda one: shared[one])),)

    def read(self, values: Any) -> NDArray[Any]:
        """Texts as they are."""
        flat = [values] if isinstance(values, str) else list(values)
        if not all(isinstance(one, str) for one in flat):
            raise InputError("a value that is no text", why="filters hash texts", fix="pass str")
        return np.array(flat, dtype=np.str_)

    def randomize(self, codes: NDArray[Any]) -> Octets:
        """The permanent response: a cohort, and its filter with a share of fair coins."""
        n = len(codes)
        cohort = np.asarray(noise.below(self.cohorts, size=n))
        known = {text: self._bitmap(text) for text in set(codes.tolist())}
        bits = np.stack([known[t][c] for t, c in zip(codes.tolist(), cohort, strict=True)])
        replaced = noise.bernoulli(self.f, size=bits.shape)
        fair = noise.bernoulli(Fraction(1, 2), size=bits.shape)
        return self._rows(cohort, np.where(replaced, fair, bits))

    def send(self, rows: Octets) -> Octets:
        """The instantaneous response."""
        bits = np.unpackbits(rows[:, 2:], axis=1, count=self.bits, bitorder="little")
        high = noise.bernoulli(self.q, size=bits.shape)
        low = noise.bernoulli(self.p, size=bits.shape)
        return self._rows(as_numbers(rows[:, :2]), np.where(bits, high, low))

    def is_valid(self, rows: Octets) -> NDArray[np.bool_]:
        """A cohort that exists, and no bit beyond the filter."""
        return has_only(rows, self.bits) & (as_numbers(rows[:, :2]) < self.cohorts)

    def tally(self, rows: Octets, sums: Statistic) -> None:
        """Set bits by cohort."""
        count_bits_by_row(as_numbers(rows[:, :2]), rows[:, 2:], sums)

    def estimate(self, statistic: Statistic, n: int, values: Any = None) -> DecodedValues:
        """Regress the set bits on the candidates' filters, of which lasso chooses if they are many.

        Each bit of each cohort estimates how many of the cohort set it; its variance is that of its
        coins, at the rate that a first regression expects: at the rate that was seen, bits that
        came out high would weigh more than those that came out low. Texts that are not listed set
        all bits alike, on average: a constant stands for them, without which they would be counted
        as candidates. Where candidates are less than a quarter of all bits, none has to be left
        out; else those that are have p-value 1.
        """
        listed = look_up(values)
        p, q = (float(one) for one in self.set_chances)
        reports = np.maximum(statistic[:, -1:], 1)
        target = ((statistic[:, :-1] - statistic[:, -1:] * p) / (q - p)).ravel()
        share = statistic[:, -1:] / max(n, 1)
        design = np.stack([(self._bitmap(one) * share).ravel() for one in listed], axis=1)
        others = np.repeat(share, self.bits, axis=1).ravel()
        cells = np.repeat(reports, self.bits, axis=1).ravel()

        def fit(rates: Floats) -> DecodedValues:
            weights = (q - p) / np.sqrt(rates * (1 - rates) * cells)
            same = others * weights
            rows = _less(design * weights[:, None], same)
            return _regress(listed, rows, _less(target * weights, same), n)

        told = design @ fit(np.full(len(cells), (p + q) / 2)).counts
        rest = others * ((target - told).sum() / max(float(others.sum()), _LOST))
        return fit(np.clip(p + (q - p) * (told + rest) / cells, p, q))

    def _bitmap(self, text: str) -> NDArray[np.bool_]:
        table = np.zeros((self.cohorts, self.bits), dtype=np.bool_)
        data = hashlib.shake_256(text.encode("utf-8", "surrogatepass")).digest(
            8 * self.cohorts * self.hashes
        )
        places = np.frombuffer(data, "<u8").reshape(self.cohorts, self.hashes) % self.bits
        np.put_along_axis(table, places.astype(np.int64), values=True, axis=1)
        return table

    def _rows(self, cohort: NDArray[Any], bits: NDArray[Any]) -> Octets:
        packed = np.packbits(bits.astype(np.bool_), axis=1, bitorder="little")
        return np.concatenate([as_octets(cohort, 2), packed], axis=1)


def _log_up(ratio: Fraction) -> Fraction:
    """The logarithm, rounded up to a float."""
    return Fraction(Interval.of(ratio).log().upper)


def _less(rows: Floats, column: Floats) -> Floats:
    """The residual of a regression on the column."""
    length = max(float(column @ column), _LOST)
    return np.asarray(rows - np.multiply.outer(column, column @ rows / length))


def _regress(values: list[Any], design: Floats, target: Floats, n: int) -> DecodedValues:
    """Weighted so that every row has variance 1, or what the residuals say if that is more."""
    few = 4 * len(values) <= len(target)
    chosen = np.arange(len(values)) if few else _lasso(design, target)
    counts, errors = np.zeros(len(values)), np.full(len(values), np.inf)
    p_values = np.ones(len(values))
    if chosen.size:
        part = design[:, chosen]
        inverse = np.linalg.pinv(part.T @ part)
        found = inverse @ (part.T @ target)
        free = max(1, len(target) - chosen.size)
        spread = max(1.0, float(((target - part @ found) ** 2).sum()) / free)
        counts[chosen] = found
        errors[chosen] = np.sqrt(np.maximum(np.diag(inverse), 0) * spread)
        score = counts[chosen] / np.maximum(errors[chosen], _LOST)
        p_values[chosen] = [NormalDist().cdf(-one) for one in score]
    left = np.ones(len(values), dtype=np.bool_)
    left[chosen] = False
    norms = np.sqrt((design**2).sum(axis=0))
    errors[left] = 1 / np.maximum(norms[left], _LOST)
    return DecodedValues(values, counts, errors, p_values, n)


def _lasso(design: Floats, target: Floats, rounds: int = 200) -> NDArray[np.intp]:
    """Candidates with a positive weight, by coordinate descent; at most half as many as rows."""
    norms = np.maximum((design**2).sum(axis=0), _LOST)
    penalty = np.sqrt(norms)  # a standard error
    weights, residual = np.zeros(design.shape[1]), target.copy()
    for _ in range(rounds):
        before = weights.copy()
        for one in range(design.shape[1]):
            pull = design[:, one] @ residual + norms[one] * weights[one] - penalty[one]
            new = max(0.0, pull / norms[one])
            if new != weights[one]:
                residual += design[:, one] * (weights[one] - new)
                weights[one] = new
        if np.abs(weights - before).max(initial=0.0) <= 1e-6 * np.abs(weights).max(initial=1.0):
            break
    chosen = np.flatnonzero(weights > 0)
    strongest = np.argsort(-weights[chosen] * np.sqrt(norms[chosen]), kind="stable")
    return np.sort(chosen[strongest[: len(target) // 2]])
