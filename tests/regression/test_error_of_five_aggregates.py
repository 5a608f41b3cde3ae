"""The error of five aggregates at one price, beside what it was when zCDP priced it."""

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp

BEFORE = {"n": 56.46, "s": 3739.0, "m": 2.463, "y": 1.220, "u": 26.63}
"""Half-widths at (1, 1e-5), when prices were converted by zCDP and totals had no rows beside."""


def test_five_aggregates_err_less_than_before_at_the_same_price():
    places = np.arange(200)
    columns = {
        "p": places // 2,
        "g": ["ab"[i % 2] for i in places],
        "x": places % 101.0,
        "y": places % 37.0,
    }
    with dp.Curator.in_memory() as curator:
        curator.add(
            "t",
            pa.table(columns),
            unit="p",
            budget=dp.Budget(epsilon=3, delta=1e-4),
            columns={"x": dp.Bounds(0, 100), "y": dp.Bounds(0, 40), "g": dp.Keys(["a", "b"])},
            limits=dp.Limits(2, 2),
        )
        told = curator.explain(
            "SELECT g, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m, AVG(y) AS y, "
            "COUNT(DISTINCT p) AS u FROM t GROUP BY g",
            epsilon=1,
            delta=1e-5,
        )
    ratios = [told.half_width(name) / before for name, before in BEFORE.items()]
    assert max(ratios) < 1
    assert np.mean(ratios) == pytest.approx(0.89, abs=0.01)  # 11 % less; 7 % was asked for
