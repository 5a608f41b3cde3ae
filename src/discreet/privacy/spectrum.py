"""One line of complex orders: the running product of moments, and delta read off it.

With s_k = lam + i k step, W = 2 pi/step and w_k = 1/(s_k (s_k + 1)),

    (step/2 pi) sum_k M(s_k) w_k e^(-s_k epsilon)  =  sum_m e^(lam m W) D(epsilon + m W)

over all integers k and m, where D(epsilon) = E[(1 - e^(epsilon - Z))+; Z < infinity] (Poisson
summation; the terms fall like 1/k^2 and D is continuous). The term m = 0 is wanted; the others are
not negative, so the sum can only exceed it. Terms from k = size on are bounded with the Gaussian
part of the loss, whose modulus falls like e^(-mu^2 t^2/2); where that is too small a phantom
Gaussian is composed in, which can only raise D. Every rounding is bounded and added. So what is
read from above is never below the truth.

Reference: Alghamdi et al., The Saddle-Point Accountant for Differential Privacy, arXiv 2208.09595
(the integral). The sum, its one-sided error and the phantom are derived above.
"""

import math
from typing import NamedTuple

import numpy as np

from discreet.privacy.moments import PRODUCT, ComplexArray, FloatArray, Line, Moments
from discreet.privacy.phases import ROUNDING, phase_error, phases
from discreet.privacy.rounding import ELEMENTARY, UNIT

_FINE = 45.0
"""e^-45 of the scale is nothing: no phantom is needed once the Gaussian part falls this far."""

_SMALL = 256
"""Frequencies up to which plain sines beat products of phases."""

_COUNT: FloatArray = np.arange(float(_SMALL))

_NOTHING = 1e-18
"""Frequencies whose modulus has fallen below this are dropped, and charged."""


class Rest(NamedTuple):
    """What the closed sums know beside the moments on a line.

    `square` is the sum of mu^2 of the Gaussian parts, within a relative `square_error`; they are
    not in the moments. `log_finite` is the log of the probability that the closed forms leave to a
    finite loss, within a relative `finite_error`. `length` guarantees are covered.
    """

    square: float
    square_error: float
    log_finite: float
    finite_error: float
    length: int


NOTHING = Rest(0.0, 0.0, 0.0, 0.0, 0)


class Reading(NamedTuple):
    """The sum at one epsilon, its first two derivatives, and all it may be off by.

    Times e^exponent it is delta of the finite loss; `exponent` is enclosed. `ghost` is the phantom
    in use.
    """

    total: float
    slope: float
    bend: float
    slack: float
    exponent: tuple[float, float]
    ghost: float

    def log_upper(self) -> float:
        """The log of a bound from above."""
        return _log_above(self.total + self.slack, self.exponent[1])

    def log_lower(self) -> float:
        """The log of a bound from below on the sum with its aliases."""
        low = self.total - self.slack
        if not low > 0:
            return -math.inf
        log = math.log(low)
        return self.exponent[0] + log - (abs(self.exponent[0]) + 8 * abs(log) + 4) * (2 * UNIT)


class Spectrum:
    """The moments of a composition on one line, and delta from them.

    `phantom` is the square mu^2 of the Gaussian that is composed in until the real one suffices.
    `far` is the index of a higher real order and an upper bound on the log moment there, for
    whoever draws the line to keep.
    """

    __slots__ = (
        "_charge",
        "_ready",
        "_square",
        "_stack",
        "_weights",
        "error",
        "far",
        "line",
        "live",
        "log_error",
        "log_scale",
        "phantom",
        "phi",
        "rest",
        "weight",
    )

    def __init__(self, line: Line, phantom: float) -> None:
        s = line.lam + 1j * line.heights
        part = np.full(line.size, line.step / math.pi)
        part[0] /= 2
        self.line = self.live = line
        self.phantom = phantom
        self._weights = part / (s * (s + 1))
        self.weight = float(np.sum(np.abs(self._weights))) * (1 + 2 * line.size * UNIT)
        self._square: FloatArray = -0.5 * line.heights**2
        self._charge = 0.0
        self._ready: _Ready | None = None
        self._stack: ComplexArray | None = None
        self.phi = np.ones(line.size, dtype=np.complex128)
        self.error, self.log_scale, self.log_error = 0.0, 0.0, 0.0
        self.rest = NOTHING
        self.far = (0, math.inf)

    def absorb(self, moments: Moments | None, rest: Rest) -> None:
        """Multiply in the moments of more guarantees; `rest` is what is known beside them all."""
        self.rest, self._ready = rest, None
        if moments is None:
            return
        factor = moments.phi
        self.phi = self.phi * (factor if len(factor) == len(self.phi) else factor[: len(self.phi)])
        error = self.error + moments.error + PRODUCT
        self.error = error * (1 + 2 * error) if error < 1 else 2.0
        self.log_scale += moments.log_scale
        self.log_error = (self.log_error + moments.log_error) * (1 + 4 * UNIT)
        self.log_error += abs(self.log_scale) * UNIT

    def trim(self) -> None:
        """Drop the frequencies that have died out, for good: moduli never grow again."""
        square = self.rest.square * (1 - self.rest.square_error)
        size = np.abs(self.phi) * np.exp(square * self._square)
        alive = int(np.max(np.nonzero(size > _NOTHING)[0], initial=0)) + 2
        if alive > 0.8 * len(size):
            return
        dead = float(np.sum(size[alive:] * np.abs(self._weights[alive:])))
        self._charge += dead * (1 + (4 * len(size) + 64) * UNIT + 16 * ELEMENTARY)
        self.phi, self._weights = self.phi[:alive].copy(), self._weights[:alive].copy()
        self._square = self._square[:alive].copy()
        self.live = Line(self.line.lam, self.line.step, alive)
        self._ready = self._stack = None

    @property
    def level(self) -> float:
        """About log M(lam): how much has been composed."""
        lam = self.line.lam
        return self.log_scale + 0.5 * lam * (lam + 1) * self.rest.square

    def read(self, epsilon: float) -> Reading:
        """Evaluate at one epsilon."""
        ready = self._ready
        if ready is None:
            ready = self._ready = self._prepare()
        total, slope, bend = ready.at(epsilon)
        slack = ready.slack(epsilon) + self.error * self.weight
        return Reading(total, slope, bend, slack, self.exponent(epsilon, ready.ghost), ready.ghost)

    def gauge(self, epsilon: float) -> "Gauge":
        """Prepare many evaluations at one epsilon, while only moments are multiplied in."""
        ready = self._prepare()
        weights = phases(-ready.turn(epsilon), len(self.phi)) * self._weights * ready.fade
        return Gauge(self, weights, ready.slack(epsilon), epsilon, ready.ghost)

    def exponent(self, epsilon: float, ghost: float) -> tuple[float, float]:
        """Log M(lam) - lam epsilon, from below and above."""
        lam, rest = self.line.lam, self.rest
        normal = 0.5 * lam * (lam + 1) * (rest.square + ghost)
        middle = self.log_scale + rest.log_finite + normal - lam * epsilon
        size = abs(self.log_scale) + lam * abs(epsilon) + normal - rest.log_finite
        room = self.log_error + 8 * UNIT * size + normal * rest.square_error
        room -= rest.log_finite * rest.finite_error
        return middle - room, middle + room

    def _prepare(self) -> "_Ready":
        reach = self.line.step * self.line.size
        half = 0.5 * reach * reach
        square = self.rest.square
        real = half * square * (1 - self.rest.square_error)
        ghost = 0.0 if real >= _FINE else self.phantom
        tail = math.exp(-(real + half * ghost) * (1 - 16 * UNIT))
        tail /= math.pi * self.line.step * (self.line.size - 1)
        fade = np.exp((square + ghost) * self._square) if square or ghost else _PLAIN
        gaussian = (ghost, square + ghost)
        return _Ready(self.live, gaussian, fade, self._slack(ghost, tail), self._terms(fade))

    def _terms(self, fade: FloatArray) -> ComplexArray:
        """The terms of the sum and of its first two derivatives, signs dropped."""
        if self._stack is None:
            s = self.live.lam + 1j * self.live.heights
            self._stack = np.stack((self._weights, self._weights * s, self._weights * s * s))
        terms: ComplexArray = self._stack * (self.phi * fade)
        return terms

    def _slack(self, ghost: float, tail: float) -> tuple[float, float]:
        """What the finite, rounded sum may be off by besides `error`: a constant, and per epsilon.

        A relative error r of the Gaussian's square turns a term by r x reach x the shift of
        epsilon, and shrinks it by at most r/e. Turning a term costs `phase_error`, linear in the
        angle.
        """
        size = self.live.size
        shift = (self.line.lam + 0.5) * (self.rest.square + ghost)
        per_angle = phase_error(self.line.step, size, 6 * UNIT)
        turn = shift * per_angle + ROUNDING
        turn += (shift * self.line.step * size + 1) * (self.rest.square_error + 8 * UNIT)
        rounding = turn + (2 * size + 32) * UNIT + 4 * ELEMENTARY
        grown = 1 + 64 * UNIT
        return (
            rounding * self.weight + tail + self._charge
        ) * grown, per_angle * self.weight * grown


_PLAIN: FloatArray = np.ones(1)


class _Ready:
    """The terms laid out so that reading them is one product.

    Re(w e^(-i x)) = Re(w) cos x + Im(w) sin x, and a complex array is its parts side by side.
    """

    __slots__ = (
        "_circle",
        "_cos",
        "_ks",
        "_rows",
        "_sin",
        "_slack",
        "_terms",
        "fade",
        "ghost",
        "line",
        "square",
    )

    def __init__(
        self,
        line: Line,
        gaussian: tuple[float, float],
        fade: FloatArray,
        slack: tuple[float, float],
        terms: ComplexArray,
    ) -> None:
        self.line, (self.ghost, self.square), self.fade = line, gaussian, fade
        self._slack, self._terms = slack, terms
        self._rows = terms.view(np.float64) if line.size <= _SMALL else None
        self._ks = _COUNT[: line.size]
        self._circle = np.empty(2 * line.size)
        self._cos, self._sin = self._circle[0::2], self._circle[1::2]

    def turn(self, epsilon: float) -> float:
        """The angle from one term to the next; a Gaussian's phase is a shift of epsilon."""
        return self.line.step * (epsilon - (self.line.lam + 0.5) * self.square)

    def slack(self, epsilon: float) -> float:
        """What the sum at epsilon may be off by; nothing is vouched for past 2^20 radians."""
        trusted = abs(self.turn(epsilon)) * self.line.size < 2.0**20
        return self._slack[0] + self._slack[1] * abs(epsilon) if trusted else math.inf

    def at(self, epsilon: float) -> tuple[float, float, float]:
        """The sum, minus its slope, and its bend."""
        turn = self.turn(epsilon)
        if self._rows is None:
            total, slope, bend = (self._terms @ phases(-turn, self.line.size)).real.tolist()
            return total, slope, bend
        x = self._ks * turn
        np.cos(x, out=self._cos)
        np.sin(x, out=self._sin)
        total, slope, bend = (self._rows @ self._circle).tolist()
        return total, slope, bend


class Gauge:
    """A check at one epsilon, prepared: a single dot product each time."""

    __slots__ = ("_slack", "_spectrum", "_square", "_weight", "_weights", "epsilon", "ghost")

    def __init__(
        self,
        spectrum: Spectrum,
        weights: ComplexArray,
        slack: float,
        epsilon: float,
        ghost: float,
    ) -> None:
        self._spectrum, self._square = spectrum, spectrum.rest.square
        self._weights, self._slack, self._weight = weights, slack, spectrum.weight
        self.epsilon, self.ghost = epsilon, ghost

    def fits(self, spectrum: Spectrum) -> bool:
        """Whether it was prepared for this line, these frequencies and this Gaussian part."""
        return (
            spectrum is self._spectrum
            and spectrum.rest.square == self._square
            and len(spectrum.phi) == len(self._weights)
        )

    def log_upper(self, spectrum: Spectrum) -> float:
        """The log of a bound from above on delta of the finite loss."""
        total = float((spectrum.phi @ self._weights).real)
        slack = (self._slack + spectrum.error * self._weight) * (1 + 64 * UNIT)
        return _log_above(total + slack, spectrum.exponent(self.epsilon, self.ghost)[1])


def _log_above(top: float, exponent: float) -> float:
    """log(top) + exponent, rounded up; nothing is claimed where rounding has made top negative."""
    if not top > 0:
        return math.inf
    log = math.log(top)
    return exponent + log + (abs(exponent) + 8 * abs(log) + 4) * (2 * UNIT)
