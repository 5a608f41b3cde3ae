"""Budgets as owners state them."""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from discreet.errors import InputError
from discreet.privacy import EPSILON, MU_SQUARED, RHO, Filter, Measure, Neighbours
from discreet.privacy.budgets.charges import Charge
from discreet.privacy.guarantees.guarantee import below_one
from discreet.rationals import Real, positive

MeasureName: TypeAlias = Literal["epsilon", "rho", "mu-squared", "per-person"]
PER_PERSON: Final = "per-person"

_MEASURES: Final[dict[str, Measure]] = {one.name: one for one in (EPSILON, RHO, MU_SQUARED)}


@dataclass(frozen=True, slots=True, init=False)
class Budget:
    """A cap for ever: pure epsilon, (epsilon, delta), or rho.

    Guarantee:
        (epsilon, delta) is kept by a filter on Gaussian privacy, which lets far more questions
        through than adding epsilons would; half of delta is for what questions need of it
        themselves. With `measure="epsilon"` epsilons are added, and delta is for found keys alone:
        better for up to some 8 precise counts. `measure="rho"` is a filter on zCDP. Pure epsilon
        adds epsilons. `Budget.per_person` gives every person a budget of their own.

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
                why="one of them says how much may be given away",
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
        """A budget for each person, which each question takes from by what that person adds to it.

        Example:
            >>> Budget.per_person(epsilon=1, delta=1e-6).measure
            'per-person'
        """
        return Budget(epsilon, delta, measure=PER_PERSON)

    @property
    def is_per_person(self) -> bool:
        """Whether every person has it for themselves."""
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

        Where no measure was chosen, that of the first cap in `like` which can keep it.
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
