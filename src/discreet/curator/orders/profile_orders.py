"""Profiles as orders: one private look at every column of a table, at one price.

    spec: {"table": ..., "epsilon": ..., "delta": ...}

People are bounded once. Numbers, times and declared keys are read in one pass, each text column
whose values have to be found in one of its own.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, Self

import numpy as np

from discreet.answer.plan.contribution_histogram import (
    LADDER,
    ROWS,
    ContributionHistogram,
    Norm,
    choose,
)
from discreet.answer.plan.price import Price
from discreet.answer.plan.set_plan import Charged
from discreet.curator.arguments import PriceArguments, read_fields, readable, spec_fields
from discreet.curator.ledger.orders import Order
from discreet.curator.orders.drafted_orders import DraftedOrder, read_table
from discreet.curator.orders.histogram_orders import columns_of
from discreet.curator.orders.planned_orders import (
    Asked,
    OrderExplanation,
    QuoteContext,
    UnpricedOrder,
)
from discreet.curator.orders.profile_release import ProfileRelease
from discreet.curator.orders.query_orders import noise_kinds_for, price_at, read_asked
from discreet.engines.engine import Engine, Session
from discreet.engines.timing import Deadline
from discreet.errors import InputError
from discreet.mechanisms.gaussian_calibration import largest_mu
from discreet.plain_json import from_plain, to_plain
from discreet.plan.bounding import FULL, NoiseKind
from discreet.plan.kinds import Kind, Type
from discreet.plan.query import Query
from discreet.plan.schema import Schema, Table
from discreet.plan.work import Work
from discreet.privacy import GDP, Approximate, Neighbours, Pure
from discreet.sql.writer.compile_profile import CompiledProfile, profile_query
from discreet.sql.writer.dialect import Dialect
from discreet.workload.column_profiles import describe
from discreet.workload.profile import (
    BINNED,
    FOUND,
    LISTED,
    BinnedCounts,
    Integers,
    ListedCounts,
    NoisyProfile,
    ProfileNoise,
    measure_found,
)

_FIELDS: Final = spec_fields(PriceArguments, "table")
_CELLS: Final = 8
"""Groups that rows are reckoned to be spread over, where a limit on rows is chosen."""

_COUNTS: Final = Fraction(1, 3), 2
"""Counts of rows that reading one column takes as long as, at most: of numbers, and of texts."""

_BLOCK = 32
"""Columns that are read together, so that memory does not grow with their number."""


def is_found(of: Type) -> bool:
    """Whether the values of a column have to be found."""
    return of.kind is Kind.TEXT and of.keys is None


def blocks(table: Table) -> Iterator[list[str]]:
    """The columns that are read together: those whose values are not to be found."""
    names = [name for name, of in profiled(table).items() if not is_found(of)]
    for first in range(0, len(names) or 1, _BLOCK):
        yield names[first : first + _BLOCK]


def count_people(session: Session, compiled: CompiledProfile) -> Integers:
    """How many people first fit each step of the ladder; one more for those beyond: private."""
    session.keep(*compiled.pairs)
    found = np.zeros(len(LADDER) + 1, dtype=np.int64)
    for batch in session.stream(compiled.spread(LADDER), found.size):
        found[batch.column(0).to_numpy()] = batch.column(1).to_numpy()
    return found


def count_block(
    session: Session, compiled: CompiledProfile, names: Sequence[str]
) -> tuple[int, list[BinnedCounts | ListedCounts]]:
    """The weight of all rows, and the exact counts of some columns: private."""
    types = [compiled.table.columns[name] for name in names]
    found = [BinnedCounts.of(of.kind) if of.keys is None else ListedCounts.of(of) for of in types]
    rows = 0
    for batch in session.stream(compiled.block(names)):
        weights = batch.column(0).to_numpy().astype(np.int64)
        rows += int(weights.sum())
        for place, one in enumerate(found, start=1):
            one.add(batch.column(place), weights)
    return rows, found


def count_texts(
    session: Session, compiled: CompiledProfile, name: str, least: int
) -> tuple[list[str], Integers, list[int], int]:
    """Texts of a `least` weight and their weights, those of long ones and NULL; how many."""
    kept, heavy, distinct = compiled.texts(name, least)
    session.keep(*kept)
    values, weights, rest = [], [], [0, 0]
    for batch in session.stream(heavy):
        for value, is_long, weight in zip(
            *(batch.column(i).to_pylist() for i in range(3)), strict=True
        ):
            if value is None:
                rest[0 if is_long else 1] += weight
            else:
                values.append(value)
                weights.append(weight)
    (number,) = (int(batch.column(0)[0].as_py()) for batch in session.stream(distinct, 1))
    return values, np.array(weights, dtype=np.int64), rest, number


def profiled(table: Table) -> dict[str, Type]:
    """The columns of a profile: all but the one that names the person or leads to them."""
    return {name: table.columns[name] for name in columns_of(table)}


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
    decided = ("mu_squared", "pure")
    release_type = ProfileRelease

    @classmethod
    def parse(cls, spec: Mapping[str, Any], schema: Schema) -> UnpricedOrder[Self]:
        """Read table and price."""
        said = read_fields(spec, "a profile", needed=("table", "epsilon"), allowed=_FIELDS)
        with readable("a profile", 'pass {"table": "visits", "epsilon": "1", "delta": "1e-6"}'):
            table = _table(said["table"], schema)
            order = cls(table, Price(1), Neighbours.ADD_REMOVE, Fraction(1))
            return order.draft(read_asked(said))

    @classmethod
    def read(cls, order: Order, schema: Schema) -> Self:
        """The plan that was stored."""
        stored, decided = json.loads(order.plan), order.decisions or {}
        table = _table(stored["table"], schema)
        about = Neighbours(stored["neighbours"])
        pure = "epsilon" in decided
        spent = Fraction(0) if pure else Fraction(decided["mu_squared"])
        return cls(table, cls.price_of(order), about, spent, pure)

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
        each = (FOUND if is_found(of) else BINNED if of.keys is None else LISTED for of in types)
        return sum(each) + (1 if self.table.is_by_row else 3)

    @property
    def stated(self) -> int | None:
        """The rows that one person weighs at most, where it is public."""
        return 1 if self.table.is_by_row else self.table.limits.max_rows

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
        columns = {name: of.kind.value for name, of in profiled(self.table).items()}
        return json.dumps({**self.said, "columns": columns}, sort_keys=True)

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
        per = "" if self.stated else ", times the limit on rows per person"
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
        return json.dumps(to_plain(made), sort_keys=True).encode()

    def _measure(self, session: Session, dialect: Dialect) -> NoisyProfile:
        compiled, people = CompiledProfile(self.table, dialect, os.urandom(16).hex()), []
        if not self.table.is_by_row:
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
                columns[name] = one.noisy(noise)
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
        norm = Norm(ROWS, NoiseKind.LAPLACE, _CELLS)
        return choose(spread, norm, self.noise(1).sigma / FULL, _CELLS)

    def present(self, measured: bytes) -> ProfileRelease:
        """The release: a function of what is stored."""
        made = from_plain(NoisyProfile, json.loads(measured))
        noise = self.noise(made.limit)
        columns = tuple(
            describe(name, of, made.columns[name], noise)
            for name, of in profiled(self.table).items()
        )
        people = self.noise(1, 1).told(made.people[0]) if made.people else None
        counts = noise.told(made.rows), people, made.limit
        return ProfileRelease(self.table.name, self.price, self.guarantees, *counts, columns)


def _table(name: Any, schema: Schema) -> Table:
    found = read_table(name, schema)
    if profiled(found):
        return found
    raise InputError(
        f"a profile of {found.name}, which has no columns but the person's",
        why="there is nothing to look at",
        fix="count its people: SELECT COUNT(DISTINCT ...) FROM ...",
    )
