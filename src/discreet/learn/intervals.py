"""Intervals from estimates and standard errors."""

from statistics import NormalDist

import numpy as np

from discreet.learn.rows import Floats
from discreet.rationals import proper_share


def normal_intervals(values: Floats, errors: Floats, confidence: float) -> Floats:
    """Each value +- z errors: one row (low, high) a value."""
    width = z_score(confidence) * errors
    return np.asarray(np.stack([values - width, values + width], axis=-1))


def z_score(confidence: float) -> float:
    """The two-sided normal quantile of a confidence in (0, 1)."""
    return NormalDist().inv_cdf((1 + float(proper_share(confidence, "confidence"))) / 2)
