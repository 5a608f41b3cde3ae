"""The meaning of a guarantee: in words, and as the errors that every attacker must make."""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Final
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.guarantees.guarantee import Guarantee
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.numerics.rounding import UNIT, Interval
from discreet.rationals import Real, positive, rational, whole

Floats = NDArray[np.float64]

_SLACK: Final = Fraction(1, 10)
"""How much larger than e^epsilon a change of odds is called rare where delta > 0."""

_CERTAIN: Final = 700.0
"""Past this epsilon odds mean nothing."""

_TRAIT: Final = "some trait of a person"

_ALMOST_ONE: Final = Fraction(999_999, 1_000_000)

_ALARMS: Final = Fraction(1, 20)
"""The share of false alarms in the sentence about the best attacker."""


def read(guarantee: Guarantee, *, odds: Real = Fraction(1, 9), delta: Real | None = None) -> str:
    """Say what a guarantee means for one person, every number rounded against the guarantee.

    Guarantee:
        The sentences hold for every attacker, whatever else is known or will be. `odds` are those
        of some fact about the person before the release: 1/9 for one to nine.
    Neighbours:
        Under add/remove, epsilon is about taking part at all; two possible traits of somebody who
        takes part are two steps apart, and are read from `.under(Neighbours.CHANGE_ONE)`.
    Why:
        Posterior odds are prior odds times the likelihood ratio. With delta > 0, a ratio above
        1.1 e^epsilon has probability at most 11 delta: if B is that event, P(B) <= e^epsilon Q(B) +
        delta <= P(B)/1.1 + delta.
    Edge cases:
        `delta` is 0 where that gives a finite epsilon, else 1e-6, unless it is named.

    Example:
        >>> from discreet.privacy.guarantees.pure import Pure
        >>> print(read(Pure(1, neighbours=Neighbours.CHANGE_ONE)))
        If the odds of some trait of a person were 1:9, afterwards they are at most 1:3.3, and at
        least 1:25. An attacker with 5 % false alarms detects the trait in at most 14 % of cases.
    """
    prior, slip = positive(odds, "odds"), _delta(guarantee, delta)
    about = guarantee.neighbours
    fact = _TRAIT if about is Neighbours.CHANGE_ONE else "a person having taken part"
    sentences = [_odds_sentence(guarantee, prior, slip, fact)]
    if about is Neighbours.ADD_REMOVE:
        sentences.append(_trait_sentence(guarantee, prior, slip))
    sentences.append(_attack_sentence(guarantee, fact))
    return " ".join(sentences)


def odds_after(odds: Real, epsilon: Real) -> tuple[float, float]:
    """The least and the most that odds can become under epsilon, rounded outwards.

    Example:
        >>> low, high = odds_after(Fraction(1, 9), 1)
        >>> round(1 / high, 2), round(1 / low, 2)
        (3.31, 24.46)
    """
    prior, factor = positive(odds, "odds"), Interval.of(rational(epsilon, "epsilon")).exp()
    return (prior / factor).lower, (prior * factor).upper


def _delta(guarantee: Guarantee, delta: Real | None) -> Fraction:
    if delta is not None:
        return rational(delta, "delta")
    return Fraction(0 if math.isfinite(guarantee.epsilon(0).upper) else Fraction(1, 10**6))


def _odds_sentence(guarantee: Guarantee, prior: Fraction, delta: Fraction, fact: str) -> str:
    epsilon = guarantee.epsilon(delta).upper
    start = f"If the odds of {fact} were {prior.numerator}:{prior.denominator}, afterwards they"
    if epsilon > _CERTAIN or delta * (1 + 1 / _SLACK) >= 1:
        return f"{start} may be anything: this guarantee does not bound them."
    factor = Interval.of(epsilon).exp()
    if delta == 0:
        high, low = _most(prior, factor), _least(prior, factor)
        return f"{start} are at most {high}, and at least {low}."
    worst = _most(prior, factor * (1 + _SLACK))
    rare = _rounded(Interval.of(delta * (1 + 1 / _SLACK)), ROUND_CEILING)
    return f"{start} are at most {worst}, except with probability {rare}."


def _trait_sentence(guarantee: Guarantee, prior: Fraction, delta: Fraction) -> str:
    """Two steps of add/remove: delta, too, is paid twice, the second time e^epsilon fold."""
    twice = guarantee.under(Neighbours.CHANGE_ONE)
    epsilon = guarantee.epsilon(delta).upper
    if delta and math.isinf(twice.epsilon(delta).upper) and epsilon < _CERTAIN:
        delta = Fraction((delta * (1 + Interval.of(epsilon).exp())).upper)
    return _odds_sentence(twice, prior, min(delta, _ALMOST_ONE), _TRAIT)


def _attack_sentence(guarantee: Guarantee, fact: str) -> str:
    caught = 1 - Interval.of(guarantee.tradeoff(_ALARMS))
    found = "the trait" if fact == _TRAIT else "the person"
    return (
        f"An attacker with {float(100 * _ALARMS):.0f} % false alarms detects {found} "
        f"in at most {_rounded(caught * 100, ROUND_CEILING)} % of cases."
    )


def _most(prior: Fraction, factor: Interval) -> str:
    """The odds prior x factor in two digits, rounded up."""
    if (factor * prior).hi >= 1:
        return f"{_rounded(factor * prior, ROUND_CEILING)}:1"
    return f"1:{_rounded((1 / prior) / factor, ROUND_FLOOR)}"


def _least(prior: Fraction, factor: Interval) -> str:
    """The odds prior / factor in two digits, rounded down."""
    if (prior / factor).lo >= 1:
        return f"{_rounded(prior / factor, ROUND_FLOOR)}:1"
    return f"1:{_rounded(factor * (1 / prior), ROUND_CEILING)}"


def _rounded(value: Interval, rounding: str) -> str:
    """Two digits of the safe end, in the safe direction."""
    safe = value.upper if rounding == ROUND_CEILING else value.lower
    short = Context(prec=2, rounding=rounding).create_decimal(Decimal(safe)).normalize()
    return f"{short:f}" if -3 <= short.adjusted() <= 6 else f"{short:e}"


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """The error rates that attackers of a guarantee can reach: nothing below the curve.

    Guarantee:
        No test of "she is in" against "she is not" with `false_alarms` has fewer `misses`: p +
        e^epsilon q >= 1 - delta and its mirror image hold for every (epsilon, delta) of the
        guarantee. Points are rounded down.
    Why:
        Each (epsilon, delta) cuts the square by two lines; the best of them is taken at each point.
    Edge cases:
        A guarantee of nothing leaves the whole square, perfect privacy its upper half only.

    Example:
        >>> from discreet.privacy.guarantees.pure import Pure
        >>> region = Region.of(Pure(1), points=3)
        >>> [round(float(q), 3) for q in region.misses]
        [1.0, 0.184, 0.0]

    Reference: Wasserman, Zhou, A Statistical Framework for Differential Privacy (the power of any
    test); Kairouz, Oh, Viswanath, The Composition Theorem for Differential Privacy (the region).
    """

    false_alarms: Floats
    misses: Floats

    @staticmethod
    def of(guarantee: Guarantee, *, points: int = 101) -> "Region":
        """The boundary at evenly spaced rates of false alarms."""
        alarms = np.linspace(0, 1, whole(points, "points", at_least=2))
        curve = np.zeros_like(alarms)
        for epsilon in _epsilons(guarantee):
            delta = guarantee.delta(Fraction(epsilon)).upper
            grown = Interval.of(epsilon).exp().upper
            rest = 1 - delta - alarms
            curve = np.maximum(curve, 1 - delta - grown * alarms - 8 * UNIT * (1 + grown * alarms))
            curve = np.maximum(curve, rest / grown * np.where(rest > 0, 1 - 8 * UNIT, 1))
        return Region(alarms, np.where(alarms == 1, 0.0, np.maximum(curve, 0.0)))

    def svg(self, title: str = "Errors that every attacker must make") -> str:
        """A small picture: reachable error rates shaded, their boundary drawn, text selectable."""
        xs, ys = _X + _SIDE * self.false_alarms, _Y + _SIDE * (1 - self.misses)
        path = " ".join(f"{x:.2f},{y:.2f}" for x, y in zip(xs, ys, strict=True))
        corner = f"{_X + _SIDE},{_Y}"
        return _PICTURE.format(title=escape(title), path=path, corner=corner)


def _epsilons(guarantee: Guarantee) -> list[float]:
    """Epsilons to draw lines at: from 0 to where little is left to say."""
    rest = Fraction(guarantee.delta(Fraction(_CERTAIN)).upper)
    deltas = (Fraction(0), min(rest + Fraction(1, 10**9), _ALMOST_ONE))
    tops = (guarantee.epsilon(delta).upper for delta in deltas)
    top = next((top for top in tops if math.isfinite(top)), 0.0)
    return [float(e) for e in min(top, _CERTAIN) * np.linspace(0, 1, 48) ** 2]


_X, _Y, _SIDE = 56, 36, 256

_PICTURE: Final = f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 336 344" width="336" height="344" role="img" \
font-family="sans-serif" font-size="12" fill="#333333">
<title>{{title}}</title>
<desc>Misses against false alarms. Attackers can only reach error rates in the shaded area.</desc>
<rect width="336" height="344" fill="#ffffff"/>
<text x="56" y="22" font-size="13" font-weight="bold">{{title}}</text>
<polygon points="{{path}} {{corner}}" fill="#dbe9f6"/>
<line x1="{_X}" y1="{_Y}" x2="{_X + _SIDE}" y2="{_Y + _SIDE}" stroke="#767676" \
stroke-dasharray="4 4"/>
<polyline points="{{path}}" fill="none" stroke="#0b3d66" stroke-width="2"/>
<rect x="{_X}" y="{_Y}" width="{_SIDE}" height="{_SIDE}" fill="none" stroke="#555555"/>
<text x="{_X - 8}" y="{_Y + 4}" text-anchor="end">1</text>
<text x="{_X - 8}" y="{_Y + _SIDE + 4}" text-anchor="end">0</text>
<text x="{_X + _SIDE}" y="{_Y + _SIDE + 18}" text-anchor="middle">1</text>
<text x="{_X + _SIDE / 2}" y="{_Y + _SIDE + 36}" text-anchor="middle">false alarms</text>
<text x="20" y="{_Y + _SIDE / 2}" text-anchor="middle" \
transform="rotate(-90 20 {_Y + _SIDE / 2})">misses</text>
</svg>
"""
