"""SQL for each person's contribution, and for the accounts of people."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from discreet.plan.kinds import Kind
from discreet.plan.schema import PERSON
from discreet.plan.statistics import People

if TYPE_CHECKING:
    from discreet.sql.writer.compile import CompiledQuery
    from discreet.sql.writer.dialect import Dialect

ACCOUNTS, WEIGHTS = "accounts", "weights"
"""Tables of the session: who has which account, and who weighs less than in full.

The second has the columns `of_rows` and `of_person`; people who do not take part weigh 0.
"""


class MeasuredTotals(NamedTuple):
    """One measurement: which totals it combines, how, and its sensitivity."""

    places: tuple[int, ...]
    combinations: tuple[tuple[int, ...], ...]
    sensitivity: int


def render_contributions(compiled: "CompiledQuery", measured: Sequence[MeasuredTotals]) -> str:
    """One row for each person and group: the person, sizes x0_0, x0_1, ..., and rows.

    xi_j is the absolute value of combination j of measurement i before any weight, capped at the
    measurement's sensitivity S.

    Guarantee:
        With a weight w of 0 to FULL, the least of w * x and S is that of w times the exact value
        and S: holding a value of at least S to S takes nothing off.
    Edge cases:
        A person who adds nothing has 0. No value overflows on any data: S is below 2^61.
    """
    sizes = [
        f"{_size(compiled, one, row)} AS x{i}_{j}"
        for i, one in enumerate(measured)
        for j, row in enumerate(one.combinations)
    ]
    shown = ", ".join([compiled.dialect.identifier(PERSON), *sizes, "n"])
    return f"SELECT {shown} FROM pairs"


def _size(compiled: "CompiledQuery", one: MeasuredTotals, row: tuple[int, ...]) -> str:
    person = [isinstance(compiled.statistics[i], People) for i in one.places]
    sums = [
        f"{times} * CASE WHEN q{i} THEN 1 ELSE 0 END" if counts else f"{times} * s{i}"
        for times, i, counts in zip(row, one.places, person, strict=True)
        if times
    ]
    total = " + ".join(sums)
    return compiled.dialect.cast(f"LEAST(ABS({total}), {one.sensitivity})", Kind.INTEGER)


def with_accounts(rows: str, columns: Sequence[str], dialect: "Dialect") -> str:
    """Columns of a SELECT with the account of each row's person, NULL if there is none yet."""
    return f"SELECT {', '.join([*columns, 'a.account'])} FROM {_with_accounts(rows, dialect)}"


def render_new_people(rows: str, dialect: "Dialect", kind: Kind, key: str) -> str:
    """The people of a SELECT who have no account, each once, with a keyed hash of the name."""
    source, name = _with_accounts(rows, dialect), f"c.{dialect.identifier(PERSON)}"
    new = f"SELECT DISTINCT {name} AS p FROM {source} WHERE a.account IS NULL"
    return f"SELECT p, {keyed_person(dialect, 'p', kind, key)} AS h FROM ({new}) AS n"


def _with_accounts(rows: str, dialect: "Dialect") -> str:
    person = dialect.identifier(PERSON)
    return f"({rows}) AS c LEFT JOIN {ACCOUNTS} AS a ON a.{person} = c.{person}"


def keyed_person(dialect: "Dialect", text: str, kind: Kind, key: str) -> str:
    """The keyed hash of a person, as views name them: doubles and times are whole numbers."""
    known = Kind.INTEGER if kind in (Kind.REAL, Kind.TIMESTAMP) else kind
    return dialect.keyed_hash(key, [dialect.encoded(text, known)])
