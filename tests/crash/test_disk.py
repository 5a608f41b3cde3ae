"""A full disk and a read-only folder: refused or charged, never an uncharged answer."""

import subprocess
import sys
import tempfile
from pathlib import Path

DRIVER = Path(__file__).parent / "crowding.py"


def crowded(folder, how):
    command = [sys.executable, str(DRIVER), str(Path(folder) / "ledger.sqlite"), how]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)


def test_a_full_disk_refuses_and_recovers(tmp_path):
    done = crowded(tmp_path, "full")
    assert done.stdout.splitlines() == [
        "refused: True, clear: True",
        "kept: True",
        "recovers: True",
    ], done.stderr


def test_a_read_only_folder_refuses_and_recovers():
    """Not in pytest's own folder, which only its owner may enter."""
    with tempfile.TemporaryDirectory(prefix="discreet-readonly-") as folder:
        done = crowded(folder, "readonly")
    assert done.stdout.splitlines() == [
        "refused: True, clear: True",
        "refused: True, clear: True",
        "kept: True",
        "recovers: True",
    ], done.stderr
