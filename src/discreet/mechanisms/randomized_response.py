"""Randomized response: everyone lies with a known probability, so no answer convicts anyone."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.argument_names import also_called
from discreet.errors import InputError
from discreet.mechanisms.comparison_laws import ends
from discreet.mechanisms.mechanism import Claim, Law, Mechanism, Pair, exactly_one, fill
from discreet.privacy import Approximate, Guarantee, Neighbours
from discreet.privacy import RandomizedResponseNoise as RandomizedResponseLaw
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, failure, positive, rational, whole

_MOST = Fraction(10**5)
"""The largest epsilon: a lie in e^100000 answers is rarer than anything a coin can be asked for."""


@dataclass(frozen=True, slots=True, init=False)
class RandomizedResponse(Mechanism):
    """Report the true answer of k with probability `truth`, and each other with probability `lie`.

    Guarantee:
        Each report is epsilon-differentially private about its own answer, with truth/lie <=
        e^epsilon; in full the law `privacy.RandomizedResponseNoise`. From `epsilon`, `lie` =
        1/(e^epsilon + k - 1) is rounded up at 113 bits to a rational that a coin has exactly; from
        `gamma` or `truth`, epsilon = ln(truth/lie) is rounded up.
    Neighbours:
        One person's answer is changed to any other; who reports is public. With
        `neighbours=ADD_REMOVE` an absent person must be made to report all the same.
    Why:
        The ratio of the probabilities of any report under two answers is truth/lie, lie/truth or 1.
    Edge cases:
        Answers are the ints 0 to k - 1, or bools for k = 2; others are refused by an error that
        does not quote them. gamma = 1/2 never lies and promises nothing. Empty in, empty out.

    Example:
        >>> RandomizedResponse(epsilon=1, k=5).release([0, 4, 2]).shape
        (3,)
        >>> survey = RandomizedResponse(gamma=0.25)
        >>> survey.truth, survey.lie, survey == RandomizedResponse.two_coins()
        (Fraction(3, 4), Fraction(1, 4), True)
        >>> survey.guarantee.epsilon(0).upper  # ln 3
        1.0986122886...

    Reference: Warner, Randomized Response, 1965; Kairouz, Bonawitz, Ramage, Discrete Distribution
    Estimation under Local Privacy (k-ary randomized response).
    """

    epsilon: Fraction | None
    truth: Fraction
    lie: Fraction
    k: int
    neighbours: Neighbours

    @also_called(p="truth")
    def __init__(
        self,
        *,
        epsilon: Real | None = None,
        gamma: Real | None = None,
        truth: Real | None = None,
        k: int = 2,
        neighbours: Neighbours = Neighbours.CHANGE_ONE,
    ) -> None:
        exactly_one(epsilon=epsilon, gamma=gamma, truth=truth)
        answers = whole(k, "k", at_least=2)
        asked = None if epsilon is None else positive(epsilon, "epsilon")
        lie = _lie(asked, answers) if asked is not None else _from_truth(gamma, truth, answers)
        true = 1 - (answers - 1) * lie
        fill(
            self,
            epsilon=asked if lie == 0 or asked else Fraction(Interval.of(true / lie).log().upper),
            truth=true,
            lie=lie,
            k=answers,
            neighbours=Neighbours(neighbours),
        )

    @classmethod
    def two_coins(cls) -> "RandomizedResponse":
        """Heads: the truth; tails: what a second coin says. Three truths a lie, epsilon = ln 3."""
        return cls(gamma=Fraction(1, 4))

    @property
    def gamma(self) -> Fraction:
        """Half the distance between truth and lie: for two answers, how far truth is above 1/2."""
        return (self.truth - self.lie) / 2

    @property
    def guarantee(self) -> Guarantee:
        """The law of one report."""
        if self.epsilon is None:
            return Approximate(0, 1, neighbours=self.neighbours)
        return RandomizedResponseLaw(self.epsilon, self.k, neighbours=self.neighbours)

    def release(self, value: Any) -> Any:
        """One report for each answer: an int, a bool or an array like what came in."""
        answers = self._read(value)
        reports = self._report(answers)
        if answers.ndim:
            return reports
        return bool(reports) if reports.dtype == np.bool_ else int(reports)

    def estimate(self, reports: Any) -> Any:
        """The unbiased estimate of the proportion of each answer; of answer 1 alone for k = 2.

        Example:
            >>> RandomizedResponse.two_coins().estimate([1, 1, 0, 1])
            1.0
        """
        given = self._read(reports)
        if given.size == 0:
            raise InputError("no reports", why="they have no proportion", fix="collect some first")
        shares = np.bincount(given.astype(np.int64).ravel(), minlength=self.k) / given.size
        proportions = (shares - float(self.lie)) / float(2 * self.gamma)
        return float(proportions[1]) if self.k == 2 else proportions

    def variance(self, n: int) -> float:
        """The variance of an estimated proportion over the coins of n people, at most.

        For two answers exactly (1/(16 gamma^2) - 1/4)/n whatever the answers; with answers that
        are themselves a sample from a population, at most 1/(16 gamma^2 n).

        Example:
            >>> RandomizedResponse(gamma=0.25).variance(3)
            0.25
        """
        people = whole(n, "n", at_least=1)
        most = max(self.truth * (1 - self.truth), self.lie * (1 - self.lie))
        return Interval.of(most / (people * (2 * self.gamma) ** 2)).upper

    def error(self, confidence: Real = 0.95, n: int = 1) -> float:
        """How far the estimated proportion of n reports is off: `error(0.95, n=4000)`.

        One report is the default, as of every mechanism; it holds whatever the answers are.

        Why: the law of the estimate depends on the answers, so this is a bound over all of them. A
        count of reports is a sum of coins of probability truth or lie. A coin p, centred, is
        sub-Gaussian with v(p) = (1 - 2p)/(2 ln((1 - p)/p)) and no less, so with the larger v,
        P(|count/n - mean| > w) <= 2 e^(-n w^2/(2 v)).

        Reference: Kearns, Saul, Large Deviation Methods for Approximate Probabilistic Inference.
        """
        people = whole(n, "n", at_least=1)
        spread = _proxy(self.truth).join(_proxy(self.lie)) * 2 / people
        width = (Interval.of(failure(confidence) / 2).log() * -spread).sqrt()
        return (width / (2 * self.gamma)).upper

    @property
    def claim(self) -> Claim:
        """Two answers; for k > 2 a third one is no harder to protect."""
        pairs = (Pair(0, 1), Pair(self.k - 1, 0))
        return Claim("RandomizedResponse", self.guarantee, pairs, self._draw, self._law)

    def _draw(self, value: Any, runs: int) -> NDArray[Any]:
        return self._report(np.full(runs, int(self._read(value)), dtype=np.int64))

    def _law(self, value: Any) -> Law:
        own = int(self._read(value))
        chances = [self.truth if answer == own else self.lie for answer in range(self.k)]
        return ends({answer: Interval.of(p) for answer, p in enumerate(chances)})

    def _report(self, answers: NDArray[Any]) -> NDArray[Any]:
        """Every answer uses the same number of coins."""
        lies = np.asarray(noise.bernoulli((self.k - 1) * self.lie, answers.shape))
        if self.k == 2:
            return answers ^ lies
        others = np.asarray(noise.below(self.k - 1, answers.shape)).astype(np.int64)
        return np.where(lies, others + (others >= answers), answers)

    def _read(self, value: Any) -> NDArray[Any]:
        answers = _as_array(value)
        if answers.size == 0 and answers.dtype.kind == "f":
            answers = answers.astype(np.int64)
        if answers.dtype == np.bool_ and self.k == 2:
            return answers
        if answers.dtype.kind in "iu" and (((answers >= 0) & (answers < self.k)).all()):
            return answers.astype(np.int64)
        raise InputError(
            "an answer is not one of the k",
            why=f"answers are the ints from 0 to {self.k - 1}" + (" or bools" * (self.k == 2)),
            fix="number the possible answers, with one of them for everything else",
        )


def _as_array(value: Any) -> NDArray[Any]:
    """Answers as an array; of a kind that is refused where they cannot be one."""
    try:
        return np.asarray(value)
    except ValueError:  # lists of different lengths, which numpy would quote
        return np.array(None)


def _from_truth(gamma: Real | None, truth: Real | None, k: int) -> Fraction:
    """The probability of each lie; the truth has 1/2 + gamma of two answers, or `truth`."""
    told = rational(truth if gamma is None else gamma, "truth or gamma")  # type: ignore[arg-type]  # one is given
    told += Fraction(gamma is not None, 2)
    if (gamma is None or k == 2) and Fraction(1, k) < told <= 1:
        return (1 - told) / (k - 1)
    raise InputError(
        f"the truth is told with probability {told} and k is {k}",
        why="that is 1/2 + gamma of two answers, or `truth` of k, and above 1/k",
        fix="pass gamma in (0, 1/2] with k=2, truth in (1/k, 1], or epsilon",
    )


def _lie(epsilon: Fraction, k: int) -> Fraction:
    """1/(e^epsilon + k - 1), rounded up to a rational that a coin can have."""
    lie = (1 / (Interval.of(min(epsilon, _MOST)).exp() + (k - 1))).hi
    rounded = Fraction(*map(int, lie.as_integer_ratio()))
    if epsilon <= _MOST and rounded * k < 1:
        return rounded
    raise InputError(
        f"epsilon is {'over 1e5' if epsilon > 1 else 'under 1e-30'}",
        why="the coin would be too near to never or to even to be made exactly",
        fix="pass an epsilon from 1e-30 to 1e5",
    )


def _proxy(p: Fraction) -> Interval:
    """The sub-Gaussian variance of a centred coin."""
    if p in (0, 1):
        return Interval.of(0)
    if p == Fraction(1, 2):
        return Interval.of(Fraction(1, 4))
    return Interval.of((1 - 2 * p) / 2) / Interval.of((1 - p) / p).log()
