"""The shuffle model: a stage that forgets who sent which report."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet import noise
from discreet.errors import InputError
from discreet.local.frequency import KRandomizedResponse
from discreet.local.protocol import LocalProtocol
from discreet.local.reports import Frames, Octets, read_frames, write_frame
from discreet.privacy import Guarantee, Shuffled, ShuffledRandomizedResponse
from discreet.rationals import positive, whole


@dataclass(frozen=True, kw_only=True)
class Shuffle:
    """Forward reports in batches of `batch`, in a random order, without the names of their frames.

    Guarantee:
        An observer of forwarded batches alone: `privacy.Shuffled` of the protocol's epsilon and
        `batch` people, by the clones bound of 2021; of k-ary randomized response the tighter
        `privacy.ShuffledRandomizedResponse`. The shuffler itself sees single reports, and has the
        local guarantee. It must not collude with the readers of the batches.
    Neighbours:
        One person's value is changed; all of a batch report.
    Edge cases:
        Refused where epsilon > ln(batch/(16 ln(2/delta))): the theorem says nothing there. Fewer
        reports than a batch are not forwarded; a frame that is in it twice is one. Malformed
        reports are: they belong to people, too, and the aggregator counts them. An adversary who
        sends reports of their own makes the crowd smaller by as many: state `batch` as the number
        of honest ones.

    Example:
        >>> from discreet.local import HadamardResponse
        >>> stage = Shuffle(HadamardResponse(epsilon=1, domain=100), batch=10_000, delta=1e-6)
        >>> stage.guarantee.epsilon(1e-6).upper < 0.06
        True

    Reference: Feldman, McMillan, Talwar, Hiding Among the Clones, 2021, theorem 3.1.
    """

    protocol: LocalProtocol
    batch: int
    delta: Fraction

    def __init__(self, protocol: LocalProtocol, *, batch: int, delta: Fraction | float) -> None:
        size, failure = whole(batch, "batch", at_least=2), positive(delta, "delta")
        most = math.log(size / (16 * math.log(2 / failure))) if failure < 1 else math.inf
        if failure >= 1 or float(protocol.epsilon) > most:
            raise InputError(
                f"epsilon {float(protocol.epsilon):.4g} in batches of {size}",
                why="shuffling is proven to help up to ln(batch/(16 ln(2/delta))) only",
                fix="shuffle larger batches, or report with a smaller epsilon",
            )
        object.__setattr__(self, "protocol", protocol)
        object.__setattr__(self, "batch", size)
        object.__setattr__(self, "delta", failure)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of a forwarded batch for one of its people."""
        match self.protocol:
            case KRandomizedResponse(epsilon=epsilon, domain=domain) if domain.size > 1:
                return ShuffledRandomizedResponse(epsilon, self.batch, domain.size)
            case _:
                return Shuffled(self.protocol.epsilon, self.batch)

    def shuffle(self, reports: bytes) -> bytes:
        """One frame, all reports in it in an order that is exactly uniform."""
        protocol = self.protocol
        parts = list(read_frames(reports, protocol.digest, protocol.width))
        readable = [part for part in parts if isinstance(part, Frames)]
        rows = _once(readable)
        table = np.concatenate(rows) if rows else np.empty((0, protocol.width), dtype=np.uint8)
        if len(readable) < len(parts) or len(table) < self.batch:
            raise InputError(
                "a batch that is too small, or cannot be read",
                why=f"{self.batch} reports hide each other, and fewer do not",
                fix="wait for more reports of the same protocol",
            )
        return write_frame(protocol.digest, table[_permutation(len(table))])


def _once(parts: list[Frames]) -> list[Octets]:
    """The rows of every frame, without those of a frame that was there before."""
    seen: set[bytes] = set()
    kept = []
    for part in parts:
        new = np.zeros(len(part.names), dtype=np.bool_)
        for place, name in enumerate(part.names):
            new[place] = name not in seen
            seen.add(name)
        kept.append(part.rows[new] if part.is_single else part.rows[: len(part.rows) * int(new[0])])
    return kept


def _permutation(size: int) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    """A uniform order: by random keys, drawn again if two are alike."""
    while True:
        keys = np.asarray(noise.below(1 << 62, size=max(size, 16)))[:size]
        order = np.argsort(keys, kind="stable")
        if (np.diff(keys[order]) > 0).all():
            return order
