"""Tables that are computed from several released ones, and their error bars.

The same SQL runs over what was released and over many simulated draws of it, pairs of opposite
noise. How far a pair moves a number in opposite directions is its linear part.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answer.estimate.aggregates import (
    Floats,
    centre_of,
    confine,
    correlated,
    furthest_of_pairs,
    moment,
)
from discreet.answer.estimate.aggregates import compute as compute_aggregate
from discreet.answer.estimate.error_bars import (
    IN_ROWS,
    RANKED,
    clipped_unevenly,
    simulate,
    wider_by,
)
from discreet.answer.estimate.noisy_statistics import NoisyStatistics
from discreet.answer.estimate.released_sql import (
    DRAWS,
    answer_name,
    own_name,
    public_name,
    render_table,
)
from discreet.answer.estimate.tabulate import draws_for, off_by, tabulate
from discreet.engines.default import DefaultEngine, compute
from discreet.engines.engine import ARROW
from discreet.plan import released_tables as released
from discreet.plan.expressions import (
    COMPARISONS,
    Call,
    Expression,
    Function,
    IsIn,
    mentions,
    nested,
)
from discreet.plan.kinds import Type
from discreet.plan.query import Aggregate, AggregateFunction, Query, questions_in
from discreet.plan.relations import columns_of
from discreet.plan.statistics import People, Rows, Statistic, statistics_of

Parts: TypeAlias = Sequence[Sequence[NoisyStatistics]]
"""The grouping sets of each question."""

_MANY = "there are too many groups to simulate what is computed from all of them"


@dataclass(frozen=True, slots=True)
class AnswerTables:
    """The released tables of the questions of one order."""

    query: Query
    parts: Parts
    public: Mapping[str, pa.Table]

    @staticmethod
    def of(
        query: Query, parts: Sequence[NoisyStatistics], public: Mapping[str, pa.Table]
    ) -> "AnswerTables":
        """The parts of each question, in order, and the rows of public tables."""
        left = iter(parts)
        each = [[next(left) for _ in one.sets] for one in questions_in(query)]
        return AnswerTables(query, each, {name: placed_rows(r) for name, r in public.items()})

    def table(self) -> pa.Table:
        """A table computed from released numbers alone."""
        return compute_table(self._then, self._tables())

    def half_widths(self, shown: int) -> tuple[dict[str, Floats], dict[str, str]]:
        """Half-widths of the numbers of each shown row, and how each was found; times in words."""
        sources = released.sources_of(self._then, questions_in(self.query))
        columns = self._then.columns
        numbers = [name for name, of in columns.items() if of.kind.is_number or of.kind.is_time]
        ranked = {
            (place, one.name)
            for place, question in enumerate(questions_in(self.query))
            for one in question.aggregates
            if one.measure in RANKED
        }
        how = {name: IN_ROWS for name in numbers if sources[name] & ranked}
        wanted = [name for name in numbers if sources[name] and name not in how]
        groups = [sum(part.groups for part in parts) for parts in self.parts]
        sizes = {name: len(rows) for name, rows in self.public.items()}
        pairs = draws_for(max(shown, sum(groups), _rows(self._then, groups, sizes))) // 2
        if not wanted or not shown:
            return {}, how
        if not pairs:
            return {}, how | dict.fromkeys(wanted, _MANY)
        widths = self._simulated(wanted, pairs, shown, picked=bool(sources[""]))
        told = {name: off_by(widths.pop(name)) for name in wanted if columns[name].kind.is_time}
        return widths, how | dict.fromkeys(wanted, "by simulation") | told

    @property
    def _then(self) -> released.ReleasedTable:
        assert self.query.then is not None  # noqa: S101 - narrowing: see `present`
        return self.query.then

    def _tables(self, many: Parts | None = None, count: int = 0) -> dict[str, pa.Table]:
        """The released rows of each question, with all draws where there are so `many`."""
        questions, found = questions_in(self.query), {}
        for place, (question, parts) in enumerate(zip(questions, self.parts, strict=True)):
            tables, first = [], 0
            for at, part in enumerate(parts):
                tables.append(_placed(tabulate(question, part), part.groups, first, 0, 1))
                if many is not None:
                    simulated = tabulate(question, many[place][at], count)
                    tables.append(_placed(simulated, part.groups, first, 1, count))
                first += part.groups
            found[answer_name(place)] = pa.concat_tables(tables)
        found |= {public_name(name): rows for name, rows in self.public.items()}
        return found | {DRAWS: pa.table({"_draw": np.arange(count + 1)})}

    def _simulated(
        self, wanted: Sequence[str], pairs: int, shown: int, *, picked: bool
    ) -> dict[str, Floats]:
        """How far likely noise moves each number; wider noise where noise has picked the rows."""
        times = self._times(shown) if picked else 1.0
        many = [[_opposites(part, pairs, times) for part in parts] for parts in self.parts]
        sizes = np.zeros(2 * pairs)
        for parts, drawn in zip(self.parts, many, strict=True):
            for part, more in zip(parts, drawn, strict=True):
                for of, values in more.statistics.items():
                    noise = values - part.statistics[of]
                    sizes += ((noise / np.maximum(noise.std(axis=0), 1e-300)) ** 2).sum(axis=1)
        each, truths = max(pairs // _TRUTHS, 1), 0
        levels = _summed_bent(self._then, questions_in(self.query))
        if any(levels[name] > 1 for name in wanted):
            truths = _TRUTHS + 2
            many = [
                [_from_plausible(*one, each) for one in zip(parts, drawn, strict=True)]
                for parts, drawn in zip(self.parts, many, strict=True)
            ]
        cut_off, draws = self._cut_off(), 2 * pairs + truths * (1 + 2 * each)
        many = [
            [_with_draws(part, [one[at][i] for one in cut_off]) for i, part in enumerate(parts)]
            for at, parts in enumerate(many)
        ]
        every, known = self._moved(wanted, many, shown, draws + len(cut_off))
        moved = {name: one[:draws] for name, one in every.items()}
        sampled, found = slice(0, 2 * pairs), {}
        for name in wanted:
            if levels[name] < 2:
                found[name] = furthest_of_pairs(moved[name][sampled], known[sampled], sizes)
                continue
            # Whatever the truth is, what is released is so far from it 95 times in 100: the widest
            # of all that it may be. 97 in 100 draws keep within it, since few are drawn.
            blocks = (one[1:] - one[0] for one in np.split(moved[name][2 * pairs :], truths))
            likely = [np.quantile(np.nan_to_num(np.abs(one)), 0.97, axis=0) for one in blocks]
            found[name] = np.max(likely, axis=0)
        for name, width in found.items():
            away = np.where(known[draws:], np.abs(every[name][draws:]), 0.0)
            found[name] = width + np.max(away, axis=0, initial=0.0)
        return found

    def _cut_off(self) -> list[list[list[Mapping[Statistic, Floats]]]]:
        """Statistics of all parts as they may be without clipping, in all questions or in one."""
        ends = [[part.cut_off_alike for part in parts] for parts in self.parts]
        most = max(len(one) for own in ends for one in own)
        clipped = [place for place, own in enumerate(ends) if any(own)]
        together = [set(clipped), *({one} for one in clipped if len(clipped) > 1)]
        return [
            [
                [
                    end[at % len(end)] if end and place in some else part.statistics
                    for part, end in zip(parts, ends[place], strict=True)
                ]
                for place, parts in enumerate(self.parts)
            ]
            for some in together
            for at in range(most)
        ]

    def _times(self, shown: int) -> float:
        """How many times wider noise is reckoned where some rows of all are picked by it."""
        table = self._then
        while isinstance(
            table, released.ComputedTable | released.FilteredTable | released.SortedTable
        ):
            table = table.source
        rows = (
            compute(self._tables(), f"SELECT count(*) AS n FROM ({render_table(table)})")
            .column("n")[0]
            .as_py()
        )
        noise = [part.contributions.noise_kind for parts in self.parts for part in parts]
        return wider_by(shown, rows, noise, picked=True)

    def _moved(
        self, wanted: Sequence[str], many: Parts, rows: int, draws: int
    ) -> tuple[dict[str, Floats], NDArray[np.bool_]]:
        """How far each draw moves each number of each shown row, and whether it has the row."""
        names = [f"a.{DefaultEngine.dialect.identifier(own_name(name))}" for name in wanted]
        times = [self._then.columns[name].kind.is_time for name in wanted]
        numbers = [
            f"{f'epoch(CAST({name} AS TIMESTAMP))' if time else f'CAST({name} AS DOUBLE)'} AS n{i}"
            for i, (name, time) in enumerate(zip(names, times, strict=True))
        ]
        select = (
            f"WITH every AS ({render_table(self._then)}), shown AS"
            " (SELECT _id, row_number() OVER (ORDER BY _at) - 1 AS _row FROM every WHERE _draw = 0)"
            f" SELECT a._draw, s._row, {', '.join(numbers)} FROM every a JOIN shown s USING (_id)"
        )
        found = compute(self._tables(many, draws), select)
        draw, row = (found.column(name).to_numpy() for name in ("_draw", "_row"))
        known = np.zeros((draws + 1, rows), dtype=np.bool_)
        known[draw, row] = True
        moved = {}
        for i, name in enumerate(wanted):
            values = np.full((draws + 1, rows), np.nan)
            values[draw, row] = found.column(f"n{i}").to_numpy()
            moved[name] = values[1:] - values[0]
        return moved, known[1:]


def _rows(table: released.ReleasedTable, groups: Sequence[int], public: Mapping[str, int]) -> int:
    """About how many rows the largest step of a table has: all pairs where nothing is equal."""
    below = [_rows(one, groups, public) for one in table.inputs]
    match table:
        case released.PublicRows(of):
            return public[of.name]
        case released.ConstantRows(_, listed):
            return len(listed)
        case released.AnswerTable(place):
            return groups[place]
        case released.JoinedTables() if not table.equates:
            return math.prod(below)
    return max(below)


def compute_table(table: released.ReleasedTable, released: Mapping[str, pa.Table]) -> pa.Table:
    """A table from released ones: `_draw` (0), `_at`, and their columns under `own_name`s."""
    names = ", ".join(DefaultEngine.dialect.identifier(own_name(name)) for name in table.columns)
    found = compute(released, f"SELECT {names} FROM ({render_table(table)}) ORDER BY _at")
    kinds = [pa.field(name, ARROW[of.kind]) for name, of in table.columns.items()]
    return found.rename_columns(list(table.columns)).cast(pa.schema(kinds))


def placed_rows(rows: pa.Table) -> pa.Table:
    """The rows of a public table with their places, under `own_name`s."""
    named = rows.rename_columns([own_name(name) for name in rows.column_names])
    return named.append_column("_at", pa.array(np.arange(len(rows), dtype=np.int64)))


def _placed(table: pa.Table, groups: int, first: int, draw: int, draws: int) -> pa.Table:
    """Rows of some draws with their places; `first` rows of the question precede them."""
    numbers = np.repeat(np.arange(draw, draw + draws, dtype=np.int64), groups)
    places = np.tile(np.arange(first, first + groups, dtype=np.int64), draws)
    table = table.rename_columns([own_name(name) for name in table.column_names])
    return table.append_column("_draw", pa.array(numbers)).append_column("_at", pa.array(places))


def _opposites(part: NoisyStatistics, pairs: int, times: float) -> NoisyStatistics:
    """Simulated statistics: noise, and then the same noise the other way."""
    drawn = simulate(part, pairs)
    both = {}
    for of, values in drawn.items():
        middle = part.statistics[of]
        noise = times * clipped_unevenly(of, part) * (values - middle)
        both[of] = np.concatenate([middle + noise, middle - noise])
    return replace(part, statistics=both)


def _with_draws(
    drawn: NoisyStatistics, more: Sequence[Mapping[Statistic, Floats]]
) -> NoisyStatistics:
    """The same draws and some more below them."""
    both = {
        of: np.vstack([own, *(one[of] for one in more)]) for of, own in drawn.statistics.items()
    }
    return replace(drawn, statistics=both)


def _from_plausible(part: NoisyStatistics, drawn: NoisyStatistics, each: int) -> NoisyStatistics:
    """The same draws, and for each plausible truth: itself, and `each` pairs of noise around it."""
    both = {}
    lowest, highest = (_held_together(part, drawn, way) for way in (1, -1))
    for of, draws in drawn.statistics.items():
        middle = part.statistics[of]
        pairs, blocks = len(draws) // 2, [draws]
        noise = draws - middle
        few = np.concatenate([np.zeros((1, middle.size)), noise[:each], noise[pairs:][:each]])
        counts = isinstance(of, Rows | People)
        truths = _plausible(middle, noise, _siblings(part), counts=counts)
        blocks += [one + few for one in (*truths, lowest[of], highest[of])]
        both[of] = np.concatenate(blocks)
    return replace(drawn, statistics=both)


_TRUTHS = 10
"""How many `_plausible` finds; two more are `_held_together`."""


def _held_together(
    part: NoisyStatistics, drawn: NoisyStatistics, way: int
) -> dict[Statistic, Floats]:
    """A truth whose largest quotients are as small as noise allows; `way` -1: the opposite.

    Why: a noisy total over a count within its noise is mostly at an end of its range. So MAX over
    groups is at the upper end, and so is what is simulated around it. If all true means are at most
    m, then only noise lifts a total above m times its count. So m is as small as 99 in 100 noises
    allow, by the sum over groups of the squares of what is above, in deviations. So it is with a
    covariance and both deviations; variances that came out below their noise are put there.
    """
    found, scope = dict(part.statistics), columns_of(part.query.relation)
    some = {of: values[:: max(len(values) // 200, 1)] for of, values in drawn.statistics.items()}
    asked = [one for one in part.query.aggregates if one.measure in _RANGED and part.groups]
    for one in sorted(asked, key=lambda one: one.measure is not AggregateFunction.MEAN):
        plain = one.measure in {AggregateFunction.MEAN, AggregateFunction.CORRELATION}
        of = one if plain else replace(one, measure=AggregateFunction.VARIANCE, sample=False)
        rows, *squares, last = statistics_of(of, scope)
        centre = centre_of(of, scope) if of.measure is AggregateFunction.MEAN else 0.0
        (total, below), (noisy, noise_below) = (
            _quotient(of, each, scope) for each in (part.statistics, some)
        )
        low, high = sorted(way * (confine(of, np.array([-np.inf, np.inf]), scope) - centre))
        for _ in range(12):
            level = (low + high) / 2
            above = way * total - level * below
            noise = way * noisy - level * noise_below - above
            scale = np.maximum(noise.std(axis=0), 1e-100)
            likely = np.quantile((np.maximum(noise / scale, 0.0) ** 2).sum(axis=1), 0.99)
            fits = (np.maximum(above / scale, 0.0) ** 2).sum() <= likely
            low, high = (low, level) if fits else (level, high)
        found[rows] = np.maximum(found[rows], 1.0)
        if one.measure is AggregateFunction.CORRELATION:
            for x, square in zip(squares[:2], squares[2:], strict=True):
                spread = moment((x, x), square, some, some[rows]).std(axis=0)
                lift = spread - moment((x, x), square, found, found[rows])
                found[square] = found[square] + np.maximum(lift, 0.0) * found[rows]
        past = way * (compute_aggregate(of, found, scope) - centre) - high
        found[last] = found[last] - way * np.maximum(past, 0.0) * _quotient(of, found, scope)[1]
    return found


def _quotient(
    of: Aggregate, statistics: Mapping[Statistic, Floats], scope: Mapping[str, Type]
) -> tuple[Floats, Floats]:
    """The numerator and denominator of a mean around its centre, a variance or a correlation."""
    rows = statistics[statistics_of(of, scope)[0]]
    count = np.maximum(rows, 1.0)
    if of.measure is AggregateFunction.CORRELATION:
        cross, deviations = correlated(of, statistics, scope)
        return cross * count, deviations * count
    centre = centre_of(of, scope) if of.measure is AggregateFunction.MEAN else 0.0
    return (compute_aggregate(of, statistics, scope) - centre) * count, rows


_RANGED = {
    *(AggregateFunction.MEAN, AggregateFunction.VARIANCE, AggregateFunction.STDDEV),
    AggregateFunction.CORRELATION,
}
"""Quotients whose range is known."""


def _plausible(
    values: Floats, noise: Floats, sibling: NDArray[np.int64], *, counts: bool
) -> list[Floats]:
    """Truths that what was released is like, `_TRUTHS` of them.

    Why: noise makes values more different than they are. A sum of a bent function of many (the
    entropy of shares, LN or ABS of each) is off by that in one way, and drawing noise once more
    moves it further the same way and never back: its error has to be simulated around something
    that is as alike as the truth may be. Siblings are pulled together as a whole, as far as 99 in
    100 noises may have separated them. Or all that are near a centre go there, or to what the
    centre may be, and the others stay: near are 2 deviations, or what any noise may reach. Counts
    are not below 0. Of those whose truth is 0 about half come out below, so twice as many may be 0.
    """
    scale = np.maximum(noise.std(axis=0), 1e-300)
    alike = _alike(values, noise, scale, sibling)
    found = [alike, alike + 2 * scale / np.sqrt(np.bincount(sibling)[sibling])]
    for reach in (2.0, np.quantile(np.abs(noise / scale).max(axis=1, initial=0.0), 0.99)):
        near = np.ones(values.size, dtype=np.bool_)
        for _ in range(3):
            centre = _medians(values, near, sibling)[sibling]
            near = np.abs(values - centre) <= reach * scale
        members = np.bincount(sibling, near)[sibling]
        unsure = 2 * 1.25 * scale / np.sqrt(np.maximum(members, 1))  # of a median
        found += [np.where(near, centre + way * unsure, values) for way in (-1, 0, 1)]
    none = found[-2]
    if counts:
        below = np.bincount(sibling, (values < 0) + (values == 0) / 2)[sibling]
        order = np.lexsort((values, sibling))
        rank = np.empty(values.size)
        rank[order] = np.arange(values.size) - np.searchsorted(sibling[order], sibling[order])
        few = rank < 2 * below + 2 * np.sqrt(2 * below)
        none = np.where(few & (values <= reach * scale), 0.0, values)
    found += [values, none]
    return [np.maximum(one, 0.0) for one in found] if counts else found


def _medians(
    values: Floats, among: NDArray[np.bool_], sibling: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The median of some values of each family; of any one where it has none of these."""
    order = np.lexsort((values, ~among, sibling))
    first = np.searchsorted(sibling[order], np.arange(sibling.max(initial=-1) + 1))
    last = np.maximum(np.bincount(sibling, among).astype(np.int64), 1) - 1
    ranked = values[order]
    return np.asarray((ranked[first + last // 2] + ranked[first + (last + 1) // 2]) / 2)


def _alike(
    values: Floats, noise: Floats, scale: Floats, sibling: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The values, pulled to their mean as far as noise may have separated them."""
    away = values - (np.bincount(sibling, values) / np.bincount(sibling))[sibling]
    sizes = np.stack([np.bincount(sibling, row) for row in (noise / scale) ** 2])
    likely = np.quantile(sizes, 0.99, axis=0)
    size = np.maximum(np.bincount(sibling, (away / scale) ** 2), 1e-300)
    return np.asarray(values - away * np.minimum(1, likely / size)[sibling])


def _siblings(part: NoisyStatistics) -> NDArray[np.int64]:
    """The number of each group's family: groups that differ by their last key alone."""
    keys = list(part.keys.values())[:-1]
    if not keys or not part.groups:
        return np.zeros(part.groups, dtype=np.int64)
    rows: dict[tuple[object, ...], int] = {}
    told = zip(*(key.to_pylist() for key in keys), strict=True)
    return np.array([rows.setdefault(row, len(rows)) for row in told], dtype=np.int64)


def _summed_bent(table: released.ReleasedTable, questions: Sequence[Query]) -> dict[str, int]:
    """Columns that are not straight in noisy numbers: 1 row by row, 2 once rows are put together.

    Under "" is what decides which rows there are.
    """
    below = [_summed_bent(one, questions) for one in table.inputs]
    sources = [released.sources_of(one, questions) for one in table.inputs]
    noisy = {name for one in sources for name, of in one.items() if of}
    known = {name: level for one in below for name, level in one.items()}
    rows = max((one[""] for one in below), default=0)

    def level(*reads: Expression) -> int:
        own = max((int(_is_bent(one, noisy)) for one in reads), default=0)
        return max([own, *(known[name] for one in reads for name in mentions(one))])

    def put(together: object, reads: Iterable[Expression]) -> int:
        """Of an extreme or a spread of noisy numbers: 2, however straight each of them is."""
        folds = isinstance(together, AggregateFunction) and together not in _ADDED_UP
        of_noise = not noisy.isdisjoint(name for one in reads for name in mentions(one))
        return 2 if folds and of_noise else level(*reads)

    match table:
        case released.ComputedTable(_, outputs):
            return {"": rows} | {one.name: level(one.expression) for one in outputs}
        case released.WindowedTable(_, windows):
            return known | {"": rows} | {one.name: put(one.function, one.reads) for one in windows}
        case released.RegroupedTable(_, keys, aggregates):
            rows = max(rows, *(level(one.expression) for one in keys), 0)
            found = {one.name: level(one.expression) for one in keys}
            for one in aggregates:
                found[one.name] = 2 if max(rows, put(one.measure, one.reads)) else 0
            return {"": rows} | found
        case released.StackedTables(above, other):
            pairs = zip(above.columns, other.columns, strict=True)
            return {"": rows} | {a: max(below[0][a], below[1][b]) for a, b in pairs}
        case released.FilteredTable() | released.JoinedTables():
            return known | {"": max(rows, level(*table.reads))}
        case released.SortedTable():
            return known
        case released.AnswerTable(place):
            bent = {one.name for one in questions[place].aggregates if one.measure in _QUOTIENTS}
            return {name: int(name in bent) for name in ("", *table.columns)}
    return dict.fromkeys(("", *table.columns), 0)


def _is_bent(expression: Expression, noisy: set[str]) -> bool:
    return any(
        not noisy.isdisjoint(mentions(part))
        for part in nested(expression)
        if isinstance(part, IsIn) or (isinstance(part, Call) and part.function in _BENT)
    )


_ADDED_UP = {AggregateFunction.COUNT, AggregateFunction.SUM, AggregateFunction.MEAN}
_QUOTIENTS = {*_RANGED, AggregateFunction.COVARIANCE}
_BENT = {
    *(Function.LOG2, Function.LN, Function.LOG10, Function.SQRT, Function.EXP),
    *(Function.GREATEST, Function.LEAST, Function.ABS, Function.SIGN, Function.NULL_IF),
    *COMPARISONS,
}
