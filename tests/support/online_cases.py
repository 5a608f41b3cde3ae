"""A small table for online sessions: three columns that depend on each other."""

import numpy as np

from discreet.plan.kinds import Kind
from discreet.workload.counting_query import CountingQuery
from discreet.workload.domain import Attribute, Domain
from discreet.workload.histogram import JointHistogram

SIZES = {"a": 4, "b": 5, "c": 3}
DOMAIN = Domain(
    tuple(Attribute(n, Kind.INTEGER, tuple(range(m)), nullable=False) for n, m in SIZES.items())
)


def rows(count=4000, *, extra=()):
    """Rows by rule, not by chance: b follows a, and c follows both."""
    place = np.arange(count)
    a = place % 4
    b = np.where(place % 10 < 8, a, place % 5)
    c = np.where(place % 7 < 5, (a + b) % 3, place % 3)
    found = {"a": a, "b": b, "c": c}
    for one in extra:
        found = {name: np.append(found[name], one[name]) for name in found}
    return found


def histogram(**options):
    return JointHistogram.of(rows(**options), DOMAIN)


def queries(count, *, seed=1):
    """Products of subsets, by a fixed rule."""
    state = seed
    found = []
    for _ in range(count):
        cells = []
        for size in SIZES.values():
            state = (state * 1103515245 + 12345) % 2**31
            chosen = [i for i in range(size) if state >> (8 + i) & 1] or [state % size]
            cells.append(tuple(chosen))
        found.append(CountingQuery(tuple(SIZES), tuple(cells)))
    return found
