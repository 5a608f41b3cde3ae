"""Online private multiplicative weights: any number of counting queries, paid for when hard.

A public hypothesis answers. Sparse vector says, privately, whether it is far off; only then is
something measured: the whole marginal of the query's columns, for the price of one number.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, Final

from discreet.errors import InputError
from discreet.mechanisms.sparse_vector import SparseVectorRun
from discreet.privacy import GDP, Filter, Pure
from discreet.workload.counting_query import CountingQuery
from discreet.workload.histogram import JointHistogram
from discreet.workload.hypothesis import Hypothesis, OnlineAnswer, interval_of, keep, pack, unpack
from discreet.workload.marginals import Clique, NoisyMarginal, measure_marginal
from discreet.workload.online_plan import OnlinePlan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_CELLS: Final = 10**6
"""Cells of the marginal of a query's columns."""


class Journal:
    """The store of a session's steps, each written before anybody is told of it.

    This one stores nothing: for a session that ends with its process.
    """

    def begin_run(self) -> None:
        """Store that a run of sparse vector begins: from now on it is spent."""

    def keep_update(self, measured: NoisyMarginal) -> None:
        """Store what was measured for a hard query."""


@dataclass(frozen=True, slots=True, eq=False)
class OnlineState:
    """The public state of a session: its measurements, and the number of runs begun."""

    plan: OnlinePlan
    measurements: tuple[NoisyMarginal, ...]
    runs_begun: int = 0

    @property
    def updates_left(self) -> int:
        """How many hard queries can still be measured."""
        return self.plan.updates - (len(self.measurements) - len(self.plan.opening))

    @property
    def runs_left(self) -> int:
        """How many runs of sparse vector can still begin."""
        return self.plan.runs - self.runs_begun

    @property
    def filter(self) -> Filter:
        """The budget, with everything that was spent of it taken."""
        found, about = self.plan.filter, self.plan.neighbours
        costs: list[Pure | GDP] = [Pure(self.plan.gate_epsilon, neighbours=about)] * self.runs_begun
        costs += [GDP.of_square(one.mu_squared, neighbours=about) for one in self.measurements]
        for cost in costs:
            found = found.charge(found.price(cost))
        return found

    def check_room(self, cost: Pure | GDP) -> None:
        """BudgetError where the budget, with everything that was spent of it taken, has no room."""
        left = self.filter
        left.charge(left.price(cost))

    @property
    @lru_cache(maxsize=8)  # noqa: B019 - a state that is kept longer than needed is small
    def hypothesis(self) -> Hypothesis:
        """The hypothesis that the measurements give: public, free to query."""
        return Hypothesis(self.plan.domain, self.measurements, pairs=self.plan.pairs)

    def answer(self, where: Mapping[str, Any], *, confidence: float = 0.95) -> OnlineAnswer:
        """Answer a query from the hypothesis, for nothing; nobody compares it with the data."""
        query = CountingQuery.of(self.plan.domain, where)
        check_size(query, self.plan)
        return interval_of(query, self.hypothesis, confidence)

    def to_bytes(self) -> bytes:
        """The stored form, which `from_bytes` reads."""
        head = {"online": 1, "plan": self.plan.to_dict(), "runs_begun": self.runs_begun}
        text = json.dumps(head, sort_keys=True, separators=(",", ":")).encode()
        return text + b"\n" + pack(self.measurements)

    @staticmethod
    def from_bytes(stored: bytes) -> "OnlineState":
        """Read what `to_bytes` wrote; InputError for other bytes."""
        head, _, rest = stored.partition(b"\n")
        try:
            said = json.loads(head)
            plan, runs = OnlinePlan.from_dict(said["plan"]), int(said["runs_begun"])
            return OnlineState(plan, unpack(rest), runs)
        except (ValueError, LookupError, TypeError, ArithmeticError, AttributeError):
            raise InputError(
                "these bytes are no online session",
                why="they do not start as one",
                fix="pass what `to_bytes` wrote",
            ) from None


def open_state(plan: OnlinePlan, histogram: JointHistogram) -> OnlineState:
    """Measure every column, and every pair of few columns: what every session begins with.

    Guarantee:
        The first guarantees of the plan, together.
    """
    _check_fits(plan, histogram)
    first = (measure_marginal(histogram, one, mu) for one, mu in plan.opening.items())
    return OnlineState(plan, tuple(first))


def _check_fits(plan: OnlinePlan, histogram: JointHistogram) -> None:
    """Refuse data that was prepared otherwise than the plan was priced for."""
    said = (plan.domain, plan.row_weight, plan.person_weight, plan.neighbours)
    found = (histogram.domain, histogram.row_weight, histogram.person_weight, histogram.neighbours)
    if said != found:
        raise InputError(
            "a histogram that the session was not planned for",
            why="its columns, weights or neighbours are others",
            fix="count the table as the plan says",
        )


class OnlineSession:
    """One worker's turn at a session: answers counting queries, one after the other.

    Guarantee:
        Everything ever told under one plan, by all sessions that went on from each other's stored
        state, keeps the plan's (epsilon, delta). Each run of sparse vector and each measurement is
        charged to the plan's filter, and stored, before anything of it is told.
    Neighbours:
        Those of the plan.
    Why:
        The distance of an exact answer from the public hypothesis moves by one person's weight. A
        run tells at most one hit, for one pure epsilon however many queries it sees. Whoever hits
        gets a marginal, one person of which moves by their weight, with Gaussian noise. Answers
        are read from the hypothesis alone, never from the comparison.
    Edge cases:
        When updates or runs are used up answers still come, from the hypothesis, with intervals
        that rest on what was measured. After an error nothing goes on: open another session.

    Reference: Hardt, Rothblum 2010, A Multiplicative Weights Mechanism for Privacy-Preserving Data
    Analysis; the update by a whole marginal and the zCDP accounting are this package's.
    """

    def __init__(
        self, state: OnlineState, histogram: JointHistogram, journal: Journal | None = None
    ) -> None:
        _check_fits(state.plan, histogram)
        self._state = state
        self._histogram = histogram
        self._journal = journal or Journal()
        self.hypothesis = state.hypothesis
        _ = state.filter  # BudgetError where more was spent than planned
        self._run: SparseVectorRun | None = None
        self._exact: dict[Clique, NDArray[np.int64]] = {}

    @property
    def state(self) -> OnlineState:
        """The public state."""
        return self._state

    def ask(self, query: CountingQuery, *, confidence: float = 0.95) -> OnlineAnswer:
        """Answer from the hypothesis; if that is far off, measure the query's marginal first."""
        plan, bought = self._state.plan, False
        check_size(query, plan)
        believed = float(query.total(self.hypothesis.marginal(query.clique)))
        run = self._running()
        gate = None if run is None else plan.passed_error
        if run is not None and run.ask(self._distance(query, believed)):
            self._run, gate, bought = None, None, self._state.updates_left > 0
            if bought:
                self._update(query.clique)
        return interval_of(query, self.hypothesis, confidence, gate=gate, bought=bought)

    def _distance(self, query: CountingQuery, believed: float) -> int:
        """How far the hypothesis is off, in units of 1/row_weight rows: private."""
        exact = self._exact.get(query.clique)
        if exact is None:
            exact = self._histogram.marginal(query.clique)
            keep(self._exact, query.clique, exact)
        return abs(int(query.total(exact)) - round(believed * self._state.plan.row_weight))

    def _running(self) -> SparseVectorRun | None:
        """The run that compares, begun if need be; None when all are used up."""
        plan, before = self._state.plan, self._state
        if self._run is None and before.runs_left > 0:
            before.check_room(Pure(plan.gate_epsilon, neighbours=plan.neighbours))
            self._journal.begin_run()
            self._state = replace(before, runs_begun=before.runs_begun + 1)
            self._run = plan.gate.start()
        return self._run

    def _update(self, clique: Clique) -> None:
        plan, before = self._state.plan, self._state
        before.check_room(GDP.of_square(plan.update_mu_squared, neighbours=plan.neighbours))
        measured = measure_marginal(self._histogram, clique, plan.update_mu_squared)
        self._journal.keep_update(measured)
        self._state = replace(before, measurements=(*before.measurements, measured))
        self.hypothesis = self.hypothesis.updated(measured)


def check_size(query: CountingQuery, plan: OnlinePlan) -> None:
    """Refuse a query about so many columns that its marginal could not be measured."""
    cells = prod(plan.domain.shape(query.clique))
    if cells > MOST_CELLS:
        raise InputError(
            f"a query over {cells:,} cells",
            why=f"the marginal of its columns has more than {MOST_CELLS:,}",
            fix="ask about fewer columns at a time",
        )
