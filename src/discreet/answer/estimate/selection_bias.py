"""Rows that are picked by their noisy numbers, and how much wider that makes their intervals.

HAVING COUNT(*) > 30, or ORDER BY COUNT(*) DESC LIMIT 10, rather show rows whose noise was high. Of
all intervals at 95 % one in 20 fails, and those may be just the ones that are shown.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

import numpy as np

from discreet.answer.estimate.aggregates import Floats, confine
from discreet.answer.estimate.error_bars import CONFIDENCE
from discreet.answer.estimate.postprocessing import outputs_of
from discreet.plan.bounding import NoiseKind
from discreet.plan.expressions import Column, Expression
from discreet.plan.public_facts import picking, picks
from discreet.plan.query import Query
from discreet.plan.relations import columns_of
from discreet.plan.statistics import behind


def wider_by(query: Query, shown: int, rows: int, noise_kinds: Sequence[NoiseKind]) -> float:
    """How many times wider noise has to be reckoned for some rows that are shown of all.

    Why: at a confidence of 1 - 0.05 shown/rows no more than 0.05 shown of all intervals are
    expected to fail, so no more of those that are shown: a share of 0.05 in an average answer,
    where one that shows nothing has no failures. Only released numbers are read: `rows` are those
    of all groups that were measured and found, also of groups that a public condition alone would
    leave out.

    Reference: Benjamini, Yekutieli 2005, False Discovery Rate-Adjusted Multiple Confidence
    Intervals for Selected Parameters.
    """
    return selection_factor(shown, rows, noise_kinds) if picks(query) else 1.0


def selection_factor(shown: int, rows: int, noise_kinds: Sequence[NoiseKind]) -> float:
    """How many times wider noise is reckoned where it has picked some rows of all."""
    return _factor(shown / rows, noise_kinds) if 0 < shown < rows else 1.0


def widened(query: Query, widths: Mapping[str, Floats], times: float) -> dict[str, Floats]:
    """Half-widths of aggregates that are shown as they are, so many times wider.

    Numbers that share no noise with what picks the rows are left as they are, and so are those
    that are computed from aggregates: `Simulation` has made them from wider noise. (Where CASE
    makes a number jump, an interval that is twice as wide is not that of noise twice as wide.)
    """
    told = {output.name: output.expression for output in outputs_of(query)}
    return {
        name: np.minimum(width * times, _widest(query, told[name]))
        if times > 1 and isinstance(told[name], Column) and is_picked(query, told[name])
        else width
        for name, width in widths.items()
    }


def is_picked(query: Query, shown: Expression) -> bool:
    """Whether a number shares noise with what decides which rows are shown."""
    return bool(set(behind(query, picking(query))).intersection(behind(query, [shown])))


def _widest(query: Query, shown: Expression) -> float:
    """The range of a mean or a spread, which no error leaves; infinite where there is none."""
    of = [one for one in query.aggregates if shown == Column(one.name)]
    ends = np.array([-np.inf, np.inf])
    low, high = confine(of[0], ends, columns_of(query.relation)) if of else ends
    return float(high - low)


def _factor(share: float, noise_kinds: Sequence[NoiseKind]) -> float:
    """How much wider noise is at the higher confidence: of Laplace noise, if there is any."""
    failure = 1 - CONFIDENCE
    if NoiseKind.LAPLACE in noise_kinds:
        return math.log(failure * share) / math.log(failure)
    inverse = NormalDist().inv_cdf
    return inverse(failure * share / 2) / inverse(failure / 2)
