"""How much anybody may ask of the server: requests a second, and questions at a time."""

import ipaddress
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from discreet.errors import ServiceError
from discreet.server.replies import Refusal

_KNOWN: Final = 10_000
"""Callers remembered at a time; one who was forgotten begins with a full bucket."""


class Buckets:
    """A bucket for each caller that fills at `rate` a second up to `burst`.

    Example:
        >>> now = iter([0.0, 0.0, 0.0, 1.0])
        >>> buckets = Buckets(rate=1, burst=2, clock=lambda: next(now))
        >>> [buckets.take("ann") for _ in range(4)]
        [0.0, 0.0, 1.0, 0.0]
    """

    def __init__(
        self, rate: float, burst: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, caller: str) -> float:
        """Take one; 0 if there was one, else the seconds until there is."""
        with self._lock:
            now = self._clock()
            level, then = self._levels.pop(caller, (float(self._burst), now))
            level = min(self._burst, level + (now - then) * self._rate)
            enough = level >= 1
            self._levels[caller] = (level - enough, now)
            if len(self._levels) > _KNOWN:
                self._levels.popitem(last=False)
            return 0.0 if enough else (1 - level) / self._rate

    def check(self, caller: str) -> None:
        """Refuse a caller who comes too often."""
        if wait := self.take(caller):
            error = ServiceError(
                "too many requests",
                why="each caller may send so many in a second",
                fix="wait as long as Retry-After says",
            )
            raise Refusal(429, error, {"Retry-After": str(max(1, round(wait + 0.5)))})


class Crowd:
    """How many requests of each caller are being served, so that nobody takes every thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._inside: Counter[str] = Counter()

    @contextmanager
    def joined(self, caller: str) -> Iterator[None]:
        """Serve inside; 429 where as many of this caller's requests are being served already."""
        if self._inside[caller] >= self._most:
            raise Refusal(429, _crowded(self._most), {"Retry-After": "1"})
        self._inside[caller] += 1
        try:
            yield
        finally:
            self._inside[caller] -= 1
            if not self._inside[caller]:
                del self._inside[caller]


def _crowded(most: int) -> ServiceError:
    return ServiceError(
        "too many requests at once",
        why=f"{most} requests of one token are served at a time",
        fix="wait for one of them, or ask with 'Prefer: respond-async'",
    )


def address(client: tuple[str, int] | None) -> str:
    """Whom an address stands for: of IPv6 its first half, because one household has all the rest.

    Example:
        >>> address(("2001:db8:1:2:3:4:5:6", 1)), address(("192.0.2.7", 1))
        ('2001:db8:1:2::', '192.0.2.7')
    """
    if client is None:
        return "nowhere"
    try:
        found = ipaddress.ip_address(client[0].partition("%")[0])
    except ValueError:
        return client[0]
    if found.version == 4:
        return str(found)
    return str(ipaddress.ip_address(int(found) >> 64 << 64))


class Slots:
    """Bounds how many questions are computed at a time, and lets a stopping server finish them.

    A question keeps its slot until its step, asleep or not. So one caller is given three quarters
    of the slots at most, and cannot keep all others waiting.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._changed = threading.Condition()
        self._held: Counter[str | None] = Counter()
        self._inside: Counter[str | None] = Counter()
        self._closed = False

    @contextmanager
    def taken(self, *, patience: float, caller: str | None = None) -> Iterator[None]:
        """Compute inside; 503 if it is not this caller's turn within `patience`, or never again."""
        self._enter(caller)
        try:
            self._take(caller, patience)
            try:
                yield
            finally:
                self._change(self._held, caller)
        finally:
            self._change(self._inside, caller)

    def check(self, caller: str, most: int) -> None:
        """Refuse a caller for whom as many questions are computed, or wait for it, already."""
        with self._changed:
            if self._inside[caller] >= most:
                raise Refusal(429, _waiting(most), {"Retry-After": "1"})

    def close(self, *, grace: float) -> bool:
        """Let nobody else in and wait for those inside; whether all came out."""
        with self._changed:
            self._closed = True
            return self._changed.wait_for(lambda: not self._inside, grace)

    def _enter(self, caller: str | None) -> None:
        with self._changed:
            if self._closed:
                raise _stopping()
            self._inside[caller] += 1

    def _take(self, caller: str | None, patience: float) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: self._has_room(caller), patience):
                raise _busy()
            self._held[caller] += 1

    def _has_room(self, caller: str | None) -> bool:
        own = self._count if caller is None else self._count - self._count // 4
        return self._held.total() < self._count and self._held[caller] < own

    def _change(self, counts: "Counter[str | None]", caller: str | None) -> None:
        with self._changed:
            counts[caller] -= 1
            if not counts[caller]:
                del counts[caller]
            self._changed.notify_all()


def _waiting(most: int) -> ServiceError:
    return ServiceError(
        "too many questions at once",
        why=f"{most} questions of one caller are computed, or wait for it, at a time",
        fix="wait for the answer to one of them",
    )


def _busy() -> ServiceError:
    return ServiceError(
        "the server is busy",
        why="as many questions are being computed as it was told to compute at a time",
        fix="ask again in a moment",
    )


def _stopping() -> ServiceError:
    return ServiceError(
        "the server is stopping",
        why="it finishes what is charged and takes nothing new",
        fix="ask again when it is back: with the same request name nothing is charged twice",
    )
