"""One direction of a composition, on whichever line of orders suits the question."""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.privacy.contour.crossing import cross, descend, resolution, saddle, width
from discreet.privacy.contour.expansion import Expansion
from discreet.privacy.contour.folding import Folding, fold
from discreet.privacy.contour.spectrum import Gauge, Spectrum
from discreet.privacy.contour.tally import (
    ORDERS,
    PEAKS,
    Precision,
    Tally,
    log_moment_above,
    no_pair,
)
from discreet.privacy.guarantees.guarantee import Guarantee
from discreet.privacy.numerics.losses import LossList, certain, extend
from discreet.privacy.numerics.moments import FloatArray, OrderLine
from discreet.privacy.numerics.rounding import ELEMENTARY, UNIT, Bound, Interval
from discreet.privacy.numerics.shapes import GAUSSIAN, Shape, single

_KEPT = 6
"""Lines kept up to date at once."""

_INVERSE: FloatArray = 1 / ORDERS
_LIST: list[float] = ORDERS.tolist()
_ONES: FloatArray = np.ones(len(ORDERS))

_GROWTH = 1.3
"""How much the composed moment may grow before another line is considered."""

_FOLDED = Fraction(1, 10**6)
"""The share of delta that a first cap may take."""

_HALF = Fraction(1, 2)

_ROUNDS = 5
"""Caps that are tried."""

_QUIET = 18.0
"""Aliases may add e^-18 of delta."""

_VISIBLE = 17.0
"""Delta may be e^-17 of a line's scale over the number of laws: roundings are far below that."""

_SETTLED = 1e-4
"""The relative gap of bounds below which another line is not worthwhile."""

_FURTHER = 8
"""Orders further up that are tried for a bound on aliases."""

_FEW = 6
"""Guarantees up to which a line is brought up to date one by one."""


class Side:
    """One direction of the composition: its tally, its lines, its list of outcomes.

    Why: the line in use is brought up to date when it is next read, so that many appended in a row
    are multiplied in together; where budgets are checked that is at once.
    """

    def __init__(self, tally: Tally, precision: Precision, folding: Folding | None = None) -> None:
        self._tally, self._precision, self._folding = tally, precision, folding
        self._spectra: dict[tuple[int, int], Spectrum] = {}
        self._active: Spectrum | None = None
        self._pending: list[tuple[Guarantee, int, tuple[Shape, float] | None]] = []
        self._listed: LossList | None = certain() if folding is None else None
        self._waiting: list[tuple[Guarantee, int]] = []
        self._last: tuple[Spectrum | None, float, float] = (None, 0.0, 0.0)
        self._chosen: tuple[Spectrum | None, int, float, float] = (None, 0, 0.0, 0.0)
        self._asked: tuple[Fraction | None, float, float, float] = (None, 0.0, 0.0, 0.0)
        self._at, self._growing = (0, 0), False
        self._gauge: Gauge | None = None
        self._limit = (math.nan, 0.0, -math.inf)

    def append(self, guarantee: Guarantee, count: int, form: tuple[Shape, float] | None) -> None:
        """Compose `count` more copies."""
        self._tally.append(guarantee, count, form)
        if self._listed is not None:
            self._waiting.append((guarantee, count))
        if self._active is not None:
            self._growing = True
            self._pending.append((guarantee, count, form))
            if self._gauge is not None:
                self._renew(self._gauge)

    def _renew(self, gauge: Gauge) -> None:
        """Prepare the next check, afresh where a Gaussian or a change of line has made it stale."""
        active = self._current()
        if active is not None and not gauge.fits(active):
            self._gauge = active.gauge(gauge.epsilon)

    def _current(self) -> Spectrum | None:
        """The line in use, with everything appended multiplied in."""
        active = self._active
        if active is None or not self._pending:
            return active
        # Not in use until it is whole: what fails halfway is drawn anew.
        pending, self._pending, self._active = self._pending, [], None
        if len(pending) > _FEW:
            self._multiply(active, pending)
        else:
            for guarantee, count, form in pending:
                self._advance(active, guarantee, count, form)
        before = active.rest.length
        active.settle(self._tally.rest)
        if self._tally.length // 32 != before // 32:
            active.trim()
        self._active = active
        return active

    def _multiply(
        self, spectrum: Spectrum, pending: list[tuple[Guarantee, int, tuple[Shape, float] | None]]
    ) -> None:
        fresh = Tally(self._tally.direction)
        for guarantee, count, form in pending:
            fresh.append(guarantee, count, form)
        spectrum.absorb(fresh.moments(spectrum.live))
        spectrum.far = (spectrum.far[0], self._tally.scale(spectrum.far[0]))

    def _advance(
        self, spectrum: Spectrum, one: Guarantee, count: int, form: tuple[Shape, float] | None
    ) -> None:
        if form is None:
            factor = one.moments(spectrum.live, self._tally.direction)
            if factor is None:
                raise no_pair(one)
            spectrum.far = (spectrum.far[0], math.inf)
        else:
            factor = None if form[0] is GAUSSIAN else single(form[0], form[1], spectrum.live)
            i, far = spectrum.far
            far += log_moment_above(form[0], form[1], count, i)
            spectrum.far = (i, far + abs(far) * 4 * UNIT)
        if factor is not None:
            spectrum.absorb(factor.power(count))

    # --- answers --------------------------------------------------------------------------------

    def epsilon(self, delta: Fraction) -> Bound:
        """The smallest epsilon at this delta."""
        tally = self._tally
        lost = tally.infinity
        if delta is not self._asked[0] or lost[1] != self._asked[1]:
            self._asked = (delta, lost[1], *_rest(delta, lost[1]))
        _, _, left, log_left = self._asked
        if left <= 0 and lost[1] > delta:
            sure = lost[0] > delta and self._folding is None
            return Bound(math.inf if sure else 0.0, math.inf, "infinite loss")
        if tally.largest == 0:
            return Bound(0.0, 0.0, "basic")
        listed = self._outcomes() if self._listed is not None else None
        if listed is not None:
            return listed.epsilon(Interval.of(delta).lower, lost)
        if left <= 0:
            return Bound(0.0, tally.largest, "basic")
        if self._folding is None and tally.heavy():
            return self._fold_and_solve(delta, left)
        return self._solve(left, log_left)

    def ceiling(self, delta: Fraction) -> float:
        """An epsilon that certainly suffices, from real orders alone, or infinity."""
        left, log_left = _rest(delta, self._tally.infinity[1])
        return self._best(_INVERSE, _offsets(log_left))[1] if left > 0 else math.inf

    def most(self, epsilon: Fraction) -> float:
        """A delta that certainly suffices, from real orders alone."""
        log = self._best(_ONES, PEAKS - ORDERS * Interval.of(epsilon).lower)[1]
        return _sum_up(_exp_up(min(log, 0.0)), self._tally.infinity[1])

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
        if self._folding is None and tally.heavy():
            cap = fold(tally, math.inf).suited(e_high, -30.0)
            return self._fold(cap).delta(epsilon)
        j, log_chernoff = self._best(_ONES, PEAKS - ORDERS * e_low)
        if self._folding is not None:
            j = self._roomiest(max(1.0, -log_chernoff), e_low)
        spectrum, j = self._line(j, max(1.0, -log_chernoff), e_low)
        reading = spectrum.read(e_low)
        log_upper = reading.log_upper(e_low)
        method, log_best = (
            ("contour", log_upper) if log_upper < log_chernoff else ("rdp", log_chernoff)
        )
        above = min(1.0, _sum_up(_exp_up(min(log_best, 0.0)), lost[1]))
        below = (self._lower(spectrum, j, e_high, reading) + lost[0]) * (1 - 2 * UNIT)
        return Bound(min(max(0.0, below), above), above, method)

    def within(self, epsilon: float, delta: float) -> bool:
        """True only if delta(epsilon) <= delta for sure; False may need a closer look."""
        spectrum, gauge, lost = self._active, self._gauge, self._tally.infinity[1]
        if self._pending:
            spectrum = self._current()
        if spectrum is None or spectrum.rest.length != self._tally.length:
            return False
        if gauge is None or gauge.epsilon != epsilon or not gauge.fits(spectrum):
            gauge = self._gauge = spectrum.gauge(epsilon)
        if self._limit[0] != delta or self._limit[1] != lost:
            self._limit = (delta, lost, min(0.0, _rest(delta, lost)[1]))
        return gauge.log_upper(spectrum) <= self._limit[2]

    def _outcomes(self) -> LossList | None:
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
            j = descend(lambda i: self._tally.scale(i) * factor[i] + offset[i], len(ORDERS))
        part, rest = self._tally.scale(j) * float(factor[j]), float(offset[j])
        return j, part + rest + (abs(part) + 4 * abs(rest) + 1) * (8 * UNIT)

    def _roomiest(self, log_delta: float, near: float) -> int:
        """The order whose aliases may lie closest, while delta is not lost in rounding there."""
        folded = 1 if self._folding is None else self._folding.count
        visible = _VISIBLE - math.log(folded)

        def cost(i: int) -> float:
            gap = self._tally.scale(i) - _LIST[i] * near + log_delta
            return math.log(self._width(i, log_delta, near)) + max(0.0, gap - visible)

        return descend(cost, len(ORDERS) - 1)

    def _line(self, j: int, log_delta: float, near: float) -> tuple[Spectrum, int]:
        """An up-to-date spectrum on a line suited to the order and to delta = e^-log_delta."""
        j = self._steady(j) if self._folding is None else j
        spectrum = self._current() if self._serves(self._at[0], j, log_delta, near) else None
        if spectrum is not None:
            return spectrum, self._at[0]
        if self._growing and j > 0:
            j -= 1  # More will be appended, and the best order only falls: this line lasts longer.
        key = (j, math.ceil(2 * math.log2(self._width(j, log_delta, near))))
        spectrum = self._spectra.pop(key, None)
        if spectrum is None or spectrum.rest.length != self._tally.length:
            spectrum = self._draw(j, 2.0 ** (key[1] / 2), log_delta, near)
            i = min(j + 3, len(ORDERS) - 1)
            spectrum.far = (i, self._tally.scale(i))
        self._spectra[key] = spectrum
        if len(self._spectra) > _KEPT:
            del self._spectra[next(iter(self._spectra))]
        self._active, self._pending, self._at = spectrum, [], key
        return spectrum, j

    def _serves(self, at: int, j: int, log_delta: float, near: float) -> bool:
        """Whether the line in use, at another order, is as good, on a list that grows.

        If it does not, each question has its own line, so that answers do not depend on earlier
        ones.
        """
        if not self._growing:
            return False
        needed = 2 * math.log2(self._width(at, log_delta, near))
        return at <= j <= at + 1 and needed <= self._at[1] <= needed + 4

    def _width(self, j: int, log_delta: float, near: float) -> float:
        """How far apart aliases of an epsilon near this have to be, to be nothing beside delta."""
        lam, scale = _LIST[j], self._tally.scale
        if self._folding is None:
            return width(lam, self._spread(j), log_delta)
        quiet = log_delta + _QUIET
        further = range(j + 1, min(j + _FURTHER, len(ORDERS)))
        right = [(scale(i) - _LIST[i] * near + quiet) / (_LIST[i] - lam) for i in further]
        return max(quiet / lam, min(right, default=0.0))

    def _draw(self, j: int, width: float, log_delta: float, near: float) -> Spectrum:
        lam, step = _LIST[j], 2 * math.pi / width
        excess = self._precision.excess * min(1.0, max(near, 1e-9))
        weight = lam * (lam + 1) * max(self._spread(j), 1e-12) * 2.5
        if self._folding is not None:
            weight = math.exp(min(50.0, max(0.0, self._tally.scale(j) - lam * near + log_delta)))
        size, phantom = resolution(
            (lam, step, weight), self._tally.rest.square, self._precision.most, excess
        )
        line = OrderLine(lam, step, size)
        spectrum = Spectrum(line, phantom)
        spectrum.absorb(self._tally.moments(line))
        spectrum.settle(self._tally.rest)
        spectrum.trim()
        return spectrum

    def _steady(self, j: int) -> int:
        """Raise a very low order until lam x spread is about 1: lower ones gain nothing."""
        spread = self._spread(j)
        while ORDERS[j] * spread < 1 and j + 2 < len(ORDERS):
            further = self._spread(j + 1)
            if ORDERS[j + 1] * further <= ORDERS[j] * spread:
                break
            j, spread = j + 1, further
        return j

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

    # --- heavy tails ----------------------------------------------------------------------------

    def _fold_and_solve(self, delta: Fraction, left: float) -> Bound:
        """Epsilon of the list with its tails folded in, at a cap that suits it.

        Every round is a bound; the least from above counts, and the greatest from below.
        """
        heavy = self._tally.heavy()
        shares = [Fraction(left) * share / sum(heavy.values()) for share in (_FOLDED, _HALF)]
        top, low = (max(_level(one, share) for one in heavy) for share in shares)
        cap = min(top, fold(self._tally, math.inf).suited(low, math.log(left)))
        best = Bound(0.0, math.inf, "infinite loss")
        for _ in range(_ROUNDS):
            folding = fold(self._tally, cap)
            found = Side(folding.plain, self._precision, folding).epsilon(delta)
            if found.upper <= best.upper:
                best = Bound(max(best.lower, found.lower), found.upper, found.method)
            suited = min(top, folding.suited(best.upper, math.log(left)))
            if _settled(best) or 0.95 * cap <= suited <= cap:
                break
            cap = suited
        return best

    def _fold(self, cap: float) -> "Side":
        folding = fold(self._tally, cap)
        return Side(folding.plain, self._precision, folding)

    # --- solving --------------------------------------------------------------------------------

    def _solve(self, left: float, log_left: float) -> Bound:
        """The epsilon at which delta of the finite loss falls to `left`."""
        quick = self._solve_again(left, log_left)
        if quick is not None:
            return quick
        j, chernoff = self._best(_INVERSE, _offsets(log_left))
        ceiling, method = min((self._tally.largest, "basic"), (chernoff, "rdp"))
        best = Bound(0.0, max(0.0, ceiling), method)
        for _ in range(_ROUNDS if self._folding is not None else 1):
            near = best.upper
            if self._folding is not None:
                j = self._roomiest(-log_left, near)
            best = self._improve(best, j, (left, log_left))
            if _settled(best) or not best.upper < 0.98 * near:
                break
        return best

    def _improve(self, best: Bound, j: int, target: tuple[float, float]) -> Bound:
        """The same, from a line at one order that suits an epsilon below the best bound so far."""
        (left, log_left), ceiling = target, best.upper
        spectrum, j = self._line(j, -log_left, ceiling)
        guess = self._guess(spectrum) or saddle(spectrum, self._spread(j), log_left)
        found, reading = cross(spectrum, log_left, self._precision.near, ceiling, guess)
        if found < ceiling:
            best = Bound(best.lower, found, "contour")
        self._last = (spectrum, spectrum.level, best.upper)
        self._chosen = (spectrum, j, log_left, spectrum.level)
        below = self._from_below(spectrum, j, best.upper, reading, left)
        return Bound(max(best.lower, below), best.upper, best.method)

    def _solve_again(self, left: float, log_left: float) -> Bound | None:
        """The same on the line in use, while little has been composed since it was chosen."""
        spectrum, j, asked, level = self._chosen
        if spectrum is None or spectrum is not self._active or asked != log_left:
            return None
        self._current()
        if spectrum.rest.length != self._tally.length or spectrum.level > _GROWTH * level:
            return None
        guess = self._guess(spectrum)
        found, reading = cross(spectrum, log_left, self._precision.near, 2 * guess, guess)
        if not (found < 2 * guess and found < self._tally.largest):
            return None
        self._last = (spectrum, spectrum.level, found)
        return Bound(self._from_below(spectrum, j, found, reading, left), found, "contour")

    def _guess(self, spectrum: Spectrum) -> float:
        """The last answer, moved by as much as the bound at the line's real order has moved."""
        last, level, answer = self._last
        return answer + (spectrum.level - level) / spectrum.line.lam if last is spectrum else answer

    def _from_below(
        self, spectrum: Spectrum, j: int, above: float, reading: Expansion, left: float
    ) -> float:
        """An epsilon at which delta certainly still exceeds `left`; 0 where none is found."""
        lost = self._tally.infinity
        wanted = (left + (lost[1] - lost[0])) * (1 + 8 * UNIT)
        blur = 2 * min(reading.blur(), 1.0) + 2 * self._precision.near
        blur += 2 * min(spectrum.phantom_cost(reading) / wanted, 1.0)
        margin = blur / reading.rate(reading.epsilon) + above * 1e-15
        for _ in range(8):
            at = above - margin
            if at <= 0:
                break
            if self._lower(spectrum, j, at, reading) > wanted:
                return at
            margin *= 4
        return 0.0

    def _lower(self, spectrum: Spectrum, j: int, epsilon: float, reading: Expansion) -> float:
        """A bound from below on delta of the finite loss: the sum less its aliases and phantom."""
        missing = 0.0
        if reading.ghost or not reading.covers(epsilon, self._precision.near):
            reading = spectrum.read(epsilon)
            missing = spectrum.phantom_cost(reading)
        whole_sum = math.exp(min(0.0, reading.log_lower(epsilon))) * (1 - 2 * ELEMENTARY)
        aliases = self._aliases(spectrum, j, epsilon, reading.ghost, 1e-12 * whole_sum)
        missing += self._folding.doubt(epsilon) if self._folding is not None else 0.0
        return (whole_sum - (aliases + missing) * (1 + 4 * UNIT)) * (1 - 4 * UNIT)

    def _aliases(
        self, spectrum: Spectrum, j: int, epsilon: float, ghost: float, enough: float
    ) -> float:
        """Upper bound on the sum over m != 0 of e^(lam m W) D(epsilon + m W).

        D is at most 1 on the left; on the right Chernoff's bound at a higher order is summed.
        """
        left, (usual, far) = spectrum.ends[2], spectrum.far
        right = _beyond(spectrum, _LIST[usual], far, epsilon, ghost)
        if right >= enough:
            first, last = (j + 2, j + 5) if self._folding is None else (j + 1, j + _FURTHER)
            for i in range(first, min(last, len(ORDERS))):
                scale = self._tally.scale(i)
                right = min(right, _beyond(spectrum, _LIST[i], scale, epsilon, ghost))
        return (left + right) * (1 + 32 * UNIT)


def _beyond(spectrum: Spectrum, order: float, scale: float, epsilon: float, ghost: float) -> float:
    """Upper bound on the sum over m > 0 of e^(lam m W) D(epsilon + m W), from one moment."""
    lam, width, _ = spectrum.ends
    push, pull = order * epsilon, (order - lam) * width
    log = scale + 0.5 * order * (order + 1) * ghost
    log += (abs(log) + push + order * width) * (16 * UNIT) - push - pull
    return math.exp(log) / -math.expm1(-pull) if pull > 0 and log < 700 else math.inf


@lru_cache(maxsize=1024)
def _level(guarantee: Guarantee, delta: Fraction) -> float:
    return guarantee.epsilon(delta).upper


def _settled(bound: Bound) -> bool:
    return bound.upper - bound.lower <= _SETTLED * bound.upper


@lru_cache(maxsize=256)
def _offsets(log_left: float) -> FloatArray:
    """The terms that the conversion at each order adds to epsilon."""
    offsets: FloatArray = (PEAKS - log_left) * _INVERSE
    offsets.setflags(write=False)
    return offsets


def _rest(delta: Fraction | float, lost: float) -> tuple[float, float]:
    """The delta that an infinite loss leaves, and its log, both from below."""
    left = (Interval.of(delta) - lost).lower
    return left, math.log(left) * (1 + ELEMENTARY) - ELEMENTARY if left > 0 else -math.inf


def _exp_up(log: float) -> float:
    return math.exp(log) * (1 + 2 * ELEMENTARY) + 5e-324


def _sum_up(a: float, b: float) -> float:
    return (a + b) * (1 + 2 * UNIT) if b else a
