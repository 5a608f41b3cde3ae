"""Sums of a Gaussian over the integers, enclosed from both sides.

theta(c) = sum over integers x of e^(-(x + c)^2/(2 v)) = sqrt(2 pi v) (1 + 2 sum_m e^(-2 pi^2 v m^2)
cos(2 pi m c)) by Poisson summation. The first form is short for small v, the second for large.
"""

from math import ceil, floor, isqrt

import numpy as np

from discreet.privacy.numerics.moments import ComplexArray, OrderLine
from discreet.privacy.numerics.rounding import ELEMENTARY, PI, UNIT, Interval

_LARGE = 4
"""From this variance on, the second form's first term is below e^-78."""


def log_theta_ratio(shift: Interval, variance: Interval) -> Interval:
    """Log of theta(shift)/theta(0): never above 0, and 0 at integers."""
    if variance.lo >= _LARGE:
        ripple = (PI.square() * variance * -2).exp() * 3
        return Interval.between((1 - ripple).log() - (1 + ripple).log(), 0)
    return (theta(shift, variance) / theta(Interval.of(0), variance)).log().meet(Interval.of(0))


def theta(shift: Interval, variance: Interval) -> Interval:
    """The sum itself."""
    if variance.lo >= _LARGE:
        ripple = (PI.square() * variance * -2).exp() * 3
        width = (PI * 2 * variance).sqrt()
        return Interval.between(width * (1 - ripple), width * (1 + ripple))
    reach = 4 + 12 * (isqrt(ceil(variance.upper)) + 1)
    centre = floor(-shift.lower)
    inside = Interval.of(0)
    for x in range(centre - reach, centre + reach + 1):
        inside = inside + ((shift + x).square() / (variance * -2)).exp()
    # Beyond, each term is at most the one at distance reach - 1, and they fall faster than 1/2.
    edge = (Interval.of(reach - 1).square() / (variance * -2)).exp() * 4
    return Interval.between(inside, inside + edge)


def lattice_shape(steps: int, variance: float, line: OrderLine) -> tuple[ComplexArray, float]:
    """M(s)/M(lam) of discrete Gaussian noise `steps` apart on a line, and its error."""
    direct = variance < 0.5
    return (_by_outcome if direct else _by_frequency)(steps, variance, line)


def _by_outcome(steps: int, variance: float, line: OrderLine) -> tuple[ComplexArray, float]:
    """Sum over outcomes x of the tilted law, centred at -lam steps; 12 deviations each side."""
    centre = round(-line.lam * steps)
    x = np.arange(centre - 12, centre + 13, dtype=np.float64)
    law = np.exp(-((x + line.lam * steps) ** 2) / (2 * variance))
    law /= law.sum()
    losses = (steps * steps - 2 * steps * x) / (2 * variance)
    reach = float(np.abs(losses).max()) * line.step * line.size
    phi = np.exp(1j * np.multiply.outer(line.heights, losses)) @ law
    # The law's exponents reach 12^2/(2 variance) only where the law itself is nothing.
    spread = (1 + abs(line.lam) * steps) ** 2 / variance
    error = reach * 8 * UNIT + (64 + 16 * spread) * ELEMENTARY
    return np.asarray(phi, dtype=np.complex128), error if reach < 2.0**20 else 2.0


def _by_frequency(steps: int, variance: float, line: OrderLine) -> tuple[ComplexArray, float]:
    """Sum over frequencies m of e^(-(mu^2/2)(t + m period)^2) and a phase, nearest m first."""
    t, lam, square = line.heights, line.lam, steps * steps / variance
    period = 2 * np.pi * variance / steps
    nearest = -np.round(t / period)
    # (|j| - 1/2)^2 2 pi^2 v >= 45 makes what is left out less than 4 e^-45.
    span = ceil(0.5 + (45 / (2 * np.pi**2 * variance)) ** 0.5)
    phi = np.zeros(line.size, dtype=np.complex128)
    base = 0.0
    for j in range(-span, span + 1):
        m = nearest + j
        angle = (lam + 0.5) * square * t + (2 * np.pi * lam * steps) * m
        phi += np.exp(-0.5 * square * (t + m * period) ** 2 + 1j * angle)
        base += float(
            np.exp(-2 * np.pi**2 * variance * j * j) * np.cos(2 * np.pi * j * lam * steps)
        )
    top = float(t[-1])
    turns = (lam + 0.5) * square * top + 2 * np.pi * lam * steps * (top / period + span + 1)
    rounding = (turns + square**0.5 * (top + 2 * span * period)) * 16 * UNIT
    error = (2 * span + 2) * (rounding + 4 * ELEMENTARY) * 2 + 2.0**-60
    return phi / base, error if turns < 2.0**20 else 2.0
