"""A curator over the made-up clinic that tests of the curator and the command line share."""

import pyarrow as pa

import discreet as dp
from visits import CITIES, clinic

COUNT = "SELECT COUNT(*) AS n FROM visits"
BY_CITY = "SELECT city, COUNT(*) AS n, SUM(amount) AS s FROM visits GROUP BY city"

ABOUT = {
    "unit": "person",
    "columns": {"city": dp.Keys(CITIES), "amount": dp.Bounds(0, 100)},
    "required": ["city", "amount"],
    "limits": dp.Limits(2, 4),
}
BUDGET = dp.Budget(epsilon=3, delta=1e-6)


def add_visits(curator, source=None, **other):
    """Add the clinic's visits."""
    said = {**ABOUT, "budget": BUDGET, **other}
    curator.add("visits", clinic(200) if source is None else source, **said)
    return curator


def add_cities(curator):
    """Add the public table of cities."""
    cities = pa.table({"name": CITIES, "country": ["US", "IL", "NO"]})
    countries = {"country": dp.Keys(["US", "IL", "NO"])}
    curator.add_public("cities", cities, key="name", columns=countries)
    return curator


def spent(curator, dataset="visits", **other):
    """What is gone of a budget, in whole units."""
    return curator.budget(dataset, **other).spent
