"""Composition: what many guarantees add up to, by whichever sound method says least."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from math import inf
from typing import ClassVar

from discreet.errors import InputError
from discreet.privacy.composition.theorems import (
    LONGEST,
    basic_epsilon,
    optimal_delta,
    optimal_epsilon,
)
from discreet.privacy.contour.contour import Contour
from discreet.privacy.contour.tally import THOROUGH, has_law
from discreet.privacy.guarantees.bounded_range import BoundedRange
from discreet.privacy.guarantees.gaussian import (
    GDP,
    GaussianNoise,
    gaussian_delta,
    gaussian_tradeoff,
)
from discreet.privacy.guarantees.guarantee import (
    Guarantee,
    Part,
    counted_parts,
    fill,
    people,
    stored_as,
)
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.numerics.chernoff import chernoff_delta, chernoff_epsilon
from discreet.privacy.numerics.inversion import best_tradeoff, invert
from discreet.privacy.numerics.moments import Direction, Moments, OrderLine, unit
from discreet.privacy.numerics.rounding import Bound, Interval, Number
from discreet.privacy.numerics.shapes import TWO_POINT

_PATIENCE = 400
"""Different guarantees up to which moments are added up in interval arithmetic."""


def compose(guarantees: Part | Iterable[Part], *more: Part | int) -> "Composed":
    """The guarantee of mechanisms with these guarantees, run on the same data.

    Guarantee:
        Every bound holds when each mechanism may be chosen from earlier answers but its parameters
        were fixed in advance; for parameters chosen on the way use `Filter` or `Odometer`.
    Neighbours:
        All guarantees must have the same neighbours; `under` converts.
    Why:
        Dominating pairs compose, so any sound bound on the composed pair will do, and the least of
        several is taken: exact enumeration, Kairouz-Oh-Viswanath, Gaussian closed form, the contour
        accountant, moments at the best order, the sum of epsilons. `Bound.method` says which.
    Edge cases:
        Nothing composed costs nothing. Composed guarantees are opened, not nested. A guarantee may
        be followed by the number of times it is composed. Mechanisms stand for their guarantees.

    Example:
        >>> from discreet.privacy.guarantees.laplace import LaplaceNoise
        >>> total = compose([(LaplaceNoise(0.01), 1000), GaussianNoise(0.1)])
        >>> round(total.epsilon(1e-6).upper, 4), total.epsilon(1e-6).method
        (1.4358, 'contour')

    Reference: Zhu, Dong, Wang, Optimal Accounting of Differential Privacy via Characteristic
    Function (dominating pairs compose adaptively).
    """
    return Composed(counted_parts(guarantees, *more))


@stored_as("composed/1")
@dataclass(frozen=True, init=False)
class Composed(Guarantee):
    """Several guarantees together; build it with `compose`."""

    directions: ClassVar[tuple[Direction, ...]] = (Direction.REMOVE, Direction.ADD)

    parts: tuple[tuple[Guarantee, int], ...]

    def __init__(
        self, parts: Iterable[tuple[Guarantee, int]], *, neighbours: Neighbours | None = None
    ) -> None:
        merged = _merge(parts)
        about = {one.neighbours for one in merged}
        about |= set() if neighbours is None else {Neighbours(neighbours)}
        if len(about) > 1:
            raise InputError(
                f"{' and '.join(sorted(one.value for one in about))} together",
                why="guarantees about different neighbours do not add up",
                fix="convert them with .under(neighbours) first",
            )
        chosen = next(iter(about), Neighbours.ADD_REMOVE)
        fill(self, parts=tuple(merged.items()), neighbours=chosen)

    def rho(self) -> Bound:
        """The sum of the parts' rho."""
        answer = Interval.of(0)
        for one, count in self.parts:
            own = one.rho()
            answer = answer + Interval.between(own.lower, own.upper) * count
        return answer.bound("zcdp")

    def group(self, k: int) -> "Composed":
        """The composition of the parts' groups."""
        size = people(k)
        return Composed(
            ((one.group(size), count) for one, count in self.parts),
            neighbours=self.neighbours,
        )

    def under(self, neighbours: Neighbours) -> "Composed":
        """The composition of the parts under other neighbours."""
        return Composed(
            ((one.under(neighbours), count) for one, count in self.parts),
            neighbours=neighbours,
        )

    def log_mgf(self, order: Number, direction: Direction = Direction.REMOVE) -> Interval:
        """The sum of the parts'."""
        answer = Interval.of(0)
        for one, count in self.parts:
            answer = answer + one.log_mgf(order, _towards(one, direction)) * count
        return answer

    def moments(self, line: OrderLine, direction: Direction = Direction.REMOVE) -> Moments | None:
        """The product of the parts'."""
        answer = unit(line)
        for one, count in self.parts:
            factor = one.moments(line, _towards(one, direction))
            if factor is None:
                return None
            answer = answer.times(factor.power(count))
        return answer

    def infinity(self, direction: Direction = Direction.REMOVE) -> Interval:
        """The chance that any part's loss is infinite."""
        kept = Interval.of(1)
        for one, count in self.parts:
            lost = one.infinity(_towards(one, direction))
            if lost.hi > 0:
                kept = kept * ((1 - lost).log() * count).exp()
        return (1 - kept).join(Interval.of(0))

    def _delta(self, epsilon: Fraction) -> Bound:
        exact = self._exact_delta(epsilon)
        if exact is not None:
            return exact
        answers = [self._renyi_delta(epsilon)] if self._loose else []
        if self._has_pair:
            answers.append(self._accountant.delta(epsilon))
        return _least(answers, tight=not self._loose)

    def _epsilon(self, delta: Fraction) -> Bound:
        exact = self._exact_epsilon(delta)
        if exact is None and not delta:
            exact = self._largest()
        if exact is not None:
            return exact
        answers = [self._renyi_epsilon(delta)] if self._loose else []
        if self._has_pair:
            answers.append(self._accountant.epsilon(delta))
        else:
            answers.append(basic_epsilon(self.parts, delta))
        return _least(answers, tight=not self._loose)

    def _tradeoff(self, alpha: Fraction) -> float:
        mu = self._mu()
        if mu is not None:
            return gaussian_tradeoff(mu, alpha)
        if len(self.parts) == 1 and self.parts[0][1] == 1:
            return self.parts[0][0].tradeoff(alpha)
        return best_tradeoff(self._delta, alpha)

    def _exact_delta(self, epsilon: Fraction) -> Bound | None:
        """A closed form, where there is one."""
        if len(self.parts) == 1 and self.parts[0][1] == 1:
            return self.parts[0][0].delta(epsilon)
        mu = self._mu()
        if mu is not None:
            return gaussian_delta(mu, epsilon).bound("gdp", at_most=1.0)
        return optimal_delta(self.parts, epsilon) if self._equal() else None

    def _exact_epsilon(self, delta: Fraction) -> Bound | None:
        if len(self.parts) == 1 and self.parts[0][1] == 1:
            return self.parts[0][0].epsilon(delta)
        mu = self._mu()
        if mu is not None:
            return invert(lambda e: gaussian_delta(mu, e).bound("gdp", at_most=1.0), delta)
        return optimal_epsilon(self.parts, delta) if self._equal() else None

    def _largest(self) -> Bound | None:
        """The sum of the largest losses, where all are finite: nothing less holds at delta = 0."""
        low = high = Interval.of(0)
        for one, count in self.parts:
            own = one.epsilon(0)
            low, high = low + Interval.of(own.lower) * count, high + Interval.of(own.upper) * count
        tight = self._has_pair and not self._loose
        return Bound(low.lower if tight else 0.0, high.upper, "basic") if high.hi < inf else None

    def _mu(self) -> Interval | None:
        """The mu of the whole, where every part is Gaussian."""
        square = Interval.of(0)
        for one, count in self.parts:
            if not isinstance(one, (GDP, GaussianNoise)):
                return None
            square = square + Interval.of(one.mu).square() * count
        return square.sqrt()

    def _equal(self) -> bool:
        """Whether the whole is at most that many equal losses +-epsilon."""
        if len(self.parts) != 1 or self.parts[0][1] > LONGEST:
            return False
        form = self.parts[0][0].closed_form()
        return form is not None and form[0] is TWO_POINT

    @cached_property
    def _has_pair(self) -> bool:
        """Whether every part has a law of the loss, so that the accountant applies."""
        return all(one.closed_form() is not None or has_law(one) for one, _ in self.parts)

    @cached_property
    def _loose(self) -> bool:
        """Whether moments at real orders can beat the composed laws: some law is no worst case."""
        bent = any(isinstance(one, BoundedRange) for one, _ in self.parts)
        return bent or not self._has_pair

    @cached_property
    def _accountant(self) -> Contour:
        contour = Contour(THOROUGH)
        for one, count in self.parts:
            contour.append(one, count)
        return contour

    @cached_property
    def _moments(self) -> dict[Number, Interval]:
        """Moments at the real orders that were asked for."""
        return {}

    def _moment(self, order: Number) -> Interval:
        if len(self.parts) > _PATIENCE:
            return Interval.between(0, inf)
        if order not in self._moments:
            if len(self._moments) > 4096:
                self._moments.clear()
            self._moments[order] = self._worst(partial(self.log_mgf, order))
        return self._moments[order]

    def _worst(self, of: Callable[[Direction], Interval]) -> Interval:
        """The larger of both directions, where they differ."""
        split = any(len(one.directions) > 1 for one, _ in self.parts)
        one_way = of(Direction.REMOVE)
        return one_way.join(of(Direction.ADD)) if split else one_way

    def _renyi_delta(self, epsilon: Fraction) -> Bound:
        finite = chernoff_delta(self._moment, self._near, epsilon, _SEARCH)
        return Bound(0.0, min(1.0, (finite + self._worst(self.infinity)).upper), "rdp")

    def _renyi_epsilon(self, delta: Fraction) -> Bound:
        left = delta - self._worst(self.infinity)
        if left.lo <= 0:
            return Bound(0.0, inf, "rdp")
        least = Interval(left.lo, left.lo)
        found = chernoff_epsilon(self._moment, self._near, least, _SEARCH).upper
        return Bound(0.0, max(0.0, found), "rdp")

    def _near(self, order: float) -> float:
        return self._moment(order).upper


_SEARCH = tuple(2.0**j for j in range(-5, 21))


def _merge(parts: Iterable[Part]) -> dict[Guarantee, int]:
    """How often each guarantee is composed, compositions opened."""
    merged: dict[Guarantee, int] = {}
    for one, count in counted_parts(parts):
        for inner, times in one.parts if isinstance(one, Composed) else ((one, 1),):
            merged[inner] = merged.get(inner, 0) + times * count
    return merged


def _towards(guarantee: Guarantee, direction: Direction) -> Direction:
    return direction if direction in guarantee.directions else guarantee.directions[0]


def _least(answers: list[Bound], *, tight: bool) -> Bound:
    """The smallest upper end; the lower end is kept where the composed laws are the worst case."""
    best = min(answers, key=lambda bound: bound.upper)
    return (
        best
        if tight
        else Bound(0.0 if best.lower < best.upper else best.upper, best.upper, best.method)
    )
