"""Tables that stay where they are: on a server that has an address, not in files of ours."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.engines.remote_engine import RemoteEngine

_SCHEMES = {"postgresql": "postgres", "postgres": "postgres", "sc": "spark", "spark": "spark"}
_SCHEMES |= {"ibis": "ibis"}


@dataclass(frozen=True, slots=True)
class RemoteTable:
    """A table on a server: the address without secrets, and its full name there.

    `session` is an open one to use, where it was given in place of an address.
    """

    address: str
    table: str
    session: Any = None


def find_remote(source: Any, table: str) -> RemoteTable | None:
    """The table that an address, or a session of Spark or ibis, has under a name; else None."""
    if isinstance(source, str) and "://" in source:
        address, session = source, None
    elif (kind := type(source)).__name__ == "SparkSession" and kind.__module__[:7] == "pyspark":
        address, session = "spark://session", source
    elif kind.__module__.startswith("ibis.backends.") or hasattr(source, "untested"):
        address, session = f"ibis://{source.name}", source
    else:
        return None
    if address.partition("://")[0].lower() not in _SCHEMES:
        return None
    engine = engine_at(address, session)
    return RemoteTable(engine.address, engine.locate(table), session)


def engine_at(address: str, session: Any = None) -> "RemoteEngine":
    """An engine over tables of a server."""
    kind = _SCHEMES[address.partition("://")[0].lower()]
    try:
        if kind == "postgres":
            from discreet.engines.postgres import PostgresEngine  # noqa: PLC0415 - an extra

            return PostgresEngine(address)
        if kind == "ibis":
            from discreet.engines.ibis import IbisEngine  # noqa: PLC0415 - an extra

            found = _connection(session)
            return found.again() if isinstance(found, IbisEngine) else IbisEngine(found)
        from discreet.engines.spark import SparkEngine  # noqa: PLC0415 - an extra

        return SparkEngine(address, session)
    except ImportError:
        raise InputError(
            f"tables of {kind} cannot be read here",
            why="the package that talks to it is not installed",
            fix=f"pip install discreet[{kind}]",
        ) from None


def _connection(session: Any) -> Any:
    if session is not None:
        return session
    raise InputError(
        "a table by way of ibis without its connection",
        why="a connection is this program's own, and none is kept",
        fix="add the table again with the connection",
    )
