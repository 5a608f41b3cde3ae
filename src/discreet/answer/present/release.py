"""The release of a query: a table of private numbers, error bars and cost.

Noisy measurements become one by a function of what was released, and of nothing else.
"""

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import pyarrow as pa

from discreet.answer.estimate.aggregates import arrange, evaluate, outputs_of, shows_all
from discreet.answer.estimate.answer_tables import AnswerTables
from discreet.answer.estimate.consistency import make_consistent
from discreet.answer.estimate.error_bars import wider_by
from discreet.answer.estimate.noisy_statistics import (
    MeasuredSet,
    NoisyStatistics,
    interpret,
    kept,
    pack_sets,
    unpack_sets,
)
from discreet.answer.estimate.tabulate import Simulation, tabulate
from discreet.answer.execute.individual import PARTICIPANTS
from discreet.answer.execute.noisy_measurements import (
    NoisyMeasurements,
    arrow_bytes,
    blanked,
    cleaned,
    known,
    reading_stored,
)
from discreet.answer.plan.contribution_histogram import ALLOWED, GROUPS, ROWS
from discreet.answer.plan.price import Price
from discreet.answer.present import release_json
from discreet.answer.present.base_release import BaseRelease, Cost
from discreet.answer.present.chart import draw
from discreet.answer.present.release_files import with_intervals, write_rows
from discreet.answer.present.release_text import render_page, render_text, statement
from discreet.errors import InputError
from discreet.plan.bounding import NoiseKind
from discreet.plan.public_facts import PublicFacts, facts_of, left_out, picks
from discreet.plan.query import Query
from discreet.plan.schema import EachRow, PersonPeriod, counted
from discreet.plan.statistics import People
from discreet.privacy import Guarantee, compose
from discreet.rationals import read_exact

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd
    import polars as pl

    from discreet.answer.measurement_plan import MeasurementPlan


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Release(BaseRelease):
    """A released table; reading it again never changes it.

    `table` holds keys and answers, `half_widths` for each answer how far it is from what it would
    be without noise, 95 times in 100, NULL where that is not known. `how` says for each answer
    whether that was computed exactly or by simulation. `parts` are the measurements behind it,
    where they are kept. Two releases are equal when their bytes are.
    """

    table: pa.Table
    half_widths: Mapping[str, pa.Array]
    how: Mapping[str, str]
    price: Price
    guarantee: Guarantee
    costs: tuple[Cost, ...]
    notes: tuple[str, ...] = field(default=())
    facts: PublicFacts | None = None
    parts: tuple[MeasuredSet, ...] = ()
    share: float | None = None
    """The share of a budget that it took when it was bought; not stored, since budgets change."""
    paid_before: bool = False
    """Whether it was to be measured again at a price that was paid before; not stored."""
    media_type: ClassVar[str] = "application/vnd.apache.arrow.stream"

    def __post_init__(self) -> None:
        _check(self.table, self.half_widths)
        widths = {name: known(width) for name, width in self.half_widths.items()}
        whole = {name: blanked(width) for name, width in widths.items()}
        object.__setattr__(self, "table", cleaned(self.table))
        object.__setattr__(self, "half_widths", MappingProxyType(whole))
        object.__setattr__(self, "how", MappingProxyType(dict(self.how)))

    # --- tables ---------------------------------------------------------------------------------

    def to_arrow(self, *, intervals: bool = True) -> pa.Table:
        """The answers, each with its 95 % noise interval in columns `_low` and `_high`."""
        return with_intervals(self.table, self.half_widths) if intervals else self.table

    def to_pandas(self, *, intervals: bool = True) -> "pd.DataFrame":
        """Like `to_arrow`, for pandas."""
        return self.to_arrow(intervals=intervals).to_pandas()

    def to_polars(self, *, intervals: bool = True) -> "pl.DataFrame":
        """Like `to_arrow`, for polars."""
        import polars as pl  # noqa: PLC0415 - for those who use it

        return pl.DataFrame(self.to_arrow(intervals=intervals))

    def to_csv(self, path: str | Path | None = None, *, intervals: bool = True) -> str:
        """Like `to_arrow`, as CSV text; written to `path` if given."""
        sink = pa.BufferOutputStream()
        write_rows(self.to_arrow(intervals=intervals), sink, "csv")
        text: bytes = sink.getvalue().to_pybytes()
        if path is not None:
            Path(path).write_bytes(text)
        return text.decode()

    # --- for people -----------------------------------------------------------------------------

    def statement(self) -> str:
        """The privacy statement: protection, and what the numbers do not say."""
        return statement(self)

    def chart(self) -> "alt.TopLevelMixin":
        """The numbers with their noise intervals: bars, or lines over dates and numbers.

        `.save("answer.png")` works without a network.
        """
        chart: alt.TopLevelMixin = draw(self)
        return chart

    def __repr__(self) -> str:
        return render_text(self)

    def _repr_html_(self) -> str:
        return render_page(self)

    @property
    def found_keys(self) -> list[tuple[Any, ...]]:
        """The keys of each group that was measured, also of those that HAVING or LIMIT hides."""
        if not self.parts:
            raise InputError(
                "the groups of this answer are not known",
                why="what was measured for it was not kept",
                fix="ask a question with fewer groups",
            )
        finest = max(self.parts, key=lambda part: len(part.keys))
        return list(zip(*(column.to_pylist() for column in finest.keys.values()), strict=True))

    def json_facts(self) -> dict[str, Any]:
        """Columns, rows and half-widths as plain JSON."""
        return release_json.release_facts(self)

    def on_version(self, dataset: str, version: int) -> "Release":
        """The release with a note on the version; the first one, before any append, has none."""
        note = f"answered on version {version} of {dataset}"
        return self if version == 1 else replace(self, notes=(*self.notes, note))

    def with_share(self, share: float | None) -> "Release":
        """The release with the share of a budget that it took."""
        return replace(self, share=share)

    # --- storage --------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """An Arrow stream with everything in it; the same release gives the same bytes."""
        return _pack(self)

    @staticmethod
    def from_bytes(packed: bytes) -> "Release":
        """The release that `to_bytes` wrote."""
        return Release(**_unpack(packed))


def as_table(release: BaseRelease) -> Release:
    """The table that a question gives; InputError for a release of another kind."""
    if isinstance(release, Release):
        return release
    raise InputError(
        "this release is not a table",
        why="it was made by another kind of order than a question",
        fix="read its statement or its JSON",
    )


def _check(table: pa.Table, half_widths: Mapping[str, pa.Array]) -> None:
    if len(set(table.column_names)) < table.num_columns:
        raise InputError(
            "two released columns have the same name",
            why="numbers must be distinguishable",
            fix="rename one of them with AS",
        )
    for name, width in half_widths.items():
        if name not in table.column_names or len(width) != table.num_rows:
            raise InputError(
                f"half-widths of {name} do not fit the released table",
                why=f"it has {table.num_rows} rows and columns {', '.join(table.column_names)}",
                fix="give one half-width for each row of a column",
            )


_PLACE = b"discreet.release"
_PARTS = b"discreet.parts"
_VERSION = 1


def _pack(release: "Release") -> bytes:
    """The bytes of a release: its table, then its half-widths, as columns of one stream."""
    names = list(release.half_widths)
    columns = [*release.table.columns, *(release.half_widths[name] for name in names)]
    titles = [*release.table.column_names, *(f"{name} \N{PLUS-MINUS SIGN}" for name in names)]
    facts = {
        "version": _VERSION,
        "columns": release.table.num_columns,
        "half_widths": names,
        "how": dict(release.how),
        "price": [str(release.price.epsilon), str(release.price.delta)],
        "guarantee": release.guarantee.to_dict(),
        "costs": [[c.what, c.noise, c.guarantee.to_dict()] for c in release.costs],
        "notes": list(release.notes),
        "facts": None if release.facts is None else dataclasses.asdict(release.facts),
    }
    about = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    fields = [pa.field(title, c.type) for title, c in zip(titles, columns, strict=True)]
    measured = {_PARTS: pack_sets(release.parts)} if release.parts else {}
    schema = pa.schema(fields, metadata={_PLACE: about.encode(), **measured})
    return arrow_bytes(pa.table(columns, schema=schema))


def _unpack(stored: bytes) -> dict[str, Any]:
    """The fields of the release that `pack` wrote."""
    with reading_stored("a release"):
        table = pa.ipc.open_stream(stored).read_all()
        metadata = table.schema.metadata or {}
        measured = unpack_sets(metadata[_PARTS]) if _PARTS in metadata else ()
        return {**_fields(table, json.loads(metadata[_PLACE])), "parts": measured}


def _fields(table: pa.Table, about: Mapping[str, Any]) -> dict[str, Any]:
    if about["version"] != _VERSION:
        raise InputError(
            f"a stored release of version {about['version']}",
            why=f"this package reads version {_VERSION} and will not guess",
            fix="read it with the package that wrote it, or a later one",
        )
    count, names, costs = about["columns"], about["half_widths"], about["costs"]
    epsilon, delta = (read_exact(str(one)) for one in about["price"])
    said = (about["facts"] or {}).items()
    tuples: Any = {name: tuple(one) if isinstance(one, list) else one for name, one in said}
    widths = [table.column(count + i).combine_chunks() for i in range(len(names))]
    return {
        "table": table.select(list(range(count))).replace_schema_metadata(None),
        "half_widths": dict(zip(names, widths, strict=True)),
        "how": about["how"],
        "price": Price(epsilon, delta) if epsilon or delta else Price.free(),
        "guarantee": Guarantee.from_dict(about["guarantee"]),
        "costs": tuple(Cost(what, noise, Guarantee.from_dict(g)) for what, noise, g in costs),
        "notes": tuple(about["notes"]),
        "facts": None if about["facts"] is None else PublicFacts(**tuples),
    }


# --- from measurements ----------------------------------------------------------------------------


def present(plan: "MeasurementPlan", drawn: Sequence[NoisyMeasurements]) -> Release:
    """Estimates, error bars and the table to show.

    Guarantee:
        Post-processing: the same measurements give the same release, bit by bit on one machine.
        No randomness and no data goes in, so a failure here is a fact about released numbers.
    """
    query = plan.query
    parts = [interpret(one, noisy) for one, noisy in zip(plan.sets, drawn, strict=True)]
    shown, half_widths, how = (
        _tables(query, parts, drawn[0].public)
        if query.then
        else _rows(query, make_consistent(parts) if len(parts) > 1 else parts)
    )
    people = [PARTICIPANTS] if plan.participants else []
    missing = left_out(query)
    facts = facts_of(query, missing)
    costs = tuple(one for noisy in drawn for one in noisy.spent)
    return Release(
        table=shown,
        half_widths=half_widths,
        how=dict(sorted(how.items())),
        price=plan.price,
        guarantee=compose([cost.guarantee for cost in costs]),
        costs=costs,
        notes=(*map(_note, parts), *_hidden(query, parts), *missing, *people),
        facts=facts,
        parts=kept(parts),
    )


Shown: TypeAlias = tuple[pa.Table, dict[str, pa.Array], dict[str, str]]
"""A table to show, half-widths of its numbers, and how each was found."""


def _tables(
    query: Query, parts: Sequence[NoisyStatistics], public: Mapping[str, pa.Table]
) -> Shown:
    """Tables computed from the released rows of all questions."""
    tables = AnswerTables.of(query, parts, public)
    shown = tables.table()
    widths, how = tables.half_widths(shown.num_rows)
    return shown, {name: pa.array(width) for name, width in widths.items()}, how


def _hidden(query: Query, parts: Sequence[NoisyStatistics]) -> list[str]:
    """A note that small groups are withheld, for questions whose groups are not public."""
    if not any(part.finds_groups for part in parts):
        return []
    over = "; numbers computed over groups leave them out" if query.then else ""
    return [f"Small groups are withheld, and how many is not public{over}"]


def _rows(query: Query, parts: Sequence[NoisyStatistics]) -> Shown:
    """The released rows of one question, or some of them, and what is computed from each."""
    central = pa.concat_tables([tabulate(query, part) for part in parts])
    rows = None if shows_all(query) else arrange(central, query)
    times = 1.0
    if rows is not None:
        kinds = [part.contributions.noise_kind for part in parts]
        times = wider_by(len(rows), central.num_rows, kinds, picked=picks(query))
    widths, how = Simulation.of(query, parts, times).half_widths(central)
    shown = evaluate(central, outputs_of(query), query.released_columns)
    half_widths = {name: pa.array(width) for name, width in widths.items()}
    if rows is not None:  # nothing is copied where nothing moves
        shown = shown.take(rows)
        half_widths = {name: width.take(rows) for name, width in half_widths.items()}
    return shown, half_widths, how


def _note(part: NoisyStatistics) -> str:
    contributions = part.contributions
    unit = part.query.relation.facts.unit
    if isinstance(unit, EachRow):
        return f"{contributions.noise_kind.value} noise; each row is in one group{_shown(part)}"
    people = [isinstance(statistic, People) for statistic in part.measurements]
    limits = []
    if not all(people):
        limits.append(
            f"{counted(contributions.full_rows, 'row')}{_l2(part)}"
            f"{_over(part, ROWS, 'have more')}{_far(part)}"
        )
    if any(people) or part.finds_groups:
        limits.append(counted(contributions.groups, "group") + _over(part, GROUPS, "are in more"))
    who = unit.who if isinstance(unit, PersonPeriod) else "one person"
    most = (
        f"{contributions.noise_kind.value} noise; {who} counts for at most {' and '.join(limits)}"
    )
    return f"{most}{_about(part)}{_shown(part)}"


def _far(part: NoisyStatistics) -> str:
    """What else those weigh less for who were counted a second time, or all noise is wider for."""
    bounds = part.contributions
    if bounds.far is None:
        return ""
    if bounds.far_rows < bounds.full_rows:
        return f", or {bounds.far_rows:,} if they have more than {bounds.far:,}"
    return (
        f", with noise for {bounds.rows:,}: people beyond {bounds.far:,} were counted a second time"
    )


def _l2(part: NoisyStatistics) -> str:
    """Gaussian noise bounds the root of a person's squared rows over all groups."""
    spread = part.contributions.noise_kind is NoiseKind.GAUSSIAN and bool(part.query.keys)
    return " in L2 norm" if spread and not part.query.counts_whole else ""


def _over(part: NoisyStatistics, what: str, more: str) -> str:
    """How many people count for less, as the histogram that chose the limit has it."""
    if what in part.clipped:
        return f" ({part.clipped[what]} of people {more})"
    if what not in part.learnt:
        return ""
    return (
        f" (a guess: epsilon was too small to learn how many people {more};"
        " intervals do not allow for them)"
    )


def _about(part: NoisyStatistics) -> str:
    """What the intervals cover, and what no private interval can."""
    if not part.clipped:
        return ""
    bounds = part.contributions
    most = " and ".join(
        f"{counted(one.most, what.removesuffix('s'))}{_l2(part) if what == ROWS else ''}"
        for what, one in part.clipped.items()
    )
    if ROWS in part.clipped and bounds.far and part.clipped[ROWS].most <= bounds.far:
        most += f" ({bounds.far_rows:,} if they have more than {bounds.far:,})"
    return f"; {ALLOWED}, up to {most} per person"


def _shown(part: NoisyStatistics) -> str:
    """The noisy count from which on groups are shown."""
    if part.showing is None:
        return ""
    return f"; groups with a noisy count below {math.ceil(part.showing.people):,} are withheld"
