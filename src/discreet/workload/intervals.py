"""Intervals of answers from a hypothesis: what is certain about them, from public numbers alone."""

from collections.abc import Callable
from dataclasses import dataclass
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
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "confidence": self.confidence,
            "checked": self.checked,
            "bought": self.bought,
        }


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
    useful = [
        one for one in hypothesis.measurements if set(one.clique) & set(query.clique) or not query.clique
    ]
    share = (1 - confidence) / (len(useful) + (gate is not None) + 1)
    low, high = _measured(query, hypothesis.domain, useful, share)
    if gate is not None:
        reach = gate(1 - share)
        if max(low, believed - reach) <= min(high, believed + reach):
            low, high = max(low, believed - reach), min(high, believed + reach)
    value = min(max(believed, low), high)
    return OnlineAnswer(value, low, high, confidence, checked, bought)


def _measured(
    query: CountingQuery, domain: Domain, useful: list[NoisyMarginal], share: float
) -> tuple[float, float]:
    """Bounds from measurements alone."""
    lows, highs = [0.0], [np.inf]
    missing = {name: np.inf for name in query.clique}
    for one in useful:
        inside, width = _sum(query, domain, one, share)
        highs.append(inside + width)
        if set(query.clique) <= set(one.clique):
            lows.append(inside - width)
        if len(one.clique) == 1 and one.clique[0] in missing:  # rows that fail this column
            missing[one.clique[0]] = float(one.counts.sum()) - inside + _complement(one, query, share)
    for one in useful:  # of the rows in its cells, those remain that fail none of the others
        inside, width = _sum(query, domain, one, share)
        rest = [missing[name] for name in query.clique if name not in one.clique]
        lows.append(inside - width - sum(max(0.0, lost) for lost in rest))
    low, high = max(lows), max(0.0, min(highs))
    return min(low, high), high


def _restricted(query: CountingQuery, one: NoisyMarginal, domain: Domain) -> CountingQuery:
    """The query as far as a measurement knows its columns."""
    known = dict(zip(query.clique, query.cells, strict=True))
    cells = tuple(known.get(name, tuple(range(domain.sizes[name]))) for name in one.clique)
    return CountingQuery(one.clique, cells)


def _sum(
    query: CountingQuery, domain: Domain, one: NoisyMarginal, share: float
) -> tuple[float, float]:
    part = _restricted(query, one, domain)
    return float(part.total(one.counts)), _width(one, part.size, share)


def _complement(one: NoisyMarginal, query: CountingQuery, share: float) -> float:
    known = dict(zip(query.clique, query.cells, strict=True))
    return _width(one, one.counts.size - len(known[one.clique[0]]), share)


def _width(one: NoisyMarginal, cells: int, share: float) -> float:
    """How far the noise of so many cells reaches; rounding adds a twelfth of a step squared."""
    deviation = (cells * (one.sigma**2 + 1 / (12 * one.row_weight**2))) ** 0.5
    return float(NormalDist().inv_cdf(1 - share / 4) * deviation)
