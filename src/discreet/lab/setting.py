"""What every play in the lab has in common: who is attacked, how hard, and what was promised."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

from discreet.attacks.outcome import Promise
from discreet.attacks.simulation import SplitMix64
from discreet.curator.budget import Budget
from discreet.errors import InputError
from discreet.lab.curated import DELTA
from discreet.rationals import positive

Against: TypeAlias = Literal["raw", "rounded", "private"]
AGAINST: tuple[Against, ...] = get_args(Against)
"""Exact answers, a classical defence, and private answers."""


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
                "epsilon is out of reach",
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
        """The promise of epsilon and delta, and of the rho that a curator makes of them."""
        rho = Budget(epsilon=self.epsilon, delta=DELTA).cap().amount / 2  # the cap is mu^2
        return Promise(float(self.epsilon), float(DELTA), float(rho))

    def draws(self, purpose: int) -> SplitMix64:
        """Repeatable draws, others for every purpose."""
        return SplitMix64(1_000_003 * self.seed + purpose)
