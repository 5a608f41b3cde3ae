"""Check arguments of callers, with a clear sentence for wrong ones."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, get_args

from discreet.errors import DiscreetError, InputError
from discreet.plan.schema import Bounds, Keys, Limits, Unit

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
            why=f"it is told as {' or '.join(one.__name__ for one in known)}",
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
    """Refuse in one way whatever of a stranger's JSON is not of the right kind."""
    try:
        yield
    except DiscreetError:
        raise
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError):
        why = "a part of it is not of the right kind"
        raise InputError(f"{what} that cannot be read", why=why, fix=fix) from None


def read_table(unit: Any, limits: Any, columns: Any) -> dict[str, Bounds | Keys]:
    """Refuse what says nothing about a private table; what is known of its columns."""
    expect(unit, (str, *get_args(Unit)), "unit", fix="name the person's column")
    if limits is not None:
        expect(limits, Limits, "limits", fix="pass Limits(max_groups=2, max_rows=4)")
    return read_columns(columns)


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
    place: str | os.PathLike[str] | None,
    folder: str | os.PathLike[str] | None,
    ledger: str | None,
) -> tuple[Path | None, str | None]:
    """A folder and the address of a ledger, from the ways to say them."""
    for said in (place, folder):
        if said is not None:
            expect(said, (str, os.PathLike), "the place of a curator", fix="name a folder")
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
    """The error for a name that nobody has given."""
    return InputError(
        f"there is no {what} {name}",
        why=f"known are: {', '.join(known) or 'none yet'}",
        fix="name one of these",
    )
