"""Check arguments of callers, and the keyword arguments of orders with the JSON they make."""

import datetime as dt
import ipaddress
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Required, TypedDict

from discreet.answer.plan.accuracy import Accuracy
from discreet.engines.reading import Reading
from discreet.errors import DiscreetError, InputError
from discreet.plan.schema import Bounds, Keys
from discreet.rationals import Real, rational

_PLACE: Final = "name a folder; data come later: dp.Curator.in_memory().add('t', data, unit=...)"
_ADDRESSES: Final = ("postgresql://", "postgres://")


def expect(value: object, kinds: type | tuple[type, ...], what: str, *, fix: str) -> None:
    """Refuse a value of another type.

    Example:
        >>> expect(3, str, "the unit", fix="name a column")
        Traceback (most recent call last):
        discreet.errors.InputError: the unit is of type int: ... Fix: name a column.
    """
    if not isinstance(value, kinds):
        known = kinds if isinstance(kinds, tuple) else (kinds,)
        raise InputError(
            f"{what} is of type {type(value).__name__}",
            why=f"it is written as {' or '.join(one.__name__ for one in known)}",
            fix=fix,
        )


def several(names: Iterable[str], what: str) -> list[str]:
    """Names in a list; one text, which would be read letter by letter, is refused."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(
            f"{what} are a {type(names).__name__}",
            why="they are a list of names, also where there is one of them",
            fix="put it in brackets: [...]",
        )
    return list(names)


def read_fields(
    said: Any, what: str, *, needed: Iterable[str] = (), allowed: Iterable[str] | None = None
) -> Mapping[str, Any]:
    """The fields of a JSON object; one that is missing, or not allowed, is refused.

    Example:
        >>> read_fields({"table": "visits", "x": 1}, "a total", allowed=("table",))
        Traceback (most recent call last):
        discreet.errors.InputError: a total has a field x: its fields are table. ...
    """
    expect(said, Mapping, what, fix='pass a JSON object: {"...": ...}')
    for name in needed:
        if said.get(name) is None:
            raise InputError(f"{what} has no {name}", why="it is needed", fix=f"say {name}")
    known = None if allowed is None else list(allowed)
    for name in said:
        if not isinstance(name, str) or (known is not None and name not in known):
            raise InputError(
                f"{what} has a field {str(name)[:50]}",
                why=f"its fields are {', '.join(known or ('texts',))}",
                fix="leave it out",
            )
    return dict(said)


@contextmanager
def readable(what: str, fix: str) -> Iterator[None]:
    """Refuse with one error any part of a stranger's JSON that has the wrong type."""
    try:
        yield
    except DiscreetError:
        raise
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError):
        why = "a part of it is not of the right kind"
        raise InputError(f"{what} that cannot be read", why=why, fix=fix) from None


def read_columns(said: Any) -> dict[str, Bounds | Keys]:
    """What is known of columns: a pair (0, 120) is a range, and a list is of public values."""
    read = {}
    expect({} if said is None else said, Mapping, "columns", fix="pass columns={'age': (0, 120)}")
    for name, spec in (said or {}).items():
        pair = isinstance(spec, tuple) and len(spec) == 2
        known = Bounds(*spec) if pair else Keys(spec) if isinstance(spec, list) else spec
        fix = "pass Bounds(0, 120) for its range, or Keys([...]) for its public values"
        expect(known, (Bounds, Keys), f"what is said about {name}", fix=fix)
        read[name] = known
    return read


def placed(
    place: str | os.PathLike[str] | None, folder: str | os.PathLike[str] | None, ledger: str | None
) -> tuple[Path | None, str | None]:
    """A folder and the address of a ledger, from the ways to say them."""
    for said in (place, folder):
        if said is not None:
            expect(said, (str, os.PathLike), "the place of a curator", fix=_PLACE)
    if isinstance(place, str) and place.lower().startswith(("http://", "https://")):
        raise InputError(
            "a folder with the address of a server",
            why="only discreet.Curator opens addresses",
            fix="call discreet.Curator(address, token=...)",
        )
    if ledger is not None:
        expect(ledger, str, "the address of a ledger", fix="pass postgresql://...")
    is_address = isinstance(place, str) and place.startswith(_ADDRESSES)
    if is_address and folder is not None and ledger is None:
        return Path(folder), str(place)
    if is_address or folder is not None or (place is None and ledger is not None):
        raise InputError(
            "a curator without one folder",
            why="a ledger in Postgres keeps charges; what is said about data is kept in a folder",
            fix="pass Curator(folder, ledger=address) or Curator(address, folder=folder)",
        )
    return (None if place is None else Path(place)), ledger


def is_loopback(host: str | None) -> bool:
    """Whether a name or an address is this machine's own.

    Example:
        >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("127.0.0.1.evil.org")
        (True, True, False)
    """
    name = (host or "").strip("[]")
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name.lower() == "localhost"


def the_one(what: str, known: Collection[str]) -> str:
    """The only name there is; InputError where there are several, or none."""
    if len(known) == 1:
        return next(iter(known))
    raise InputError(
        f"no {what} is named",
        why=f"there are several: {', '.join(known)}" if known else "there is none yet",
        fix="name one of them" if known else "add one first",
    )


def unknown(what: str, name: str, known: Iterable[str]) -> InputError:
    """The error for an unknown name."""
    return InputError(
        f"there is no {what} {name}",
        why=f"known are: {', '.join(known) or 'none yet'}",
        fix="name one of these",
    )


class CallerArguments(TypedDict, total=False):
    """The caller: `analyst`; and `request`, an idempotency key that is charged once."""

    analyst: str | None
    request: str | None


class QuestionArguments(CallerArguments, total=False):
    """The price of a question: `epsilon`, or the `accuracy` that decides it, and more.

    `weights` are the weights of columns in the total error (default 1). `as_of` is a version of the
    dataset (default the newest). Quantiles are chosen with intervals in values, unless
    `intervals=False`. `workbook` is one that this analyst opened, whose share pays too.
    """

    epsilon: Real | None
    delta: Real | None
    accuracy: Accuracy | None
    weights: Mapping[str, Real] | None
    as_of: int | None
    intervals: bool
    workbook: str | None


class PriceArguments(CallerArguments, total=False):
    """The price of an order that only `epsilon` and `delta` decide."""

    epsilon: Required[Real]
    delta: Real | None


class SynthesisArguments(PriceArguments, total=False):
    """The options of a synthetic table.

    `bins` are those of numbers and dates, 32 unless said. A person counts for at most `max_rows`
    rows: what the table's limits say, else 1. `impossible` lists combinations of values that no row
    has, `workload` sets of columns whose marginals matter. What would need more than `max_memory`
    bytes is refused before anything is charged.
    """

    columns: Sequence[str] | None
    bins: int | Mapping[str, int] | None
    max_rows: int | None
    impossible: Sequence[Mapping[str, Any]] | None
    workload: Sequence[Sequence[str]] | None
    max_memory: int | None


class WorkloadArguments(PriceArguments, total=False):
    """The options of many counting queries at once: `bins` and `max_rows` as for a synthesis."""

    bins: int | Mapping[str, int] | None
    max_rows: int | None


class OnlineArguments(PriceArguments, total=False):
    """The options of an epoch of online counting queries.

    Those from which on the public hypothesis is `accuracy` rows off are measured, `updates` times
    at most. Each crash, and each worker that continues, uses up one of `restarts`. `queries` is how
    many are expected.
    """

    columns: Required[Sequence[str]]
    accuracy: Real | None
    bins: int | Mapping[str, int] | None
    max_rows: int | None
    updates: int | None
    restarts: int | None
    queries: int | None
    epoch: int | None


class StreamArguments(PriceArguments, total=False):
    """The options of a standing question.

    `column` has the dates of rows, `since` is the first day (default: the lower bound of the
    column). One person counts in at most `max_periods` periods (default 1), with `max_rows` rows in
    each.
    """

    every: Required[str]
    until: Required[dt.date]
    since: dt.date | None
    column: str | None
    max_periods: int | None
    max_rows: int | None


class AppendArguments(TypedDict, total=False):
    """Declarations about appended rows.

    `through` says that rows up to that day, and the day itself, are complete: standing questions
    continue. Rows that were appended before are refused unless they are to count `again`. Texts are
    read as those that were added, unless a `reading` says otherwise.
    """

    through: dt.date | None
    again: bool
    max_table_rows: int | None
    reading: Reading | Mapping[str, Any] | None


def spec_fields(options: type, *subjects: str) -> tuple[str, ...]:
    """The fields of an order's JSON: what it is about, and the options that callers type."""
    caller = CallerArguments.__annotations__
    return (*subjects, *(name for name in options.__annotations__ if name not in caller))


_EXACT: Final = ("epsilon", "delta", "accuracy")
_DAYS: Final = ("since", "until", "through")


def order_spec(options: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of an order from what a caller typed; what was left out is left out.

    Example:
        >>> order_spec({"table": "visits", "epsilon": 0.1, "delta": None})
        {'table': 'visits', 'epsilon': '1/10'}
    """
    said = {name: one for name, one in options.items() if one is not None}
    for name in [one for one in said if one in _EXACT]:
        said[name] = str(rational(said[name], name))
    for name in [one for one in said if one in _DAYS]:
        expect(said[name], dt.date, name, fix=f"pass {name}=date(2026, 12, 31)")
        said[name] = dt.date.isoformat(said[name])
    return said
