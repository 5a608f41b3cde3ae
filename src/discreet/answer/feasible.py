"""Whether noise can be made for a price and limits: told before anything is charged.

Noise is exact, on a grid, and made for scales within a range that no useful question leaves. What a
question would leave it by is public: limits, bounds, epsilon.
"""

from discreet.answer.budget import Budget
from discreet.answer.limits import BLIND, LADDER, Law, Weighing
from discreet.answer.measure import histogram, measurements
from discreet.errors import DiscreetError, InputError
from discreet.plan.statistics import Ranks
from discreet.privacy import Neighbours


def check_feasible(budget: Budget, weighing: Weighing, neighbours: Neighbours) -> None:
    """Refuse a price for which the noise of one of the statistics would leave its range."""
    plan = measurements(budget, weighing, neighbours)
    try:
        if budget.choice:
            histogram(budget, neighbours)
        for one in plan.values():
            if not isinstance(one.statistic, Ranks):  # quantiles are drawn at any scale
                one.mechanism(1)
    except DiscreetError:
        raise InputError(
            "epsilon does not suit the limits and bounds of this question",
            why="noise would be wider, or finer, than exact noise is made",
            fix="ask for an epsilon between 0.001 and 1,000, or state other limits and bounds",
        ) from None


def widest(budget: Budget, law: Law, neighbours: Neighbours) -> int:
    """The highest limit that may be chosen for one person; refused where hardly any may."""
    steps = [step for step in LADDER if step >= BLIND]
    check_feasible(budget, Weighing(law, 1, 1), neighbours)
    check_feasible(budget, Weighing(law, steps[0], steps[0]), neighbours)
    low, high = 0, len(steps)
    while high - low > 1:
        middle = (low + high) // 2 if high < len(steps) else len(steps) - 1
        fine = is_feasible(budget, Weighing(law, steps[middle], steps[middle]), neighbours)
        low, high = (middle, high) if fine else (low, middle)
    return steps[low]


def is_feasible(budget: Budget, weighing: Weighing, neighbours: Neighbours) -> bool:
    """Whether noise can be made."""
    try:
        check_feasible(budget, weighing, neighbours)
    except InputError:
        return False
    return True
