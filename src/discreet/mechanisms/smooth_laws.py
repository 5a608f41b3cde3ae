"""Noise in proportion to a smooth sensitivity, and how much of it privacy needs.

On neighbours the smooth sensitivities S and S' are within a factor r of each other, and the values
at most min(S, S') apart. Scales are private, so a draw takes the same work whatever its scale.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from discreet import noise
from discreet.errors import InputError
from discreet.mechanisms import noise_tails
from discreet.noise.exponential import draw_afresh, read_scale, words_each
from discreet.noise.student import read_student_scale
from discreet.privacy.numerics.rounding import Interval, total
from discreet.rationals import first_whole


def upper_tail(scale: Fraction, steps: int) -> Interval:
    """P(noise >= steps) for steps >= 1.

    Why: with x = (steps - 1/2)/scale, R = sqrt(4 + x^2) and v = x/R it is (2 - 3v + v^3)/4 = (1 -
    v)^2 (2 + v)/4, and 1 - v = 4/(R (R + x)): nothing cancels.

    Example:
        >>> round(upper_tail(Fraction(1), 3).upper, 4)
        0.0334
    """
    x = Interval.of((steps - Fraction(1, 2)) / scale)
    root = (x.square() + 4).sqrt()
    rest = 4 / (root * (root + x))
    return rest.square() * (3 - rest) / 4


@lru_cache(maxsize=1024)
def half_width(scale: Fraction, probability: Fraction) -> int:
    """The smallest w for which surely P(|noise| > w) <= probability.

    Example:
        >>> half_width(Fraction(100), Fraction(1, 20))
        278
    """
    limit = Interval.of(probability).lo
    guess = float(scale) * math.sqrt(2) * float(probability) ** -0.25
    return first_whole(lambda w: (upper_tail(scale, w + 1) * 2).hi <= limit, guess)


_DECAY_BITS: Final = 24
_CONFIDENCE: Final = Fraction(1, 20)

WIDE: Final = 8
"""The scale in steps from which on discrete Laplace noise is nearly continuous."""

_LEAST_SCALE: Final = Fraction(1, 1 << 10)
"""The least scale in steps; a larger scale than the smooth one is smooth as well."""

_COMPARED: Final = Fraction(1 << 20)
"""The smooth sensitivity, in steps, at which laws are compared: where rounding has no part."""


@dataclass(frozen=True, slots=True)
class LaplaceLaw:
    """Discrete Laplace noise of scale S/share, or S/wide_share where that is wide.

    Guarantee:
        (epsilon, delta), with the shares of `largest_share`.
    Why:
        Noise has scale t = S/a, a = `share`; where that is wide, 8 steps or more, a = `wide_share`
        > `share`, and t = 8 in between: t grows with S and t/S falls, so t <= t'/r too. Values are
        d <= min(S, S') apart, so d/t' <= a min(1, t/t'). Let T = tanh(1/2t). If t' > t, the loss is
        at most ln(T/T') + d/t' <= ln(t'/t) + a t/t', which is convex in t/t': at most the larger of
        a and ln(1/r) + a r. If t' <= t, noise of size j = z t loses ln(T/T') + c z +- d/t', c =
        t/t' - 1, with ln(T/T') <= -g ln(1 + c), where g = 0, or (1/8)/sinh(1/8) if t' >= 8. As
        P(noise >= s) <= f e^(-s/t), f = 1, or 1/(1 + e^(-1/8)) if t' >= 8, the excess over epsilon,
        1 - e^(epsilon - loss), has a mean of at most the integral of f c e^(-c(z - z0)) e^-z from
        z0 = (epsilon + g ln(1 + c) -+ d/t')/c on, f (1 - t'/t) e^-z0; both sides together grow
        with d and c, to f (1 - r)(e^-z0 + e^-z1) <= delta at c = 1/r - 1 and d/t' = a.
    """

    delta: Fraction
    decay: Fraction
    share: Fraction
    wide_share: Fraction

    upper_tail = staticmethod(noise_tails.laplace_tail)
    half_width = staticmethod(noise_tails.laplace_half_width)

    @staticmethod
    def of(epsilon: Fraction, delta: Fraction) -> "LaplaceLaw":
        """The least noise for (epsilon, delta)."""
        decay = slowest_decay(epsilon, delta)
        shares = (largest_share(epsilon, delta, decay, least) for least in (0, WIDE))
        return LaplaceLaw(delta, decay, *shares)

    def check(self, most: int) -> None:
        """Refuse a global sensitivity for which noise cannot be made."""
        read_scale(self.scale(Fraction(most)))

    def scale(self, smooth: Fraction) -> Fraction:
        """The scale of the noise in steps."""
        most, least = (smooth / share for share in (self.share, self.wide_share))
        return max(_LEAST_SCALE, least, min(most, Fraction(WIDE)))

    def draw(self, smooth: Fraction, most: int, runs: int | None) -> Any:
        """Fresh noise; `most` is the global sensitivity, which the work is made for."""
        scale = self.scale(smooth)
        drawn = draw_afresh(scale, runs)
        if words_each(scale) < words_each(self.scale(Fraction(most))):
            noise.below(2, size=runs)  # a word for each
        return drawn


@dataclass(frozen=True, slots=True)
class StudentLaw:
    """Student's t noise with four degrees of freedom, times S/share, rounded.

    Guarantee:
        Pure epsilon, with the share of `largest_student_share`; `delta` is 0.
    Why:
        Rounding comes after. The density at z is (4 + (z/t)^2)^(-5/2)/t up to a constant, t =
        S/share. With p = t/t' and b = d/t' <= share min(1, p), y = z/t, the loss is (5/2) ln((4 +
        (p y - b)^2)/(4 + y^2)) - ln p. The largest ratio of the two quadratics is the larger root L
        of L^2 - (1 + b^2/4 + p^2) L + p^2 = 0, which grows with b. If p <= 1, (p y - b)^2 <= (y -
        b/p)^2 and b/p <= share, so the loss is at most (5/2) ln L(1, share) + ln(1/r). If p >= 1,
        the loss grows with p as long as 5 p^2 (L - 1) >= L^2 - p^2, which holds for L from 1 to 4
        p^2, so for shares up to 2: it is at most (5/2) ln L(1/r, share) - ln(1/r).
    """

    decay: Fraction
    share: Fraction

    upper_tail = staticmethod(upper_tail)
    half_width = staticmethod(half_width)

    @staticmethod
    def of(epsilon: Fraction, slowest: Fraction) -> "StudentLaw":
        """The least noise for epsilon that decays by epsilon/12, or faster where that is asked."""
        unit = 1 << _DECAY_BITS
        quick = 1 - Fraction(min(unit // 2, int(epsilon * unit / 12)), unit)
        decay = min(slowest, quick)
        return StudentLaw(decay, largest_student_share(epsilon, decay))

    @property
    def delta(self) -> Fraction:
        """None is needed."""
        return Fraction(0)

    def check(self, most: int) -> None:
        """Refuse a global sensitivity for which noise cannot be made."""
        read_student_scale(self.scale(Fraction(most)))

    def scale(self, smooth: Fraction) -> Fraction:
        """The scale of the noise in steps."""
        return max(_LEAST_SCALE, smooth / self.share)

    def draw(self, smooth: Fraction, most: int, runs: int | None) -> Any:
        """Fresh noise: one word for each draw, whatever the scale."""
        widest = self.scale(Fraction(most))
        return noise.rounded_student(self.scale(smooth), runs, widest=widest)


SmoothLaw = LaplaceLaw | StudentLaw


@lru_cache(maxsize=256)
def best_law(epsilon: Fraction, delta: Fraction) -> SmoothLaw:
    """Student's law where it needs less noise than Laplace's and decays as fast, else Laplace's.

    "Less" is the half-width that holds 95 in 100 draws, for the same smooth sensitivity.

    Example:
        >>> [type(best_law(Fraction(1), Fraction(1, 10**k))).__name__ for k in (2, 9)]
        ['LaplaceLaw', 'StudentLaw']
    """
    laplace = LaplaceLaw.of(epsilon, delta)
    student = StudentLaw.of(epsilon, laplace.decay)
    if student.share == 0:
        return laplace
    width, other = (law.half_width(law.scale(_COMPARED), _CONFIDENCE) for law in (student, laplace))
    return student if width < other else laplace


def slowest_decay(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The smallest r = 1 - m 2^-24 with ln(1/r) + ln(2/delta) (1/r - 1) <= epsilon/2, certified.

    Any r is private with its `largest_share`; this one leaves more than half of epsilon to it.

    Example:
        >>> 0.96 < float(slowest_decay(Fraction(1), Fraction(1, 10**6))) < 0.97
        True
    """
    unit = 1 << _DECAY_BITS
    z, budget = (Interval.of(2) / delta).log(), Interval.of(epsilon / 2).lo

    def fits(m: int) -> bool:
        r = Interval.of(Fraction(unit - m, unit))
        return bool(((1 / r).log() + z * (1 / r - 1)).hi <= budget)

    if not fits(1):
        raise InputError(
            "epsilon is too small for smooth sensitivity at this delta",
            why="smoothing would need more than 2^24 neighbours",
            fix="raise epsilon, or use noise for the global sensitivity",
        )
    return Fraction(unit - _last(fits, 1, unit), unit)


def largest_share(
    epsilon: Fraction, delta: Fraction, decay: Fraction, least_scale: int = 0
) -> Fraction:
    """The largest a, in 2^-24 of epsilon, that the proof of `SmoothSensitivity` allows, certified.

    `least_scale` is that of the noise, in steps: 0 allows for all.

    Example:
        >>> parameters = Fraction(1), Fraction(1, 100), Fraction(9, 10)
        >>> round(float(largest_share(*parameters)), 3)
        0.744
        >>> round(float(largest_share(*parameters, 8)), 3)
        0.92
    """
    unit, c = 1 << _DECAY_BITS, 1 / decay - 1
    factor, gain = _wide_factors(least_scale)
    lost = Interval.of(1 / decay).log()

    def fits(m: int) -> bool:
        a = epsilon * Fraction(m, unit)
        starts = [(Interval.of(epsilon + s * a) + gain * lost) / c for s in (-1, 1)]
        beyond = factor * total((-z).exp() for z in starts) * (1 - decay)
        return bool(beyond.hi <= delta and (lost + a * decay).hi <= epsilon)

    return epsilon * Fraction(_last(fits, 0, unit), unit)


def _wide_factors(least_scale: int) -> tuple[Interval, Interval]:
    """The numbers f and g of the proof."""
    if not least_scale:
        return Interval.of(1), Interval.of(0)
    x = Interval.of(Fraction(1, least_scale))
    return 1 / ((-x).exp() + 1), x / x.sinh()


def largest_student_share(epsilon: Fraction, decay: Fraction) -> Fraction:
    """The largest share, in 2^-24 of epsilon and at most 2, that the proof of `StudentLaw` allows.

    Example:
        >>> round(float(largest_student_share(Fraction(1), Fraction(19, 20))), 3)
        0.755
    """
    unit, lost = 1 << _DECAY_BITS, Interval.of(1 / decay).log()

    def fits(m: int) -> bool:
        share = epsilon * Fraction(m, unit)
        still, wider = (_largest_ratio(p, share).log() * Fraction(5, 2) for p in (1, 1 / decay))
        return bool(share <= 2 and (still + lost).hi <= epsilon and (wider - lost).hi <= epsilon)

    return epsilon * Fraction(_last(fits, 0, 2 * unit), unit)


def _largest_ratio(p: Fraction | int, b: Fraction) -> Interval:
    """The largest (4 + (p y + b)^2)/(4 + y^2)."""
    middle = Fraction(1) + b * b / 4 + p * p
    return (Interval.of(middle * middle - 4 * p * p).sqrt() + middle) / 2


def _last(fits: Callable[[int], bool], low: int, high: int) -> int:
    """The last number from `low`, which fits, to before `high` that does."""
    return low + bisect_left(range(low + 1, high), x=True, key=lambda m: not fits(m))
