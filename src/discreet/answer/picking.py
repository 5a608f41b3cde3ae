"""Rows that are picked by their noisy numbers, and how much wider that makes their intervals.

HAVING COUNT(*) > 30, or ORDER BY COUNT(*) DESC LIMIT 10, rather show rows whose noise was high. Of
all intervals at 95 % one in 20 fails, and those may be just the ones that are shown.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

from discreet.answer.errorbars import CONFIDENCE
from discreet.answer.estimate import Floats
from discreet.answer.limits import Law
from discreet.answer.post import outputs_of
from discreet.plan.expressions import Expression
from discreet.plan.query import Query
from discreet.plan.statistics import behind

REMARK = (
    "Rows are picked by noisy numbers: their intervals are wider, so that 95 in 100 of those that"
    " are shown hold"
)


def picks(query: Query) -> bool:
    """Whether which rows are shown depends on noise."""
    return bool(behind(query, _picking(query)))


def widened(
    query: Query, widths: Mapping[str, Floats], shown: int, rows: int, laws: Sequence[Law]
) -> dict[str, Floats]:
    """Half-widths for some rows that are shown of all, however they were picked.

    Why: at a confidence of 1 - 0.05 shown/rows no more than 0.05 shown of all intervals are
    expected to fail, so no more of those that are shown. Numbers that share no noise with what
    picks the rows are left as they are.

    Reference: Benjamini, Yekutieli 2005, False Discovery Rate-Adjusted Multiple Confidence
    Intervals for Selected Parameters.
    """
    noisy = set(behind(query, _picking(query)))
    factor = _factor(shown / rows, laws) if 0 < shown < rows else 1.0
    told = {output.name: output.expression for output in outputs_of(query)}
    return {
        name: width * factor if noisy.intersection(behind(query, [told[name]])) else width
        for name, width in widths.items()
    }


def _picking(query: Query) -> list[Expression]:
    """What decides which rows are shown."""
    having = [] if query.having is None else [query.having]
    cut = query.limit is not None or query.offset > 0
    return having + ([order.expression for order in query.order] if cut else [])


def _factor(share: float, laws: Sequence[Law]) -> float:
    """How much wider noise is at the higher confidence: of Laplace noise, if there is any."""
    failure = 1 - CONFIDENCE
    if Law.LAPLACE in laws:
        return math.log(failure * share) / math.log(failure)
    inverse = NormalDist().inv_cdf
    return inverse(failure * share / 2) / inverse(failure / 2)
