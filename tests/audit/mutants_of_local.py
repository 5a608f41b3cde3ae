"""Planted bugs of local protocols: a bit that is never randomised, a wrong p, a memo forgotten."""

from dataclasses import fields
from fractions import Fraction

import numpy as np

from discreet import noise
from discreet.audit.local_protocols import PROTOCOLS
from discreet.local.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from discreet.local.frequency import KRandomizedResponse
from discreet.local.heavy_hitters import HeavyHitters
from discreet.local.local_hashing import HadamardResponse, LocalHashing
from discreet.local.mean import HybridMean, Mean1Bit, PiecewiseMean
from discreet.local.protocol import as_octets
from discreet.local.unary_encoding import SubsetSelection, UnaryEncoding
from discreet.local.unit_vector_mean import UnitVectorMean
from discreet.mechanisms.mechanism import Claim
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy import Neighbours, Pure
from planted_bugs import Mutant, counts, law, samples


def claim(name):
    return PROTOCOLS[name]().claim


class BelievedTruth(KRandomizedResponse):
    """Tells the truth with probability p + (1 - p) p (a bug that a library had)."""

    def randomize(self, codes):
        told = self.coin.release(codes)
        again = np.asarray(noise.bernoulli(self.coin.truth, size=len(codes)))
        return as_octets(np.where(again, codes, told), self.width)


class OneBitPlain(UnaryEncoding):
    """The bit of value 0 is never randomised."""

    def randomize(self, codes):
        rows = super().randomize(codes)
        rows[:, 0] = (rows[:, 0] & 0xFE) | (codes == 0)
        return rows


class WholeEpsilonForEachBit(UnaryEncoding):
    """Symmetric bits with epsilon each, where two of them differ (a bug that a library had)."""

    @property
    def support(self):
        lie = RandomizedResponse(epsilon=self.epsilon).lie
        return 1 - lie, lie


class AlwaysAMember(SubsetSelection):
    """The own value is in every set."""

    def _sets(self, own, inside):
        return super()._sets(own, np.ones_like(inside))


class HashOfPlainBit(LocalHashing):
    """The second bit of the hash is told as it is."""

    def randomize(self, codes):
        rows = super().randomize(codes)
        words = self.words(rows)
        words = np.array(words)
        words[:, 1] = (words[:, 1] & 0xFE) | (np.bitwise_count((words[:, 1] >> 1) & codes) & 1)
        return words.astype(np.uint8)


class RowByValue(HadamardResponse):
    """The entry is drawn by looking at the value."""

    def randomize(self, codes):
        rows = super().randomize(codes)
        rows[:, 0] = np.where((codes == 1) & (rows[:, 0] < 2), rows[:, 0] + 2, rows[:, 0])
        return rows


class HalfTheFlips(CountMeanSketch):
    """Bits flip half as often."""

    @property
    def flip(self):
        return super().flip / 2


class HalfTheSigns(HadamardCountMeanSketch):
    """The sign flips half as often."""

    @property
    def flip(self):
        return super().flip / 2


class ClipsAfterwards(Mean1Bit):
    """Values at the upper end are told without a flip."""

    def _bits(self, codes):
        return super()._bits(codes) | (codes == self.grid)


class NoOutside(PiecewiseMean):
    """A point is always inside its window."""

    @property
    def inside(self):
        return Fraction(1)


class MixedByValue(HybridMean):
    """Large values choose the point more often."""

    def randomize(self, codes):
        rows = super().randomize(codes)
        points = as_octets(self.point._points(codes) | 1 << 23, 3)
        return np.where((codes == self.grid)[:, None], points, rows)


class NearestAlways(UnitVectorMean):
    """The nearest direction, without a coin."""

    def randomize(self, codes):
        rows = super().randomize(codes)
        for i, row in enumerate(rows):
            seed = int.from_bytes(bytes(row[:8]), "little")
            rows[i, 8] = int(np.argmax(self._directions(seed) @ codes[i]))
        return rows


class LengthByValue(HeavyHitters):
    """Who holds "b" reports the whole text more often."""

    def randomize(self, codes):
        rows = super().randomize(codes)
        again = super().randomize(codes)
        swap = (codes[:, 0] == ord("b")) & (rows[:, 0] == 0)
        return np.where(swap[:, None], again, rows)


def repeated(protocol, days):
    """The claim of a device that reports one value day after day: epsilon, however many days.

    Its answer is drawn once and kept; what is sent of it may be drawn every day.
    """

    def draw(value, runs):
        kept = protocol.randomize(np.repeat(protocol.read(value), runs, axis=0))
        return np.stack([protocol.coded(protocol.send(kept)) for _ in range(days)], axis=1)

    promised = Pure(protocol.epsilon, neighbours=Neighbours.CHANGE_ONE)
    return Claim(f"{type(protocol).__name__} repeated", promised, protocol.pairs, draw)


def forgotten(days):
    """Fresh reports of one value, day after day, sold for one epsilon."""
    protocol = PROTOCOLS["local-k-randomized-response"]()
    sound = repeated(protocol, days)

    def draw(value, runs):
        code = np.repeat(protocol.read(value), runs, axis=0)
        return np.stack([protocol.coded(protocol.randomize(code)) for _ in range(days)], axis=1)

    return type(sound)(sound.name, sound.guarantee, sound.pairs, draw)


def lifetime_for_one():
    """All of RAPPOR's reports, sold for the epsilon of one."""
    protocol = PROTOCOLS["local-rappor"]()
    sound = repeated(protocol, 12)
    one = Pure(protocol.one_report_epsilon, neighbours=Neighbours.CHANGE_ONE)

    def draw(value, runs):
        return sound.draw(value, runs).reshape(runs, -1, order="C")

    return type(sound)(sound.name, one, sound.pairs, draw)


def like(kind, name, **changed):
    """A mutant with the parameters of a sound protocol."""
    sound = PROTOCOLS[name]()
    names = [one.name for one in fields(sound)]
    facts = {one: getattr(sound, one) for one in names}
    return kind(**facts | changed).claim


_KINDS = (
    ("truth twice", samples, BelievedTruth, "local-k-randomized-response"),
    ("a law that is not drawn", counts, BelievedTruth, "local-k-randomized-response"),
    ("a bit never randomised", samples, OneBitPlain, "local-unary-encoding"),
    ("epsilon for each bit", law, WholeEpsilonForEachBit, "local-unary-encoding-symmetric"),
    ("always a member", samples, AlwaysAMember, "local-subset-selection"),
    ("a plain bit of the hash", samples, HashOfPlainBit, "local-hashing"),
    ("an entry by the value", samples, RowByValue, "local-hadamard-response"),
    ("half the flips", samples, HalfTheFlips, "local-count-mean-sketch"),
    ("half the signs", samples, HalfTheSigns, "local-hadamard-sketch"),
    ("the end without a flip", samples, ClipsAfterwards, "local-mean-1bit"),
    ("nothing outside the window", samples, NoOutside, "local-piecewise-mean"),
    ("mixed by the value", samples, MixedByValue, "local-hybrid-mean"),
    ("a length by the value", samples, LengthByValue, "local-heavy-hitters"),
)

MUTANTS = (
    *(Mutant(what, tool, like(kind, name), claim(name)) for what, tool, kind, name in _KINDS),
    Mutant(
        "a memo forgotten",
        samples,
        forgotten(5),
        repeated(PROTOCOLS["local-k-randomized-response"](), 5),
    ),
    Mutant(
        "RAPPOR's life for one report's epsilon",
        samples,
        lifetime_for_one(),
        repeated(PROTOCOLS["local-rappor"](), 12),
    ),
)
NEAREST = Mutant(
    "the nearest direction",
    samples,
    like(NearestAlways, "local-unit-vector-mean"),
    claim("local-unit-vector-mean"),
)  # fewer runs: every report draws its directions
