"""Running standing questions: each period is a step of their charge, stored before it is returned.

    charge (an order, released) -> steps: the noisy numbers of period 1, of period 2, ...

A period is answered on the version of the data that was first complete through its last day; the
ledger says which. So it does not matter who answers it, or when, and a crash loses nothing.
"""

import datetime as dt
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any, Final

from numpy.typing import NDArray

from discreet.answer.present.release import Release
from discreet.curator.answer_service import AnswerService
from discreet.curator.data.data_store import DataStore
from discreet.curator.fork_safety import FORKS
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Receipt
from discreet.curator.ledger.stepping import NOBODY, step_failure
from discreet.curator.orders.streams.stream_orders import StreamOrder
from discreet.engines.timing import Deadline
from discreet.errors import DiscreetError
from discreet.mechanisms.vector_stream import VectorStream

_AT_ONCE: Final = 4
"""Standing questions that are answered in the background at a time."""


@dataclass(frozen=True, slots=True)
class StandingQuery:
    """A standing question, for the analyst who asked it.

    Example: `curator.watch("SELECT city, COUNT(*) ...", every="day", ...).release().chart()`
    """

    charge: int
    _release: Callable[[int], Release]

    def release(self) -> Release:
        """Running totals, and what each period added, of all periods that are complete."""
        return self._release(self.charge)


class Streams:
    """Answers standing questions that were charged.

    Guarantee:
        The noise of a period is drawn once: it is returned only after the ledger has it as a step
        of the charge. Every answer is a function of what is stored there.
    Edge cases:
        While another worker answers, what is stored is told. If data cannot be read no period is
        answered until an owner has looked; a crash stores nothing, and the next caller continues.
    """

    def __init__(self, ledger: Ledger, data_store: DataStore, service: AnswerService) -> None:
        self._ledger = ledger
        self._data_store = data_store
        self._service = service
        self.renew()
        FORKS.renew_in_child(self)

    def renew(self) -> None:
        """Begin with locks that nobody holds, and look for standing questions again."""
        self._lock = threading.RLock()
        self._turns: dict[int, threading.Lock] = {}
        self._pool: ThreadPoolExecutor | None = None
        self._asked: dict[str, list[int]] = {}
        self._seen: dict[str, int] = {}

    def release(self, charge: int, by: str | None = None) -> Release:
        """The answer so far, after the periods that are complete by now.

        `by` asks for it; None for the analyst of the charge.
        """
        receipt, planned = self._find(charge)
        if not self._ledger.retired(receipt.order.dataset) and self._lacks(charge, planned):
            asker = receipt.order.analyst if by is None else by
            turns = self._turns.setdefault(charge, threading.Lock())
            with self._service.later_step(receipt, asker), turns:
                self._advance(receipt, planned, asker)
        return self._told(charge, planned)

    def _lacks(self, charge: int, planned: StreamOrder) -> bool:
        """Whether there are periods to answer that no other worker answers now."""
        due = self._due(planned)
        if not due:
            self._ledger.let_go(charge)  # whoever asked it has the turn still
        if len(self._ledger.steps(charge)) >= len(due):
            return False
        if self._ledger.has_ended(charge):
            raise step_failure()
        return self._ledger.may_hold(charge)

    def go_on(self, dataset: str) -> None:
        """Answer the periods that have become complete, of all standing questions of a dataset.

        One that cannot be answered now is answered when it is next looked at. Where analysts see
        periods at fixed moments nobody waits for them here: they are answered in the background.
        """
        with self._lock:
            known, until = self._asked.setdefault(dataset, []), self._ledger.head().sequence
            found = self._ledger.charges([dataset], after=self._seen.get(dataset, 0), until=until)
            known += [one.sequence for one in found if one.facts.get("kind") == "stream"]
            self._seen[dataset] = until
            if self._service.has_schedule and self._pool is None:
                self._pool = ThreadPoolExecutor(_AT_ONCE, "discreet-streams")
            charges, pool = tuple(known), self._pool
        for charge in charges:
            if pool is None:
                self._try(charge)
            else:
                pool.submit(self._try, charge)

    def close(self) -> None:
        """Finish what is begun; the next to look answers the rest."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(cancel_futures=True)

    def _try(self, charge: int) -> None:
        with suppress(DiscreetError):
            self.release(charge, NOBODY)

    def told(self, charge: int) -> Release:
        """The release of the stored periods; no data is read."""
        return self._told(charge, self._find(charge)[1])

    def _find(self, charge: int) -> tuple[Receipt, StreamOrder]:
        """A standing question and its plan."""
        what, fix = "standing question", "ask one with curator.watch(...)"
        receipt = self._service.released(charge, "stream", what, fix)
        planned = self._service.reread(receipt)
        assert isinstance(planned, StreamOrder)  # noqa: S101 - narrowing: of this kind
        return receipt, planned

    def _told(self, charge: int, planned: StreamOrder) -> Release:
        steps = self._ledger.steps(charge)
        return planned.release([json.loads(one)["measured"] for one in steps])

    def _due(self, planned: StreamOrder) -> list[int]:
        """The version of the data on which each complete period is answered.

        A part that the ledger has and the folder does not yet ends what can be answered now: its
        rows would change released periods.
        """
        name, versions, last = planned.reading.table.name, list[int](), planned.last_days
        here = {part.entry for part in self._data_store.tables.tables[name].parts}
        for entry in takewhile(lambda one: one.sequence in here, self._ledger.appended(name)):
            through = entry.facts.get("through")
            if through is not None:
                day = dt.date.fromisoformat(through)
                complete = sum(one <= day for one in last)
                versions += [entry.facts["version"]] * (complete - len(versions))
        return versions

    def _advance(self, receipt: Receipt, planned: StreamOrder, asker: str) -> None:
        """Answer the periods that are due by now, one step each, where this worker may."""
        charge = receipt.sequence
        if not self._ledger.hold(charge):
            return

        def measure(step: int, until: Deadline | None) -> list[bytes]:
            increments = self._read(planned, due, until)
            stream = VectorStream(planned.counter, increments[:step])
            noisy = [stream.release(one).tolist() for one in increments[step:]]
            told = zip(due[step:], noisy, strict=True)
            return [json.dumps({"version": one, "measured": two}).encode() for one, two in told]

        def draw(step: int) -> list[bytes]:
            return self._service.read_on(receipt, asker, partial(measure, step))

        try:
            due, done = self._due(planned), len(self._ledger.steps(charge))
            if done >= len(due):  # another worker has answered them before this one had the turn
                return
            self._service.check_data(sorted(planned.tables))
            for step in range(done, len(due)):
                stored = self._ledger.draws.draw(charge, step + 1, partial(draw, step))
                self._ledger.step(charge, step + 1, stored, by=receipt.order.analyst)
                self._ledger.draws.let_go(charge, step + 1)
        finally:
            self._ledger.let_go(charge)

    def _read(
        self, planned: StreamOrder, due: list[int], until: Deadline | None = None
    ) -> NDArray[Any]:
        """Exact increments of each complete period and group: private."""
        table = planned.reading.table
        parts = self._data_store.tables.tables[table.name].files
        arrived = {
            part.version: 1 + next(t for t, version in enumerate(due) if version >= part.version)
            for part in parts
            if part.version <= due[-1]
        }
        calendar = planned.calendar[: len(due)]
        engine = self._data_store.open_parts(table)
        with engine.snapshot(until) as session:
            return planned.reading.read(session, engine.dialect, calendar, arrived)
