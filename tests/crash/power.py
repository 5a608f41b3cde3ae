"""A disk that forgets what was not synced when the power goes, under SQLite.

Everything SQLite writes passes through here. A cut keeps, of the writes since the last sync of a
file, an arbitrary selection, as a disk with a cache may.
"""

import contextlib
import itertools
import os
import random
import sqlite3
import tempfile
from pathlib import Path

import apsw

from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.store import SQLiteStore

_NUMBERS = itertools.count()


class PowerCut(Exception):  # noqa: N818
    """The power is gone."""


class Disk(apsw.VFS):
    """Files with what is on the platter and what is only in the cache."""

    def __init__(self, *, cut_after=None, seed=0, stays_dark=True, wrong=PowerCut):
        self.name = f"disk-{next(_NUMBERS)}"
        self.left = cut_after
        self.stays_dark = stays_dark
        self.wrong = wrong
        self.dead = False
        self.random = random.Random(seed)  # noqa: S311
        self.durable = {}
        self.cached = {}
        super().__init__(self.name, "")

    def xOpen(self, name, flags):  # noqa: N802
        return DiskFile(self, name, flags)

    def xDelete(self, name, sync):  # noqa: N802
        self.durable.pop(Path(name).name, None)
        self.cached.pop(Path(name).name, None)
        super().xDelete(name, sync)

    def tick(self):
        """One operation less until the cut, or until one operation fails."""
        if self.left is not None:
            self.left -= 1
        if self.dead or (self.left is not None and self.left < 0):
            self.dead, self.left = self.stays_dark, None
            raise self.wrong

    def open(self, path):
        name = path.name
        self.durable.setdefault(name, path.read_bytes() if path.exists() else b"")
        self.cached.setdefault(name, [])
        return name

    def sync(self, name):
        for change in self.cached[name]:
            self.durable[name] = change(self.durable[name])
        self.cached[name] = []

    def after_the_cut(self, folder):
        """What is found when the power is back."""
        for name, stored in self.durable.items():
            for change in self.cached[name]:
                if self.random.random() < 0.5:
                    stored = change(stored)  # noqa: PLW2901
            (folder / name).write_bytes(stored)


class DiskFile(apsw.VFSFile):
    def __init__(self, disk, name, flags):
        self.disk = disk
        self.kept = None
        super().__init__("", name, flags)
        if isinstance(name, apsw.URIFilename):
            name = name.filename()
        if name is not None and not name.endswith("-shm"):
            self.kept = disk.open(Path(name))

    def xWrite(self, data, offset):  # noqa: N802
        self.disk.tick()
        super().xWrite(data, offset)
        if self.kept is not None:
            self.disk.cached[self.kept].append(
                lambda old: old[:offset].ljust(offset, b"\0") + data + old[offset + len(data) :]
            )

    def xTruncate(self, size):  # noqa: N802
        self.disk.tick()
        super().xTruncate(size)
        if self.kept is not None:
            self.disk.cached[self.kept].append(lambda old: old[:size])

    def xSync(self, flags):  # noqa: ARG002, N802
        self.disk.tick()
        if self.kept is not None:
            self.disk.sync(self.kept)


class Connection:
    """An apsw connection that looks like one of the standard library."""

    def __init__(self, path, vfs, *, synchronous):
        address = f"{path.absolute().as_uri()}?mode=rw&vfs={vfs}"
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
        self._connection = apsw.Connection(address, flags=flags)
        self._synchronous = synchronous

    @property
    def in_transaction(self):
        return self._connection.in_transaction

    def execute(self, sql, values=()):
        if sql == "PRAGMA synchronous = FULL":
            sql = f"PRAGMA synchronous = {self._synchronous}"
        try:
            rows = list(self._connection.execute(sql, tuple(values)))
        except apsw.ConstraintError as wrong:
            raise sqlite3.IntegrityError(str(wrong)) from wrong
        except (apsw.Error, PowerCut) as wrong:
            raise sqlite3.OperationalError(str(wrong)) from wrong
        return Rows([(2,)] if sql == "PRAGMA synchronous" else rows, self._connection.changes())

    def close(self):
        with contextlib.suppress(PowerCut, apsw.Error):
            self._connection.close(True)  # noqa: FBT003


def ledger_on(disk, path, *, synchronous="FULL"):
    """A ledger in a file that is there already, on this disk, opened as `Ledger.open` does."""
    store = SQLiteStore(path, connect=lambda at: Connection(at, disk.name, synchronous=synchronous))
    return Ledger.open(store, witness=path.with_name(f"{path.name}.head"))


def fast_folder():
    """A folder where a sync costs nothing: here the disk is simulated."""
    shared = Path("/dev/shm")  # noqa: S108
    where = shared if os.access(shared, os.W_OK) else None
    return tempfile.TemporaryDirectory(prefix="discreet-power-", dir=where)


class Rows:
    def __init__(self, rows, rowcount):
        self._rows = rows
        self.rowcount = rowcount

    def fetchall(self):
        return self._rows
