"""One direction of a composition, on whichever line of orders suits the question."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.privacy.bound import Bound
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.losses import LossList, certain, extend
from discreet.privacy.moments import FloatArray, Line
from discreet.privacy.precision import Precision
from discreet.privacy.rounding import ELEMENTARY, UNIT, Interval
from discreet.privacy.shapes import GAUSSIAN, Shape, single
from discreet.privacy.spectrum import Gauge, Reading, Spectrum
from discreet.privacy.tally import ORDERS, PEAKS, Tally, log_moment_above, no_pair

_KEPT = 6
"""Lines kept up to date at once."""

_INVERSE: FloatArray = 1 / ORDERS
_LIST: list[float] = ORDERS.tolist()
_ONES: FloatArray = np.ones(len(ORDERS))

_GROWTH = 1.05
"""How much the composed moment may grow before another line is considered."""

_STEPS = 40
"""Newton steps at most; three are usual."""


class Side:
    """One direction of the composition: its tally, its lines, its list of outcomes."""

    def __init__(self, tally: Tally, precision: Precision) -> None:
        self._tally, self._precision = tally, precision
        self._spectra: dict[tuple[int, int], Spectrum] = {}
        self._active: Spectrum | None = None
        self._listed: LossList | None = certain()
        self._waiting: list[tuple[Guarantee, int]] = []
        self._last: tuple[Spectrum | None, float, float] = (None, 0.0, 0.0)
        self._chosen: tuple[Spectrum | None, int, float, float] = (None, 0, 0.0, 0.0)
        self._asked: tuple[Fraction | None, float, float, float] = (None, 0.0, 0.0, 0.0)
        self._gauge: Gauge | None = None

    def append(self, guarantee: Guarantee, count: int, form: tuple[Shape, float] | None) -> None:
        """Compose `count` more copies; the line in use is brought up to date at once."""
        self._tally.append(guarantee, count, form)
        if self._listed is not None:
            self._waiting.append((guarantee, count))
        active = self._active
        if active is not None and active.rest.length == self._tally.length - 1:
            self._advance(active, guarantee, count, form)
            if self._gauge is not None:
                self._renew(self._gauge, active)

    def _advance(
        self, spectrum: Spectrum, one: Guarantee, count: int, form: tuple[Shape, float] | None
    ) -> None:
        if form is None:
            factor = one.moments(spectrum.live, self._tally.direction)
            if factor is None:
                raise no_pair(one)
            spectrum.far = (0, math.inf)
        else:
            factor = None if form[0] is GAUSSIAN else single(form[0], form[1], spectrum.live)
            i, far = spectrum.far
            far += log_moment_above(form[0], form[1], count, i)
            spectrum.far = (i, far + abs(far) * 4 * UNIT)
        spectrum.absorb(factor and factor.power(count), self._tally.rest)
        if self._tally.length % 16 == 0:
            spectrum.trim()

    # --- answers --------------------------------------------------------------------------------

    def epsilon(self, delta: Fraction) -> Bound:
        """The smallest epsilon at this delta."""
        tally = self._tally
        lost = tally.infinity
        if delta is not self._asked[0] or lost[1] != self._asked[1]:
            self._asked = (delta, lost[1], *_rest(delta, lost[1]))
        _, _, left, log_left = self._asked
        if left <= 0 and lost[1] > delta:
            sure = lost[0] > delta
            return Bound(math.inf if sure else 0.0, math.inf, "infinite loss")
        if tally.largest == 0:
            return Bound(0.0, 0.0, "basic")
        listed = self._outcomes() if self._listed is not None else None
        if listed is not None:
            return listed.epsilon(Interval.of(delta).lower, lost)
        return self._solve(left, log_left) if left > 0 else Bound(0.0, tally.largest, "basic")

    def delta(self, epsilon: Fraction) -> Bound:
        """The smallest delta at this epsilon."""
        tally = self._tally
        lost = tally.infinity
        if tally.largest == 0 or tally.largest <= epsilon:
            return Bound(lost[0], lost[1], "basic")
        listed = self._outcomes()
        if listed is not None:
            return listed.delta(epsilon, lost)
        e_low, e_high = Interval.of(epsilon).lower, Interval.of(epsilon).upper
        j, log_chernoff = self._best(_ONES, PEAKS - ORDERS * e_low)
        spectrum, j = self._line(j, max(1.0, -log_chernoff))
        log_upper = spectrum.read(e_low).log_upper()
        method, log_best = (
            ("contour", log_upper) if log_upper < log_chernoff else ("rdp", log_chernoff)
        )
        above = min(1.0, _sum_up(_exp_up(min(log_best, 0.0)), lost[1]))
        below = _sum_down(self._lower(spectrum, j, e_high), lost[0])
        return Bound(min(max(0.0, below), above), above, method)

    def within(self, epsilon: float, delta: float) -> bool:
        """True only if delta(epsilon) <= delta for sure; False may need a closer look."""
        spectrum, gauge = self._active, self._gauge
        if spectrum is None or spectrum.rest.length != self._tally.length:
            return False
        if gauge is None or gauge.epsilon != epsilon or not gauge.fits(spectrum):
            gauge = self._gauge = spectrum.gauge(epsilon)
        log_upper = gauge.log_upper(spectrum)
        if log_upper > 0:
            return False
        return _sum_up(_exp_up(log_upper), self._tally.infinity[1]) <= delta

    def _renew(self, gauge: Gauge, spectrum: Spectrum) -> None:
        """Prepare the check afresh when a Gaussian or a change of line has made it stale."""
        if not gauge.fits(spectrum):
            self._gauge = spectrum.gauge(gauge.epsilon)

    def _outcomes(self) -> LossList | None:
        """All joint outcomes, while they are few."""
        waiting, self._waiting = self._waiting, []
        for guarantee, count in waiting:
            if self._listed is None:
                break
            atoms = guarantee.atoms(self._tally.direction)
            self._listed = extend(self._listed, atoms, count, self._precision.listed)
        return self._listed

    # --- lines ----------------------------------------------------------------------------------

    def _best(self, factor: FloatArray, offset: FloatArray) -> tuple[int, float]:
        """The order at which scale x factor + offset is least, and that least value, rounded up."""
        scales = self._tally.scales()
        if scales is not None:
            j = int((scales * factor + offset).argmin())
        else:
            j = _descend(lambda i: self._tally.scale(i) * factor[i] + offset[i], len(ORDERS))
        part, rest = self._tally.scale(j) * float(factor[j]), float(offset[j])
        return j, part + rest + (abs(part) + 4 * abs(rest) + 1) * (8 * UNIT)

    def _line(self, j: int, log_delta: float) -> tuple[Spectrum, int]:
        """An up-to-date spectrum on a line suited to the order and to delta = e^-log_delta."""
        j, spread = self._steady(j)
        lam = float(ORDERS[j])
        width = max((12 + 0.25 * lam * spread) * spread, (log_delta + 28) / lam)
        key = (j, math.ceil(2 * math.log2(width)))
        spectrum = self._spectra.get(key)
        if spectrum is None or spectrum.rest.length != self._tally.length:
            spectrum = self._draw(lam, 2.0 ** (key[1] / 2), spread)
            i = min(j + 3, len(ORDERS) - 1)
            spectrum.far = (i, self._tally.scale(i))
            self._spectra.pop(key, None)
            self._spectra[key] = spectrum
            if len(self._spectra) > _KEPT:
                del self._spectra[next(iter(self._spectra))]
        self._active = spectrum
        return spectrum, j

    def _draw(self, lam: float, width: float, spread: float) -> Spectrum:
        """A new line over everything appended so far, in bulk."""
        step = 2 * math.pi / width
        size, phantom = _resolution(lam, step, spread, self._tally.rest.square, self._precision)
        line = Line(lam, step, size)
        spectrum = Spectrum(line, phantom)
        spectrum.absorb(self._tally.moments(line), self._tally.rest)
        spectrum.trim()
        return spectrum

    def _steady(self, j: int) -> tuple[int, float]:
        """Raise a very low order until lam x spread is about 1: lower ones gain nothing."""
        spread = self._spread(j)
        while ORDERS[j] * spread < 1 and j + 2 < len(ORDERS):
            further = self._spread(j + 1)
            if ORDERS[j + 1] * further <= ORDERS[j] * spread:
                break
            j, spread = j + 1, further
        return j, spread

    def _spread(self, j: int) -> float:
        """The deviation of the loss tilted to order j, from second differences of the scale."""
        i = min(max(j, 1), len(ORDERS) - 2)
        x0, x1, x2 = _LIST[i - 1 : i + 2]
        scales = self._tally.scales()
        if scales is None:
            y0, y1, y2 = (self._tally.scale(n) for n in (i - 1, i, i + 1))
        else:
            y0, y1, y2 = scales[i - 1 : i + 2].tolist()
        bend = 2 * ((y2 - y1) / (x2 - x1) - (y1 - y0) / (x1 - x0)) / (x2 - x0)
        return math.sqrt(bend) if bend > 0 else 0.0

    # --- solving --------------------------------------------------------------------------------

    def _solve(self, left: float, log_left: float) -> Bound:
        """The epsilon at which delta of the finite loss falls to `left`."""
        quick = self._solve_again(left, log_left)
        if quick is not None:
            return quick
        j, chernoff = self._best(_INVERSE, _offsets(log_left))
        spectrum, j = self._line(j, -log_left)
        ceiling, method = min((self._tally.largest, "basic"), (chernoff, "rdp"))
        ceiling = max(0.0, ceiling)
        found, reading = self._newton(spectrum, log_left, ceiling, self._guess(spectrum))
        if found < ceiling:
            ceiling, method = found, "contour"
        self._last = (spectrum, spectrum.level, ceiling)
        self._chosen = (spectrum, j, log_left, spectrum.level)
        below = self._from_below(spectrum, j, ceiling, reading, left)
        return Bound(below, ceiling, method)

    def _solve_again(self, left: float, log_left: float) -> Bound | None:
        """The same on the line in use, while little has been composed since it was chosen."""
        spectrum, j, asked, level = self._chosen
        if spectrum is None or spectrum is not self._active or asked != log_left:
            return None
        if spectrum.rest.length != self._tally.length or spectrum.level > _GROWTH * level:
            return None
        guess = self._guess(spectrum)
        found, reading = self._newton(spectrum, log_left, 2 * guess, guess)
        if not found < min(2 * guess, self._tally.largest):
            return None
        self._last = (spectrum, spectrum.level, found)
        return Bound(self._from_below(spectrum, j, found, reading, left), found, "contour")

    def _guess(self, spectrum: Spectrum) -> float:
        """The last answer, moved by as much as the bound at the line's real order has moved."""
        last, level, answer = self._last
        return answer + (spectrum.level - level) / spectrum.line.lam if last is spectrum else answer

    def _newton(
        self, spectrum: Spectrum, log_left: float, ceiling: float, guess: float
    ) -> tuple[float, Reading]:
        """Newton's method on log delta, kept in a bracket; only a confirmed epsilon is returned."""
        low, high, near = 0.0, math.inf, self._precision.near
        at = guess if 0 < guess < ceiling else ceiling
        rate = spectrum.line.lam
        for _ in range(_STEPS):
            reading = spectrum.read(at)
            off = reading.log_upper() - log_left
            rate = _rate(reading, rate)
            if off <= 0:
                high = at
                if off > -near or at == 0:
                    break
            else:
                low = at
                if at >= ceiling:
                    break
            at = _next(at, _step(reading, off + 0.5 * near, rate), low, min(high, ceiling))
            if at in (low, high):
                break
        return high, reading

    def _from_below(
        self, spectrum: Spectrum, j: int, above: float, reading: Reading, left: float
    ) -> float:
        """An epsilon at which delta certainly still exceeds `left`; 0 where none is found."""
        rate = _rate(reading, spectrum.line.lam)
        blur = reading.log_upper() - reading.log_lower()
        margin = (2 * min(blur, 1.0) + 2 * self._precision.near) / rate + above * 1e-15
        lost = self._tally.infinity
        wanted = (left + (lost[1] - lost[0])) * (1 + 8 * UNIT)
        if reading.ghost > 0:
            margin += _blur(reading.ghost, wanted)
        for _ in range(8):
            at = above - margin
            if at <= 0:
                break
            if self._lower(spectrum, j, at, wanted) > wanted:
                return at
            margin *= 4
        return 0.0

    def _lower(self, spectrum: Spectrum, j: int, epsilon: float, near: float = 0.0) -> float:
        """A bound from below on delta of the finite loss: the sum less its aliases.

        With a phantom Y, E D(epsilon - Y) <= D(epsilon - y) + P(Y > y): it is read y further out.
        """
        reading = spectrum.read(epsilon)
        missing, at = 0.0, epsilon
        if reading.ghost > 0:
            scale = near or max(1e-300, math.exp(min(0.0, reading.log_lower())))
            at = epsilon + _blur(reading.ghost, scale)
            missing = _blurred(reading.ghost, at - epsilon)
            reading = spectrum.read(at)
        whole_sum = math.exp(min(0.0, reading.log_lower())) * (1 - 2 * ELEMENTARY)
        aliases = self._aliases(spectrum, j, at, reading.ghost, 1e-12 * whole_sum)
        return max(0.0, (whole_sum - (aliases + missing) * (1 + 4 * UNIT)) * (1 - 4 * UNIT))

    def _aliases(
        self, spectrum: Spectrum, j: int, epsilon: float, ghost: float, enough: float
    ) -> float:
        """At most the sum over m != 0 of e^(lam m W) D(epsilon + m W).

        D is at most 1 on the left; on the right Chernoff's bound at a higher order is summed.
        """
        lam = spectrum.line.lam
        width = 2 * math.pi / spectrum.line.step
        gap = math.exp(-lam * width * (1 - 16 * UNIT))
        best = math.inf
        for i in (j + 3, j + 2, j + 4):
            if i >= len(ORDERS) or best < enough:
                continue
            order = _LIST[i]
            far = spectrum.far[1] if spectrum.far[0] == i else math.inf
            log = far if far < math.inf else self._tally.scale(i)
            log += 0.5 * order * (order + 1) * ghost - order * epsilon
            log -= (order - lam) * width
            log += (abs(log) + order * (epsilon + width)) * 16 * UNIT
            fall = -math.expm1(-(order - lam) * width)
            best = min(best, math.exp(min(log, 700.0)) / fall)
        return (gap / -math.expm1(-lam * width) + best) * (1 + 32 * UNIT)


def _blur(ghost: float, scale: float) -> float:
    """How far a phantom can push the loss but with probability far below `scale`."""
    return 0.5 * ghost + math.sqrt(2 * (30 - math.log(scale)) * ghost)


def _blurred(ghost: float, push: float) -> float:
    """At least the probability that a phantom, N(ghost/2, ghost), pushes further."""
    depth = (push * (1 - 64 * UNIT) - 0.5 * ghost) / math.sqrt(ghost)
    return 0.5 * math.exp(-0.5 * depth * depth * (1 - 32 * UNIT)) * (1 + 32 * UNIT)


def _resolution(
    lam: float, step: float, spread: float, square: float, precision: Precision
) -> tuple[int, float]:
    """How many frequencies to keep, and the phantom that makes the rest negligible."""
    if square > 0:
        enough = math.sqrt(2 * 46 / square) / step + 8
        if enough <= precision.most:
            return max(32, math.ceil(enough)), 0.0
    wanted = math.sqrt(10 * (lam + 1) / precision.excess) / step
    size = int(min(precision.most, max(64.0, wanted)))
    reach = step * size
    # Balances the remainder e^-fall/(pi step size) against the phantom's cost lam (lam + 1)
    # fall/reach^2, both relative to delta, about 1/(lam (lam + 1) spread sqrt(2 pi)) of the scale.
    unit_cost = lam * (lam + 1)
    relative = unit_cost * max(spread, 1e-12) * 2.5 / (math.pi * reach)
    fall = min(45.0, max(2.0, math.log(relative * reach * reach / unit_cost)))
    return size, 2 * fall / (reach * reach)


def _descend(cost: Callable[[int], float], size: int) -> int:
    """The index of least cost of a sequence that falls and then rises."""
    j, step = size // 3, 4
    while step:
        here = cost(j)
        while j + step < size and cost(j + step) < here:
            j, here = j + step, cost(j + step)
        while j - step >= 0 and cost(j - step) < here:
            j, here = j - step, cost(j - step)
        step //= 2
    return j


def _rate(reading: Reading, fallback: float) -> float:
    """Minus the derivative of log delta."""
    rate = reading.slope / reading.total if reading.total > 0 else fallback
    return rate if rate > 0 and math.isfinite(rate) else fallback


def _step(reading: Reading, off: float, rate: float) -> float:
    """Newton's step on log delta, corrected by its second derivative where that is small."""
    step = off / rate
    curve = reading.bend / reading.total - rate * rate if reading.total > 0 else 0.0
    correction = 0.5 * curve * step / rate
    return step * (1 + correction) if abs(correction) < 0.3 else step


def _next(at: float, step: float, low: float, high: float) -> float:
    """Newton's next point, or one inside the bracket where it would leave it."""
    to = at + step
    if low < to < high:
        return to
    return 0.0 if to <= low == 0 else (low + high) / 2


@lru_cache(maxsize=256)
def _offsets(log_left: float) -> FloatArray:
    """What the conversion at each order adds to epsilon."""
    offsets: FloatArray = (PEAKS - log_left) * _INVERSE
    offsets.setflags(write=False)
    return offsets


def _rest(delta: Fraction, lost: float) -> tuple[float, float]:
    """What an infinite loss leaves of delta, and the log of it, both from below."""
    left = (Interval.of(delta) - lost).lower
    return left, math.log(left) * (1 + ELEMENTARY) - ELEMENTARY if left > 0 else -math.inf


def _exp_up(log: float) -> float:
    return math.exp(log) * (1 + 2 * ELEMENTARY) + 5e-324


def _sum_up(a: float, b: float) -> float:
    return (a + b) * (1 + 2 * UNIT) if b else a


def _sum_down(a: float, b: float) -> float:
    return (a + b) * (1 - 2 * UNIT)
