"""Settings of a server; none of them touches a guarantee."""

import dataclasses
import math
import os
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from discreet.errors import InputError

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
"""Names of this machine to itself."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Sizes, rates, times (in seconds) and names; the defaults suit one machine and its people.

    `hosts` are the names that requests may address the server by. Replies to questions leave at
    multiples of `quantum` after they were read, and not before the one of `steps` that was chosen
    for the question before data was read; what could take longer than the last step is refused. A
    question that takes longer than `patience` is answered by polling; `grace` is how long a
    stopping server finishes what is charged. `rate`, `burst` and `at_once` bound each name, with
    however many tokens; `address_rate` and `address_burst` callers without one. `processors` are
    those that this worker can count on.
    """

    hosts: tuple[str, ...] = LOOPBACK
    quantum: float = 0.25
    steps: tuple[float, ...] = (0.25, 0.5, 1.0, 4.0, 16.0, 64.0, 256.0)
    patience: float = 30.0
    grace: float = 30.0
    rate: float = 20.0
    burst: int = 60
    at_once: int = 16
    address_rate: float = 50.0
    address_burst: int = 300
    header_timeout: float = 10.0
    body_limit: int = 64 * 1024
    body_timeout: float = 10.0
    upload_limit: int = 1 << 30
    upload_timeout: float = 600.0
    send_timeout: float = 30.0
    threads: int = 256
    planning: int = 3
    computing: int = 64
    computing_long: int = 2
    processors: float = field(default_factory=lambda: float(os.cpu_count() or 1))
    session_idle: float = 30 * 60.0
    session_life: float = 12 * 3600.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "hosts", tuple(self.hosts))
        object.__setattr__(self, "steps", _read_steps(self.steps))
        for one in dataclasses.fields(self):
            if one.name not in {"hosts", "steps"}:
                _check_positive(one.name, getattr(self, one.name), whole=one.type is int)
        if max(self.steps) <= self.quantum / 2:  # a part of a quantum is kept to tell the answer
            raise InputError(
                f"a quantum of {self.quantum} seconds with steps up to {max(self.steps)}",
                why="every question would be refused, for none is computed before the first reply",
                fix="pass a smaller quantum",
            )
        if not self.hosts or not all(isinstance(one, str) and one for one in self.hosts):
            raise InputError(
                "a server without a name",
                why="requests are answered only under names that it knows",
                fix="pass hosts=('dp.example.org',)",
            )


def _read_steps(steps: Any) -> tuple[float, ...]:
    found = tuple(steps) if isinstance(steps, list | tuple) else (0,)
    for step in found or (0,):
        _check_positive("each of the steps", step, whole=False)
    if any(later <= earlier for earlier, later in pairwise(found)):
        raise InputError(
            f"the steps are {', '.join(map(str, found))}",
            why="each is longer than the one before",
            fix="pass steps=(0.25, 1, 4, 16)",
        )
    return found


def _check_positive(name: str, value: Any, *, whole: bool) -> None:
    fits = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not (fits and math.isfinite(value) and value > 0):
        raise InputError(
            f"{name} is {value}",
            why="it has to be " + ("a whole number above 0" if whole else "a number above 0"),
            fix=f"pass another {name}",
        )
