"""The integral of a sampled Gaussian's g^w up to an end, by Clenshaw-Curtis on panels."""

import math
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from discreet.privacy.numerics.moments import FloatArray
from discreet.privacy.numerics.rounding import ELEMENTARY

DEGREE: Final = 64

_RHO: FloatArray = 1 + 2.0 ** (np.arange(-6, 11, 2) / 2)
"""Sums of the half axes of ellipses around a panel, in its half width: 1.1 to 33."""


class Integrand(NamedTuple):
    """The density of N(0, 1) times |g^w| on ellipses, g = 1 - rate + rate e^(mu x - mu^2/2).

    Re w = power, |Im w| <= height.
    """

    mu: float
    rate: float
    power: float
    height: float


def panels(
    over: Integrand, ends: tuple[float, float], target: float, most: int
) -> FloatArray | None:
    """Edges of panels on each of which the rule errs by at most e^target; None past `most`.

    Why:
        With foci at the ends of a panel of half width d and axes' sum rho d, Chebyshev coefficients
        are at most 2 M rho^-k, and integral and rule differ by at most 8/3 on each T_k past the
        degree n: by (16/3) M d rho^-n/(rho - 1) together. M is the largest |integrand| on the
        ellipse, see `_log_error`. Weights are positive, so the error is also at most 4 d times the
        largest |integrand| on the panel itself. A panel that errs by more is halved.
    """
    count = max(1, math.ceil((ends[1] - ends[0]) * max(0.5, over.mu / 2)))
    edges: FloatArray = np.linspace(ends[0], ends[1], count + 1)
    while len(edges) * (DEGREE + 1) < most:
        wide = _log_error(over, edges[:-1], edges[1:]) > target
        if not wide.any():
            return edges
        edges = np.sort(np.append(edges, (edges[:-1] + edges[1:])[wide] / 2))
    return None


def _log_error(over: Integrand, lows: FloatArray, highs: FloatArray) -> FloatArray:
    """The log of the error on each panel, at the best ellipse.

    With a and b its half axes and c its centre, |e^(-x^2/2)| <= e^((b^2 - (Re x)^2)/2). While mu b
    <= pi/2, g has no zero: |g| <= g(Re x), |g| >= g(Re x) cos(mu b/2), and its argument is at most
    mu b and at most mu b times the odds rate e^loss/(1 - rate).
    """
    mu, q, power, height = over
    half = ((highs - lows) / 2)[:, None]
    centre = ((highs + lows) / 2)[:, None]
    a, b = half * ((_RHO + 1 / _RHO) / 2), half * ((_RHO - 1 / _RHO) / 2)
    turn = np.minimum(mu * b, 1.57)
    nearest = np.maximum(np.abs(centre) - a, 0.0)
    loss = mu * (centre + a) - mu * mu / 2
    odds = np.minimum(1.0, q / (1 - q) * np.exp(np.minimum(loss, 700.0)))
    worst = loss if power > 0 else loss - 2 * mu * a
    log = 0.5 * (b * b - nearest * nearest) + power * np.logaddexp(
        math.log1p(-q), math.log(q) + worst
    )
    log += height * turn * odds - max(0.0, -power) * np.log(np.cos(turn / 2))
    log += np.log(half) - DEGREE * np.log(_RHO) - np.log(_RHO - 1) + math.log(16 / 3)
    best: FloatArray = np.where(mu * b < 1.57, log, np.inf).min(axis=1)
    inside = np.maximum(np.abs(centre[:, 0]) - half[:, 0], 0.0)
    loss = mu * (highs if power > 0 else lows) - mu * mu / 2
    most = power * np.logaddexp(math.log1p(-q), math.log(q) + loss) - 0.5 * inside * inside
    best = np.minimum(best, most + np.log(4 * half[:, 0]))
    # Room for the rounding of the bound itself.
    return best + 1e-9 * (1 + np.abs(best))


def rule(edges: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Points, log weights and relative errors of the weights on all panels."""
    points, weights, spread = clenshaw_curtis()
    half = (edges[1:] - edges[:-1]) / 2
    x = np.add.outer((edges[1:] + edges[:-1]) / 2, 0 * points) + np.multiply.outer(half, points)
    logs = np.add.outer(np.log(half), np.log(weights))
    wobble = np.tile(spread + 8 * ELEMENTARY, len(half))
    return x.reshape(-1), logs.reshape(-1), wobble


@lru_cache(maxsize=1)
def clenshaw_curtis() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Points, weights and relative errors of the weights of the rule of even degree n.

    The weight of cos(k pi/n) is c_k/n (1 - sum_j b_j cos(2 j k pi/n)/(4 j^2 - 1)), whose terms sum
    to at most 1 in size: each weight is off by at most 2/n times a few roundings of numbers below
    2.
    """
    n = DEGREE
    k, j = np.arange(n + 1), np.arange(1, n // 2 + 1)
    turns = (2 * np.multiply.outer(k, j)) % (2 * n)
    series = np.where(j == n // 2, 1.0, 2.0) / (4.0 * j * j - 1)
    weights = (1 - np.cos(turns * (math.pi / n)) @ series) * (2.0 / n)
    weights[[0, -1]] /= 2
    return np.cos(k * (math.pi / n)), weights, 16 * ELEMENTARY * (2.0 / n) / weights
