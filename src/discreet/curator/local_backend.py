"""Questions and orders answered in this process: read, priced, charged, computed, stored.

Questions about public tables alone are exact, charged to nobody and stored nowhere. No private
table is read for them: the reader sees the public ones alone. The answer, its time and refusals
depend on public rows.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar, cast

import pyarrow as pa

from discreet.answer.estimate.answer_tables import compute_table, placed_rows
from discreet.answer.estimate.released_sql import DRAWS, public_name
from discreet.answer.measurement_plan import check_rows, read_public_rows
from discreet.answer.plan.explain import Explanation, recall
from discreet.answer.plan.price import Price
from discreet.answer.present.base_release import BaseRelease
from discreet.answer.present.release import Release, as_table
from discreet.curator.answer_service import AnswerService
from discreet.curator.arguments import unknown
from discreet.curator.data.data_store import DataStore
from discreet.curator.data.registry import Registry
from discreet.curator.data.table_checks import known_dataset
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import Order, request_name
from discreet.curator.orders.online_epochs import OnlineEpochs, OnlineReply
from discreet.curator.orders.order_kinds import kind_named
from discreet.curator.orders.planned_orders import OWNER, Offer, PlannedOrder, StoredOrder, Terms
from discreet.curator.orders.profile_release import held_over, read_bounded
from discreet.curator.orders.query_orders import QueryOrder, unpriced_query
from discreet.curator.orders.streams.streams import Streams
from discreet.curator.people.person_statement import check_remeasure
from discreet.curator.question_backend import OrderRequest, QuestionBackend, Quote
from discreet.curator.remeasure import merge, told_before, told_lately
from discreet.curator.workbook import AskedQuestion, open_workbook
from discreet.errors import QueryRefused
from discreet.plan import canonical
from discreet.plan import released_tables as released
from discreet.plan.expressions import Column, mentions, remember
from discreet.plan.query import Query
from discreet.plan.relations import Relation
from discreet.plan.schema import PersonPeriod, Schema, Table
from discreet.privacy import Neighbours, Pure
from discreet.sql.reader.read import read, read_public, reads_clock, split_version, writes_rows
from discreet.workload.online import OnlineState

T = TypeVar("T")


@dataclass(frozen=True)
class LocalBackend(QuestionBackend):
    """Answers with the data and the ledger of this process.

    `scope` are the datasets that can be asked about; None for all.
    """

    ledger: Ledger
    data_store: DataStore
    service: AnswerService
    epochs: OnlineEpochs
    streams: Streams
    neighbours: Neighbours
    scope: frozenset[str] | None = None

    @property
    def tables(self) -> Registry:
        """All tables in sight."""
        return self.data_store.tables.within(self.scope)

    @property
    def schema(self) -> Schema:
        """The schema of all visible tables."""
        return self.tables.schema

    # --- answers --------------------------------------------------------------------------------

    def public(self, text: str, *, priced: bool = True) -> Release | None:
        """The answer to a question about public tables alone; None where it is another."""
        del priced  # whatever was offered, it is free
        tables = self.data_store.tables
        if not isinstance(text, str) or not (tables.has_public or writes_rows(text)):
            return None
        table = _read(tables, self.scope, text, read_public)
        if table is None:  # it names others
            return None
        self.service.check_data(sorted({one.name for one in released.public_tables(table)}))
        return answer_public(table, self.data_store, self.neighbours)

    def place(self, asked: OrderRequest) -> BaseRelease:
        """Charge an order durably, compute it, store it; or find the stored release."""
        offer = self.priced(asked)
        return self.answered(offer, asked.request).with_share(offer.share)

    def remeasure(self, asked: OrderRequest) -> Release:
        """Answer a question again, merged with its analyst's earlier answer."""
        offer = self.priced(asked)
        check_remeasure(offer.planned)
        order = offer.order()
        known = self.ledger.find_question(order) is not None
        fresh = as_table(self.answered(offer))
        return replace(self.merged(order, fresh, order.analyst), paid_before=known)

    def merged(self, order: Order, fresh: Release, analyst: str) -> Release:
        """An answer, merged with an analyst's earlier answer to the same question."""
        query = StoredOrder.parse(order.plan).question(self.schema)
        return merge(query, fresh, told_before(self.ledger, replace(order, analyst=analyst)))

    def quote(self, asked: OrderRequest) -> Quote:
        """The price of an order; no data is touched."""
        offer = self.priced(asked)
        explain: Callable[[], Any] = partial(getattr, offer, "explanation")
        if asked.terms is not None:
            explain = partial(self.explain, cast("Offer[QueryOrder]", offer))
        return Quote(explain, offer.bill, partial(self.sequence, offer))

    def explain(self, offer: Offer[QueryOrder]) -> Explanation:
        """How accurate an answer will be, given its analyst's earlier answer."""
        told = replace(offer.planned.plan.explain(offer.at.dialect), share=offer.takes)
        return recall(told, told_lately(self.ledger, offer.order()))

    def sequence(self, offer: Offer[PlannedOrder]) -> int:
        """The number of the charge of an offer that was placed, whatever was appended since."""
        found = self.ledger.find_question(offer.order())
        assert found is not None  # noqa: S101 - narrowing: it was placed
        return found.sequence

    def answered(self, offer: Offer[PlannedOrder], request: str | None = None) -> BaseRelease:
        """The release of an offer, charged and computed if need be."""
        return self.service.answer(offer, request_name(offer.at.analyst, request))

    def ask_online(
        self,
        charge: int,
        wheres: Sequence[Mapping[str, Any]],
        confidence: float,
        by: str | None = None,
        planning: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> OnlineReply:
        """Answer counting queries under the charge of an epoch."""
        return self.epochs.ask(charge, wheres, confidence=confidence, by=by, planning=planning)

    def online_state(self, charge: int) -> OnlineState:
        """The public state of an epoch."""
        return self.epochs.state(charge)

    def workbook(
        self, dataset: str, name: str, share: Fraction, analyst: str | None
    ) -> list[AskedQuestion]:
        """Open a workbook of the ledger, or find it; the questions that it has paid for."""
        who = OWNER if analyst is None else analyst
        return open_workbook(self.ledger, known_dataset(self.tables, dataset), who, name, share)

    def stored(self, charge: int) -> Release:
        """The stored answer of a charge."""
        return Release.from_bytes(self.ledger.release(charge) or b"")

    def stream_release(self, charge: int, by: str | None = None) -> Release:
        """A standing question, after the periods that are complete by now."""
        return self.streams.release(charge, by)

    def hold(
        self, relation: Relation, make: Callable[[Relation], Query], analyst: str | None
    ) -> Query | None:
        """A question with bounds from profiles that its analyst has; None without any."""
        seen = self.tables
        names = (self.ledger, list(seen.datasets()), OWNER if analyst is None else analyst)
        return read_bounded(lambda views: make(held_over(relation, views)), seen.schema, *names)

    # --- prices ---------------------------------------------------------------------------------

    def priced(self, asked: OrderRequest) -> Offer[PlannedOrder]:
        """Price any question or order."""
        if isinstance(asked.asked, Mapping) or asked.terms is None:
            return self.offer_order(asked.kind, asked.asked, asked.analyst)  # type: ignore[arg-type]
        return self.offer(asked.asked, asked.terms, asked.analyst)

    def offer(self, question: str | Query, terms: Terms, analyst: str | None) -> Offer[QueryOrder]:
        """Price a question that speaks of nothing but what can be seen from here."""
        if not isinstance(question, Query):
            plain, version = split_version(question)
            query = self._read(plain, OWNER if analyst is None else analyst)
            terms = terms.on_version(version)
        elif self.scope is None:
            query = question
        else:
            query = canonical.read(canonical.write(question), self.schema)
        text = question if isinstance(question, str) else None
        unpriced = unpriced_query(query, terms, text)
        return self.service.offer(unpriced, OWNER if analyst is None else analyst)

    def offer_order(
        self, kind: str, spec: Mapping[str, Any], analyst: str | None
    ) -> Offer[PlannedOrder]:
        """Price an order that reads nothing but what can be seen from here."""
        seen = self.tables
        orders = kind_named(kind)
        unpriced = orders.parse(spec, seen.schema)
        if hidden := sorted(unpriced.tables - seen.tables.keys()):
            raise unknown("table", hidden[0], seen.tables)
        about = (seen.tables[name].table for name in unpriced.tables)
        units = [one.unit for one in about if isinstance(one, Table)]
        if not orders.says_periods and any(isinstance(unit, PersonPeriod) for unit in units):
            raise QueryRefused(
                f"an order of kind {kind} about people in periods",
                why="its statement would speak of whole people, who are not protected",
                fix="ask questions in SQL, or add the data with the person as its unit",
                code="unit",
            )
        return self.service.offer(unpriced, OWNER if analyst is None else analyst)

    def _read(self, text: str, analyst: str) -> Query:
        """A question in SQL; missing bounds come from a profile that the analyst has."""
        try:
            return _read(self.data_store.tables, self.scope, text, read)
        except QueryRefused:
            seen = self.tables
            names = (self.ledger, list(seen.datasets()), analyst)
            schema = seen.schema
            make = lambda views: read(text, schema, views=views)  # noqa: E731
            found = read_bounded(make, schema, *names) if isinstance(text, str) else None
            if found is None:
                raise
            return found


# --- reading ------------------------------------------------------------------------------------


def _read(
    tables: Registry, scope: frozenset[str] | None, text: str, reads: Callable[[str, Schema], T]
) -> T:
    """A text as far as it can be seen; one that was read lately is not read again."""
    if isinstance(text, str) and len(text) <= _SHORT and not reads_clock(text):
        return _read_lately(tables, scope, text, reads)
    return reads(text, tables.within(scope).schema)


@remember(512)
def _read_lately(
    tables: Registry, scope: frozenset[str] | None, text: str, reads: Callable[[str, Schema], T]
) -> T:
    return reads(text, tables.within(scope).schema)


_SHORT: Final = 4096
"""Characters of a question that is worth remembering."""


_Size: TypeAlias = tuple[int, frozenset[str] | None]
"""How many rows a table has at most, and columns known to identify them, if any."""

EXACT: Final = "computed from public tables alone: exact and free"


def answer_public(
    table: released.ReleasedTable, store: DataStore, neighbours: Neighbours
) -> Release:
    """Compute a question that `read_public` has read, from the rows of its tables as they are."""
    tables = released.public_tables(table)
    rows = read_public_rows(store.open([one.name for one in tables]), tables)
    _bound(table, {one.name: (len(rows[one.name]), frozenset(one.key)) for one in tables})
    named = {public_name(name): placed_rows(one) for name, one in rows.items()}
    shown = compute_table(table, named | {DRAWS: pa.table({"_draw": [0]})})
    return Release(shown, {}, {}, Price.free(), Pure(0, neighbours=neighbours), (), (EXACT,))


def _bound(table: released.ReleasedTable, leaves: Mapping[str, _Size]) -> _Size:
    """The size of a table; what has too large a step is refused."""
    below = [_bound(one, leaves) for one in table.inputs]
    match table:
        case released.PublicRows(of):
            return leaves[of.name]
        case released.ConstantRows(_, listed):
            return len(listed), None
        case released.JoinedTables():
            rows, key = _bound_join(table, *below)
            return check_rows(rows), key
        case released.StackedTables():
            return check_rows(sum(rows for rows, _ in below)), None
        case released.RegroupedTable(_, keys, _):
            return (below[0][0] if keys else 1), frozenset(one.name for one in keys)
        case released.ComputedTable(_, outputs):
            rows, key = below[0]
            kept = {o.expression.name: o.name for o in outputs if isinstance(o.expression, Column)}
            known = key is not None and key <= kept.keys()
            return rows, frozenset(kept[one] for one in key or ()) if known else None
        case released.SortedTable(_, _, limit, _) if limit is not None:
            return min(limit, below[0][0]), below[0][1]
    return below[0]


def _bound_join(table: released.JoinedTables, left: _Size, right: _Size) -> _Size:
    """Bound on a join by a key: each row of the other side meets at most one."""
    met = set[str]()
    for sides in table.equalities:
        for this, other in (sides, sides[::-1]):
            side = table.left if mentions(this) <= table.left.columns.keys() else table.right
            if isinstance(this, Column) and mentions(other).isdisjoint(side.columns):
                met.add(this.name)
    (n, first), (m, second) = left, right
    unmatched = {released.JoinKind.INNER: 0, released.JoinKind.LEFT: n}
    more = unmatched.get(table.kind, n + m)
    if second is not None and second <= met:
        return max(n, more), first if not more else None
    if first is not None and first <= met:
        return m + more, second if not more else None
    return n * m + more, None
