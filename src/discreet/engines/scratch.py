"""Folders for what does not fit into memory; those of processes that were killed are swept."""

import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

PREFIX: Final = "discreet-scratch-"
_LOCK: Final = "in-use"


def make_scratch() -> tuple[str, int | None]:
    """A new folder and the lock that says it is in use; both end with `drop_scratch`.

    Why a lock: it ends with the process, however that ends, in every container that sees it.
    """
    made = Path(tempfile.mkdtemp(prefix="discreet-"))
    if sys.platform == "win32":  # pragma: no cover - there, open files cannot be removed
        return str(made), None
    file = os.open(made / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    _is_free(file)
    folder = made.with_name(made.name.replace("discreet-", PREFIX))
    made.rename(folder)  # it is locked before anybody who sweeps can find it
    _sweep(folder)
    return str(folder), file


def drop_scratch(folder: str, lock: int | None) -> None:
    """Remove a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)


def _sweep(own: Path) -> None:
    """Remove the folders that nobody uses any more."""
    for folder in own.parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder != own and folder.stat().st_uid == os.getuid():
                file = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
                try:
                    if _is_free(file):
                        shutil.rmtree(folder, ignore_errors=True)
                finally:
                    os.close(file)


def _is_free(file: int) -> bool:
    """Take a lock if nobody has it."""
    import fcntl  # noqa: PLC0415 - Windows has none

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
