"""Online private multiplicative weights: any number of counting queries, paid for when hard.

A public hypothesis answers. Sparse vector says, privately, whether it is far off; only then is
something measured: the whole marginal of the query's columns, for the price of one number.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from math import prod
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from discreet.errors import InputError
from discreet.mechanisms.sparse_vector import SparseVector, SparseVectorRun
from discreet.plain_json import from_fields, to_fields
from discreet.privacy import GDP, MU_SQUARED, RHO, Charge, Filter, Measure, Neighbours, Pure
from discreet.privacy.budgets.charges import price
from discreet.privacy.budgets.filters import amount_within
from discreet.rationals import Real, non_negative, positive, proper_share, whole
from discreet.workload.counting_query import CountingQuery
from discreet.workload.domain import Domain
from discreet.workload.histogram import Clique, JointHistogram, NoisyMarginal, measure_marginal
from discreet.workload.hypothesis import Hypothesis, OnlineAnswer, interval_of, keep, pack, unpack

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MOST_CELLS: Final = 10**6
"""Cells of the marginal of a query's columns."""

_ALONE, _GATE, _PAIRS = Fraction(1, 10), Fraction(1, 5), Fraction(3, 5)
"""Shares of the budget: of one marginal a column, of finding hard queries, and of one marginal a
pair of columns; what is left pays for the marginals of hard queries."""

_GATE_WITHOUT: Final = Fraction(1, 2)
"""The share of finding hard queries where no pairs are measured."""

MOST_PAIRS, MOST_PAIR_CELLS = 300, 1 << 18
"""Pairs of columns that are measured when a session opens, and cells of all of them: with more,
noise would hide what they say."""

_MEASURES: Final = {one.name: one for one in (RHO, MU_SQUARED)}

_CALM: Final = 0.8
"""Below 1 a few easy queries hit by chance, and hard ones are found earlier."""

UPDATES, UPDATES_WITHOUT = 8, 14
"""Hard queries that are measured, unless said, with pairs of columns and without."""

RESTARTS: Final = 4
QUERIES: Final = 10_000

MOST_RUNS: Final = 1000
"""Runs of sparse vector: each is priced separately."""

MOST_ROWS: Final = 10**15
"""Rows that a threshold may be."""


@dataclass(frozen=True)
class OnlinePlan:
    """The plan of an online session and its price.

    It measures one marginal a column and, `with_pairs`, one a pair of columns; it finds hard
    queries with at most `runs` runs of sparse vector, one hit each; and it measures the marginals
    of `updates` of them. A crash, or another worker that continues, takes a run: `restarts` runs
    are planned for that, and one more run finds which answers are good after the last update.

    Guarantee:
        All of it together keeps (epsilon, delta): the sum of all prices is within the filter of
        `measure`, however queries are chosen and in any order of runs and updates.
    Neighbours:
        As `neighbours`; one person moves each marginal as `JointHistogram` says, with
        `person_weight`.
    Edge cases:
        `queries` is how many are expected: with more, hits by chance become likelier, and nothing
        else changes. `threshold` is in rows.

    Example:
        >>> from discreet.plan.kinds import Kind
        >>> from discreet.workload.domain import Attribute
        >>> city = Attribute("city", Kind.TEXT, ("Austin", "Haifa"))
        >>> plan = OnlinePlan.of(Domain((city,)), epsilon=1, delta=1e-6)
        >>> plan.filter.guarantee.delta(1) <= 1e-6, plan.runs
        (True, 19)
    """

    domain: Domain
    epsilon: Fraction
    delta: Fraction
    threshold: Fraction
    updates: int = UPDATES
    restarts: int = RESTARTS
    measure: Measure = RHO
    row_weight: int = 1
    person_weight: int = 1
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    with_pairs: bool = False
    gate_epsilon: Fraction = field(init=False)

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        proper_share(self.delta, "delta")  # of 0 no amount of Gaussian noise would be found
        whole(self.updates, "updates", at_least=1)
        whole(self.restarts, "restarts", at_least=0)
        if self.runs > MOST_RUNS or positive(self.threshold, "threshold") > MOST_ROWS:
            raise InputError(
                "a session without end",
                why=f"updates and restarts are {MOST_RUNS:,} together at most, and an accuracy "
                f"is {MOST_ROWS:,} rows at most",
                fix="pass fewer updates and restarts, or a smaller accuracy",
            )
        share = (_GATE if self.pairs else _GATE_WITHOUT) * self.amount / self.runs
        object.__setattr__(self, "gate_epsilon", _largest_epsilon(share, self.measure))

    @staticmethod
    def of(
        domain: Domain,
        *,
        epsilon: Real,
        delta: Real,
        accuracy: Real | None = None,
        updates: int | None = None,
        restarts: int = RESTARTS,
        queries: int = QUERIES,
        measure: Measure = RHO,
        row_weight: int = 1,
        person_weight: int = 1,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> "OnlinePlan":
        """Choose the threshold from the number of updates, or that number from an `accuracy`.

        `accuracy` is the error, in rows, from which on a query is hard.
        """
        many = whole(queries, "queries", at_least=1)
        e, d = positive(epsilon, "epsilon"), non_negative(delta, "delta")
        if not 0 < d < 1:
            raise InputError(
                f"delta is {delta}",
                why="hard queries are measured with Gaussian noise",
                fix="pass a delta between 0 and 1, such as 1e-9",
            )
        if measure.name not in _MEASURES:
            raise InputError(
                f"a session counted by {measure.name}",
                why="its runs and marginals add up by rho or by mu-squared",
                fix="pass measure=RHO or MU_SQUARED",
            )

        sizes = domain.shape()
        cells = (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2
        few = len(sizes) * (len(sizes) - 1) // 2 <= MOST_PAIRS and 0 < cells <= MOST_PAIR_CELLS
        most = UPDATES if few else UPDATES_WITHOUT

        def plan(count: int, threshold: Real) -> OnlinePlan:
            terms = (Fraction(threshold), count, restarts, measure, row_weight, person_weight)
            return OnlinePlan(domain, e, d, *terms, neighbours, few)

        if accuracy is None:
            draft = plan(most if updates is None else updates, 1)
            return plan(draft.updates, max(1, draft.calm(many)))
        wanted = positive(accuracy, "accuracy")
        counts = range(most * 4, 0, -1) if updates is None else [updates]
        for count in counts:
            draft = plan(count, wanted)
            if draft.calm(many) <= wanted:
                return draft
        raise InputError(
            f"an accuracy of {float(wanted):g} rows",
            why=f"for this price queries are told apart to {plan(1, 1).calm(many):,} rows at best",
            fix="pass a larger accuracy or epsilon, or expect fewer queries",
        )

    def calm(self, queries: int) -> int:
        """The least threshold, in rows, at which few of that many easy queries hit by chance."""
        steps = (
            self.gate.query_scale * Fraction(_CALM * math.log(queries + 1))
            + self.gate.threshold_scale
        )
        return math.ceil(steps / self.row_weight)

    @property
    def runs(self) -> int:
        """How many runs of sparse vector are paid for."""
        return self.updates + self.restarts + 1

    @cached_property
    def amount(self) -> Fraction:
        """The whole budget in its measure."""
        return amount_within(self.epsilon, self.delta, self.measure)

    @property
    def filter(self) -> Filter:
        """The budget before anything is spent."""
        stated = (self.epsilon, self.delta)
        return Filter(
            Charge(self.amount, measure=self.measure, neighbours=self.neighbours, stated=stated)
        )

    @cached_property
    def gate(self) -> SparseVector:
        """One run of sparse vector, on distances in units of 1/`row_weight` rows."""
        return SparseVector(
            threshold=self.threshold * self.row_weight,
            epsilon=self.gate_epsilon,
            sensitivity=self.person_weight,
            neighbours=self.neighbours,
        )

    def passed_error(self, confidence: float) -> float:
        """How far off, in rows, an answer may be that passed the comparison."""
        reach = _gate_error(self.gate, confidence) + 0.5
        return float(self.threshold) + reach / self.row_weight

    @cached_property
    def pairs(self) -> tuple[Clique, ...]:
        """Pairs of columns that are measured when a session opens."""
        return tuple(combinations(self.domain.names, 2)) if self.with_pairs else ()

    @cached_property
    def opening(self) -> dict[Clique, Fraction]:
        """The marginals that are measured when a session opens, with the mu^2 of each."""
        columns: tuple[Clique, ...] = tuple((name,) for name in self.domain.names)
        alone = self._mu_squared(_ALONE * self.amount / len(columns))
        each = self._mu_squared(_PAIRS * self.amount / max(1, len(self.pairs)))
        return {**dict.fromkeys(columns, alone), **dict.fromkeys(self.pairs, each)}

    @cached_property
    def update_mu_squared(self) -> Fraction:
        """The mu^2 of the marginal of a hard query."""
        rest = 1 - _ALONE - (_GATE + _PAIRS if self.pairs else _GATE_WITHOUT)
        return self._mu_squared(rest * self.amount / self.updates)

    def _mu_squared(self, share: Fraction) -> Fraction:
        """The mu^2 of a share, with a small margin for roots that are rounded up."""
        exact = 2 * share if self.measure == RHO else share
        return exact * (1 - Fraction(1, 10**9))

    @property
    def guarantees(self) -> tuple[Pure | GDP, ...]:
        """The guarantees of all parts."""
        about = self.neighbours
        first = tuple(GDP.of_square(mu, neighbours=about) for mu in self.opening.values())
        update = GDP.of_square(self.update_mu_squared, neighbours=about)
        run = Pure(self.gate_epsilon, neighbours=about)
        return first + (run,) * self.runs + (update,) * self.updates

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON; `from_dict` reads it back."""
        own = to_fields(self, {Measure: attrgetter("name")})
        if not self.with_pairs:  # as sessions were stored before there was such a thing
            del own["with_pairs"]
        return own

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> "OnlinePlan":
        """Read what `to_dict` wrote; sessions that measured no pairs do not say so."""
        return from_fields(OnlinePlan, stored, {Measure: _MEASURES.__getitem__})


@lru_cache(maxsize=256)
def _gate_error(gate: SparseVector, confidence: float) -> float:
    return gate.error(confidence)


def _largest_epsilon(share: Fraction, measure: Measure) -> Fraction:
    """The largest epsilon, to some nine digits, whose price is within a share."""
    guess = math.sqrt(share) * (math.sqrt(2) if measure == RHO else math.sqrt(2 / math.pi))
    unit = Fraction(10) ** (math.floor(math.log10(guess)) - 8)
    epsilon = unit * math.floor(Fraction(guess) / unit)
    while price(Pure(epsilon), measure).amount > share:
        epsilon -= unit * 1000
    return epsilon


Store = Callable[[NoisyMarginal | None], object]
"""Stores a step before its result is returned: what was measured for a hard query, or None where a
run of sparse vector begins, which is spent from then on."""


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
        """Answer a query from the hypothesis, for nothing; it is not compared with the data."""
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
        except (
            *(ValueError, LookupError, TypeError),
            *(ArithmeticError, AttributeError, RecursionError),
        ):
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
    histogram.check_planned(plan)
    first = (measure_marginal(histogram, one, mu) for one, mu in plan.opening.items())
    return OnlineState(plan, tuple(first))


class OnlineSession:
    """One worker's turn at a session: answers counting queries, one after the other.

    Guarantee:
        All answers under one plan, by all sessions that continued each other's stored state, keep
        the plan's (epsilon, delta). Each run of sparse vector and each measurement is charged to
        the plan's filter, and stored, before its result is returned.
    Neighbours:
        Those of the plan.
    Why:
        The distance of an exact answer from the public hypothesis moves by one person's weight. A
        run reports at most one hit, for one pure epsilon and any number of queries. A hit gets a
        marginal with Gaussian noise, which one person moves by their weight. Answers are read from
        the hypothesis alone, never from the comparison.
    Edge cases:
        When updates or runs are used up answers still come, from the hypothesis, with intervals
        that rest on what was measured. After an error nothing continues: open another session.

    Reference: Hardt, Rothblum 2010, A Multiplicative Weights Mechanism for Privacy-Preserving Data
    Analysis; the update by a whole marginal and the zCDP accounting are this package's.
    """

    def __init__(
        self, state: OnlineState, histogram: JointHistogram, store: Store = lambda _: None
    ) -> None:
        histogram.check_planned(state.plan)
        self.state = state
        self._histogram = histogram
        self._store = store
        self.hypothesis = state.hypothesis
        _ = state.filter  # BudgetError where more was spent than planned
        self._run: SparseVectorRun | None = None
        self._exact: dict[Clique, NDArray[np.int64]] = {}

    def ask(self, query: CountingQuery, *, confidence: float = 0.95) -> OnlineAnswer:
        """Answer from the hypothesis; if that is far off, measure the query's marginal first."""
        plan, bought = self.state.plan, False
        check_size(query, plan)
        believed = float(query.total(self.hypothesis.marginal(query.clique)))
        run = self._running()
        gate = None if run is None else plan.passed_error
        if run is not None and run.ask(self._distance(query, believed)):
            self._run, gate, bought = None, None, self.state.updates_left > 0
            if bought:
                self._update(query.clique)
        return interval_of(query, self.hypothesis, confidence, gate=gate, bought=bought)

    def _distance(self, query: CountingQuery, believed: float) -> int:
        """How far the hypothesis is off, in units of 1/row_weight rows: private."""
        exact = self._exact.get(query.clique)
        if exact is None:
            exact = self._histogram.marginal(query.clique)
            keep(self._exact, query.clique, exact)
        return abs(int(query.total(exact)) - round(believed * self.state.plan.row_weight))

    def _running(self) -> SparseVectorRun | None:
        """The run that compares, begun if need be; None when all are used up."""
        plan, before = self.state.plan, self.state
        if self._run is None and before.runs_left > 0:
            before.check_room(Pure(plan.gate_epsilon, neighbours=plan.neighbours))
            self._store(None)
            self.state = replace(before, runs_begun=before.runs_begun + 1)
            self._run = plan.gate.start()
        return self._run

    def _update(self, clique: Clique) -> None:
        plan, before = self.state.plan, self.state
        before.check_room(GDP.of_square(plan.update_mu_squared, neighbours=plan.neighbours))
        measured = measure_marginal(self._histogram, clique, plan.update_mu_squared)
        self._store(measured)
        self.state = replace(before, measurements=(*before.measurements, measured))
        self.hypothesis = self.hypothesis.updated(measured)


def check_size(query: CountingQuery, plan: OnlinePlan) -> None:
    """Refuse a query about too many columns to measure its marginal."""
    cells = prod(plan.domain.shape(query.clique))
    if cells > MOST_CELLS:
        raise InputError(
            f"a query over {cells:,} cells",
            why=f"the marginal of its columns has more than {MOST_CELLS:,}",
            fix="ask about fewer columns at a time",
        )
