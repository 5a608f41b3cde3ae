"""An auditor who refuses answers that would tell somebody's secret, and tells it by refusing."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.differencing import Differencing, WardSums
from discreet.attacks.exponential import databases, posterior
from discreet.attacks.outcome import Outcome, Promise, check_effort, numbers
from discreet.attacks.simulation import Bits, Reals


class QueryAuditor:
    """Answers sums of bits exactly, ward by ward, or refuses with NaN.

    It keeps the databases of a ward that all answers so far leave open, and refuses a question
    whose answer would leave only such as agree on somebody's bit. That sounds safe: no answer
    tells anybody's bit. But whether it refuses depends on the secret.
    """

    __slots__ = ("_all", "_open", "_secret")

    def __init__(self, secret: Bits) -> None:
        self._secret, self._all = secret, databases(secret.shape[1])
        self._open = np.ones((len(secret), len(self._all)), dtype=np.bool_)

    def __call__(self, who: NDArray[np.bool_]) -> Reals:
        """How many people of a subset have the secret, where that may be said."""
        sums, truth = who @ self._all.T, (self._secret * who).sum(axis=1)
        refused = self._refuses(sums, truth)
        self._open &= refused[:, None] | (sums == truth[:, None])
        return np.where(refused, np.nan, truth)

    def _refuses(self, sums: Bits, truth: Bits) -> NDArray[np.bool_]:
        return self._tells(self._open & (sums == truth[:, None]))

    def _tells(self, left: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether the databases that are left, of which there are some, agree on a bit."""
        ones, many = left @ self._all, left.sum(axis=1, keepdims=True)
        return np.asarray(((ones == 0) | (ones == many)).any(axis=1) & (many[:, 0] > 0))


class SimulatableAuditor(QueryAuditor):
    """Refuses if any answer that is still possible would tell a bit, which needs no secret.

    Its refusals tell nothing. Of sums of bits it answers none, as a sum of 0 is always possible.
    """

    __slots__ = ()

    def _refuses(self, sums: Bits, truth: Bits) -> NDArray[np.bool_]:
        return np.asarray(
            np.any([self._tells(self._open & (sums == n)) for n in range(sums.max() + 1)], axis=0)
        )


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
        right = float(np.mean((weights @ everything > 0.5) == self.secret))
        return Outcome(right, 0.5, self.promise.of_bit(), self.secret.size)

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
