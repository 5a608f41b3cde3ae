"""A training run in a folder: which steps were paid for, and the state to go on from."""

import json
import os
from pathlib import Path
from typing import Any

import torch

from discreet.errors import InputError


class TrainingLedger:
    """Steps that were paid for, each written durably before its noise is drawn.

    Guarantee:
        `spent` counts every step that any run in this folder began, so a run that crashed, was
        resumed, or was started twice at once never takes more than were planned.
    Edge cases:
        A step that was paid for and lost in a crash stays paid: the run that goes on has one less.
        Without a folder, steps are counted in memory and end with the process.
    """

    def __init__(self, folder: str | Path | None, facts: dict[str, Any]) -> None:
        self.folder = None if folder is None else Path(folder)
        self._file = (self.folder or Path()) / "ledger"
        self._counted = 0
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        head = (json.dumps(facts, sort_keys=True) + "\n").encode()
        self._file.touch()
        found = self._file.read_bytes()
        if found != head and head.startswith(found):  # new, or a crash cut it: no step follows
            with self._file.open("r+b") as file:
                file.write(head)
                _sync(file)
        elif not found.startswith(head):
            why = "its steps were paid for under other parameters"
            fix = "pass the same parameters, or another folder"
            raise InputError("a checkpoint of another training run", why=why, fix=fix)
        self._head = len(head)

    @property
    def spent(self) -> int:
        """How many steps were paid for."""
        return self._counted if self.folder is None else self._file.stat().st_size - self._head

    def charge(self) -> int:
        """Pay for one more step; the number paid for so far."""
        if self.folder is None:
            self._counted += 1
            return self._counted
        with self._file.open("ab") as file:
            file.write(b".")
            _sync(file)
        return self.spent

    def lose(self, spent: int) -> None:
        """Count steps as paid for that others may have taken, up to a number."""
        while self.spent < spent:
            self.charge()

    def save(self, state: dict[str, Any]) -> None:
        """Keep a state, whole or not at all."""
        if self.folder is None:
            return
        new = self.folder / f"state.{os.getpid()}"
        with new.open("wb") as file:
            torch.save(state, file)
            _sync(file)
        new.replace(self.folder / "state")

    def load(self, device: torch.device) -> dict[str, Any] | None:
        """The last state that was kept."""
        if self.folder is None or not (file := self.folder / "state").exists():
            return None
        state: dict[str, Any] = torch.load(file, map_location=device, weights_only=True)
        return state


def _sync(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())
