"""One line of complex orders: the running product of moments, and delta read off it.

With s_k = lam + i k step, W = 2 pi/step and w_k = 1/(s_k (s_k + 1)),

    (step/2 pi) sum_k M(s_k) w_k e^(-s_k epsilon)  =  sum_m e^(lam m W) D(epsilon + m W)

over all integers k and m, where D(epsilon) = E[(1 - e^(epsilon - Z))+; Z < infinity] (Poisson
summation; the terms fall like 1/k^2 and D is continuous). The term m = 0 is the result; the others
are not negative, so the sum can only exceed it. Terms from k = size on are bounded with the
Gaussian part of the loss, whose modulus falls like e^(-mu^2 t^2/2); where that is too small a
phantom Gaussian is composed in, which can only raise D. Every rounding is bounded and added. So
what is read from above is never below the truth.

Reference: Alghamdi et al., The Saddle-Point Accountant for Differential Privacy, arXiv 2208.09595
(the integral). The sum, its one-sided error and the phantom are derived above.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from discreet.privacy.contour.expansion import Expansion, log_above
from discreet.privacy.numerics.moments import (
    PRODUCT,
    ComplexArray,
    FloatArray,
    Moments,
    OrderLine,
    grown,
)
from discreet.privacy.numerics.phases import DIRECT, ROUNDING, phases
from discreet.privacy.numerics.rounding import ELEMENTARY, UNIT

_FINE: Final = 45.0
"""e^-45 of the scale is nothing: no phantom is needed once the Gaussian part falls this far."""

_NOTHING: Final = 1e-18
"""Frequencies whose modulus has fallen below this are dropped, and charged."""

_TRUSTED: Final = 2.0**20
"""Radians up to which sines are vouched for."""


class Rest(NamedTuple):
    """Facts of the closed sums in addition to the moments on a line.

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


class _Comb:
    """The frequencies of a line: heights and weights.

    Why: |s (s + 1)|^2 = (lam^2 + t^2)((lam + 1)^2 + t^2) has no cancellation, and neither part of
    s (s + 1) is off by more than 6 units of it, so each weight is within 16 units.
    """

    def __init__(self, line: OrderLine) -> None:
        t, lam = line.heights, line.lam
        square = t * t
        norm = (lam * lam + square) * ((lam + 1) * (lam + 1) + square)
        part = np.full(line.size, line.step / math.pi)
        part[0] /= 2
        self.sizes: FloatArray = part / np.sqrt(norm)
        part /= norm
        self.w = np.empty(line.size, dtype=np.complex128)
        self.w.real, self.w.imag = (lam * (lam + 1) - square) * part, t * part * -(2 * lam + 1)
        self.half_squares: FloatArray = -0.5 * square
        # Real parts of even powers, imaginary parts of odd ones, as they lie in a complex array.
        self._powers: FloatArray = np.zeros((4, 2 * line.size))
        self._powers[0, 0::2], self._powers[1, 1::2] = 1, t
        self._powers[2, 0::2], self._powers[3, 1::2] = square, square * t
        self._lay_out()

    def _lay_out(self) -> None:
        """Room for the terms at one epsilon: as complex numbers, and as floats."""
        size = len(self.w)
        self._space = np.empty(size, dtype=np.complex128)
        self._real, self._imag = self._space.real, self._space.imag
        self._ks: FloatArray = np.arange(float(min(size, DIRECT)))
        self._flat: FloatArray = self._space.view(np.float64)

    def cut(self, size: int) -> None:
        """Keep the first frequencies only."""
        self.sizes, self.w = self.sizes[:size].copy(), self.w[:size].copy()
        self.half_squares = self.half_squares[:size].copy()
        self._powers = self._powers[:, : 2 * size].copy()
        self._lay_out()

    def sums(self, terms: ComplexArray, turn: float) -> list[float]:
        """The dot products of an `Expansion` with the terms turned back by k x turn."""
        if len(terms) <= DIRECT:
            angles = self._ks * -turn
            np.cos(angles, out=self._real)
            np.sin(angles, out=self._imag)
            np.multiply(self._space, terms, out=self._space)
        else:
            np.multiply(phases(-turn, len(terms)), terms, out=self._space)
        sums: list[float] = self._powers.dot(self._flat).tolist()
        return sums


class _Ready(NamedTuple):
    """The terms of the sum before their rotation by epsilon, and the bound on their total error.

    `shift` is what the Gaussian part adds to epsilon; `slack` and `beyond` are those of `_slack`
    and of an `Expansion`, `cut` the part of the slack that stands for terms left out.
    """

    ghost: float
    shift: float
    fade: FloatArray
    terms: ComplexArray
    slack: tuple[float, float]
    cut: float
    beyond: tuple[float, float]


class Spectrum:
    """The moments of a composition on one line, and delta from them.

    `phantom` is the square mu^2 of the Gaussian that is composed in until the real one suffices.
    `product` holds weights times moments. `far` is the index of a higher real order and an upper
    bound on the log moment there, for whoever draws the line to keep. `ends` are lam, W, and at
    least the sum of e^(lam m W) over m < 0. `level` is about log M(lam): how much is composed.
    """

    def __init__(self, line: OrderLine, phantom: float) -> None:
        self.line, self.phantom = line, phantom
        self._comb = _Comb(line)
        self._half = 0.5 * (line.step * line.size) ** 2
        self._curve = 0.5 * line.lam * (line.lam + 1)
        self.weight = float(np.sum(self._comb.sizes)) * (1 + (2 * line.size + 32) * UNIT)
        self._charge, self.error, self.log_scale, self.log_error = 0.0, 0.0, 0.0, 0.0
        self.level = 0.0
        self.rest = NOTHING
        self.far = (0, math.inf)
        self.ends = _ends(line)
        self._lay_out(self._comb.w.copy())

    def _lay_out(self, product: ComplexArray) -> None:
        self.product, self.flat = product, product.view(np.float64)
        self.live = OrderLine(self.line.lam, self.line.step, len(product))
        # As `phase_error`, per radian; `_turn` asks how many there are.
        self._per_angle = self.line.step * len(product) * (9 * UNIT) + ROUNDING
        self._ready: _Ready | None = None
        self._faded, self._fourth = (0.0, _PLAIN), (-1.0, math.inf)

    def settle(self, rest: Rest) -> None:
        """Finish after everything was multiplied in; `rest` holds the facts beside it."""
        self.rest, self._ready = rest, None
        self.level = self.log_scale + self._curve * rest.square

    def absorb(self, moments: Moments) -> None:
        """Multiply in the moments of more guarantees."""
        factor, product = moments.phi, self.product
        np.multiply(
            product, factor if len(factor) == len(product) else factor[: len(product)], out=product
        )
        self.error = grown(self.error + moments.error + PRODUCT)
        self.log_scale += moments.log_scale
        self.log_error = (self.log_error + moments.log_error) * (1 + 4 * UNIT)
        self.log_error += abs(self.log_scale) * UNIT

    def trim(self) -> None:
        """Drop the frequencies that have died out, for good: moduli never grow again."""
        self._fourth, self._ready = (-1.0, math.inf), None
        square = self.rest.square * (1 - self.rest.square_error)
        size = np.abs(self.product) * np.exp(square * self._comb.half_squares)
        alive = int(np.max(np.nonzero(size > _NOTHING * self._comb.sizes)[0], initial=0)) + 2
        if alive > 0.8 * len(size):
            return
        dead = float(np.sum(size[alive:]))
        self._charge += dead * (1 + (4 * len(size) + 64) * UNIT + 16 * ELEMENTARY)
        self._comb.cut(alive)
        self._lay_out(self.product[:alive].copy())

    def read(self, epsilon: float) -> Expansion:
        """Evaluate at one epsilon."""
        ready = self._ready
        if ready is None:
            ready = self._ready = self._prepare()
        turn, slack = self._turn(ready, epsilon)
        return Expansion(
            (epsilon, self.line.lam, ready.ghost),
            self._comb.sums(ready.terms, turn),
            slack + self.error * self.weight,
            self.exponent(epsilon, ready.ghost),
            ready.beyond,
        )

    def phantom_cost(self, reading: Expansion) -> float:
        """Upper bound on what the phantom adds to delta at the epsilon of a reading.

        The density's terms are |s (s + 1)| times those of delta. What is uniform in the slack meets
        weights step/pi e^(-v t^2/2), which sum to less than step/2 pi + 1/sqrt(2 pi v). What was
        cut off lies below the line's end, or beyond it, where the density's remainder is smaller
        than |s (s + 1)| at the end times that of delta.
        """
        if not reading.ghost or self._ready is None:
            return 0.0
        cut, lam, end = self._ready.cut, self.line.lam, self.line.step * self.line.size
        each = max(0.0, reading.slack * (1 + 8 * UNIT) - cut) / self.weight + 8 * UNIT
        weight = self.line.step / (2 * math.pi) + 0.4 / math.sqrt(reading.ghost)
        room = each * weight + cut * (lam + end) * (lam + 1 + end)
        return reading.phantom_cost(room * (1 + 64 * UNIT))

    def gauge(self, epsilon: float) -> "Gauge":
        """Prepare many evaluations at one epsilon, while only moments are multiplied in."""
        ready = self._prepare()
        turn, slack = self._turn(ready, epsilon)
        weights = phases(turn, len(self.product)) * ready.fade
        return Gauge(self, weights.view(np.float64), slack, epsilon, ready.ghost)

    def _turn(self, ready: "_Ready", epsilon: float) -> tuple[float, float]:
        """The angle from one term to the next, and the error of the sum in addition to `error`.

        A Gaussian's phase is a shift of epsilon. Nothing is vouched for past 2^20 radians.
        """
        turn, (fixed, per_unit) = self.line.step * (epsilon - ready.shift), ready.slack
        if abs(turn) * len(self.product) < _TRUSTED:
            return turn, fixed + per_unit * abs(epsilon)
        return turn, math.inf

    def exponent(self, epsilon: float, ghost: float) -> tuple[float, float]:
        """Log M(lam) - lam epsilon, from below and above."""
        lam, rest = self.line.lam, self.rest
        normal, push = self._curve * (rest.square + ghost), lam * epsilon
        middle = self.log_scale + rest.log_finite + normal - push
        size = abs(self.log_scale) + abs(push) + normal - rest.log_finite
        room = self.log_error + 8 * UNIT * size + normal * rest.square_error
        room -= rest.log_finite * rest.finite_error
        return middle - room, middle + room

    def _prepare(self) -> "_Ready":
        square, half, line = self.rest.square, self._half, self.line
        real = half * square * (1 - self.rest.square_error)
        ghost = 0.0 if real >= _FINE else self.phantom
        tail = math.exp(-(real + half * ghost) * (1 - 16 * UNIT))
        tail /= math.pi * line.step * (line.size - 1)
        normal = square + ghost
        if self._faded[0] != normal:
            self._faded = (normal, np.exp(self._comb.half_squares * normal))
        fade = self._faded[1]
        if self._fourth[0] != ghost:
            self._fourth = (ghost, self._bend(fade))
        return _Ready(
            ghost,
            (line.lam + 0.5) * normal,
            fade,
            self.product * fade,
            self._slack(ghost, tail),
            tail + self._charge,
            (line.step * len(self.product), self._fourth[1]),
        )

    def _bend(self, fade: FloatArray) -> float:
        """Lower bound on the sum of |term| t^4, now and after further composition.

        The Gaussian's square is known to far less than 2^-30, so where its fall counts it is off by
        less than 2^-20.
        """
        fourth = 4 * self._comb.half_squares * self._comb.half_squares * fade
        sum_ = float(np.abs(self.product).dot(fourth))
        sum_ += self.error * float(self._comb.sizes.dot(fourth))
        return sum_ * (1 + 2.0**-20) + 1e-280

    def _slack(self, ghost: float, tail: float) -> tuple[float, float]:
        """Error bound of the finite, rounded sum besides `error`: a constant, and per epsilon.

        A relative error r of the Gaussian's square turns a term by r x reach x the shift of
        epsilon, and shrinks it by at most r/e. Turning a term costs `phase_error`, linear in the
        angle.
        """
        size = self.live.size
        shift = (self.line.lam + 0.5) * (self.rest.square + ghost)
        turn = shift * self._per_angle + ROUNDING
        turn += (shift * self.line.step * size + 1) * (self.rest.square_error + 8 * UNIT)
        rounding = turn + (2 * size + 64) * UNIT + 4 * ELEMENTARY
        grown = 1 + 64 * UNIT
        return (
            (rounding * self.weight + tail + self._charge) * grown,
            self._per_angle * self.weight * grown,
        )


_PLAIN: FloatArray = np.ones(1)


def _ends(line: OrderLine) -> tuple[float, float, float]:
    width = 2 * math.pi / line.step
    gap = math.exp(-line.lam * width * (1 - 16 * UNIT))
    return line.lam, width, gap / -math.expm1(-line.lam * width) * (1 + 32 * UNIT)


class Gauge:
    """A check at one epsilon, prepared: a single dot product each time."""

    def __init__(
        self, spectrum: Spectrum, weights: FloatArray, slack: float, epsilon: float, ghost: float
    ) -> None:
        self._spectrum, self._square = spectrum, spectrum.rest.square
        self._weights, self._slack, self._weight = weights, slack, spectrum.weight
        self.epsilon, self.ghost = epsilon, ghost

    def fits(self, spectrum: Spectrum) -> bool:
        """Whether it was prepared for this line, these frequencies and this Gaussian part."""
        return (
            spectrum is self._spectrum
            and spectrum.rest.square == self._square
            and len(spectrum.flat) == len(self._weights)
        )

    def log_upper(self, spectrum: Spectrum) -> float:
        """The log of a bound from above on delta of the finite loss."""
        total = float(spectrum.flat.dot(self._weights))
        slack = (self._slack + spectrum.error * self._weight) * (1 + 64 * UNIT)
        return log_above(total + slack, spectrum.exponent(self.epsilon, self.ghost)[1])
