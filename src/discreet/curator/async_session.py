"""One caller's dealings with a curator where asking and being answered are two steps.

    charge (durable) -> pursue (a while) -> release, or come again with the charge's number

Charges live in the ledger: whoever opens the same folder can be asked for the answer, and what a
worker left unfinished is finished by the next one that is asked.

`Jobs` compute answers in the background, each charge once in a process.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from discreet.answer.plan.explain import Explanation
from discreet.answer.present.base_release import BaseRelease
from discreet.answer.present.release import Release
from discreet.curator.answer_service import AnswerService
from discreet.curator.fork_safety import FORKS
from discreet.curator.kept_workbooks import AskedQuestion
from discreet.curator.ledger.accounts import Account, Holder, budget_share
from discreet.curator.ledger.charge_index import NEWEST, ChargedOrder
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Order, Receipt, State
from discreet.curator.orders.online_epochs import OnlineEpochs, OnlineReply
from discreet.curator.orders.order_kinds import kind_of
from discreet.curator.orders.planned_orders import OrderKind, PlannedOrder
from discreet.curator.orders.query_orders import QueryOrder
from discreet.curator.orders.stored_orders import StoredOrder
from discreet.curator.pricing import Offer, Terms
from discreet.curator.release_schedule import AT_ONCE, ReleaseSchedule
from discreet.curator.remeasure import explain_offer, merge, told_before
from discreet.plan.query import Query
from discreet.sql.reader.parse import without_comments
from discreet.workload.online import OnlineState

if TYPE_CHECKING:
    from discreet.curator.curator import Curator


WORKERS: Final = 256
"""Most of them sleep: how many compute at a time is for `ReleaseSchedule.turn` to say."""


class Jobs:
    """Computes charges in threads of its own, and remembers which are being computed.

    Edge cases:
        What could not be finished is told to the next who asks, once, and can then be started
        again. What was not begun when the process ends stays charged: the ledger has it for the
        next to finish.
    """

    def __init__(self, answer_service: AnswerService, workers: int = WORKERS) -> None:
        self._answer_service = answer_service
        self._workers = workers
        self.renew()
        FORKS.renew_in_child(self)

    def renew(self) -> None:
        """Begin with no threads; those of a parent compute nothing in a forked child."""
        self._lock = threading.RLock()  # a callback may come at once
        self._running: dict[int, Future[BaseRelease]] = {}
        self._pool: ThreadPoolExecutor | None = None

    def start(self, receipt: Receipt, pace: ReleaseSchedule = AT_ONCE) -> Future[BaseRelease]:
        """Compute a charge, unless this process already does."""
        with self._lock:
            known = self._running.get(receipt.sequence)
            if known is None:
                self._pool = self._pool or ThreadPoolExecutor(self._workers, "discreet")
                known = self._pool.submit(self._work, receipt, pace)
                self._running[receipt.sequence] = known
                known.add_done_callback(lambda _: self._forget(receipt.sequence))
            return known

    def knows(self, sequence: int) -> bool:
        """Whether a charge is being computed here, or failed and nobody was told."""
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

    def _work(self, receipt: Receipt, pace: ReleaseSchedule) -> BaseRelease:
        try:
            with pace.turn(self._answer_service.bound_seconds(receipt)):
                return self._answer_service.finish(receipt, pace)
        except BaseException:
            self._answer_service.put_off(receipt)  # its turn may never have come
            raise

    def _forget(self, sequence: int) -> None:
        """An answer is in the ledger from now on; a failure waits here for whoever asks next."""
        with self._lock:
            done = self._running.get(sequence)
            if done is not None and done.exception() is None:
                del self._running[sequence]


_PAUSE: Final = 0.01
_LONGEST_PAUSE: Final = 0.2
_SMALL: Final = 1 << 14
"""Bytes of a stored answer that is worth remembering as it was read."""


@lru_cache(256)
def _read_release(kind: OrderKind, stored: bytes) -> BaseRelease:
    return kind.release(stored)


@dataclass(frozen=True, slots=True)
class AsyncSession:
    """A curator as one caller sees it.

    `caller` None sees what everybody asked; a name sees what this one was told. `datasets` bounds
    what can be asked and seen; None for all.
    """

    curator: "Curator"
    caller: str | None
    datasets: frozenset[str] | None
    public: Callable[[str], Release | None]
    """Answers what is about public tables alone, for nothing; None where it is another question."""
    offer: Callable[[str | Query, Terms, str | None], Offer[QueryOrder]]
    """Prices a question, from public facts."""
    offer_order: Callable[[str, Mapping[str, Any], str | None], Offer[PlannedOrder]]
    """Prices an order of any kind, from public facts."""
    _answer_service: AnswerService
    _jobs: Jobs
    _ledger: Ledger
    _epochs: OnlineEpochs

    # --- asking ---------------------------------------------------------------------------------

    def explain(self, offer: Offer[QueryOrder]) -> Explanation:
        """How good the answer to an offer will be."""
        return explain_offer(self._ledger, offer)

    def charge(self, offer: Offer[PlannedOrder], request: str | None = None) -> Receipt:
        """Charge an offer durably; no data is touched yet."""
        return self._answer_service.charge(offer, request)

    def pursue(
        self, receipt: Receipt, *, patience: float, pace: ReleaseSchedule = AT_ONCE
    ) -> BaseRelease | None:
        """The answer of a charge if it is there within `patience` seconds; computes it if need be.

        What was begun goes on in the background, whether anybody waits or not.
        """
        end, pause = time.monotonic() + patience, _PAUSE
        while True:
            if receipt.release is not None and len(receipt.release) <= _SMALL:
                return _read_release(kind_of(receipt.order), receipt.release)
            if receipt.state in {State.RELEASED, State.FAILED}:
                return self._answer_service.finish(receipt)
            left = end - time.monotonic()
            if self._runs(receipt, pace):
                return self._awaited(receipt, max(0.0, left))
            if left <= 0:
                return None
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)
            receipt = self._again(receipt)

    def before(self, offer: Offer[PlannedOrder]) -> int | None:
        """The charge under which its analyst was told the answer to an offer, for nothing now."""
        found = self._ledger.find_question(offer.order())
        return None if found is None else found.sequence

    def merged(self, order: Order, fresh: Release, analyst: str) -> Release:
        """An answer, merged with what an analyst was told for the same question before."""
        query = StoredOrder.parse(order.plan).question(self.curator.schema)
        return merge(query, fresh, told_before(self._ledger, replace(order, analyst=analyst)))

    def resume(
        self, sequence: int, *, patience: float = 0.0, pace: ReleaseSchedule = AT_ONCE
    ) -> BaseRelease | None:
        """The answer of a charge by its number, as `pursue`; the charge has to be `find`able."""
        found = self._ledger.find(sequence)
        if found is None:
            return None
        stored = self._ledger.release(sequence)
        if stored is not None:
            return kind_of(found.order).release(stored)
        pending = Receipt(sequence, found.order, State.PENDING)
        return self.pursue(self._again(pending), patience=patience, pace=pace)

    def ask_online(
        self,
        sequence: int,
        wheres: Sequence[Mapping[str, Any]],
        confidence: float,
        by: str,
        planning: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> OnlineReply:
        """Answer counting queries under an epoch's charge, which has to be `find`able."""
        return self._epochs.ask(sequence, wheres, confidence=confidence, by=by, planning=planning)

    def online_state(self, sequence: int) -> OnlineState:
        """The public state of an epoch, whose charge has to be `find`able."""
        return self._epochs.state(sequence)

    def stream_release(self, sequence: int, by: str) -> Release:
        """A standing question as far as it is answered; its charge has to be `find`able."""
        return self.curator._local.streams.release(sequence, by)  # noqa: SLF001 - of the same kind

    def workbook(
        self, dataset: str, name: str, share: Fraction, analyst: str
    ) -> list[AskedQuestion]:
        """Open a workbook of the caller, or find it; the questions that it has paid for."""
        return self.curator._backend.workbook(dataset, name, share, analyst)  # noqa: SLF001 - of the same kind

    def cancel(self, sequence: int, *, by: str, for_all: bool) -> None:
        """Give up a charge by its number, for ever; it has to be `find`able. The charge stays.

        Unless it is `for_all`, it goes on where others asked for it since.
        """
        found = self._ledger.find(sequence)
        if found is not None:
            pending = Receipt(sequence, found.order, State.PENDING)
            self._answer_service.cancel(pending, by=by, for_all=for_all)

    def stop_cancelled(self) -> None:
        """Stop what this process computes and another one was told to cancel."""
        self._answer_service.stop_cancelled()

    def _runs(self, receipt: Receipt, pace: ReleaseSchedule) -> bool:
        """Whether this process computes the charge, from now on if it is its turn."""
        if self._answer_service.is_mine(receipt):
            self._jobs.start(receipt, pace)
        return self._jobs.knows(receipt.sequence)

    def _awaited(self, receipt: Receipt, patience: float) -> BaseRelease | None:
        future = self._jobs.find(receipt.sequence)
        if future is None:  # it has just been finished
            return self.resume(receipt.sequence)
        try:
            return future.result(patience)
        except TimeoutError:
            return None
        except BaseException:
            self._jobs.find(receipt.sequence)  # the failure is told, and need not be told again
            raise

    def _again(self, receipt: Receipt) -> Receipt:
        """The current state of a charge; takes over the claim of a worker that is gone."""
        return self._ledger.charge(receipt.order)

    # --- looking --------------------------------------------------------------------------------

    def find(self, sequence: int) -> ChargedOrder | None:
        """One charge, None if there is none of that number that the caller may know of."""
        if not 0 < sequence < NEWEST:
            return None
        found = self._ledger.find(sequence, told=self.caller)
        inside = self.curator.datasets()
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
        return budget_share(self._ledger.touched(order.dataset, analyst), order.prices)

    def newest(self, *, before: int = NEWEST, limit: int = 100) -> tuple[ChargedOrder, ...]:
        """Past questions, newest first."""
        found = self._ledger.asked(
            self.curator.datasets(), analyst=self.caller, before=before, limit=limit
        )
        return tuple(map(self.seen, found))

    def release(self, sequence: int) -> BaseRelease | None:
        """The stored answer of a charge; of a standing question what is stored so far."""
        stored, found = self._ledger.release(sequence), self._ledger.find(sequence)
        if stored is None or found is None:
            return None
        if found.order.kind == "stream":
            return self.curator._local.streams.told(sequence)  # noqa: SLF001 - of the same kind
        return kind_of(found.order).release(stored)

    def history(
        self, dataset: str, *, limit: int = 1000
    ) -> tuple[Account, tuple[ChargedOrder, ...]]:
        """A dataset's account and its newest charges, newest first."""
        return self._ledger.history(dataset, limit=limit)

    def accounts(self) -> tuple[Account, ...]:
        """All accounts in sight: of datasets, and, within them, the caller's own or everybody's."""
        inside = self.curator.datasets()
        return tuple(one for one in self._ledger.accounts() if self._sees(one.holder, inside))

    def _sees(self, holder: Holder, inside: Collection[str]) -> bool:
        match holder.kind:
            case "dataset":
                return holder.name in inside
            case "analyst":
                mine = self.caller is None or holder.name == self.caller
                return mine and holder.within in inside
            case "group":
                return self.caller is None and holder.within in inside
            case "workbook":
                whose = holder.name.rpartition("/")[0]
                return self.caller in (None, whose) and holder.within in inside
            case "link":
                return self.caller is None and self.datasets is None
