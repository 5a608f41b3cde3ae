"""The effect of noise on one count and on every attacker, computed exactly for drawing.

A count is released with the noise of this package. Its law is written down twice: for the data
without a person and for the data with them. Who looks at the answer and says "in" or "not in" makes
two kinds of error, and the guarantee says which pairs of errors nobody can have.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

from discreet.errors import InputError
from discreet.lab.setting import DELTA, among
from discreet.mechanisms import Gaussian, Laplace
from discreet.mechanisms.mechanism import Law
from discreet.privacy import Region, read
from discreet.privacy.numerics.rounding import Interval
from discreet.rationals import Real, positive

Noise: TypeAlias = Literal["laplace", "gaussian"]
NOISES: tuple[Noise, ...] = get_args(Noise)

EPSILONS = tuple(map(Fraction, ("1/10", "1/5", "3/10", "1/2", "7/10", "1", "3/2", "2", "3", "5")))
"""The stops of a slider, evenly spaced to the ear: each is about half as much again."""

REACH = 30
"""Answers that are drawn on either side of the truth; the rest is summed up."""

ALARMS = 10
"""The number of a hundred people outside the data whom the attacker believes to be in it."""

POINTS = 101


@dataclass(frozen=True, slots=True)
class Curves:
    """Two laws of an answer and the errors of those who try to tell them apart.

    A slider stops at `stops`. `answers` are counted from the true count without the person;
    `without` and `joined` say how probable each is. An attacker who says "in" from `answers[i]` on
    has `alarms[i]` and `misses[i]`. `floor` are pairs of false alarms and the least possible
    misses: the boundary of the guarantee, with the corners that it has at the answers. 95 of 100
    answers are within `half_width`. Attackers who raise `of_strangers` false alarms in a hundred
    find at most `of_people` in a hundred, rounded up; `reading` is a sentence about the guarantee.
    """

    noise: Noise
    epsilon: float
    delta: float
    stops: tuple[float, ...]
    answers: tuple[int, ...]
    without: tuple[float, ...]
    joined: tuple[float, ...]
    alarms: tuple[float, ...]
    misses: tuple[float, ...]
    floor: tuple[tuple[float, ...], ...]
    half_width: float
    of_strangers: int
    of_people: int
    reading: str


def curves(noise: Noise, epsilon: Real) -> Curves:
    """Draw the noise of one count at a price.

    Example:
        >>> drawn = curves("laplace", 1)
        >>> drawn.of_people, drawn.half_width
        (28, 3.0)
    """
    exact = positive(epsilon, "epsilon")
    among("epsilon", exact, EPSILONS)
    mechanism = _mechanism(noise, exact)
    guarantee, law = mechanism.guarantee, mechanism.claim.law
    assert law is not None  # noqa: S101 - at all stops the law is short enough to list
    without, joined = law(0), law(1)
    answers = tuple(range(-REACH, REACH + 2))
    alarms = tuple(_from(without, answer) for answer in answers)
    misses = tuple(1 - _from(joined, answer) for answer in answers)
    region, alarmed = Region.of(guarantee, points=POINTS), Fraction(ALARMS, 100)
    evenly = zip(region.false_alarms.tolist(), region.misses.tolist(), strict=True)
    return Curves(
        noise,
        float(exact),
        0.0 if noise == "laplace" else float(DELTA),
        tuple(map(float, EPSILONS)),
        answers,
        tuple(_mass(without, answer) for answer in answers),
        tuple(_mass(joined, answer) for answer in answers),
        alarms,
        misses,
        tuple(sorted([*evenly, *zip(alarms, misses, strict=True)])),
        mechanism.error(Fraction(19, 20)),
        ALARMS,
        min(100, math.ceil((100 * (1 - Interval.of(guarantee.tradeoff(alarmed)))).upper)),
        read(guarantee),
    )


def _mechanism(noise: Noise, epsilon: Fraction) -> Laplace | Gaussian:
    match noise:
        case "laplace":
            return Laplace(epsilon=epsilon, sensitivity=1)
        case "gaussian":
            return Gaussian(epsilon=epsilon, delta=DELTA, sensitivity=1)
    raise InputError(
        f"noise is {noise}", why=f"drawn are {' and '.join(NOISES)}", fix="name one of them"
    )


def _mass(law: Law, answer: int) -> float:
    """The probability of an answer: the middle of bounds that a picture cannot tell apart."""
    low, high = law.get(answer, (0.0, 0.0))
    return (low + high) / 2


def _from(law: Law, answer: int) -> float:
    """The probability of an answer or a larger one."""
    larger = math.fsum(_mass(law, one) for one in law if isinstance(one, int) and one >= answer)
    return min(1.0, larger + sum(law["above"]) / 2)
