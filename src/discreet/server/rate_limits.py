"""How often anybody may come to the server, and how many requests of a name are served at once."""

import asyncio
import ipaddress
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from discreet.errors import ServiceError
from discreet.server.error_replies import HttpError
from discreet.server.settings import Settings

_KNOWN: Final = 10_000
"""Callers remembered at a time; one who was forgotten begins with a full bucket."""


class TokenBuckets:
    """A bucket for each caller that fills at `rate` a second up to `burst`.

    Example:
        >>> now = iter([0.0, 0.0, 0.0, 1.0])
        >>> buckets = TokenBuckets(rate=1, burst=2, clock=lambda: next(now))
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
            raise HttpError(429, error, {"Retry-After": str(max(1, round(wait + 0.5)))})


class ConcurrencyLimit:
    """Admits requests to the handler threads, `most` of one name and `threads` in all at a time.

    Edge cases:
        Beyond `most`, served or waiting, a name is told 429. Where all threads are taken, requests
        wait; the next one admitted is of the waiting name with the fewest served, the oldest first.
        It lives in one event loop and needs no lock.
    """

    def __init__(self, most: int, threads: int) -> None:
        self._most = most
        self._threads = threads
        self._present: Counter[str] = Counter()
        self._served: Counter[str] = Counter()
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def joined(self, name: str) -> AsyncIterator[None]:
        """Serve inside."""
        if self._present[name] >= self._most:
            error = ServiceError(
                "too many requests at once",
                why=f"{self._most} requests of one name are served at a time, whatever tokens they "
                "come with",
                fix="wait for one of them, or ask with 'Prefer: respond-async'",
            )
            raise HttpError(429, error, {"Retry-After": "1"})
        self._present[name] += 1
        try:
            await self._admitted(name)
            try:
                yield
            finally:
                less(self._served, name)
                self._admit()
        finally:
            less(self._present, name)

    async def _admitted(self, name: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((name, turn))
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                less(self._served, name)
            else:
                self._waiting.remove((name, turn))
            self._admit()
            raise

    def _admit(self) -> None:
        while self._waiting and self._served.total() < self._threads:
            first = min(self._waiting, key=lambda one: self._served[one[0]])
            self._waiting.remove(first)
            self._served[first[0]] += 1
            first[1].set_result(None)


class CallerLimits:
    """How often names and addresses may come, and how many of a name at once; by any protocol."""

    def __init__(self, settings: Settings) -> None:
        self.names = TokenBuckets(settings.rate, settings.burst)
        self.addresses = TokenBuckets(settings.address_rate, settings.address_burst)
        self.crowd = ConcurrencyLimit(settings.at_once, settings.threads)


def less(counts: "Counter[Any]", key: Any) -> None:
    """One fewer; nobody is remembered who has none."""
    counts[key] -= 1
    if not counts[key]:
        del counts[key]


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
