"""Noisy statistics as one table of keys and aggregates, and how wrong each shown number may be.

Counts have one noise, whose law gives the half-width exactly. What is computed from several noisy
numbers is computed again from many simulated ones: noise of the same laws on top of the released.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from discreet.answer.estimate.aggregates import (
    Floats,
    centre_of,
    compute,
    confine,
    correlated,
    estimate,
    evaluate,
    furthest,
    outputs_of,
    quotient_width,
)
from discreet.answer.estimate.error_bars import (
    EXACT,
    IN_ROWS,
    POINTS,
    RANKED,
    clipped_unevenly,
    is_picked,
    lay_out,
    simulate,
    spread,
)
from discreet.answer.estimate.noisy_statistics import CONFIDENCE, NoisyStatistics
from discreet.engines.engine import ARROW
from discreet.plan.expressions import Call, Column, Expression, Function, Literal, mentions
from discreet.plan.kinds import Kind
from discreet.plan.query import Aggregate, AggregateFunction, Query
from discreet.plan.relations import Named, columns_of
from discreet.plan.schema import counted
from discreet.plan.statistics import Rows, Statistic, behind, plain_total, range_of, statistics_of
from discreet.plan.typing import infer

_DRAWS = 1000
_CELLS = 4_000_000
_FEWEST = 200

SLICE = 1 << 10
"""Groups whose error bars are computed at once, where there are many."""

SAME_EVERYWHERE = EXACT | RANKED | {AggregateFunction.SUM}
"""Measures whose error bars need no simulation, or that of one group for all."""

_STEPS = 201
"""Points of an interval at which a function of one aggregate is computed."""

_MEASURED = {kind for kind in Kind if kind.is_number or kind.is_time}
"""Kinds of numbers that may be off."""

_LARGEST = 2.0**62
"""Counts are whole numbers of 64 bits; noise beyond that is too rare to matter and stays here."""


def tabulate(query: Query, part: NoisyStatistics, draws: int = 1) -> pa.Table:
    """Keys and aggregates of one grouping set; `draws` simulated tables below each other."""
    columns: dict[str, pa.Array] = {}
    places = {key.name: f"k{i}" for i, key in enumerate(part.query.keys)}
    for key, of in zip(query.keys, query.key_types, strict=True):
        if key.name in places:
            columns[key.name] = pa.concat_arrays([part.keys[places[key.name]]] * draws)
        else:
            columns[key.name] = pa.nulls(part.groups * draws, ARROW[of.kind])
    for key, name in zip(query.keys, query.groupings, strict=False):
        left_out = np.full(part.groups * draws, key.name not in places, dtype=np.int64)
        columns[name] = pa.array(left_out)
    for one in query.aggregates:
        found = part.quantiles.get(one.name)
        if found is None:
            found = estimate(one, part.statistics, columns_of(part.query.relation))
        values = np.broadcast_to(found, (draws, part.groups)).ravel()
        columns[one.name] = _column(query, one.name, values)
    return pa.table(columns)


def _column(query: Query, name: str, values: Floats) -> pa.Array:
    """An aggregate's values in the kind that is released."""
    if query.released_columns[name].kind is Kind.INTEGER:
        return pa.array(np.clip(np.rint(values), -_LARGEST, _LARGEST).astype(np.int64))
    return pa.array(values)


def draws_for(groups: int) -> int:
    """How often to simulate this many groups; 0 where they are too many."""
    draws = min(_DRAWS, _CELLS // max(1, groups))
    return draws if draws >= _FEWEST else 0


def off_in_rows(aggregate: Aggregate, off: float, lost: float = 0.0) -> str:
    """How far a quantile is off in rows, where limits cut off a share `lost` of them at most."""
    rows, sure = counted(math.ceil(off), "row"), "with 95 % confidence"
    cut = f", and {100 * lost:.2g} % of all rows for what limits cut off" if lost else ""
    if aggregate.from_end:
        small = "in a group of fewer rows it may be anywhere"
        return f"in sorted order it is at most {rows} from the end{cut}, {sure}; {small}"
    return f"in sorted order it is off by at most {rows}{cut}, {sure}"


def half_width(
    aggregate: Aggregate, part: NoisyStatistics, simulated: Mapping[Statistic, Floats]
) -> tuple[Floats, str]:
    """The half-width of each group's interval, and how it was found; of no quantile."""
    scope, statistics = columns_of(part.query.relation), part.statistics
    first, *others = statistics_of(aggregate, scope)
    lost, showing = part.cut_off, part.shows_by(first)
    none: Floats = np.zeros(part.groups)
    alone = plain_total(aggregate, scope) if aggregate.measure is AggregateFunction.SUM else None
    if alone is not None and alone in statistics:
        return part.measurements[alone].error(CONFIDENCE) + lost.get(alone, none), "exact"
    if aggregate.measure in EXACT:
        plain = none + part.measurements[first].error(CONFIDENCE)
        if showing is not None and part.groups:
            plain = showing.half_widths(statistics[first], float(plain[0]))
        # Counts are shown as whole numbers, which moves them by half of one at most.
        return plain + 0.5 + lost.get(first, none), "exact"
    if aggregate.measure is AggregateFunction.SUM and showing is None:  # the same in every group
        # Laid out around nothing: drawn noise would make equal answers wander.
        empty = replace(part, statistics={of: np.zeros(1) for of in (first, *others)}, clipped={})
        one = spread(estimate(aggregate, lay_out(empty), scope), np.zeros(1))
        away = abs(centre_of(aggregate, scope)) * lost.get(first, none)
        return np.resize(one, part.groups) + lost.get(others[0], none) + away, "by simulation"
    computed = compute(aggregate, statistics, scope)
    moved = [np.abs(compute(aggregate, one, scope) - computed) for one in part.cut_off_alike]
    clipped = np.max([none, *moved], axis=0)
    if aggregate.measure is AggregateFunction.CORRELATION:
        pairs = (correlated(aggregate, one, scope) for one in (statistics, simulated))
        tops, bottoms = map(np.vstack, zip(*pairs, strict=True))
        width = quotient_width(tops, bottoms, computed, (-1.0, 1.0)) + clipped
        return np.minimum(width, 1 + np.abs(computed)), "by simulation"
    width = spread(compute(aggregate, simulated, scope), computed) + clipped
    # Around what was computed, not what is shown: where a variance came out below 0 and is shown
    # as 0, most of the simulated ones are below 0 too, and would say that nothing is off.
    low, high = (confine(aggregate, computed + way, scope) for way in (-width, width))
    middle = confine(aggregate, computed, scope)
    return np.maximum(high - middle, middle - low), "by simulation"


@dataclass(frozen=True, slots=True)
class Simulation:
    """Many simulated tables: what error bars are read off.

    `many` holds, for each grouping set, statistics with a row a draw; it is empty where there are
    too many groups to simulate all at once. Numbers computed from aggregates that also select the
    rows are computed from noise that is `times` as wide.
    """

    query: Query
    parts: Sequence[NoisyStatistics]
    many: Sequence[NoisyStatistics]
    draws: int
    times: float = 1.0

    @staticmethod
    def of(query: Query, parts: Sequence[NoisyStatistics], times: float = 1.0) -> "Simulation":
        """Simulate as often as the number of groups allows."""
        draws = draws_for(sum(part.groups for part in parts))
        many = [replace(part, statistics=_drawn(query, part, draws)) for part in parts if draws]
        return Simulation(query, parts, many, draws, times)

    def half_widths(self, central: pa.Table) -> tuple[dict[str, Floats], dict[str, str]]:
        """Half-widths of all shown numbers that have one, and how each was found."""
        if not self.many:
            return self._by_slices(central)
        return self.widths_of(central, self._plain, "by simulation")

    def widths_of(
        self,
        central: pa.Table,
        plain: Callable[[Aggregate], tuple[Floats | None, str]],
        simulated: str,
    ) -> tuple[dict[str, Floats], dict[str, str]]:
        """The same, where `plain` finds those of aggregates that are shown as they are."""
        aggregates = {aggregate.name: aggregate for aggregate in self.query.aggregates}
        widths: dict[str, Floats] = {}
        how: dict[str, str] = {}
        several: dict[float, list[Named]] = {}
        for output in outputs_of(self.query):
            name, shown = output.name, output.expression
            used = [aggregates[of] for of in mentions(shown) if of in aggregates]
            wider = self.times if self.times > 1 and is_picked(self.query, shown) else 1.0
            if used and isinstance(shown, Column):
                width, how[name] = plain(used[0])
                if width is not None:
                    most = np.inf if wider == 1 else np.ptp(self._ends(used[0]))
                    widths[name] = np.minimum(wider * width, most)
            elif any(one.measure in RANKED for one in used) and not self._brackets(used, plain):
                how[name] = IN_ROWS
            elif used and central.num_rows and (kind := self._kind(shown)) in _MEASURED:
                how[name], width = simulated, plain(used[0])[0] if len(used) == 1 else None
                if used[0].measure in RANKED:
                    how[name] = "over the interval of its quantile"
                if width is None:
                    several.setdefault(wider, []).append(output)
                else:
                    widths[name] = self._over_interval(output, used[0], wider * width, central)
                if kind.is_time:
                    how[name] = ""
        for wider, outputs in several.items():
            widths |= self._computed(tuple(outputs), central, wider)
        return widths, how | {name: off_by(widths.pop(name)) for name, of in how.items() if not of}

    def _kind(self, shown: Expression) -> Kind:
        return infer(shown, self.query.released_columns).kind

    def _by_slices(self, central: pa.Table) -> tuple[dict[str, Floats], dict[str, str]]:
        """The same for very many groups: some at a time, with one layout of the noise for all."""
        found: dict[str, list[Floats]] = {}
        how: dict[str, str] = {}
        row = 0
        for part in self.parts:
            for first in range(0, part.groups, SLICE):
                some = part.sliced(first, SLICE)
                drawn = some if self._varies(part) else some.sliced(0, 1)
                many = [replace(some, statistics=lay_out(drawn))]
                one = Simulation(self.query, [some], many, POINTS, self.times)
                widths, how = one.half_widths(central.slice(row, some.groups))
                row += some.groups
                for name, width in widths.items():
                    found.setdefault(name, []).append(width)
        return {name: np.concatenate(widths) for name, widths in found.items()}, how

    def _varies(self, part: NoisyStatistics) -> bool:
        """Whether an error bar differs from group to group for what was measured of them."""
        same = {a.name for a in self.query.aggregates if a.measure in SAME_EVERYWHERE}
        keys = {*(key.name for key in self.query.keys), *self.query.groupings}
        shown = (output.expression for output in outputs_of(self.query))
        plain = all(
            (isinstance(one, Column) and one.name in same) or mentions(one) <= keys for one in shown
        )
        found = part.showing is not None and isinstance(part.showing.count.statistic, Rows)
        return not plain or found or bool(part.clipped)

    def _plain(self, aggregate: Aggregate) -> tuple[Floats | None, str]:
        """The error bar of an aggregate that is shown directly."""
        if aggregate.measure in RANKED:
            off = max(part.rank_error(aggregate, 1 - CONFIDENCE) for part in self.parts)
            lost = max(part.lost_share for part in self.parts)
            how = off_in_rows(aggregate, off, lost)
            if any(aggregate.name not in part.widths for part in self.parts):
                return None, how
            width = np.concatenate([part.widths[aggregate.name] for part in self.parts])
            return width, f"chosen together with it; {how}"
        found = [
            half_width(aggregate, part, many.statistics)
            for part, many in zip(self.parts, self.many, strict=True)
        ]
        return np.concatenate([width for width, _ in found]), found[0][1]

    def _ends(self, aggregate: Aggregate) -> Floats:
        """The range of a mean or a spread, which no error leaves; infinite where there is none."""
        scope = columns_of(self.parts[0].query.relation)
        return confine(aggregate, np.array([-np.inf, np.inf]), scope)

    def _brackets(
        self, used: Sequence[Aggregate], plain: Callable[[Aggregate], tuple[Floats | None, str]]
    ) -> bool:
        """Whether a number is computed from one quantile alone, a number that has an interval."""
        number = self._kind(Column(used[0].name)).is_number
        return len(used) == 1 and number and plain(used[0])[0] is not None

    def _over_interval(
        self, output: Named, aggregate: Aggregate, width: Floats, central: pa.Table
    ) -> Floats:
        """How far a function of one aggregate moves while that one keeps within its interval.

        Why: it holds whenever the interval of the aggregate does, however bent the function is.
        """
        steps = np.linspace(-1, 1, _STEPS)[:, None] * np.nan_to_num(width)
        ends = self._ends(aggregate)
        if aggregate.measure in RANKED:
            most = range_of(aggregate.arguments[0], columns_of(self.parts[0].query.relation))
            ends = np.array([most.low, most.high])
        moved = np.clip(_floats(central, aggregate.name) + steps, *ends)
        place = central.column_names.index(aggregate.name)
        table = pa.concat_tables([central] * _STEPS).set_column(
            place, aggregate.name, _column(self.query, aggregate.name, moved.ravel())
        )
        columns = self.query.released_columns
        shown, found = (
            _floats(evaluate(one, (output,), columns), output.name) for one in (central, table)
        )
        away = np.abs(found.reshape(_STEPS, -1) - shown).max(axis=0)
        return np.where(np.isfinite(width), away, np.nan)

    def _computed(
        self, outputs: tuple[Named, ...], central: pa.Table, times: float
    ) -> dict[str, Floats]:
        """Error bars of numbers computed from several aggregates; noise that many times as wide."""
        columns = self.query.released_columns
        ends = np.cumsum([part.groups for part in self.parts])[:-1]
        halves = {one.name: _halves(one, self.query) for one in outputs}
        asked = (*outputs, *(half for pair in halves.values() for half in pair))
        middle, around, noises = evaluate(central, asked, columns), [], []
        clipped: list[list[pa.Table]] = []
        for part, many in zip(self.parts, self.many, strict=True):
            own = {
                of: times * clipped_unevenly(of, part) * (values - part.statistics[of])
                for of, values in many.statistics.items()
            }
            drawn = {of: part.statistics[of] + noise for of, noise in own.items()}
            table = tabulate(self.query, replace(many, statistics=drawn), self.draws)
            around.append(evaluate(table, asked, columns))
            noises.append(own)
            alike = (replace(part, statistics=one) for one in part.cut_off_alike)
            clipped.append([evaluate(tabulate(self.query, o), outputs, columns) for o in alike])

        def draws(name: str) -> list[Floats]:
            return [_floats(table, name).reshape(self.draws, -1) for table in around]

        def shown(name: str) -> list[Floats]:
            return np.split(_floats(middle, name), ends)

        widths: dict[str, Floats] = {}
        for output in outputs:
            truths, name = shown(output.name), output.name
            if halves[name]:
                pairs = [
                    list(map(np.vstack, zip(shown(half.name), draws(half.name), strict=True)))
                    for half in halves[name]
                ]
                found = [quotient_width(*each) for each in zip(*pairs, truths, strict=True)]
            else:
                used = behind(self.query, [output.expression])
                moved = zip(draws(name), truths, noises, strict=True)
                found = [furthest(many - one, [own[of] for of in used]) for many, one, own in moved]
            away = [
                np.max([0 * truth, *(np.abs(_floats(one, name) - truth) for one in each)], axis=0)
                for each, truth in zip(clipped, truths, strict=True)
            ]
            whole = np.concatenate(found) + np.concatenate(away)
            widths[name] = np.where(np.isinf(whole), np.nan, whole)
        return widths


def _halves(output: Named, query: Query) -> tuple[Named, ...]:
    """The numerator and denominator of a quotient of straight numbers; else none.

    A variance that came out at 0 has no noise to be seen: it may stand below alone.
    """
    below = {one.name for one in query.aggregates if one.measure in _STRAIGHT}
    variances = {one.name for one in query.aggregates if one.measure is AggregateFunction.VARIANCE}
    found = _quotient(output.expression)
    if found is None or not _is_straight(found[0], below - variances):
        return ()
    names = (f"{output.name} _top", f"{output.name} _bottom")
    return tuple(map(Named, names, found)) if _is_straight(found[1], below) else ()


def _quotient(expression: Expression) -> tuple[Expression, Expression] | None:
    """One numerator and one denominator, even with constants before or behind a quotient."""

    def times(by: Literal, part: Expression) -> Expression:
        return Call(Function.MULTIPLY, (by, part))

    match expression:
        case Call(Function.MULTIPLY, (Literal() as by, part) | (part, Literal() as by)) if (
            within := _quotient(part)
        ):
            return times(by, within[0]), within[1]
        case Call(Function.DIVIDE, (part, Literal() as by)) if within := _quotient(part):
            return within[0], times(by, within[1])
        case Call(Function.ADD | Function.SUBTRACT as how, (part, Literal() as by)) if (
            within := _quotient(part)
        ):
            return Call(how, (within[0], times(by, within[1]))), within[1]
        case Call(Function.ADD | Function.SUBTRACT as how, (Literal() as by, part)) if (
            within := _quotient(part)
        ):
            return Call(how, (times(by, within[1]), within[0])), within[1]
        case Call(Function.DIVIDE, (top, Call(Function.NULL_IF, (bottom, Literal(0))) | bottom)):
            return top, bottom
    return None


def _is_straight(expression: Expression, straight: set[str]) -> bool:
    match expression:
        case Column(name):
            return name in straight
        case Call(Function.ADD | Function.SUBTRACT | Function.MULTIPLY, parts):
            return all(_is_straight(part, straight) for part in parts)
    return isinstance(expression, Literal)


_STRAIGHT = EXACT | {
    *(AggregateFunction.SUM, AggregateFunction.VARIANCE, AggregateFunction.COVARIANCE)
}
"""What arithmetic stays nearly straight over: a mean or a deviation of few rows is folded."""


def off_by(seconds: Floats) -> str:
    """How far times are off, in words: their error is a length of time."""
    most = float(np.max(seconds, initial=0.0, where=~np.isnan(seconds)))  # NaN: it is NULL
    unit, each = next(((u, e) for u, e in _LENGTHS if most >= 2 * e), _LENGTHS[-1])
    told = f"{math.ceil(10 * most / each) / 10:,}" if math.isfinite(most) else "any number of"
    return f"it is off by {told} {unit} at most, with 95 % confidence"


_LENGTHS = (("days", 86_400), ("hours", 3600), ("minutes", 60), ("seconds", 1))


def _drawn(query: Query, part: NoisyStatistics, draws: int) -> dict[Statistic, Floats]:
    """Simulated statistics; as they are where no error bar asks for more."""
    same = EXACT | RANKED if part.showing is not None else SAME_EVERYWHERE
    plain = {a.name for a in query.aggregates if a.measure in same}
    shown = (output.expression for output in outputs_of(query))
    bent = [one for one in shown if not (isinstance(one, Column) and one.name in plain)]
    as_they_are = {of: values[None] for of, values in part.statistics.items()}
    return as_they_are | (simulate(part, draws, behind(query, bent)) if bent else {})


def _floats(table: pa.Table, name: str) -> Floats:
    """A released column as doubles; NULL is NaN. Whole numbers past 2^53 are rounded.

    Times are seconds since 1970.
    """
    if pa.types.is_temporal(table.schema.field(name).type):
        micros = table.column(name).cast(pa.timestamp("us")).cast(pa.int64())
        return np.asarray(micros.cast(pa.float64(), safe=False).to_numpy()) / 1e6
    return np.asarray(table.column(name).cast(pa.float64(), safe=False).to_numpy())
