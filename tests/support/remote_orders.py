"""Orders other than questions, whose outcome is the same bytes wherever the table is."""

import numpy as np
import pyarrow as pa

import discreet as dp
from discreet.noise.bits import Keystream, replaced


def visits(n=240):
    """Everybody comes twice; one person comes often, and ages and cities may be missing."""
    at = np.arange(n)
    age = (at * 7919 % 600) / 10.0 + 20
    return pa.table(
        {
            "person": np.where(at < 30, 0, at // 2),
            "age": pa.array(age, mask=at % 17 == 3),
            "city": pa.array(np.array(["Haifa", "Oslo", "Rome"])[at * 31 % 3], mask=at % 19 == 5),
            "cost": age / 2 + at % 5,
        }
    )


def outcomes(source, **said):
    """What each order gives over the table, with the same bits for each: to be compared."""
    with dp.Curator.in_memory() as curator:
        curator.add(
            "visits",
            source,
            unit="person",
            budget=dp.Budget(epsilon=100, delta=1e-4),
            columns={
                "age": dp.Bounds(0, 100),
                "cost": dp.Bounds(0, 60),
                "city": dp.Keys(["Haifa", "Oslo", "Rome"]),
            },
            **said,
        )
        told = {}
        for kind, spec in ORDERS.items():
            stream = Keystream(b"\7" * 32)
            with replaced(lambda stream=stream: stream):
                told[kind] = curator.order(kind.split()[0], spec).to_bytes()
        assert curator.ledger.verify().ok
    return told


def fit(name, target=None, **said):
    steps = [[name, {"epsilon": "2", **said}]]
    return {"steps": steps, "table": "visits", "features": ["age"], "target": target}


ORDERS = {
    "fit a line": fit("LinearRegression", "cost"),
    "fit classes": fit("GaussianNB", "city"),
    "synthesis": {"table": "visits", "epsilon": "4", "bins": 4, "columns": ["age", "city"]},
}
"""Models from totals, and a synthetic table from histograms of pairs."""
