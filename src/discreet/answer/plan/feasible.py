"""Whether noise can be made for a price and limits: told before anything is charged.

Noise is exact, on a grid, and made for scales within a range that no useful question leaves. What a
question would leave it by is public: limits, bounds, epsilon.
"""

from discreet.answer.plan.limits import BLIND, LADDER
from discreet.answer.plan.set_plan import SetPlan, is_ranked
from discreet.errors import DiscreetError, InputError
from discreet.plan.bounding import ContributionBounds
from discreet.plan.remembered import remember


class InfeasiblePriceError(InputError):
    """No noise is made for a price and limits."""


def check_feasible(plan: SetPlan, contributions: ContributionBounds) -> None:
    """Refuse a price for which the noise of one of the statistics would leave its range."""
    try:
        if plan.histograms:
            _ = plan.histogram
        for one in plan.measurements(contributions):
            if not is_ranked(one.strategy):  # quantiles are drawn at any scale
                _ = one.mechanism
    except DiscreetError:
        raise InfeasiblePriceError(
            "epsilon does not suit the limits and bounds of this question",
            why="noise would be wider, or finer, than exact noise is made",
            fix="ask for an epsilon between 0.001 and 1,000, or state other limits and bounds",
        ) from None


@remember(64)
def widest(plan: SetPlan) -> int:
    """The highest limit that may be chosen for one person; refused where hardly any may."""
    steps = [step for step in LADDER if step >= BLIND]
    check_feasible(plan, ContributionBounds(plan.noise_kind, 1, 1))
    if is_feasible(plan, ContributionBounds(plan.noise_kind, steps[-1], steps[-1])):
        return steps[-1]
    check_feasible(plan, ContributionBounds(plan.noise_kind, steps[0], steps[0]))
    low, high = 0, len(steps) - 1
    while high - low > 1:
        middle = (low + high) // 2
        fine = is_feasible(plan, ContributionBounds(plan.noise_kind, steps[middle], steps[middle]))
        low, high = (middle, high) if fine else (low, middle)
    return steps[low]


def is_feasible(plan: SetPlan, contributions: ContributionBounds) -> bool:
    """Whether noise can be made."""
    try:
        check_feasible(plan, contributions)
    except InfeasiblePriceError:
        return False
    return True
