"""Bounds that a question lacks, from the newest profile that its analyst was told."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Final

from discreet.curator.ledger.charge_index import NEWEST, ChargedOrder
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.orders.profile_release import ProfileRelease
from discreet.errors import InputError, QueryRefused
from discreet.plan.public_facts import reads
from discreet.plan.query import Query
from discreet.plan.relations import Relation, Scan, inputs_of
from discreet.plan.schema import Schema, Table
from discreet.sql.reader.read import read

_PAGE: Final = 500
_MOST: Final = 20
"""Pages of charges in which a profile is looked for."""


def read_bounded(
    text: str, schema: Schema, ledger: Ledger, datasets: list[str], analyst: str
) -> Query | None:
    """The question with its columns held to bounds of profiles; None where those do not help."""
    return _bounded(
        lambda views: read(text, schema, views=views), schema, ledger, datasets, analyst
    )


def hold(
    relation: Relation,
    make: Callable[[Relation], Query],
    schema: Schema,
    ledger: Ledger,
    datasets: list[str],
    analyst: str,
) -> Query | None:
    """The same for a question that is made of a relation."""
    return _bounded(lambda views: make(_over(relation, views)), schema, ledger, datasets, analyst)


def _bounded(
    make: Callable[[Mapping[str, Relation]], Query],
    schema: Schema,
    ledger: Ledger,
    datasets: list[str],
    analyst: str,
) -> Query | None:
    """A question made over tables that are held to bounds of profiles.

    Guarantee:
        Bounds are constants of the question. They come from releases that this analyst was told, so
        nothing is told that was not charged.
    Edge cases:
        Only columns without bounds that the question reads are held, and NULL stays NULL.
    """
    profiles = {one.table: one for one in _newest(ledger, datasets, analyst)}
    tables = [one for one in schema.tables.values() if isinstance(one, Table)]
    known = [(profiles[one.name], one) for one in tables if one.name in profiles]
    if not known:
        return None
    try:
        whole = make(_views(known, None))
        return make(_views(known, {column for _, column in reads(whole)}))
    except (InputError, QueryRefused):
        return None


def _over(relation: Relation, views: Mapping[str, Relation]) -> Relation:
    """A relation with views in place of the tables that they stand for."""
    if isinstance(relation, Scan):
        return views.get(relation.table.name, relation)
    inside = {id(one): _over(one, views) for one in inputs_of(relation)}
    parts = {
        one.name: inside[id(part)]
        for one in fields(relation)
        if id(part := getattr(relation, one.name)) in inside
    }
    return replace(relation, **parts)  # type: ignore[arg-type]


def _views(known: list[tuple[ProfileRelease, Table]], only: set[str] | None) -> dict[str, Relation]:
    held = {table.name: profile.bounded(table, only) for profile, table in known}
    return {name: view for name, view in held.items() if view is not None}


def _newest(ledger: Ledger, datasets: list[str], analyst: str) -> Iterator[ProfileRelease]:
    """Profiles that an analyst was told, oldest first, so that later ones replace them."""
    found = [one.sequence for one in _charges(ledger, datasets, analyst)]
    stored = (ledger.release(sequence) for sequence in reversed(found))
    return (ProfileRelease.from_bytes(one) for one in stored if one is not None)


def _charges(ledger: Ledger, datasets: list[str], analyst: str) -> Iterator[ChargedOrder]:
    before = NEWEST
    for _ in range(_MOST):
        page = ledger.asked(datasets, analyst=analyst, before=before, limit=_PAGE)
        yield from (one for one in page if one.order.kind == "profile")
        if len(page) < _PAGE:
            return
        before = page[-1].sequence
