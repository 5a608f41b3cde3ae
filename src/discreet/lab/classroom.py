"""A class that answers a delicate question by coins: randomized response, watched.

Each pupil tosses a coin that nobody else sees. Heads: the truth. Tails: whatever a second, fair
coin says. No answer convicts anybody, and the class as a whole can still be estimated. A poll of
made-up people by any local protocol needs no trusted server either.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

import numpy as np

from discreet.attacks.simulation import SplitMix64
from discreet.errors import InputError
from discreet.local.frequency import KRandomizedResponse
from discreet.local.local_hashing import HadamardResponse, LocalHashing
from discreet.local.reports import HEAD
from discreet.local.unary_encoding import UnaryEncoding
from discreet.mechanisms import RandomizedResponse
from discreet.rationals import Real, non_negative, positive, whole

MOST = 2000
"""Pupils in the largest class."""

BEFORE = 10
"""The number of a hundred pupils believed to be a yes before they answer."""


@dataclass(frozen=True, slots=True)
class Coins:
    """The two coins of a class: `heads` is how often the first one says to tell the truth.

    Example:
        >>> fair = Coins(Fraction(1, 2))
        >>> fair.survey.truth, fair.after
        (Fraction(3, 4), (3, 25))
    """

    heads: Fraction

    def __post_init__(self) -> None:
        heads = positive(self.heads, "heads")
        if not Fraction(1, 20) <= heads <= Fraction(19, 20):
            raise InputError(
                f"heads is {float(heads)}",
                why="a coin that always falls one way is none",
                fix="keep it from 0.05 to 0.95",
            )
        object.__setattr__(self, "heads", heads)

    @property
    def survey(self) -> RandomizedResponse:
        """The mechanism of one pupil."""
        return RandomizedResponse(gamma=self.heads / 2)

    @property
    def epsilon(self) -> float:
        """The epsilon of one answer, rounded up."""
        return self.survey.guarantee.epsilon(0).upper

    @property
    def half_width(self) -> float:
        """How far an estimate from one pupil is off in 95 of 100 classes; n pupils: over sqrt(n).

        It is the noise of the coins alone, whatever the pupils' true answers are.
        """
        return self.survey.error(Fraction(19, 20), n=1)

    @property
    def after(self) -> tuple[int, int]:
        """Posterior chances in 100 for a prior of `BEFORE`: after a no, and after a yes.

        Odds are multiplied by truth/lie or divided by it, exactly; people are rounded outwards.
        """
        prior, ratio = Fraction(BEFORE, 100 - BEFORE), self.survey.truth / self.survey.lie
        return math.floor(100 * _share(prior / ratio)), math.ceil(100 * _share(prior * ratio))


def _share(odds: Fraction) -> Fraction:
    return odds / (1 + odds)


@dataclass(frozen=True, slots=True)
class Lesson:
    """A class and what it said: made-up answers, and the reports that left the desks."""

    answers: tuple[bool, ...]
    reports: tuple[bool, ...]

    @staticmethod
    def held(coins: Coins, *, pupils: int, share: Real, seed: int = 0) -> "Lesson":
        """Ask a made-up class, `share` of which would say yes.

        Who they are comes from the seed; their coins are fresh on every call.
        """
        size = whole(pupils, "pupils", at_least=1)
        yes = non_negative(share, "share")
        if size > MOST or yes > 1:
            raise InputError(
                f"{pupils} pupils of whom a share of {share} says yes",
                why=f"a class has at most {MOST}, and a share is at most 1",
                fix="make the class smaller, or the share",
            )
        answers = SplitMix64(seed).order(size) < round(yes * size)
        reports = coins.survey.release(answers)
        return Lesson(tuple(np.asarray(answers).tolist()), tuple(np.asarray(reports).tolist()))


DRINKS: Final = ("tea", "coffee", "juice", "water", "milk", "cocoa", "mate", "other")
SHARES: Final = (30, 25, 15, 12, 8, 5, 3, 2)
"""Of 100 made-up people, how many drink each."""

PROTOCOLS: Final = {
    "randomized-response": KRandomizedResponse,
    "hadamard": HadamardResponse,
    "hashing": LocalHashing,
    "unary": UnaryEncoding,
}
ProtocolName = Literal["randomized-response", "hadamard", "hashing", "unary"]
SIZES: Final = (100, 1000, 10_000, 100_000)


@dataclass(frozen=True, slots=True)
class PollRow:
    """One drink: how many there are, and what the reports say."""

    value: str
    truth: int
    estimate: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class FirstReport:
    """The first person's value and their device's report, in hexadecimal."""

    value: str
    report: str


@dataclass(frozen=True, slots=True)
class Poll:
    """Estimates and the truth, which 95 of 100 intervals contain, and one report to see."""

    rows: tuple[PollRow, ...]
    report_bytes: int
    first: FirstReport

    @staticmethod
    def held(name: ProtocolName, *, epsilon: Fraction, people: int) -> "Poll":
        """Everybody reports once; coins fall anew on every call."""
        protocol = PROTOCOLS[name](epsilon=epsilon, domain=DRINKS)  # type: ignore[arg-type]
        truth = [people * share // 100 for share in SHARES]
        values = np.repeat(np.array(DRINKS), truth).tolist()
        reports = protocol.reporter().report(values)
        found = protocol.aggregator().add(reports).estimate()
        low, high = found.interval(0.95)
        rows = tuple(
            PollRow(drink, there, float(counted), float(least), float(most))
            for drink, there, counted, least, most in zip(
                DRINKS, truth, found.counts, low, high, strict=True
            )
        )
        sent = reports[HEAD.size : HEAD.size + protocol.width]
        return Poll(rows, protocol.width, FirstReport(values[0], sent.hex()))
