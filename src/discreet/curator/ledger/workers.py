"""Who computes an answer, by a name that tells whether they still live."""

import os
import socket
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path


def name_worker(nonce: str) -> str:
    """A name for this process: its machine, its number there, and something of its own."""
    return f"{_machine()}:{os.getpid()}:{nonce}"


def is_gone(worker: str) -> bool:
    """Whether a worker of this machine has ended; one elsewhere is taken to live.

    Edge cases: a number that was given to another process looks alive, and then its claim has to
    lapse. Being wrong does no harm: of two who compute one answer the first to store it counts.
    """
    machine, number, nonce = [*worker.rsplit(":", 2), "", ""][:3]
    here = bool(nonce) and machine == _machine() and number.isdecimal()
    if not here or sys.platform == "win32":  # there is no signal that only asks there
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


@cache
def _machine() -> str:
    """The machine, and the room on it in which numbers of processes mean something."""
    room = ""
    with suppress(OSError):
        room = Path("/proc/self/ns/pid").readlink().name.strip("pid:[]")
    return f"{socket.gethostname()}/{room}"
