"""What an attack found out, beside what chance finds out and what a guarantee lets anybody find."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from discreet.errors import InputError


@dataclass(frozen=True, slots=True)
class Outcome:
    """The attacker's rate of success, the rate without any answers, and the most a promise allows.

    `n` is how many guesses were scored. `bound` is what no attacker can pass if the answers keep
    the guarantee that was claimed for them; it is 1 where nothing was claimed.

    Example:
        >>> Outcome(success=1.0, baseline=0.5, bound=0.73, n=128).refutes
        True
    """

    success: float
    baseline: float
    bound: float
    n: int

    def __post_init__(self) -> None:
        for name in ("success", "baseline", "bound"):
            share = float(getattr(self, name))
            object.__setattr__(self, name, share)
            if not 0 <= share <= 1:
                raise InputError(f"{name} is {share}", why="it is a rate", fix="keep it in [0, 1]")
        if self.n < 1:
            raise InputError("nothing was scored", why="a rate needs trials", fix="raise effort")

    @property
    def standard_error(self) -> float:
        """How far sampling moves `success` if `bound` is the truth; guesses counted as independent.

        The larger of that and of one guess in n, so that a bound of 1 or 0 still has an error.
        """
        spread = math.sqrt(self.bound * (1 - self.bound) / self.n)
        return max(spread, 1 / self.n)

    @property
    def refutes(self) -> bool:
        """Whether success is above the bound by more than three standard errors."""
        return self.success > self.bound + 3 * self.standard_error


def pool(outcomes: Iterable[Outcome]) -> Outcome:
    """Several runs as one, each weighing as many guesses as it scored."""
    runs = list(outcomes)
    n = sum(run.n for run in runs)

    def mean(name: str) -> float:
        return sum(float(getattr(run, name)) * run.n for run in runs) / max(n, 1)

    return Outcome(mean("success"), mean("baseline"), mean("bound"), n)
