"""The release of a profile: a line a column, with proposed bounds and keys."""

import datetime as dt
import json
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from typing import Any, ClassVar, Final

import pyarrow as pa

from discreet import html_view
from discreet.answer.execute.noisy_measurements import reading_stored
from discreet.answer.plan.price import Price
from discreet.answer.plan.set_plan import Charged
from discreet.answer.present.base_release import PRICE_READ, PRICE_WRITTEN, BaseRelease, Cost
from discreet.answer.present.number_text import cost, number, pad, percent, plain
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.orders.histogram_orders import bound_words
from discreet.curator.remeasure import charges_of
from discreet.errors import InputError, QueryRefused
from discreet.plain_json import from_fields, to_plain
from discreet.plan.expressions import Column
from discreet.plan.public_facts import clamp, reads
from discreet.plan.query import Query
from discreet.plan.relations import Named, Project, Relation, Scan, inputs_of
from discreet.plan.schema import Bounds, Keys, Schema, Table
from discreet.privacy import GDP, Approximate, Guarantee, Neighbours, Pure, compose
from discreet.rationals import read_exact
from discreet.workload.column_profiles import ColumnProfile
from discreet.workload.profile import NoisyCount

_HEADS = ("column", "kind", "NULL", "different", "range", "5 % / median / 95 %", "most frequent")
_SHOWN = 3


@dataclass(frozen=True, slots=True, repr=False)
class ProfileRelease(BaseRelease):
    """A profile of a table; reading it again costs nothing, and all of it is public to its reader.

    `rows` and `people` are noisy counts (`people` is None where each row is protected by itself).
    One person counts for at most `limit` rows; people with more count for less in each. `share` is
    of the budget, and not stored.
    """

    table: str
    price: Price
    guarantees: tuple[Charged, ...]
    rows: NoisyCount
    people: NoisyCount | None
    limit: int
    columns: tuple[ColumnProfile, ...]
    share: float | None = field(default=None, compare=False)
    media_type: ClassVar[str] = BaseRelease.media_type

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        """The composed guarantee of the profile."""
        return self.guarantees[0] if len(self.guarantees) == 1 else compose(list(self.guarantees))

    @property
    def costs(self) -> tuple[Cost, ...]:  # type: ignore[override]
        """Noisy counts, and texts that were found."""
        law = "Gaussian" if isinstance(self.guarantees[0], GDP) else "Laplace"
        words = ("counts of a profile", law), ("texts that a profile found", "threshold")
        return tuple(Cost(*what, one) for what, one in zip(words, self.guarantees, strict=False))

    def with_share(self, share: float | None) -> "ProfileRelease":
        """The profile with the share of a budget that it took."""
        return replace(self, share=share)

    def __getitem__(self, name: str) -> ColumnProfile:
        """The profile of one column."""
        for one in self.columns:
            if one.name == name:
                return one
        raise InputError(
            f"the profile of {self.table} has no column {str(name)[:50]}",
            why=f"its columns are {', '.join(one.name for one in self.columns)}",
            fix="name one of them",
        )

    # --- what it proposes -----------------------------------------------------------------------

    @property
    def proposals(self) -> dict[str, Bounds | Keys]:
        """Bounds and keys for columns that have none: pass them as `columns` where data is added.

        They are public to analysts who have the profile. Questions of theirs that need bounds take
        them from it by themselves.
        """
        found = ((one.name, one.proposal) for one in self.columns)
        return {name: one for name, one in found if one is not None}

    def bounded(self, table: Table, only: Collection[str] | None = None) -> Relation | None:
        """A table with its columns clamped to the bounds of this profile; None where it has none.

        `only` says which columns, of those without bounds.
        Privacy: the bounds are constants of the question that is made of it.
        """
        named, proposals = {}, self.proposals
        for name, of in table.columns.items():
            wanted, bounds = only is None or name in only, proposals.get(name)
            if wanted and of.range is None and isinstance(bounds, Bounds):
                named[name] = clamp(Column(name), of.kind, bounds.low, bounds.high)  # type: ignore[arg-type]
        columns = (Named(name, named.get(name, Column(name))) for name in table.columns)
        return Project(Scan(table), tuple(columns)) if named else None

    # --- in words -------------------------------------------------------------------------------

    def notes(self) -> list[str]:
        """The notes under the table."""
        who = bound_words(None if self.people is None else self.limit, " in each column")
        price = f"price: epsilon {cost(self.price.epsilon)}, delta {cost(self.price.delta)}"
        price += "" if self.share is None else f" ({percent(self.share)} of the budget)"
        return [
            "\N{PLUS-MINUS SIGN} is a 95 % interval for noise; ranges leave out what noise hides",
            f"{price}; {self.guarantees[0].neighbours.value}, {who}",
        ]

    def statement(self) -> str:
        """The privacy statement, with what the profile does not say."""
        who = "one row" if self.people is None else "one person, with all their rows"
        text = (
            f"This profile of {self.table} was measured with differential privacy. It protects "
            f"{who}. The price was epsilon = {cost(self.price.epsilon)} and delta = "
            f"{cost(self.price.delta)} for all {len(self.columns)} columns together. Ranges end at "
            "the outermost values that several people certainly have, not at the extremes; texts "
            "that few people have are not shown."
        )
        return textwrap.fill(text, 100, break_long_words=False)

    def _title(self) -> str:
        people = "" if self.people is None else f", {self.people} people"
        return f"{self.table}: {self.rows} rows{people}, {len(self.columns)} columns"

    def __repr__(self) -> str:
        cells = [_HEADS, *map(_line, self.columns)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(map(pad, row, widths)).rstrip() for row in cells]
        rule = "  ".join("\N{BOX DRAWINGS LIGHT HORIZONTAL}" * width for width in widths)
        return "\n".join([self._title(), lines[0], rule, *lines[1:], "", *self.notes()])

    def _repr_html_(self) -> str:
        lines = html_view.table(_HEADS, map(_line, self.columns))
        return html_view.framed(html_view.note(self._title()), lines, html_view.note(*self.notes()))

    def to_arrow(self) -> pa.Table:
        """One row a column, as numbers."""
        rows = [
            {
                "column": one.name,
                "kind": one.kind.value,
                "nulls": one.nulls.value,
                "distinct": None if one.distinct is None else one.distinct.value,
                "low": _text(one.low),
                "high": _text(one.high),
                **{f"q{q.level * 100:g}": _text(q.value) for q in one.quantiles},
                "top": [_text(top.value) for top in one.top],
            }
            for one in self.columns
        ]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return pa.table({name: [row.get(name) for row in rows] for name in names})

    def json_facts(self) -> dict[str, Any]:
        """The content without its guarantee, as plain JSON."""
        proposals = {
            name: {"keys": list(one.values)}
            if isinstance(one, Keys)
            else {"bounds": [_plain(one.low), _plain(one.high)]}
            for name, one in self.proposals.items()
        }
        return {
            "table": self.table,
            "rows": to_plain(self.rows),
            "people": to_plain(self.people),
            "limit": self.limit,
            "columns": to_plain(self.columns),
            "proposals": proposals,
        }

    # --- storage --------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """The stored form."""
        facts = self.json_facts()
        del facts["proposals"]
        noise, *keys = self.guarantees
        spent = {"mu": str(noise.mu)} if isinstance(noise, GDP) else {}
        about = {
            "profile": 1,
            "price": to_plain(self.price, PRICE_WRITTEN),
            **spent,
            "key_delta": str(keys[0].delta0) if keys else "0",  # type: ignore[union-attr]
            "neighbours": noise.neighbours.value,
            **facts,
        }
        return json.dumps(about, sort_keys=True).encode()

    @staticmethod
    def from_bytes(stored: bytes) -> "ProfileRelease":
        """The release that `to_bytes` wrote."""
        with reading_stored("a profile"):
            told = json.loads(stored)
            about, slip = Neighbours(told["neighbours"]), read_exact(str(told["key_delta"]))
            noise: Charged = Pure(read_exact(str(told["price"][0])), neighbours=about)
            if "mu" in told:
                noise = GDP(read_exact(str(told["mu"])), neighbours=about)
            keys = (Approximate(0, slip, neighbours=about),) if slip else ()
            names = ("table", "price", "rows", "people", "limit", "columns")
            facts = {name: told[name] for name in names} | {"guarantees": (noise, *keys)}
            ways = {**PRICE_READ, ColumnProfile: ColumnProfile.read}
            return from_fields(ProfileRelease, facts, ways)


def _line(one: ColumnProfile) -> tuple[str, ...]:
    distinct = "keys declared" if one.distinct is None else str(one.distinct)
    ends = "" if one.low is None else f"{_short(one.low)} to {_short(one.high)}"
    middle = [_short(q.value) for q in one.quantiles if q.level in (0.05, 0.5, 0.95)]
    top = ", ".join(f"{_short(t.value)} ({t.rows.value:,.0f})" for t in one.top[:_SHOWN])
    hidden = "" if ends or top else "hidden by noise"
    more = "more than " if one.more else ""
    return (
        *(plain(one.name), one.kind.value, str(one.nulls), more + distinct),
        *(ends or hidden, " / ".join(middle), top),
    )


def _short(value: Any) -> str:
    if isinstance(value, dt.datetime):
        return value.isoformat(" ", "seconds")
    return number(value) if isinstance(value, float) else plain(value)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


_MOST: Final = 10_000
"""Charges among which a profile is looked for."""


def read_bounded(
    make: Callable[[Mapping[str, Relation]], Query],
    schema: Schema,
    ledger: Ledger,
    datasets: list[str],
    analyst: str,
) -> Query | None:
    """A question made over tables that are clamped to bounds of profiles; None where none help.

    Guarantee:
        Bounds are constants of the question. They come from this analyst's releases, so everything
        that they reveal was charged.
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


def held_over(relation: Relation, views: Mapping[str, Relation]) -> Relation:
    """A relation with views in place of their tables."""
    if isinstance(relation, Scan):
        return views.get(relation.table.name, relation)
    inside = {id(one): held_over(one, views) for one in inputs_of(relation)}
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
    """An analyst's profiles, oldest first, so that later ones replace them."""
    lately = islice(charges_of(ledger, datasets, analyst), _MOST)
    found = [one.sequence for one in lately if one.order.kind == "profile"]
    stored = (ledger.release(sequence) for sequence in reversed(found))
    return (ProfileRelease.from_bytes(one) for one in stored if one is not None)
