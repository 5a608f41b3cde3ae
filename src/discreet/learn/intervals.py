"""Intervals from estimates and standard errors."""

from statistics import NormalDist

import numpy as np

from discreet.errors import InputError
from discreet.learn.rows import Floats


def normal_intervals(values: Floats, errors: Floats, confidence: float) -> Floats:
    """Each value +- z errors: one row (low, high) a value."""
    width = z_score(confidence) * errors
    return np.asarray(np.stack([values - width, values + width], axis=-1))


def z_score(confidence: float) -> float:
    """The two-sided normal quantile of a confidence in (0, 1)."""
    if 0 < confidence < 1:
        return NormalDist().inv_cdf((1 + confidence) / 2)
    raise InputError(
        f"confidence is {confidence}", why="it is a probability", fix="pass one such as 0.95"
    )
