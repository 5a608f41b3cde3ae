"""The one face of all local protocols: reporters and aggregators that cannot disagree."""

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.argument_names import also_called
from discreet.errors import InputError
from discreet.local.domain import ValueDomain
from discreet.local.reports import Octets, write_frame
from discreet.mechanisms.mechanism import Claim, Law, Pair
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy import Guarantee, Neighbours, Pure
from discreet.rationals import Real, positive, rational

if TYPE_CHECKING:
    from discreet.local.aggregator import Aggregator
    from discreet.local.device_ledger import DeviceLedger

Statistic = NDArray[np.int64]
Kind = TypeVar("Kind", bound="type[LocalProtocol]")

_KINDS: Final[dict[str, "type[LocalProtocol]"]] = {}


def stored_as(kind: str) -> Callable[[Kind], Kind]:
    """Name a protocol for ever: the name is part of the digest of its parameters."""

    def keep(protocol: Kind) -> Kind:
        protocol.kind = kind
        protocol.__init__ = also_called()(protocol.__init__)  # type: ignore[method-assign]
        _KINDS[kind] = protocol
        return protocol

    return keep


def as_fraction(value: Any, name: str) -> Fraction:
    """Read a number as it is typed, or as `stored_fraction` reads it."""
    return stored_fraction(value) if isinstance(value, str) else rational(value, name)


def stored_fraction(text: Any) -> Fraction:
    """Read a number as it is stored; a power of ten, which could take for ever, is none."""
    if re.fullmatch(r"-?[0-9]{1,400}([./][0-9]{1,400})?", str(text)):
        return Fraction(str(text))
    raise InputError(
        "parameters with a number that cannot be read",
        why="numbers are stored as quotients",
        fix="write '1/2', or '0.5'",
    )


@lru_cache(maxsize=1024)
def likelihood_ratio(epsilon: Real) -> Fraction:
    """The largest rational at most e^epsilon that 113 bits of a coin allow.

    All probabilities of this room are rational functions of it, so that their ratios are exactly
    what is promised.

    Example:
        >>> 2.718 < likelihood_ratio(1) < 2.7183
        True
    """
    coin = RandomizedResponse(epsilon=epsilon)
    return coin.truth / coin.lie


@dataclass(frozen=True, kw_only=True)
class LocalProtocol(ABC):
    """How a device reports a value, and how a server reads many reports.

    Fields are public facts. `reporter()` runs on the person's device and `aggregator()` anywhere:
    what leaves the device is private already, and no store of reports has to be trusted.

    A protocol fills in: `width`, `shape`, `read`, `randomize`, `is_valid`, `tally`, `estimate`.
    """

    kind: ClassVar[str] = ""
    is_self_contained: ClassVar[bool] = True
    """Whether estimates need no list of values to look up."""

    epsilon: Fraction = field()

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        likelihood_ratio(self.epsilon)  # refuses what no coin can have

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of one report."""
        return Pure(self.epsilon, neighbours=Neighbours.CHANGE_ONE)

    @property
    @abstractmethod
    def width(self) -> int:
        """Bytes of a report."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of what an aggregator sums up."""

    @abstractmethod
    def read(self, values: Any) -> NDArray[Any]:
        """Values as an array of codes, a row each."""

    @abstractmethod
    def randomize(self, codes: NDArray[Any]) -> Octets:
        """Fresh reports, a row of bytes for each code."""

    @abstractmethod
    def is_valid(self, rows: Octets) -> NDArray[np.bool_]:
        """Rows that an honest device can have sent."""

    @abstractmethod
    def tally(self, rows: Octets, sums: Statistic) -> None:
        """Add what each of the valid rows says to the sums."""

    @abstractmethod
    def estimate(self, statistic: Statistic, n: int, values: Any = None) -> Any:
        """Estimates from the sums of n reports, of all values or of these."""

    def settle(self, codes: NDArray[Any], once: Callable[[Callable[[], bytes]], bytes]) -> Any:
        """The code under which a device with a ledger keeps its answer; `once` draws for life."""
        return codes

    def send(self, rows: Octets) -> Octets:
        """The message for a stored report; usually the report itself."""
        return rows

    def to_dict(self) -> dict[str, Any]:
        """The public parameters, for reporters."""
        facts = {one.name: _plain(getattr(self, one.name)) for one in fields(self)}
        return {"protocol": self.kind, **facts}

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> "LocalProtocol":
        """Read what `to_dict` wrote."""
        facts = dict(stored)
        kind = _KINDS.get(facts.pop("protocol", ""))
        if kind is None:
            raise InputError(
                "a protocol that this version does not know",
                why="its reports could not be read",
                fix="use a newer version, or another protocol",
            )
        return kind(**facts | {"epsilon": stored_fraction(facts["epsilon"])})

    @property
    def digest(self) -> bytes:
        """Eight bytes that every report carries; other parameters have others."""
        text = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).digest()[:8]

    def __getattr__(self, name: str) -> Any:
        told = "devices call .reporter().report(value), the server .aggregator().add(reports)"
        raise AttributeError(f"{type(self).__name__} has no {name}: {told}", name=name, obj=self)

    def reporter(self, ledger: "DeviceLedger | None" = None) -> "Reporter":
        """The device's side; with a ledger, within the lifetime limit of its owner."""
        return Reporter(self, ledger)

    def aggregator(self) -> "Aggregator":
        """The server's side; aggregators can be merged."""
        from discreet.local.aggregator import Aggregator  # noqa: PLC0415 - the other half

        return Aggregator(self)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Values on which the guarantee is hardest to keep."""
        return (Pair(0, 1),)

    def law(self, value: Any) -> Law | None:
        """The exact law of a report's code, if it is small."""
        return None

    @property
    def claim(self) -> Claim:
        """The claim for the auditor."""
        has_law = self.law(self.pairs[0].left) is not None
        law: Any = self.law if has_law else None
        return Claim(type(self).__name__, self.guarantee, self.pairs, self._draw, law)

    def _draw(self, value: Any, runs: int) -> NDArray[Any]:
        code = self.read(value)
        rows = self.send(self.randomize(np.repeat(code, runs, axis=0)))
        return self.coded(rows)

    def coded(self, rows: Octets) -> NDArray[Any]:
        """Reports as rows of numbers, for the auditor."""
        return rows.astype(np.int64) if self.width > 8 else as_numbers(rows)


def _plain(value: Any) -> Any:
    """A parameter, for JSON."""
    if isinstance(value, ValueDomain):
        return value.described()
    return str(value) if isinstance(value, Fraction) else value


class Reporter:
    """Reports values, on the device.

    Without a ledger every call draws afresh and is worth another epsilon: for simulations, and for
    devices that report once. With one, repeats of a value are answered from memory.
    """

    def __init__(self, protocol: LocalProtocol, ledger: "DeviceLedger | None" = None) -> None:
        self.protocol = protocol
        self.ledger = ledger

    def report(self, values: Any) -> bytes:
        """A frame with a report for the value, or for each of an array of people's values.

        A device with a ledger reports one value at a time.
        """
        protocol = self.protocol
        try:
            codes = protocol.read(values)
        except InputError:
            raise
        except (TypeError, ValueError):  # what is no list at all; numpy would quote it
            raise InputError(
                "values that cannot be read",
                why="a report is about one value, or a flat list of them",
                fix="pass values as the protocol's domain has them",
            ) from None
        if self.ledger is None:
            rows = protocol.send(protocol.randomize(codes))
            return write_frame(protocol.digest, rows)
        if len(codes) != 1:
            raise InputError(
                "a device's ledger, and several values",
                why="a device reports for one person",
                fix="report them one by one, or leave the ledger out",
            )
        ledger = self.ledger
        settled = protocol.settle(codes, lambda draw: ledger.once(protocol, draw))
        kept = ledger.remember(
            protocol, settled[0].tobytes(), lambda: protocol.randomize(settled).tobytes()
        )
        rows = protocol.send(np.frombuffer(kept, np.uint8).reshape(1, -1))
        return write_frame(protocol.digest, rows)


def as_numbers(rows: Octets) -> NDArray[np.int64]:
    """Rows of up to seven bytes (or eight, below 2^63) as little-endian numbers."""
    wide = np.zeros((len(rows), 8), dtype=np.uint8)
    wide[:, : rows.shape[1]] = rows
    return wide.view("<i8").ravel()


def as_octets(numbers: NDArray[Any], width: int) -> Octets:
    """The way back: `width` bytes of each number."""
    words = np.ascontiguousarray(numbers, dtype="<u8").reshape(-1, 1)
    return np.ascontiguousarray(words.view(np.uint8)[:, :width])


def octets_for(largest: int) -> int:
    """How many bytes hold the numbers up to `largest`."""
    return max(1, -(-largest.bit_length() // 8))


def count_into(sums: Statistic, places: NDArray[Any], weight: int = 1) -> None:
    """Add `weight` at each place, each time it is named; cheap for few places and for many."""
    if len(places) < sums.size // 8:
        np.add.at(sums, places, weight)
    else:
        sums += weight * np.bincount(places, minlength=sums.size)
