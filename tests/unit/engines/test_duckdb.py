"""Scratch folders end with their process, however that ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.engines.duckdb import PREFIX, drop_scratch, make_scratch


@pytest.mark.skipif(sys.platform == "win32", reason="folders are not locked there")
def test_what_a_killed_process_left_is_swept_and_what_is_in_use_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    script = (
        "from discreet.engines.duckdb import make_scratch\n"
        "import os\nprint(make_scratch()[0], flush=True)\nos.read(0, 1)"
    )
    alive, killed = (
        subprocess.Popen(
            [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(2)
    )
    used, left = (Path(one.stdout.readline().decode().strip()) for one in (alive, killed))
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    assert left.exists()
    own, lock = make_scratch()
    assert {used, Path(own)} == set(tmp_path.glob(f"{PREFIX}*"))
    drop_scratch(own, lock)
    for one in (alive, killed):
        one.stdout.close()
        one.stdin.close()
        one.wait()
    assert list(tmp_path.glob(f"{PREFIX}*")) == [used]
