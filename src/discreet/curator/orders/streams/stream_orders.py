"""Standing questions: the kind of order that is charged once and answered period after period."""

import datetime as dt
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answer.execute.measure_set import known_keys
from discreet.answer.plan.price import Price
from discreet.answer.plan.set_plan import Charged
from discreet.answer.present.base_release import Cost
from discreet.answer.present.release import Release
from discreet.curator.arguments import StreamArguments, expect, read_fields, readable, spec_fields
from discreet.curator.orders.drafted_orders import DraftedOrder
from discreet.curator.orders.histogram_orders import gaussian_price, read_max_rows
from discreet.curator.orders.planned_orders import (
    Asked,
    OrderExplanation,
    QuoteContext,
    UnpricedOrder,
    names_of,
)
from discreet.curator.orders.query_orders import read_asked
from discreet.curator.orders.streams.stream_reading import (
    COARSEST,
    FINEST,
    StreamQuery,
    check_counts,
    date_column,
    date_kind,
)
from discreet.engines.default import DefaultEngine
from discreet.engines.engine import ARROW, Engine
from discreet.engines.timing import Deadline
from discreet.errors import InputError, QueryRefused
from discreet.mechanisms import Gaussian
from discreet.mechanisms.continual import FactorizedCount
from discreet.mechanisms.prefix_sums import BITS
from discreet.plan import canonical
from discreet.plan.bounding import FULL
from discreet.plan.calendar import beginnings, moment
from discreet.plan.expressions import Unit
from discreet.plan.kinds import Kind
from discreet.plan.public_facts import facts_of
from discreet.plan.query import Aggregate, AggregateFunction, Query
from discreet.plan.relations import columns_of
from discreet.plan.schema import PERIODS, PersonPeriod, Schema, counted, distinct
from discreet.plan.statistics import Rows, Total
from discreet.plan.typing import infer
from discreet.plan.work import Work
from discreet.privacy import Neighbours
from discreet.rationals import whole
from discreet.sql.reader.read import read
from discreet.sql.writer.dialect import Dialect

MOST_PERIODS: Final = 10_000
MOST_NUMBERS: Final = 10**6
"""The most numbers that a standing question ever tells: periods times groups."""

_MOST_DEVIATION_BITS: Final = 55
"""There is exact noise for deviations up to 2^56."""


@dataclass(frozen=True)
class StreamOrder(DraftedOrder):
    """A standing question with its price, which pays for all periods.

    Guarantee:
        All numbers that are ever released for it, whatever parts arrive and however they depend on
        earlier answers, are one release of `counter`: mu-Gaussian differential privacy for a person
        who counts in at most `max_periods` periods, with `max_rows` rows in each.
    """

    query: Query
    column: str
    every: str
    since: dt.date
    until: dt.date
    max_periods: int
    max_rows: int
    price: Price
    neighbours: Neighbours
    grid_bits: int = COARSEST
    rho: Fraction | None = None
    """The price on the coarsest grid, for a finer one: so the grid does not change the price."""
    kind = "stream"
    decided = ("grid_bits", "rho")
    says_periods = True
    states_epsilon = True
    release_type = Release

    @classmethod
    def parse(cls, spec: Mapping[str, Any], schema: Schema) -> UnpricedOrder["StreamOrder"]:
        """Read counts, periods and price."""
        needed = ("sql", "every", "until", "epsilon")
        said = read_fields(spec, "a standing question", needed=needed, allowed=_FIELDS)
        expect(said["sql"], str, "sql", fix=_FIX)
        query = read(said["sql"], schema)
        with readable("a standing question", _FIX):
            return _read_stream(said, query)

    def priced(self, asked: Asked, at: QuoteContext) -> Self:
        """The order at a price; refused if there is no delta, or nothing can be appended."""
        if at.dialect is not DefaultEngine.dialect:
            raise QueryRefused(
                "a standing question about a table on a server",
                why="a period ends when rows are appended, and a server is only read",
                fix="add the rows as a file and append to it, or ask once",
                code="stream",
            )
        price = gaussian_price(asked, at, "a standing question")
        planned = replace(self, price=price, neighbours=at.neighbours).on_finest_grid()
        _ = planned.guarantees, planned.reading.table  # whatever cannot be measured is refused now
        return planned

    @cached_property
    def reading(self) -> StreamQuery:
        """How rows are read."""
        by_row = self.query.is_by_row
        bounds = (1, 1) if by_row else (self.max_periods, self.max_rows)
        return StreamQuery(self.query, self.column, self.every, *bounds, self.grid_bits)

    @cached_property
    def calendar(self) -> tuple[dt.date, ...]:
        """The beginning of each period, from the one that holds `since` to that of `until`."""
        low, high, unit = self.since, self.until, Unit(self.every)
        if date_kind(self.query, self.column) is Kind.TIMESTAMP:
            low = dt.datetime.combine(low, dt.time())
            high = dt.datetime.combine(high, dt.time(23))
        return tuple(islice(beginnings(low, high, unit), MOST_PERIODS + 1))

    @cached_property
    def last_days(self) -> tuple[dt.date, ...]:
        """The last day of each period: once rows are complete through it, so is the period."""
        days = [one.date() if isinstance(one, dt.datetime) else one for one in self.calendar]
        if self.every == "hour":
            return tuple(days)
        later = islice(beginnings(days[-1], days[-1] + dt.timedelta(366), Unit(self.every)), 1, 2)
        return tuple(one - dt.timedelta(1) for one in [*days[1:], *later])

    @cached_property
    def counter(self) -> FactorizedCount:
        """The mechanism: one stream of vectors, one number a group and aggregate."""
        weight, cost = self.reading.sensitivity, self.price
        price = {"epsilon": cost.epsilon, "delta": cost.delta}
        return FactorizedCount(
            **(price if self.rho is None else {"rho": self.rho}),
            horizon=len(self.calendar),
            sensitivity=weight if self.neighbours is Neighbours.ADD_REMOVE else 2 * weight,
            steps_per_unit=self.reading.max_periods,
            neighbours=self.neighbours,
        )

    @property
    def guarantees(self) -> tuple[Charged, ...]:
        """The guarantee of all periods together."""
        return (self.counter.guarantee,)

    def on_finest_grid(self) -> Self:
        """The same with sums on a grid as fine as exact noise allows; others have what they need.

        Why: where noise leaves no room for a finer grid its deviation is above 2^54, which is 2^24
        grid steps of a sum, and 2^20 where there are several aggregates. A million rows that are
        all rounded by half a step in one direction move a total by less than 2^19 steps.
        """
        deviation = math.sqrt(self.counter.variance)
        room = _MOST_DEVIATION_BITS - math.ceil(math.log2(deviation))
        bits = min(FINEST, COARSEST + max(0, room))
        finer = replace(self, grid_bits=bits, rho=self.counter.guarantee.mu**2 / 2)
        same = finer.reading.statistics == self.reading.statistics
        return self if same else finer

    @property
    def tables(self) -> frozenset[str]:
        """The names of all tables that it reads, public ones too."""
        return names_of(canonical.write(self.query))

    def decisions(self) -> Mapping[str, Any]:
        """How it is measured: by the square-root factorization, of sums on a grid."""
        finer = {} if self.rho is None else {"grid_bits": self.grid_bits, "rho": str(self.rho)}
        return {"version": 1, "variance": str(self.counter.variance), **finer}

    def explain(self, dialect: Dialect) -> OrderExplanation:
        """Cost, expected error, and the cost of the alternatives."""
        periods, reading, every = len(self.calendar), self.reading, self.every
        columns = {one.name: self._errors(i) for i, one in enumerate(self.query.aggregates)}
        [first, *more] = columns.values()
        facts = {
            "periods": periods,
            "groups": self.query.group_count,
            **first,
            "new_question_each_period_epsilon": float(self.price.epsilon * periods),
            **({"columns": columns} if more else {}),
        }
        bound = f"{counted(reading.max_periods, every)} with {counted(reading.max_rows, 'row')}"
        text = (
            f"a standing question over {periods:,} {every}s and {facts['groups']:,} groups, "
            f"charged once\n{self._who} counts in at most {bound} in each: the first ones; later "
            f"{every}s count for nothing\nrows that arrive late count in the period in which they "
            "arrive"
        )
        for name, off in columns.items():
            text += (
                f"\nrunning totals{f' {name}' if more else ''}: ± {off['running_total']:,} at the "
                f"last {every} (95 %); what one {every} adds: ± {off['one_period']:,}"
                "\none release of the last totals alone, for the same price: ± "
                f"{off['one_release']:,}\na new question each {every}, for the same price in all: "
                f"± {off['new_question_each_period']:,}"
            )
        each = facts["new_question_each_period_epsilon"]
        text += f"; for this epsilon each, it would cost epsilon {each:,g} in all"
        return OrderExplanation(self.price, self.neighbours, text, facts)

    def _errors(self, place: int) -> dict[str, float]:
        """Half-widths of one aggregate, beside those of a single release and of many."""
        unit, reading, cost = self.reading.units[place], self.reading, self.price
        # All that one person weighs in all periods, if it were one release of all aggregates: in
        # whole rows for a count alone, else in the steps of its noise.
        most = reading.max_periods * self.counter.sensitivity
        step = unit
        if reading.statistics == (Rows(None),):
            most, step = most // FULL, 1.0
        plain = Gaussian(epsilon=cost.epsilon, delta=cost.delta, sensitivity=most).error(0.95)
        once = float(plain) * step
        return {
            "running_total": round(self.counter.error() * unit + 0.5, 1),
            "one_period": round(self.counter.increment_error() * unit + 1, 1),
            "one_release": round(once, 1),
            # Each of as many questions has rho/periods, whatever the exact conversion of epsilon.
            "new_question_each_period": round(once * math.sqrt(len(self.calendar)), 1),
        }

    def work(self, bound: Callable[[Query], Work]) -> Work:
        """Upper bound on the work of reading all rows."""
        return bound(self.query)

    def measure(self, engine: Engine, until: Deadline | None) -> bytes:
        """Empty: each period is a step of the charge."""
        return b"{}"

    def present(self, measured: bytes) -> Release:
        """The release before any period."""
        return self.release([])

    def release(self, measured: list[list[int]]) -> Release:
        """The release of the periods so far; counts are rounded to whole rows.

        Running totals are post-processing of all of them, and what a period adds is the difference
        of two running totals: one adds up to the other.
        """
        done, count, counter = len(measured), len(self.query.aggregates), self.counter
        keys, groups = known_keys(self.query)
        days = [day for day in self.calendar[:done] for _ in range(groups)]
        columns = {self.every: pa.array(days, ARROW[date_kind(self.query, self.column)])}
        for key, values in zip(self.query.keys, keys.values(), strict=True):
            columns[key.name] = pa.concat_arrays([values] * done) if done else values.slice(0, 0)
        noisy = np.array(measured, dtype=np.float64).reshape(done, count, groups)
        widths: dict[str, pa.Array] = {}
        for i, one in enumerate(self.query.aggregates):
            unit, whole = self.reading.units[i], self._is_whole(one)
            totals = _running(counter, noisy[:, i], unit, whole=whole)
            added = np.diff(totals, axis=0, prepend=np.zeros((1, groups), dtype=totals.dtype))
            told = (
                (one.name, totals, counter.error),
                (f"{one.name}_added", added, counter.increment_error),
            )
            for rounding, (name, numbers, width) in enumerate(told, 1):
                off = [width(0.95, t) * unit + whole * rounding / 2 for t in range(1, done + 1)]
                columns[name] = pa.array(numbers.ravel())
                widths[name] = pa.array(np.repeat(off, groups), pa.float64())
        said = replace(facts_of(self.query), keys=(self.every, *(k.name for k in self.query.keys)))
        return Release(
            pa.table(columns),
            widths,
            dict.fromkeys(widths, "exact"),
            self.price,
            counter.guarantee,
            (Cost("all periods", "Gaussian", counter.guarantee),),
            (
                self._bounds_said(),
                f"{done} of {len(self.calendar)} periods have been answered",
                *self._grids_said(),
            ),
            said,
        )

    def _grids_said(self) -> Iterator[str]:
        for one, summed in zip(self.query.aggregates, self.reading.statistics, strict=True):
            if isinstance(summed, Total) and (summed.grid.step != 1 or not self._is_whole(one)):
                yield (
                    f"{one.name} rounds each value to the nearest multiple of {summed.grid.step:g};"
                    " its interval does not allow for that: a million rows move a total by "
                    f"{summed.grid.step * 500_000:g} at most"
                )

    def _is_whole(self, one: Aggregate) -> bool:
        """Whether an aggregate is released as whole numbers: counts, and sums of integers."""
        scope = columns_of(self.query.relation)
        return not one.arguments or (
            one.measure is AggregateFunction.COUNT
            or infer(one.arguments[0], scope).kind is Kind.INTEGER
        )

    @property
    def _who(self) -> str:
        unit = self.reading.table.unit
        return unit.who if isinstance(unit, PersonPeriod) else "one person"

    def _bounds_said(self) -> str:
        bounds = self.reading
        return (
            f"one price for all periods; Gaussian noise; {self._who} counts for at most "
            f"{counted(bounds.max_rows, 'row')} in each of at most "
            f"{counted(bounds.max_periods, 'period')}, the first with rows; whoever has more in "
            "one is weighted down, and later ones count for nothing; rows that arrive late count "
            "in the period in which they arrive"
        )


def _running(
    counter: FactorizedCount, measured: NDArray[np.float64], unit: float, *, whole: bool
) -> NDArray[Any]:
    """Running totals in the unit of an aggregate, period by group."""
    answers = [counter.running(column * 2.0**-BITS) * unit for column in measured.T]
    totals = np.array(answers).T.reshape(measured.shape)
    edge = float(1 << 62)
    return np.rint(np.clip(totals, -edge, edge)).astype(np.int64) if whole else totals


_FIELDS: Final = spec_fields(StreamArguments, "sql")
_FIX: Final = 'pass {"sql": "SELECT ...", "every": "day", "until": "2026-12-31", "epsilon": "1"}'


def _read_stream(said: Mapping[str, Any], query: Query) -> UnpricedOrder[StreamOrder]:
    check_counts(query)
    column = date_column(query, said.get("column"))
    every = said["every"]
    if every not in PERIODS or (every == "hour" and date_kind(query, column) is Kind.DATE):
        raise InputError(
            f"a standing question every {str(every)[:50]}",
            why=f"periods are {', '.join(PERIODS)}; those of dates are a day at least",
            fix='pass every="day"',
        )
    names = [one.name for one in query.aggregates]
    distinct([every, *(key.name for key in query.keys), *names, *(f"{n}_added" for n in names)])
    ends, since = columns_of(query.relation)[column].range, said.get("since")
    if not since and ends is not None:
        since = moment(ends.low, date_kind(query, column)).isoformat()[: len("2026-01-01")]
    if not since:
        raise InputError(
            "a standing question without a beginning",
            why=f"{column} has no bounds whose lower end it could begin with",
            fix="pass since=date(2026, 1, 1)",
        )
    asked = read_asked(said)
    order = StreamOrder(
        query,
        column,
        every,
        dt.date.fromisoformat(since),
        dt.date.fromisoformat(said["until"]),
        whole(said.get("max_periods", 1), "max_periods", at_least=1),
        read_max_rows(said, query.relation.facts.tables[0]),
        Price(asked[0]),
        Neighbours.ADD_REMOVE,
    )
    _check_calendar(order)
    return order.draft(asked, said["sql"], as_of=1)  # whatever has been appended since


def _check_calendar(order: StreamOrder) -> None:
    periods = len(order.calendar) if order.since <= order.until else 0
    numbers = periods * order.query.group_count * len(order.query.aggregates)
    if not 0 < periods <= MOST_PERIODS or numbers > MOST_NUMBERS:
        raise InputError(
            f"a standing question over {periods:,} periods and {numbers:,} numbers",
            why=f"it has 1 to {MOST_PERIODS:,} periods and {MOST_NUMBERS:,} numbers at most",
            fix="set another until or since, or ask every week",
        )
