"""Limits of callers: how often they come, how many at once, and fair slots for computing."""

import asyncio
import ipaddress
import math
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from discreet.curator.ledger.stepping import NOBODY
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
                why="the number of requests a second is limited for each caller",
                fix="wait for the seconds that Retry-After names",
            )
            raise HttpError(429, error, {"Retry-After": str(max(1, round(wait + 0.5)))})


class ConcurrencyLimit:
    """Admits requests to the handler threads, `most` of one name and `threads` in all at a time.

    Edge cases:
        Beyond `most`, served or waiting, a name gets 429. Where all threads are taken, requests
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
                why=f"{self._most} requests of one name are served at once, over all its tokens",
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
        self.concurrency = ConcurrencyLimit(settings.at_once, settings.threads)


def less(counts: "Counter[Any]", key: Any) -> None:
    """One fewer; nobody is remembered who has none."""
    counts[key] -= 1
    if not counts[key]:
        del counts[key]


def address(client: tuple[str, int] | None) -> str:
    """The caller behind an address; of IPv6 the first half, since one household has the other half.

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


# --- slots for computing -----------------------------------------------------------------------

LONG: Final = 1.0
"""Seconds of work, by its public bound, above which a question is long."""

GENEROUS: Final = 3.75
"""How much longer bounds are than what usual questions take, with all that is done for them.

A bound of 97 ms corresponds to 22 to 25 ms of CPU; a tenth is left to repeats and pages.
"""


@dataclass(eq=False, slots=True)
class _Ticket:
    """A question that waits for a slot, or holds one since `granted`."""

    caller: str | None
    seconds: float
    held: float
    called: threading.Event = field(default_factory=threading.Event)
    granted: float = 0.0

    @property
    def is_long(self) -> bool:
        return max(self.seconds, self.held) > LONG


class Slots:
    """Limits what is computed at once, fairly between callers; a stopping server lets it finish.

    There are `count` slots. At most `long` of them go to questions that compute, or hold their
    slot, for more than `LONG` seconds, so that short questions never wait for long ones. Short ones
    start as fast as `processors` compute usual questions: those started within `room` seconds can
    be done within `room` seconds. A question holds its slot until its step, even while it sleeps.
    So one caller gets at most three quarters of all slots and half of the `long` ones, or `each`.
    The next slot goes to the waiting caller who holds the fewest; among equals, to the one who has
    waited longest since their last slot. What nobody asked for comes last.
    """

    def __init__(
        self,
        count: int,
        *,
        long: int | None = None,
        each: int | None = None,
        room: float = math.inf,
        processors: float = 1.0,
    ) -> None:
        self._count = count
        self._long = count if long is None else min(long, count)
        self._each = count - count // 4 if each is None else each
        self._room = room
        self._processors = processors
        self._changed = threading.Condition()
        self._waiting: list[_Ticket] = []
        self._held: list[_Ticket] = []
        self._inside: Counter[str | None] = Counter()
        self._given: dict[str | None, float] = {}
        self._clock: threading.Thread | None = None
        self._closed = False

    @contextmanager
    def taken(
        self, *, patience: float, caller: str | None = None, seconds: float = 0.0, held: float = 0.0
    ) -> Iterator[None]:
        """Compute inside: at most `seconds` by its public bound, in a slot that is held for `held`.

        503 if this caller has no turn within `patience`, or the server stops.
        """
        ticket = _Ticket(caller, seconds, held)
        self._enter(ticket)
        try:
            if not ticket.called.wait(patience):
                raise ServiceError(
                    "the server is busy",
                    why="it is computing as much as it is set to compute at once",
                    fix="ask again in a moment",
                )
            yield
        finally:
            self._leave(ticket)

    def check(self, caller: str, most: int) -> None:
        """Refuse a caller who has `most` questions running or waiting already."""
        with self._changed:
            if self._inside[caller] >= most:
                error = ServiceError(
                    "too many questions at once",
                    why=f"{most} questions of one caller may run or wait at once",
                    fix="wait for the answer to one of them",
                )
                raise HttpError(429, error, {"Retry-After": "1"})

    def close(self, *, grace: float) -> bool:
        """Admit nobody else and wait for those inside; whether all of them ended."""
        with self._changed:
            self._closed = True
            return self._changed.wait_for(lambda: not self._inside, grace)

    def _enter(self, ticket: _Ticket) -> None:
        with self._changed:
            if self._closed:
                raise ServiceError(
                    "the server is stopping",
                    why="it finishes charged questions and accepts no new ones",
                    fix="ask again when it is back: with the same request name nothing is charged "
                    "twice",
                )
            self._inside[ticket.caller] += 1
            self._waiting.append(ticket)
            self._grant()
            if self._waiting and self._clock is None and self._room < math.inf:
                self._clock = threading.Thread(target=self._look, daemon=True)
                self._clock.start()

    def _look(self) -> None:
        """Give slots as time goes by, while anybody waits."""
        while True:
            time.sleep(self._room / 4)
            with self._changed:
                self._grant()
                if not self._waiting:
                    self._clock = None
                    return

    def _leave(self, ticket: _Ticket) -> None:
        with self._changed:
            (self._held if ticket in self._held else self._waiting).remove(ticket)
            less(self._inside, ticket.caller)
            if ticket.caller not in self._inside:
                self._given.pop(ticket.caller, None)
            self._grant()
            self._changed.notify_all()

    def _grant(self) -> None:
        """Give free slots to those whose turn it is."""
        while self._waiting and len(self._held) < self._count:
            own, given = Counter(one.caller for one in self._held), self._given
            long = Counter(one.caller for one in self._held if one.is_long)
            quick = self._load(long.total()) < self._room
            roomy, most_long = long.total() < self._long, max(1, self._long // 2)
            free = (
                one
                for one in self._waiting
                if (one.caller is None or own[one.caller] < self._each)
                and (roomy and long[one.caller] < most_long if one.is_long else quick)
            )
            chosen = min(
                free,
                key=lambda one: (one.caller == NOBODY, own[one.caller], given.get(one.caller, 0.0)),
                default=None,
            )
            if chosen is None:
                return
            self._waiting.remove(chosen)
            self._held.append(chosen)
            chosen.granted = given[chosen.caller] = time.monotonic()
            chosen.called.set()

    def _load(self, long: int) -> float:
        """About how many seconds the short questions that started lately take to compute.

        It follows from public bounds and from when slots were given, which no data moves. Long
        questions take a share of the processors each.
        """
        lately = time.monotonic() - self._room
        short = sum(one.seconds for one in self._held if not one.is_long and one.granted > lately)
        return short / GENEROUS * (1 + long / self._processors) / self._processors
