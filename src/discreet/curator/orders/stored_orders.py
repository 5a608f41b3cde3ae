"""Read the stored text of an order: the only place that does.

The text is JSON with tags that never change. It says what is asked and for how much; what was
decided about measuring it stands beside it, and is no part of the question's name.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.answer.plan.price import Price
from discreet.curator.orders.planned_orders import price_facts, read_price
from discreet.plan import canonical
from discreet.plan.bounding import NoiseKind
from discreet.plan.query import Query
from discreet.plan.schema import Schema
from discreet.privacy import Neighbours


@dataclass(frozen=True, slots=True)
class StoredOrder:
    """A question as it was charged: its canonical text, its price, its noise and its neighbours."""

    query: str
    price: Price
    noise_kind: NoiseKind
    neighbours: Neighbours

    @staticmethod
    def parse(text: str) -> "StoredOrder":
        """Read the text of an order."""
        stored = json.loads(text)
        return StoredOrder(
            stored["query"],
            read_price(stored),
            NoiseKind(stored["law"]),
            Neighbours(stored["neighbours"]),
        )

    def __str__(self) -> str:
        facts = {"query": self.query, "law": self.noise_kind.value}
        return json.dumps({**facts, **price_facts(self.price, self.neighbours)}, sort_keys=True)

    def question(self, schema: Schema) -> Query:
        """The question, against the tables as they are described."""
        return canonical.read(self.query, schema)

    @property
    def tables(self) -> frozenset[str]:
        """The names of all tables that it speaks of, public ones too."""
        return names_of(self.query)

    @property
    def unweighted(self) -> str:
        """The canonical text without how much the error of each column matters."""
        if _WEIGHED not in self.query:  # most are not: there may be very many to look at
            return self.query
        query = json.loads(self.query)
        for aggregate in query["aggregates"]:
            aggregate.pop("weight", None)
        return json.dumps(query, sort_keys=True, separators=(",", ":"))

    @property
    def weights(self) -> dict[str, Fraction]:
        """How much the error of each column matters, where that was said."""
        query = json.loads(self.query)
        stated = query.get("question", query)["aggregates"]
        return {
            one["name"]: Fraction(one["weight"]["fraction"]) for one in stated if "weight" in one
        }


_WEIGHED = '"weight":{"fraction"'


@lru_cache(maxsize=64)
def names_of(query: str) -> frozenset[str]:
    """The names of all tables in the canonical text of a question, public ones too."""
    return frozenset(_names(json.loads(query)))


def _names(node: Any) -> Iterable[str]:
    match node:
        case {"table": str(name), "digest": _}:
            yield name
        case dict():
            for part in node.values():
                yield from _names(part)
        case list():
            for part in node:
                yield from _names(part)
