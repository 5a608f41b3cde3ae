"""Shared settings of the lab's attacks: targets, effort and guarantee."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import numpy as np
import pyarrow as pa

from discreet.attacks.outcome import Outcome, Promise
from discreet.attacks.simulation import SplitMix64
from discreet.curator.budget import Budget
from discreet.curator.curator import Curator
from discreet.errors import InputError
from discreet.plan.schema import Bounds, Keys, Limits
from discreet.privacy import GDP
from discreet.rationals import Real, positive

DELTA = Fraction(1, 10**6)

_QUESTION = Fraction(1, 10**30)
"""The delta at which one of many questions is priced. The budget itself counts mu^2, and the
smaller this is, the less of it is lost on the way from epsilon."""

_SPARE = 1 - Fraction(1, 10**6)
"""Rounding may cost a little; the last question has to fit too."""


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Curated:
    """A curator with one table, and the price of each of the questions that fit its budget."""

    curator: Curator
    epsilon: Fraction
    delta: Fraction

    @staticmethod
    def of(
        name: str,
        rows: Mapping[str, Any],
        columns: Mapping[str, Bounds | Keys],
        *,
        epsilon: Fraction,
        questions: int = 1,
        limits: Limits | None = None,
        gaussian: bool = False,
    ) -> "Curated":
        """Put a table in: one row or more a person, who is in the column `id`."""
        delta = DELTA if gaussian else Fraction(0)
        budget = Budget(epsilon=epsilon, delta=delta)
        curator = Curator.in_memory()
        curator.add(
            name,
            pa.table(dict(rows)),
            unit="id",
            budget=budget,
            columns=columns,
            required=list(columns),
            limits=limits or Limits(1, 1),
        )
        if not gaussian:
            return Curated(curator, epsilon / questions, delta)
        square = budget.cap().amount / questions * _SPARE
        return Curated(curator, _epsilon(square), _QUESTION)

    def cells(self, text: str, shape: Sequence[int]) -> Any:
        """The answer to a question whose last column is a number and whose others say where."""
        answer = self.curator.sql(text, epsilon=self.epsilon, delta=self.delta).table
        *places, values = (column.to_numpy() for column in answer.columns)
        found = np.zeros(tuple(shape))
        found[tuple(place.astype(np.int64) for place in places)] = values
        return found


def released(
    rows: Mapping[str, Any],
    shape: Mapping[str, int],
    of: str = "COUNT(*)",
    *,
    where: str = "",
    bounds: Mapping[str, Bounds] | None = None,
    **promise: Any,
) -> Any:
    """One number of a curator for each of the keys, which are whole numbers below those of `shape`.

    `bounds` are of the other columns, but for `id`; `promise` is as in `Curated.of`.
    """
    keys = {name: Keys(list(range(many))) for name, many in shape.items()}
    curated = Curated.of("people", rows, {**keys, **(bounds or {})}, **promise)
    by, some = ", ".join(shape), f"people WHERE {where}" if where else "people"
    question = f"SELECT {by}, {of} AS n FROM {some} GROUP BY {by}"  # noqa: S608 - ours
    return curated.cells(question, tuple(shape.values()))


@lru_cache(maxsize=64)
def _epsilon(square: Fraction) -> Fraction:
    """The epsilon of a question that may cost so much mu^2."""
    return Fraction(GDP.of_square(square).epsilon(_QUESTION).lower)


Against: TypeAlias = Literal["raw", "rounded", "private"]
AGAINST: tuple[Against, ...] = get_args(Against)
"""Answers that nothing was done about, a classical defence, and private answers."""


MOST = Fraction(10**12)
"""The largest promise that is played for."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One play. The same attacker with the same effort meets every defence."""

    against: Against
    effort: int
    epsilon: Fraction = Fraction(1)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.against not in AGAINST:
            raise InputError(
                f"against is {self.against}",
                why=f"answers are {', '.join(AGAINST)}",
                fix="name one of them",
            )
        if positive(self.epsilon, "epsilon") > MOST:
            raise InputError(
                "epsilon is out of range",
                why=f"above {float(MOST):g} nothing is promised to anybody",
                fix="pass a smaller one",
            )
        if self.effort < 1:
            raise InputError(
                f"effort is {self.effort}", why="an attack takes some", fix="pass effort >= 1"
            )

    @property
    def pure(self) -> Promise:
        """The promise of epsilon alone."""
        return Promise(float(self.epsilon))

    @property
    def approximate(self) -> Promise:
        """The promise of epsilon and delta, and of the mu that a curator makes of them."""
        return Promise(float(self.epsilon), float(DELTA), math.sqrt(self.mu_squared))

    @property
    def mu_squared(self) -> Fraction:
        """What a budget of epsilon and delta pays for in Gaussian noise."""
        return Budget(epsilon=self.epsilon, delta=DELTA).cap().amount

    def play(
        self, run: Callable[[T, int], Outcome], raw: T, rounded: T, private: Callable[[], T]
    ) -> Outcome:
        """Run an attack against the answers of this setting; the private system is made for it."""
        target = raw if self.against == "raw" else rounded
        return run(private() if self.against == "private" else target, self.effort)

    def draws(self, purpose: int) -> SplitMix64:
        """Repeatable draws, others for every purpose."""
        return SplitMix64(1_000_003 * self.seed + purpose)


def among(what: str, value: Real, listed: "tuple[Real, ...] | range") -> None:
    """Refuse what is not on a list."""
    if value not in listed:
        raise InputError(
            f"this {what} is not on the list",
            why=f"the lab plays {', '.join(f'{float(one):g}' for one in listed)}",
            fix="choose one of them",
        )
