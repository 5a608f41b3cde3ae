"""Questions over the wire: through the same service as those over HTTP, and returned as rows."""

import math
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from discreet.answer.estimate.aggregates import outputs_of
from discreet.answer.present.number_text import percent
from discreet.answer.present.release import Release, as_table
from discreet.answer.present.release_files import free
from discreet.curator.ledger.orders import Receipt, State
from discreet.curator.orders.planned_orders import Offer
from discreet.curator.orders.query_orders import QueryOrder
from discreet.errors import InputError, QueryRefused
from discreet.plan.expressions import Column
from discreet.plan.kinds import Type
from discreet.plan.query import Query
from discreet.plan.typing import infer
from discreet.server.app_state import LARGE, ServerCall
from discreet.server.permissions import allowed
from discreet.server.postgres.messages import PostgresError, ResultColumn, as_reply
from discreet.server.postgres.session_settings import SessionSettings
from discreet.server.postgres.statements import Rewritten
from discreet.server.postgres.values import FLOAT8, OIDS, oid_of

_ASKERS: Final = allowed("owner", "analyst")
_ROWS: Final = 4096
_SLICE: Final = 0.5
"""Seconds after which somebody who waits looks whether they still have to."""

_LONGEST: Final = 3600.0
_ANY: Final = Fraction(1, 10)
"""An epsilon to find out with which columns a question has."""

_ARROW: Final = {
    "boolean": pa.bool_(), "integer": pa.int64(), "real": pa.float64(), "text": pa.string(),
    "date": pa.date32(), "timestamp": pa.timestamp("us"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """A column of an answer: its place in the result, and what of which released column it is."""

    column: ResultColumn
    source: str
    end: str | None
    type: Type

    @property
    def arrow(self) -> pa.DataType:
        """The type of its values."""
        return pa.float64() if self.end else _ARROW[self.type.kind.value]


@dataclass(frozen=True, slots=True)
class WireQuestion:
    """A question as a connection asks it: its SQL, its price and how it is to be shown.

    `probe` wants the columns and no rows, which costs nothing.
    """

    sql: Rewritten
    intervals: bool
    probe: bool = False

    def columns(self, call: ServerCall, settings: SessionSettings) -> tuple[ResultColumn, ...]:
        """Column types of the answer; nothing is charged."""
        if (free := self._free(call)) is not None:
            return columns_of(free)
        offer = self._offered(call, settings, any_price=True)
        return tuple(one.column for one in _shown(offer.planned, self.intervals))

    def explain(self, call: ServerCall, settings: SessionSettings) -> list[str]:
        """Cost and expected error; nothing is charged."""
        if self._free(call) is not None:
            return ["public tables alone: exact and free"]
        offer = self._offered(call, settings)
        with call.planning(len(self.sql.text)):
            told = repr(call.session.explain(offer))
        return told.splitlines()

    def ask(
        self, call: ServerCall, settings: SessionSettings, stop: threading.Event
    ) -> tuple[tuple[ResultColumn, ...], pa.Table, dict[str, str]]:
        """Charge it and wait for the answer: its columns, its rows, and what it cost as a notice.

        Once `stop` is set nothing is charged, and what was is given up; the charge stays. What is
        about public tables alone is exact and free.
        """
        if (free := self._free(call)) is not None:
            rows = free.slice(0, 0) if self.probe else free
            return columns_of(free), _numbered(rows.columns), {}
        offer = self._offered(call, settings, any_price=self.probe)
        shown = _shown(offer.planned, self.intervals)
        columns = tuple(one.column for one in shown)
        if self.probe:
            return columns, _numbered([pa.array([], one.arrow) for one in shown]), {}
        if stop.is_set():
            raise cancelled()
        receipt = call.session.service.charge(offer)
        size = 0 if receipt.release is None else len(receipt.release)
        with call.reading(size):
            release = _awaited(call, receipt, stop)
            cells = [_values(one, release).cast(one.arrow, safe=False) for one in shown]
            table = _spilled(_numbered(cells))
        charged = receipt.state is State.CHARGED
        return columns, table, _notice(call, offer, release, charged=charged)

    def _free(self, call: ServerCall) -> pa.Table | None:
        """The answer to what is about public tables alone."""
        _ASKERS.check(call.caller)
        with self._placed():
            text = self.sql.text
            found = call.offered(lambda: call.session.public(text), len(text))
        return None if found is None else found.table

    def _offered(
        self, call: ServerCall, settings: SessionSettings, *, any_price: bool = False
    ) -> Offer[QueryOrder]:
        _ASKERS.check(call.caller)
        terms = settings.terms(or_else=_ANY if any_price else None)
        text, name = self.sql.text, call.caller.name
        with self._placed():
            return call.offered(lambda: call.session.offer(text, terms, name), len(text))

    @contextmanager
    def _placed(self) -> Iterator[None]:
        """Point refusals into what the client sent."""
        try:
            yield
        except QueryRefused as refused:
            told = as_reply(refused)
            if refused.start is not None:
                told.position = self.sql.position(refused.start)
            raise told from None


def columns_of(table: pa.Table) -> tuple[ResultColumn, ...]:
    """The columns of a result, by the types that a table has."""
    return tuple(ResultColumn(one.name, oid_of(one.type)) for one in table.schema)


def cancelled() -> PostgresError:
    """The client gave up."""
    hint = "a charge stays; what was not measured yet is given up for ever, other answers are free"
    return PostgresError("57014", "the statement was cancelled", hint=hint)


def _awaited(call: ServerCall, receipt: Receipt, stop: threading.Event) -> Release:
    session, end = call.session, time.monotonic() + _LONGEST
    release = session.pursue(receipt, patience=_SLICE, schedule=call.schedule)
    while release is None:
        if stop.is_set() or time.monotonic() > end:
            with suppress(InputError):  # it is answered already
                session.cancel(receipt.sequence, by=call.caller.name, for_all=False)
            raise cancelled()
        release = session.resume(receipt.sequence, patience=_SLICE, schedule=call.schedule)
    return as_table(release)


def _spilled(table: pa.Table) -> pa.Table:
    """A large table on disk, in a file without a name: many who read slowly take no memory."""
    if table.nbytes <= LARGE:
        return table
    with tempfile.NamedTemporaryFile(prefix="discreet-") as file:
        with pa.ipc.new_file(file, table.schema) as sink:
            sink.write_table(table, max_chunksize=_ROWS)
        file.flush()
        return pa.ipc.open_file(pa.memory_map(file.name)).read_all()


def _shown(planned: QueryOrder, intervals: bool) -> tuple[AnswerColumn, ...]:  # noqa: FBT001 - a setting
    query = planned.plan.query
    named = list(_types(query))
    taken, found = {name for name, _, _ in named}, []
    for name, of, key in named:
        found.append(AnswerColumn(ResultColumn(name, OIDS[of.kind]), name, None, of))
        for end in ("low", "high") if intervals and of.kind.is_number and not key else ():
            column = ResultColumn(free(f"{name}_{end}", taken), FLOAT8)
            found.append(AnswerColumn(column, name, end, of))
    return tuple(found)


def _types(query: Query) -> Iterator[tuple[str, Type, bool]]:
    """The released columns: name, type, and whether it is a key and has no noise."""
    if query.then is not None:
        yield from ((name, of, False) for name, of in query.then.columns.items())
        return
    columns, keys = query.released_columns, {key.name for key in query.keys}
    for out in outputs_of(query):
        key = isinstance(out.expression, Column) and out.expression.name in keys
        yield out.name, infer(out.expression, columns), key


def _values(one: AnswerColumn, release: Release) -> Any:
    values = release.table.column(one.source)
    if one.end is None:
        return values
    if one.source not in release.half_widths:
        return pa.nulls(len(values), pa.float64())
    move = pc.subtract if one.end == "low" else pc.add
    return move(values.cast(pa.float64(), safe=False), release.half_widths[one.source])


def _numbered(columns: Sequence[Any]) -> pa.Table:
    """Columns under numbers: names may occur twice."""
    return pa.table(list(columns), names=[str(place) for place in range(len(columns))])


def _notice(
    call: ServerCall, offer: Offer[QueryOrder], release: Release, *, charged: bool
) -> dict[str, str]:
    """Cost, remaining budget and notes of an answer."""
    if not charged:
        said = "free: this was answered before"
    else:
        parts = [f"charged epsilon {float(release.price.epsilon):g}"]
        now = {one.holder: one for one in call.session.accounts()}
        for account, cost in offer.bill().items():
            if account.cap is not None:
                current = now.get(account.holder, account)
                left = math.floor(1000 * (1 - current.share(current.total))) / 10
                parts.append(
                    f"{percent(account.share(cost))} of the budget of {account.holder}, "
                    f"{max(0.0, left):g} % is left"
                )
        said = "; ".join(parts)
    return {"C": "00000", "M": said, "D": "; ".join(release.notes)}
