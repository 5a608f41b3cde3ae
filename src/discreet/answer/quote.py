"""What a question will cost, from the question and public facts alone."""

from collections.abc import Sequence
from typing import TypeAlias

from discreet.answer.ask import plan_budget, weigh
from discreet.answer.budget import Price
from discreet.answer.explain import Sealed
from discreet.answer.feasible import check_feasible, widest
from discreet.answer.limits import Law
from discreet.answer.sets import single_sets
from discreet.errors import InputError
from discreet.plan.query import Query
from discreet.plan.statistics import needed
from discreet.privacy import ZCDP, Approximate, Neighbours, Pure
from discreet.sql.compile import Compiled
from discreet.sql.dialect import Dialect

Charged: TypeAlias = Pure | Approximate | ZCDP
"""Guarantees that filters take."""


def quote(
    query: Query, price: Price, law: Law, dialect: Dialect, neighbours: Neighbours
) -> tuple[Charged, ...]:
    """The guarantees that a question is charged for if its noise follows this law.

    Laplace noise and everything chosen exactly is charged as pure epsilon, which holds whatever
    limits are chosen later.
    """
    share = price.over(len(query.sets))
    parts = [_parts(one, share, law, dialect, neighbours) for one in single_sets(query)]
    return tuple(guarantee for part in parts for guarantee in part)


def _parts(
    query: Query, price: Price, law: Law, dialect: Dialect, neighbours: Neighbours
) -> Sequence[Charged]:
    compiled = Compiled(query, needed(query), dialect)
    budget = plan_budget(compiled, price)
    if law is Law.GAUSSIAN and not budget.rho:
        raise InputError(
            "epsilon or delta is too small for Gaussian noise",
            why="no noise of finite width would meet them",
            fix="raise epsilon or delta",
        )
    found: list[Charged] = []
    if budget.choice:
        widest(budget, law, neighbours)  # refused now, where hardly any limit could be chosen
    else:
        weighing = weigh(compiled, budget, Sealed(), neighbours, (law,)).weighing
        check_feasible(budget, weighing, neighbours)
    if budget.choice:
        each = budget.choice / len(budget.histograms)
        found += [Pure(each, neighbours=neighbours) for _ in budget.histograms]
    if budget.keys is not None:
        found.append(Approximate(budget.keys.epsilon, budget.keys.delta, neighbours=neighbours))
    if budget.shared is not None:
        found.append(Approximate(0, budget.hidden, neighbours=neighbours))
    for share in budget.shares[law].values():
        if law is Law.LAPLACE:
            found.append(Pure(budget.epsilon * share, neighbours=neighbours))
        else:
            found.append(ZCDP(budget.rho * share, neighbours=neighbours))
    return found
