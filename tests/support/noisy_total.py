"""A second kind of order: how many people a table has, with Laplace noise, and nothing else.

It is here to show what a kind has to bring. Spec: {"table": "visits", "epsilon": "0.1"}.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from discreet.answer.plan.price import Price
from discreet.answer.present.base_release import BaseRelease, Cost
from discreet.curator.arguments import read_fields, unknown
from discreet.curator.client.wire import read_number
from discreet.curator.orders.planned_orders import (
    OrderExplanation,
    PlannedOrder,
    UnpricedOrder,
)
from discreet.engines.default import DefaultEngine
from discreet.errors import InputError
from discreet.mechanisms import Laplace
from discreet.plan.schema import Person, Schema, Table
from discreet.privacy import Neighbours, Pure
from discreet.privacy.budgets.charges import price
from discreet.sql.reader.read import read
from discreet.sql.writer.dialect import view_name

NAME = "noisy_total"


@dataclass(frozen=True, slots=True)
class Total(BaseRelease):
    """How many people there are, about."""

    table: str
    people: int
    price: Price
    guarantee: Pure
    costs: tuple[Cost, ...]
    media_type: ClassVar[str] = BaseRelease.media_type

    def statement(self):
        return f"{self.guarantee} protects each person of {self.table}."

    def to_bytes(self):
        about = self.guarantee.neighbours.value
        facts = [1, self.table, self.people, str(self.price.epsilon), about]
        return json.dumps(facts).encode()

    def json_facts(self):
        return {"table": self.table, "people": self.people}

    @staticmethod
    def from_bytes(stored):
        try:
            version, table, people, epsilon, about = json.loads(stored)
            if version == 1:
                return _total(table, people, Fraction(epsilon), Neighbours(about))
        except (ValueError, TypeError):
            pass
        raise InputError("no total", why="these are other bytes", fix="use those of to_bytes")


@dataclass(frozen=True, slots=True)
class TotalOrder(PlannedOrder):
    table: Table
    epsilon: Fraction
    neighbours: Neighbours
    kind = NAME
    release_type = Total

    @classmethod
    def parse(cls, spec, schema):
        fields = ("table", "epsilon")
        facts = read_fields(spec, "a total", needed=fields, allowed=fields)
        table = _table(facts["table"], schema)
        epsilon = Price(read_number(facts["epsilon"], "epsilon")).epsilon
        return UnpricedOrder(
            frozenset({table.name}),
            lambda bound: bound(_count(table)),
            lambda at: cls(table, epsilon, at.neighbours),
        )

    @classmethod
    def read(cls, order, schema):
        name, epsilon, about = json.loads(order.plan)
        return cls(_table(name, schema), Fraction(epsilon), Neighbours(about))

    @staticmethod
    def price_of(order):
        return Price(Fraction(json.loads(order.plan)[1]))

    @property
    def mechanism(self):
        changes = 2 if self.neighbours is Neighbours.CHANGE_ONE else 1
        return Laplace(epsilon=self.epsilon, sensitivity=changes, neighbours=self.neighbours)

    @property
    def guarantees(self):
        return (Pure(self.epsilon, neighbours=self.neighbours),)

    def charge(self, measure):
        return price(self.guarantees[0], measure)

    @property
    def text(self):
        facts = [self.table.name, str(self.epsilon), self.neighbours.value]
        return json.dumps(facts)

    def decisions(self) -> Mapping[str, Any]:
        return {"version": 1}

    def explain(self, dialect):
        width = self.mechanism.error(0.95)
        text = f"people of {self.table.name} within {width:g}, for epsilon {self.epsilon}"
        facts = {"half_width": width, "sql": self._sql(dialect)}
        return OrderExplanation(Price(self.epsilon), self.neighbours, text, facts)

    def work(self, bound):
        return bound(_count(self.table))

    def _sql(self, dialect):
        person, rows = dialect.identifier("_person"), view_name(self.table.name, dialect)
        return f"SELECT COUNT(DISTINCT {person}) AS n FROM {rows}"  # noqa: S608 - quoted by the dialect

    def measure(self, engine, until):
        with engine.snapshot(until) as session:
            (batch,) = session.stream(self._sql(engine.dialect))
        people = batch.column(0).to_pylist()[0]
        return str(self.mechanism.release(people)).encode()

    def present(self, measured):
        return _total(self.table.name, int(measured), self.epsilon, self.neighbours)


def _table(name, schema):
    found = schema.tables.get(name) if isinstance(name, str) else None
    if isinstance(found, Table) and isinstance(found.unit, Person):
        return found
    raise unknown("table of people", str(name)[:50], schema.tables)


def _count(table):
    """A question that takes as long."""
    rows = DefaultEngine.dialect.identifier(table.name)
    return read(f"SELECT COUNT(*) AS n FROM {rows}", Schema({table.name: table}))  # noqa: S608


def _total(table, people, epsilon, about):
    paid = Pure(epsilon, neighbours=about)
    return Total(table, people, Price(epsilon), paid, (Cost("people", "Laplace", paid),))
