"""Grouping sets: a question for each."""

import math
from dataclasses import replace

from discreet.errors import InputError
from discreet.plan.bounding import counts_whole, is_stated, limits_of
from discreet.plan.query import Query, key_types, questions_in
from discreet.plan.schema import Limits

MOST_GROUPS = 1 << 24
"""Groups that are public and can be answered at once: all of them are, also where nobody is."""


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
        Query(query.relation, keys, query.aggregates, limits=query.limits)
        for keys in (tuple(query.keys[i] for i in chosen) for chosen in query.sets)
    ]
    limits = [limits_of(one) for one in sets]
    if len(sets) == 1 or counts_whole(query) or not all(map(is_stated, limits)):
        return sets
    groups = [one.max_groups or 1 for one in limits]
    most = max(count * (one.max_rows or 1) for count, one in zip(groups, limits, strict=True))
    return [
        replace(one, limits=Limits(count, -(-most // count)))
        for one, count in zip(sets, groups, strict=True)
    ]


def check_groups(query: Query) -> None:
    """Refuse a question whose public groups are too many to answer."""
    sizes = [1 if of.keys is None else len(of.keys) for of in key_types(query)]
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
