"""Whose shares are read again: everybody above a limit, whatever the numbers are."""

from collections import defaultdict

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.answer.execute.individual import above_limits
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.statistics import People, Rows

COUNTS = st.integers(1, 5) | st.sampled_from([2**26, 2**27 - 1, 2**31, 2**62, 2**63 - 1])
PAIRS = st.lists(st.tuples(st.integers(0, 3), COUNTS), min_size=1, max_size=8)
LIMITS = st.integers(1, 6) | st.sampled_from([2**26, 2**27, 2**31, 2**40])


@example([(0, 1), (0, 1)], 1, 3)  # a square above the limit by 1, exact in doubles and not
@example([(0, 2**26), (0, 1)], 2**26, 3)
@example([(0, 2**31), (0, 1)], 2**31, 3)
@given(PAIRS, LIMITS, st.integers(1, 3))
def test_everybody_above_a_limit_is_found(pairs, limit, groups):
    bounds = ContributionBounds(NoiseKind.GAUSSIAN, limit, groups)
    of = defaultdict(list)
    for account, rows in pairs:
        of[account].append(rows)
    accounts, rows = np.array(pairs, dtype=np.int64).T
    for statistics, roaming in ((Rows(None),), False), ((Rows(None), People(None)), True):
        found = above_limits(accounts, rows, bounds, statistics)
        for account, mine in of.items():
            square = sum(n * n for n in mine)
            above = square > limit**2 or (roaming and len(mine) > groups)
            # Below 2^52 nobody else is found: reading everybody again would be slow.
            assert found[account] == above or (found[account] and square > 2**52)
