"""Small tables with correlated columns of every kind, for tests of workloads."""

import datetime as dt

import numpy as np
import pyarrow as pa

from discreet.plan.kinds import Kind
from discreet.workload.domain import Attribute, Domain

DAYS = dt.date(2020, 1, 1)
CITIES = ("Austin", "Haifa", "Oslo")


def people(count, seed=7):
    """Rows whose columns depend on each other; about one value in ten is NULL."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, count)
    city = np.where(age < 40, 0, rng.integers(0, 3, count))
    income = age * 1.5 + rng.normal(0, 10, count)
    day = age * 3 + rng.integers(0, 30, count)
    gap = rng.random((5, count)) < 0.1
    return pa.table(
        {
            "city": pa.array([CITIES[c] for c in city], mask=gap[0]),
            "age": pa.array(age, mask=gap[1]),
            "income": pa.array(income, mask=gap[2]),
            "day": pa.array([DAYS + dt.timedelta(days=int(d)) for d in day], mask=gap[3]),
            "member": pa.array(age > 60, mask=gap[4]),
        }
    )


def domain(bins=4):
    """Public cells for these columns."""
    first = (DAYS - dt.date(1970, 1, 1)).days
    return Domain(
        (
            Attribute("city", Kind.TEXT, CITIES),
            Attribute("age", Kind.INTEGER, edges=tuple(range(0, 101, 100 // bins))),
            Attribute("income", Kind.REAL, edges=tuple(map(float, range(0, 161, 160 // bins)))),
            Attribute("day", Kind.DATE, edges=tuple(range(first, first + 341, 340 // bins))),
            Attribute("member", Kind.BOOLEAN, (False, True)),
        )
    )
