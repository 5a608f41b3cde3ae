"""Grouping sets: a question for each, which share its price equally."""

import math
from dataclasses import replace

from discreet.errors import InputError
from discreet.plan.query import Query, key_types

MOST_GROUPS = 1 << 24
"""Groups that are public and can be answered at once: all of them are, also where nobody is."""


def single_sets(query: Query) -> list[Query]:
    """A query for each grouping set, with its keys alone and nothing to do afterwards."""
    check_groups(query)
    bare = replace(query, outputs=(), having=None, order=(), limit=None, offset=0)
    return [
        replace(bare, keys=tuple(query.keys[i] for i in chosen), sets=()) for chosen in query.sets
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
