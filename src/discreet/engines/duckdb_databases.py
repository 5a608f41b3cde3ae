"""Embedded databases, which belong to the process that opened them.

DuckDB's threads do not survive a fork. In the child a statement waits for them for ever, and
letting go of the database crashes. So a child opens its own, and keeps those of its parent
untouched until it ends.
"""

import ctypes
import os
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_opened: dict[int, "duckdb.DuckDBPyConnection"] = {}


def connect(config: Mapping[str, str | int]) -> "duckdb.DuckDBPyConnection":
    """Open an empty database in memory; `close` it when it is no longer needed."""
    import duckdb  # noqa: PLC0415 - heavy, and not everybody asks questions

    database = duckdb.connect(config=dict(config))
    _opened[id(database)] = database
    return database


def close(database: "duckdb.DuckDBPyConnection") -> None:
    """Give a database's memory back."""
    if _opened.pop(id(database), None) is not None:  # otherwise it is the parent's
        database.close()


def scratchpad(**config: str | int) -> "duckdb.DuckDBPyConnection":
    """An empty database for small things, one a process: opening one takes longer than they do."""
    return _scratchpad(os.getpid(), tuple(config.items()))


@lru_cache(maxsize=4)
def _scratchpad(
    process: int, config: tuple[tuple[str, str | int], ...]
) -> "duckdb.DuckDBPyConnection":
    del process
    database = connect(dict(config))
    database.execute("SET lock_configuration = true")
    return database


def _keep_for_ever() -> None:
    """In a forked child: leak one reference, so that nothing is closed."""
    for database in _opened.values():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(database))
    _opened.clear()
    _scratchpad.cache_clear()


if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows has none
    os.register_at_fork(after_in_child=_keep_for_ever)
