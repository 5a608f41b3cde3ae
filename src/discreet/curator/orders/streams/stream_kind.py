"""How a standing question is read: from those who ask it, and from the ledger."""

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from discreet.answer.plan.price import Price
from discreet.answer.present.release import Release
from discreet.curator.arguments import expect, read_fields, readable
from discreet.curator.ledger.orders import Order
from discreet.curator.orders.histogram_orders import gaussian_price
from discreet.curator.orders.planned_orders import DraftOrder, OrderKind, QuoteContext
from discreet.curator.orders.query_orders import Asked, read_asked
from discreet.curator.orders.streams.stream_orders import (
    MOST_NUMBERS,
    MOST_PERIODS,
    StreamOrder,
    date_kind,
)
from discreet.curator.orders.streams.stream_reading import COARSEST
from discreet.errors import InputError, QueryRefused
from discreet.plan import canonical
from discreet.plan.expressions import Column
from discreet.plan.kinds import Kind
from discreet.plan.query import AggregateFunction, Query
from discreet.plan.relations import columns_of
from discreet.plan.schema import PERIODS, KeyPath, PersonPeriod, Schema, distinct
from discreet.privacy import Neighbours
from discreet.rationals import whole
from discreet.sql.reader.read import read

_FIELDS: Final = (
    *("sql", "every", "since", "until", "column", "max_periods", "max_rows", "epsilon", "delta"),
)
_ADDED_UP: Final = (AggregateFunction.COUNT, AggregateFunction.SUM)
_FIX: Final = 'pass {"sql": "SELECT ...", "every": "day", "until": "2026-12-31", "epsilon": "1"}'


@dataclass(frozen=True)
class UnpricedStream(DraftOrder[StreamOrder]):
    """A standing question and what it is asked for."""

    asked_price: Asked
    sql: str

    def check_remote(self) -> None:
        """Refuse it: nothing is appended to a table on a server."""
        raise QueryRefused(
            "a standing question about a table on a server",
            why="periods end with rows that are appended, and a server is only read",
            fix="add the rows as a file and append to it, or ask once",
            code="stream",
        )

    @property
    def asked(self) -> str:
        """The SQL as it was written."""
        return self.sql

    @property
    def as_of(self) -> int:
        """The first version: it is the same question whatever has been appended since."""
        return 1

    def plan(self, at: QuoteContext) -> StreamOrder:
        """Settle the price; refused where there is no delta."""
        price = gaussian_price(self.asked_price, at, "a standing question")
        planned = replace(self.order, price=price, neighbours=at.neighbours).on_finest_grid()
        _ = planned.guarantees, planned.reading.table  # whatever cannot be measured is refused now
        return planned


class StreamKind(OrderKind):
    """Standing questions: `sql`, `every`, `until`, `epsilon`, and perhaps more.

    `column` has the dates of rows, `since` is the first day that counts. One person counts in at
    most `max_periods` periods, with `max_rows` rows in each.
    """

    name = "stream"

    def parse(self, spec: Mapping[str, Any], schema: Schema) -> UnpricedStream:
        """Read counts, periods and price."""
        needed = ("sql", "every", "until", "epsilon")
        said = read_fields(spec, "a standing question", needed=needed, allowed=_FIELDS)
        expect(said["sql"], str, "sql", fix=_FIX)
        query = read(said["sql"], schema)
        with readable("a standing question", _FIX):
            return _read_stream(said, query)

    def read(self, order: Order, schema: Schema) -> StreamOrder:
        """The plan that was stored; its grid is a decision, and was once a part of the text."""
        stored = json.loads(order.plan)
        decided = {**stored, **(order.decisions or {})}
        rho = decided.get("rho")
        return StreamOrder(
            canonical.read(stored["query"], schema),
            stored["column"],
            stored["every"],
            dt.date.fromisoformat(stored["since"]),
            dt.date.fromisoformat(stored["until"]),
            stored["max_periods"],
            stored["max_rows"],
            self.price(order),
            Neighbours(stored["neighbours"]),
            decided.get("grid_bits", COARSEST),
            None if rho is None else Fraction(rho),
        )

    def release(self, stored: bytes) -> Release:
        """The beginning of a standing question: a table without rows."""
        return Release.from_bytes(stored)


def _read_stream(said: Mapping[str, Any], query: Query) -> UnpricedStream:
    _check_counts(query)
    column = _date_column(query, said.get("column"))
    every = said["every"]
    if every not in PERIODS or (every == "hour" and date_kind(query, column) is Kind.DATE):
        raise InputError(
            f"a standing question every {str(every)[:50]}",
            why=f"periods are {', '.join(PERIODS)}; those of dates are a day at least",
            fix='pass every="day"',
        )
    names = [one.name for one in query.aggregates]
    distinct([every, *(key.name for key in query.keys), *names, *(f"{n}_added" for n in names)])
    low = columns_of(query.relation)[column].range
    since = said.get("since") or (None if low is None else _day(low.low, date_kind(query, column)))
    if since is None:
        raise InputError(
            "a standing question without a beginning",
            why=f"{column} has no bounds whose lower end it could begin with",
            fix="pass since=date(2026, 1, 1)",
        )
    stated = query.relation.facts.tables[0].limits
    rows = said.get("max_rows", (stated.max_groups or 1) * (stated.max_rows or 1))
    asked = read_asked(said)
    order = StreamOrder(
        query,
        column,
        every,
        dt.date.fromisoformat(since),
        dt.date.fromisoformat(said["until"]),
        whole(said.get("max_periods", 1), "max_periods", at_least=1),
        whole(rows, "max_rows", at_least=1),
        Price(asked[0]),
        Neighbours.ADD_REMOVE,
    )
    _check_calendar(order)
    return UnpricedStream(order, asked, said["sql"])


def _check_counts(query: Query) -> None:
    """Refuse what continual counting does not answer, before anything is charged."""
    shown = {*(key.name for key in query.keys), *(one.name for one in query.aggregates)}
    plain = all(out.expression == Column(out.name) and out.name in shown for out in query.outputs)
    unit = query.relation.facts.tables[0].unit
    simple = query.aggregates and all(one.measure in _ADDED_UP for one in query.aggregates)
    more = query.having or query.order or query.limit is not None or query.offset
    if isinstance(unit, KeyPath):
        what, fix = "about a table that names people by way of another", "name them in the table"
    elif not simple or not plain or more or len(query.sets) > 1:
        what = "of more than counts and sums"
        fix = "ask SELECT city, COUNT(*), SUM(x) FROM ... GROUP BY city"
    elif not query.has_known_keys:
        what, fix = "whose groups are not listed", "declare Keys([...]) for its columns"
    else:
        return
    raise QueryRefused(
        f"a standing question {what}",
        why="what it counts has to be the same rows of the same people in every period",
        fix=fix,
        code="stream",
    )


def _check_calendar(order: StreamOrder) -> None:
    periods = len(order.calendar) if order.since <= order.until else 0
    numbers = periods * order.query.group_count * len(order.query.aggregates)
    if not 0 < periods <= MOST_PERIODS or numbers > MOST_NUMBERS:
        raise InputError(
            f"a standing question over {periods:,} periods and {numbers:,} numbers",
            why=f"it has 1 to {MOST_PERIODS:,} periods and {MOST_NUMBERS:,} numbers at most",
            fix="set another until or since, or ask every week",
        )


def _date_column(query: Query, said: str | None) -> str:
    """The column that tells the period of a row: the one that is named, the unit's, or the only."""
    scope, [table, *_] = columns_of(query.relation), query.relation.facts.tables
    times = [name for name, of in scope.items() if of.kind.is_time]
    if said is None and isinstance(table.unit, PersonPeriod):
        said = table.unit.period
    if said is None and len(times) == 1:
        [said] = times
    if said in times:
        return str(said)
    raise InputError(
        "a standing question without a column of dates",
        why=f"the columns that tell when rows happened are {', '.join(times) or 'none'}",
        fix="name one: column='day'",
    )


def _day(low: float, kind: Kind) -> str:
    days = low if kind is Kind.DATE else low // 86_400_000_000
    return (dt.date(1970, 1, 1) + dt.timedelta(days=int(days))).isoformat()
