"""Every exact integer of a question that would meet noise, recorded for tests.

The statements and the way through them are those of production; noise is left out, and groups that
have to be found are all found.
"""

import math
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from unittest.mock import patch

import numpy as np

from discreet.answer.execute import measure_set as production
from discreet.answer.execute.measure_set import known_keys
from discreet.answer.plan.measure import Measurement, weighed
from discreet.answer.plan.price import Price
from discreet.answer.plan.quantile_draws import QuantileDraw
from discreet.answer.plan.set_plan import SetPlan
from discreet.mechanisms.grid import sqrt_up
from discreet.plan.sensitivity import apart, sensitivity, together
from discreet.plan.statistics import Ranks, Rows, Total, needed
from discreet.privacy import Neighbours, Pure

PLENTY = Price(10**9, Fraction(1, 100))


def plan_of(query, contributions, strategies=None):
    """A plan that bounds people by these limits, at a price that restricts nothing."""
    measured = apart(needed(query)) if strategies is None else strategies
    keys = None if query.has_known_keys else PLENTY
    costs = dict.fromkeys(measured, Fraction(1))
    return SetPlan(
        query, contributions.noise_kind, Neighbours.ADD_REMOVE, costs, contributions, keys=keys
    )


@dataclass
class Recorded:
    """What met noise: totals by (place of the statistic, group, cell), numbers by strategy.

    "people" stands for how many people a group has, where groups are found.
    """

    totals: dict = field(default_factory=dict)
    numbers: dict = field(default_factory=dict)


class _All:
    """Finds every group, and remembers how many people each has."""

    guarantee = Pure(0)

    def __init__(self):
        self.people = []

    def keeps(self, people):
        self.people.extend(people.tolist())
        return np.ones(people.size, dtype=bool)


def record(plan, engine):
    """Run a plan as production does, without noise."""
    every, totals, numbers, cells = _All(), defaultdict(list), defaultdict(list), {}

    def release(self, exact):
        combined = [weighed(row, exact) for row in self.strategy.combinations]
        for statistic, one in zip(self.strategy.statistics, exact, strict=True):
            totals[statistic].extend(one.tolist())
        numbers[self.strategy].append(combined)
        return combined

    def ranked(self, statistic, groups):
        for place, (where, weights) in enumerate(read(self, statistic, groups)):
            cells[statistic, place] = dict(zip(where.tolist(), weights.tolist(), strict=True))
            yield where, weights

    read = production._Measuring.ranked
    with ExitStack() as stack:
        for change in (
            patch.object(Measurement, "release", release),
            patch.object(production._Measuring, "ranked", ranked),
            patch.object(QuantileDraw, "cell", lambda *_: 0),
            patch.object(production, "check_feasible", lambda *_: None),
            patch.object(production, "_paid", lambda *_: None),
            patch.object(SetPlan, "selection", lambda self, _: every if self.keys else None),
        ):
            stack.enter_context(change)
        drawn = production.measure_set(plan, engine, "73" * 16)
    keys = known_keys(plan.query)[0] if plan.query.has_known_keys else drawn.keys
    columns = [keys[f"k{i}"].to_pylist() for i in range(len(plan.query.keys))]
    groups = list(zip(*columns, strict=True)) if columns else [()] * drawn.groups
    return _recorded(plan, groups, every, totals, numbers, cells)


def _recorded(plan, groups, every, totals, numbers, cells):
    places = {statistic: i for i, statistic in enumerate(needed(plan.query))}
    found = Recorded()
    for group, people in zip(groups, every.people, strict=False):
        found.totals["people", group, None] = people
    for statistic, values in totals.items():
        for group, value in zip(groups, values, strict=True):
            found.totals[places[statistic], group, None] = value
    for strategy, slices in numbers.items():
        for i in range(len(strategy.combinations)):
            values = [value for one in slices for value in one[i].tolist()]
            for group, value in zip(groups, values, strict=True):
                found.numbers[strategy, i, group] = value
    for (statistic, place), weights in cells.items():
        for cell, weight in weights.items():
            found.totals[places[statistic], groups[place], cell] = weight
    return found


def distance(strategy, left, right, law, places):
    """How far apart two records of a strategy are, in the norm of the noise, exactly or below.

    Each number of each group counts by itself; of quantiles the weight that moves in each group.
    """
    if strategy in {key[0] for key in (*left.numbers, *right.numbers)}:
        keys = {key for key in (*left.numbers, *right.numbers) if key[0] == strategy}
        moved = [abs(left.numbers.get(key, 0) - right.numbers.get(key, 0)) for key in keys]
    else:
        by_group = defaultdict(int)
        place = places[strategy.statistics[0]]
        for key in {key for key in (*left.totals, *right.totals) if key[0] == place}:
            by_group[key[1]] += abs(left.totals.get(key, 0) - right.totals.get(key, 0))
        moved = list(by_group.values())
    if law.name == "LAPLACE":
        return Fraction(sum(moved))
    return Fraction(math.isqrt(sum(value * value for value in moved)))


def declared(strategy, contributions, *, far):
    """How far a person may move a strategy; by their share of that, if they are `far` out."""
    most, share = sensitivity(strategy, contributions), contributions.share
    if not far or not isinstance(strategy.statistics[0], Rows | Total | Ranks):
        return most
    return most * (share if contributions.noise_kind.name == "LAPLACE" else sqrt_up(share))


def moved_too_far(query, contributions, left, right, *, far=False):
    """What moves further than declared between two engines: strategies, and "keys"."""
    places = {statistic: i for i, statistic in enumerate(needed(query))}
    broken = []
    ways = (apart(needed(query)), together(needed(query), contributions.noise_kind))
    for strategies in dict.fromkeys(ways):
        one, other = (
            record(plan_of(query, contributions, strategies), engine) for engine in (left, right)
        )
        broken += [
            strategy
            for strategy in strategies
            if distance(strategy, one, other, contributions.noise_kind, places)
            > declared(strategy, contributions, far=far)
        ]
        groups = {key for key in (*one.totals, *other.totals) if key[0] == "people"}
        changed = [key for key in groups if one.totals.get(key, 0) != other.totals.get(key, 0)]
        broken += ["keys"] if len(changed) > contributions.groups else []
    return broken
