"""Curators whose people have budgets of their own, and an exact model of what each has spent."""

import math
from fractions import Fraction

import pyarrow as pa

import discreet as dp
from discreet.curator.orders.planned_orders import StoredOrder
from discreet.plan.bounding import FULL, largest_weight
from discreet.privacy.budgets.individual_balances import units_as_rho

CITIES = ("Austin", "Haifa", "Oslo")
BUDGET = dp.Budget.per_person(epsilon=320, delta=1e-3)
"""A rho of about 240: three questions for LOUD can be paid."""

LOUD = {"epsilon": 120, "delta": 1e-5}
"""So much that noise moves no count: half a row is six standard deviations."""

LIMITS, WIDE = dp.Limits(1, 1), dp.Limits(2, 2)


def visits(rows):
    """A table of (person, city, amount)."""
    people, cities, amounts = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {
            "id": pa.array(people, pa.int64()),
            "city": pa.array(cities, pa.string()),
            "amount": pa.array(amounts, pa.int64()),
        }
    )


def add(curator, rows, name="visits", **facts):
    """Add such a table to a curator."""
    said = {"budget": BUDGET, "limits": LIMITS, **facts}
    columns = {"city": dp.Keys(CITIES), "amount": dp.Bounds(0, 10)}
    curator.add(name, visits(rows), unit="id", columns=columns, **said)
    return curator


def clinic(rows, **facts):
    """A curator in memory with one such table."""
    return add(dp.Curator.in_memory(), rows, **facts)


def spent(curator, dataset="visits"):
    """What each person has spent, by name: as rho, exactly."""
    people = curator._answer_service.people.of(dataset)
    people.catch_up(curator.ledger.head().sequence)
    opened = people._opened
    names = opened._names.to_pylist()
    units = [units_as_rho(int(one)) for one in opened.balances.spent[opened._places]]
    return {name: one for name, one in zip(names, units, strict=True) if one}


def refolded(curator, dataset="visits"):
    """The same, from the ledger and the data alone."""
    curator._answer_service.people.renew()
    return spent(curator, dataset)


def exact_costs(entry, rows, where):
    """What a charge costs each person, in exact arithmetic, from the rows as they are written.

    `where` says which rows the question is about. Counts of rows alone, by city or not.
    """
    asked = StoredOrder.parse(entry.facts["plan"])
    [decided] = entry.facts["decisions"]["sets"]
    (_, cost), (limit, _) = *decided["measured"], decided["bounds"]
    by_city = '"keys":[]' not in asked.query.replace(" ", "")
    counts = {}
    for person, city, amount in rows:
        if where(city, amount):
            mine = counts.setdefault(person, {})
            key = city if by_city else None
            mine[key] = mine.get(key, 0) + 1
    found = {}
    for person, groups in counts.items():
        square = sum(n * n for n in groups.values())
        weight = FULL
        if square > limit**2:
            weight = int(largest_weight(limit**2, squared=True) / math.sqrt(square))
        share = Fraction(weight**2 * square, (FULL * limit) ** 2)
        assert share <= 1
        found[person] = Fraction(cost) * share
    return found
