"""Noisy parts of a release on disk, each a step of its charge."""

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import numpy as np

from discreet.curator.data.registry import write_durably
from discreet.curator.ledger.ledger import Ledger
from discreet.errors import LedgerError
from discreet.workload.hierarchy import Integers

_STEPS: Final = np.dtype("<i8")


class PartStore:
    """Noisy counts as files, of which the ledger has the digests: steps of the charge.

    Guarantee:
        A part that was stored is never drawn again: neither one that is a step nor one whose file
        is whole, which a crash kept from becoming one. What no disk took is held in memory.
    """

    def __init__(self, folder: Path, ledger: Ledger, charge: int, by: str) -> None:
        self._folder, self._ledger, self._charge, self._by = folder, ledger, charge, by
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._known = [json.loads(one) for one in ledger.steps(charge)]

    def __len__(self) -> int:
        return len(self._known)

    def draw(self, number: int, noisy: Callable[[], Integers]) -> None:
        """Store the next part, unless it is stored already."""
        if number < len(self._known):
            return
        if not self._ledger.hold(self._charge):
            raise LedgerError(
                f"another worker makes the release of charge {self._charge}",
                why="only one worker may, so that no part is drawn twice",
                fix="wait for it, or run it again when it is gone",
            )
        digest, draws = self._left_behind(number), self._ledger.draws
        if digest is None:
            drawn = draws.draw(self._charge, number + 1, lambda: [noisy()])
            digest = self._write(number, drawn)
            draws.let_go(self._charge, number + 1)
        step = {"part": number, "digest": digest}
        self._ledger.step(self._charge, number + 1, json.dumps(step).encode(), by=self._by)
        self._known.append(step)

    def read(self, number: int) -> Integers:
        """A stored part; LedgerError where it is not the one that was drawn."""
        digest = self._known[number]["digest"]
        with suppress(OSError):
            stored = self._path(number, digest).read_bytes()
            if hashlib.sha256(stored).hexdigest() == digest:
                return np.frombuffer(stored, dtype=_STEPS)
        raise LedgerError(
            f"part {number} of the release of charge {self._charge} is lost or damaged",
            why="its noise was drawn once, and is never drawn again",
            fix="put back the folder of the curator from an intact copy",
        )

    def _path(self, number: int, digest: str) -> Path:
        return self._folder / f"{number:06}-{digest}.part"

    def _left_behind(self, number: int) -> str | None:
        """The digest of a whole file of this part that is not a step yet."""
        for path in sorted(self._folder.glob(f"{number:06}-*.part")):
            digest = path.stem.partition("-")[2]
            if hashlib.sha256(path.read_bytes()).hexdigest() == digest:
                return digest
        return None

    def _write(self, number: int, noisy: Integers) -> str:
        stored = np.ascontiguousarray(noisy, dtype=_STEPS).tobytes()
        digest = hashlib.sha256(stored).hexdigest()
        write_durably(self._path(number, digest), stored)
        return digest
