"""SQL for each person's contribution, as a share of the largest one.

A share is a whole number of 0 to `WHOLE_SHARE`: the squared l2 norm of all that one person adds to
the numbers of a measurement, relative to the square of its sensitivity.
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

_NARROW: Final = 1 << 41
"""Sensitivities below this are divided by in 64 bits, which is faster."""

ACCOUNTS, LEFT_OUT = "accounts", "left_out"
"""Tables of the session: who has which account, and who takes no part in the question."""

OVER_LIMITS, PAIRS_OVER = "over_limits", "pairs_over"
"""Tables of the session: people above a limit, with their accounts; and the pairs of these."""


class MeasuredTotals(NamedTuple):
    """One measurement: which totals it combines, how, and its sensitivity."""

    places: tuple[int, ...]
    combinations: tuple[tuple[int, ...], ...]
    sensitivity: int


def render_shares(compiled: "CompiledQuery", measured: Sequence[MeasuredTotals]) -> str:
    """One row for each person and group: the person, shares q0, q1, ... in each measurement, rows.

    Everybody weighs in full here; people above a limit are in `render_shares_over` again.

    Guarantee:
        The sum over a person's groups of q / WHOLE_SHARE, held to 1, is at least the squared norm
        of what the person adds over the squared sensitivity.
    Why:
        Each part is an exact integer, divided by the sensitivity and rounded up, and squares of
        whole numbers are added exactly. No part, and no norm, is above the sensitivity
        (`docs/explanation/proofs/bounding.md`), so holding them to it takes nothing off.
    Edge cases:
        Whoever adds nothing has share 0. No value overflows, whatever is stored.
    """
    person, full = compiled.dialect.identifier(PERSON), _full(compiled)
    return _shares(compiled, measured, person, "pairs", (full, full))


def render_shares_over(compiled: "CompiledQuery", measured: Sequence[MeasuredTotals]) -> str:
    """The same for people above a limit, by account, as they weigh."""
    weights = [f"COALESCE({one}.w, {_full(compiled)})" for one in ("h", "g")]
    source = f"{PAIRS_OVER}{compiled.joined_weights}"
    return _shares(compiled, measured, "account", source, weights)


def _shares(
    compiled: "CompiledQuery",
    measured: Sequence[MeasuredTotals],
    who: str,
    source: str,
    weights: Sequence[str],
) -> str:
    """Shares of pairs, with the column `who`; `weights` are those of rows, and of the person."""
    parts, squares = [], []
    for i, one in enumerate(measured):
        columns = [f"x{i}_{j}" for j in range(len(one.combinations))]
        parts += [
            f"{_rounded_up(compiled, one, row, weights)} AS {name}"
            for name, row in zip(columns, one.combinations, strict=True)
        ]
        squares.append(" + ".join(f"{name} * {name}" for name in columns) + f" AS q{i}")
    pairs = f"SELECT {', '.join([who, *parts, 'n'])} FROM {source}"
    return f"SELECT {', '.join([who, *squares, 'n'])} FROM ({pairs}) AS c"


def with_accounts(rows: str, columns: Sequence[str], dialect: "Dialect") -> str:
    """Columns of a SELECT beside the account of each row's person, NULL where there is none yet."""
    return f"SELECT {', '.join([*columns, 'a.account'])} FROM {_with_accounts(rows, dialect)}"


def render_new_people(rows: str, dialect: "Dialect", kind: Kind, key: str) -> str:
    """The people of a SELECT who have no account, each once, with a keyed hash of the name."""
    source, name = _with_accounts(rows, dialect), f"c.{dialect.identifier(PERSON)}"
    new = f"SELECT DISTINCT {name} AS p FROM {source} WHERE a.account IS NULL"
    return f"SELECT p, {keyed_person(dialect, 'p', kind, key)} AS h FROM ({new}) AS n"


def _with_accounts(rows: str, dialect: "Dialect") -> str:
    person = dialect.identifier(PERSON)
    return f"({rows}) AS c LEFT JOIN {ACCOUNTS} AS a ON a.{person} = c.{person}"


def _rounded_up(
    compiled: "CompiledQuery", one: MeasuredTotals, row: tuple[int, ...], weights: Sequence[str]
) -> str:
    """One combination of a person's weighted totals in a group, in steps of the sensitivity."""
    dialect, most = compiled.dialect, one.sensitivity
    used = [(times, place) for times, place in zip(row, one.places, strict=True) if times]
    total = " + ".join(f"{times} * {_weighted(compiled, place, weights)}" for times, place in used)
    held, wide = f"LEAST(ABS({total}), {most})", most >= _NARROW
    narrow = held if wide else dialect.cast(held, Kind.INTEGER)
    return dialect.whole_quotient(f"({narrow} * {_STEPS} + {most - 1})", str(most), wide=wide)


def _weighted(compiled: "CompiledQuery", place: int, weights: Sequence[str]) -> str:
    if isinstance(compiled.statistics[place], People):
        return f"CASE WHEN q{place} THEN {weights[1]} ELSE 0 END"
    return f"s{place} * {weights[0]}"


def _full(compiled: "CompiledQuery") -> str:
    return compiled.dialect.literal(FULL, Kind.INTEGER)


def keyed_person(dialect: "Dialect", text: str, kind: Kind, key: str) -> str:
    """The keyed hash of a person, as views name them: doubles and times are whole numbers."""
    known = Kind.INTEGER if kind in (Kind.REAL, Kind.TIMESTAMP) else kind
    return dialect.keyed_hash(key, [dialect.encoded(text, known)])
