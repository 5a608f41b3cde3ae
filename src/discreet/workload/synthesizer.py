"""Choose and measure marginals adaptively, and fit a graphical model to them.

    one-way marginals -> noisy distances of all pairs -> rounds of (score the best few again,
    measure the best one, or a column again where its noise costs more; refit)

Every number that data enters has rounded Gaussian noise, so all of it together is exactly Gaussian-
private. Choosing reads noisy distances alone.

Reference: McKenna, Mullins, Sheldon, Miklau, AIM: an adaptive and iterative mechanism for
differentially private synthetic data, VLDB 2022 (the scheme; scores, schedule and resolutions here
are others).
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, InvariantBroken
from discreet.privacy import GDP, Neighbours
from discreet.rationals import positive, whole
from discreet.workload.candidates import COARSE, Candidate, Resolutions, Scorer, score_noise, shrunk
from discreet.workload.domain import Domain
from discreet.workload.estimation import fit
from discreet.workload.graphical_model import BYTES_A_CELL, GraphicalModel, tree_cells
from discreet.workload.histogram import (
    Clique,
    Floats,
    JointHistogram,
    NoisyMarginal,
    measure_marginal,
)

ROUNDS = 40
"""Rounds, if there are so many pairs; one for each column if there are more columns."""

MAX_CELLS = 200_000
"""Cells of the model's tables."""

MAX_MEMORY = 1 << 31
"""Bytes that synthesis may need."""

_DISTINCT_ROWS = 1 << 20
"""Distinct rows that the prediction of memory assumes."""

_ONE_WAY = Fraction(12, 100)
_SCORES = Fraction(6, 100)
_CHECK = Fraction(2, 100)
_RESCORE = Fraction(1, 10)
"""Shares of mu^2: for one-way marginals, for scoring all pairs, and for measuring the error of the
final model on each pair; and the share of a round's mu^2 for scoring again."""

_AGAIN = 16
"""Candidates that are scored again in a round."""

_NOISE_LEFT = 0.3 * math.sqrt(2 / math.pi)
"""Error that is left in each cell of a measured marginal, in deviations: less than its noise, since
cells are not negative and other marginals help."""

_STOP, _LAST_STOP = 0.5, 0.5
_STEPS, _FIRST_STEPS, _LAST_STEPS = 30, 200, 200
"""When fitting stops, and after how many iterations: in a round, at first, at last."""

Progress = Callable[[int, int], object]
"""Called with the number of rounds that are done, and of all rounds."""


@dataclass(frozen=True, slots=True)
class SynthesisPlan:
    """How synthesis divides its mu^2: public facts alone.

    Guarantee:
        Everything that `synthesize` measures under a plan is sqrt(mu_squared)-Gaussian
        differentially private, for any choice of measurements.
    Neighbours:
        `neighbours`; the histogram must have the same.
    `workload` names marginals that matter; without it all pairs of columns matter alike.

    Edge cases:
        One column is measured once, for everything. A domain whose tables need more than
        `max_memory` bytes is refused here, before anything is charged.

    Example:
        >>> from discreet.plan.kinds import Kind
        >>> from discreet.workload.domain import Attribute
        >>> columns = [Attribute(n, Kind.BOOLEAN, (False, True)) for n in ("a", "b", "c")]
        >>> plan = SynthesisPlan(Domain(tuple(columns)), mu_squared=0.04)
        >>> plan.rounds, plan.guarantee.mu
        (3, Fraction(1, 5))
    """

    domain: Domain
    mu_squared: Fraction
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    max_cells: int = MAX_CELLS
    max_memory: int = MAX_MEMORY
    allowed: Mapping[Clique, NDArray[np.bool_]] = field(default_factory=dict, compare=False)
    workload: tuple[Clique, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu_squared", positive(self.mu_squared, "mu_squared"))
        whole(self.max_cells, "max_cells", at_least=1)
        if self.memory > self.max_memory:
            raise InputError(
                f"synthesis would need {self.memory / 1e9:.2g} GB",
                why=f"at most {self.max_memory / 1e9:.2g} GB may be used",
                fix="leave out columns, use fewer bins, or raise max_memory",
            )
        _check_possible(self)

    @property
    def pairs(self) -> int:
        """How many pairs of columns there are."""
        return len(self.domain) * (len(self.domain) - 1) // 2

    def weight(self, pair: Clique) -> float:
        """How many marginals of the workload hold a pair; 1 where none is named."""
        return sum(set(pair) <= set(one) for one in self.workload) if self.workload else 1.0

    @property
    def rounds(self) -> int:
        """Rounds at most."""
        return min(self.pairs, max(ROUNDS, len(self.domain)))

    @property
    def one_way(self) -> Fraction:
        """The mu^2 of each column's own marginal."""
        share = _ONE_WAY if self.pairs else Fraction(1)
        return self.mu_squared * share / len(self.domain)

    @property
    def scores(self) -> Fraction:
        """The mu^2 of scoring all pairs."""
        return self.mu_squared * _SCORES

    @property
    def check(self) -> Fraction:
        """The mu^2 of telling how wrong the model is on each pair."""
        return self.mu_squared * _CHECK

    @property
    def guarantee(self) -> GDP:
        """The composed guarantee of the synthesis."""
        return GDP.of_square(self.mu_squared, neighbours=self.neighbours)

    @property
    def memory(self) -> int:
        """Bytes needed at most: rows, tables of pairs, and the model."""
        sizes = self.domain.shape()
        squares = sum(size * size for size in sizes)
        tables = (sum(sizes) ** 2 - squares) // 2
        if max(sizes, default=0) ** 2 > self.max_cells:  # larger tables are not candidates
            tables = min(tables, self.pairs * self.max_cells)
        cells = max(self.max_cells, tree_cells(self.domain.sizes, list(self.allowed)))
        rows = _DISTINCT_ROWS * (3 * 2 * len(sizes) + 5 * 8)
        return rows + 3 * 8 * tables + 2 * BYTES_A_CELL * cells


@dataclass(frozen=True, slots=True, eq=False)
class SynthesisResult:
    """The measurements, the fitted model, and its error.

    `distances` are noisy l1 distances between model and data on pairs of columns, in rows, each
    with noise of deviation `distance_sigma`. `spent` is the mu^2 of everything.
    """

    measured: tuple[NoisyMarginal, ...]
    model: GraphicalModel
    misfit: float
    distances: Mapping[Clique, float]
    distance_sigma: float
    spent: Fraction


def synthesize(
    histogram: JointHistogram, plan: SynthesisPlan, progress: Progress | None = None
) -> SynthesisResult:
    """Measure marginals under a plan and fit a model to them: `curator.synthesize` without curator.

    Example:
        >>> from discreet.plan.kinds import Kind
        >>> from discreet.workload.domain import Attribute
        >>> sexes = Domain((Attribute("sex", Kind.TEXT, ("f", "m")),))
        >>> people = JointHistogram.of({"sex": ["f", "m", "m"]}, sexes)
        >>> synthesize(people, SynthesisPlan(sexes, mu_squared=0.1)).spent
        Fraction(1, 10)
    """
    if histogram.domain != plan.domain or histogram.neighbours is not plan.neighbours:
        raise InputError(
            "a histogram that is not the plan's",
            why="its noise is planned for other columns, or other neighbours",
            fix="plan with the histogram's own domain and neighbours",
        )
    run = _Run(histogram, plan)
    if plan.pairs:
        run.score_all()
        for done in range(plan.rounds):
            run.choose(plan.rounds - done)
            if progress is not None:
                progress(done + 1, plan.rounds)
    return run.finish()


class _Run:
    """A synthesis under way: it measures every single column first.

    `spent` is the mu^2 of everything that data has entered, `ceiling` its upper limit;
    `left` are the candidates that are not measured and that the model may have room for.
    """

    def __init__(self, histogram: JointHistogram, plan: SynthesisPlan) -> None:
        self.plan, self.histogram, self.scorer = plan, histogram, Scorer(histogram)
        self.measured = [measure_marginal(histogram, (n,), plan.one_way) for n in plan.domain.names]
        self.spent, self.ceiling = plan.one_way * len(self.measured), plan.mu_squared
        self.resolutions = Resolutions.of(plan.domain, self.measured)
        model = GraphicalModel(plan.domain.sizes, {}, 1.0, plan.allowed)
        self.fitted = fit(model, self.measured, iterations=_FIRST_STEPS, stop=_STOP)
        self.candidates: list[Candidate] = []
        self.scores: dict[Clique, float] = {}
        self.left: dict[Clique, Candidate] = {}

    def score_all(self) -> None:
        """Score all pairs once."""
        every = self.resolutions.candidates(self.plan.max_cells)
        self.candidates = [one for one in every if self.plan.weight(one.pair) > 0]
        self._rank(self.candidates, self.plan.scores)
        self.left = {one.clique: one for one in self.candidates}

    def choose(self, left: int) -> None:
        """Measure what gains most: a pair of columns, or a column again; `left` is in rounds.

        Pairs are compared by noisy distances, and the best are scored again before one is chosen.
        What a column is worth follows from public numbers.
        """
        budget = (self.plan.mu_squared - self.plan.check - self.spent) / left
        price, again = budget * (1 - _RESCORE), budget * _RESCORE
        self.ceiling = self.spent + budget
        sigma, alone = self.histogram.sigma(price), self.histogram.sigma(budget)
        best = self._best(sigma)
        columns = [Candidate((n,), (n,), (None,), k) for n, k in self.plan.domain.sizes.items()]
        column = max(columns, key=lambda one: self._gain(one, alone))
        if not best or self._worth(best[0], sigma) <= self._gain(column, alone):
            self._measure(column, budget)
        else:
            self._rank(best, again)
            self._measure(max(best, key=lambda one: self._worth(one, sigma)), price)

    def _worth(self, one: Candidate, sigma: float) -> float:
        """The expected gain of measuring a pair: its distance less what noise leaves."""
        distance = min(self.scores[one.clique], 2 * self.fitted.model.total)
        return self.plan.weight(one.pair) * (distance - _NOISE_LEFT * sigma * one.cells)

    def _gain(self, one: Candidate, sigma: float) -> float:
        """The expected gain of measuring a column again: less noise in every pair that holds it.

        Why: independent errors of a pair add up in squares, so that noise in a column matters
        little to a pair whose dependence the model has not learnt.
        """
        (name,) = one.clique
        holding = (m for m in self.measured if name in m.clique)
        known = sum(one.cells / (m.sigma**2 * m.steps.size) for m in holding)
        noise = _NOISE_LEFT * one.cells
        now, then = noise / math.sqrt(known), noise / math.sqrt(known + 1 / sigma**2)
        names, place, gain = self.plan.domain.names, self.plan.domain.place(name), 0.0
        for pair in [*((n, name) for n in names[:place]), *((name, n) for n in names[place + 1 :])]:
            distance = max(min(self.scores.get(pair, now), 2 * self.fitted.model.total), now)
            gain += self.plan.weight(pair) * (distance - math.sqrt(distance**2 - now**2 + then**2))
        return max(gain, self.plan.weight(one.clique) * (now - then))

    def _best(self, sigma: float) -> list[Candidate]:
        """The best candidates that the model has room for; the others will not fit later either."""
        found: list[Candidate] = []
        for one in sorted(self.left.values(), key=lambda one: -self._worth(one, sigma)):
            if self._fits(one):
                found.append(one)
            else:
                del self.left[one.clique]
            if len(found) == _AGAIN:
                break
        return found

    def _fits(self, one: Candidate) -> bool:
        cliques = [*self.fitted.model.potentials, *self.fitted.model.allowed, one.clique]
        cliques += [self.resolutions.tie(n)[0] for n in one.clique if n.endswith(COARSE)]
        names = {name for clique in cliques for name in clique}
        sizes = {n: size for n, size in self.resolutions.sizes.items() if n in names}
        return tree_cells(sizes, cliques) <= self.plan.max_cells

    def _rank(self, candidates: Sequence[Candidate], mu_squared: Fraction) -> None:
        """Score candidates, less what noise explains of the differences between their scores."""
        if candidates:  # there are none where no pair matters, or none is small enough
            noisy = self._distances(candidates, mu_squared)
            scores = shrunk(noisy, self._score_sigma(len(candidates), mu_squared))
            self.scores |= {c.clique: float(s) for c, s in zip(candidates, scores, strict=True)}

    def _distances(self, candidates: Sequence[Candidate], mu_squared: Fraction) -> Floats:
        """Noisy distances between model and data."""
        self._spend(mu_squared)
        return self.scorer.release(candidates, self.fitted.model, mu_squared)

    def _measure(self, one: Candidate, mu_squared: Fraction) -> None:
        self._spend(mu_squared)
        self.measured.append(self.scorer.measure(one, mu_squared))
        self.left.pop(one.clique, None)
        model = self._with_columns(one.clique)
        self.fitted = fit(
            model, self.measured, iterations=_STEPS, stop=_STOP, step=self.fitted.step
        )

    def _spend(self, mu_squared: Fraction) -> None:
        """Count what is about to be measured; never more than this round, or the plan, has."""
        self.spent += mu_squared
        if self.spent > self.ceiling:
            raise InvariantBroken(
                "synthesis would spend more than was charged",
                why="its rounds cost more than the plan has, and nothing was released",
                fix="report this as a fault",
            )

    def _with_columns(self, clique: Clique) -> GraphicalModel:
        """The model with the coarse copies of a clique among its columns."""
        model = self.fitted.model
        new = [name for name in clique if name not in model.sizes]
        if not new:
            return model
        names = {*model.sizes, *new}
        sizes = {n: size for n, size in self.resolutions.sizes.items() if n in names}
        ties = dict(self.resolutions.tie(name) for name in new)
        return replace(model, sizes=sizes, allowed={**model.allowed, **ties})

    def finish(self) -> SynthesisResult:
        """Fit once more, for longer."""
        last = fit(
            self.fitted.model,
            self.measured,
            iterations=_LAST_STEPS,
            stop=_LAST_STOP,
            step=self.fitted.step,
        )
        self.fitted, self.ceiling = last, self.plan.mu_squared
        pairs = [one for one in self.candidates if one.clique == one.pair]
        noisy = self._distances(pairs, self.plan.check) if pairs else np.empty(0)
        return SynthesisResult(
            tuple(self.measured),
            last.model,
            last.misfit,
            {one.pair: float(distance) for one, distance in zip(pairs, noisy, strict=True)},
            self._score_sigma(len(pairs), self.plan.check),
            self.spent,
        )

    def _score_sigma(self, count: int, mu_squared: Fraction) -> float:
        noise = score_noise(self.histogram, max(count, 1), mu_squared)
        return math.sqrt(noise.variance) / self.histogram.row_weight


def _check_possible(plan: SynthesisPlan) -> None:
    """Refuse constraints that allow no row at all."""
    if not plan.allowed:
        return
    model = GraphicalModel(plan.domain.sizes, {}, 1.0, plan.allowed)
    if np.isfinite(model.beliefs[0]).all():
        return
    raise InputError(
        "constraints that no row can meet",
        why="together they exclude every combination of values",
        fix="leave out one of them",
    )


# --- rows that cannot be --------------------------------------------------------------------------

MOST_CELLS = 1 << 20
"""Cells of the columns that one constraint names."""


def structural_zeros(
    domain: Domain, impossible: Iterable[Mapping[str, Any]]
) -> dict[Clique, NDArray[np.bool_]]:
    """Tables that are False where a row would be impossible, by the columns they are over.

    Each of `impossible` names a combination: a value, or a list of values, for some columns. They
    are public facts, said without looking at the data.

    Example:
        >>> from discreet.plan.kinds import Kind
        >>> from discreet.workload.domain import Attribute
        >>> columns = ("age", (0, 18, 120)), ("years employed", (0, 1, 50))
        >>> domain = Domain(tuple(Attribute(n, Kind.INTEGER, edges=e) for n, e in columns))
        >>> zeros = structural_zeros(domain, [{"age": 5, "years employed": 20}])
        >>> {names: table.sum() for names, table in zeros.items()}
        {('age', 'years employed'): np.int64(8)}
    """
    found: dict[Clique, NDArray[np.bool_]] = {}
    for combination in impossible:
        names = tuple(name for name in domain.names if name in combination)
        if not names or len(names) < len(combination):
            raise InputError(
                "an impossible combination of unknown columns",
                why=f"columns are {', '.join(domain.names)}",
                fix="name some of them",
            )
        shape = domain.shape(names)
        if math.prod(shape) > MOST_CELLS:
            raise InputError(
                f"a constraint over {math.prod(shape):,} cells",
                why=f"at most {MOST_CELLS:,} are looked at together",
                fix="name fewer columns in one combination",
            )
        table = found.setdefault(names, np.ones(shape, dtype=bool))
        cells = [_cells(domain, name, combination[name]) for name in names]
        table[np.ix_(*cells)] = False
    return found


def _cells(domain: Domain, name: str, values: Any) -> list[int]:
    several = values if isinstance(values, (list, tuple, set, frozenset)) else [values]
    return [domain[name].cell_of(value) for value in several]
