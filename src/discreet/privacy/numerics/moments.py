"""Moments of a privacy loss on a vertical line of complex orders, with their error.

The privacy loss of a pair (P, Q) of output laws is Z = log P(x)/Q(x) with x drawn from P. Its
moment generating function M(s) = E[e^(s Z); Z < infinity] multiplies under composition. The
contour accountant keeps M at the orders s_k = lam + i k step of a `OrderLine`.
"""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.privacy.numerics.rounding import UNIT, Interval

ComplexArray: TypeAlias = npt.NDArray[np.complex128]
FloatArray: TypeAlias = npt.NDArray[np.float64]

PRODUCT = 4 * UNIT
"""Relative error of one complex multiplication: sqrt(5) units without, 2 with fused operations."""


class Direction(Enum):
    """The one of two neighbouring datasets that the output is drawn from.

    REMOVE: P is the law with the person, Q without. ADD: the other way round. A symmetric pair
    has one law of the loss for both.
    """

    REMOVE = "remove"
    ADD = "add"


@dataclass(frozen=True, slots=True)
class OrderLine:
    """The orders s_k = lam + i k step for 0 <= k < size.

    `lam` and `step` are exactly these doubles. Size 1 asks for the real order alone.
    """

    lam: float
    step: float
    size: int

    @property
    def heights(self) -> FloatArray:
        """The imaginary parts k step, each rounded once."""
        return np.arange(self.size, dtype=np.float64) * np.float64(self.step)


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """M(s_k) on a line, split into a real scale and a shape of modulus at most 1.

    Guarantee:
        |log M(lam) - log_scale| <= log_error, and |phi[k] - M(s_k)/M(lam)| <= error for every k.
        Both errors include rounding, quadrature and truncation: everything.
    Why:
        |M(s)| <= M(Re s) because M is the transform of a positive measure, so the true shape is in
        the unit disc and absolute errors add up under multiplication: the composition of many
        needs no more than the sum of their errors.
    """

    log_scale: float
    log_error: float
    phi: ComplexArray
    error: float

    def power(self, count: int) -> "Moments":
        """The moments of `count` independent copies."""
        if count == 1:
            return self
        answer, base, left = None, self.phi, count
        while left:
            if left & 1:
                answer = base if answer is None else answer * base
            left >>= 1
            if left:
                base = base * base
        shape = np.ones_like(self.phi) if answer is None else answer
        error = count * (self.error + PRODUCT)
        scale = count * self.log_scale
        return Moments(scale, count * self.log_error + abs(scale) * UNIT, shape, grown(error))

    def times(self, other: "Moments") -> "Moments":
        """The moments of the sum of two independent losses."""
        scale = self.log_scale + other.log_scale
        error = self.error + other.error + PRODUCT
        log_error = (self.log_error + other.log_error) * (1 + 4 * UNIT) + abs(scale) * UNIT
        return Moments(scale, log_error, self.phi * other.phi, grown(error))


def unit(line: OrderLine) -> Moments:
    """The moments of a loss that is 0: of no mechanism at all."""
    return Moments(0.0, 0.0, np.ones(line.size, dtype=np.complex128), 0.0)


def grown(error: float) -> float:
    """Cover products of errors: |ab - a'b'| <= e + f + e f, and e f <= e + f whenever e, f <= 1."""
    return error * (1 + 2 * error) if error < 1 else 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """The finite part of a discrete privacy loss under P: exact losses, enclosed probabilities.

    The probabilities add up to 1 less the mass at infinity; the losses are in no special order.
    """

    losses: tuple[Fraction, ...]
    probabilities: tuple[Interval, ...]
