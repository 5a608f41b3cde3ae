"""How much the error of each column matters to whoever asks: the budget is split accordingly."""

from collections.abc import Mapping
from fractions import Fraction

from discreet.answer.estimate.postprocessing import outputs_of
from discreet.errors import InputError
from discreet.plan.query import Aggregate, Query, weighted
from discreet.plan.reads import mentions
from discreet.rationals import Real, positive

LEAST, MOST = Fraction(1, 10**6), Fraction(10**6)


def weigh_columns(query: Query, weights: Mapping[str, Real]) -> Query:
    """The question with weights on what its shown columns are computed from.

    Edge cases: a column that is computed from several aggregates weighs each of them; an aggregate
    of several columns has the largest of their weights. Weights that are all 1 change nothing. An
    aggregate that is not shown itself can be named too.
    """
    shown = _uses(query) if weights else {}
    uses = {**{one.name: [one.name] for one in query.aggregates}, **shown}
    found: dict[str, Fraction] = {}
    for name, weight in weights.items():
        if name not in uses:
            raise InputError(
                f"no column of numbers is called {name!r:.80}",
                why=f"they are {', '.join(shown)}",
                fix="weigh one of them",
            )
        for aggregate in uses[name]:
            found[aggregate] = max(found.get(aggregate, Fraction(0)), positive(weight, "weight"))
    weighed = weighted(query, found) if found else query  # the very same is planned once
    for one in weighed.aggregates:
        _check(one)
    return weighed


def _check(aggregate: Aggregate) -> None:
    """Refuse weights that no split of a budget can follow, whoever wrote them."""
    if not LEAST <= aggregate.weight <= MOST:
        raise InputError(
            f"the weight of {aggregate.name} is out of reach",
            why=f"weights are from {float(LEAST):g} to {float(MOST):g}",
            fix="pass a weight such as 4",
        )


def _uses(query: Query) -> dict[str, list[str]]:
    """The aggregates that each shown column is computed from, for those that have any."""
    names = [one.name for one in query.aggregates]
    uses = {out.name: mentions(out.expression) for out in outputs_of(query)}
    used = {name: [one for one in names if one in seen] for name, seen in uses.items()}
    return {name: found for name, found in used.items() if found}
