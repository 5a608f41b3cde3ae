"""Noisy statistics of each group and their noise, stored with a release.

They came out of the same mechanisms as the numbers that are shown, so they are as private and cost
nothing more. With them the same question, asked again, can be merged with what was told before.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answer.estimate.error_bars import CONFIDENCE
from discreet.answer.estimate.noisy_statistics import NoisyStatistics, cut_off
from discreet.answer.execute.noisy_measurements import blanked, streamed
from discreet.answer.plan.contribution_histogram import ROWS, ClippedShare
from discreet.plan import canonical
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.statistics import (
    Distinct,
    DistinctTotal,
    Grid,
    People,
    Ranks,
    Rows,
    Statistic,
    Total,
)

Floats = NDArray[np.float64]

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
    measurement, showing = measured.measurements[statistic], measured.showing
    excess = cut_off(measured).get(statistic)
    if showing is not None and showing.count.statistic == statistic and values.size:
        plain = measurement.error(CONFIDENCE)
        shown = showing.half_widths(values, plain) - plain
        excess = shown if excess is None else shown + excess
    strategies = [one.measurement.strategy for one in measured.measurements.values()]
    source = strategies.index(measurement.measurement.strategy)
    return NoisyStatistic(
        values, measurement.noise_kind, measurement.scale, excess, measurement.signs, source
    )


# --- as text inside a stored release --------------------------------------------------------------


def pack(parts: tuple[MeasuredSet, ...]) -> bytes:
    """Parts as a text: a JSON list of Arrow streams."""
    return json.dumps([base64.b64encode(_stream(part)).decode() for part in parts]).encode()


def unpack(stored: bytes) -> tuple[MeasuredSet, ...]:
    """The parts that `pack` wrote."""
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
    contributions = part.contributions
    clipped = {what: astuple(one) for what, one in part.clipped.items()}
    about = {
        "keys": len(part.keys),
        "groups": part.groups,
        "statistics": noisy,
        "quantiles": ranked,
        "weighing": [contributions.noise_kind.value, contributions.rows, contributions.groups],
        **({} if part.beyond is None else {"beyond": part.beyond}),
        **({"clipped": clipped} if clipped else {}),
    }
    return streamed(columns, about)


def _part(stream: bytes) -> MeasuredSet:
    table = pa.ipc.open_stream(stream).read_all()
    about = json.loads(table.schema.metadata[b"about"])
    noise_kind, rows, groups = about["weighing"]
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
        ContributionBounds(NoiseKind(noise_kind), rows, groups),
        about.get("beyond"),
        {what: ClippedShare(*one) for what, one in about.get("clipped", {}).items()},
    )


def _floats(table: pa.Table, name: str) -> Floats:
    return np.asarray(table.column(name).to_numpy(), dtype=np.float64)


def _perhaps(table: pa.Table, name: str) -> Floats | None:
    return _floats(table, name) if name in table.column_names else None
