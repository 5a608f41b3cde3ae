"""Shared accounts and each person's limit, as the ledger states them."""

import datetime as dt
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from discreet.curator.ledger import accounts
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.orders import NEWEST, Entry, digest
from discreet.engines.engine import Engine
from discreet.errors import InputError, LedgerError
from discreet.plan.kinds import Kind
from discreet.sql.writer.individual import keyed_person
from discreet.sql.writer.stored_view import written_name

BUDGET, LIMIT = "people budget", "person limit"
"""The kinds of entry that say what everybody in a dataset, or one person, may lose."""

_NAMES: Final[dict[Kind, tuple[tuple[type, ...], Callable[[str], Any]]]] = {
    Kind.BOOLEAN: ((bool,), {"true": True, "false": False}.__getitem__),
    Kind.INTEGER: ((int,), int),
    Kind.REAL: ((int, float), float),
    Kind.TEXT: ((str,), str),
    Kind.DATE: ((dt.date,), dt.date.fromisoformat),
    Kind.TIMESTAMP: ((dt.datetime,), dt.datetime.fromisoformat),
}
"""The types of a name of each kind, and how one that is written is read."""


@dataclass(frozen=True, slots=True)
class Population:
    """Datasets that hold the same people, and what each of these may lose in all, in units."""

    datasets: tuple[str, ...]
    limit: int


def population_of(ledger: Ledger, dataset: str, key: str) -> Population:
    """The population of a dataset; LedgerError where accounts could not be found again."""
    links = links_of(ledger, dataset)
    members = [one.name for link in links for one in ledger.members(link)]
    names = tuple(sorted({dataset, *members}))
    said = [one for one in ledger.noted(BUDGET) if one.facts["dataset"] in names]
    limits = {int(one.facts["units"]) for one in said}
    whole = {str(one.facts["dataset"]) for one in said} == set(names) and len(links) <= 1
    if not whole or len(limits) != 1:
        raise LedgerError(
            f"what each person of {dataset} may lose is not known",
            why="the ledger has no limit for all of its linked datasets, or several",
            fix="finish adding the dataset, or open an intact copy of the ledger",
        )
    if any(one.facts["key"] != digest(key) for one in said):
        raise LedgerError(
            f"the accounts of the people of {dataset} cannot be found again",
            why="they are stored under another secret key",
            fix="put back people.key from an intact copy of the folder",
        )
    return Population(names, limits.pop())


def links_of(ledger: Ledger, dataset: str) -> list[accounts.Holder]:
    """The links that a dataset is in."""
    touched = ledger.touched(dataset, "owner")
    return [one.holder for one in touched if one.holder.kind == "link"]


def limits_after(
    ledger: Ledger, datasets: tuple[str, ...], *, after: int = 0, until: int = NEWEST
) -> list[Entry]:
    """Entries about limits of single people in datasets, in order."""
    found = ledger.noted(LIMIT, after=after)
    return [one for one in found if one.facts["dataset"] in datasets and one.sequence <= until]


def record_limit(
    ledger: Ledger, dataset: str, hash_: str, units: int, *, by: str, final: bool = False
) -> None:
    """Say what one person may lose; after a `final` word nothing changes it again."""
    facts: dict[str, Any] = {"account": hash_, "dataset": dataset, "units": str(units)}
    ledger.record(LIMIT, by=by, facts={**facts, "final": True} if final else facts)


def read_name(text: str, kind: Kind) -> Any:
    """A name as it is written, in a kind.

    Example:
        >>> read_name("17", Kind.INTEGER), read_name("17", Kind.TEXT)
        (17, '17')
    """
    with suppress(ValueError, LookupError):
        name = None if kind is not Kind.TEXT and "_" in text else _NAMES[kind][1](text)
        # Python reads 1_7 as 17, who is somebody else, and numbers that no column has.
        if name is not None and _can_be_stored(name):
            return name
    raise InputError(
        "the name of a person cannot be read",
        why=f"people are named by values of kind {kind.value} here",
        fix="write it as in the column that names people",
    )


def _can_be_stored(unit: Any) -> bool:
    """Whether a column can hold a value: what is too large, or no text, would fail in an engine."""
    if isinstance(unit, int):
        return -(1 << 63) <= unit < 1 << 63
    if isinstance(unit, float):
        return isfinite(unit)
    return not isinstance(unit, str) or unit.encode(errors="ignore").decode() == unit


def hash_person(engine: Engine, unit: Any, kind: Kind, key: str, *, written: bool) -> str:
    """The keyed hash of somebody's name, whether they are in the data or not.

    It is `written` as a text where people have an account for every period.
    """
    right = isinstance(unit, _NAMES[kind][0]) and _can_be_stored(unit)
    if isinstance(unit, dt.datetime) and unit.tzinfo is not None:
        unit = unit.astimezone(dt.UTC)
    if not right or (isinstance(unit, bool) and kind is not Kind.BOOLEAN):
        raise InputError(
            f"a person named by a {type(unit).__name__}",
            why=f"people are named by values of kind {kind.value} here",
            fix="pass the value from the column that names people",
        )
    dialect = engine.dialect
    name = dialect.ordinal(dialect.literal(unit, kind), kind)
    if written:
        name, kind = written_name(name, kind, dialect), Kind.TEXT
    text = keyed_person(dialect, name, kind, key)
    with engine.snapshot() as session:
        rows = [row for batch in session.stream(f"SELECT {text} AS h") for row in batch.to_pylist()]
    return str(rows[0]["h"])
