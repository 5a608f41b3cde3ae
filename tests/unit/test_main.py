"""The package itself is a command."""

import subprocess
import sys


def test_the_package_runs_as_the_command_line():
    done = subprocess.run(
        [sys.executable, "-m", "discreet", "--help"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("Usage: python -m discreet")
    assert "query" in done.stdout
