"""The limits and the law of noise that are expected to err least, where nobody has stated them."""

import math
from collections.abc import Callable

from discreet.answer.budget import Budget
from discreet.answer.influence import Influence
from discreet.answer.limits import Law, Spread, Weighing, choose
from discreet.plan.statistics import People


def chosen(
    law: Law, rows: Spread, groups: Spread, budget: Budget, count: int
) -> tuple[Weighing, float]:
    """The best limits for a law, and the error to expect with them."""
    row_noise, people_noise = typical_noise(budget, law)
    best_rows = choose(rows, row_noise, count)
    best_groups = choose(groups, people_noise, count, root=law is Law.GAUSSIAN)
    return Weighing(law, best_rows.limit, best_groups.limit), best_rows.error + best_groups.error


def typical_noise(budget: Budget, law: Law) -> tuple[float, float]:
    """How far noise moves aggregates of rows, and of people, for a limit of 1; 0 without any."""
    return (
        _average(budget, law, lambda one: not _of_people(one)),
        _average(budget, law, _of_people),
    )


def _average(budget: Budget, law: Law, which: Callable[[Influence], bool]) -> float:
    sizes = {
        statistic: unit_noise(budget, law, float(share))
        for statistic, share in budget.shares[law].items()
    }
    errors = [(one.weight, one.error(sizes)) for one in budget.influences[law] if which(one)]
    whole = sum(weight for weight, _ in errors)
    return sum(weight * error for weight, error in errors) / whole if whole else 0.0


def unit_noise(budget: Budget, law: Law, share: float) -> float:
    """The median size of the noise that a share of the budget buys for a limit of 1."""
    if law is Law.LAPLACE:
        return math.log(2) / (float(budget.epsilon) * share)
    return 0.6745 / math.sqrt(2 * float(budget.rho) * share)


def _of_people(one: Influence) -> bool:
    return any(isinstance(statistic, People) for statistic in one.on)
