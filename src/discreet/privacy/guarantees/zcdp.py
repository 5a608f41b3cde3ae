"""Zero-concentrated differential privacy, exact and approximate."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.privacy.guarantees.gaussian import gaussian_delta
from discreet.privacy.guarantees.guarantee import GroupPrivacy, Guarantee, fill, people, stored_as
from discreet.privacy.guarantees.neighbours import Neighbours
from discreet.privacy.numerics.chernoff import chernoff_delta, chernoff_epsilon
from discreet.privacy.numerics.inversion import last_above
from discreet.privacy.numerics.moments import Direction
from discreet.privacy.numerics.rounding import Bound, Interval, Number
from discreet.rationals import Real, non_negative, probability


@stored_as("zcdp/1")
@dataclass(frozen=True, slots=True, init=False)
class ZCDP(Guarantee):
    """delta-approximate rho-zero-concentrated differential privacy.

    Guarantee:
        But for a probability delta, the Renyi divergence of every order alpha is at most rho alpha.
    Why:
        delta(epsilon) <= delta + (1 - delta) E[(1 - e^(epsilon - Z))+] with log M(s) <= rho s (s +
        1), bounded at the best real order. Gaussian noise with mu^2 = 2 rho is a mechanism of this
        kind, so its delta is a bound from below.
    Edge cases:
        rho = 0 reveals nothing beyond delta. For groups with delta > 0 see `GroupPrivacy`.

    Example:
        >>> ZCDP(0.5).epsilon(1e-6).upper < 5.5, ZCDP(0.5).group(2).rho().upper
        (True, 2.0)

    Reference: Bun, Steinke, Concentrated Differential Privacy (approximate zCDP and how it
    composes).
    """

    rho0: Fraction
    delta0: Fraction

    def __init__(
        self, rho: Real, delta: Real = 0, *, neighbours: Neighbours = Neighbours.ADD_REMOVE
    ) -> None:
        fill(
            self,
            rho0=non_negative(rho, "rho"),
            delta0=probability(delta, "delta"),
            neighbours=neighbours,
        )

    def rho(self) -> Bound:
        """Rho, where delta is 0."""
        if self.delta0:
            return Guarantee.rho(self)
        return Interval.of(self.rho0).bound("zcdp")

    def group(self, k: int) -> Guarantee:
        """K people cost k^2 rho, in a kind of its own as well: ranges grow k times."""
        size = people(k)
        if self.delta0 and size > 1:
            return GroupPrivacy(self, size)
        return type(self)(size * size * self.rho0, self.delta0, neighbours=self.neighbours)

    def infinity(self, direction: Direction = Direction.REMOVE) -> Interval:
        """Delta."""
        return Interval.of(self.delta0)

    def log_mgf(self, order: Number, direction: Direction = Direction.REMOVE) -> Interval:
        """Rho s (s + 1), times 1 - delta."""
        s = Interval.of(order)
        return s * (s + 1) * self.rho0 + Interval.of(-self.delta0).log1p()

    def _delta(self, epsilon: Fraction) -> Bound:
        if self.rho0 == 0:
            return Interval.of(self.delta0).bound("zcdp")
        finite = chernoff_delta(self.log_mgf, self._near, epsilon)
        # Total variation is at most sqrt(rho/2) (Pinsker), near epsilon = 0 the better bound.
        above = (self.delta0 + finite.meet(Interval.of(self.rho0 / 2).sqrt())).upper
        below = gaussian_delta(self._mu(), epsilon).join(Interval.of(self.delta0))
        return Bound(max(0.0, below.lower), max(below.upper, min(above, 1.0)), "zcdp")

    def _epsilon(self, delta: Fraction) -> Bound:
        if delta < self.delta0 or (self.rho0 > 0 and delta == self.delta0):
            return Bound(float("inf"), float("inf"), "zcdp")
        if self.rho0 == 0:
            return Bound(0.0, 0.0, "zcdp")
        left = Interval.of(delta - self.delta0)
        upper = max(0.0, chernoff_epsilon(self.log_mgf, self._near, left).upper)
        mu = self._mu()  # Gaussian noise of the same rho exceeds delta up to this epsilon
        lower = last_above(lambda e: gaussian_delta(mu, e).lower > delta, upper)
        return Bound(lower, upper, "zcdp")

    @property
    def _near(self) -> Callable[[float], float]:
        rho = float(self.rho0)
        return lambda order: rho * order * (order + 1)

    def _mu(self) -> Interval:
        return Interval.of(2 * self.rho0).sqrt()
