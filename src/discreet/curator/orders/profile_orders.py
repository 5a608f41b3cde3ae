"""Profiles as orders: one private look at every column of a table, at one price.

    spec: {"table": ..., "epsilon": ..., "delta": ...}

People are bounded once. Numbers, times and declared keys are read in one pass, each text column
whose values have to be found in one of its own.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, Self

import numpy as np

from discreet.answer.plan.contribution_histogram import (
    LADDER,
    ContributionHistogram,
    RowNorm,
    choose,
)
from discreet.answer.plan.price import Price
from discreet.answer.plan.set_plan import Charged
from discreet.curator.arguments import read_fields, readable, unknown
from discreet.curator.ledger.orders import Order
from discreet.curator.orders.planned_orders import (
    Asked,
    DraftedOrder,
    OrderExplanation,
    OrderKind,
    QuoteContext,
    UnpricedOrder,
    price_facts,
)
from discreet.curator.orders.profile_reading import (
    BinnedCounts,
    ListedCounts,
    blocks,
    count_block,
    count_people,
    count_texts,
    is_found,
    is_listed,
    profiled,
)
from discreet.curator.orders.profile_release import ProfileRelease
from discreet.curator.orders.query_orders import noise_kinds_for, price_at, read_asked
from discreet.engines.engine import Engine, Session
from discreet.engines.timing import Deadline
from discreet.errors import InputError
from discreet.mechanisms.gaussian import largest_mu
from discreet.plan.bounding import FULL, NoiseKind
from discreet.plan.query import Query
from discreet.plan.schema import EachRow, Schema, Table
from discreet.plan.work import Work
from discreet.privacy import GDP, Approximate, Neighbours, Pure
from discreet.sql.writer.compile_profile import CompiledProfile, profile_query
from discreet.sql.writer.dialect import Dialect
from discreet.workload.column_profiles import NoisyCount, describe
from discreet.workload.profile import (
    BINNED,
    FOUND,
    LISTED,
    NoisyColumn,
    NoisyProfile,
    ProfileNoise,
    measure_binned,
    measure_found,
    measure_listed,
)
from discreet.workload.value_cells import Integers

_FIELDS: Final = ("table", "epsilon", "delta")
_CELLS: Final = 8
"""Groups that rows are reckoned to be spread over, where a limit on rows is chosen."""

_COUNTS: Final = Fraction(1, 3), 2
"""Counts of rows that reading one column takes as long as, at most: of numbers, and of texts."""


@dataclass(frozen=True)
class ProfileOrder(DraftedOrder):
    """A profile with its price.

    Guarantee:
        `parts` measurements of `mu_squared` / `parts` each, in all sqrt(mu_squared)-Gaussian
        private; where an account adds epsilons (`pure`), of epsilon / `parts` each. Where texts
        have to be found, (0, `key_delta`) beside it; without a delta they are not shown.
    """

    table: Table
    price: Price
    neighbours: Neighbours
    mu_squared: Fraction
    pure: bool = False
    kind = "profile"

    def priced(self, asked: Asked, at: QuoteContext) -> Self:
        """The order for the largest mu^2 of a price; half its delta is for keys to be found.

        Noise is Laplace where an account adds epsilons.
        """
        price = price_at(asked, at)
        pure = NoiseKind.GAUSSIAN not in noise_kinds_for(at.touched, price.delta)
        planned = replace(
            self, price=price, neighbours=at.neighbours, mu_squared=Fraction(0), pure=pure
        )
        if not pure:
            most = largest_mu(price.epsilon, price.delta - planned.key_delta)
            planned = replace(planned, mu_squared=most**2)
        _ = planned.noise(1, 1).sigma, planned.noise(LADDER[-1]).sigma  # too fine: refused here
        return planned

    @cached_property
    def found(self) -> list[str]:
        """Columns of texts whose values have to be found."""
        return [name for name, of in profiled(self.table).items() if is_found(of)]

    @property
    def key_delta(self) -> Fraction:
        """The delta of all keys that are found."""
        share = self.price.delta if self.pure else self.price.delta / 2
        return share if self.found else Fraction(0)

    @property
    def parts(self) -> int:
        """All measurements."""
        types = profiled(self.table).values()
        each = (FOUND if is_found(of) else LISTED if is_listed(of) else BINNED for of in types)
        return sum(each) + (1 if isinstance(self.table.unit, EachRow) else 3)

    @property
    def stated(self) -> int | None:
        """The rows that one person weighs at most, where it is public."""
        return 1 if isinstance(self.table.unit, EachRow) else self.table.limits.max_rows

    def noise(self, limit: int, full: int = FULL) -> ProfileNoise:
        """The noise of each measurement."""
        epsilon = self.price.epsilon / self.parts if self.pure else None
        return ProfileNoise(self.mu_squared / self.parts, full, limit, self.neighbours, epsilon)

    @property
    def guarantees(self) -> tuple[Charged, ...]:
        """Gaussian or Laplace noise, and keys that are found."""
        noise: Charged = GDP.of_square(self.mu_squared, neighbours=self.neighbours)
        if self.pure:
            noise = Pure(self.price.epsilon, neighbours=self.neighbours)
        keys = Approximate(0, self.key_delta, neighbours=self.neighbours)
        return (noise, keys) if self.key_delta else (noise,)

    @property
    def text(self) -> str:
        """The order as the ledger stores it."""
        asked = {
            "table": self.table.name,
            "columns": {name: of.kind.value for name, of in profiled(self.table).items()},
            **price_facts(self.price, self.neighbours),
        }
        return json.dumps(asked, sort_keys=True)

    def decisions(self) -> Mapping[str, Any]:
        """How it will be measured."""
        spent = {"epsilon": str(self.price.epsilon)} if self.pure else {}
        spent = spent or {"mu_squared": str(self.mu_squared)}
        return {"version": 1, **spent, "parts": self.parts}

    def explain(self, dialect: Dialect) -> OrderExplanation:
        """Cost, and the noise of each count."""
        limit = self.stated or 1
        sigma = self.noise(limit).sigma / FULL
        compiled = CompiledProfile(self.table, dialect)
        facts = {
            "columns": list(profiled(self.table)),
            "found": self.found,
            "measurements": self.parts,
            "sigma": round(sigma, 1),
            "max_rows_per_person": self.stated,
            "threshold": self._threshold(limit) if self.key_delta else None,
            "sql": [compiled.block(names) for names in blocks(self.table)],
        }
        per = "" if self.stated else ", times the rows that one person weighs at most"
        text = (
            f"profile of {self.table.name}: {len(profiled(self.table))} columns in {self.parts} "
            f"measurements, each count with noise of about {sigma:,.0f} rows{per}"
        )
        if self.found and not self.key_delta:
            text += f"\nvalues of {', '.join(self.found)} are not shown: that takes a delta"
        elif self.found:
            text += (
                f"\nvalues of {', '.join(self.found)} are shown where about {facts['threshold']:,} "
                f"rows have them{per}"
            )
        return OrderExplanation(self.price, self.neighbours, text, facts)

    def _threshold(self, limit: int) -> int:
        each = self.key_delta / len(self.found)
        return -(-self.noise(limit).threshold(each) // FULL)

    def work(self, bound: Callable[[Query], Work]) -> Work:
        """Upper bound on the work of reading all columns."""
        one, (number, text) = bound(profile_query(self.table)), _COUNTS
        counts = 4 + number * len(profiled(self.table)) + text * len(self.found)
        return replace(one, seconds=one.seconds * float(counts))

    # --- data, and after it ---------------------------------------------------------------------

    def measure(self, engine: Engine, until: Deadline | None) -> bytes:
        """Noisy counts of every column."""
        with engine.snapshot(until) as session:
            made = self._measure(session, engine.dialect)
        return json.dumps(made.to_dict(), sort_keys=True).encode()

    def _measure(self, session: Session, dialect: Dialect) -> NoisyProfile:
        compiled, people = CompiledProfile(self.table, dialect, os.urandom(16).hex()), []
        if not isinstance(self.table.unit, EachRow):
            people = self._people(count_people(session, compiled))
        limit = self.stated or self._limit(people[1:])
        for kept in compiled.weights(limit):
            session.keep(*kept)
        noise, columns, rows = self.noise(limit), {}, 0
        for place, names in enumerate(blocks(self.table)):
            weight, counts = count_block(session, compiled, names)
            if not place:
                rows = int(noise.release(np.array([weight]))[0])
            for name, one in zip(names, counts, strict=True):
                columns[name] = _noisy(noise, one)
        for name in self.found:
            each = self.key_delta / len(self.found)
            texts = count_texts(session, compiled, name, noise.least)
            columns[name] = measure_found(noise, each, *texts)
        return NoisyProfile(limit, rows, people, columns)

    def _people(self, exact: Integers) -> list[int]:
        """How many people there are, and how many by their rows: two measurements."""
        noise = self.noise(1, 1)
        both = (noise.release(part) for part in (exact.sum(keepdims=True), exact))
        return [int(one) for part in both for one in part]

    def _limit(self, people: Sequence[int]) -> int:
        """The rows that one person weighs at most, by what is released of people."""
        noisy, sigma = np.array(people, dtype=np.float64), self.noise(1, 1).sigma
        spread = ContributionHistogram(noisy, sigma, LADDER)
        norm = RowNorm(NoiseKind.LAPLACE, _CELLS)
        return choose(spread, norm, self.noise(1).sigma / FULL, _CELLS)

    def present(self, measured: bytes) -> ProfileRelease:
        """The release: a function of what is stored."""
        made = NoisyProfile.from_dict(json.loads(measured))
        noise = self.noise(made.limit)
        sigma, tail = noise.sigma, noise.tail
        columns = tuple(
            describe(name, of, made.columns[name], sigma, FULL, tail)
            for name, of in profiled(self.table).items()
        )
        rows = NoisyCount(max(0.0, made.rows / FULL), 1.96 * sigma / FULL)
        people = None
        if made.people:
            people = NoisyCount(max(0.0, float(made.people[0])), 1.96 * self.noise(1, 1).sigma)
        return ProfileRelease(
            *(self.table.name, self.price, self.guarantees, rows, people, made.limit, columns)
        )


def _noisy(noise: ProfileNoise, one: BinnedCounts | ListedCounts) -> NoisyColumn:
    if isinstance(one, BinnedCounts):
        return measure_binned(noise, one.cells, one.exact, one.nulls, one.buckets)
    return measure_listed(noise, one.exact)


class ProfileKind(OrderKind):
    """Profiles: `table`, `epsilon`, and perhaps `delta`."""

    name = "profile"

    def parse(self, spec: Mapping[str, Any], schema: Schema) -> UnpricedOrder[ProfileOrder]:
        """Read table and price."""
        said = read_fields(spec, "a profile", needed=("table", "epsilon"), allowed=_FIELDS)
        with readable("a profile", 'pass {"table": "visits", "epsilon": "1", "delta": "1e-6"}'):
            table = _table(said["table"], schema)
            order = ProfileOrder(table, Price(1), Neighbours.ADD_REMOVE, Fraction(1))
            return order.draft(read_asked(said))

    def read(self, order: Order, schema: Schema) -> ProfileOrder:
        """The plan that was stored."""
        stored, decided = json.loads(order.plan), order.decisions or {}
        table = _table(stored["table"], schema)
        about = Neighbours(stored["neighbours"])
        pure = "epsilon" in decided
        spent = Fraction(0) if pure else Fraction(decided["mu_squared"])
        return ProfileOrder(table, self.price(order), about, spent, pure)

    release = staticmethod(ProfileRelease.from_bytes)


def _table(name: Any, schema: Schema) -> Table:
    found = schema.tables.get(name) if isinstance(name, str) else None
    if not isinstance(found, Table):
        private = [one for one, of in schema.tables.items() if isinstance(of, Table)]
        raise unknown("private table", str(name)[:50], private)
    if profiled(found):
        return found
    raise InputError(
        f"a profile of {found.name}, which has no columns but the person's",
        why="there is nothing to look at",
        fix="count its people: SELECT COUNT(DISTINCT ...) FROM ...",
    )
