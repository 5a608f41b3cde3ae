"""Budgets as owners state them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from discreet.errors import InputError
from discreet.privacy import EPSILON, MU_SQUARED, RHO, Filter, Measure, Neighbours
from discreet.privacy.budgets.buying import buys
from discreet.privacy.budgets.charges import Charge
from discreet.privacy.guarantees.guarantee import below_one
from discreet.rationals import Real, positive

MeasureName: TypeAlias = Literal["epsilon", "rho", "mu-squared", "per-person"]
PER_PERSON: Final = "per-person"

_MEASURES: Final[dict[str, Measure]] = {one.name: one for one in (EPSILON, RHO, MU_SQUARED)}
_QUESTIONS: Final = (1, 10, 100, 1000)


@dataclass(frozen=True, slots=True, init=False)
class Budget:
    """A cap for ever: pure epsilon, (epsilon, delta), or rho.

    Guarantee:
        A filter on Gaussian privacy keeps (epsilon, delta), which allows far more questions than
        adding epsilons; half of delta is for the deltas of questions themselves. With
        `measure="epsilon"` epsilons are added, and delta is only for found keys: better for a few
        precise questions. `measure="rho"` is a filter on zCDP. Pure epsilon adds epsilons.
        `compare()` shows what each of them buys. `Budget.per_person` gives every person a budget of
        their own.

    Example:
        >>> Budget(epsilon=3, delta=1e-6).cap().measure.name
        'mu-squared'
        >>> Budget(epsilon=3).cap().amount
        Fraction(3, 1)

    Reference: Smith, Thakurta 2022 (filters for Gaussian privacy); Whitehouse, Ramdas,
    Rogers, Wu 2023, Theorem 1 (approximate zCDP filters);
    `docs/explanation/proofs/gaussian-accounts.md`.
    """

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None
    measure: MeasureName | None

    def __init__(
        self,
        epsilon: Real | None = None,
        delta: Real = 0,
        *,
        rho: Real | None = None,
        measure: MeasureName | None = None,
    ) -> None:
        if (epsilon is None) is (rho is None):
            raise InputError(
                "a budget in both epsilon and rho, or in neither",
                why="one of them must limit the privacy loss",
                fix="pass Budget(epsilon=3, delta=1e-6) or Budget(rho=0.5)",
            )
        facts = {
            "delta": below_one(delta, "delta"),
            "epsilon": None if epsilon is None else positive(epsilon, "epsilon"),
            "rho": None if rho is None else positive(rho, "rho"),
            "measure": measure,
        }
        for name, fact in facts.items():
            object.__setattr__(self, name, fact)
        self._check()

    @staticmethod
    def per_person(epsilon: Real, delta: Real) -> "Budget":
        """A budget for each person, which each question charges for what that person adds to it.

        Example:
            >>> Budget.per_person(epsilon=1, delta=1e-6).measure
            'per-person'
        """
        return Budget(epsilon, delta, measure=PER_PERSON)

    @property
    def is_per_person(self) -> bool:
        """Whether every person has a budget of their own."""
        return self.measure == PER_PERSON

    def _check(self) -> None:
        known = self.measure is None or self.measure in get_args(MeasureName)
        wanted = "rho" if self.epsilon is None else None if self.delta else "epsilon"
        if known and (self.measure is None or wanted in (None, self.measure)):
            return
        raise InputError(
            f"a budget in {'rho' if self.epsilon is None else 'epsilon'} counted in {self.measure}",
            why="epsilon without delta adds epsilons, rho adds rho, and (epsilon, delta) may be "
            f"kept in {', '.join(get_args(MeasureName))}",
            fix="leave measure out, or pass a delta such as 1e-6",
        )

    if not TYPE_CHECKING:  # which knows better

        def __getattr__(self, name: str) -> Any:
            alone = "dp.Filter.basic(epsilon=1).charge(dp.Pure(0.3)).left"
            told = f"a Budget is a cap and has no {name}: curators take from it; alone: {alone}"
            raise AttributeError(told, name=name, obj=self)

    def cap(self, neighbours: Neighbours = Neighbours.ADD_REMOVE, *like: Charge) -> Charge:
        """The cap of the account that keeps it.

        If no measure was chosen, it is that of the first cap in `like` that can keep it.
        """
        if self.rho is not None:
            return Filter.zcdp(self.rho, self.delta, neighbours=neighbours).limit
        assert self.epsilon is not None  # noqa: S101 - narrowing
        if not self.delta:
            return Filter.basic(self.epsilon, neighbours=neighbours).limit
        other = next((one.measure.name for one in like if one.delta), MU_SQUARED.name)
        each = self.is_per_person  # whose questions have no delta of their own
        by = RHO if each else _MEASURES[self.measure or other]
        deltas = Fraction(0) if by == EPSILON or each else self.delta / 2
        within = Filter.within(
            self.epsilon, self.delta, by=by, deltas=deltas, neighbours=neighbours
        )
        return within.limit

    def compare(self, questions: Sequence[int] = _QUESTIONS) -> "Comparison":
        """The 95 % error of one count, if so many counts share the budget equally.

        Example:
            >>> print(Budget(epsilon=1, delta=1e-6).compare())
            questions       1     10    100   1000
            epsilon       3.0   30.0  299.6 2995.7
            rho           9.2   28.9   91.5  289.4
            mu-squared    8.6   27.1   85.6  270.6
            Up to 8 questions: measure="epsilon". More: measure="mu-squared".
        """
        names: Sequence[Any] = list(_MEASURES)
        if not (self.epsilon and self.delta):
            names = [self.cap().measure.name]
        caps = [
            Budget(self.epsilon, self.delta, rho=self.rho, measure=name).cap() for name in names
        ]
        rows = {str(cap.measure.name): [_half_width(cap, n) for n in questions] for cap in caps}
        return Comparison(tuple(questions), rows, _break_even(caps))


@dataclass(frozen=True, slots=True)
class Comparison:
    """95 % half-widths of one count for each measure and number of questions.

    `few` is up to how many questions adding epsilons is best; None if there is no choice.
    """

    questions: tuple[int, ...]
    half_widths: Mapping[str, list[float]]
    few: int | None

    def __str__(self) -> str:
        lines = ["questions " + "".join(f"{n:>7}" for n in self.questions)]
        lines += [
            f"{name:<10}" + "".join(f"{width:>7.1f}" for width in widths)
            for name, widths in self.half_widths.items()
        ]
        if self.few is not None:
            lines.append(
                f'Up to {self.few} questions: measure="epsilon". More: measure="mu-squared".'
            )
        return "\n".join(lines)


def _half_width(cap: Charge, questions: int) -> float:
    """Half-width of one count with the quieter noise that an equal share of a cap pays for."""
    noise = buys(cap.measure, cap.amount / questions)
    widths = [math.log(20) / float(noise.epsilon)] if noise.epsilon else []
    if noise.mu_squared:
        widths.append(1.959964 / math.sqrt(noise.mu_squared))
    return min(widths, default=math.inf)


def _break_even(caps: Sequence[Charge]) -> int | None:
    """The most questions for which adding epsilons is no worse than any other measure."""
    first, others = caps[0], caps[1:]
    if first.measure != EPSILON or not others:
        return None

    def better(questions: int) -> bool:
        own = _half_width(first, questions)
        return all(own <= _half_width(one, questions) for one in others)

    few = 0
    while few < 10_000 and better(few + 1):
        few += 1
    return few
