"""An odometer must hold at every moment at once, against an analyst who adapts.

False-alarm rate: seeds are fixed, so a run cannot flake; under a correct odometer a fresh seed
would fail with probability below 1e-9 (the bound has room, and 6 standard errors are added).
"""

import math
from fractions import Fraction

import numpy as np

from discreet.privacy.budgets.odometer import mixture_bound

RUNS = 4000
DELTA = 0.05


def ever_exceeded(boundary):
    """How often the realised loss of adaptively scaled Gaussian noise ever crosses a boundary.

    The analyst starts with tiny rho and doubles the total at each step, in smaller steps while the
    loss runs high: 40 doublings give many nearly independent chances to cross.
    """
    rng = np.random.default_rng(20)
    totals = 1e-10 * 1.3 ** np.arange(0, 110)
    limits = np.array([boundary(total) for total in totals])
    loss, place, crossed = np.zeros(RUNS), np.zeros(RUNS, dtype=int), np.zeros(RUNS, dtype=bool)
    while (place < len(totals) - 1).any():
        alive = place < len(totals) - 1
        hot = loss > 0.5 * limits[place]
        jump = np.where(alive, np.minimum(np.where(hot, 1, 3), len(totals) - 1 - place), 0)
        rho = totals[place + jump] - totals[place]
        loss += rho + np.sqrt(2 * rho) * rng.normal(size=RUNS)
        place = place + jump
        crossed |= loss > limits[place]
    return float(crossed.mean())


def test_the_mixture_holds_at_all_times_at_once():
    sigma = math.sqrt(DELTA * (1 - DELTA) / RUNS)
    assert ever_exceeded(lambda rho: mixture_bound(rho, Fraction(DELTA))) <= DELTA + 6 * sigma


def test_a_bound_for_one_moment_does_not_which_is_why_it_is_not_used():
    one_moment = ever_exceeded(lambda rho: rho + 2 * math.sqrt(rho * math.log(1 / DELTA)))
    assert one_moment > DELTA + 6 * math.sqrt(DELTA * (1 - DELTA) / RUNS)
