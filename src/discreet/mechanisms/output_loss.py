"""The privacy loss of a known output for one pair of neighbours."""

from typing import Any

from discreet.errors import InputError
from discreet.mechanisms.additive import Additive
from discreet.mechanisms.mechanism import Mechanism
from discreet.privacy.numerics.rounding import Interval


def output_loss(mechanism: Mechanism, answer: Any, left: Any, right: Any) -> Interval:
    """The privacy loss of one answer: ln P(answer on left)/P(answer on right), from both sides.

    It is as private as both inputs are: to show it is another release. Over answers on `left` it is
    the law that `guarantee` is about, and often far below epsilon.

    Edge cases: additive noise, and mechanisms whose law is written down; others are refused. Where
    only `right` cannot have given the answer, the loss is infinite.

    Example:
        >>> from discreet.mechanisms import Laplace
        >>> count = Laplace(epsilon=1, sensitivity=2)
        >>> [round(output_loss(count, answer, 10, 12).upper, 6) for answer in (9, 11, 12)]
        [1.0, 0.0, -1.0]
    """
    if isinstance(mechanism, Additive):
        return mechanism.loss(answer, left, right)
    claim = mechanism.claim
    if claim.law is None:
        raise InputError(
            f"the law of {type(mechanism).__name__} is not written down for these parameters",
            why="the loss of one answer is a ratio of two exact probabilities",
            fix="use fewer outputs, or read the guarantee, which covers every answer",
        )
    outcome = claim.code(left, answer)
    outcome = tuple(outcome) if isinstance(outcome, list) else outcome
    here, there = (claim.law(side).get(outcome, (0.0, 0.0)) for side in (left, right))
    if here[1] == there[1] == 0:
        raise InputError(
            "an answer that neither input has",
            why="it has no loss",
            fix="pass an answer as `release` gives it",
        )
    return Interval.between(*here).log() - Interval.between(*there).log()
