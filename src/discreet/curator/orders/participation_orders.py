"""How many people still take part: a question that can be asked again as they run out of budget."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from discreet.answer.present.release import Release
from discreet.curator.arguments import read_fields, unknown
from discreet.curator.ledger.orders import Order
from discreet.curator.orders.planned_orders import OrderKind, Terms, UnpricedOrder
from discreet.curator.orders.query_orders import (
    QueryKind,
    QueryOrder,
    read_asked,
    unpriced_query,
)
from discreet.plan.builder import From, count_people
from discreet.plan.relations import Scan
from discreet.plan.schema import Schema, Table
from discreet.rationals import whole

_FIELDS: Final = ("table", "epsilon", "delta", "again")
_COLUMN: Final = "participants"


@dataclass(frozen=True, slots=True)
class Participation:
    """How many people took part in a count of them, beside how many did in the first one.

    `share` is told by two noisy counts; `low` and `high` allow for the noise of both, each 95 times
    in 100. It says nothing of who they are, nor of people who had run out before the first count.
    """

    now: Release
    first: Release

    @property
    def share(self) -> float:
        """The share of the first participants that is left."""
        return max(0.0, _count(self.now)[0] / max(1.0, _count(self.first)[0]))

    @property
    def low(self) -> float:
        """The least that noise allows for."""
        (now, off), (first, wide) = _count(self.now), _count(self.first)
        return max(0.0, (now - off) / max(1.0, first + wide))

    @property
    def high(self) -> float:
        """The most that noise allows for."""
        (now, off), (first, wide) = _count(self.now), _count(self.first)
        return max(0.0, (now + off) / max(1.0, first - wide))

    def __str__(self) -> str:
        return f"{self.share:.0%} of the first participants ({self.low:.0%} to {self.high:.0%})"


def _count(release: Release) -> tuple[float, float]:
    off = release.half_widths[_COLUMN][0].as_py()
    return float(release.table.column(_COLUMN)[0].as_py()), float("inf") if off is None else off


@dataclass(frozen=True, slots=True)
class ParticipationOrder(QueryOrder):
    """A count of people; `again` tells it from earlier ones, of which more may have taken part."""

    again: int
    kind = "participation"

    def __post_init__(self) -> None:
        QueryOrder.__post_init__(self)  # slots make another class of this one: no super()
        counted = {**json.loads(self.text), "again": self.again}
        object.__setattr__(self, "text", json.dumps(counted, sort_keys=True))


class ParticipationKind(OrderKind):
    """Counts of people: `table`, `epsilon`, perhaps `delta`, and `again`: 0, 1, 2 and so on."""

    name = "participation"

    def parse(self, spec: Mapping[str, Any], schema: Schema) -> UnpricedOrder[ParticipationOrder]:
        """A count of everybody in a table who can pay for it."""
        facts = read_fields(spec, "participation", needed=("table", "epsilon"), allowed=_FIELDS)
        table = schema.tables.get(str(facts["table"]))
        if not isinstance(table, Table):
            raise unknown("private table", str(facts["table"]), schema.tables)
        terms = Terms(*read_asked(facts))
        again = whole(facts.get("again", 0), "again", at_least=0)
        question = From(Scan(table)).agg(**{_COLUMN: count_people()}).query()
        count = unpriced_query(question, terms, f"participants of {table.name}")
        return UnpricedOrder(
            count.tables,
            count.work,
            lambda at: ParticipationOrder(count.plan(at).plan, again),
            count.asked,
            by_person=True,
        )

    def read(self, order: Order, schema: Schema) -> ParticipationOrder:
        """The plan that was stored."""
        again = whole(json.loads(order.plan)["again"], "again", at_least=0)
        return ParticipationOrder(QueryKind().read(order, schema).plan, again)

    release = staticmethod(Release.from_bytes)
