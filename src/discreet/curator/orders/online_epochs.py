"""Epochs of online queries: one worker at a time continues each, from what is stored.

    charge (an order, released) -> steps: a run begins, or an update, each stored before it is told

A crash loses the noise of the running threshold, and nothing else. A worker that continues begins
another run, which the price of the epoch includes.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from math import comb, prod
from typing import Any, Final

from discreet.curator.answer_service import AnswerService
from discreet.curator.fork_safety import FORKS
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Receipt
from discreet.curator.orders.online_orders import OnlineOrder, OnlineRelease
from discreet.engines.timing import Deadline
from discreet.errors import InputError, LedgerError
from discreet.workload.counting_query import CountingQuery
from discreet.workload.histogram import Clique, NoisyMarginal
from discreet.workload.hypothesis import OnlineAnswer, interval_of, pack, pairs_fitted, unpack
from discreet.workload.online import OnlinePlan, OnlineSession, OnlineState, check_size

_RUN, _UPDATE = b"r", b"u"

MOST_QUERIES: Final = 10_000
"""Queries that are asked at once."""

MOST_CELLS_AT_ONCE: Final = 10**7
"""Cells of all marginals that queries asked at once are about, once more for each pair of columns
that a marginal is fitted to: it bounds the time they take."""

MOST_HELD: Final = 8
"""Epochs of one analyst whose rows this process has in memory."""

MOST: Final = 0.999999
"""The largest confidence of an interval."""


@dataclass(frozen=True, slots=True)
class OnlineReply:
    """Answers, and what is left of the epoch.

    `held` is False if another worker continues the epoch, or its data could not be read: then
    answers come from what is stored, and nobody compared them with the data.
    """

    answers: tuple[OnlineAnswer, ...]
    updates_left: int
    runs_left: int
    held: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


@dataclass(slots=True)
class LedgerJournal:
    """Stores the steps of an epoch in the ledger, in order; LedgerError ends the session."""

    ledger: Ledger
    charge: int
    steps: int
    by: str

    def __call__(self, measured: NoisyMarginal | None) -> None:
        """Store a run that begins, or what was measured."""
        stored = _RUN if measured is None else _UPDATE + pack([measured])
        self.ledger.step(self.charge, self.steps + 1, stored, by=self.by)
        self.steps += 1


@dataclass
class _Epoch:
    """This process's state of an epoch; `opening` is held to read data, and before `lock`."""

    analyst: str
    opening: threading.Lock = field(default_factory=threading.Lock)
    lock: threading.RLock = field(default_factory=threading.RLock)
    session: OnlineSession | None = None
    journal: LedgerJournal | None = None
    known: OnlineState | None = None
    steps: int = 0


class OnlineEpochs:
    """Answers queries of charged epochs.

    Guarantee:
        A run of sparse vector begins, and an update is returned, only after the ledger has it as a
        step of the charge that paid for it. A worker that lost its turn can store no step, and so
        tells no update.
    Edge cases:
        While another worker has the turn answers come from the stored hypothesis. A worker that is
        gone, or was silent for the ledger's patience, loses its turn to the next that is asked.
        Of one analyst's epochs a process holds the rows of `MOST_HELD`: another one takes the place
        of that which was asked longest ago, whose next run begins when it is asked again.
        If anything fails that reads data, answers come from the stored hypothesis from then on.
    """

    def __init__(self, ledger: Ledger, service: AnswerService) -> None:
        self._ledger = ledger
        self._service = service
        self.renew()
        FORKS.renew_in_child(self)

    def renew(self) -> None:
        """Begin with no sessions; a parent's go on in the parent alone."""
        self._epochs: dict[int, _Epoch] = {}
        self._guard = threading.Lock()

    def state(self, charge: int) -> OnlineState:
        """The public state of an epoch, as it is stored now; reading it holds nothing."""
        epoch = self._epochs.get(charge)
        if epoch is None or epoch.known is None:
            epoch = _Epoch(self._receipt(charge).order.analyst)
        with epoch.lock:
            return self._known(charge, epoch)

    def close(self) -> None:
        """Give up all turns: the next caller continues."""
        with self._guard:
            known = list(self._epochs.items())
        for charge, epoch in known:
            with epoch.opening, epoch.lock:
                self._drop(charge, epoch)

    def _drop(self, charge: int, epoch: _Epoch) -> None:
        """Forget what is in memory of an epoch: the next caller continues from what is stored."""
        epoch.known = None
        if epoch.session is not None:
            epoch.session = None
            self._ledger.let_go(charge)

    def _epoch(self, receipt: Receipt) -> _Epoch:
        """An epoch that is asked now; of its analyst's without rows few keep what is stored."""
        with self._guard:
            found = self._epochs.pop(receipt.sequence, None) or _Epoch(receipt.order.analyst)
            self._epochs[receipt.sequence] = found
        self._make_room(receipt, rows=False)
        return found

    def _make_room(self, receipt: Receipt, *, rows: bool) -> None:
        """Drop the analyst's other epochs that were asked longest ago, with rows or without."""
        with self._guard:
            others = [one for one in self._epochs.items() if one[0] != receipt.sequence]
        mine = [one for one in others if one[1].analyst == receipt.order.analyst]
        held = [one for one in mine if one[1].known and (one[1].session is not None) is rows]
        for charge, epoch in held[: 1 - MOST_HELD]:
            if epoch.lock.acquire(blocking=False):  # else it is being asked
                try:
                    self._drop(charge, epoch)
                finally:
                    epoch.lock.release()

    def _known(self, charge: int, epoch: _Epoch) -> OnlineState:
        """The stored steps: those read before, and the newer ones."""
        if epoch.known is None:
            stored = self._ledger.release(charge)
            assert stored is not None  # noqa: S101 - narrowing: it was released
            epoch.known, epoch.steps = OnlineState.from_bytes(stored), 0
        new = self._ledger.steps(charge, after=epoch.steps)
        if new:
            epoch.known, epoch.steps = _with_steps(epoch.known, new), epoch.steps + len(new)
        return epoch.known

    def ask(
        self,
        charge: int,
        wheres: Sequence[Mapping[str, Any]],
        *,
        confidence: float = 0.95,
        by: str | None = None,
        planning: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> OnlineReply:
        """Answer counting queries, one after the other.

        `by` asks them; None for the analyst of the charge. `planning` is entered to read and to
        answer them, not while data is read for a session or another asker has the epoch.
        """
        receipt = self._receipt(charge)
        epoch = self._epoch(receipt)
        asker = receipt.order.analyst if by is None else by
        while True:
            with planning():
                is_mine = epoch.lock.acquire(blocking=False)
                if is_mine:
                    try:
                        reply = self._reply(receipt, epoch, wheres, confidence, asker)
                    finally:
                        epoch.lock.release()
            if not is_mine:
                with epoch.lock:  # nobody waits for the one while they have the other
                    continue
            if reply is not None:
                return reply
            self._open(receipt, epoch, asker)

    def _reply(
        self,
        receipt: Receipt,
        epoch: _Epoch,
        wheres: Sequence[Mapping[str, Any]],
        confidence: float,
        asker: str,
    ) -> OnlineReply | None:
        """Answers of the session of this process, else from what is stored; None to open one."""
        charge, ledger = receipt.sequence, self._ledger
        queries = _read(wheres, self._known(charge, epoch), confidence)
        may_go_on = ledger.may_hold if epoch.session is None else ledger.hold
        held = not ledger.retired(receipt.order.dataset) and may_go_on(charge)
        state, session, journal = self._known(charge, epoch), epoch.session, epoch.journal
        if not held:
            epoch.session = None
            told = [interval_of(one, state.hypothesis, confidence) for one in queries]
            return OnlineReply(tuple(told), state.updates_left, state.runs_left, held=False)
        if session is None or journal is None or journal.steps != epoch.steps:
            epoch.session = None
            return None
        ledger.check_failures(asker, receipt.order.dataset)
        answers = self._answers(session, queries, confidence, epoch)
        if answers is None:
            raise self._service.end_steps(receipt, asker)
        left = session.state
        return OnlineReply(answers, left.updates_left, left.runs_left, held=True)

    @staticmethod
    def _answers(
        session: OnlineSession, queries: Sequence[CountingQuery], confidence: float, epoch: _Epoch
    ) -> tuple[OnlineAnswer, ...] | None:
        """What a session answers; None if it failed, and has ended."""
        try:
            return tuple(session.ask(one, confidence=confidence) for one in queries)
        except BaseException as wrong:
            epoch.session = None  # its run may have been asked what nobody was told
            if isinstance(wrong, LedgerError) or not isinstance(wrong, Exception):
                raise
        return None

    def _receipt(self, charge: int) -> Receipt:
        what = "epoch of online queries"
        return self._service.released(charge, "online", what, "open one with curator.online(...)")

    def _open(self, receipt: Receipt, epoch: _Epoch, asker: str) -> None:
        """Open a session that continues from what is stored, unless another worker just did.

        A caller who waits for a turn to compute holds neither a lock nor the epoch.
        """
        charge = receipt.sequence
        with self._service.later_step(receipt, asker), epoch.opening:
            if epoch.session is not None or not self._ledger.hold(charge):
                return
            planned, engine = self._service.reopen(receipt)
            self._make_room(receipt, rows=True)
            with epoch.lock:
                state = self._known(charge, epoch)
                journal = LedgerJournal(self._ledger, charge, epoch.steps, receipt.order.analyst)

            def begin(until: Deadline | None) -> OnlineSession:
                assert isinstance(planned, OnlineOrder)  # noqa: S101 - narrowing: of this kind
                histogram = planned.read_rows(engine, until)
                return OnlineSession(state, histogram, journal)

            session = self._service.read_on(receipt, asker, begin)
            with epoch.lock:
                epoch.session, epoch.journal = session, journal


def _with_steps(state: OnlineState, steps: Sequence[bytes]) -> OnlineState:
    """A state after its stored steps."""
    runs = sum(one == _RUN for one in steps)
    updates = [unpack(one[1:])[0] for one in steps if one[:1] == _UPDATE]
    kept = (*state.measurements, *updates)
    return OnlineState(state.plan, kept, state.runs_begun + runs)


def _read(
    wheres: Sequence[Mapping[str, Any]], state: OnlineState, confidence: float
) -> list[CountingQuery]:
    """All queries, before any is answered: a wrong one has no effect."""
    many = isinstance(wheres, Sequence) and not isinstance(wheres, str | bytes)
    if not many or not 0 < len(wheres) <= MOST_QUERIES:
        raise InputError(
            "no list of queries",
            why=f"1 to {MOST_QUERIES:,} are asked at once",
            fix='pass [{"sex": ["female"], "age": {"low": 30, "high": 39}}]',
        )
    if not isinstance(confidence, float) or not 0 < confidence <= MOST:
        raise InputError(
            "a confidence that is no probability",
            why="an interval holds the exact answer that often",
            fix=f"pass confidence=0.95, or at most {MOST}",
        )
    found = [CountingQuery.of(state.plan.domain, one) for one in wheres]
    for one in found:
        check_size(one, state.plan)
    cells = sum(_cells(one, state.plan) for one in {query.clique for query in found})
    if cells > MOST_CELLS_AT_ONCE:
        raise InputError(
            f"queries over {cells:,} cells",
            why=f"marginals of {MOST_CELLS_AT_ONCE:,} cells are looked at in one request",
            fix="ask about fewer columns, or in several requests",
        )
    return found


def _cells(clique: Clique, plan: OnlinePlan) -> int:
    """Cells of a marginal, once more for each pair; fitting to one takes as long as 1,000 cells."""
    shape, pairs = plan.domain.shape(clique), comb(len(clique), 2) if plan.with_pairs else 0
    return prod(shape) + max(prod(shape), 1000) * pairs_fitted(shape, pairs)


@dataclass(frozen=True, slots=True)
class OnlineQueries:
    """An open epoch, for its caller.

    Example: `curator.online("people", columns=["age", "sex"], epsilon=1).ask({"sex": "male"})`
    """

    charge: int
    release: OnlineRelease
    _ask: Callable[[int, Sequence[Mapping[str, Any]], float], OnlineReply]
    _state: Callable[[int], OnlineState]

    def ask(self, where: Mapping[str, Any], *, confidence: float = 0.95) -> OnlineAnswer:
        """How many rows have these values: {column: a value, a list, or Bounds(low, high)}."""
        return self.ask_all([where], confidence=confidence).answers[0]

    def ask_all(
        self, wheres: Sequence[Mapping[str, Any]], *, confidence: float = 0.95
    ) -> OnlineReply:
        """Several queries, one after the other, and what is left of the epoch."""
        return self._ask(self.charge, wheres, confidence)

    @property
    def state(self) -> OnlineState:
        """The public state of an epoch, as it is stored now."""
        return self._state(self.charge)
