"""Releases of many grouped tables at every level of a geography: one order, one price.

spec: {"table": ..., "geography": ..., "levels": [...], "tables": [["total", []], ...],
       "epsilon": ...}

The charge pays for every noisy count. They are drawn in parts, each a step of the charge: see
`discreet.curator.orders.census.census_runs`.
"""

import json
import math
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Final, Self

from discreet.answer.execute.noisy_measurements import reading_stored
from discreet.answer.plan.measure import Measurement
from discreet.answer.plan.price import Price
from discreet.answer.plan.set_plan import Charged, amount_for
from discreet.answer.present.base_release import PRICE_READ, PRICE_WRITTEN, BaseRelease, Cost
from discreet.answer.present.number_text import cost
from discreet.curator.arguments import read_fields, readable
from discreet.curator.ledger.orders import Order
from discreet.curator.orders.census.census_margins import MarginLink, disagreements, link_tables
from discreet.curator.orders.census.census_plan import FIELDS, CensusFacts, read_facts
from discreet.curator.orders.census.census_reading import read_geography
from discreet.curator.orders.drafted_orders import DraftedOrder
from discreet.curator.orders.histogram_orders import bound_words
from discreet.curator.orders.planned_orders import (
    OWNER,
    Asked,
    OrderExplanation,
    QuoteContext,
    UnpricedOrder,
    price_facts,
)
from discreet.curator.orders.query_orders import noise_kinds_for, price_at, read_asked
from discreet.engines.engine import Engine
from discreet.engines.timing import Deadline
from discreet.errors import InvariantBroken, QueryRefused
from discreet.plain_json import from_fields, to_fields
from discreet.plan.bounding import ContributionBounds, NoiseKind
from discreet.plan.query import Query
from discreet.plan.schema import Schema
from discreet.plan.sensitivity import Strategy
from discreet.plan.statistics import Rows
from discreet.plan.work import Work
from discreet.privacy import GDP, Guarantee, Neighbours, Pure
from discreet.privacy.budgets.charges import EPSILON, MU_SQUARED, price
from discreet.rationals import whole
from discreet.sql.writer.dialect import Dialect
from discreet.workload.domain import Attribute

_FIX: Final = 'pass {"table": "people", "tables": [["total", []]], "epsilon": "1"}'
CHUNK: Final = 1 << 21
"""Cells of leaves that are drawn, stored and made consistent at once."""


@dataclass(frozen=True, slots=True, repr=False)
class CensusRelease(BaseRelease):
    """The content and cost of a release; the tables themselves are files.

    `sizes` is how many units each level has.
    """

    plan: str
    sizes: tuple[int, ...]
    price: Price
    guarantee: Guarantee
    notes: tuple[str, ...] = ()

    @property
    def costs(self) -> tuple[Cost, ...]:  # type: ignore[override]
        """All counts together."""
        noise = json.loads(self.plan)[1]["noise"]
        return (Cost("counts of all tables at all levels", noise, self.guarantee),)

    @property
    def _said(self) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(self.plan)[0]
        return said

    @property
    def cells(self) -> int:
        """How many counts are released, of all tables at all levels."""
        columns = [Attribute.from_dict(one) for one in self._said["columns"]]
        sizes = {one.name: one.size for one in columns}
        each = (math.prod(sizes[name] for name in by) for _, by in self._said["tables"])
        return sum(each) * sum(self.sizes)

    def statement(self) -> str:
        """The privacy statement, with what is outside of the guarantee."""
        said, price = self._said, self.price
        agree = " and agree between tables" if json.loads(self.plan)[1]["version"] > 1 else ""
        levels = ", ".join([*said["levels"][::-1], said["top"]])
        parts = [
            f"{len(said['tables'])} tables of {said['table']} were released by {levels}, with",
            f"differential privacy ({self.guarantee.neighbours.value}) for epsilon =",
            f"{cost(price.epsilon)} and delta = {cost(price.delta)}, all tables and levels",
            "together. Every count has noise of its own, cells without anybody too. Afterwards",
            f"counts were made whole numbers from 0 on that add up over the levels{agree}, which",
            "reads no data; small counts are too large on average because of it.",
            *(f"{note[:1].upper()}{note[1:]}." for note in self.notes),
        ]
        return textwrap.fill(" ".join(parts), 100, break_long_words=False)

    def to_bytes(self) -> bytes:
        """The stored form."""
        return json.dumps([1, *to_fields(self, PRICE_WRITTEN).values()]).encode()

    @staticmethod
    def from_bytes(stored: bytes) -> "CensusRelease":
        """Read what `to_bytes` wrote."""
        with reading_stored("a release of tables"):
            version, *told = json.loads(stored)
            if version != 1:
                raise ValueError(version)
            facts = zip((one.name for one in fields(CensusRelease)), told, strict=True)
            return from_fields(CensusRelease, dict(facts), PRICE_READ)

    def json_facts(self) -> dict[str, Any]:
        """The content as plain JSON."""
        said = self._said
        levels = dict(zip([said["top"], *said["levels"]], self.sizes, strict=True))
        names = [name for name, _ in said["tables"]]
        return {"table": said["table"], "tables": names, "units": levels, "cells": self.cells}

    def __repr__(self) -> str:
        facts = self.json_facts()
        units = ", ".join(f"{count:,} {name}" for name, count in facts["units"].items())
        return f"release of {len(facts['tables'])} tables, {self.cells:,} cells: {units}"


@dataclass(frozen=True)
class CensusOrder(DraftedOrder):
    """A release with its price: `amount` is epsilon of Laplace noise, mu^2 of Gaussian noise.

    Guarantee:
        Every count of every table at every level has noise of its own, for one sensitivity: all
        rows of a person weigh `max_rows` rows at most, in whatever cells they are. The counts of
        one table and level together have the guarantee of their `cost`; costs add up to `amount`.
    Neighbours:
        As `about` says; changing a person is removing one and adding one.
    Why:
        Weights bound the l1 norm, which putting cells together does not raise: so it is the same
        bound at every level and in every table, in l1 and in l2 as well.
    Edge cases:
        Cells without rows have noise too; which cells there are is public. Rows whose leaf is not
        in the geography are in no cell. Invariants are constants that the owner states: no data
        goes in, and what they tell is outside of the guarantee.
    """

    facts: CensusFacts
    price: Price
    neighbours: Neighbours
    noise_kind: NoiseKind
    amount: Fraction
    chunk: int
    version: int = 2
    """Of what follows the noise: tables of releases of version 1 do not agree with each other."""
    kind = "release"
    release_type = CensusRelease

    @classmethod
    def parse(cls, spec: Mapping[str, Any], schema: Schema) -> UnpricedOrder[Self]:
        """Read tables, columns, levels and price."""
        needed = ("table", "tables", "epsilon")
        said = read_fields(spec, "a release", needed=needed, allowed=FIELDS)
        with readable("a release", _FIX):
            facts = read_facts(said, schema)
            asked, version = read_asked(said), said.get("as_of")
            version = None if version is None else whole(version, "as_of", at_least=1)
            blank = Price(1), Neighbours.ADD_REMOVE, NoiseKind.LAPLACE, Fraction(1), CHUNK
            return cls(facts, *blank).draft(asked, as_of=version)

    @classmethod
    def read(cls, order: Order, schema: Schema) -> Self:
        """The plan that was stored."""
        stored, decided = json.loads(order.plan), order.decisions or {}
        return cls(
            CensusFacts.from_dict(stored, schema),
            cls.price_of(order),
            Neighbours(stored["neighbours"]),
            NoiseKind(decided["noise"]),
            Fraction(decided["amount"]),
            decided["chunk"],
            decided["version"],
        )

    def priced(self, asked: Asked, at: QuoteContext) -> Self:
        """The order at a price: Gaussian noise where all accounts take a delta, else Laplace."""
        if at.analyst != OWNER:
            raise QueryRefused(
                "a release that an analyst asks for",
                why="its tables are written where the data is, for everybody",
                fix="order it as owner: in the folder, or with the token called owner",
                code="owner",
            )
        bought = price_at(asked, at)
        kinds = noise_kinds_for(at.touched, bought.delta)
        kind = NoiseKind.GAUSSIAN if NoiseKind.GAUSSIAN in kinds else NoiseKind.LAPLACE
        amount = amount_for(bought.epsilon, bought.delta, kind, at.touched[0].measure)
        order = replace(
            self, price=bought, neighbours=at.neighbours, noise_kind=kind, amount=amount
        )
        order.check_spent()  # noise that cannot be made is refused now
        return order

    def links(self) -> list[MarginLink]:
        """The order in which tables are settled, each with the one that it agrees with."""
        if self.version == 1:
            return [MarginLink(name) for name, _ in self.facts.tables]
        return link_tables(self.facts)

    def measurement(self, level: int) -> Measurement:
        """How the counts of any one table at a level are measured, and what that costs."""
        part = self.amount * self.facts.shares[level] / len(self.facts.tables)
        part = part / 2 if self.noise_kind is NoiseKind.GAUSSIAN else part  # rho = mu^2 / 2
        bounds = ContributionBounds(self.noise_kind, self.facts.query.most_rows, 1)
        strategy, by_row = Strategy.of((Rows(None),)), self.facts.table.is_by_row
        return Measurement(strategy, bounds, part, self.neighbours, whole=by_row)

    def check_spent(self) -> None:
        """Refuse to draw noise that costs more than was charged."""
        laws = [self.measurement(level) for level in range(len(self.facts.shares))]
        gaussian = self.noise_kind is NoiseKind.GAUSSIAN
        measure, times = (MU_SQUARED, 2) if gaussian else (EPSILON, 1)
        spent = len(self.facts.tables) * times * sum(one.cost for one in laws)
        pairs = [(one.mechanism.guarantee, self._paid(times * one.cost)) for one in laws]
        if spent > self.amount or any(
            price(drawn, measure).amount > price(paid, measure).amount for drawn, paid in pairs
        ):
            raise InvariantBroken(
                "what would be drawn is not what was charged",
                why="it spends more privacy than planned, and nothing was drawn",
                fix="report this as a fault",
            )

    def _paid(self, amount: Fraction) -> Pure | GDP:
        if self.noise_kind is NoiseKind.LAPLACE:
            return Pure(amount, neighbours=self.neighbours)
        return GDP.of_square(amount, neighbours=self.neighbours)

    @property
    def guarantees(self) -> tuple[Charged, ...]:
        """One: all counts of all tables and levels together."""
        return (self._paid(self.amount),)

    @property
    def tables(self) -> frozenset[str]:
        """The private table and the geography."""
        return self.facts.read_tables

    @property
    def text(self) -> str:
        """The order as the ledger stores it."""
        asked = {**self.facts.to_dict(), **price_facts(self.price, self.neighbours)}
        return json.dumps(asked, sort_keys=True)

    def decisions(self) -> Mapping[str, Any]:
        """How it will be measured."""
        noise, amount = self.noise_kind.value, str(self.amount)
        return {"version": self.version, "noise": noise, "amount": amount, "chunk": self.chunk}

    def deviations(self) -> dict[str, float]:
        """The standard deviation of the noise of each count, in rows, by level."""
        views = [
            self.measurement(level).view(Rows(None)) for level in range(len(self.facts.shares))
        ]
        return dict(zip(self.facts.level_names, (one.variance**0.5 for one in views), strict=True))

    def explain(self, dialect: Dialect) -> OrderExplanation:
        """Cost, and the noise of each level before consistency."""
        noise = {name: round(one, 2) for name, one in self.deviations().items()}
        cells = {name: self.facts.cells(by) for name, by in self.facts.tables}
        kept = self.facts.query.statements(dialect)
        facts = {"noise": noise, "cells_per_unit": cells, "sql": [str(one) for one in kept]}
        shown = ", ".join(f"{name} {one:,.1f}" for name, one in noise.items())
        text = (
            f"release of {len(cells)} tables of {self.facts.table.name}, "
            f"{sum(cells.values()):,} cells a unit\n"
            f"noise of each count before consistency, in rows: {shown}\n" + "\n".join(self.notes())
        )
        return OrderExplanation(self.price, self.neighbours, text, facts)

    def notes(self) -> tuple[str, ...]:
        """A description of contribution bounds and public totals."""
        found = [bound_words(None if self.facts.table.is_by_row else self.facts.max_rows)]
        apart = disagreements(self.facts) if self.version > 1 else []
        if apart:
            pairs = ", ".join(f"{one} and {other}" for one, other in apart[:20])
            more = f" and {len(apart) - 20} other pairs" if len(apart) > 20 else ""
            found.append(f"tables that may differ on a margin that they share: {pairs}{more}")
        if self.facts.invariants is not None:
            level, totals = self.facts.invariants
            found.append(
                f"the totals by {self.facts.level_names[level]} ({len(totals)} of them) were "
                "stated as public by the owner and are published as they are: the guarantee does "
                "not cover what they tell about anybody"
            )
        return tuple(found)

    def work(self, bound: Callable[[Query], Work]) -> Work:
        """Upper bound on the work of reading the rows once."""
        return bound(self.facts.query.query)

    def measure(self, engine: Engine, until: Deadline | None) -> bytes:
        """How many units each level of the geography has: public, and nothing private is read."""
        with engine.snapshot(until) as session:
            tree = read_geography(session, self.facts, engine.dialect)[0]
        return json.dumps(list(tree.sizes)).encode()

    def present(self, measured: bytes) -> CensusRelease:
        """The release; its numbers are drawn by `census_runs`, under this charge."""
        plan = json.dumps([json.loads(self.text), dict(self.decisions())], sort_keys=True)
        return CensusRelease(
            plan, tuple(json.loads(measured)), self.price, self.guarantees[0], self.notes()
        )
