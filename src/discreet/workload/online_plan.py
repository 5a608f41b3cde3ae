"""How an online session spends its budget: decided before any data is read."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any, Final

from discreet.errors import InputError
from discreet.mechanisms.sparse_vector import SparseVector
from discreet.privacy import GDP, MU_SQUARED, RHO, Charge, Filter, Measure, Neighbours, Pure
from discreet.privacy.budgets.charges import price
from discreet.privacy.budgets.filters import amount_within
from discreet.rationals import Real, non_negative, positive, whole
from discreet.workload.domain import Domain
from discreet.workload.marginals import Clique

_ALONE, _GATE, _PAIRS = Fraction(1, 10), Fraction(1, 5), Fraction(3, 5)
"""Shares of the budget: of one marginal a column, of finding hard queries, and of one marginal a
pair of columns; what is left pays for the marginals of hard queries."""

_GATE_WITHOUT: Final = Fraction(1, 2)
"""The share of finding hard queries where no pairs are measured."""

MOST_PAIRS, MOST_PAIR_CELLS = 300, 1 << 18
"""Pairs of columns that are measured when a session opens, and cells of all of them: with more,
noise would hide what they say."""

_FRACTIONS: Final = ("epsilon", "delta", "threshold")
_MEASURES: Final = {one.name: one for one in (RHO, MU_SQUARED)}

_CALM: Final = 0.8
"""Below 1 a few easy queries hit by chance, and hard ones are found earlier."""

UPDATES, UPDATES_WITHOUT = 8, 14
"""Hard queries that are measured, unless said, with pairs of columns and without."""

RESTARTS: Final = 4
QUERIES: Final = 10_000

MOST_RUNS: Final = 1000
"""Runs of sparse vector: each is priced by itself."""

MOST_ROWS: Final = 10**15
"""Rows that a threshold may be."""


@dataclass(frozen=True)
class OnlinePlan:
    """The plan of an online session and its price.

    It measures one marginal a column and, `with_pairs`, one a pair of columns; it finds hard
    queries with at most `runs` runs of sparse vector, one hit each; and it measures the marginals
    of `updates` of them. A crash, or another worker that goes on, takes a run: `restarts` runs are
    planned for that, and one more run tells which answers are good after the last update.

    Guarantee:
        All of it together keeps (epsilon, delta): the sum of all prices is within the filter of
        `measure`, however queries are chosen, and in whatever order runs and updates come.
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
        """The least threshold, in rows, at which few of so many easy queries hit by chance."""
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
        """The mu^2 of a share, with a little to spare for roots that are rounded up."""
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
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.init}
        if not self.with_pairs:  # as sessions were stored before there was such a thing
            del own["with_pairs"]
        texts = {name: str(own[name]) for name in _FRACTIONS}
        about = {"measure": self.measure.name, "neighbours": self.neighbours.value}
        return {**own, **texts, **about, "domain": self.domain.to_dict()}

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> "OnlinePlan":
        """Read what `to_dict` wrote; sessions that measured no pairs do not say so."""
        numbers = {name: Fraction(stored[name]) for name in _FRACTIONS}
        about = {
            "domain": Domain.from_dict(stored["domain"]),
            "measure": _MEASURES[stored["measure"]],
            "neighbours": Neighbours(stored["neighbours"]),
        }
        return OnlinePlan(**{**stored, **numbers, **about})


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
