"""What each person adds to what is measured, as an engine's SQL: the share of the most one may add.

A share is a whole number of 0 to `WHOLE_SHARE`: the squared l2 norm of all that one person adds to
the numbers of a measurement, over all groups, relative to the square of its sensitivity.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from discreet.plan.bounding import FULL
from discreet.plan.kinds import Kind
from discreet.plan.schema import PERSON
from discreet.plan.statistics import People

if TYPE_CHECKING:
    from discreet.sql.writer.compile import CompiledQuery
    from discreet.sql.writer.dialect import Dialect

_STEPS: Final = 1 << 20
"""A part of the sensitivity is rounded up to a multiple of one in so many."""

WHOLE_SHARE: Final = _STEPS**2
"""The share of somebody who adds as much as anybody may."""

ACCOUNTS, LEFT_OUT = "accounts", "left_out"
"""Tables of the session: who has which account, and who takes no part in the question."""


class MeasuredTotals(NamedTuple):
    """One measurement: which totals it combines, how, and its sensitivity."""

    places: tuple[int, ...]
    combinations: tuple[tuple[int, ...], ...]
    sensitivity: int


def render_shares(compiled: "CompiledQuery", measured: Sequence[MeasuredTotals]) -> str:
    """One row for each person in the question, with the share q0, q1, ... in each measurement.

    Guarantee:
        q / WHOLE_SHARE is at least the squared norm of what the person adds over the squared
        sensitivity, and at most 1.
    Why:
        Each part is an exact integer, divided by the sensitivity and rounded up; squares of whole
        numbers are added exactly. The norm is at most the sensitivity (`docs/proofs/bounding.md`),
        so holding a share to the whole takes nothing off it.
    Edge cases:
        Whoever adds nothing has share 0. No value overflows: parts are within the sensitivity,
        which is below 2^72, and are held to _STEPS before they are squared.
    """
    dialect, person = compiled.dialect, compiled.dialect.identifier(PERSON)
    steps = dialect.literal(_STEPS, Kind.INTEGER)
    squares, parts = [], []
    for i, one in enumerate(measured):
        names = [f"x{i}_{j}" for j in range(len(one.combinations))]
        parts += [
            f"LEAST(COALESCE({_rounded_up(compiled, one, row)}, {steps}), {steps}) AS {name}"
            for name, row in zip(names, one.combinations, strict=True)
        ]
        squares.append(" + ".join(f"{name} * {name}" for name in names))
    whole = dialect.literal(WHOLE_SHARE, Kind.INTEGER)
    totals = map(dialect.sum, squares) if compiled.keys else squares
    shares = [
        f"{dialect.cast(f'LEAST({total}, {whole})', Kind.INTEGER)} AS q{i}"
        for i, total in enumerate(totals)
    ]
    source = f"SELECT {', '.join([person, *parts])} FROM {compiled.weighted_pairs}"
    grouped = f" GROUP BY {person}" if compiled.keys else ""
    return f"SELECT {', '.join([person, *shares])} FROM ({source}) AS x{grouped}"


def _rounded_up(compiled: "CompiledQuery", one: MeasuredTotals, row: tuple[int, ...]) -> str:
    """One combination of a person's weighted totals in a group, in steps of the sensitivity."""
    dialect = compiled.dialect
    used = [(times, place) for times, place in zip(row, one.places, strict=True) if times]
    total = " + ".join(f"{times} * {_weighted(compiled, place)}" for times, place in used)
    above = f"(ABS({total}) * {_STEPS} + {one.sensitivity - 1})"
    return dialect.whole_quotient(above, str(one.sensitivity), wide=True)


def _weighted(compiled: "CompiledQuery", place: int) -> str:
    dialect, full = compiled.dialect, compiled.dialect.literal(FULL, Kind.INTEGER)
    if isinstance(compiled.statistics[place], People):
        return dialect.wide(f"CASE WHEN q{place} THEN COALESCE(g.w, {full}) ELSE 0 END")
    return f"s{place} * COALESCE(h.w, {full})"


def render_accounts(compiled: "CompiledQuery", shares: str, kind: Kind, key: str) -> str:
    """Shares by account; of people without one also who they are, and a keyed hash of that."""
    dialect, person = compiled.dialect, compiled.dialect.identifier(PERSON)
    new = "a.account IS NULL"
    hashed = dialect.only_if(new, keyed_person(compiled.dialect, f"c.{person}", kind, key))
    name = dialect.only_if(new, f"c.{person}")
    join = f"LEFT JOIN {ACCOUNTS} AS a ON a.{person} = c.{person}"
    return f"SELECT c.*, a.account, {hashed} AS h, {name} AS p FROM ({shares}) AS c {join}"


def keyed_person(dialect: "Dialect", text: str, kind: Kind, key: str) -> str:
    """The keyed hash of a person, as views name them: doubles and times are whole numbers."""
    known = Kind.INTEGER if kind in (Kind.REAL, Kind.TIMESTAMP) else kind
    return dialect.keyed_hash(key, [dialect.encoded(text, known)])
