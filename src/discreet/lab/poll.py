"""A poll without a trusted server: made-up people report by a local protocol, watched."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

import numpy as np

from discreet.local.k_randomized_response import KRandomizedResponse
from discreet.local.local_hashing import HadamardResponse, LocalHashing
from discreet.local.reports import HEAD
from discreet.local.unary_encoding import UnaryEncoding

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
    """Estimates beside the truth, of which 95 of 100 intervals hold it, and one report to see."""

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
