"""Noisy measurements, read as statistics: their units, their noise, and what bounds cut off.

Statistics are stored with a release. They came out of the same mechanisms as the numbers that are
shown, so they are as private and cost nothing more. With them a repeated question can be merged
with earlier answers.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from itertools import product
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answer.estimate.aggregates import Floats
from discreet.answer.execute.measure_set import known_keys
from discreet.answer.execute.noisy_measurements import NoisyMeasurements, blanked, streamed
from discreet.answer.plan.contribution_histogram import GROUPS, ROWS, ClippedShare, lost_rows
from discreet.answer.plan.measure import StatisticNoise
from discreet.answer.plan.quantile_draws import EARLIER_SHARE, rank_error
from discreet.answer.plan.set_plan import SetPlan
from discreet.answer.plan.thresholded_count import ThresholdedCount
from discreet.plan import canonical
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.query import Aggregate, Query
from discreet.plan.statistics import (
    Distinct,
    DistinctTotal,
    Grid,
    People,
    Ranks,
    Rows,
    Statistic,
    Total,
    ranks_of,
)

CONFIDENCE = 0.95
_ANY = 2.0**62
"""How many rows each person may have lost, where older versions did not store it."""


@dataclass(frozen=True, slots=True)
class NoisyStatistics:
    """Groups, noisy statistics in their own units, and the guarantees spent on them.

    `clipped` is what the limits on rows and on groups cut off, where the system chose them, from
    what was `learnt` about people.
    """

    query: Query
    keys: Mapping[str, pa.Array]
    groups: int
    statistics: Mapping[Statistic, NDArray[np.float64]]
    quantiles: Mapping[str, NDArray[np.float64]]
    measurements: Mapping[Statistic, StatisticNoise]
    contributions: ContributionBounds
    showing: ThresholdedCount | None = None
    clipped: Mapping[str, ClippedShare] = field(default_factory=dict)
    learnt: tuple[str, ...] = ()
    widths: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """Half-widths of the quantiles that have an interval."""
    after: bool = False
    """Whether intervals were chosen after their quantiles (see `NoisyMeasurements`)."""

    @property
    def finds_groups(self) -> bool:
        """Whether groups had to be found."""
        return not self.query.has_known_keys

    def shows_by(self, statistic: Statistic) -> ThresholdedCount | None:
        """How groups were found, if that statistic decided which are shown."""
        shown = self.showing is not None and self.showing.count.statistic == statistic
        return self.showing if shown else None

    @property
    def cut_off(self) -> dict[Statistic, Floats]:
        """Upper bound on what clipping removed from each statistic and group.

        Stated limits remove nothing here: intervals do not cover that.

        Why: with a share b of all rows cut off, what is left is (1 - b)/b times as much. A total of
        values around their middle loses no more than the lost rows with the largest value each, a
        total of values as they are loses its share.
        """
        return {of: _lost(of, self) for of in self.statistics} if self.clipped else {}

    @property
    def cut_off_alike(self) -> list[dict[Statistic, Floats]]:
        """Statistics as they may be without clipping, at the ends: one share is lost everywhere.

        Why: that a limit is too low for many moves all groups the same way, so a sum over groups
        loses the sum of what they lose, and a quotient of counts next to nothing. Lost values are
        at one end of their range, for all totals or for one of several.
        """
        lost = self.cut_off
        if not lost:
            return []
        totals = [of for of in lost if isinstance(of, Total)]
        alone = [[one] for one in totals] if len(totals) > 1 else []
        ends = product([totals, *alone], (1, -1)) if totals else [(totals, 0)]
        return [
            {
                of: values + lost[of] * (way * (of in some) if of in totals else 1)
                for of, values in self.statistics.items()
            }
            for some, way in ends
        ]

    def uneven(self, statistic: Statistic) -> Floats:
        """About the deviation of what clipping removed from each group, beside an equal share.

        Why: people over the limit lose rows where they have them. If those who lose l rows each
        have all of theirs in one group, chance gives a group that loses x rows on average a
        variance of x l; where they have some in every group, it is less.
        """
        lost = self.cut_off[statistic]
        if isinstance(statistic, People):
            return np.sqrt(lost)
        each, rows = max(one.each or _ANY for one in self.clipped.values()), lost
        if isinstance(statistic, Total):
            most = statistic.grid.reach * statistic.grid.step
            rows = self.cut_off.get(Rows(statistic.where), lost / most)
        return np.asarray(lost * np.sqrt(each / np.maximum(rows, 1e-300)))

    @property
    def lost_share(self) -> float:
        """The share of all rows that chosen limits cut off at most: so far they move a quantile."""
        return lost_rows(self.clipped, found=self.finds_groups)

    def sliced(self, first: int, count: int) -> "NoisyStatistics":
        """The same of some of the groups."""
        some = slice(first, first + count)
        return replace(
            self,
            keys={name: column.slice(first, count) for name, column in self.keys.items()},
            groups=min(count, self.groups - first),
            statistics={of: values[some] for of, values in self.statistics.items()},
            quantiles={name: values[some] for name, values in self.quantiles.items()},
            widths={name: values[some] for name, values in self.widths.items()},
        )

    def rank_error(self, aggregate: Aggregate, failure: float) -> float:
        """A bound on the rows that a quantile is off, except for failures."""
        ranks = ranks_of(self.query, aggregate)
        assert ranks is not None  # noqa: S101 - narrowing: it is a quantile
        among = sum(ranks_of(self.query, other) == ranks for other in self.query.aggregates)
        bracketed, one = aggregate.name in self.widths, self.measurements[ranks]
        if bracketed and self.after:
            return rank_error(one, aggregate, among / EARLIER_SHARE, failure)
        return rank_error(one, aggregate, among, failure, bracketed=bracketed)


def interpret(plan: SetPlan, drawn: NoisyMeasurements) -> NoisyStatistics:
    """The noisy integers of a grouping set, with the unit and noise of each."""
    query, noises = plan.query, plan.noises(drawn.contributions)
    selection = plan.selection(drawn.contributions)
    statistics, numbers = {}, iter(drawn.numbers)
    for strategy in plan.added:
        own = [next(numbers) for _ in strategy.combinations]
        statistics.update({one: noises[one].values(own) for one in strategy.statistics})
    return NoisyStatistics(
        query,
        known_keys(query)[0] if query.has_known_keys else drawn.keys,
        drawn.groups,
        statistics,
        {name: _middles(query, name, cells) for name, cells in drawn.cells.items()},
        noises,
        drawn.contributions,
        selection if isinstance(selection, ThresholdedCount) else None,
        drawn.clipped,
        plan.histograms,
        {name: _half_widths(query, name, drawn) for name in drawn.brackets},
        drawn.after,
    )


def _middles(query: Query, name: str, cells: NDArray[np.int64]) -> NDArray[np.float64]:
    """The middle of each cell that was chosen for a quantile."""
    ranks, width = _cells(query, name)
    return np.asarray(ranks.low + (cells + 0.5) * width, dtype=np.float64)


def _half_widths(query: Query, name: str, drawn: NoisyMeasurements) -> NDArray[np.float64]:
    """How far the ends of an interval are from its quantile, the cells of both counted in."""
    _, width = _cells(query, name)
    middle, (low, high) = drawn.cells[name], drawn.brackets[name]
    away = np.maximum(np.abs(middle - low), np.abs(high - middle))
    return np.asarray((away + 0.5) * width, dtype=np.float64)


def _cells(query: Query, name: str) -> tuple[Ranks, float]:
    """The values of a quantile on their cells, and how wide these are."""
    (ranks,) = (ranks_of(query, one) for one in query.aggregates if one.name == name)
    assert ranks is not None  # noqa: S101 - narrowing: cells are of quantiles
    return ranks, (ranks.high - ranks.low) / ranks.cells


# --- what limits that the system chose cut off --------------------------------------------------
# Noise errs to both sides, clipping only takes away: a person over a limit L with norm n counts for
# L of n. The released histogram of people tells how much that is at most in all; of a group it is
# taken to be as large a share as of everything. It is added to the half-width of the noise.

_MOST = 0.9
"""The largest share that is reckoned with; beyond, an interval would say nothing."""


def _lost(statistic: Statistic, part: NoisyStatistics) -> Floats:
    values = part.statistics[statistic]
    if isinstance(statistic, People):
        return _rate(part, GROUPS) * np.maximum(values, 0.0)
    # Where groups are found, people are left some of them, and lose their rows in the others.
    rate = _rate(part, ROWS) + (_rate(part, GROUPS) if part.finds_groups else 0.0)
    if isinstance(statistic, Total):
        rows = part.statistics.get(Rows(statistic.where))
        if rows is not None:
            return rate * np.maximum(rows, 0.0) * statistic.grid.reach * statistic.grid.step
    return rate * np.abs(values)


def _rate(part: NoisyStatistics, what: str) -> float:
    """Ratio of what clipping removed to what is left."""
    share = min(part.clipped[what].lost, _MOST) if what in part.clipped else 0.0
    return share / (1 - share)


MOST_GROUPS: Final = 200_000
"""Answers with more groups are stored without their parts, which would double them."""


@dataclass(frozen=True, slots=True)
class NoisyStatistic:
    """One statistic of all groups in its own unit (rows, people, values), and its noise.

    `scale` is b of Laplace and sigma of Gaussian noise. It is a sum, with these `signs`, of noises
    that all statistics of one `source` share. `excess` is how much wider than the noise
    the interval of each group is: where groups are shown because their noise was high, and where
    limits that the system chose cut something off.
    """

    values: Floats
    noise_kind: NoiseKind
    scale: float
    excess: Floats | None = None
    signs: tuple[int, ...] = (1,)
    source: int = 0

    @property
    def variance(self) -> float:
        """Variance of the noise on each group."""
        terms = sum(map(abs, self.signs))
        return terms * self.scale**2 * (2 if self.noise_kind is NoiseKind.LAPLACE else 1)


@dataclass(frozen=True, slots=True)
class NoisyQuantile:
    """One quantile of all groups, and how many rows it is off at most, 95 times in 100.

    `widths` are half-widths in values, where they were bought.
    """

    values: Floats
    off: float
    widths: Floats | None = None

    def sliced(self, first: int, size: int) -> "NoisyQuantile":
        """The same of some of the groups."""
        some = slice(first, first + size)
        widths = None if self.widths is None else self.widths[some]
        return NoisyQuantile(self.values[some], self.off, widths)


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredSet:
    """The stored measurements of one grouping set.

    `keys` are called k0, k1 and so on, `statistics` by `called`, `quantiles` as the aggregates are.
    `beyond` is about the share of people with more rows than count in full, where that was bought;
    `clipped` is what limits on rows and on groups that the system chose cut off: answers stored by
    older versions have none.
    """

    keys: Mapping[str, pa.Array]
    groups: int
    statistics: Mapping[str, NoisyStatistic]
    quantiles: Mapping[str, NoisyQuantile]
    contributions: ContributionBounds
    beyond: float | None = None
    clipped: Mapping[str, ClippedShare] = field(default_factory=dict)


_TAGS: Final[Mapping[type, str]] = {
    Rows: "rows",
    People: "people",
    Total: "total",
    Distinct: "distinct",
    DistinctTotal: "distinct total",
    Ranks: "ranks",
}
"""Stored names of the kinds of statistics; never changed."""


def called(statistic: Statistic) -> str:
    """A name for a statistic: what it is, and a digest of the canonical text of its parts."""
    parts = (getattr(statistic, one.name) for one in fields(statistic))
    plain = [canonical.plain(astuple(one) if isinstance(one, Grid) else one) for one in parts]
    tag = _TAGS[type(statistic)]
    text = json.dumps([tag, *plain], sort_keys=True, separators=(",", ":"))
    return f"{tag} {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def noisy_in(part: MeasuredSet, statistic: Statistic) -> NoisyStatistic | None:
    """A statistic of a part, under its name of today or of older versions; None if not there."""
    return part.statistics.get(called(statistic)) or part.statistics.get(_called_once(statistic))


def _called_once(statistic: Statistic) -> str:
    """The name under which 0.1.0 and before stored a statistic, whose `repr` may not change."""
    digest = hashlib.sha256(repr(statistic).encode()).hexdigest()[:16]
    return f"{type(statistic).__name__} {digest}"


def kept(measured: Sequence[NoisyStatistics]) -> tuple[MeasuredSet, ...]:
    """The parts of an answer that are stored with it; none where there are very many groups."""
    small = sum(one.groups for one in measured) <= MOST_GROUPS
    return tuple(part_of(one) for one in measured) if small else ()


def part_of(measured: NoisyStatistics) -> MeasuredSet:
    """The part of a measurement that is stored."""
    noisy = {
        called(statistic): _noisy(statistic, values, measured)
        for statistic, values in measured.statistics.items()
    }
    ranked = {
        one.name: NoisyQuantile(
            measured.quantiles[one.name],
            measured.rank_error(one, 1 - CONFIDENCE),
            measured.widths.get(one.name),
        )
        for one in measured.query.aggregates
        if one.name in measured.quantiles
    }
    keys = {name: blanked(column) for name, column in measured.keys.items()}
    clipped = measured.clipped
    beyond = clipped[ROWS].share if ROWS in clipped else None
    return MeasuredSet(
        keys, measured.groups, noisy, ranked, measured.contributions, beyond, clipped
    )


def _noisy(statistic: Statistic, values: Floats, measured: NoisyStatistics) -> NoisyStatistic:
    measurement, showing = measured.measurements[statistic], measured.shows_by(statistic)
    excess = measured.cut_off.get(statistic)
    if showing is not None and values.size:
        plain = measurement.error(CONFIDENCE)
        shown = showing.half_widths(values, plain) - plain
        excess = shown if excess is None else shown + excess
    strategies = [one.measurement.strategy for one in measured.measurements.values()]
    source = strategies.index(measurement.measurement.strategy)
    return NoisyStatistic(
        values, measurement.noise_kind, measurement.scale, excess, measurement.signs, source
    )


# --- as text inside a stored release --------------------------------------------------------------


def pack_sets(parts: tuple[MeasuredSet, ...]) -> bytes:
    """Parts as a text: a JSON list of Arrow streams."""
    return json.dumps([base64.b64encode(_stream(part)).decode() for part in parts]).encode()


def unpack_sets(stored: bytes) -> tuple[MeasuredSet, ...]:
    """The parts that `pack_sets` wrote."""
    return tuple(_part(base64.b64decode(one)) for one in json.loads(stored))


def _stream(part: MeasuredSet) -> bytes:
    columns: dict[str, Any] = dict(part.keys)
    noisy, ranked = [], []
    for i, (name, one) in enumerate(part.statistics.items()):
        columns[f"s{i}"] = one.values
        if one.excess is not None:
            columns[f"e{i}"] = one.excess
        noisy.append([name, one.noise_kind.value, one.scale, one.signs, one.source])
    for i, (name, quantile) in enumerate(part.quantiles.items()):
        columns[f"q{i}"] = quantile.values
        if quantile.widths is not None:
            columns[f"w{i}"] = quantile.widths
        ranked.append([name, quantile.off])
    clipped = {what: one.stored() for what, one in part.clipped.items()}
    about = {
        "keys": len(part.keys),
        "groups": part.groups,
        "statistics": noisy,
        "quantiles": ranked,
        "weighing": part.contributions.stored(),
        **({} if part.beyond is None else {"beyond": part.beyond}),
        **({"clipped": clipped} if clipped else {}),
    }
    return streamed(columns, about)


def _part(stream: bytes) -> MeasuredSet:
    table = pa.ipc.open_stream(stream).read_all()
    about = json.loads(table.schema.metadata[b"about"])
    return MeasuredSet(
        {f"k{i}": table.column(f"k{i}").combine_chunks() for i in range(about["keys"])},
        about["groups"],
        {
            name: NoisyStatistic(
                _floats(table, f"s{i}"),
                NoiseKind(noise_kind),
                scale,
                _perhaps(table, f"e{i}"),
                *((tuple(more[0]), more[1]) if more else ((1,), i)),  # older versions have none
            )
            for i, (name, noise_kind, scale, *more) in enumerate(about["statistics"])
        },
        {
            name: NoisyQuantile(_floats(table, f"q{i}"), off, _perhaps(table, f"w{i}"))
            for i, (name, off) in enumerate(about["quantiles"])
        },
        ContributionBounds.read(about["weighing"]),
        about.get("beyond"),
        {what: ClippedShare(*one) for what, one in about.get("clipped", {}).items()},
    )


def _floats(table: pa.Table, name: str) -> Floats:
    return np.asarray(table.column(name).to_numpy(), dtype=np.float64)


def _perhaps(table: pa.Table, name: str) -> Floats | None:
    return _floats(table, name) if name in table.column_names else None
