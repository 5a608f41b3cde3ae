"""One plan from a question to its release.

    question, price ──> MeasurementPlan ──> measure (noisy integers, stored) ──> present (release)

Pricing, explaining, running, recovering and auditing read this one value.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa

from discreet.answer.execute.individual import Admission, check_individual
from discreet.answer.execute.measure_set import measure_set
from discreet.answer.execute.noisy_measurements import NoisyMeasurements
from discreet.answer.plan.explain import Explanation, explain
from discreet.answer.plan.planning import plan_sets, single_sets
from discreet.answer.plan.price import Price
from discreet.answer.plan.set_plan import Charged, SetPlan
from discreet.answer.plan.sql_statements import example_statements
from discreet.answer.present.release import Release, present
from discreet.engines.engine import ARROW, Engine
from discreet.engines.timing import Deadline
from discreet.errors import InputError, InvariantBroken, QueryRefused
from discreet.plan.bounding import NoiseKind
from discreet.plan.query import Query
from discreet.plan.released_tables import public_tables
from discreet.plan.schema import PublicTable
from discreet.privacy import GDP, Composed, Guarantee, Neighbours, Ranges, compose
from discreet.privacy.budgets.charges import EPSILON, MU_SQUARED, RHO, Charge, Measure, price_sum
from discreet.privacy.budgets.charges import price as charge
from discreet.sql.writer.dialect import Dialect, view_name

MOST_ROWS: Final = 1_000_000
"""Rows of a public table, and of each step of a question about some."""


def read_public_rows(engine: Engine, tables: Iterable[PublicTable]) -> dict[str, pa.Table]:
    """All rows of each table in the order of its key."""
    return {one.name: _rows(engine, one) for one in tables}


def _rows(engine: Engine, table: PublicTable) -> pa.Table:
    names, key = (
        ", ".join(map(engine.dialect.identifier, one)) for one in (table.columns, table.key)
    )
    source = view_name(table.name, engine.dialect)
    select = f"SELECT {names} FROM {source} ORDER BY {key} LIMIT {MOST_ROWS + 1}"  # noqa: S608 - quoted names
    schema = pa.schema([(name, ARROW[of.kind]) for name, of in table.columns.items()])
    with engine.snapshot() as session:
        found = [batch.rename_columns(schema.names) for batch in session.stream(select)]
    rows = pa.Table.from_batches(found).cast(schema) if found else schema.empty_table()
    check_rows(len(rows))
    return rows


def check_rows(rows: int) -> int:
    """Refuse more rows than are computed with at once."""
    if rows <= MOST_ROWS:
        return rows
    raise QueryRefused(
        f"a question about public tables that may take more than {MOST_ROWS:,} rows",
        why="it is computed at once, free of charge",
        fix="join on a key, or copy the tables to where you work: they are public",
        code="expensive",
    )


_VERSION = 1


@dataclass(frozen=True, slots=True)
class MeasurementPlan:
    """The measurements of a question and their price: public facts alone.

    Guarantee:
        `guarantees` bound the privacy loss of measuring, for all data and all bounds that a first
        stage chooses. What is spent is compared with them before anything is shown.
    """

    query: Query
    price: Price
    neighbours: Neighbours
    sets: tuple[SetPlan, ...]
    participants: bool = False
    """Whether people pay from their own budgets, and those who cannot pay are left out."""
    guarantees: tuple[Charged, ...] = field(init=False, repr=False, compare=False)
    """The guarantee of each part."""
    guarantee: Composed = field(init=False, repr=False, compare=False)
    """The guarantee of all parts together."""

    def __post_init__(self) -> None:
        parts = tuple(guarantee for one in self.sets for _, guarantee in one.guarantees)
        object.__setattr__(self, "guarantees", parts)
        object.__setattr__(self, "guarantee", compose(list(parts)))
        if self.participants:
            check_individual(self.sets)

    @staticmethod
    def of(
        query: Query,
        price: Price,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
        noise_kinds: Iterable[NoiseKind] = tuple(NoiseKind),
        measure: Measure | None = None,
        *,
        participants: bool = False,
    ) -> "MeasurementPlan":
        """Plan a question, with noise of whichever of the laws is expected to err less.

        Noise of either law takes as much of an account that counts in `measure`.
        """
        sets = plan_sets(query, price, neighbours, noise_kinds, measure)
        return MeasurementPlan(query, price, neighbours, sets, participants)

    # --- before data is touched -------------------------------------------------------------------

    def charge(self, measure: Measure) -> Charge:
        """The cost of the whole plan in one measure."""
        return price_sum(self.guarantee, measure)

    def explain(self, dialect: Dialect) -> Explanation:
        """Cost and expected error, before anything is charged."""
        return explain(self, dialect)

    def statements(self, dialect: Dialect) -> tuple[str, ...]:
        """All SQL that will run; for an example of bounds where they have yet to be chosen."""
        people = self.participants
        sets = (example_statements(one, dialect, participants=people) for one in self.sets)
        return tuple(text for one in sets for text in one)

    # --- data, and after it -----------------------------------------------------------------------

    def measure(
        self, engine: Engine, until: Deadline | None = None, admission: Admission | None = None
    ) -> list[NoisyMeasurements]:
        """Noisy integers for each grouping set: all that data is read for.

        At `until` the engine is stopped. `admission` says who takes part, if people pay.
        """
        if (admission is not None) is not self.participants:
            raise InvariantBroken(
                "a question about people with budgets is measured without them, or the reverse",
                why="nobody would be charged for it, or somebody twice",
                fix="report this as a fault",
            )
        # One secret for all sets, so that joins keep the same rows of a person and totals add up.
        # Each set's sensitivity holds for any secret, and noise is drawn apart from it.
        salt = os.urandom(16).hex() if admission is None else admission.salt
        drawn = [measure_set(one, engine, salt, until, admission) for one in self.sets]
        if self.query.then is not None and (public := public_tables(self.query.then)):
            drawn[0] = replace(drawn[0], public=read_public_rows(engine, public))
        self.check_spent(drawn)
        return drawn

    def check_spent(self, drawn: Sequence[NoisyMeasurements]) -> None:
        """Refuse measurements that cost more, or otherwise, than planned."""
        spent = [part.guarantee for measured in drawn for part in measured.spent]
        within = len(spent) == len(self.guarantees) and all(map(_is_within, spent, self.guarantees))
        if not within or len(drawn) != len(self.sets):
            raise overspent()

    def present(self, drawn: Sequence[NoisyMeasurements]) -> Release:
        """The release that measurements make: a function of them, with no data and no chance."""
        self.check_spent(drawn)
        with np.errstate(over="ignore", invalid="ignore"):  # bounds may be near the largest double
            return present(self, drawn)

    # --- as text ----------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The decisions of the plan as plain JSON, with tags that never change."""
        people = {"participants": True} if self.participants else {}
        return {"version": _VERSION, "sets": [one.to_dict() for one in self.sets], **people}

    @staticmethod
    def from_dict(
        stored: Mapping[str, Any], query: Query, price: Price, neighbours: Neighbours
    ) -> "MeasurementPlan":
        """Read what `to_dict` wrote for a question; InputError for anything else."""
        if not isinstance(stored, Mapping) or stored.get("version") != _VERSION:
            raise _unreadable("another version of this package wrote it")
        try:
            sets = zip(stored["sets"], single_sets(query), strict=True)
            read = tuple(SetPlan.from_dict(one, part, neighbours) for one, part in sets)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as wrong:
            raise _unreadable("it is not a plan for this question") from wrong
        people = stored.get("participants") is True
        return MeasurementPlan(query, price, neighbours, read, people)


def answer(
    query: Query,
    engine: Engine,
    price: Price,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    noise_kinds: Iterable[NoiseKind] = tuple(NoiseKind),
) -> Release:
    """Plan, measure and present a question, without a curator: nothing is charged or stored."""
    plan = MeasurementPlan.of(query, price, neighbours, noise_kinds)
    return plan.present(plan.measure(engine))


def overspent() -> InvariantBroken:
    """The error for measurements that cost more, or otherwise, than planned."""
    return InvariantBroken(
        "what was measured is not what was charged",
        why="it spends more privacy than planned, and nothing was released",
        fix="report this as a fault",
    )


def _unreadable(why: str) -> InputError:
    return InputError(
        "a stored plan cannot be read", why=why, fix="use the version that wrote it, or a later one"
    )


@lru_cache(maxsize=1024)
def _is_within(spent: Guarantee, planned: Charged) -> bool:
    """Whether a part spends at most what was planned for it, in any measure.

    Why: the same rho is less of a Gaussian guarantee than of others.
    """
    if spent == planned:
        return True
    measures = (RHO, MU_SQUARED) if isinstance(planned, GDP | Ranges) else (EPSILON,)
    return all(_costs_no_more(spent, planned, measure) for measure in measures)


def _costs_no_more(spent: Guarantee, planned: Charged, measure: Measure) -> bool:
    try:
        cost, paid = charge(spent, measure), charge(planned, measure)  # type: ignore[arg-type]
    except InputError:
        return False
    within = cost.amount <= paid.amount and cost.delta <= paid.delta
    return within and cost.neighbours is paid.neighbours
