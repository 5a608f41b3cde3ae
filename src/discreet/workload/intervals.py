"""Intervals of answers from a hypothesis: what is certain about them, from public numbers alone."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.workload.counting_query import CountingQuery
from discreet.workload.domain import Domain
from discreet.workload.hypothesis import Hypothesis
from discreet.workload.marginals import NoisyMarginal


@dataclass(frozen=True, slots=True)
class OnlineAnswer:
    """How many rows a query counts, with an interval that holds the exact answer.

    `checked`: sparse vector compared the hypothesis with the data and found it close. `bought`: the
    hypothesis was far off, and the marginal of the query was measured. Neither: the comparison
    said no, or none is left, and the interval rests on earlier measurements.
    """

    value: float
    low: float
    high: float
    confidence: float
    checked: bool
    bought: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


def interval_of(
    query: CountingQuery,
    hypothesis: Hypothesis,
    confidence: float,
    *,
    gate: Callable[[float], float] | None = None,
    checked: bool = False,
    bought: bool = False,
) -> OnlineAnswer:
    """An answer and its interval.

    Guarantee:
        Whatever the data, the interval holds the exact bounded count with `confidence`. It says
        nothing of rows that were left out or weighed less to bound a person.
    Why:
        Every measurement bounds the query from above by the sum of its own cells that the query
        can count, and from below by that sum less the rows that fail the query's other columns.
        `gate` bounds the distance from the hypothesis. Each of these fails with at most an equal
        share of 1 - confidence, so that all hold together. What does not overlap by chance is left
        out, the gate first.
    """
    believed = float(query.total(hypothesis.marginal(query.clique)))
    useful = [one for one in hypothesis.measurements if _is_useful(one, query)]
    share = (1 - confidence) / (2 * len(useful) + 1 + (gate is not None))
    low, high = _measured(query, hypothesis.domain, useful, share)
    if gate is not None:
        reach = gate(1 - share)
        if max(low, believed - reach) <= min(high, believed + reach):
            low, high = max(low, believed - reach), min(high, believed + reach)
    value = min(max(believed, low), high)
    return OnlineAnswer(value, low, high, confidence, checked, bought)


def _is_useful(one: NoisyMarginal, query: CountingQuery) -> bool:
    """Whether a measurement tells the whole query, or one of its columns."""
    columns = set(query.clique)
    return columns <= set(one.clique) or (len(one.clique) == 1 and one.clique[0] in columns)


def _measured(
    query: CountingQuery, domain: Domain, useful: list[NoisyMarginal], share: float
) -> tuple[float, float]:
    """Bounds from measurements alone: each bounds what it counts, and what it does not."""
    lows, highs, failing = [0.0], [np.inf], []
    for one in useful:
        part = query.over(one.clique, domain)
        inside = float(part.total(one.steps)) / one.row_weight
        width = _width(one, part.size, share)
        highs.append(inside + width)
        if len(one.clique) >= len(query.clique):
            lows.append(inside - width)
        else:
            outside = _width(one, one.steps.size - part.size, share)
            everybody = float(one.steps.sum()) / one.row_weight
            failing.append((everybody - inside + outside, inside - width))
    for lost, inside in failing:  # of the rows that pass here, those that fail nowhere else
        others = sum(max(0.0, one) for one, _ in failing) - max(0.0, lost)
        lows.append(inside - others)
    high = max(0.0, min(highs))
    return min(max(lows), high), high


def _width(one: NoisyMarginal, cells: int, share: float) -> float:
    """How far the noise of so many cells reaches; rounding adds a twelfth of a step squared."""
    deviation = (cells * (one.sigma**2 + 1 / (12 * one.row_weight**2))) ** 0.5
    return float(-NormalDist().inv_cdf(share / 2) * deviation)
