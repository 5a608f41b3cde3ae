"""Ask about everybody and about all but one, and subtract; what an auditor's refusals reveal."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.outcome import Outcome, Promise, check_effort, check_prior, numbers
from discreet.attacks.reconstruction import databases, posterior
from discreet.attacks.simulation import Bits, Reals
from discreet.errors import InputError

WardSums: TypeAlias = Callable[[NDArray[np.bool_]], Reals]
"""A system that says, ward by ward, about how many people of a subset have the secret."""


@dataclass(frozen=True, slots=True)
class Differencing:
    """Finds one person's bit in every ward.

    `secret` has a row a ward; the first person of each is the one the attacker is after, and has
    the secret with probability `prior`. Wards have no people in common, so each is a trial of its
    own under one guarantee.

    Example:
        >>> secret = np.array([[1, 0, 1], [0, 1, 1]])
        >>> Differencing(secret).run(lambda who: (secret * who).sum(axis=1), effort=1).success
        1.0
    """

    secret: Bits
    promise: Promise = field(default_factory=Promise)
    prior: float = 0.5

    def __post_init__(self) -> None:
        if np.ndim(self.secret) != 2 or not np.isin(self.secret, (0, 1)).all():
            raise InputError(
                "secret is not a table of bits",
                why="each row is a ward, each column a person in it",
                fix="pass zeros and ones in rows of equal length",
            )
        if self.secret.size == 0:
            raise InputError("nobody has a secret", why="each ward has a target", fix="pass some")
        check_prior(self.prior, float(self.secret[:, 0].mean()), len(self.secret))

    def run(self, target: WardSums, effort: int = 1) -> Outcome:
        """Ask both questions `effort` times and subtract the means."""
        everybody = np.ones(self.secret.shape, dtype=np.bool_)
        others = everybody.copy()
        others[:, 0] = False
        gap = mean_answer(target, everybody, effort) - mean_answer(target, others, effort)
        return self.promise.scored((gap > 0.5) == self.secret[:, 0], self.prior)


def mean_answer(target: WardSums, subset: NDArray[np.bool_], effort: int) -> Reals:
    """The mean of the answers to the same question, asked again and again."""
    check_effort(effort, "questions")
    total = np.zeros(len(subset))
    for _ in range(effort):
        total += numbers(target(subset), len(subset))
    return total / effort


@dataclass(frozen=True, slots=True)
class Averaging(Differencing):
    """Knows everybody in a ward but one, and asks for the ward's total `effort` times.

    Fresh noise on each answer averages out as 1/sqrt(effort). A curator that stores its answers
    returns the same every time, and the hundredth answer reveals what the first did.
    """

    def run(self, target: WardSums, effort: int = 1000) -> Outcome:
        """Average, subtract those who are known, and round."""
        everybody = np.ones(self.secret.shape, dtype=np.bool_)
        total = mean_answer(target, everybody, effort)
        guess = total - self.secret[:, 1:].sum(axis=1) > 0.5
        return self.promise.scored(guess == self.secret[:, 0], self.prior)


class QueryAuditor:
    """Answers sums of bits exactly, ward by ward, or refuses with NaN.

    It keeps the databases of a ward that fit all answers so far, and refuses a question whose
    answer would leave only databases that agree on somebody's bit. That sounds safe: no answer
    reveals anybody's bit. But whether it refuses depends on the secret.
    """

    __slots__ = ("_all", "_open", "_secret")

    def __init__(self, secret: Bits) -> None:
        self._secret, self._all = secret, databases(secret.shape[1])
        self._open = np.ones((len(secret), len(self._all)), dtype=np.bool_)

    def __call__(self, who: NDArray[np.bool_]) -> Reals:
        """How many people of a subset have the secret, where that may be said."""
        truth = (self._secret * who).sum(axis=1)
        left = self._open & (who @ self._all.T == truth[:, None])
        ones, many = left @ self._all, left.sum(axis=1, keepdims=True)
        refused = ((ones == 0) | (ones == many)).any(axis=1)
        self._open = np.where(refused[:, None], self._open, left)
        return np.where(refused, np.nan, truth)


@dataclass(frozen=True, slots=True)
class Refusals:
    """Finds everybody's bit from what an auditor answers, and from what it does not.

    `secret` has a row a ward. The attacker asks about three people at a time, all around the ward,
    and keeps the databases for which the auditor, whose rule is public, would have said the same. A
    first sum is refused if it is 0 or 3: then the three are alike. From a system that refuses
    nothing the attacker takes answers as they are, and weighs databases by how well they fit.

    Reference: Kenthapadi, Mishra, Nissim 2005, Simulatable Auditing.
    """

    secret: Bits
    promise: Promise = field(default_factory=Promise)

    def __post_init__(self) -> None:
        Differencing(self.secret)  # the same shape, and fair bits

    def run(self, target: WardSums, effort: int = 7) -> Outcome:
        """Ask at most `effort` questions of every ward."""
        check_effort(effort, "questions")
        wards, each = self.secret.shape
        everything, asked = databases(each), self.questions(effort)
        said = [_heard(target(np.tile(who, (wards, 1))), wards) for who in asked]
        answers = np.stack(said, axis=1)
        refused = np.isnan(answers)
        auditor = QueryAuditor(everything)
        expected = (
            np.stack([auditor(np.tile(who, (len(everything), 1))) for who in asked], axis=1)
            if refused.any()
            else (everything @ asked.T).astype(np.float64)
        )
        weights = posterior(_squares(answers, expected), len(asked))
        return self.promise.scored((weights @ everything > 0.5) == self.secret)

    def questions(self, effort: int) -> NDArray[np.bool_]:
        """Three people next to each other, around a circle."""
        people = np.arange(self.secret.shape[1])
        return np.asarray((people[None, :] - people[:effort, None]) % people.size < 3)


def _heard(said: object, wards: int) -> Reals:
    """Numbers, or NaN where an answer was refused."""
    if isinstance(said, np.ndarray) and said.dtype.kind == "f":
        numbers(np.where(np.isnan(said), 0.0, said), wards)
        return np.asarray(said, dtype=np.float64)
    return numbers(said, wards)


_OTHERWISE = 1e9
"""What it counts for if a question was answered that would have been refused, or the reverse."""


def _squares(answers: Reals, expected: Reals) -> Reals:
    """How far each ward's answers, a row each, are from what each database would give."""
    total = np.zeros((len(answers), len(expected)))
    for said, foreseen in zip(answers.T, expected.T, strict=True):
        gaps = said[:, None] - foreseen[None, :]
        silent = np.isnan(said)[:, None] == np.isnan(foreseen)[None, :]
        total += np.where(silent, np.nan_to_num(gaps) ** 2, _OTHERWISE)
    return total
