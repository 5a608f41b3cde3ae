"""Grouping sets: a question for each, which share its price equally."""

from dataclasses import replace

from discreet.plan.query import Query


def single_sets(query: Query) -> list[Query]:
    """A query for each grouping set, with its keys alone and nothing to do afterwards."""
    bare = replace(query, sets=(), outputs=(), having=None, order=(), limit=None, offset=0)
    return [replace(bare, keys=tuple(query.keys[i] for i in chosen)) for chosen in query.sets]
