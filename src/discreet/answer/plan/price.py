"""The price of a question, and the shares of it that make the expected error least.

Shares follow from how much the error of each aggregate depends on the noise of each statistic, by
public facts alone. Errors are relative to what is usual within the bounds: values about as large as
the middle of their range, means that are half-way between the middle and an end, deviations of half
the half-width, correlations of a half, and as many values around a quantile as anywhere.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import InputError
from discreet.plan.bounding import NoiseKind
from discreet.plan.query import Aggregate, AggregateFunction, level_of
from discreet.plan.sensitivity import Strategy
from discreet.plan.statistics import Ranks, Statistic, Total
from discreet.rationals import Real, non_negative, positive


@dataclass(frozen=True, slots=True, init=False)
class Price:
    """The (epsilon, delta) that a question may cost in all."""

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Real, delta: Real = 0) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "delta", non_negative(delta, "delta"))
        if self.delta >= 1:
            raise InputError(f"delta is {delta}", why="it is a probability", fix="pass delta < 1")

    @staticmethod
    def free() -> "Price":
        """The price of a question about nobody; no question of private rows can have it."""
        made = object.__new__(Price)
        object.__setattr__(made, "epsilon", Fraction(0))
        object.__setattr__(made, "delta", Fraction(0))
        return made

    @property
    def is_free(self) -> bool:
        """Whether nothing was paid."""
        return not self.epsilon

    def over(self, parts: int) -> "Price":
        """An equal share of it."""
        return self if parts == 1 else Price(self.epsilon / parts, self.delta / parts)


_ROUNDS = 24

_LEAST = 1 / 64
"""Least influence of a measured statistic, so that each has a share above 0."""

_MOMENTS = {
    AggregateFunction.VARIANCE: (2.0, 4.0, 2.0),
    AggregateFunction.STDDEV: (1.0, 2.0, 1.0),
    AggregateFunction.COVARIANCE: (1.0, 4.0, 4.0, 8.0),
    AggregateFunction.CORRELATION: (1.0, 2.0, 2.0, 1.0, 1.0, 8.0),
}
"""Slopes by the count, centred totals and centred products, in the order of `statistics_of`."""


@dataclass(frozen=True, slots=True)
class Influence:
    """An aggregate's weight and, for each strategy it needs, how far noise there moves it.

    Noise as large as a thousandth of what is measured at its largest moves the aggregate by `on`
    thousandths of its usual size.
    """

    weight: float
    on: Mapping[Strategy, float]

    def error(self, sizes: Mapping[Strategy, float]) -> float:
        """The error to expect when the noise of each strategy has these sizes."""
        return math.hypot(*(part * sizes[strategy] for strategy, part in self.on.items()))


def influences(
    needs: Mapping[Aggregate, tuple[Statistic, ...]],
    noise_kind: NoiseKind,
    strategies: Sequence[Strategy],
) -> tuple[Influence, ...]:
    """The influences on all aggregates of a query, with what each needs, under a law of noise."""
    sharing = Counter(statistic for all_ in needs.values() for statistic in all_)
    whose = {statistic: one for one in strategies for statistic in one.statistics}
    return tuple(
        Influence(float(one.weight), _joined(_on(one, all_, noise_kind, sharing[all_[0]]), whose))
        for one, all_ in needs.items()
    )


def _joined(
    on: Mapping[Statistic, float], whose: Mapping[Statistic, Strategy]
) -> dict[Strategy, float]:
    """Influences of statistics as those of strategies.

    Why: a statistic that is the sum of several noisy numbers has the root of so many times the
    noise, and noises of statistics that one aggregate needs are uncorrelated.
    """
    found: dict[Strategy, float] = {}
    for statistic, slope in on.items():
        strategy = whose[statistic]
        part = slope * math.sqrt(strategy.terms(statistic))
        found[strategy] = math.hypot(found.get(strategy, 0.0), part)
    return found


def best_shares(influences: Sequence[Influence], noise_kind: NoiseKind) -> dict[Strategy, float]:
    """The shares of a budget that make the weighted sum of expected errors least.

    Why: noise falls as share^-p, p = 1 for Laplace and 1/2 for Gaussian noise. The sum of weight *
    E, E^2 = sum (on * share^-p)^2, is convex. At the minimum its slopes are equal: share^(1 + 2p)
    is proportional to the sum of weight * on^2 / E. Taking that as the next shares brings their
    logarithms closer by a factor of p/(1 + 2p) or less each time.
    """
    power = 1.0 if noise_kind is NoiseKind.LAPLACE else 0.5
    measured = dict.fromkeys(strategy for one in influences for strategy in one.on)
    places = {strategy: i for i, strategy in enumerate(measured)}
    if len(places) == 1:
        return dict.fromkeys(places, 1.0)
    # By place: to look a strategy up by itself is slow, and there are many rounds.
    needs = [
        (one.weight, [(places[strategy], part) for strategy, part in one.on.items()])
        for one in influences
    ]
    shares = [1.0] * len(places)
    for _ in range(_ROUNDS):
        noise = [share**-power for share in shares]
        pulls = [0.0] * len(places)
        for weight, parts in needs:
            error = math.hypot(*(part * noise[i] for i, part in parts))
            for i, part in parts:
                pulls[i] += weight * part * (part / error)
        raised = [pull ** (1 / (1 + 2 * power)) for pull in pulls]
        whole = sum(raised)
        shares = [share / whole for share in raised]
    return dict(zip(places, shares, strict=True))


# --- one aggregate ------------------------------------------------------------------------------


def _on(
    aggregate: Aggregate, needs: tuple[Statistic, ...], noise_kind: NoiseKind, sharing: int
) -> dict[Statistic, float]:
    found: dict[Statistic, float] = {}
    for statistic, slope in zip(needs, _slopes(aggregate, needs, noise_kind, sharing), strict=True):
        sane = slope if math.isfinite(slope) else 1.0
        found[statistic] = max(found.get(statistic, _LEAST), sane)
    return found


def _slopes(
    aggregate: Aggregate, needs: tuple[Statistic, ...], noise_kind: NoiseKind, sharing: int
) -> tuple[float, ...]:
    if isinstance(needs[0], Ranks):
        return (_rank_noise(aggregate, noise_kind, sharing) * 2 * _to_spread(needs[0]),)
    if aggregate.measure in _MOMENTS:
        return _MOMENTS[aggregate.measure]
    match aggregate.measure, needs:
        case AggregateFunction.SUM, (total,):
            centre, half = _bounds(total)
            return (_over(abs(centre) + half, _size(centre, half)),)
        case AggregateFunction.SUM, (_, total):
            centre, half = _bounds(total)
            return _over(abs(centre), _size(centre, half)), _over(half, _size(centre, half))
        case AggregateFunction.MEAN, (_, total):
            slope = _to_spread(total)
            return slope / 2, slope
    return (1.0,)  # a number of rows, people or values


def _rank_noise(aggregate: Aggregate, noise_kind: NoiseKind, sharing: int) -> float:
    """The noise of one of `sharing` quantiles in ranks, beside that of a count for the same price.

    Why: cells that miss by t ranks have weight exp(-t/scale). For a limit and a price of 1 the
    scale is r = 2 max(q, 1 - q) beside 1 of Laplace noise; under zCDP it is r/sqrt(8) beside
    1/sqrt(2) of Gaussian noise. Half of the noise is within 0.69 scales, or 0.67.
    """
    moved = 2 * float(max(level_of(aggregate), 1 - level_of(aggregate)))
    return moved * sharing if noise_kind is NoiseKind.LAPLACE else moved / 2 * math.sqrt(sharing)


def _to_spread(statistic: Statistic) -> float:
    """The half-width of the bounds beside the usual size of a value, or beside itself if less.

    A mean of 2,015 years is not right to a thousandth if it is off by two.
    """
    centre, half = _bounds(statistic)
    return _over(half, min(_size(centre, half), half))


def _size(centre: float, half: float) -> float:
    """How large values usually are."""
    return max(abs(centre), half / 2)


def _bounds(statistic: Statistic) -> tuple[float, float]:
    """The middle and the half-width of a statistic's range."""
    assert isinstance(statistic, Total | Ranks)  # noqa: S101 - narrowing: see statistics_of
    of = statistic.grid if isinstance(statistic, Total) else statistic
    return of.low / 2 + of.high / 2, of.high / 2 - of.low / 2


def _over(part: float, whole: float) -> float:
    return part / whole if whole else math.inf
