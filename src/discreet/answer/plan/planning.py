"""Build the measurement plan of a question and a price from public facts.

A price is split by basic composition: groups that have to be found, and the rest. The rest buys all
statistics of all grouping sets, which are one vector, and histograms of people where bounds have to
be chosen: a share of epsilon under Laplace, of mu^2 under Gaussian noise.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from discreet.answer.estimate.aggregates import outputs_of
from discreet.answer.plan.contribution_histogram import BLIND, FEW, GROUPS, LADDER, ROWS, Norm
from discreet.answer.plan.price import Influence, Price, best_shares, influences
from discreet.answer.plan.set_plan import (
    LEAST_KEYS,
    SetPlan,
    amount_for,
    cost_of,
    is_inner,
    is_ranked,
    second_share,
)
from discreet.answer.plan.thresholded_count import shared_count
from discreet.errors import DiscreetError, InputError
from discreet.mechanisms.unknown_keys import read_delta
from discreet.plan.bounding import ContributionBounds, NoiseKind, is_stated, limits_of
from discreet.plan.expressions import Column, mentions, remember
from discreet.plan.query import Query, questions_in, released_columns
from discreet.plan.schema import Limits
from discreet.plan.sensitivity import Strategy, apart, together
from discreet.plan.statistics import People, Statistic, needed, statistics_in
from discreet.plan.typing import infer
from discreet.plan.work import MOST_ROWS_EACH, bound_work, check_work
from discreet.privacy import Neighbours
from discreet.privacy.budgets.buying import buys
from discreet.privacy.budgets.charges import EPSILON, MU_SQUARED, Measure

CHOICE = {NoiseKind.LAPLACE: Fraction(1, 10), NoiseKind.GAUSSIAN: Fraction(1, 6)}
"""The share of a price (epsilon, or mu^2) that buys unstated limits."""

_EXACT_ENOUGH = Fraction(8)
"""The most rho of one histogram: the noise of a bucket has a deviation of a quarter of a person."""

KEYS = Fraction(1, 4)
"""The share of epsilon that buys an unstated list of groups."""

MOST_GROUPS = 1 << 24
"""Groups that are public and can be answered at once: all of them are, even empty ones."""

_PARTS = 1 << 12
"""Shares are multiples of one part in so many, or nearly, so that every machine has the same."""


_GAUSSIAN_BELOW = 8
"""A mu^2 below which Gaussian noise errs less than Laplace noise in every measurement.

Why: mu pays for an epsilon of log(F(mu/2) / F(-mu/2)), F the normal distribution, and medians of
noise are 0.693/epsilon and 0.674/mu. Up to mu^2 = 26 the second is less, by a factor of 1.18 or
more up to 8; measuring three statistics together makes up for a factor of 2/sqrt(3) = 1.16 at most.
That is an epsilon of about 16 at delta = 1e-6, and every single count up to one of 36.
"""


class _Split(NamedTuple):
    """One grouping set without costs, and what is left of its price once groups are found."""

    plan: SetPlan
    epsilon: Fraction
    delta: Fraction
    left: Fraction
    """The share of epsilon that is left."""


_Ways: TypeAlias = Mapping[NoiseKind, list[tuple[SetPlan, float]]]
"""The plan of each set under a law, and the error to expect of it."""


def plan_sets(
    query: Query,
    price: Price,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    noise_kinds: Iterable[NoiseKind] = tuple(NoiseKind),
    measure: Measure | None = None,
) -> tuple[SetPlan, ...]:
    """Plan every grouping set, with noise of whichever of the laws is expected to err less.

    Noise of either law takes as much of an account that counts in `measure`: there each set has the
    law that errs less in it, and without an account all sets have one. All measurements of a set
    have one law, since weights bound people in its norm.
    """
    check_work(bound_work(query, MOST_ROWS_EACH))
    sets = single_sets(query)
    shown = shown_quantiles(query)
    splits = [_split(one, price.over(len(sets)), shown, neighbours) for one in sets]
    epsilon = sum((one.epsilon for one in splits), Fraction(0))
    delta = sum((one.delta for one in splits), Fraction(0))
    amounts = _possible(epsilon, delta, noise_kinds, measure)
    ways = {
        kind: [_plan(one, amount * one.epsilon / epsilon, kind) for one in splits]
        for kind, amount in amounts.items()
    }
    tried = list(ways.values())
    if len(ways) > 1 and measure not in (None, EPSILON):  # an account can pay for both
        tried.append(_mixed(splits, amounts[NoiseKind.GAUSSIAN] / epsilon, ways))
    best = min(tried, key=lambda plans: sum(error for _, error in plans))
    for one, _ in best:
        if one.histograms:
            widest(one)  # refused now, where hardly any limit could be chosen
        elif one.contributions is not None:
            check_feasible(one, one.contributions)
    return tuple(one for one, _ in best)


def histograms_of(query: Query) -> tuple[str, ...]:
    """The histograms of people that are needed before limits can be chosen.

    Nothing where limits are stated; nothing about rows where people alone are counted; nothing
    about groups where there is one, or where nobody is counted and all groups are public.
    """
    limits = limits_of(query)
    if query.is_by_row or is_stated(limits):
        return ()
    known = query.has_known_keys
    people = [isinstance(statistic, People) for statistic in needed(query)]
    several = not known or query.group_count > 1
    wanted = several and limits.max_groups is None and (any(people) or not known)
    return (*([] if all(people) else [ROWS]), *([GROUPS] if wanted else []))


# --- grouping sets ------------------------------------------------------------------------------


def single_sets(query: Query) -> list[Query]:
    """A query for each grouping set, with its keys alone and nothing to do afterwards.

    Questions that are measured `also` follow with theirs.

    Stated limits leave each person as many rows in all, whatever the set: so totals of coarse
    groups are those of their parts.
    """
    return [one for question in questions_in(query) for one in _sets_of(question)]


def _sets_of(query: Query) -> list[Query]:
    check_groups(query)
    sets = [
        Query(
            query.relation,
            keys,
            query.aggregates,
            limits=query.limits,
            only_possible=query.only_possible,
        )
        for keys in (tuple(query.keys[i] for i in chosen) for chosen in query.sets)
    ]
    if len(sets) == 1 or query.counts_whole:
        return sets
    limits = [limits_of(one) for one in sets]
    if not all(map(is_stated, limits)):
        return sets
    groups = [one.max_groups or 1 for one in limits]
    most = max(count * (one.max_rows or 1) for count, one in zip(groups, limits, strict=True))
    return [
        replace(one, limits=Limits(count, -(-most // count)))
        for one, count in zip(sets, groups, strict=True)
    ]


def check_groups(query: Query) -> None:
    """Refuse a question whose public groups are too many to answer."""
    sizes = [1 if of.keys is None else len(of.keys) for of in query.key_types]
    count = sum(math.prod(sizes[i] for i in chosen) for chosen in query.sets)
    if count > MOST_GROUPS:
        lists = ", ".join(
            f"{key.name} {size:,}" for key, size in zip(query.keys, sizes, strict=True) if size > 1
        )
        raise InputError(
            f"the question has {count:,} groups",
            why=f"each combination of public keys is answered ({lists}), and up to "
            f"{MOST_GROUPS:,} can be",
            fix="group by fewer keys, or by coarser ones",
        )


# --- the price ----------------------------------------------------------------------------------


def shown_quantiles(query: Query) -> set[str]:
    """The quantiles that have intervals: shown as they are, or alone behind a number."""
    asked = {one.name for one in query.aggregates if is_inner(one) and one.interval}
    if query.then is not None or not asked:
        return set()
    columns, names = released_columns(query), {one.name for one in query.aggregates}
    alone = set()
    for output in outputs_of(query):
        used = names.intersection(mentions(output.expression))
        kinds = [infer(one, columns).kind for one in (output.expression, *map(Column, used))]
        numbers = all(kind.is_number for kind in kinds)
        if len(used) == 1 and (isinstance(output.expression, Column) or numbers):
            alone |= used
    return asked & alone


def _split(query: Query, price: Price, shown: set[str], neighbours: Neighbours) -> _Split:
    find = not query.has_known_keys
    shared = shared_count(query) if find else None
    if find:
        _check_findable(price, shared)
    keys = Price(price.epsilon * KEYS, price.delta / 2) if find and shared is None else None
    plan = SetPlan(
        query,
        NoiseKind.LAPLACE,
        neighbours,
        {},
        histograms=histograms_of(query),
        keys=keys,
        shared=shared,
        hidden=price.delta / 2 if shared is not None else Fraction(0),
        brackets=tuple(one.name for one in query.aggregates if one.name in shown),
    )
    left = 1 - KEYS if keys else Fraction(1)
    return _Split(plan, price.epsilon * left, price.delta / 2 if find else price.delta, left)


def _check_findable(price: Price, shared: Statistic | None) -> None:
    if not price.delta:
        raise InputError(
            "the groups of this question are not public and delta is 0",
            why="finding groups needs a small probability of revealing too much",
            fix="pass a delta such as 1e-6, or declare Keys for the columns that are grouped by",
        )
    read_delta(price.delta / 2)  # refused now where it is too small for any threshold
    if shared is None and price.epsilon * KEYS < LEAST_KEYS:
        raise InputError(
            "the groups of this question are not public and epsilon is very small",
            why="this price is too small to find any group",
            fix=f"pass epsilon >= {float(LEAST_KEYS / KEYS):g}, or declare Keys for the columns",
        )


def _possible(
    epsilon: Fraction, delta: Fraction, noise_kinds: Iterable[NoiseKind], measure: Measure | None
) -> dict[NoiseKind, Fraction]:
    """The laws that the price can pay for, and what all statistics of all sets cost together."""
    kinds = tuple(noise_kinds)
    if NoiseKind.GAUSSIAN in kinds and measure not in (None, EPSILON):
        square = amount_for(epsilon, delta, NoiseKind.GAUSSIAN)
        if 0 < square < _GAUSSIAN_BELOW:
            return {NoiseKind.GAUSSIAN: square}
    amounts = {kind: amount_for(epsilon, delta, kind, measure) for kind in kinds}
    possible = {noise_kind: amount for noise_kind, amount in amounts.items() if amount}
    if possible:
        return possible
    if not delta:
        raise InputError(
            "Gaussian noise alone is allowed and delta is 0",
            why="Gaussian noise always leaves a small probability of telling more",
            fix="pass a delta such as 1e-6",
        )
    raise InfeasiblePriceError(
        "epsilon or delta is too small for Gaussian noise",
        why="no noise of finite width would meet them",
        fix="raise epsilon or delta",
    )


# --- the statistics -----------------------------------------------------------------------------


def _mixed(splits: Sequence[_Split], each: Fraction, ways: _Ways) -> list[tuple[SetPlan, float]]:
    """Each set with the noise that errs less in it; `each` mu^2 for an epsilon.

    Why: mu^2 adds up, and Laplace noise of a set has an epsilon whose curve is below that of the
    set's share of mu^2. So all sets together are below the curve of the whole, for any laws.
    """
    bought = [buys(MU_SQUARED, each * one.epsilon).epsilon for one in splits]
    parts = zip(splits, bought, ways[NoiseKind.GAUSSIAN], strict=True)
    return [
        min(gaussian, _plan(one, epsilon, NoiseKind.LAPLACE), key=itemgetter(1))
        for one, epsilon, gaussian in parts
    ]


def _plan(split: _Split, amount: Fraction, noise_kind: NoiseKind) -> tuple[SetPlan, float]:
    """One set, with its statistics measured separately or together, whichever errs less."""
    query, found = split.plan.query, []
    bare = _with_histograms(split, amount, noise_kind)
    amount -= bare.choice * (2 if noise_kind is NoiseKind.GAUSSIAN else 1)  # mu^2 is 2 rho
    contributions = None if bare.histograms else public_bounds(query, noise_kind)
    for strategies in _strategies(needed(query), noise_kind, bare.shared):
        on = influences(statistics_in(query), noise_kind, strategies)
        shares = _shares(on, noise_kind, bare.shared)
        costs = {one: cost_of(one, amount * share, noise_kind) for one, share in shares.items()}
        plan = replace(bare, noise_kind=noise_kind, costs=costs, contributions=contributions)
        plan = replace(plan, second=second_share(plan))
        found.append((plan, _expected(plan, on)))
    return min(found, key=lambda one: one[1])


def _with_histograms(split: _Split, amount: Fraction, noise_kind: NoiseKind) -> SetPlan:
    """The set, which pays for histograms of people if it needs them."""
    bare, share = split.plan, CHOICE[noise_kind] / split.left
    if not bare.histograms:
        return bare
    choice = amount * share * (2 if bare.query.group_count < FEW else 1)
    if noise_kind is NoiseKind.GAUSSIAN:
        choice = min(choice / 2, _EXACT_ENOUGH * len(bare.histograms))
    return replace(bare, choice=choice, histogram_noise=noise_kind)


def public_bounds(query: Query, noise_kind: NoiseKind) -> ContributionBounds:
    """Bounds as far as public facts have them; 1 for what no statistic depends on."""
    return (
        ContributionBounds(noise_kind, 1, 1)
        if query.is_by_row
        else ContributionBounds.stated(limits_of(query), noise_kind)
    )


def _strategies(
    statistics: tuple[Statistic, ...], noise_kind: NoiseKind, shared: Statistic | None
) -> list[tuple[Strategy, ...]]:
    """Ways to measure statistics, each once: each alone, or some together."""
    ways = (
        apart(statistics),
        together(statistics, NoiseKind.GAUSSIAN, shared),
        together(statistics, noise_kind, shared),
    )
    return list(dict.fromkeys(ways))


def _shares(
    on: tuple[Influence, ...], noise_kind: NoiseKind, shared: Statistic | None
) -> dict[Strategy, Fraction]:
    """The share of each strategy; one that finds the groups has what finding them is worth."""
    best = best_shares(on, noise_kind)
    parts = {one: Fraction(max(1, round(_PARTS * best[one]))) for one in best}
    finding = next((one for one in parts if one.statistics == (shared,)), None)
    rest = sum((part for one, part in parts.items() if one != finding), Fraction(0))
    if finding is not None and rest:
        parts[finding] = max(parts[finding], rest * KEYS / (1 - KEYS))
    whole = sum(parts.values(), Fraction(0))
    return {one: part / whole for one, part in parts.items()}


def _expected(plan: SetPlan, on: tuple[Influence, ...]) -> float:
    """How far noise moves all aggregates, relative to what one row or person adds."""
    contributions = plan.contributions or typical(plan.noise_kind, plan.query.group_count)
    sizes = {one.strategy: one.typical() for one in plan.measurements(contributions)}
    return sum(one.weight * one.error(sizes) for one in on)


def unit_scale(plan: SetPlan, norm: Norm) -> float:
    """The scale of the noise for a limit of 1, of the statistic that is measured best."""
    people = norm.what == GROUPS
    costs = [
        float(cost)
        for strategy, cost in plan.costs.items()
        if isinstance(strategy.statistics[0], People) == people
    ]
    if not costs:  # nobody is counted: the limit on groups decides which of them are found
        return 1 / float(plan.keys.epsilon) if plan.keys is not None else 1.0
    return 1 / max(costs) if plan.noise_kind is NoiseKind.LAPLACE else 1 / math.sqrt(2 * max(costs))


@lru_cache(maxsize=256)
def typical(noise_kind: NoiseKind, groups: int) -> ContributionBounds:
    """A guess of one person's contribution before anything is known: four rows in four groups."""
    return ContributionBounds.stated(Limits(min(groups, 4), 4), noise_kind)


# --- whether noise can be made ------------------------------------------------------------------
# It is exact, on a grid, and made for scales within a range that no useful question leaves. What a
# question would leave it by is public: limits, bounds, epsilon.


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

    def beyond(step: int) -> bool:
        return not is_feasible(plan, ContributionBounds(plan.noise_kind, step, step))

    check_feasible(plan, ContributionBounds(plan.noise_kind, 1, 1))
    if not beyond(steps[-1]):
        return steps[-1]
    check_feasible(plan, ContributionBounds(plan.noise_kind, steps[0], steps[0]))
    return steps[bisect_left(steps, True, key=beyond) - 1]  # noqa: FBT003 - the first that is


def is_feasible(plan: SetPlan, contributions: ContributionBounds) -> bool:
    """Whether noise can be made."""
    try:
        check_feasible(plan, contributions)
    except InfeasiblePriceError:
        return False
    return True
