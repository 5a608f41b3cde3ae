"""A small census: people in blocks of counties of states."""

import numpy as np
import pyarrow as pa

import discreet as dp

BLOCKS = [f"{s}{c}{b}" for s in "NY" for c in "abc" for b in "12345"]
GEOGRAPHY = pa.table(
    {"state": [b[0] for b in BLOCKS], "county": [b[:2] for b in BLOCKS], "block": BLOCKS}
)
LEVELS = ["state", "county", "block"]
ABOUT = {"sex": dp.Keys(["f", "m"]), "age": dp.Bounds(0, 99)}


def people(count=600):
    """Person, block, sex and age; the same ones on every run."""
    at = np.arange(count)
    return pa.table(
        {
            "person": at,
            "block": [BLOCKS[i * i % 31 % 30] for i in range(count)],
            "sex": ["fm"[i % 7 % 2] for i in range(count)],
            "age": at * 37 % 100,
        }
    )


def census(curator, rows=None, places=None, **other):
    """Add people and their geography; `places` is where it is, on an engine of others."""
    said = {"unit": "person", "budget": dp.Budget(epsilon=9, delta=1e-5), "columns": ABOUT}
    said |= {"required": list(ABOUT), "limits": dp.Limits(1, 1), **other}
    curator.add("people", people() if rows is None else rows, **said)
    remote = {} if places is None else {"source_table": "warehouse.places"}
    curator.add_public("places", GEOGRAPHY if places is None else places, key="block", **remote)
    return curator


def plan(tables=None, **other):
    """Two tables at all levels."""
    said = {"table": "people", "geography": "places", "levels": LEVELS, "bins": {"age": 4}}
    said |= {"epsilon": 1, "delta": 1e-6, **other}
    return dp.releases(
        {"total": [], "detail": ["sex", "age"]} if tables is None else tables, **said
    )
