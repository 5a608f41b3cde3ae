"""Campaigns: what a server collects reports for, and the file that keeps them."""

import fcntl
import json
import os
import re
import struct
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from discreet.errors import InputError, LedgerError
from discreet.local.aggregator import Aggregator
from discreet.local.device_ledger import append_whole, sync_folder
from discreet.local.protocol import LocalProtocol
from discreet.local.reports import Frames, read_frames
from discreet.rationals import whole

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_RECORD: Final = struct.Struct("<III")
"""The length of what follows, its check, and a check of these two."""

_FACTS: Final = "campaign.json"
_LOG: Final = "reports"
_MOST_VALUES: Final = 1_000


@dataclass(frozen=True, slots=True)
class Campaign:
    """A protocol with a name, an end date and a largest number of reports; all of it is public.

    `values` are those that a sketch or RAPPOR is asked about, for their reports name none.
    """

    name: str
    protocol: LocalProtocol
    ends: datetime
    most_reports: int = 1_000_000
    values: tuple[str | int, ...] = ()

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InputError(
                "a campaign of this name",
                why="its name is a part of an address",
                fix="use up to 64 small letters, digits, - and _",
            )
        self._check_values()
        if self.ends.tzinfo is None:
            raise InputError("an end without a time zone", why="clocks differ", fix="end it in UTC")
        if not 1970 < self.ends.year < 9999:
            raise InputError(
                f"an end in the year {self.ends.year}",
                why="not every clock can tell it",
                fix="end it in a year from 1971 to 9998",
            )
        whole(self.most_reports, "most_reports", at_least=1)

    def _check_values(self) -> None:
        """Refuse a list if the protocol has its own, and a missing one if it needs one."""
        object.__setattr__(self, "values", tuple(self.values))
        listed, kind = self.values, type(self.protocol).__name__
        if self.protocol.is_self_contained is bool(listed):
            raise InputError(
                f"a campaign of {kind} {'with' if listed else 'without'} values to look up",
                why="its domain is a part of it" if listed else "its reports name no values",
                fix="leave values out" if listed else "pass values=[...], which are public",
            )
        kinds = {type(one) for one in listed}
        if len(listed) > _MOST_VALUES or len(set(listed)) < len(listed) or kinds - {str, int}:
            raise InputError(
                "a list of values to look up that is too long, or has one twice, or no text",
                why="each is a row of the estimates",
                fix=f"pass up to {_MOST_VALUES:,} different texts, or whole numbers",
            )
        if len(kinds) > 1 or any(isinstance(one, int) and abs(one) >= 1 << 63 for one in listed):
            raise InputError(
                "values to look up of several kinds, or beyond 64 bits",
                why="they are one column of a table",
                fix="pass texts alone, or whole numbers alone",
            )

    def to_dict(self) -> dict[str, Any]:
        """The public form, from which devices make their protocol object."""
        listed = {"values": list(self.values)} if self.values else {}
        return {
            "name": self.name,
            "protocol": self.protocol.to_dict(),
            "digest": self.protocol.digest.hex(),
            "ends": self.ends.astimezone(UTC).isoformat(),
            "most_reports": self.most_reports,
            **listed,
        }

    @staticmethod
    def from_dict(stored: dict[str, Any]) -> "Campaign":
        """Read what `to_dict` wrote."""
        ends = datetime.fromisoformat(stored["ends"])
        protocol = LocalProtocol.from_dict(stored["protocol"])
        listed = tuple(stored.get("values", ()))
        return Campaign(stored["name"], protocol, ends, stored["most_reports"], listed)


@dataclass(frozen=True, slots=True)
class Collected:
    """How far a campaign is: reports that count, and those refused by reason."""

    n: int
    rejected: dict[str, int]


class ReportLog:
    """The reports of one campaign: a file that is only ever appended to, and their sums.

    Guarantee:
        What `add` has returned for is on disk. Several processes may add at a time: each reads what
        the others have added before it adds its own, so a frame counts once whoever it came to. A
        record at the end that a crash cut short was never confirmed, and is dropped; one that was
        changed later, with others behind it, is not: nothing is added or read until an owner has
        looked. Only valid frames are kept, so nobody can fill the disk with others.

    Nothing here is secret: a report is private before it leaves its device, so whoever steals the
    file learns what the campaign's guarantee allows.
    """

    def __init__(self, folder: Path, campaign: Campaign) -> None:
        self.campaign = campaign
        self._path = folder / _LOG
        self._lock = threading.Lock()
        self._sums = Aggregator(campaign.protocol)
        self._position = 0
        self._shown: tuple[int, pa.Table] | None = None

    def add(self, frames: bytes, now: float) -> Collected:
        """Keep frames; InputError after the end, or where the campaign is full."""
        with self._lock, _held(self._path) as file:
            self._catch_up(file)
            protocol = self.campaign.protocol
            parts = list(read_frames(frames, protocol.digest, protocol.width))
            self._check_open(now, sum(len(one.rows) for one in parts if isinstance(one, Frames)))
            before = Collected(self._sums.n, dict(self._sums.rejected))
            kept = self._sums.add_parts(parts)
            if kept:
                self._append(file, b"".join(one.to_bytes(protocol.digest) for one in kept))
            refused = {why: n - before.rejected[why] for why, n in self._sums.rejected.items()}
            return Collected(self._sums.n - before.n, refused)

    def read(self) -> tuple[Collected, pa.Table]:
        """How far it is, and the estimates with their intervals."""
        with self._lock, _held(self._path) as file:
            self._catch_up(file)
            if self._shown is None or self._shown[0] != self._sums.n:
                found = self._sums.estimate(self.campaign.values or None)
                self._shown = (self._sums.n, found.to_arrow())
            return Collected(self._sums.n, dict(self._sums.rejected)), self._shown[1]

    def _check_open(self, now: float, reports: int) -> None:
        over = now >= self.campaign.ends.timestamp()
        if over or self._sums.n >= self.campaign.most_reports:
            raise InputError(
                "this campaign is over" if over else "this campaign is full",
                why="its end and its size were told when it began",
                fix="send nothing more",
            )
        room = self.campaign.most_reports - self._sums.n
        if reports > room:
            raise InputError(
                "more reports than this campaign has room for",
                why="its size was told when it began",
                fix=f"send up to {room}",
            )

    def _catch_up(self, file: int) -> None:
        """Add what others have appended; cut off what a crash has left."""
        size = os.fstat(file).st_size
        while self._position < size:
            head = os.pread(file, _RECORD.size, self._position)
            start = self._position + len(head)
            if len(head) < _RECORD.size or not any(head):
                if any(os.pread(file, size - self._position, self._position)[_RECORD.size :]):
                    raise _changed()  # a crash leaves zeros to the end, or a part of a head
                os.ftruncate(file, self._position)
                return
            length, check, own = _RECORD.unpack(head)
            if zlib.crc32(head[:8]) != own:
                raise _changed()
            frames = os.pread(file, length, start) if start + length <= size else b""
            if len(frames) != length or zlib.crc32(frames) != check:
                if start + length < size:  # there is more: no crash has left this
                    raise _changed()
                os.ftruncate(file, self._position)
                return
            self._sums.add(frames)
            self._position = start + length
        if self._position > size:
            raise _changed()

    def _append(self, file: int, frames: bytes) -> None:
        facts = struct.pack("<II", len(frames), zlib.crc32(frames))
        record = facts + struct.pack("<I", zlib.crc32(facts)) + frames
        if wrong := append_whole(file, record, self._position):
            self._sums, self._position = Aggregator(self.campaign.protocol), 0  # as on disk
            raise LedgerError(
                "reports cannot be kept", why=wrong, fix="make room, and send them again"
            )
        self._position += len(record)


class CampaignStore:
    """All campaigns of a server, in a folder of their own; without one they end with the server."""

    def __init__(self, folder: Path | None, clock: Callable[[], float] = time.time) -> None:
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._given = folder
        self._clock = clock
        self._lock = threading.Lock()
        self._logs: dict[str, ReportLog] = {}

    @property
    def _folder(self) -> Path:
        """The given one, or one that is made when it is first needed."""
        if self._given is not None:
            return self._given
        with self._lock:
            if self._temporary is None:
                self._temporary = tempfile.TemporaryDirectory(prefix="discreet-")
            return Path(self._temporary.name)

    @property
    def _is_empty(self) -> bool:
        return self._given is None and self._temporary is None

    def close(self) -> None:
        """Remove what ends with the server."""
        if self._temporary is not None:
            self._temporary.cleanup()

    def begin(self, campaign: Campaign) -> None:
        """Open a campaign; its parameters never change."""
        place = self._folder / campaign.name
        text = json.dumps(campaign.to_dict(), indent=1, sort_keys=True)
        place.mkdir(parents=True, exist_ok=True)  # it may be what a crash left of a beginning
        try:
            with tempfile.NamedTemporaryFile(dir=place) as file:  # whole, or not there
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
                os.link(file.name, place / _FACTS)
        except FileExistsError:
            raise InputError(
                "a campaign of this name is there already",
                why="devices have its parameters",
                fix="choose another name",
            ) from None
        for one in (place, self._folder, self._folder.parent):
            sync_folder(one)

    def names(self) -> list[str]:
        """All campaigns."""
        if self._is_empty or not self._folder.exists():
            return []
        found = self._folder.glob(f"*/{_FACTS}")
        return sorted(one.parent.name for one in found)

    def find(self, name: str) -> ReportLog | None:
        """The reports of a campaign, or None."""
        if self._is_empty or not _NAME.fullmatch(name):
            return None
        place = self._folder / name
        with self._lock:
            if name not in self._logs and (place / _FACTS).exists():
                stored = json.loads((place / _FACTS).read_text())
                self._logs[name] = ReportLog(place, Campaign.from_dict(stored))
            return self._logs.get(name)

    def collect(self, log: ReportLog, frames: bytes) -> Collected:
        """Keep frames that came now."""
        return log.add(frames, self._clock())


@contextmanager
def _held(path: Path) -> Iterator[int]:
    """The file of a campaign, locked against other processes."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(file)


def _changed() -> LedgerError:
    return LedgerError(
        "the reports of this campaign were changed on disk",
        why="confirmed ones would be lost if the rest were read without them",
        fix="restore the file as it was",
    )
