"""Targets, outcomes of attacks, and the success that chance and a guarantee allow."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.simulation import Reals
from discreet.errors import InputError

_NORMAL = NormalDist()

RARE = 1e-5
"""How often chance alone may look like a broken promise."""


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
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson interval of the success rate (Wilson 1927).

        Example:
            >>> low, high = Outcome(success=0.624, baseline=0.5, bound=0.622, n=100_000).interval
            >>> round(low, 3), round(high, 3)
            (0.621, 0.627)
        """
        square = 1.959964**2 / self.n
        middle = (self.success + square / 2) / (1 + square)
        spread = math.sqrt(square * (self.success * (1 - self.success) + square / 4)) / (1 + square)
        # Rounding must not leave out the rate itself at its ends, 0 and 1.
        low, high = min(self.success, middle - spread), max(self.success, middle + spread)
        return max(0.0, low), min(1.0, high)

    @property
    def refutes(self) -> bool:
        """Whether an attacker at the bound has so many right less than once in 100,000 runs.

        A run above its bound by sampling error is not a broken promise. One guess in ten runs may
        always be right, so that a bound of 0 is not refuted by an accident.
        """
        hits = round(self.success * self.n)
        return _chance_of(hits, self.n, max(self.bound, 0.1 / self.n)) < RARE

    @property
    def verdict(self) -> str:
        """A sentence with the verdict on the guarantee."""
        if self.refutes:
            return "above the bound"
        return "within the bound" if self.success <= self.bound else "at the bound, within chance"


def _chance_of(hits: int, n: int, rate: float) -> float:
    """The probability of `hits` or more of n independent guesses that are right at a rate."""
    if hits <= n * rate or rate >= 1:
        return 1.0
    ways = math.lgamma(n + 1) - math.lgamma(hits + 1) - math.lgamma(n - hits + 1)
    term = math.exp(ways + hits * math.log(rate) + (n - hits) * math.log1p(-rate))
    total, odds = 0.0, rate / (1 - rate)
    for more in range(hits, n + 1):  # terms fall by a factor each, as hits are above the mean
        total += term
        term *= (n - more) / (more + 1) * odds
        if term < 1e-3 * RARE * total:
            break
    return total


def pool(outcomes: Iterable[Outcome]) -> Outcome:
    """Several runs as one, each weighing as many guesses as it scored."""
    runs = list(outcomes)
    n = sum(run.n for run in runs)

    def mean(name: str) -> float:
        return sum(float(getattr(run, name)) * run.n for run in runs) / max(n, 1)

    return Outcome(mean("success"), mean("baseline"), mean("bound"), n)


@dataclass(frozen=True, slots=True)
class Promise:
    """The guarantee that is claimed for all answers together; without epsilon, none.

    `mu` is what Gaussian differential privacy promises beside epsilon and delta, where it does: to
    tell whether somebody is in the data is no easier than to tell N(0, 1) from N(mu, 1).

    Example:
        >>> round(Promise(1).of_bit(), 3), Promise().of_bit()
        (0.731, 1.0)
    """

    epsilon: float | None = None
    delta: float = 0.0
    mu: float | None = None

    def __post_init__(self) -> None:
        for name, said in (("epsilon", self.epsilon), ("mu", self.mu)):
            if said is not None and not 0 <= said < math.inf:
                raise InputError(
                    f"{name} is {said}", why="it bounds a loss", fix=f"pass {name} >= 0"
                )
        if self.mu is not None and self.epsilon is None:
            raise InputError(
                "mu without epsilon", why="mu sharpens a bound", fix="pass epsilon and delta too"
            )
        if not 0 <= self.delta <= 1:
            raise InputError(
                f"delta is {self.delta}", why="it is a probability", fix="keep it in [0, 1]"
            )

    def group(self, people: int) -> "Promise":
        """The promise to that many people together (Dwork, Roth 2014, Theorem 2.2)."""
        if self.epsilon is None:
            return self
        together = people * self.epsilon
        delta = min(1.0, self.delta * people * _exp(together - self.epsilon)) if self.delta else 0.0
        return Promise(together, delta, None if self.mu is None else people * self.mu)

    def of_bit(self, prior: float = 0.5) -> float:
        """The most often that a secret bit is guessed: e^epsilon/(1 + e^epsilon) + delta if fair.

        For answers that see a person through the bit alone, such as sums of it: there, a bit that
        flips is a person who joins or leaves. `prior` is how probable a 1 is before any answer; a
        constant guess is right that often, or else the rest of the time. In between are the errors
        that epsilon allows, a polygon: the best of them is the one or the other or its corner.
        """
        if self.epsilon is None:
            return 1.0
        corner = 1 / (1 + math.exp(-self.epsilon))
        return min(1.0, max(prior, 1 - prior, corner) + self.delta, self._of_normal(prior))

    def scored(self, right: NDArray[np.bool_], prior: float = 0.5) -> Outcome:
        """The outcome of guesses of bits, each right or wrong."""
        bound = self.of_bit(prior)
        return Outcome(float(np.mean(right)), max(prior, 1 - prior), bound, np.size(right))

    def _of_normal(self, prior: float) -> float:
        """How often the likelier of N(0, 1) and N(mu, 1) is the right one (Dong, Roth, Su 2022)."""
        if self.mu is None or not 0 < prior < 1:
            return 1.0
        if self.mu == 0:
            return max(prior, 1 - prior)
        shift = math.log(prior / (1 - prior)) / self.mu
        one, other = (_NORMAL.cdf(self.mu / 2 + side) for side in (shift, -shift))
        return prior * one + (1 - prior) * other

    def of_event(self, without: float) -> float:
        """The most probable an event can be with a person in the data, from that without them."""
        if self.epsilon is None:
            return 1.0
        grown = without * _exp(self.epsilon) + self.delta
        kept = 1 - math.exp(-self.epsilon) * max(0.0, 1 - without - self.delta)
        if self.mu is None or not 0 < without < 1:
            return min(1.0, grown, kept)
        return min(grown, kept, max(without, _NORMAL.cdf(_NORMAL.inv_cdf(without) + self.mu)))

    def of_measured(self, hits: int, n: int) -> float:
        """`of_event` where the rate without was measured, by `n` trials.

        It may be as much higher as three standard errors hide (Wilson 1927): an event never seen is
        not impossible, and a system that keeps its promise is not to be accused of chance.
        """
        seen, slack = hits / n, 9 / n
        spread = 3 * math.sqrt((seen * (1 - seen) + slack / 4) / n)
        return self.of_event(min(1.0, (seen + slack / 2 + spread) / (1 + slack)))


def check_prior(prior: float, share: float, people: int) -> None:
    """Refuse secrets that do not look like draws from their stated source."""
    if not 0 < prior < 1:
        raise InputError(
            f"prior is {prior}", why="it is how probable a 1 is", fix="keep it between 0 and 1"
        )
    if abs(share - prior) > 5 * math.sqrt(prior * (1 - prior) / people):
        raise InputError(
            f"{share:.0%} of the secrets are 1, and prior is {prior}",
            why="chance and bound would be those of other secrets",
            fix=f"pass how common a 1 is, such as prior={share:.2g}",
        )


def _exp(epsilon: float) -> float:
    """e^epsilon, or infinity where a float ends."""
    return math.exp(epsilon) if epsilon < 700 else math.inf


def check_effort(effort: int, counts: str) -> None:
    """Refuse an attack that does nothing."""
    if effort < 1:
        raise InputError(
            f"effort is {effort}", why=f"it counts {counts}", fix="pass effort of at least 1"
        )


def numbers(said: object, *shape: int) -> Reals:
    """An answer as finite numbers of this shape; of no shape, one number.

    Without it an answer of NaN is compared with something, that is false, and an attacker who was
    told nothing at all seems to have been kept from learning anything.

    Example:
        >>> float(numbers(3)), numbers([1, 2], 2).tolist()
        (3.0, [1.0, 2.0])
    """
    try:
        read = np.asarray(said, dtype=np.float64)
    except (TypeError, ValueError):
        raise _unusable(f"a {type(said).__name__}", shape) from None
    if read.shape != shape:
        raise _unusable(_told(read.shape), shape)
    if not (np.isfinite(read).all() if shape else math.isfinite(read)):
        raise _unusable("what is not a finite number", shape)
    return read


def _unusable(found: str, shape: tuple[int, ...]) -> InputError:
    return InputError(
        f"the target answered with {found}",
        why=f"the attack reads {_told(shape)}, and finite",
        fix="let the target answer every question, with a number where it would rather not",
    )


def _told(shape: tuple[int, ...]) -> str:
    return f"an array of {' x '.join(map(str, shape))} numbers" if shape else "one number"
