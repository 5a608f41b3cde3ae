"""Answers that are computed in the background, each charge once in a process."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from discreet.answer.present.base_release import BaseRelease
from discreet.curator.answer_service import AnswerService
from discreet.curator.fork_safety import FORKS
from discreet.curator.ledger.orders import Receipt
from discreet.curator.release_schedule import AT_ONCE, ReleaseSchedule

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
