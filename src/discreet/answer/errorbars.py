"""How wrong each released number may be because of noise.

Counts have one noise, whose law gives the half-width exactly. What is computed from several noisy
numbers is computed again from many simulated ones: noise of the same laws on top of the released.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from discreet.answer.estimate import Floats, estimate
from discreet.answer.measure import Measurement
from discreet.answer.showing import Showing
from discreet.plan.kinds import Type
from discreet.plan.query import Aggregate, Measure
from discreet.plan.statistics import Statistic, statistics_of

CONFIDENCE = 0.95
_DRAWS = 1000
_CELLS = 4_000_000
_FEWEST = 200

_EXACT = {Measure.COUNT, Measure.COUNT_PEOPLE, Measure.COUNT_DISTINCT}
RANKED = {Measure.QUANTILE, Measure.MIN, Measure.MAX}


def draws_for(groups: int) -> int:
    """How often to simulate this many groups; 0 where they are too many."""
    draws = min(_DRAWS, _CELLS // max(1, groups))
    return draws if draws >= _FEWEST else 0


def simulate(
    statistics: Mapping[Statistic, Floats],
    measurements: Mapping[Statistic, Measurement],
    draws: int,
    showing: Showing | None = None,
) -> dict[Statistic, Floats]:
    """Statistics as they might have come out, a row a draw; wider where being shown tells noise."""
    found = {}
    for statistic, values in statistics.items():
        zeros = np.zeros(draws * values.size, dtype=np.int64)
        measurement = measurements[statistic]
        noise = measurement.scaled(measurement.release(zeros)).reshape(draws, values.size)
        if showing is not None and showing.measurement.statistic == statistic:
            plain = measurement.error(CONFIDENCE)
            noise *= showing.half_widths(values, plain) / plain
        found[statistic] = values + noise
    return found


def half_width(
    aggregate: Aggregate,
    statistics: Mapping[Statistic, Floats],
    simulated: Mapping[Statistic, Floats] | None,
    measurements: Mapping[Statistic, Measurement],
    scope: Mapping[str, Type],
    showing: Showing | None = None,
) -> tuple[Floats | None, str]:
    """The half-width of each group's interval, and how it was found."""
    if aggregate.measure in RANKED:
        return None, "its error is in ranks"
    first = statistics_of(aggregate, scope)[0]
    size = statistics[first].size
    if aggregate.measure in _EXACT:
        plain = np.full(size, measurements[first].error(CONFIDENCE))
        if showing is not None and showing.measurement.statistic == first:
            plain = showing.half_widths(statistics[first], float(plain[0])) if size else plain
        # Counts are shown as whole numbers, which moves them by half of one at most.
        return plain + 0.5, "exact"
    if simulated is None:
        return None, "not computed: too many groups to simulate"
    middle = estimate(aggregate, statistics, scope)
    return spread(estimate(aggregate, simulated, scope), middle), "by simulation"


def spread(simulated: Floats, middle: Floats) -> NDArray[np.float64]:
    """The distance from the middle that holds the stated share of simulated values."""
    return np.quantile(np.abs(simulated - middle), CONFIDENCE, axis=0)
