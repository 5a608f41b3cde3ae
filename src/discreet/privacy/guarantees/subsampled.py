"""Privacy amplification by sampling: a mechanism that looks at some of the people only."""

import math
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from functools import lru_cache
from math import comb

import numpy as np

from discreet.argument_names import also_called
from discreet.errors import InputError
from discreet.privacy.guarantees.gaussian import GDP, DiscreteGaussianNoise, GaussianNoise
from discreet.privacy.guarantees.guarantee import GroupPrivacy, Guarantee, fill, people, stored_as
from discreet.privacy.guarantees.laplace import LaplaceNoise
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.guarantees.pure import Pure
from discreet.privacy.numerics import quadrature
from discreet.privacy.numerics.moments import Direction, FloatArray, Moments, OrderLine
from discreet.privacy.numerics.quadrature import (
    Sampled,
    SampledAtoms,
    SampledGaussian,
    SampledLaplace,
    SampledLattice,
)
from discreet.privacy.numerics.rounding import ELEMENTARY, UNIT, Bound, Interval, Number
from discreet.rationals import Real, positive

_LARGEST_ORDER = 256
"""Orders up to which the sum of Wang, Balle and Kasiviswanathan is worth its time."""

_LOWEST_CAP = 0.01
"""Caps below this share of the rate would not be met to a billionth."""

_STEEPEST = 100.0
"""So little noise needs no cap."""

_FAR = 2.0**60
"""No epsilon that is asked for reaches this."""


class Scheme(IntEnum):
    """How the sample is drawn.

    POISSON: each person takes part independently, with probability `rate`; add/remove neighbours.
    WITHOUT_REPLACEMENT: a set of rate x n of the n people, all sets equally likely; change-one.
    """

    POISSON = 0
    WITHOUT_REPLACEMENT = 1


@stored_as("subsampled/1")
@dataclass(frozen=True, slots=True, init=False)
class Subsampled(Guarantee):
    """A mechanism with `guarantee`, run on a secret random sample of the people.

    Guarantee:
        Poisson: tight for Gaussian, Laplace and discrete noise and for the worst epsilon- or
        (epsilon, delta)-private mechanism, single or composed; others compose by a convexity bound.
        Without replacement: tight for one release; compositions add Renyi moments, from the pure
        epsilon where there is one and else by Wang, Balle and Kasiviswanathan.
    Neighbours:
        Poisson sampling is about adding or removing one person, sampling without replacement about
        changing one; the sampled guarantee must have the same neighbours.
    Why:
        P becomes (1 - q) Q + q P, so that delta'(x) = q delta(log(1 + (e^x - 1)/q)) when the person
        is removed. Adding the person costs no more once, by joint convexity, but it is not the same
        law: the two directions are composed separately, and the larger is the answer.
    Edge cases:
        rate = 1 is the mechanism itself. A sample that is shown, or batches of fixed size analysed
        as Poisson, have no such guarantee.

    Example:
        >>> Subsampled(Pure(1), rate=0.01).epsilon(0).upper < 0.0171
        True

    Reference: Balle, Barthe, Gaboardi, Privacy Amplification by Subsampling (2018; Poisson, and
    without replacement); Zhu, Dong, Wang, Optimal Accounting via Characteristic Function (2022),
    Theorem 11; Wang, Balle, Kasiviswanathan, Subsampled Renyi Differential Privacy (2019), Theorem
    9.
    """

    directions = (Direction.REMOVE, Direction.ADD)

    guarantee: Guarantee
    rate: Fraction
    scheme: Scheme

    @also_called(q="rate", p="rate", sampling_rate="rate")
    def __init__(
        self,
        guarantee: Guarantee,
        rate: Real,
        *,
        scheme: Scheme | int = Scheme.POISSON,
        neighbours: Neighbours | None = None,
    ) -> None:
        guarantee, how, share = Guarantee.of(guarantee), _scheme(scheme), positive(rate, "rate")
        if not isinstance(guarantee, Guarantee):
            raise InputError(
                f"a sampled {type(guarantee).__name__}",
                why="sampling amplifies a guarantee",
                fix="call dp.Subsampled(dp.Pure(1), rate=0.01).epsilon(0)",
            )
        if share > 1:
            raise InputError(f"rate is {rate}", why="it is a share", fix="pass 0 < rate <= 1")
        about = Neighbours.CHANGE_ONE if how else Neighbours.ADD_REMOVE
        asked = about if neighbours is None else Neighbours(neighbours)
        if guarantee.neighbours is not about or asked is not about:
            raise InputError(
                f"{how.name.lower()} sampling under {guarantee.neighbours.value}",
                why=f"its theorem is about {about.value} neighbours",
                fix=f"state the guarantee under {about}, or sample the other way",
            )
        fill(self, guarantee=guarantee, rate=share, scheme=how, neighbours=about)

    def group(self, k: int) -> Guarantee:
        """K people, from the profile."""
        return self if people(k) == 1 else GroupPrivacy(self, k)

    def rho(self) -> Bound:
        """Upper bound: the rho of the mechanism without sampling."""
        return Bound(0.0, self.guarantee.rho().upper, "without sampling")

    def infinity(self, direction: Direction = Direction.REMOVE) -> Interval:
        """Removing: q times that of the mechanism. Adding: 0, as the sample may miss the person."""
        if direction is Direction.ADD and self.rate < 1 and self.scheme is Scheme.POISSON:
            return Interval.of(0)
        return self.guarantee.infinity(direction) * self.rate

    def log_mgf(self, order: Number, direction: Direction = Direction.REMOVE) -> Interval:
        """By quadrature where the mechanism's loss is known, else an upper bound."""
        exact = Interval.of(order)
        if self.rate == 1:
            return self.guarantee.log_mgf(order, direction)
        if self.scheme is Scheme.WITHOUT_REPLACEMENT:
            return self._fixed_size(exact)
        known = _pair(self.guarantee, float(self.rate))
        pair = known or _worst_pair(self.guarantee, float(self.rate))
        found = None if pair is None else _real(pair, exact, direction)
        above = self._convex(exact, direction)
        if found is None:
            return above
        return found if known is not None else Interval.between(0, found.meet(above))

    def moments(self, line: OrderLine, direction: Direction = Direction.REMOVE) -> Moments | None:
        """By quadrature, where the loss is known and both directions are worst at once."""
        if self.rate == 1:
            return self.guarantee.moments(line, direction)
        pair = _pair(self.guarantee, float(self.rate))
        if pair is None or self.scheme is Scheme.WITHOUT_REPLACEMENT:
            return None
        found = quadrature.moments(pair, line, _way(line.lam, direction))
        return found or _bracket(line, 0.0, self._convex(Interval.of(line.lam), direction).upper)

    def capped(self, cap: float) -> Guarantee | None:
        """For Gaussian noise: small losses in bulk, and rarely one of any size."""
        if self.rate == 1 or self.scheme is Scheme.WITHOUT_REPLACEMENT:
            return None
        rate = float(self.rate)
        cap = max(cap, _LOWEST_CAP * rate)
        match _pair(self.guarantee, rate):
            case SampledGaussian(mu) if mu < _STEEPEST:
                loss = (Interval.of(cap).expm1() / self.rate).log1p()
                end = float(loss.hi) / mu + mu / 2
                return Capped(self, SampledGaussian(mu, rate, end), rate, cap)
            case SampledLattice(distance, variance):
                return Capped(self, SampledLattice(distance, variance, rate, cap), rate, cap)
        return None

    def _delta(self, epsilon: Fraction) -> Bound:
        if self.rate == 1:
            return self.guarantee.delta(epsilon)
        answer = _scaled(
            self.guarantee, (Interval.of(epsilon).expm1() / self.rate).log1p(), self.rate
        )
        return Bound(answer.lower, answer.upper, f"sampled {answer.method}")

    def _epsilon(self, delta: Fraction) -> Bound:
        own = delta / self.rate
        base = self.guarantee.epsilon(own) if own < 1 else Bound(0.0, 0.0, "delta >= rate")
        lower = (Interval.of(base.lower).expm1() * self.rate).log1p().lower
        upper = (Interval.of(base.upper).expm1() * self.rate).log1p().upper
        return Bound(max(0.0, lower), upper, f"sampled {base.method}")

    def _fixed_size(self, order: Interval) -> Interval:
        """The least of the bounds without replacement; order x divergence is convex, 0 at 0."""
        bounds = [self._convex(order, Direction.REMOVE)]
        own = _largest(self.guarantee)
        if math.isfinite(own):
            bounds.append(_three_point(Interval.of(own), self.rate, order))
        elif order.hi < _LARGEST_ORDER and self.guarantee.infinity().hi <= 0:
            low = int(order.lower)
            left = Interval.of(_renyi_sum(self.guarantee, self.rate, low))
            right = Interval.of(_renyi_sum(self.guarantee, self.rate, low + 1))
            bounds.append(left + (right - left) * (order - low))
        return Interval.between(0, min(bound.upper for bound in bounds))

    def _convex(self, order: Interval, direction: Direction) -> Interval:
        """g^w is convex in g, so its mean is at most (1 - q) + q times that of the mechanism.

        Adding, g >= 1 - q bounds it too, and covers what only Q has.
        """
        q, lost = self.rate, self.guarantee.infinity(direction)
        own = self.guarantee.log_mgf(order, direction)
        inside = 1 - q + own.exp() * q
        if direction is Direction.REMOVE or self.scheme is Scheme.WITHOUT_REPLACEMENT:
            # Its log is at most the larger of 0 and own, also where the exponential overflows.
            return Interval.between(0, inside.log().meet(own.join(Interval.of(0))))
        floor = order * -Interval.of(-q).log1p()
        return Interval.between(0, (inside + lost * floor.exp()).log().meet(floor))


_NEAR = Fraction(1, 10**9)
"""A cap is met to within this share of itself."""


@dataclass(frozen=True, slots=True)
class Capped(Guarantee):
    """A sampled mechanism whose likelihood ratio g is taken for e^cap wherever it is larger.

    Guarantee:
        It dominates `guarantee`, and has the same delta(epsilon) for every epsilon up to `cap`.
    Why:
        Under Q nothing moves. Under P outcomes with a loss z > cap keep e^cap Q, and the rest of
        their mass, delta(cap) in all, has an infinite loss. For epsilon <= cap that leaves P -
        e^epsilon Q as it was on all of them together; for larger epsilon it can only raise it. With
        P and Q exchanged the loss -log g is raised to at least -cap.
    """

    directions = (Direction.REMOVE, Direction.ADD)

    guarantee: Guarantee
    pair: Sampled
    rate: float
    cap: float

    def group(self, k: int) -> Guarantee:
        """That of the mechanism."""
        return self.guarantee.group(k)

    def infinity(self, direction: Direction = Direction.REMOVE) -> Interval:
        """Delta at the cap, when the person is removed."""
        if direction is Direction.ADD:
            return Interval.of(0)
        above = self.guarantee.delta(Fraction(self.cap) * (1 - _NEAR)).upper
        below = self.guarantee.delta(Fraction(self.cap) * (1 + _NEAR)).lower
        return Interval.between(min(above, below), above)

    def log_mgf(self, order: Number, direction: Direction = Direction.REMOVE) -> Interval:
        """The log moment generating function at the nearest doubles, between which it is convex."""
        ends = [
            self.moments(OrderLine(near, 1.0, 1), direction)
            for near in (Interval.of(order).lower, Interval.of(order).upper)
        ]
        low = min(end.log_scale - end.log_error for end in ends)
        return Interval.between(low, max(end.log_scale + end.log_error for end in ends))

    def moments(self, line: OrderLine, direction: Direction = Direction.REMOVE) -> Moments:
        """By quadrature; else from the range of the loss, as E_Q g^w >= (E_Q g)^w by convexity."""
        found = quadrature.moments(self.pair, line, _way(line.lam, direction))
        if found is not None:
            return found
        lost = Interval.of(-self.infinity(direction)).log1p() * (line.lam + 1)
        top = self.cap if direction is Direction.REMOVE else -math.log1p(-self.rate)
        return _bracket(line, lost.lower, line.lam * top * (1 + 2.0**-30))

    def _delta(self, epsilon: Fraction) -> Bound:
        return self.guarantee.delta(min(epsilon, Fraction(self.cap) * (1 - _NEAR)))


def _bracket(line: OrderLine, low: float, high: float) -> Moments:
    """Log M in [low, high], and a shape in the unit disc."""
    half = (high - low) / 2
    shape = np.zeros(line.size, dtype=np.complex128)
    shape[0] = 1
    error = half * (1 + 4 * UNIT) + (abs(low) + abs(high)) * UNIT
    return Moments(high - half, error, shape, 1.0 if line.size > 1 else 0.0)


def _scheme(value: int) -> Scheme:
    try:
        return Scheme(value)
    except ValueError as unknown:
        raise InputError(
            f"scheme {value!r}", why="there is no such scheme", fix=f"pass one of {list(Scheme)}"
        ) from unknown


def _scaled(guarantee: Guarantee, epsilon: Interval, rate: Fraction) -> Bound:
    """Rate x delta(epsilon), enclosed; delta never increases."""
    low, high = min(max(0.0, epsilon.lower), _FAR), max(0.0, epsilon.upper)
    above = guarantee.delta(Fraction(low))
    below = above if low == high or math.isinf(high) else guarantee.delta(Fraction(high))
    least = 0.0 if math.isinf(high) else (Interval.of(below.lower) * rate).lower
    upper = (Interval.of(above.upper) * rate).upper
    return Bound(min(max(0.0, least), upper), upper, above.method)


def _way(order: float, direction: Direction) -> tuple[float, float]:
    """Re w and the sign of Im w: w = s + 1 when removing, -s when adding."""
    return (order + 1, 1.0) if direction is Direction.REMOVE else (-order, -1.0)


def _real(pair: Sampled, order: Interval, direction: Direction) -> Interval | None:
    """Enclose log F at a real order; between two doubles it is below the higher, being convex."""
    ends = []
    for near in {order.lower, order.upper}:
        found = quadrature.moments(pair, OrderLine(near, 1.0, 1), _way(near, direction))
        if found is None:
            return None
        middle = Interval.of(found.log_scale)
        ends += [middle - found.log_error, middle + found.log_error]
    return Interval.between(min(end.lower for end in ends), max(end.upper for end in ends))


def _pair(guarantee: Guarantee, rate: float) -> Sampled | None:
    """The two laws of the mechanism that is sampled, where they are known exactly."""
    match guarantee:
        case GDP() | GaussianNoise() if guarantee.mu > 0:
            return SampledGaussian(float(guarantee.mu), rate)
        case DiscreteGaussianNoise():
            return SampledLattice(guarantee.sensitivity, float(guarantee.variance), rate)
        case LaplaceNoise():
            return SampledLaplace(float(guarantee.epsilon0), rate)
    law = _law(guarantee)
    return None if law is None else SampledAtoms(*law, rate)


def _worst_pair(guarantee: Guarantee, rate: float) -> Sampled | None:
    """Randomized response, which dominates every mechanism with the same epsilon."""
    own = _largest(guarantee)
    return _pair(Pure(Fraction(own)), rate) if math.isfinite(own) else None


@lru_cache(maxsize=256)
def _largest(guarantee: Guarantee) -> float:
    """The largest loss, or infinity."""
    return guarantee.epsilon(0).upper


@lru_cache(maxsize=256)
def _law(guarantee: Guarantee) -> tuple[FloatArray, FloatArray] | None:
    """Probabilities under Q and losses of a discrete pair that is the same both ways."""
    atoms, lost = guarantee.atoms(), guarantee.infinity()
    if atoms is None or len(guarantee.directions) > 1:
        return None
    law = zip(atoms.losses, atoms.probabilities, strict=True)
    masses = [(p * Interval.of(-z).exp()).upper for z, p in law]
    losses = [float(z) for z in atoms.losses]
    if lost.hi > 0:
        masses, losses = [*masses, lost.upper], [*losses, -math.inf]
    return np.array(masses), np.array(losses)


def _three_point(own: Interval, rate: Fraction, order: Interval) -> Interval:
    """The log moment of the pair with profile q delta(log(1 + (e^x - 1)/q)), delta of epsilon.

    That profile and its mirror image are straight between e^-x, 1 and e^x, x = log(1 + q (e^epsilon
    - 1)): the loss is x, 0 or -x, the outer two with probability e^x and 1 times 1/(1 + e^epsilon).
    """
    x, small = (own.expm1() * rate).log1p(), 1 / (1 + own.exp())
    middle = 1 - small * (1 + x.exp())
    return (small * ((order + 1) * x).exp() + middle + small * (-order * x).exp()).log()


@lru_cache(maxsize=4096)
def _renyi_sum(guarantee: Guarantee, rate: Fraction, order: int) -> float:
    """Order x divergence at alpha = order + 1, sampled without replacement, from above.

    1 + q^2 C(alpha, 2) min(4 (e^r2 - 1), 2 e^r2) + 2 sum_(j > 2) q^j C(alpha, j) e^((j-1) r_j), r_j
    the divergence at j; added up in logarithms, each off by a few roundings of its parts.
    """
    if order == 0:
        return 0.0
    alpha, log_q = order + 1, math.log(rate)
    grown = _log_mgfs(guarantee)[:order]
    js = np.arange(2, alpha + 1)
    choose = np.array([math.log(comb(alpha, int(j))) for j in js])
    logs = js * log_q + choose + grown + math.log(2)
    logs[0] += math.log(min(2 * -math.expm1(-grown[0]), 1.0))
    slack = ELEMENTARY * (4 + np.abs(js * log_q) + choose + np.abs(grown))
    total = float(np.logaddexp.reduce(logs + slack, initial=0.0))
    return total + (total + 4 + alpha) * ELEMENTARY


@lru_cache(maxsize=64)
def _log_mgfs(guarantee: Guarantee) -> FloatArray:
    """(j - 1) times the divergence of order j, from 2 on, rounded up."""
    return np.array([guarantee.log_mgf(j).upper for j in range(1, _LARGEST_ORDER + 1)])
