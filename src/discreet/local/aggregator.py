"""Many reports, summed up: in any order, on any number of machines."""

import json
from collections.abc import Iterable
from itertools import compress
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.local.protocol import LocalProtocol
from discreet.local.reports import Frames, Unreadable, read_frames

REASONS: Final = ("malformed", "wrong parameters", "replayed")
_FORM: Final = 1
_BYTES: Final = (bytes, bytearray, memoryview)


class Aggregator:
    """The sums of reports, and how many were refused.

    Aggregators of one protocol merge, and the result does not depend on what was added where or
    when. A frame that arrives twice counts once: that handles retries, but not a device that lies
    about its name. Whoever runs many devices has many votes.

    Example:
        >>> from discreet.local import KRandomizedResponse
        >>> survey = KRandomizedResponse(epsilon=8, domain=["yes", "no"])
        >>> votes = survey.aggregator().add(survey.reporter().report(["yes"] * 90 + ["no"] * 10))
        >>> votes.n, bool(votes.estimate().interval(0.999)[0][0] > 80)
        (100, True)
    """

    def __init__(self, protocol: LocalProtocol) -> None:
        self.protocol = protocol
        self.n = 0
        self.rejected = dict.fromkeys(REASONS, 0)
        self._sums = np.zeros(protocol.shape, dtype=np.int64)
        self._seen: set[bytes] = set()

    def add(self, reports: bytes | Iterable[bytes]) -> "Aggregator":
        """Add frames; what cannot be right is counted in `rejected` and otherwise left out."""
        for data in [reports] if isinstance(reports, _BYTES) else reports:
            if not isinstance(data, _BYTES):
                raise InputError(
                    f"a report of type {type(data).__name__}",
                    why="devices send bytes, which name their protocol",
                    fix="add protocol.reporter().report(values); `randomize` has no such names",
                )
            self.add_parts(read_frames(bytes(data), self.protocol.digest, self.protocol.width))
        return self

    def add_parts(self, parts: Iterable[Frames | Unreadable]) -> list[Frames]:
        """Add valid reports of new frames, and return these.

        Only these frames are remembered: nobody can make an aggregator larger than what it counts.
        All are summed up at once, so many small frames cost no more than one.
        """
        kept = [one for one in map(self._sift, parts) if one is not None]
        if kept:
            rows = np.concatenate([one.rows for one in kept])
            self.protocol.tally(rows, self._sums)
            self.n += len(rows)
        return kept

    def _sift(self, part: Frames | Unreadable) -> Frames | None:
        """The valid reports of some frames."""
        if isinstance(part, Unreadable):
            self.rejected[part.reason] += part.reports
            return None
        valid = self.protocol.is_valid(part.rows)
        self.rejected["malformed"] += int(np.count_nonzero(~valid))
        rows, names = part.rows[valid], part.names
        if part.is_single:
            names = list(compress(names, valid))
            new = self._new(names)
            rows, names = rows[new], list(compress(names, new))
        elif len(rows) and not self._new(part.names)[0]:
            rows = rows[:0]
            self.rejected["replayed"] += int(np.count_nonzero(valid)) - 1
        return Frames(names, rows, part.is_single) if len(rows) else None

    def _new(self, names: list[bytes]) -> NDArray[np.bool_]:
        """The frames that were not added before, which are now marked as added."""
        fresh = set(names)
        if len(fresh) == len(names) and self._seen.isdisjoint(fresh):
            self._seen |= fresh
            return np.ones(len(names), dtype=np.bool_)
        keep = np.zeros(len(names), dtype=np.bool_)
        for place, name in enumerate(names):
            keep[place] = name not in self._seen
            self._seen.add(name)
        self.rejected["replayed"] += int(np.count_nonzero(~keep))
        return keep

    def merge(self, other: "Aggregator") -> "Aggregator":
        """Both together, as a new one; those that share a frame are refused."""
        if other.protocol.digest != self.protocol.digest:
            raise InputError(
                "aggregators of different parameters",
                why="their sums mean different things",
                fix="merge those of one protocol object",
            )
        sums, seen = other._sums, other._seen  # noqa: SLF001 - of its own class
        if not self._seen.isdisjoint(seen):
            raise InputError(
                "two aggregators that were given the same reports",
                why="these would count twice",
                fix="add every frame to one of them",
            )
        both = Aggregator(self.protocol)
        both.n = self.n + other.n
        both.rejected = {why: self.rejected[why] + other.rejected[why] for why in REASONS}
        both._sums = self._sums + sums
        both._seen = self._seen | seen
        return both

    def estimate(self, values: Any = None) -> Any:
        """Estimates from the reports so far, with errors; sketches take the values to look up."""
        return self.protocol.estimate(self._sums, self.n, values)

    def heavy_hitters(self, threshold: Any, values: Any = None, confidence: Any = 0.95) -> Any:
        """Values with at least this share, most frequent first: (value, count, low, high)."""
        return self.estimate(values).heavy_hitters(threshold, confidence)

    def to_bytes(self) -> bytes:
        """The stored form: a line of JSON, the sums, the frames' names."""
        head = {
            "form": _FORM,
            "protocol": self.protocol.to_dict(),
            "n": self.n,
            "rejected": self.rejected,
            "frames": len(self._seen),
        }
        line = json.dumps(head, sort_keys=True, separators=(",", ":")).encode() + b"\n"
        return line + self._sums.astype("<i8").tobytes() + b"".join(sorted(self._seen))

    @staticmethod
    def from_bytes(data: bytes) -> "Aggregator":
        """Read what `to_bytes` wrote."""
        line, _, rest = data.partition(b"\n")
        try:
            head = json.loads(line)
            found = Aggregator(LocalProtocol.from_dict(head["protocol"]))
            size = found._sums.nbytes
            names = rest[size:]
            if head["form"] != _FORM or len(names) != 16 * head["frames"]:
                raise KeyError  # noqa: TRY301 - one refusal for all that is wrong
            sums = np.frombuffer(rest[:size], "<i8").reshape(found.protocol.shape)
            found.n, found.rejected = head["n"], head["rejected"]
        except (KeyError, ValueError, TypeError):
            raise InputError(
                "bytes that are no aggregator",
                why="they are cut short, or of another form",
                fix="pass what to_bytes gave",
            ) from None
        found._sums = sums.astype(np.int64)
        found._seen = {names[i : i + 16] for i in range(0, len(names), 16)}
        return found
