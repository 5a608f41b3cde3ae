"""Moments of a sampled mechanism's loss, as sums over nodes with a proven remainder.

When each person takes part with probability q, the laws with and without one person are
(1 - q) Q + q P and Q. With g = 1 - q + q P/Q and F(w) = E_Q[g^w] the moments of the loss are

    F(s + 1)   in the direction REMOVE        F(-s)   in the direction ADD

F is a finite sum over atoms, or an integral turned into one by a rule whose error falls
exponentially because the integrand is analytic: the trapezoidal rule for Gaussian noise,
Clenshaw-Curtis on panels for Laplace noise.
"""

import math
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from discreet.privacy.numerics.moments import ComplexArray, FloatArray, Moments, OrderLine
from discreet.privacy.numerics.nonuniform_fft import dot, total, turning_sums
from discreet.privacy.numerics.panels import DEGREE, Integrand, clenshaw_curtis, panels, rule
from discreet.privacy.numerics.rounding import ELEMENTARY, UNIT, Interval

_TARGET: Final = 41.0
"""Remainders are pushed below e^-41 of the whole, a hundredth of a rounding."""

_REACH: Final = 9.25
"""Standard deviations beyond which a normal law has less than 1.2e-20."""

_MOST: Final = 2**18
"""Nodes past which a sum is not worth its time."""

_GONE: Final = 56.0
"""A frequency below e^-56 of the scale is 0 for all that follows."""


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """F(w) as a sum of e^(logs + w ratios), for every w with one real part and |Im w| <= height.

    Guarantee:
        Each log and each ratio is within its error; the sum of the exact terms differs from F(w)
        by at most `remainder` times F(Re w).
    """

    logs: FloatArray
    log_errors: FloatArray
    ratios: FloatArray
    ratio_errors: FloatArray
    remainder: float


class Sampled(Protocol):
    """A pair of laws P, Q sampled at a rate, as far as sums over nodes are concerned."""

    def nodes(self, power: float, height: float) -> Nodes | None:
        """The sum for Re w = power and |Im w| <= height; None where it would take too long."""

    def fades(self, power: float, share: float) -> float:
        """A height from which on |F(w)| <= share F(Re w), or infinity."""


@dataclass(frozen=True, slots=True, eq=False, init=False)
class NodeMoments(Moments):
    """Moments by nodes, whose shape is summed when it is asked for.

    Why: of many copies together only the lowest frequencies matter, and `power` is where the number
    of copies is known. It sums the shape as far as it has not faded to nothing.
    """

    pair: Sampled
    line: OrderLine
    way: tuple[float, float]

    def __init__(
        self, pair: Sampled, line: OrderLine, way: tuple[float, float], real: Nodes
    ) -> None:
        scale, error = _weigh(real, way[0])
        object.__setattr__(self, "log_scale", scale)
        object.__setattr__(self, "log_error", error)
        object.__setattr__(self, "pair", pair)
        object.__setattr__(self, "line", line)
        object.__setattr__(self, "way", way)

    def __getattr__(self, name: str) -> ComplexArray | float:
        # Reached for `phi` and `error` alone, and once: their slots are empty until then.
        if name not in ("phi", "error"):
            raise AttributeError(name)
        shape = self._shape(self.line.size)
        object.__setattr__(self, "phi", shape[0])
        object.__setattr__(self, "error", shape[1])
        return shape[0] if name == "phi" else shape[1]

    def power(self, count: int) -> Moments:
        """The moments of `count` independent copies."""
        size = self.line.size
        faded = self.pair.fades(self.way[0], math.exp(-_GONE / count)) / self.line.step
        if count == 1 or not faded + 2 < size:
            return Moments(self.log_scale, self.log_error, self.phi, self.error).power(count)
        shape, error = self._shape(math.ceil(faded) + 2)
        low = Moments(self.log_scale, self.log_error, shape, error).power(count)
        phi = np.zeros(size, dtype=np.complex128)
        phi[: len(shape)] = low.phi
        return Moments(low.log_scale, low.log_error, phi, low.error + 2 * math.exp(-_GONE))

    def _shape(self, size: int) -> tuple[ComplexArray, float]:
        """The shape, and all it may be off by.

        A relative error of one weight moves the shape by at most that error times how far its term
        is from the shape: nodes that hardly turn hardly count.
        """
        power, sign = self.way
        nodes = self.pair.nodes(power, self.line.step * size)
        if nodes is None:
            return np.zeros(size, dtype=np.complex128), 2.0
        weights, each = _weights(nodes, power)[:2]
        whole = total(weights)
        sums, rounding = turning_sums(weights, nodes.ratios * (sign * self.line.step), size)
        reach = self.line.step * size
        turns = nodes.ratio_errors + 8 * UNIT * np.abs(nodes.ratios)
        turned = reach * dot(weights, turns)
        moved = np.minimum(2.0, reach * np.abs(nodes.ratios)) * weights
        off = dot(moved, each) + dot(weights, each) * float(moved.sum()) / whole
        error = (off + turned + rounding) / whole + nodes.remainder + 96 * UNIT
        return sums / whole, min(2.2 * error, 2.0)


def moments(pair: Sampled, line: OrderLine, way: tuple[float, float]) -> Moments | None:
    """The moments on a line whose orders map to w = way[0] + i way[1] height.

    Why:
        The terms at the real power are positive weights; on the line each turns by height x ratio.
        An error x of an exponent changes its term by at most x e^x of itself, so weighted means of
        the errors bound the error of the sum, and a sum of n terms adds n `UNIT`.
    """
    real = pair.nodes(way[0], 0.0)
    if real is None:
        return None
    if line.size == 1:
        scale, error = _weigh(real, way[0])
        return Moments(scale, error, np.ones(1, dtype=np.complex128), 0.0)
    return NodeMoments(pair, line, way, real)


def _weigh(nodes: Nodes, power: float) -> tuple[float, float]:
    """Log F(power), and its error."""
    weights, each, top = _weights(nodes, power)
    whole = total(weights)
    error = 2 * dot(weights, each) / whole + 80 * UNIT + nodes.remainder
    log_scale = top + math.log(whole)
    return log_scale, 2 * error + ELEMENTARY * (1 + abs(log_scale))


def _weights(nodes: Nodes, power: float) -> tuple[FloatArray, FloatArray, float]:
    """The terms at the real power relative to e^top, their relative errors, and top."""
    logs = nodes.logs + power * nodes.ratios
    top = float(logs.max())
    size = np.abs(nodes.logs) + abs(power) * np.abs(nodes.ratios) + abs(top)
    each = nodes.log_errors + abs(power) * nodes.ratio_errors + ELEMENTARY * (1 + size)
    return np.exp(logs - top), each, top


def log_ratios(loss: FloatArray, error: FloatArray, rate: float) -> tuple[FloatArray, FloatArray]:
    """Log(1 - q + q e^loss), and its error.

    Why: its slope in the loss is q e^loss/g <= 1, rising, so an error below 1/2 of the loss counts
    at most twice the slope; a relative error of v = q (e^loss - 1) moves log(1 + v) by |v|/(1 + v)
    times as much. Large losses go by log q + loss, which cannot overflow.
    """
    excess = rate * np.expm1(np.minimum(loss, 30.0))
    low = np.log1p(excess)
    slack = ELEMENTARY * (4 * np.abs(excess) / (1 + excess) + 2 * np.abs(low))
    far = np.maximum(loss, 30.0)
    high = far + (math.log(rate) + np.log1p((1 / rate - 1) * np.exp(-far)))
    extra = ELEMENTARY * (4 * (far + abs(math.log(rate)) + 2))
    near = loss <= 30.0
    slope = np.minimum(1.0, 2 * (excess + rate) / (1 + excess))
    return np.where(near, low, high), np.where(near, slope * error + slack, error + extra)


@dataclass(frozen=True, slots=True, eq=False)
class SampledAtoms:
    """Outcomes with probability `masses` under Q and log P/Q = `losses`, right to 8 roundings."""

    masses: FloatArray
    losses: FloatArray
    rate: float

    def nodes(self, power: float, height: float) -> Nodes:
        """The atoms themselves."""
        error = 8 * UNIT * (1 + np.abs(np.maximum(self.losses, -745.0)))
        ratios, errors = log_ratios(self.losses, error, self.rate)
        spread = np.full_like(self.masses, 4 * ELEMENTARY)
        return Nodes(np.log(self.masses), spread, ratios, errors, 0.0)

    def fades(self, power: float, share: float) -> float:
        """Atoms never fade."""
        return math.inf


@dataclass(frozen=True, slots=True)
class SampledGaussian:
    """The pair N(mu, 1), N(0, 1): P/Q = e^(mu x - mu^2/2), taken for constant from x = `end` on."""

    mu: float
    rate: float
    end: float = math.inf

    def nodes(self, power: float, height: float) -> Nodes | None:
        """The trapezoidal rule.

        Why:
            g(x) has no zero and |arg g| <= mu |Im x| while mu |Im x| < pi, so in the strip |Im x|
            <= a the integrand is at most e^(a^2/2 + mu a |Im w|) times its value at Re x, Re w, and
            for Re w < 0 times cos(mu a/2)^(Re w) more, as |u + v e^(i t)| >= (u + v) cos(t/2). A
            step h errs by at most 2/(e^(2 pi a/h) - 1) of that. Past an end x0, g^w <= g(x0)^w
            e^(mu w (x - x0)) outwards on the side where g^w grows (or its limit (1 - q)^w), and <=
            g(x0)^w on the other; completing the square leaves at most e^(w log g(x0) - x0^2/2) (1/2
            + 2h/5) once x0 is past mu w.

        Reference: Trefethen, Weideman, The Exponentially Convergent Trapezoidal Rule (integrals
        over the real line).
        """
        if math.isfinite(self.end):
            return self._capped_nodes(power, height)
        step, (first, last) = self._step(power, height), self.ends(power)
        if not (last - first) / step < _MOST:
            return None
        x: FloatArray = np.arange(math.floor(first / step), math.ceil(last / step) + 1.0) * step
        ratios, errors = self._ratios(x)
        logs = -0.5 * x * x + (math.log(step) - 0.5 * math.log(2 * math.pi))
        known = float(np.logaddexp.reduce(logs + power * ratios))
        outside = self._left_of(power, x[0], ratios[0], known)
        outside += math.exp(min(power * ratios[-1] - x[-1] * x[-1] / 2 - known, 0.0))
        remainder = 2.1 * math.exp(-_TARGET) + 2.1 * outside * (0.5 + 0.4 * step)
        return Nodes(logs, ELEMENTARY * (np.abs(logs) + 8), ratios, errors, remainder)

    def _capped_nodes(self, power: float, height: float) -> Nodes | None:
        """Panels up to the end, and one atom for all that lies beyond it."""
        first = min(self.ends(power)[0], self.end - 1)
        over = Integrand(self.mu, self.rate, power, height)
        rough = np.linspace(first, self.end, 512)
        goal = float(np.max(power * self._ratios(rough)[0] - rough * rough / 2)) - _TARGET - 6
        edges = panels(over, (first, self.end), goal, _MOST)
        if edges is None:
            return None
        x, logs, spread = rule(edges)
        logs += -0.5 * x * x - 0.5 * math.log(2 * math.pi)
        beyond = Interval.of(self.end).normal_tail().log()
        logs = np.append(logs, float(beyond.hi))
        spread = np.append(spread, 0.0) + ELEMENTARY * (np.abs(logs) + 8)
        ratios, errors = self._ratios(np.append(x, self.end))
        known = float(np.logaddexp.reduce(logs + power * ratios))
        remainder = 1.1 * len(edges) * math.exp(goal - known)
        remainder += 1.1 * self._left_of(power, first, ratios[0], known)
        return Nodes(logs, spread, ratios, errors, remainder)

    def _left_of(self, power: float, first: float, ratio: float, known: float) -> float:
        """The mass left of all nodes, against log F = `known`; doubled, for a sum over nodes."""
        floor = power < 0 and first > self.mu * power
        log = power * (math.log1p(-self.rate) if floor else ratio) - first * first / 2
        return math.exp(min(log - known, 0.0))

    def fades(self, power: float, share: float) -> float:
        """A height from which on |F(w)| <= share F(Re w).

        Why:
            With f = density x g^power and r = log g, integrating by parts from x0 on bounds the
            integral of f e^(i t r) by (h(x0) + variation of h)/t, h = f/r'. The slope of log h is
            -x - mu + (power + 1) mu p(x) with p a logistic function, so it changes sign at most
            three times, and the variation is at most 4 max h. What lies below x0 counts in full.
        """
        x = self._grid(power)
        if x is None:
            return math.inf
        gap = x[1] - x[0]
        ratios, _ = self._ratios(x)
        density = -0.5 * x * x + power * ratios - 0.5 * math.log(2 * math.pi)
        whole = float(np.logaddexp.reduce(density)) + math.log(gap)
        if math.isfinite(self.end):
            # Cut off on a slope: half of the last term, and what a convex slope may add.
            half = math.exp(float(density[-1]) + math.log(gap) - whole) / 2
            whole += math.log1p(-half) - 0.05
        share -= self._atom(power, whole)
        height = density + ratios - self.mu * x + self.mu * self.mu / 2
        # Between grid points log h rises by at most its second derivative times gap^2/8.
        height += (1 + abs(power + 1) * self.mu**2 / 4) * gap * gap / 8
        highest = np.maximum.accumulate(height[::-1])[::-1]
        below = np.cumsum(np.exp(density - whole)) * gap * 1.01 + 1e-9
        room = 0.99 * share - below
        where = room > 0
        if not where.any():
            return math.inf
        log_cost = highest[where] - whole - math.log(self.mu * self.rate)
        return float(np.min(5.2 * np.exp(np.minimum(log_cost, 500.0)) / room[where]))

    def _atom(self, power: float, whole: float) -> float:
        """Upper bound on the share of F(power), about e^whole, beyond the end."""
        if math.isinf(self.end):
            return 0.0
        log = float(Interval.of(self.end).normal_tail().log().hi) - whole
        log += power * float(self._ratios(np.array([self.end]))[0][0])
        return 1.02 * math.exp(min(log, 0.0))

    def _ratios(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        mu = self.mu
        return log_ratios(mu * x - mu * mu / 2, 4 * UNIT * (mu * np.abs(x) + mu * mu), self.rate)

    def _step(self, power: float, height: float) -> float:
        """The widest step, over many strips, whose remainder is below the target."""
        strip = np.minimum(np.arange(1, 64) / 64 * (math.pi / self.mu), 16.0)
        growth = strip * strip / 2 + self.mu * strip * height
        growth -= max(0.0, -power) * np.log(np.cos(self.mu * strip / 2))
        return 2 * math.pi / float(np.min((growth + _TARGET) / strip))

    def ends(self, power: float) -> tuple[float, float]:
        """The ends of the integrand: it lives around 0 and, for Re w > 0, around mu Re w."""
        if power > 0:
            return -_REACH, self.mu * power + _REACH
        limit = math.sqrt(2 * -power * -math.log1p(-self.rate))
        return -_REACH - min(-power * self.mu, limit), _REACH

    def _grid(self, power: float) -> FloatArray | None:
        """Points close enough to see every bend of the integrand, unless they are too many."""
        first, last = self.ends(power)
        last = max(min(last, self.end), first + 1)
        fine = 20 * math.sqrt(1 + abs(power) * self.mu**2)
        fine = fine if math.isinf(self.end) else max(fine, 2 * self.mu * abs(power))
        count = (last - first) * fine
        return np.linspace(first, last, int(max(count, 256))) if count < 2**15 else None


@dataclass(frozen=True, slots=True)
class SampledLattice:
    """Discrete Gaussian laws `distance` integers apart: P/Q = e^(distance (2x - distance)/2v)."""

    distance: int
    variance: float
    rate: float
    cap: float = math.inf

    def nodes(self, power: float, height: float) -> Nodes | None:
        """The sum over the integers itself, cut off as for Gaussian noise.

        Past an end x0 the terms are below those of e^(-x^2/2v) scaled to agree at x0, whose sum is
        at most its first term plus an integral: 1 + sigma sqrt(pi/2) times the value at x0.
        """
        v, sigma = self.variance, math.sqrt(self.variance)
        ends = SampledGaussian(self.distance / sigma, self.rate).ends(power)
        first, last = (sigma * end for end in ends)
        if not last - first < _MOST:
            return None
        x = np.arange(math.floor(first) - 1.0, math.ceil(last) + 2.0)
        loss = self.distance * (2 * x - self.distance) / (2 * v)
        ratios, errors = log_ratios(loss, 4 * UNIT * np.abs(loss), self.rate)
        ratios = np.minimum(ratios, self.cap)
        bare = -x * x / (2 * v)
        logs = bare - math.log(float(np.exp(bare).sum()))
        known = float(np.logaddexp.reduce(logs + power * ratios))
        floor = power < 0 and x[0] > self.distance * power
        edges = logs[[0, -1]] + power * np.array(
            [math.log1p(-self.rate) if floor else ratios[0], ratios[-1]]
        )
        outside = float(np.exp(np.minimum(edges - known, 0.0)).sum()) * (1 + 1.26 * sigma)
        spread = ELEMENTARY * (np.abs(bare) + 16) + len(x) * UNIT
        return Nodes(logs, spread, ratios, errors, 2.1 * outside + 2.1 * math.exp(-_TARGET))

    def fades(self, power: float, share: float) -> float:
        """The losses form a lattice too, so frequencies return."""
        return math.inf


@dataclass(frozen=True, slots=True)
class SampledLaplace:
    """The pair of Laplace laws whose loss lies between -epsilon and epsilon."""

    epsilon: float
    rate: float

    def nodes(self, power: float, height: float) -> Nodes | None:
        """Two atoms, and Clenshaw-Curtis of one degree on panels between them.

        Why:
            Under Q the loss v is -epsilon with probability 1/2, epsilon with probability
            e^-epsilon/2, and has density e^(-(v + epsilon)/2)/4 between. On an ellipse around a
            panel of half width d, with foci at its ends and axes' sum rho d, |Im v| stays below pi
            and g^w is bounded as for Gaussian noise. Chebyshev coefficients are at most 2 M rho^-k,
            and the integral and the rule differ by at most 8/3 on each T_k beyond the degree n, so
            by (16/3) M d rho^-n/(rho - 1) together.
        """
        panels = self._panels(power, height)
        if panels is None:
            return None
        points, weights, spread = clenshaw_curtis()
        half = self.epsilon / panels
        centres = (2 * np.arange(panels) + 1 - panels) * half
        inside = np.add.outer(centres, half * points).reshape(-1)
        density = -(inside + self.epsilon) / 2 + math.log(half / 4)
        logs = np.append(density + np.tile(np.log(weights), panels), (-self.epsilon, 0.0))
        logs[-2:] -= math.log(2)
        loss = np.append(inside, (self.epsilon, -self.epsilon))
        ratios, errors = log_ratios(loss, np.full_like(loss, 8 * UNIT * self.epsilon), self.rate)
        wobble = np.append(np.tile(spread, panels), (0.0, 0.0))
        wobble += ELEMENTARY * (np.abs(logs) + self.epsilon + 8)
        return Nodes(logs, wobble, ratios, errors, 1.01 * math.exp(-_TARGET))

    def fades(self, power: float, share: float) -> float:
        """Its two atoms never fade."""
        return math.inf

    def _panels(self, power: float, height: float) -> int | None:
        """How many panels push the remainder below the target; F is at least each of its atoms."""
        rho = 1 + 2.0 ** (np.arange(-24, 41) / 4)
        ends = np.array([self.epsilon, -self.epsilon])
        atoms = power * log_ratios(ends, ends, self.rate)[0] - (self.epsilon, 0.0) - math.log(2)
        goal = float(atoms.max()) - _TARGET - 1e-9 * float(np.abs(atoms).max())
        panels = 1
        while panels * (DEGREE + 1) < _MOST:
            half = self.epsilon / panels
            tall, wide = half * (rho - 1 / rho) / 2, self.epsilon + half * ((rho + 1 / rho) / 2 - 1)
            growth = math.log(self.epsilon) + (wide - self.epsilon) / 2 + height * tall
            growth += power * log_ratios(wide if power > 0 else -wide, tall, self.rate)[0]
            growth -= max(0.0, -power) * np.log(np.cos(np.minimum(tall, 3.1) / 2))
            growth += np.log(2 / (rho - 1)) - DEGREE * np.log(rho)
            if float(np.min(growth[tall < 3.1], initial=math.inf)) < goal:
                return panels
            panels = math.ceil(panels * 1.25)
        return None
