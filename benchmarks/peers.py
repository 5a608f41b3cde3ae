"""Peers live in an environment of their own under .bench/, so that ours stays small."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

BENCH = Path(__file__).parents[1] / ".bench"
PEERS = ("opendp==0.16.0", "dp-accounting==0.6.0", "prv-accountant==0.2.0")
LOCAL_PEERS = (
    *("pure-ldp==1.2.0", "numpy==1.26.4", "scipy==1.11.4", "xxhash==3.5.0"),
    *("scikit-learn", "statsmodels", "bitarray", "opendp==0.16.0"),
)
"""The newest versions that pure-ldp runs with; an environment of its own."""


def peer_python(room: str = "", peers: tuple[str, ...] = PEERS) -> Path:
    """The interpreter of a peers' environment, made on first use."""
    home = BENCH / room
    python, stamp = home / "bin" / "python", home / "peers.txt"
    if not stamp.exists() or stamp.read_text() != "\n".join(peers):
        print("installing peers into .bench/ (once)", file=sys.stderr)
        venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *peers], check=True)
        stamp.write_text("\n".join(peers))
    return python


def ask_peers(script: str, room: str = "", peers: tuple[str, ...] = PEERS) -> dict[str, float]:
    """Run a script of this folder in the peers' environment; it prints one JSON object."""
    command = [peer_python(room, peers), Path(__file__).with_name(script)]
    threads = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(BENCH.parent)}
    done = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **threads},
        timeout=3600,
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))
