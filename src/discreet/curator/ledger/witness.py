"""The newest head, kept in a small file outside the database.

A database that was restored from an old copy is whole and honest about too little. The file tells:
an entry that it has seen must be there. It is two blocks, each with its own digest; the older one
is overwritten and synced, so that a cut in the middle leaves the newer one readable.
"""

import errno
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from discreet.curator.fork_safety import FORKS
from discreet.curator.ledger.orders import Head, canonical, digest
from discreet.curator.ledger.store import PATIENCE, too_busy
from discreet.errors import LedgerError

if sys.platform == "win32":  # pragma: no cover - the other arm is the tested one
    import msvcrt

    def _try_lock(file: int) -> None:
        os.lseek(file, 4 * BLOCK, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _try_lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


_HELD: Final = frozenset({errno.EAGAIN, errno.EACCES, errno.EDEADLK})
"""What systems say of a lock that another has."""


def _lock(file: int, patience: float) -> bool:
    """Wait for a lock, even if its holder was stopped and does not release it; whether it came.

    Systems either wait for ever or not at all, so this asks again and again.
    """
    until, pause = time.monotonic() + patience, 0.0005
    while True:
        try:
            _try_lock(file)
        except OSError as wrong:
            if wrong.errno not in _HELD:
                raise
        else:
            return True
        if time.monotonic() > until:
            return False
        time.sleep(pause)
        pause = min(2 * pause, 0.01)


def sync(file: int) -> None:
    """Make what was written to a file durable."""
    if (
        sys.platform == "darwin"
    ):  # pragma: no cover - fsync alone leaves it in the disk's cache there
        with suppress(OSError):  # some file systems know only the other
            fcntl.fcntl(file, fcntl.F_FULLFSYNC)
            return
    os.fsync(file)


BLOCK: Final = 4096
"""Blocks do not share a page, so writing one cannot tear the other."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A ledger and the newest head that was seen of it."""

    ledger: str
    head: Head


@dataclass(frozen=True, slots=True)
class Witness:
    """A file that remembers the newest head.

    Guarantee:
        After `advance(s)` returns, `read` gives `s` or something newer, also after a power cut.
    Edge cases:
        Several processes may advance one file; the newest wins. It does not protect against
        restoring the file together with the database: keep it on another disk for that.
    """

    path: Path

    def read(self) -> Sighting | None:
        """The newest sighting, None if there is no file."""
        try:
            stored = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as wrong:
            raise _unusable(self.path, wrong) from wrong
        try:
            return _newest(self.path, stored)
        except LedgerError:  # or it was read while two others wrote one block each
            with self.held() as file:
                return _newest(self.path, _stored(file))

    def advance(self, sighting: Sighting, *, patience: float = PATIENCE) -> None:
        """Remember a head durably, unless a newer one is already there."""
        with self.held(patience) as file:
            newest = _newest(self.path, _stored(file))
            if newest is None or newest.head.sequence < sighting.head.sequence:
                _write(file, sighting, over=newest)

    def renew(self, file: int, sighting: Sighting) -> None:
        """Forget what was seen and start from here; `file` is what `held` gave."""
        os.ftruncate(file, 0)
        _write(file, sighting, over=None)
        sync_folder(self.path.parent)

    @contextmanager
    def held(self, patience: float = PATIENCE) -> Iterator[int]:
        """The open file, locked against other processes and threads."""
        with FORKS.use(), ExitStack() as closing:  # a child would hold the lock on
            try:
                mode = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
                file = os.open(self.path, mode, 0o644)
                closing.callback(os.close, file)
                if not _lock(file, patience):
                    raise too_busy(f"another process has held {self.path.name} all the time")
                yield file
            except OSError as wrong:
                raise _unusable(self.path, wrong) from wrong


def _write(file: int, sighting: Sighting, *, over: Sighting | None) -> None:
    """Overwrite the block that does not hold the newest sighting."""
    head = sighting.head
    text = canonical({"hash": head.hash, "ledger": sighting.ledger, "sequence": head.sequence})
    block = f"{text}\n{digest(text)}\n".encode().ljust(BLOCK)
    first = over is None or _read_block(_stored(file)[:BLOCK]) != over
    os.lseek(file, 0 if first else BLOCK, os.SEEK_SET)
    if os.write(file, block) < BLOCK:
        raise OSError("the file could not be written whole")
    sync(file)


def _stored(file: int) -> bytes:
    os.lseek(file, 0, os.SEEK_SET)
    return os.read(file, 2 * BLOCK)


def _newest(path: Path, stored: bytes) -> Sighting | None:
    blocks = [_read_block(stored[:BLOCK]), _read_block(stored[BLOCK : 2 * BLOCK])]
    whole = [block for block in blocks if block is not None]
    if whole:
        return max(whole, key=lambda sighting: sighting.head.sequence)
    if not stored:
        return None
    raise LedgerError(
        f"{path.name} cannot be read",
        why="it is damaged, or something else",
        fix="restore it; only if it is lost for good, and this is the newest copy of the ledger, "
        "adopt it with `discreet ledger adopt`",
    )


def _read_block(block: bytes) -> Sighting | None:
    try:
        text, check, _ = block.decode().split("\n")
        stored = json.loads(text)
        if digest(text) == check:
            return Sighting(stored["ledger"], Head(stored["sequence"], stored["hash"]))
    except (ValueError, KeyError, TypeError):
        pass
    return None


def give_name(building: Path, path: Path) -> None:
    """Give a file its name, and never take it from another."""
    try:
        os.link(building, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links; of two at once the last one counts there
        building.rename(path)


def sync_file(path: Path) -> None:
    """Make a file that another process wrote durable, and its name."""
    with path.open("r+b") as file:
        sync(file.fileno())
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable."""
    if sys.platform == "win32":  # pragma: no cover - folders cannot be synced there
        return
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _unusable(path: Path, wrong: OSError) -> LedgerError:
    return LedgerError(
        f"{path.name} cannot be used",
        why=f"{type(wrong).__name__} {wrong.strerror or wrong}",
        fix="make its folder writable, with room on the disk, and try again",
    )
