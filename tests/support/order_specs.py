"""An order of each kind that is no question, about the made-up clinic."""

import pyarrow as pa

from clinic_curator import ABOUT

ORDERS = {
    "synthesis": {
        "table": "visits",
        "columns": ["city", "amount"],
        "epsilon": "1",
        "delta": "1e-6",
        "bins": 4,
        "max_rows": 2,
    },
    "online": {
        "table": "visits",
        "columns": ["city", "amount"],
        "epsilon": "1",
        "delta": "1e-6",
        "bins": 4,
    },
    "fit": {
        "steps": [["LinearRegression", {"epsilon": "1", "delta": "1/1000000", "bounds": [0, 1]}]],
        "table": "visits",
        "features": ["amount"],
        "target": "amount",
    },
    "stream": {
        "sql": "SELECT city, COUNT(*) AS n FROM days WHERE amount > 1 GROUP BY city",
        "every": "week",
        "since": "2026-01-01",
        "until": "2026-03-01",
        "max_periods": 2,
        "epsilon": "1",
        "delta": "1e-6",
    },
    "profile": {"table": "visits", "epsilon": "1", "delta": "1e-6"},
    "workload": {
        "table": "visits",
        "queries": [{"city": ["Haifa"], "amount": {"low": 0, "high": 30}}, {}],
        "epsilon": "1",
        "delta": "1e-6",
        "bins": 4,
    },
    "participation": {"table": "visits", "epsilon": "1", "delta": "1e-6", "again": 2},
    "release": {
        "table": "visits",
        "tables": [["all", []], ["by_city", ["city", "amount"]]],
        "epsilon": "1",
        "delta": "1e-6",
        "bins": {"amount": 4},
        "invariants": {"nation": 20},
    },
    "training": {
        "table": "visits",
        "features": ["amount", "city"],
        "target": "city",
        "epsilon": "1",
        "delta": "1e-6",
        "people": 1000,
        "batch": 10,
        "epochs": "1/10",
        "band": 1,
        "model": "0123456789abcdef",
    },
}


def add_dated(curator, rows, budget):
    """The clinic's visits, and the same with a day of each, in one dataset."""
    curator.add("visits", rows, **ABOUT, budget=budget)
    dated = rows.append_column("day", pa.array([0] * rows.num_rows, pa.date32()))
    curator.add("days", dated, **ABOUT, dataset="visits")


def costing(kind, epsilon):
    """The order of a kind, for another epsilon."""
    spec = {**ORDERS[kind], "epsilon": str(epsilon)}
    if kind == "fit":
        ((name, about),) = spec["steps"]
        del spec["epsilon"]
        spec["steps"] = [[name, {**about, "epsilon": str(epsilon)}]]
    return spec
