"""One caller's dealings with a curator where asking and being answered are two steps.

    charge (durable) -> pursue (a while) -> release, or ask again with the charge's number

Charges live in the ledger: any process that opens the same folder can return the answer, and the
next one asked finishes what a worker left unfinished.
"""

import threading
import time
from collections.abc import Collection
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from discreet.answer.present.base_release import BaseRelease
from discreet.curator.answer_service import AnswerService
from discreet.curator.fork_safety import FORKS
from discreet.curator.ledger.accounts import Account, Holder, budget_share
from discreet.curator.ledger.orders import NEWEST, ChargedOrder, Receipt, State
from discreet.curator.local_backend import LocalBackend
from discreet.curator.orders.order_kinds import kind_of
from discreet.curator.orders.planned_orders import Offer, PlannedOrder
from discreet.engines.timing import AT_ONCE, ReleaseSchedule
from discreet.sql.reader.parse import without_comments

WORKERS: Final = 256
"""Most of them sleep: how many compute at a time is for `ReleaseSchedule.turn` to say."""


class Jobs:
    """Computes charges in its own threads, each once per process.

    Edge cases:
        A failure is reported once, to the next caller, and the computation can then be started
        again. What was not begun when the process ends stays charged: the ledger has it for the
        next to finish.
    """

    def __init__(self, answer_service: AnswerService) -> None:
        self._answer_service = answer_service
        self.renew()
        FORKS.renew_in_child(self)

    def renew(self) -> None:
        """Begin with no threads; those of a parent compute nothing in a forked child."""
        self._lock = threading.RLock()  # a callback may come at once
        self._running: dict[int, Future[BaseRelease]] = {}
        self._pool: ThreadPoolExecutor | None = None

    def start(self, receipt: Receipt, schedule: ReleaseSchedule = AT_ONCE) -> Future[BaseRelease]:
        """Compute a charge, unless this process already does."""
        with self._lock:
            known = self._running.get(receipt.sequence)
            if known is None:
                self._pool = self._pool or ThreadPoolExecutor(WORKERS, "discreet")
                known = self._pool.submit(self._work, receipt, schedule)
                self._running[receipt.sequence] = known
                known.add_done_callback(lambda _: self._forget(receipt.sequence))
            return known

    def knows(self, sequence: int) -> bool:
        """Whether a charge is being computed here, or failed and nobody knows yet."""
        with self._lock:
            return sequence in self._running

    def find(self, sequence: int) -> Future[BaseRelease] | None:
        """The computation of a charge; None where there is none, or it has just been finished."""
        with self._lock:
            found = self._running.get(sequence)
            if found is not None and found.done():
                del self._running[sequence]  # a failure is told once
            return found

    def close(self) -> None:
        """Finish what is begun and take nothing new."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True)

    def _work(self, receipt: Receipt, schedule: ReleaseSchedule) -> BaseRelease:
        try:
            with schedule.turn(self._answer_service.bound_seconds(receipt)):
                return self._answer_service.finish(receipt, schedule)
        except BaseException:
            self._answer_service.put_off(receipt)  # its turn may never have come
            raise

    def _forget(self, sequence: int) -> None:
        """An answer is in the ledger from now on; a failure waits here for the next caller."""
        with self._lock:
            done = self._running.get(sequence)
            if done is not None and done.exception() is None:
                del self._running[sequence]


_PAUSE: Final = 0.01
_LONGEST_PAUSE: Final = 0.2
_SMALL: Final = 1 << 14
"""Bytes of a stored answer that is worth remembering as it was read."""


@lru_cache(256)
def _read_release(kind: type[PlannedOrder], stored: bytes) -> BaseRelease:
    return kind.release_type.from_bytes(stored)


@dataclass(frozen=True, kw_only=True)
class AsyncSession(LocalBackend):
    """A curator as one caller sees it, within the `scope` of what can be asked and seen.

    `caller` None sees what everybody asked; a name sees its own answers.
    """

    caller: str | None
    jobs: Jobs

    # --- asking ---------------------------------------------------------------------------------

    def pursue(
        self, receipt: Receipt, *, patience: float, schedule: ReleaseSchedule = AT_ONCE
    ) -> BaseRelease | None:
        """The answer of a charge if it is there within `patience` seconds; computes it if need be.

        A started computation continues in the background, whether anybody waits or not.
        """
        end, pause = time.monotonic() + patience, _PAUSE
        while True:
            if receipt.release is not None and len(receipt.release) <= _SMALL:
                return _read_release(kind_of(receipt.order), receipt.release)
            if receipt.state in {State.RELEASED, State.FAILED}:
                return self.service.finish(receipt)
            left = end - time.monotonic()
            if self.service.is_mine(receipt):
                self.jobs.start(receipt, schedule)
            if self.jobs.knows(receipt.sequence):
                return self._awaited(receipt, max(0.0, left))
            if left <= 0:
                return None
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)
            receipt = self.ledger.charge(receipt.order)  # takes over what a worker left

    def before(self, offer: Offer[PlannedOrder]) -> int | None:
        """The charge under which its analyst has the answer to an offer, for nothing now."""
        found = self.ledger.find_question(offer.order())
        return None if found is None else found.sequence

    def resume(
        self, sequence: int, *, patience: float = 0.0, schedule: ReleaseSchedule = AT_ONCE
    ) -> BaseRelease | None:
        """The answer of a charge by its number, as `pursue`; the charge has to be `find`able."""
        found = self.ledger.find(sequence)
        if found is None:
            return None
        stored = self.ledger.release(sequence)
        if stored is not None:
            return kind_of(found.order).release_type.from_bytes(stored)
        return self.pursue(self.ledger.charge(found.order), patience=patience, schedule=schedule)

    def cancel(self, sequence: int, *, by: str, for_all: bool) -> None:
        """Give up a charge by its number, for ever; it has to be `find`able. The charge stays.

        Unless it is `for_all`, it continues if others have asked for it since.
        """
        found = self.ledger.find(sequence)
        if found is not None:
            pending = Receipt(sequence, found.order, State.PENDING)
            self.service.cancel(pending, by=by, for_all=for_all)

    def _awaited(self, receipt: Receipt, patience: float) -> BaseRelease | None:
        future = self.jobs.find(receipt.sequence)
        if future is None:  # it has just been finished
            return self.resume(receipt.sequence)
        try:
            return future.result(patience)
        except TimeoutError:
            return None
        except BaseException:
            self.jobs.find(receipt.sequence)  # the failure is told, and need not be told again
            raise

    # --- looking --------------------------------------------------------------------------------

    def find(self, sequence: int) -> ChargedOrder | None:
        """One charge, None if there is none of that number that the caller may see."""
        if not 0 < sequence < NEWEST:
            return None
        found = self.ledger.find(sequence, told=self.caller)
        inside = self.tables.datasets()
        return self.seen(found) if found is not None and found.order.dataset in inside else None

    def seen(self, filed: ChargedOrder, text: str | None = None) -> ChargedOrder:
        """A charge as the caller may see it: without comments of others who asked it first.

        `text` is the caller's own, where it is known.
        """
        asked = filed.order.asked
        if self.caller is None or asked is None or filed.order.analyst == self.caller:
            return filed
        return replace(filed, order=replace(filed.order, asked=text or without_comments(asked)))

    def share(self, filed: ChargedOrder) -> float | None:
        """The share of the caller's budget that a charge takes; None where no account has a cap."""
        order, analyst = filed.order, self.caller or filed.order.analyst
        return budget_share(self.ledger.touched(order.dataset, analyst), order.prices)

    def newest(self, *, before: int = NEWEST, limit: int = 100) -> tuple[ChargedOrder, ...]:
        """Past questions, newest first."""
        found = self.ledger.asked(
            self.tables.datasets(), analyst=self.caller, before=before, limit=limit
        )
        return tuple(map(self.seen, found))

    def release(self, sequence: int) -> BaseRelease | None:
        """The stored answer of a charge; of a standing question what is stored so far."""
        stored, found = self.ledger.release(sequence), self.ledger.find(sequence)
        if stored is None or found is None:
            return None
        if found.order.kind == "stream":
            return self.streams.told(sequence)
        return kind_of(found.order).release_type.from_bytes(stored)

    def accounts(self) -> tuple[Account, ...]:
        """All accounts in sight: of datasets, and, within them, the caller's own or everybody's."""
        inside = self.tables.datasets()
        return tuple(one for one in self.ledger.accounts() if self._sees(one.holder, inside))

    def _sees(self, holder: Holder, inside: Collection[str]) -> bool:
        if holder.kind == "link":
            return self.caller is None and self.scope is None
        whose = {"analyst": holder.name, "workbook": holder.name.rpartition("/")[0]}
        mine = self.caller is None or whose.get(holder.kind) == self.caller
        return (mine or holder.kind == "dataset") and (holder.within or holder.name) in inside
